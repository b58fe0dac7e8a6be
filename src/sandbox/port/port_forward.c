#include "sandbox/port/port_forward.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/list.h"
#include "base/mem.h"
#include "loop/input.h"
#include "loop/loop.h"
#include "loop/output.h"
#include "loop/watch.h"
#include "sandbox/channel/channel.h"

enum {
	OUTPUT_MAX = 512 * 1024,  /* more than the window of the agent, which bounds the queue */
	WINDOW_MORE = 192 * 1024, /* beyond the 64 KiB of every stream */
};

struct port_forward {
	struct port_forward_options options;
	struct loop_watch *watch;
	struct list links;
	unsigned count;
};

struct port_link {
	struct list node;
	struct port_forward *forward;
	struct channel_stream *stream; /* NULL: it has ended */
	int fd;                        /* of the local client */
	struct input *input;           /* NULL: the agent has not connected yet, or the end */
	struct output *output;
	struct buf pending; /* of the local client; the agent has not taken it */
	size_t unconfirmed; /* bytes in `output`, whose credit is not given back */
	bool local_ended, inside_ended, write_failed;
};

static void free_link(struct port_link *link)
{
	struct port_forward *forward = link->forward;

	list_remove(&link->node);
	forward->count--;
	loop_watch_read(forward->watch, true);
	if (link->stream != NULL)
		channel_cancel(link->stream);
	link->input = input_free(link->input);
	link->output = output_free(link->output);
	(void)close(link->fd);
	buf_done(&link->pending);
	/* Callbacks of the stream, of the input and of the output may be on the stack. */
	loop_defer(forward->options.loop, free, link);
}

/* --- from the local client into the sandbox --- */

static void end_inside(struct port_link *link)
{
	if (link->local_ended && link->pending.len == 0 && link->stream != NULL)
		channel_send_end(link->stream, WIRE_IN);
}

static void on_local_bytes(void *ctx, struct view bytes)
{
	struct port_link *link = ctx;
	size_t sent = channel_send(link->stream, WIRE_IN, bytes);

	if (sent == bytes.len)
		return;
	/* The input reads at most one chunk, and `pending` has room for it. */
	buf_put(&link->pending, (struct view){ bytes.ptr + sent, bytes.len - sent });
	input_pause(link->input);
}

static void on_local_end(void *ctx, const struct error *why)
{
	struct port_link *link = ctx;

	(void)why; /* a reset ends the direction like a close */
	link->local_ended = true;
	end_inside(link);
}

static void on_writable(void *ctx)
{
	struct port_link *link = ctx;
	size_t sent = channel_send(link->stream, WIRE_IN, buf_view(&link->pending));

	memmove(link->pending.ptr, link->pending.ptr + sent, link->pending.len - sent);
	buf_truncate(&link->pending, link->pending.len - sent);
	if (link->pending.len != 0)
		return;
	if (link->input != NULL)
		input_resume(link->input);
	end_inside(link);
}

/* --- from the sandbox to the local client --- */

static void confirm_bytes(struct port_link *link)
{
	size_t bytes = link->unconfirmed;

	link->unconfirmed = 0;
	if (link->stream != NULL && bytes != 0)
		channel_consumed(link->stream, WIRE_OUT, bytes);
}

static void end_local(struct port_link *link)
{
	if (link->inside_ended && output_pending(link->output) == 0)
		(void)shutdown(link->fd, SHUT_WR);
}

static void on_drained(void *ctx)
{
	struct port_link *link = ctx;

	confirm_bytes(link);
	end_local(link);
	if (link->stream == NULL)
		free_link(link);
}

static void on_write_failed(void *ctx, const struct error *why)
{
	struct port_link *link = ctx;

	(void)why;
	link->write_failed = true;
	confirm_bytes(link);
	if (link->stream == NULL)
		free_link(link);
}

static void on_inside_bytes(void *ctx, uint8_t channel, struct view bytes)
{
	struct port_link *link = ctx;
	struct error err;

	(void)channel;
	link->unconfirmed += bytes.len;
	if (!link->write_failed && output_write(link->output, bytes, &err) < 0)
		link->write_failed = true;
	if (link->write_failed || output_pending(link->output) == 0)
		confirm_bytes(link);
}

static void on_inside_end(void *ctx, uint8_t channel)
{
	struct port_link *link = ctx;

	(void)channel;
	link->inside_ended = true;
	end_local(link);
}

/* --- the stream --- */

/* The agent has connected: the client's bytes are read from now on. */
static void on_message(void *ctx, const struct wire_message *message)
{
	static const struct input_events inward = { .bytes = on_local_bytes, .end = on_local_end };
	struct port_link *link = ctx;

	if (message->type != WIRE_LINKED)
		return;
	channel_grow_window(link->stream, WIRE_OUT, WINDOW_MORE);
	link->input = input_new(link->forward->options.loop, link->fd, &inward, link);
}

/* The program has ended its side: bytes that the client has not read yet are still written. */
static void on_done(void *ctx, const struct wire_done *done)
{
	struct port_link *link = ctx;

	(void)done;
	link->stream = NULL;
	link->input = input_free(link->input);
	if (link->write_failed || output_pending(link->output) == 0)
		free_link(link);
}

static void on_failed(void *ctx, enum wire_failure failure, const struct error *why)
{
	struct port_link *link = ctx;
	const struct port_forward_options *options = &link->forward->options;

	(void)failure;
	link->stream = NULL;
	if (link->input == NULL && options->refused != NULL)
		options->refused(options->ctx, why);
	free_link(link);
}

static const struct channel_stream_events stream_events = { .message = on_message,
	                                                    .bytes = on_inside_bytes,
	                                                    .ended = on_inside_end,
	                                                    .writable = on_writable,
	                                                    .done = on_done,
	                                                    .failed = on_failed };

/* --- the listener --- */

static int open_link(struct port_forward *forward, int fd, struct error *err)
{
	static const struct output_events outward = { on_drained, on_write_failed };
	const struct wire_message request = { .type = WIRE_CONNECT,
		                              .port.port = forward->options.port };
	struct port_link *link = mem_new(sizeof *link);

	if (output_new(forward->options.loop, fd, OUTPUT_MAX, &outward, link, &link->output, err) <
	    0) {
		free(link);
		return -1;
	}
	if (channel_open(forward->options.channel, &request, &stream_events, link, &link->stream,
	                 err) < 0) {
		(void)output_free(link->output);
		free(link);
		return -1;
	}
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int));
	link->forward = forward;
	link->fd = fd;
	buf_init(&link->pending, INPUT_CHUNK);
	list_add(&forward->links, &link->node);
	forward->count++;
	return 0;
}

static void on_connection(void *ctx)
{
	struct port_forward *forward = ctx;
	struct error err;
	/* cppcheck-suppress nullPointer ; the address of the client is not wanted */
	int fd = accept4(forward->options.listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd < 0)
		return;
	if (open_link(forward, fd, &err) < 0) {
		(void)close(fd);
		if (forward->options.refused != NULL)
			forward->options.refused(forward->options.ctx, &err);
	}
	if (forward->count >= PORT_LINKS_MAX)
		loop_watch_read(forward->watch, false);
}

struct port_forward *port_forward_new(const struct port_forward_options *options)
{
	struct port_forward *forward = mem_new(sizeof *forward);

	forward->options = *options;
	list_init(&forward->links);
	forward->watch = loop_watch_new(options->loop, options->listener, on_connection, forward);
	return forward;
}

struct port_forward *port_forward_free(struct port_forward *forward)
{
	if (forward == NULL)
		return NULL;
	while (!list_is_empty(&forward->links))
		free_link(container_of(forward->links.next, struct port_link, node));
	(void)loop_watch_free(forward->watch);
	loop_defer(forward->options.loop, free, forward);
	return NULL;
}
