/* fuzz_channel.c - an agent may say anything: whatever it is, every stream hears of its end
 * once, the owner last, and no more is stored or handed on than was allowed.
 *
 * The first byte chooses how far the greeting has come before the input is said, and what
 * the callbacks do; see the bits below. The rest is said by the agent, which then ends. */
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/error.h"
#include "loop/loop.h"
#include "loop/output.h"
#include "sandbox/channel/channel.h"
#include "sandbox/channel/internal.h"

enum {
	GREETED = 1,   /* HELLO comes first */
	READY = 2,     /* and READY: streams are opened */
	CONSUMES = 8,  /* bytes are given back as credit */
	SENDS = 16,    /* and as many sent as can be */
	MEDDLES = 224, /* the n-th callback drops (odd n) or closes its stream, or (7) frees all */
	STREAMS = 400,
};

struct watched {
	struct channel_stream *stream;
	bool is_dropped;
	unsigned told;
	size_t unconsumed[WIRE_CHANNELS];
};

static struct loop *loop;
static struct channel *channel;
static struct watched watched[STREAMS];
static unsigned opened, calls, failures;
static uint8_t mode;

static void must(bool is_true)
{
	if (!is_true)
		abort();
}

static void drop(struct watched *w)
{
	w->is_dropped = true;
	channel_cancel(w->stream);
}

static void meddle(struct watched *w)
{
	unsigned when = mode >> 5;

	must(failures == 0 && !w->is_dropped);
	calls++;
	must(output_pending(channel->output) <= CHANNEL_BACKLOG_MAX &&
	     channel->live <= WIRE_STREAMS_MAX);
	if (when == 0 || calls != when)
		return;
	if (when == 7) {
		channel = channel_free(channel);
		loop_stop(loop);
	} else if (when % 2 == 1) {
		drop(w);
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
		must(message->records.records.len <= WIRE_RECORDS_MAX);
		if (mode & CONSUMES)
			channel_consumed(w->stream, WIRE_OUT, message->records.records.len);
	}
	send_all(w);
	meddle(w);
}

static void on_bytes(void *ctx, uint8_t c, struct view bytes)
{
	struct watched *w = ctx;

	w->unconsumed[c] += bytes.len;
	must(w->unconsumed[c] <= WIRE_WINDOW && bytes.len != 0);
	if (mode & CONSUMES) {
		channel_consumed(w->stream, c, bytes.len);
		w->unconsumed[c] = 0;
	}
	meddle(w);
}

static void on_ended(void *ctx, uint8_t c)
{
	must(c < WIRE_CHANNELS);
	meddle(ctx);
}

static void on_writable(void *ctx)
{
	send_all(ctx);
	meddle(ctx);
}

static void on_done(void *ctx, const struct wire_done *done)
{
	struct watched *w = ctx;

	must(w->told++ == 0 && !w->is_dropped && failures == 0);
	must(done->cursor.ptr[done->cursor.len] == '\0');
}

static void on_stream_failed(void *ctx, enum wire_failure failure, const struct error *why)
{
	struct watched *w = ctx;

	must(w->told++ == 0 && !w->is_dropped && failures == 0);
	must(failure < WIRE_FAILED_COUNT);
	for (const char *c = why->msg; *c != '\0'; c++)
		must((unsigned char)*c >= 0x20);
}

static const struct channel_stream_events stream_events = {
	on_message, on_bytes, on_ended, on_writable, on_done, on_stream_failed,
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
	must(why->msg[0] != '\0' && failures++ == 0);
	loop_stop(loop);
}

static const struct channel_events events = { on_ready, on_failed };

static void say(int fd, const struct wire_message *message)
{
	AUTO_BUF struct buf out;
	struct error err;

	buf_init(&out, WIRE_FRAME_MAX);
	if (wire_encode(message, 0, 0, &out, &err) < 0 || write(fd, out.ptr, out.len) < 0)
		abort();
}

static void say_all(int fd, const uint8_t *data, size_t size)
{
	struct wire_message hello = { .type = WIRE_HELLO,
		                      .hello = { .magic = WIRE_MAGIC, .version = WIRE_VERSION } };
	struct wire_message ready = { .type = WIRE_READY };

	if (mode & GREETED)
		say(fd, &hello);
	if ((mode & GREETED) && (mode & READY))
		say(fd, &ready);
	(void)!write(fd, data, size);
	(void)shutdown(fd, SHUT_WR);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
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
	say_all(ends[1], data + 1, size - 1);
	loop_run(loop);
	must(failures == 1 || channel == NULL);
	for (unsigned i = 0; i < opened && channel != NULL; i++)
		must(watched[i].told == !watched[i].is_dropped);
	channel = channel_free(channel);
	loop = loop_free(loop);
	(void)close(ends[1]);
	return 0;
}
