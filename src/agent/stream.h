/* stream.h - one stream on the agent's side: its protocol state and its handlers.
 *
 * dispatch.c takes a free slot of the agent's table for each request. A stream is carried by a
 * program (program/program.h), by a worker (files/worker.h) or by a connection (link.h), which sets
 * `handlers` and reacts to messages, credit, the exit of its child process and timeouts.
 * stream_done() and stream_fail() send the last message and free the slot: neither the stream nor
 * what is embedded in it may be touched afterwards. A handler that goes on after a call that may
 * end the stream compares wire.id before and after. */
#pragma once
#include <stdint.h>
#include <sys/types.h>

#include "agent/files/worker.h"
#include "agent/link.h"
#include "agent/program/program.h"
#include "wire/stream_rules.h"

struct agent;
struct error;
struct stream;

struct stream_handlers {
	/* A message that the table and the rules allow. CREDIT and CLOSE have handlers of their
	 * own. */
	void (*message)(struct stream *stream, const struct wire_message *message, uint8_t channel);
	void (*credit)(struct stream *stream, uint8_t channel); /* more bytes may be sent */
	void (*close)(struct stream *stream);             /* CLOSE: stop, then end the stream */
	void (*child)(struct stream *stream, int status); /* the child process was reaped */
	void (*due)(struct stream *stream); /* the time of stream_set_due() has come */
};

struct stream {
	struct wire_stream wire;
	struct agent *agent;
	const struct stream_handlers *handlers;
	pid_t pid;    /* the keeper or worker; 0: none, or reaped */
	uint64_t due; /* 0: never */
	union {
		struct program program;
		struct worker worker;
		struct link link;
	};
};

/* Sends a message. A message that the rules forbid is a bug: the agent exits. */
void stream_send(struct stream *stream, const struct wire_message *message, uint8_t channel);
void stream_send_end(struct stream *stream, uint8_t channel);
void stream_send_credit(struct stream *stream, uint8_t channel, size_t bytes);
/* Counts a frame that the caller has written to the outgoing buffer itself. */
void stream_record(struct stream *stream, const struct wire_frame *frame);

void stream_kill(struct stream *stream); /* SIGKILL to its child process, if it has one */
/* Asks for a call of the due handler at this time; 0 cancels it. */
void stream_set_due(struct stream *stream, uint64_t at_ms);

/* Send DONE or FAILED and free the slot. `done` may be NULL. */
void stream_done(struct stream *stream, const struct wire_done *done);
void stream_fail(struct stream *stream, const struct error *why);
void stream_fail_as(struct stream *stream, enum wire_failure failure, const char *why);
/* Frees the slot after the last message was written to the outgoing buffer directly. */
void stream_free(struct stream *stream);

/* The FAILED message for an error, whose text it points to. */
struct wire_message stream_failed_message(const struct error *why);
