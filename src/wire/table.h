/* table.h - the one table of messages: who may say what, on which streams, when, how much.
 *
 * Everything that reads or writes the channel asks these rows; PROTOCOL.md is compared with
 * them by a test. */
#pragma once
#include <stdbool.h>

#include "wire/frame.h"
#include "wire/message.h"

struct buf;
struct error;

/* Kinds of streams. */
enum wire_kind {
	WIRE_KIND_NONE,    /* not a stream: the channel itself */
	WIRE_KIND_RUN,     /* a program */
	WIRE_KIND_FETCH,   /* bytes from inside: READ, PACK */
	WIRE_KIND_STORE,   /* bytes to inside: WRITE, UNPACK */
	WIRE_KIND_QUERY,   /* a question, records for an answer */
	WIRE_KIND_CONNECT, /* a connection, bytes both ways */
	WIRE_KIND_COUNT
};

/* Bytes flow on channels, each one way, each under its own credit. */
enum {
	WIRE_IN = 0,          /* opener to acceptor: stdin, what is stored */
	WIRE_OUT = 1,         /* acceptor to opener: stdout, what is fetched, records */
	WIRE_ERR = 2,         /* stderr */
	WIRE_CONTROL_IN = 3,  /* to descriptor 3 of a program */
	WIRE_CONTROL_OUT = 4, /* from it */
	WIRE_CHANNELS = 5,
	WIRE_CHANNELS_IN = 1 << WIRE_IN | 1 << WIRE_CONTROL_IN, /* those from the opener */
};

enum {
	WIRE_WINDOW = 64 * 1024,            /* credit every channel starts with */
	WIRE_CREDIT_MAX = 16 * 1024 * 1024, /* credit one channel may hold */
	WIRE_STREAMS_SERVER = 256,          /* live streams opened by the server */
	WIRE_STREAMS_AGENT = 64,            /* by the agent */
	WIRE_PATH_MAX = 4095,
	WIRE_GROUPS_MAX = 64,
	WIRE_LIMITS_MAX = 16,
	WIRE_REASON_MAX = 480, /* of an error's text */
	WIRE_PATTERN_MAX = 1024,
	WIRE_EDIT_MAX = 28 * 1024, /* of each of the two texts of REPLACE */
	WIRE_ARGS_MAX = 4096,
	WIRE_ENTRIES_MAX = 100000,
	WIRE_DEPTH_MAX = 64,
	WIRE_RING_MAX = 8 * 1024 * 1024,
	WIRE_RECORDS_MAX = 32 * 1024, /* of one frame of records, or what else waits for credit */
};

enum wire_side { WIRE_SERVER, WIRE_AGENT };

enum wire_from {
	WIRE_FROM_SERVER,
	WIRE_FROM_AGENT,
	WIRE_FROM_OPENER,   /* of the stream */
	WIRE_FROM_ACCEPTOR, /* of the stream */
	WIRE_FROM_EITHER,
	WIRE_FROM_COUNT
};

enum wire_phase {
	WIRE_PHASE_HELLO,   /* the channel: nothing has been said */
	WIRE_PHASE_WELCOME, /* HELLO was said */
	WIRE_PHASE_READY,   /* WELCOME was said */
	WIRE_PHASE_OPEN,    /* READY was said: streams may be opened */
	WIRE_PHASE_ASKED,   /* a stream: opened, STARTED or OPENED has not come yet */
	WIRE_PHASE_GOING,   /* a stream: past that, or of a kind without it */
	WIRE_PHASE_LIVE,    /* a stream: either of the two */
	WIRE_PHASE_COUNT
};

struct wire_spec {
	const char *name; /* NULL: there is no such message */
	const char *what; /* in one line, for PROTOCOL.md */
	enum wire_from from;
	enum wire_phase phase;
	enum wire_kind opens; /* NONE: this opens nothing */
	unsigned on;          /* mask of 1 << kind it may appear on */
	bool paid;            /* its payload counts against the channel's credit */
	bool on_channel;      /* its header names a channel */
	bool once;            /* at most once on a stream */
	struct wire_record record;
};

/* NULL if the type means nothing. */
const struct wire_spec *wire_spec(uint8_t type);

struct wire_kind_spec {
	const char *name;
	unsigned channels; /* mask of 1 << channel */
	bool acknowledged; /* STARTED or OPENED comes first */
};
const struct wire_kind_spec *wire_kind(enum wire_kind kind);

/* Records within ENTRIES and MATCHES. */
extern const struct wire_record wire_entry_record, wire_match_record;

/* A whole payload into the struct of its type, and back. Nothing may be left over. */
MUST_CHECK int wire_decode(const struct wire_frame *frame, struct wire_message *ret,
                           struct error *err);
/* Appends header and payload. */
MUST_CHECK int wire_encode(const struct wire_message *message, uint32_t stream, uint8_t channel,
                           struct buf *out, struct error *err);

/* What a HELLO of any version says of its version: -1 if it is no HELLO of ours at all. */
int wire_hello_version(struct view payload);

const char *wire_from_name(enum wire_from from);
const char *wire_phase_name(enum wire_phase phase);
