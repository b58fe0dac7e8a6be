/* table.h - the one table of messages: which end sends what, on which streams, in which phase, with
 * which fields.
 *
 * Encoder, decoder and the rules of stream_rules.h read these rows on both ends. PROTOCOL.md is
 * generated from them, and scripts/check-messages.sh fails for a message that no code in src/
 * sends. The table is constant; nothing here keeps state or allocates.
 *
 * To add a message: a value in enum wire_type, a struct and a member of the union in message.h, a
 * row in table.c, a sender and a receiver. A file operation also needs a row in
 * src/agent/files/ops.h, a function op_NAME, and, if it answers with records or bytes, a line in
 * src/sandbox/channel/channel_stream.c that says how many are allowed. A message that an older
 * agent does not know needs a new WIRE_VERSION. Run scripts/protocol.sh afterwards. */
#pragma once
#include <stdbool.h>

#include "wire/frame.h"
#include "wire/message.h"

struct buf;
struct error;

/* Kinds of streams. The server opens all of them. */
enum wire_kind {
	WIRE_KIND_NONE,  /* not a stream: the channel itself */
	WIRE_KIND_RUN,   /* a program */
	WIRE_KIND_FETCH, /* bytes from the sandbox: READ, PACK */
	WIRE_KIND_STORE, /* bytes into the sandbox: WRITE, UNPACK */
	WIRE_KIND_QUERY, /* a question that is answered with records */
	WIRE_KIND_LINK,  /* a connection on the sandbox's loopback interface */
	WIRE_KIND_COUNT
};

/* Bytes flow on the channels of a stream. Each channel has one direction and its own credit. */
enum {
	WIRE_IN = 0,          /* server to agent: stdin, content of a file to write */
	WIRE_OUT = 1,         /* agent to server: stdout, content of a file read, records */
	WIRE_ERR = 2,         /* agent to server: stderr */
	WIRE_CONTROL_IN = 3,  /* server to agent: to descriptor 3 of a program */
	WIRE_CONTROL_OUT = 4, /* agent to server: from descriptor 3 of a program */
	WIRE_CHANNELS = 5,
	WIRE_CHANNELS_IN = 1 << WIRE_IN | 1 << WIRE_CONTROL_IN, /* mask: server to agent */
};

enum {
	WIRE_WINDOW = 64 * 1024,            /* credit every channel starts with */
	WIRE_CREDIT_MAX = 16 * 1024 * 1024, /* credit one channel may hold */
	WIRE_STREAMS_MAX = 256,             /* live streams */
	WIRE_PATH_MAX = 4095,
	WIRE_GROUPS_MAX = 64,
	WIRE_LIMITS_MAX = 16,
	WIRE_REASON_MAX = 480, /* bytes of an error's text */
	WIRE_PATTERN_MAX = 1024,
	WIRE_ARGS_MAX = 4096,
	WIRE_ENTRIES_MAX = 100000,
	WIRE_DEPTH_MAX = 64,
	WIRE_RECORDS_MAX = 32 * 1024, /* bytes of one frame of records */
	WIRE_REPORT_MAX = 30 * 1024,  /* bytes of the report in DONE */
};

/* The two ends of the channel. */
enum wire_side { WIRE_SERVER, WIRE_AGENT };

/* Which end may send a message. */
enum wire_from { WIRE_FROM_SERVER, WIRE_FROM_AGENT, WIRE_FROM_EITHER, WIRE_FROM_COUNT };

enum wire_phase {
	WIRE_PHASE_HELLO,    /* of the channel: HELLO is next */
	WIRE_PHASE_WELCOME,  /* of the channel: HELLO was sent, WELCOME is next */
	WIRE_PHASE_READY,    /* of the channel: WELCOME was sent, READY or REFUSED is next */
	WIRE_PHASE_OPEN,     /* of the channel: READY was sent, streams may be opened */
	WIRE_PHASE_STARTING, /* of a run or link: STARTED or LINKED has not been sent yet */
	WIRE_PHASE_RUNNING,  /* of a stream: that was sent, or its kind has no such message */
	WIRE_PHASE_LIVE,     /* of a stream: STARTING or RUNNING */
	WIRE_PHASE_COUNT
};

struct wire_spec {
	char name[16];       /* empty: the type is unknown; an array as in struct wire_field */
	const char *summary; /* one line for PROTOCOL.md */
	enum wire_from from : 8;
	enum wire_phase phase : 8; /* in which it may be sent */
	enum wire_kind opens : 8;  /* the kind of stream it opens; NONE: it opens none */
	uint8_t kinds;             /* mask of 1 << kind of the streams it may be sent on */
	bool uses_credit;          /* its payload counts against the channel's credit */
	bool on_channel;           /* its header names a channel */
	bool once;                 /* it may be sent at most once on a stream */
	struct wire_record record;
};

/* The row of a type; NULL if the type is unknown. */
const struct wire_spec *wire_spec(uint8_t type);

struct wire_kind_spec {
	const char *name;
	unsigned channels; /* mask of 1 << channel */
	const char *start; /* the message that the agent sends before anything else; or NULL */
};
const struct wire_kind_spec *wire_kind(enum wire_kind kind);

/* The records within ENTRIES and MATCHES. */
extern const struct wire_record wire_entry_record, wire_match_record;

/* Decodes the whole payload into the struct of its type. Bytes left over are an error. */
MUST_CHECK int wire_decode(const struct wire_frame *frame, struct wire_message *ret,
                           struct error *err);
/* Appends header and payload to `out`; after a failure `out` is as it was. */
MUST_CHECK int wire_encode(const struct wire_message *message, uint32_t stream, uint8_t channel,
                           struct buf *out, struct error *err);

/* The protocol version in a HELLO of any version; -1 if the payload is not that of a HELLO. */
int wire_hello_version(struct view payload);

const char *wire_phase_name(enum wire_phase phase);
