#include "sandbox/channel/channel.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/mem.h"
#include "base/text/utf8.h"
#include "loop/input.h"
#include "loop/loop.h"
#include "loop/output.h"
#include "sandbox/channel/internal.h"
#include "wire/bytes.h"

/* After a failed write the channel still reads for this time: frames that the agent sent before may
 * be in the socket. */
enum { DRAIN_MS = 1000 };

/* --- the end --- */

static void stop_channel(struct channel *channel)
{
	channel->is_stopped = true;
	channel->input = input_free(channel->input);
	channel->output = output_free(channel->output);
	channel->timer = loop_timer_free(channel->timer);
	channel->wake = loop_timer_free(channel->wake);
	cleanup_fd(&channel->fd);
	channel->fd = -1;
}

/* Callers ask for any stream again after each callback, because a callback may remove any of them:
 * a pointer to the next one could dangle. */
static struct channel_stream *any_stream(struct channel *channel)
{
	for (unsigned i = 0; i < CHANNEL_BUCKETS; i++)
		if (!list_is_empty(&channel->buckets[i]))
			return container_of(channel->buckets[i].next, struct channel_stream, node);
	return NULL;
}

/* The socket is closed before any callback runs, so nothing that a callback does can reach the
 * agent any more. A callback may free the channel: then all streams are removed and `events` is
 * NULL. */
void channel_fail(struct channel *channel, const struct error *why)
{
	const struct channel_events *events;
	struct channel_stream *stream;

	if (channel->is_stopped)
		return;
	if (!channel->is_failing) /* otherwise the reason of channel_fail_later() is kept */
		channel->why = *why;
	channel->why.kind = ERR_SYSTEM; /* never the fault of a caller's argument */
	stop_channel(channel);
	while ((stream = any_stream(channel)) != NULL)
		channel_stream_fail(stream, WIRE_FAILED_LOST, &channel->why);
	events = channel->events;
	if (events != NULL && events->failed != NULL)
		events->failed(channel->ctx, &channel->why);
}

static void fail_protocol(struct channel *channel, struct error *err)
{
	(void)error_wrap(err, "the agent broke the protocol");
	channel_fail(channel, err);
}

bool channel_has_ended(const struct channel *channel)
{
	return channel->is_stopped || channel->is_failing;
}

void channel_fail_later(struct channel *channel, const struct error *why)
{
	if (channel->is_stopped || channel->is_failing)
		return;
	channel->is_failing = true;
	channel->why = *why;
	loop_timer_start(channel->wake, 0);
}

static void on_wake(void *ctx)
{
	struct channel *channel = ctx;

	if (channel->is_failing)
		channel_fail(channel, &channel->why);
	else
		channel_give_turns(channel);
}

static void free_channel(void *ctx)
{
	struct channel *channel = ctx;

	buf_done(&channel->welcome);
	buf_done(&channel->partial);
	free(channel);
}

struct channel *channel_free(struct channel *channel)
{
	struct channel_stream *stream;

	if (channel == NULL)
		return NULL;
	stop_channel(channel);
	while ((stream = any_stream(channel)) != NULL)
		channel_stream_remove(stream);
	channel->events = NULL;
	loop_defer(channel->loop, free_channel, channel);
	return NULL;
}

/* --- sending --- */

void channel_queue(struct channel *channel, struct view frames, struct view payload)
{
	struct error err;

	if (channel->is_stopped || output_write_pair(channel->output, frames, payload, &err) == 0)
		return;
	(void)error_set(&err, ERR_LIMIT, "the agent does not read: more than %d bytes wait for it",
	                CHANNEL_BACKLOG_MAX);
	channel_fail_later(channel, &err);
}

static void on_drained(void *ctx)
{
	channel_give_turns(ctx);
}

/* Reading continues for a moment: a REFUSED with the agent's reason may still be in the socket. */
static void on_write_failed(void *ctx, const struct error *why)
{
	struct channel *channel = ctx;

	(void)why;
	channel->write_failed = true;
	loop_timer_start(channel->timer, DRAIN_MS);
}

static void send_ping(struct channel *channel)
{
	struct wire_message ping = { .type = WIRE_PING, .ping.token = channel->pings + 1 };
	AUTO_BUF struct buf out;
	struct error err;

	buf_init(&out, WIRE_FRAME_MAX);
	if (wire_encode(&ping, 0, 0, &out, &err) < 0)
		return channel_fail_later(channel, &err);
	channel->pings++;
	channel_queue(channel, buf_view(&out), (struct view){ "", 0 });
}

/* --- handshake and PING --- */

/* Reads the version before the message is decoded: another version of HELLO may have other fields,
 * and its user needs to know that the builds differ, not that a field is malformed. */
static int check_version(const struct wire_frame *frame, struct error *err)
{
	int version = wire_hello_version(frame->payload);

	if (frame->type != WIRE_HELLO || version < 0 || version == WIRE_VERSION)
		return 0;
	return error_set(err, ERR_UNSUPPORTED,
	                 "the agent speaks version %d of the protocol, this server %d: they must "
	                 "come from the same build",
	                 version, WIRE_VERSION);
}

static void receive_hello(struct channel *channel)
{
	channel_queue(channel, buf_view(&channel->welcome), (struct view){ "", 0 });
	wire_link_sent(&channel->link, WIRE_WELCOME);
	buf_done(&channel->welcome);
}

static void receive_ready(struct channel *channel)
{
	if (!channel->write_failed)
		loop_timer_start(channel->timer, channel->times.ping_ms);
	if (channel->events->ready != NULL)
		channel->events->ready(channel->ctx);
}

/* Each PONG must answer the next PING. Otherwise an agent could send PONGs in advance and count as
 * alive while it hangs. */
static int receive_pong(struct channel *channel, uint64_t token, struct error *err)
{
	if (channel->pongs == channel->pings || token != channel->pongs + 1)
		return error_set(err, ERR_SYNTAX, "PONG %" PRIu64 ", which answers no PING", token);
	channel->pongs++;
	return 0;
}

static void receive_refused(struct channel *channel, struct view reason)
{
	struct error err;

	/* Escaped: the text comes from the sandbox and ends up in logs and terminals. */
	(void)error_set(&err, ERR_SYSTEM, "the agent refused: %s", UTF8_ESCAPED(reason, 400));
	channel_fail(channel, &err);
}

const char *channel_format_ms(uint64_t ms, char out[32])
{
	(void)snprintf(out, 32, ms % 1000 == 0 ? "%" PRIu64 " s" : "%" PRIu64 " ms",
	               ms % 1000 == 0 ? ms / 1000 : ms);
	return out;
}

static void fail_handshake(struct channel *channel)
{
	char time[32];
	struct error err;

	(void)error_set(&err, ERR_SYSTEM,
	                channel->link.phase == WIRE_PHASE_HELLO
	                        ? "the agent did not say hello within %s"
	                        : "the agent said hello, but was not ready within %s",
	                channel_format_ms(channel->times.hello_ms, time));
	channel_fail(channel, &err);
}

static void fail_unreadable(struct channel *channel)
{
	struct error err;

	(void)error_set(&err, ERR_SYSTEM, "the agent closed its reading end but still sends");
	channel_fail(channel, &err);
}

static void fail_silent(struct channel *channel)
{
	char time[32];
	struct error err;

	(void)error_set(&err, ERR_SYSTEM, "the agent does not answer (%s)",
	                channel_format_ms(channel->times.ping_ms * CHANNEL_SILENT_MAX, time));
	channel_fail(channel, &err);
}

/* The timer is restarted each time it fires. So if the whole server was stopped for long (SIGSTOP,
 * a suspended machine), that counts as one interval, and what arrived meanwhile is read before the
 * next. */
static void on_timer(void *ctx)
{
	struct channel *channel = ctx;

	if (channel->write_failed)
		return fail_unreadable(channel);
	if (channel->link.phase != WIRE_PHASE_OPEN)
		return fail_handshake(channel);
	channel->silent = channel->has_received ? 0 : channel->silent + 1;
	if (channel->silent >= CHANNEL_SILENT_MAX)
		return fail_silent(channel);
	if (!channel->has_received)
		send_ping(channel);
	channel->has_received = false;
	loop_timer_start(channel->timer, channel->times.ping_ms);
	channel_fail_stalled(channel);
}

/* --- receiving --- */

static int receive_control(struct channel *channel, const struct wire_frame *frame,
                           struct error *err)
{
	struct wire_message message;

	if (wire_decode(frame, &message, err) < 0)
		return -1;
	switch ((int)message.type) {
	case WIRE_HELLO:
		receive_hello(channel);
		return 0;
	case WIRE_READY:
		receive_ready(channel);
		return 0;
	case WIRE_REFUSED:
		receive_refused(channel, message.refused.reason);
		return 0;
	case WIRE_PONG:
		return receive_pong(channel, message.ping.token, err);
	default:
		return error_set(err, ERR_SYNTAX, "message %#x has no meaning here", frame->type);
	}
}

static void receive_frame(struct channel *channel, const struct wire_frame *frame)
{
	struct channel_stream *stream = channel_find(channel, frame->stream);
	struct error err;
	int r;

	if (stream != NULL) {
		if (channel_stream_receive(stream, frame, &err) < 0)
			fail_protocol(channel, &err);
		return;
	}
	if (channel->link.phase == WIRE_PHASE_HELLO && check_version(frame, &err) < 0)
		return channel_fail(channel, &err);
	r = wire_link_receive(&channel->link, frame, &err);
	if (r > 0)
		r = receive_control(channel, frame, &err);
	if (r < 0)
		fail_protocol(channel, &err);
}

static bool is_live(const struct channel *channel)
{
	return !channel->is_stopped && !channel->is_failing;
}

/* How many bytes the kept frame lacks: of its header first, then of its payload. */
static size_t count_missing(const struct buf *partial)
{
	size_t whole = WIRE_HEADER;

	if (partial->len >= WIRE_HEADER)
		whole += bytes_get16(partial->ptr + 2);
	return whole - partial->len;
}

/* Completes the frame whose beginning is kept, with as few of the new bytes as possible: the rest
 * need not be copied. */
static int complete_frame(struct channel *channel, struct view *bytes, struct wire_frame *ret,
                          struct error *err)
{
	int r = 0;

	while (r == 0 && bytes->len != 0) {
		size_t wanted = count_missing(&channel->partial);
		struct view more = { bytes->ptr, wanted < bytes->len ? wanted : bytes->len };
		struct view kept;

		if (buf_add(&channel->partial, more, err) < 0)
			return -1;
		bytes->ptr += more.len;
		bytes->len -= more.len;
		kept = buf_view(&channel->partial);
		r = wire_frame_cut(&kept, ret, err);
	}
	return r;
}

/* A frame that is whole in the chunk is not copied.
 *
 * Reading is never paused. Credit limits only bytes and records; the agent may send other messages
 * without end (CREDIT, frames of streams that have ended). Such messages take no memory that stays:
 * at most one partial frame is kept, streams are limited, and replies are queued up to
 * CHANNEL_BACKLOG_MAX. Such messages take no more time than one chunk per turn of the loop, because
 * the input reads no more at once. */
static void on_bytes(void *ctx, struct view bytes)
{
	struct channel *channel = ctx;
	struct wire_frame frame;
	struct error err;
	int r = 1;

	channel->has_received = true;
	while (r > 0 && is_live(channel)) {
		bool is_kept = channel->partial.len != 0;

		r = is_kept ? complete_frame(channel, &bytes, &frame, &err)
		            : wire_frame_cut(&bytes, &frame, &err);
		if (r > 0)
			receive_frame(channel, &frame);
		if (r > 0 && is_kept)
			buf_truncate(&channel->partial, 0);
	}
	if (!is_live(channel))
		return;
	if (r == 0 && bytes.len != 0) /* `partial` is empty then: see complete_frame() */
		r = buf_add(&channel->partial, bytes, &err);
	if (r < 0)
		fail_protocol(channel, &err);
}

static void on_input_end(void *ctx, const struct error *why)
{
	struct channel *channel = ctx;
	struct error err;

	if (why != NULL && why->errnum != ECONNRESET) {
		err = *why;
		(void)error_wrap(&err, "the agent's channel");
	} else {
		(void)error_set(&err, ERR_SYSTEM,
		                channel->link.phase == WIRE_PHASE_OPEN
		                        ? "the agent ended"
		                        : "the agent ended before it was ready");
	}
	channel_fail(channel, &err);
}

/* --- the beginning --- */

static struct channel *alloc_channel(struct loop *loop, const struct channel_times *times,
                                     const struct channel_events *events, void *ctx)
{
	struct channel *channel = mem_new(sizeof *channel);

	channel->loop = loop;
	channel->events = events;
	channel->ctx = ctx;
	channel->times = *times;
	channel->fd = -1;
	wire_link_init(&channel->link, WIRE_SERVER);
	buf_init(&channel->welcome, WIRE_FRAME_MAX);
	buf_init(&channel->partial, WIRE_FRAME_MAX);
	for (unsigned i = 0; i < CHANNEL_BUCKETS; i++)
		list_init(&channel->buckets[i]);
	list_init(&channel->waiting);
	return channel;
}

static int encode_welcome(struct channel *channel, const struct wire_welcome *welcome,
                          struct error *err)
{
	struct wire_message message = { .type = WIRE_WELCOME, .welcome = *welcome };

	message.welcome.version = WIRE_VERSION; /* callers need not know it */
	return wire_encode(&message, 0, 0, &channel->welcome, err);
}

int channel_new_timed(struct loop *loop, int fd, const struct wire_welcome *welcome,
                      const struct channel_times *times, const struct channel_events *events,
                      void *ctx, struct channel **ret, struct error *err)
{
	static const struct input_events inward = { .bytes = on_bytes, .end = on_input_end };
	static const struct output_events outward = { on_drained, on_write_failed };
	struct channel *channel = alloc_channel(loop, times, events, ctx);

	/* With SO_OOBINLINE a byte that the agent sends with MSG_OOB is read in order like any
	 * other; without it, reads would stop before that byte and skip it. */
	(void)setsockopt(fd, SOL_SOCKET, SO_OOBINLINE, &(int){ 1 }, sizeof(int));
	if (encode_welcome(channel, welcome, err) < 0 ||
	    output_new(loop, fd, CHANNEL_BACKLOG_MAX, &outward, channel, &channel->output, err) <
	            0) {
		(void)close(fd);
		(void)channel_free(channel);
		return -1;
	}
	channel->fd = fd;
	channel->input = input_new(loop, fd, &inward, channel);
	channel->wake = loop_timer_new(loop, on_wake, channel);
	channel->timer = loop_timer_new(loop, on_timer, channel);
	loop_timer_start(channel->timer, times->hello_ms);
	*ret = channel;
	return 0;
}

int channel_new(struct loop *loop, int fd, const struct wire_welcome *welcome,
                const struct channel_events *events, void *ctx, struct channel **ret,
                struct error *err)
{
	static const struct channel_times times = { CHANNEL_HELLO_MS, CHANNEL_PING_MS };

	return channel_new_timed(loop, fd, welcome, &times, events, ctx, ret, err);
}
