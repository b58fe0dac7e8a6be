/* fake_agent.h - the other end of a channel, played by the test, in the same process.
 *
 * Nothing here waits: the test says what the agent says, turns the loop as often as needed,
 * and reads what the server said. Every callback is written down as text in rig.log, one
 * item each, such as "s1:bytes1(abc) s1:done failed(the agent ended)". */
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

enum { RIG_STREAMS = 300, RIG_HEARD_MAX = 4 * 1024 * 1024 };

struct rig;
struct rig_stream {
	struct rig *rig;
	struct channel_stream *stream;
	char name[16];
	struct buf got[WIRE_CHANNELS]; /* bytes, if `keeps` */
	bool keeps;                    /* bytes are kept instead of logged */
	bool consumes;                 /* and given back at once */
	size_t received;
	size_t to_send, sent; /* by `writable`, on WIRE_IN */
	unsigned told;        /* of the end */
	int turns;
	void (*act)(struct rig_stream *s, const char *event); /* from within any callback */
};

struct rig {
	struct loop *loop;
	struct channel *channel;
	int fd;         /* the agent's end */
	struct buf log; /* of callbacks */
	struct buf in;  /* what the server said, not yet heard */
	size_t heard;   /* bytes of `in` that have been */
	struct rig_stream streams[RIG_STREAMS];
	unsigned opened;
	unsigned failures;
	void (*act)(struct rig *rig, const char *event);
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

static inline void rig_acted(struct rig_stream *s, const char *event)
{
	if (s->act != NULL)
		s->act(s, event);
}

static inline void rig_on_message(void *ctx, const struct wire_message *message)
{
	struct rig_stream *s = ctx;

	RIG_LOG(s->rig, "%s:%s", s->name, wire_spec((uint8_t)message->type)->name);
	rig_acted(s, "message");
}

static inline void rig_on_bytes(void *ctx, uint8_t channel, struct view bytes)
{
	struct rig_stream *s = ctx;
	struct error err;

	s->received += bytes.len;
	if (s->keeps)
		assert_int_equal(buf_add(&s->got[channel], bytes, &err), 0);
	else
		RIG_LOG(s->rig, "%s:bytes%u(%.*s)", s->name, channel, (int)bytes.len, bytes.ptr);
	if (s->consumes)
		channel_consumed(s->stream, channel, bytes.len);
	rig_acted(s, "bytes");
}

static inline void rig_on_ended(void *ctx, uint8_t channel)
{
	struct rig_stream *s = ctx;

	RIG_LOG(s->rig, "%s:ended%u", s->name, channel);
	rig_acted(s, "ended");
}

static inline void rig_on_writable(void *ctx)
{
	static const char zeros[256 * 1024];
	struct rig_stream *s = ctx;
	size_t left, n;

	s->turns++;
	do {
		left = s->to_send - s->sent;
		left = left > sizeof zeros ? sizeof zeros : left;
		n = left == 0 ? 0 : channel_send(s->stream, WIRE_IN, (struct view){ zeros, left });
		s->sent += n;
	} while (n == left && left != 0);
	rig_acted(s, "writable");
}

static inline void rig_on_done(void *ctx, const struct wire_done *done)
{
	struct rig_stream *s = ctx;

	(void)done;
	s->told++;
	RIG_LOG(s->rig, "%s:done", s->name);
	rig_acted(s, "done");
}

static inline void rig_on_stream_failed(void *ctx, enum wire_failure failure,
                                        const struct error *why)
{
	struct rig_stream *s = ctx;

	s->told++;
	RIG_LOG(s->rig, "%s:failed%d(%s)", s->name, (int)failure, why->msg);
	rig_acted(s, "failed");
}

static const struct channel_stream_events rig_stream_events = {
	.message = rig_on_message,
	.bytes = rig_on_bytes,
	.ended = rig_on_ended,
	.writable = rig_on_writable,
	.done = rig_on_done,
	.failed = rig_on_stream_failed,
};

static inline void rig_on_ready(void *ctx)
{
	struct rig *rig = ctx;

	RIG_LOG(rig, "ready()");
	if (rig->act != NULL)
		rig->act(rig, "ready");
}

static inline struct rig_stream *rig_new_stream(struct rig *rig, const char *letter, unsigned n)
{
	struct rig_stream *s = &rig->streams[rig->opened++];

	s->rig = rig;
	(void)snprintf(s->name, sizeof s->name, "%s%u", letter, n);
	for (unsigned i = 0; i < WIRE_CHANNELS; i++)
		buf_init(&s->got[i], RIG_HEARD_MAX);
	return s;
}

static inline void rig_on_failed(void *ctx, const struct error *why)
{
	struct rig *rig = ctx;

	rig->failures++;
	RIG_LOG(rig, "failed(%s)", why->msg);
	if (rig->act != NULL)
		rig->act(rig, "failed");
}

static const struct channel_events rig_events = {
	.ready = rig_on_ready,
	.failed = rig_on_failed,
};

/* --- life --- */

static inline void rig_open_timed(struct rig *rig, const struct channel_times *times)
{
	struct wire_welcome welcome = {
		.uid = 1000, .gid = 1000, .root = view_of("/"), .workspace = view_of("/workspace")
	};
	struct error err;
	int ends[2];

	(void)signal(SIGPIPE, SIG_IGN);
	*rig = (struct rig){ 0 };
	buf_init(&rig->log, RIG_HEARD_MAX);
	buf_init(&rig->in, RIG_HEARD_MAX);
	CHECK_OK(loop_new(&rig->loop, &err), err);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends),
	                 0);
	rig->fd = ends[1];
	CHECK_OK(channel_new_timed(rig->loop, ends[0], &welcome, times, &rig_events, rig,
	                           &rig->channel, &err),
	         err);
}

static inline void rig_open(struct rig *rig)
{
	static const struct channel_times times = { 60000, 60000 };

	rig_open_timed(rig, &times);
}

static inline void rig_hang_up(struct rig *rig)
{
	if (rig->fd >= 0)
		(void)close(rig->fd);
	rig->fd = -1;
}

static inline void rig_close(struct rig *rig)
{
	rig->channel = channel_free(rig->channel);
	rig->loop = loop_free(rig->loop);
	rig_hang_up(rig);
	buf_done(&rig->log);
	buf_done(&rig->in);
	for (unsigned i = 0; i < rig->opened; i++)
		for (unsigned j = 0; j < WIRE_CHANNELS; j++)
			buf_done(&rig->streams[i].got[j]);
}

static inline void rig_one_turn(void *ctx)
{
	struct rig *rig = ctx;

	if (rig->turns_left-- > 1)
		loop_defer(rig->loop, rig_one_turn, rig);
	else
		loop_stop(rig->loop);
}

/* Enough for everything that is on its way, if it is less than 1 MiB. */
static inline void rig_turn(struct rig *rig)
{
	rig->turns_left = 32;
	loop_defer(rig->loop, rig_one_turn, rig);
	loop_run(rig->loop);
}

static inline void rig_stop(void *ctx)
{
	loop_stop(((struct rig *)ctx)->loop);
}

static inline void rig_run_ms(struct rig *rig, uint64_t ms)
{
	struct loop_timer *timer = loop_timer_new(rig->loop, rig_stop, rig);

	loop_timer_start(timer, ms);
	loop_run(rig->loop);
	(void)loop_timer_free(timer);
}

/* The log since the last time. */
static inline void rig_check(struct rig *rig, const char *want)
{
	rig_turn(rig);
	assert_string_equal(buf_text(&rig->log), want);
	buf_truncate(&rig->log, 0);
}

/* --- what the agent says --- */

/* Returns how much the socket took. */
static inline size_t agent_raw(struct rig *rig, struct view bytes)
{
	ssize_t n = send(rig->fd, bytes.ptr, bytes.len, MSG_NOSIGNAL | MSG_DONTWAIT);

	return n < 0 ? 0 : (size_t)n;
}

static inline void agent_say(struct rig *rig, const struct wire_message *message, uint32_t stream,
                             uint8_t channel)
{
	AUTO_BUF struct buf out;
	struct error err;

	buf_init(&out, WIRE_FRAME_MAX);
	CHECK_OK(wire_encode(message, stream, channel, &out, &err), err);
	assert_int_equal(agent_raw(rig, buf_view(&out)), out.len);
}

#define AGENT_SAY(rig, stream, channel, ...)                                                       \
	agent_say(rig, &(struct wire_message){ __VA_ARGS__ }, stream, channel)

static inline void agent_hello(struct rig *rig)
{
	AGENT_SAY(rig, 0, 0, .type = WIRE_HELLO,
	          .hello = { .magic = WIRE_MAGIC, .version = WIRE_VERSION });
}

static inline void agent_ready(struct rig *rig)
{
	AGENT_SAY(rig, 0, 0, .type = WIRE_READY);
}

static inline void agent_data(struct rig *rig, uint32_t stream, uint8_t channel, struct view bytes)
{
	AGENT_SAY(rig, stream, channel, .type = WIRE_DATA, .data.bytes = bytes);
}

static inline void agent_started(struct rig *rig, uint32_t stream)
{
	AGENT_SAY(rig, stream, 0, .type = WIRE_STARTED, .started.pid = 8);
}

static inline void agent_done(struct rig *rig, uint32_t stream)
{
	AGENT_SAY(rig, stream, 0, .type = WIRE_DONE, .done.cursor = VIEW(""));
}

/* --- what it hears --- */

static inline void agent_read(struct rig *rig)
{
	static char chunk[64 * 1024];
	struct error err;
	ssize_t n;

	while ((n = recv(rig->fd, chunk, sizeof chunk, MSG_DONTWAIT)) > 0)
		assert_int_equal(buf_add(&rig->in, (struct view){ chunk, (size_t)n }, &err), 0);
}

/* The next frame, after the loop has had its turns; false if there is none. */
static inline bool agent_hear(struct rig *rig, struct wire_frame *frame)
{
	struct view rest;
	struct error err;
	int r;

	if (rig->heard == rig->in.len) {
		rig_turn(rig);
		buf_truncate(&rig->in, 0);
		rig->heard = 0;
		agent_read(rig);
	}
	rest = (struct view){ rig->in.ptr + rig->heard, rig->in.len - rig->heard };
	if (rest.len == 0)
		return false;
	r = wire_frame_cut(&rest, frame, &err);
	assert_true(r > 0);
	rig->heard = rig->in.len - rest.len;
	return true;
}

/* The next frame must be of this type, on this stream and channel. */
static inline struct wire_message agent_expect(struct rig *rig, enum wire_type type,
                                               uint32_t stream, uint8_t channel)
{
	struct wire_message message = { 0 };
	struct wire_frame frame;
	struct error err;

	if (!agent_hear(rig, &frame))
		fail_msg("%s was expected, nothing came", wire_spec((uint8_t)type)->name);
	if (frame.type != type)
		fail_msg("%s was expected, %s came", wire_spec((uint8_t)type)->name,
		         wire_spec(frame.type)->name);
	assert_int_equal(frame.stream, stream);
	assert_int_equal(frame.channel, channel);
	CHECK_OK(wire_decode(&frame, &message, &err), err);
	return message;
}

static inline void agent_expect_nothing(struct rig *rig)
{
	struct wire_frame frame;

	if (agent_hear(rig, &frame))
		fail_msg("nothing was expected, %s came", wire_spec(frame.type)->name);
}

/* --- requests --- */

static inline struct wire_message exec_message(struct buf *buf)
{
	struct wire_message exec = { .type = WIRE_EXEC,
		                     .exec = { .flags = WIRE_EXEC_STDIN, .cwd = VIEW("") } };
	struct error err;

	buf_init(buf, WIRE_FRAME_MAX);
	CHECK_OK(wire_texts_add(&exec.exec.argv, buf, VIEW("true"), &err), err);
	return exec;
}

static inline struct rig_stream *rig_open_stream(struct rig *rig,
                                                 const struct wire_message *request)
{
	struct rig_stream *s = rig_new_stream(rig, "s", rig->channel->link.next);
	struct error err;

	CHECK_OK(channel_open(rig->channel, request, &rig_stream_events, s, &s->stream, &err), err);
	return s;
}

static inline struct rig_stream *rig_exec(struct rig *rig)
{
	AUTO_BUF struct buf args;
	struct wire_message exec = exec_message(&args);

	return rig_open_stream(rig, &exec);
}

static inline struct rig_stream *rig_read(struct rig *rig)
{
	struct wire_message read = { .type = WIRE_READ, .read = { .count = 1, .path = VIEW("f") } };

	return rig_open_stream(rig, &read);
}

static inline struct rig_stream *rig_write(struct rig *rig)
{
	struct wire_message write = { .type = WIRE_WRITE, .write = { .path = VIEW("f") } };

	return rig_open_stream(rig, &write);
}

static inline struct rig_stream *rig_list(struct rig *rig, uint32_t limit)
{
	struct wire_message list = {
		.type = WIRE_LIST, .list = { .limit = limit, .path = VIEW("."), .cursor = VIEW("") }
	};

	return rig_open_stream(rig, &list);
}

/* Past the greeting, the log empty. */
static inline void rig_greeted(struct rig *rig)
{
	rig_open(rig);
	agent_hello(rig);
	(void)agent_expect(rig, WIRE_WELCOME, 0, 0);
	agent_ready(rig);
	rig_check(rig, "ready()");
}
