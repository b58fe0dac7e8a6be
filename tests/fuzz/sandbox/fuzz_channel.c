/* fuzz_channel.c - a hostile agent sends any bytes. The end of every stream is reported once, the
 * failure of the channel last, and the channel neither stores nor delivers more than its limits.
 *
 * The first byte of the input chooses how far the handshake has come before the rest is sent, and
 * what the callbacks do: see the bits below. Then the agent closes the connection. */
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/error.h"
#include "fuzz/fuzz.h"
#include "loop/loop.h"
#include "loop/output.h"
#include "sandbox/channel/channel.h"
#include "sandbox/channel/internal.h"

enum {
	GREETED = 1,  /* HELLO is sent first */
	READY = 2,    /* then READY: streams are opened */
	CONSUMES = 8, /* received bytes are returned as credit */
	SENDS = 16,   /* callbacks send as much as they can */
	ACTS = 224,   /* the n-th callback cancels (odd n) or closes its stream, or (7) frees all */
	STREAMS = 400,
};

struct watched {
	struct channel_stream *stream;
	bool is_cancelled;
	unsigned ends;
	size_t unconsumed[WIRE_CHANNELS];
};

static struct loop *loop;
static struct channel *channel;
static struct watched watched[STREAMS];
static unsigned opened, calls, failures;
static uint8_t mode;

static void cancel_stream(struct watched *w)
{
	w->is_cancelled = true;
	channel_cancel(w->stream);
}

static void act_in_callback(struct watched *w)
{
	unsigned when = mode >> 5;

	fuzz_check(failures == 0 && !w->is_cancelled);
	calls++;
	fuzz_check(output_pending(channel->output) <= CHANNEL_BACKLOG_MAX &&
	           channel->live <= WIRE_STREAMS_MAX);
	if (when == 0 || calls != when)
		return;
	if (when == 7) {
		channel = channel_free(channel);
		loop_stop(loop);
	} else if (when % 2 == 1) {
		cancel_stream(w);
	} else {
		channel_close(w->stream);
	}
}

static void send_all(struct watched *w)
{
	static const char zeros[100000];

	if (mode & SENDS)
		for (uint8_t i = 0; i < WIRE_CHANNELS; i++)
			(void)channel_send(w->stream, i, (struct view){ zeros, sizeof zeros });
}

static void on_message(void *ctx, const struct wire_message *message)
{
	struct watched *w = ctx;

	if (message->type == WIRE_ENTRIES || message->type == WIRE_MATCHES) {
		fuzz_check(message->records.records.len <= WIRE_RECORDS_MAX);
		if (mode & CONSUMES)
			channel_consumed(w->stream, WIRE_OUT, message->records.records.len);
	}
	send_all(w);
	act_in_callback(w);
}

static void on_bytes(void *ctx, uint8_t c, struct view bytes)
{
	struct watched *w = ctx;

	w->unconsumed[c] += bytes.len;
	fuzz_check(w->unconsumed[c] <= WIRE_WINDOW && bytes.len != 0);
	if (mode & CONSUMES) {
		channel_consumed(w->stream, c, bytes.len);
		w->unconsumed[c] = 0;
	}
	act_in_callback(w);
}

static void on_ended(void *ctx, uint8_t c)
{
	fuzz_check(c < WIRE_CHANNELS);
	act_in_callback(ctx);
}

static void on_writable(void *ctx)
{
	send_all(ctx);
	act_in_callback(ctx);
}

static void on_done(void *ctx, const struct wire_done *done)
{
	struct watched *w = ctx;

	fuzz_check(w->ends++ == 0 && !w->is_cancelled && failures == 0);
	fuzz_check(done->cursor.ptr[done->cursor.len] == '\0');
}

static void on_stream_failed(void *ctx, enum wire_failure failure, const struct error *why)
{
	struct watched *w = ctx;

	fuzz_check(w->ends++ == 0 && !w->is_cancelled && failures == 0);
	fuzz_check(failure < WIRE_FAILED_COUNT);
	for (const char *c = why->msg; *c != '\0'; c++)
		fuzz_check((unsigned char)*c >= 0x20);
}

static const struct channel_stream_events stream_events = {
	.message = on_message,
	.bytes = on_bytes,
	.ended = on_ended,
	.writable = on_writable,
	.done = on_done,
	.failed = on_stream_failed,
};

static void open_stream(const struct wire_message *request)
{
	struct watched *w = &watched[opened];
	struct error err;

	if (channel_open(channel, request, &stream_events, w, &w->stream, &err) < 0)
		abort();
	opened++;
	send_all(w);
}

static void open_streams(void)
{
	static const char argv[] = "\0\1x";
	static const struct view path = { "f", 1 }, none = { "", 0 };
	struct wire_message requests[] = {
		{ .type = WIRE_EXEC, .exec = { .cwd = none, .argv = { 1, { argv, 4 } } } },
		{ .type = WIRE_READ, .read = { .count = 100000, .max = 100000, .path = path } },
		{ .type = WIRE_WRITE, .write.path = path },
		{ .type = WIRE_LIST, .list = { .limit = 3, .path = path, .cursor = none } },
		{ .type = WIRE_GREP,
		  .grep = { .depth = 1,
		            .limit = 3,
		            .path = path,
		            .pattern = path,
		            .names = none } },
		{ .type = WIRE_STATS },
		{ .type = WIRE_PACK, .pack = { .max = 100000, .max_count = 1, .path = path } },
		{ .type = WIRE_STAT, .stat.path = path },
	};
	struct wire_message signal = { .type = WIRE_SIGNAL, .signal.number = 1 };
	struct error err;

	for (size_t i = 0; i < ARRAY_LEN(requests); i++)
		open_stream(&requests[i]);
	if (channel_send_message(watched[0].stream, &signal, &err) < 0)
		abort();
}

static void on_ready(void *ctx)
{
	(void)ctx;
	open_streams();
}

static void on_failed(void *ctx, const struct error *why)
{
	(void)ctx;
	fuzz_check(why->msg[0] != '\0' && failures++ == 0);
	loop_stop(loop);
}

static const struct channel_events events = { on_ready, on_failed };

static void send_message(int fd, const struct wire_message *message)
{
	AUTO_BUF struct buf out;
	struct error err;

	buf_init(&out, WIRE_FRAME_MAX);
	if (wire_encode(message, 0, 0, &out, &err) < 0 || write(fd, out.ptr, out.len) < 0)
		abort();
}

static void send_input(int fd, const uint8_t *data, size_t size)
{
	struct wire_message hello = { .type = WIRE_HELLO,
		                      .hello = { .magic = WIRE_MAGIC, .version = WIRE_VERSION } };
	struct wire_message ready = { .type = WIRE_READY };

	if (mode & GREETED)
		send_message(fd, &hello);
	if ((mode & GREETED) && (mode & READY))
		send_message(fd, &ready);
	(void)!write(fd, data, size);
	(void)shutdown(fd, SHUT_WR);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wire_welcome welcome = { .root = { "/", 1 }, .workspace = { "/", 1 } };
	struct error err;
	int ends[2];

	(void)signal(SIGPIPE, SIG_IGN);
	if (size == 0 || loop_new(&loop, &err) < 0 ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) < 0)
		return 0;
	mode = data[0];
	memset(watched, 0, sizeof watched);
	opened = calls = failures = 0;
	if (channel_new(loop, ends[0], &welcome, &events, NULL, &channel, &err) < 0)
		abort();
	send_input(ends[1], data + 1, size - 1);
	loop_run(loop);
	fuzz_check(failures == 1 || channel == NULL);
	for (unsigned i = 0; i < opened && channel != NULL; i++)
		fuzz_check(watched[i].ends == !watched[i].is_cancelled);
	channel = channel_free(channel);
	loop = loop_free(loop);
	(void)close(ends[1]);
	return 0;
}
