/* attach.c - the bytes between the server and the agent in a container (see internal.h).
 *
 *   server <- socket pair -> attach <- connection to the daemon, with headers -> agent
 *                                   <- or a direct connection (direct_connection.c)      ->
 *
 * One side is not read while more than QUEUED_MAX bytes wait to be written to the other, which
 * bounds the memory of the broker. */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/text/utf8.h"
#include "engine/docker/demux.h"
#include "engine/docker/internal.h"
#include "loop/input.h"
#include "loop/output.h"

enum {
	QUEUED_MAX = 256 * 1024,
	OUTPUT_MAX = 16 * 1024 * 1024,
	ERROR_TEXT_MAX = 400,
	DRAIN_READS = 64
};

struct attach {
	struct broker *broker;
	const struct attach_events *events;
	void *ctx;
	struct http_upgrade *stream;
	struct demux demux;
	int fd; /* the broker's end */
	struct input *input;
	struct output *output;
	int direct_fd; /* or -1 */
	struct input *direct_input;
	struct output *direct_output;
	bool has_hello;
	char stderr_bytes[ERROR_TEXT_MAX], error_text[ERROR_TEXT_MAX * 2];
	size_t stderr_len;
	bool has_ended;
};

/* When the attached stream reports the end, the last bytes of the agent may still wait in the
 * direct connection. The number of reads is bounded, because an agent that was taken over could
 * send for ever. */
static void drain_direct(struct attach *attach)
{
	char bytes[16 * 1024];
	struct error err;
	ssize_t n;

	attach->direct_input = input_free(attach->direct_input);
	for (int i = 0; i < DRAIN_READS && attach->direct_fd >= 0; i++) {
		n = recv(attach->direct_fd, bytes, sizeof bytes, MSG_DONTWAIT);
		if (n <= 0 ||
		    output_write(attach->output, (struct view){ bytes, (size_t)n }, &err) < 0)
			return;
	}
}

static void end_attach(struct attach *attach, const struct error *why)
{
	if (attach->has_ended)
		return;
	attach->has_ended = true;
	attach->input = input_free(attach->input);
	drain_direct(attach);
	attach->events->end(attach->ctx, why);
}

/* --- from the server --- */

static void on_server_bytes(void *ctx, struct view bytes)
{
	struct attach *attach = ctx;
	struct error err;

	if (attach->direct_output == NULL) {
		http_upgrade_send(attach->stream, bytes);
		if (http_upgrade_pending(attach->stream) > QUEUED_MAX)
			input_pause(attach->input);
		return;
	}
	/* Writing fails when the agent has exited, which the attached stream reports. */
	if (output_write(attach->direct_output, bytes, &err) == 0 &&
	    output_pending(attach->direct_output) > QUEUED_MAX)
		input_pause(attach->input);
}

/* The server has closed its end of the channel, which was the only way to the agent: the box
 * ends. */
static void on_server_end(void *ctx, const struct error *why)
{
	end_attach(ctx, why);
}

static const struct input_events input_events = { .bytes = on_server_bytes, .end = on_server_end };

static void on_stream_drained(void *ctx)
{
	struct attach *attach = ctx;

	if (attach->input != NULL)
		input_resume(attach->input);
}

/* --- from the container --- */

static void on_output_drained(void *ctx)
{
	struct attach *attach = ctx;

	if (attach->has_ended)
		return;
	http_upgrade_pause(attach->stream, false);
	if (attach->direct_input != NULL)
		input_resume(attach->direct_input);
}

static void on_output_failed(void *ctx, const struct error *why)
{
	end_attach(ctx, why);
}

static const struct output_events output_events = { .drained = on_output_drained,
	                                            .failed = on_output_failed };

/* Keeps the first ERROR_TEXT_MAX bytes of standard error. The agent writes one line there, and only
 * before it exits. */
static void keep_error_text(struct attach *attach, struct view bytes)
{
	size_t room = ERROR_TEXT_MAX - attach->stderr_len;
	size_t n = bytes.len < room ? bytes.len : room;

	memcpy(attach->stderr_bytes + attach->stderr_len, bytes.ptr, n);
	attach->stderr_len += n;
}

static void on_stream_bytes(void *ctx, struct view bytes)
{
	struct attach *attach = ctx;
	struct demux_piece piece;
	struct error err;
	int r;

	while ((r = demux_next(&attach->demux, &bytes, &piece, &err)) > 0) {
		if (piece.kind != DEMUX_STDOUT)
			keep_error_text(attach, piece.bytes);
		else if (attach->direct_fd >= 0)
			continue; /* the agent uses the direct connection only */
		else if (output_write(attach->output, piece.bytes, &err) < 0) {
			end_attach(attach, &err);
			return;
		}
		if (attach->has_ended)
			return;
		if (piece.kind == DEMUX_STDOUT && !attach->has_hello) {
			attach->has_hello = true;
			attach->events->hello(attach->ctx);
		}
	}
	if (r < 0)
		end_attach(attach, &err);
	else if (output_pending(attach->output) > QUEUED_MAX)
		http_upgrade_pause(attach->stream, true);
}

static void on_stream_open(void *ctx)
{
	struct attach *attach = ctx;

	attach->input = input_new(attach->broker->loop, attach->fd, &input_events, attach);
	attach->events->open(attach->ctx);
}

static void on_stream_end(void *ctx, const struct error *why)
{
	struct attach *attach = ctx;
	struct error err;

	if (why == NULL && demux_check_end(&attach->demux, &err) < 0)
		why = &err;
	end_attach(attach, why);
}

static const struct http_upgrade_events stream_events = { .open = on_stream_open,
	                                                  .bytes = on_stream_bytes,
	                                                  .drained = on_stream_drained,
	                                                  .end = on_stream_end };

/* --- the direct connection --- */

static void on_direct_bytes(void *ctx, struct view bytes)
{
	struct attach *attach = ctx;
	struct error err;

	if (output_write(attach->output, bytes, &err) < 0)
		end_attach(attach, &err);
	else if (output_pending(attach->output) > QUEUED_MAX)
		input_pause(attach->direct_input);
}

/* The agent closes the direct connection only by its exit, which the attached stream reports. */
static void on_direct_end(void *ctx, const struct error *why)
{
	(void)ctx;
	(void)why;
}

static const struct input_events direct_input_events = { .bytes = on_direct_bytes,
	                                                 .end = on_direct_end };
static const struct output_events direct_output_events = { .drained = on_stream_drained,
	                                                   .failed = on_direct_end };

int attach_use_direct(struct attach *attach, int fd, struct error *err)
{
	if (output_new(attach->broker->loop, fd, OUTPUT_MAX, &direct_output_events, attach,
	               &attach->direct_output, err) < 0) {
		(void)close(fd);
		return -1;
	}
	attach->direct_fd = fd;
	attach->direct_input = input_new(attach->broker->loop, fd, &direct_input_events, attach);
	return 0;
}

bool attach_has_hello(const struct attach *attach)
{
	return attach->has_hello;
}

/* --- life cycle --- */

int attach_open(struct broker *broker, const char *container, const struct attach_events *events,
                void *ctx, int *channel, struct attach **ret, struct error *err)
{
	struct attach *attach = mem_new(sizeof *attach);
	int fds[2];
	char *path;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0) {
		free(attach);
		return error_sys(err, "make a socket pair for a sandbox");
	}
	attach->broker = broker;
	attach->events = events;
	attach->ctx = ctx;
	attach->fd = fds[0];
	attach->direct_fd = -1;
	if (output_new(broker->loop, attach->fd, OUTPUT_MAX, &output_events, attach,
	               &attach->output, err) < 0) {
		(void)close(fds[0]);
		(void)close(fds[1]);
		free(attach);
		return -1;
	}
	path = mem_format("%s/containers/%s/attach?stream=1&stdin=1&stdout=1&stderr=1",
	                  broker->prefix, container);
	attach->stream = http_upgrade_open(broker->http, path, &stream_events, attach);
	free(path);
	*channel = fds[1];
	*ret = attach;
	return 0;
}

const char *attach_error_text(struct attach *attach)
{
	return utf8_escape(view_trim((struct view){ attach->stderr_bytes, attach->stderr_len }),
	                   attach->error_text, sizeof attach->error_text);
}

int attach_take_fd(struct attach *attach)
{
	attach->input = input_free(attach->input);
	attach->output = output_free(attach->output);
	return TAKE_FD(attach->fd);
}

struct attach *attach_free(struct attach *attach)
{
	if (attach == NULL)
		return NULL;
	attach->has_ended = true;
	(void)input_free(attach->input);
	(void)output_free(attach->output);
	(void)input_free(attach->direct_input);
	(void)output_free(attach->direct_output);
	(void)http_upgrade_free(attach->stream);
	cleanup_fd(&attach->fd);
	cleanup_fd(&attach->direct_fd);
	free(attach);
	return NULL;
}
