/* stream.h - one stream on the agent's side: what the rules say of it, and what carries it.
 *
 * A carrier (a run, a worker, a relay) is told of messages, of credit, of the end of its
 * child; it speaks through the calls below. stream_done() and stream_failed() are the last
 * word: the slot is free after them. A stream we opened ourselves ends when the peer says so. */
#pragma once
#include <stdint.h>
#include <sys/types.h>

#include "agent/files/files.h"
#include "agent/net/relay.h"
#include "agent/program/run.h"
#include "wire/stream.h"

struct agent;
struct stream;

struct carrier {
	/* Checked against the table and the rules. CREDIT and CLOSE come as below instead. */
	void (*message)(struct stream *stream, const struct wire_message *message, uint8_t channel);
	void (*credit)(struct stream *stream, uint8_t channel); /* more may be sent */
	void (*close)(struct stream *stream);                   /* the opener wants it to end */
	void (*child)(struct stream *stream, int status);       /* its process was reaped */
	void (*due)(struct stream *stream);                     /* the time set has come */
};

struct stream {
	struct wire_stream wire;
	struct agent *agent;
	const struct carrier *carrier;
	pid_t pid;    /* the process that carries it; 0: none */
	uint64_t due; /* 0: never */
	union {
		struct run run;
		struct worker worker;
		struct relay relay;
	};
};

/* Says something. A mistake of ours ends the agent: see out.h. */
void stream_put(struct stream *stream, const struct wire_frame *frame); /* counted, not written */
void stream_say(struct stream *stream, const struct wire_message *message, uint8_t channel);
void stream_end(struct stream *stream, uint8_t channel);
void stream_grant(struct stream *stream, uint8_t channel, size_t bytes);
void stream_kill(struct stream *stream);                /* its process, if it still has one */
void stream_due(struct stream *stream, uint64_t at_ms); /* call me then; 0: no more */

/* Last words. */
void stream_done(struct stream *stream, const struct wire_done *done);
void stream_failed(struct stream *stream, const struct error *why);
void stream_failed_as(struct stream *stream, enum wire_failure failure, const char *why);
void stream_free(struct stream *stream); /* of our own, when the peer has ended it */
/* FAILED as it tells of an error, whose text it borrows. */
struct wire_message failed_of(const struct error *why);
