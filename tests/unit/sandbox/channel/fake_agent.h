/* fake_agent.h - a channel whose agent is the test itself, in the same process.
 *
 *   channel_rig_open, channel_rig_open_ready -> agent_send, channel_rig_check, agent_expect
 *   -> channel_rig_close
 *
 * Nothing here waits: the test sends the frames of the agent, runs the loop for some turns, and
 * reads the frames of the server. Every callback is recorded as text in rig.log, such as
 * "s1:bytes1(abc) s1:done failed(the agent ended)". */
#pragma once
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "loop/loop.h"
#include "loop/output.h"
#include "sandbox/channel/channel.h"
#include "sandbox/channel/internal.h"
#include "unit/test.h"

enum { RIG_STREAMS = 300, RIG_BYTES_MAX = 4 * 1024 * 1024 };

struct channel_rig;
struct channel_rig_stream {
	struct channel_rig *rig;
	struct channel_stream *stream;
	char name[16];
	struct buf got[WIRE_CHANNELS]; /* bytes, if `keeps` */
	bool keeps;                    /* bytes are kept in `got` instead of logged */
	bool consumes;                 /* bytes are consumed at once */
	size_t received;
	size_t to_send, sent; /* by `writable`, on WIRE_IN */
	unsigned ends;        /* calls of `done` and `failed` */
	int turns;
	/* Called from every callback. */
	void (*act)(struct channel_rig_stream *s, const char *event);
};

struct channel_rig {
	struct loop *loop;
	struct channel *channel;
	int fd;          /* the agent's end */
	struct buf log;  /* of callbacks */
	struct buf in;   /* bytes of the server */
	size_t consumed; /* bytes of `in` that were decoded */
	struct channel_rig_stream streams[RIG_STREAMS];
	unsigned opened;
	unsigned failures;
	void (*act)(struct channel_rig *rig, const char *event);
	unsigned turns_left;
};

#define RIG_LOG(rig, ...)                                                                          \
	do {                                                                                       \
		struct error full_;                                                                \
		if ((rig)->log.len != 0)                                                           \
			(void)!buf_add(&(rig)->log, VIEW(" "), &full_);                            \
		(void)!buf_printf(&(rig)->log, &full_, __VA_ARGS__);                               \
	} while (0)

/* --- callbacks --- */

void channel_rig_on_writable(void *ctx);

extern const struct channel_events channel_rig_events;
extern const struct channel_stream_events channel_rig_stream_events;
struct channel_rig_stream *channel_rig_new_stream(struct channel_rig *rig, const char *letter,
                                                  unsigned n);

/* --- life --- */

void channel_rig_open_timed(struct channel_rig *rig, const struct channel_times *times);
void channel_rig_open(struct channel_rig *rig);
void channel_rig_close_agent(struct channel_rig *rig);
void channel_rig_close(struct channel_rig *rig);

/* Runs enough turns of the loop for everything in flight, if that is less than 1 MiB. */
void channel_rig_run_turns(struct channel_rig *rig);
void channel_rig_run_ms(struct channel_rig *rig, uint64_t ms);
/* Runs the loop until the channel has failed, for at most 10 s. */
void channel_rig_run_until_failed(struct channel_rig *rig);

/* Compares the log since the last call. */
void channel_rig_check(struct channel_rig *rig, const char *want);

/* --- frames of the agent --- */

/* Returns how many bytes the socket accepted. */
size_t agent_send_bytes(struct channel_rig *rig, struct view bytes);
void agent_send(struct channel_rig *rig, const struct wire_message *message, uint32_t stream,
                uint8_t channel);

#define AGENT_SEND(rig, stream, channel, ...)                                                      \
	agent_send(rig, &(struct wire_message){ __VA_ARGS__ }, stream, channel)

void agent_hello(struct channel_rig *rig);
void agent_ready(struct channel_rig *rig);
void agent_data(struct channel_rig *rig, uint32_t stream, uint8_t channel, struct view bytes);
void agent_started(struct channel_rig *rig, uint32_t stream);
void agent_done(struct channel_rig *rig, uint32_t stream);

/* --- frames of the server --- */

void agent_read(struct channel_rig *rig);

/* Receives the next frame, after some turns of the loop. False: there is none. */
bool agent_receive(struct channel_rig *rig, struct wire_frame *frame);

/* The next frame must be of this type, on this stream and channel. */
struct wire_message agent_expect(struct channel_rig *rig, enum wire_type type, uint32_t stream,
                                 uint8_t channel);
void agent_expect_nothing(struct channel_rig *rig);

/* --- requests --- */

struct wire_message exec_message(struct buf *buf);
struct channel_rig_stream *channel_rig_open_stream(struct channel_rig *rig,
                                                   const struct wire_message *request);
struct channel_rig_stream *channel_rig_exec(struct channel_rig *rig);
struct channel_rig_stream *channel_rig_read(struct channel_rig *rig);
struct channel_rig_stream *channel_rig_write(struct channel_rig *rig);
struct channel_rig_stream *channel_rig_list(struct channel_rig *rig, uint32_t limit);

/* Opens the channel and completes the handshake; the log is empty then. */
void channel_rig_open_ready(struct channel_rig *rig);
