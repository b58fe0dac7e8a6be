#include "transport/stdio.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "loop/input.h"
#include "loop/loop.h"
#include "loop/output.h"
#include "mcp/mcp_server.h"
#include "mcp/session.h"
#include "transport/line_reader.h"

/* With more than this in the queue (or half of max_queue, if that is less) the client counts as
 * slow: progress notifications are dropped and its input is not read. */
enum { BUSY_BYTES = 1024 * 1024 };

_Static_assert((int)INPUT_CHUNK <= (int)LINE_READER_FEED_MAX, "one read can be fed at once");

struct stdio {
	struct mcp_sink sink;
	struct stdio_config config;
	struct loop *loop;
	struct mcp_server *server;
	struct mcp_session *session; /* NULL once closing */
	struct input *input;
	struct output *output;
	struct line_reader lines;
	struct loop_timer *grace_timer;
	struct loop_timer *hang_up_timer; /* runs while the input has hung up or has ended */
	uint64_t grace_ms;                /* rest of the grace period */
	struct loop_timer *close_timer;   /* due at once */
	bool ended;                       /* the input: calls in progress may still end */
	bool closing;                     /* stdio_close() was called */
	bool idle;                        /* no call is in progress any more */
	bool closed;                      /* closed() was called */
	bool overflowed; /* a message did not fit into the queue; nothing more is sent */
	bool has_error;  /* `error` ended the connection */
	struct error error;
};

static void report_closed(struct stdio *stdio)
{
	if (stdio->closed)
		return;
	stdio->closed = true;
	loop_timer_stop(stdio->grace_timer);
	stdio->config.closed(stdio->config.ctx, stdio->has_error ? &stdio->error : NULL);
}

static void report_when_idle(struct stdio *stdio)
{
	if (stdio->closing && stdio->idle && output_pending(stdio->output) == 0)
		report_closed(stdio);
}

static void on_idle(void *ctx)
{
	struct stdio *stdio = ctx;

	if (!stdio->closing) {
		loop_timer_start(stdio->close_timer, 0);
		return;
	}
	stdio->idle = true;
	report_when_idle(stdio);
}

static void on_grace_over(void *ctx)
{
	struct stdio *stdio = ctx;

	log_warning("%s within %llu ms (grace); closing the connection anyway",
	            stdio->idle ? "the client did not read the queued output"
	                        : "calls did not stop",
	            (unsigned long long)stdio->config.grace_ms);
	report_closed(stdio);
}

void stdio_close(struct stdio *stdio)
{
	if (stdio->closing)
		return;
	stdio->closing = true;
	input_pause(stdio->input);
	loop_timer_stop(stdio->hang_up_timer);
	loop_timer_start(stdio->grace_timer, stdio->grace_ms);
	mcp_session_close(stdio->session);
	stdio->session = NULL;
	mcp_server_on_idle(stdio->server, on_idle, stdio);
}

/* Closing frees the session, which is still on the stack when on_send() finds the queue full or
 * when its last call ends: the timer closes from the loop. */
static void on_close_timer(void *ctx)
{
	stdio_close(ctx);
}

static bool is_busy(struct mcp_sink *sink)
{
	const struct stdio *stdio = container_of(sink, struct stdio, sink);
	size_t half = stdio->config.max_queue / 2;

	return output_pending(stdio->output) > (half < BUSY_BYTES ? half : BUSY_BYTES);
}

static void on_send(struct mcp_sink *sink, const struct mcp_message *message)
{
	const struct view text = message->text;
	struct stdio *stdio = container_of(sink, struct stdio, sink);
	AUTO_FREE char *line = NULL;
	struct error err;

	if (stdio->overflowed)
		return;
	line = mem_resize(NULL, text.len + 1);
	memcpy(line, text.ptr, text.len);
	line[text.len] = '\n';
	if (output_write(stdio->output, (struct view){ line, text.len + 1 }, &err) < 0) {
		(void)error_wrap(&err, "connection closed");
		stdio->overflowed = stdio->has_error = true;
		stdio->error = err;
		loop_timer_start(stdio->close_timer, 0);
	}
	if (is_busy(sink)) {
		input_pause(stdio->input);
		line_reader_pause(&stdio->lines);
	}
}

static void on_drained(void *ctx)
{
	struct stdio *stdio = ctx;

	if (stdio->closing || stdio->ended) {
		report_when_idle(stdio);
		return;
	}
	loop_timer_stop(stdio->hang_up_timer);
	line_reader_resume(&stdio->lines);
	if (!stdio->lines.paused)
		input_resume(stdio->input);
}

static void close_with_error(struct stdio *stdio, const struct error *why)
{
	stdio->has_error = true;
	stdio->error = *why;
	stdio_close(stdio);
}

static void on_output_failed(void *ctx, const struct error *why)
{
	struct stdio *stdio = ctx;

	if (why->errnum == EPIPE || why->errnum == ECONNRESET)
		stdio_close(stdio);
	else
		close_with_error(stdio, why);
	report_when_idle(stdio);
}

static const struct output_events output_events = { on_drained, on_output_failed };

static void on_line(void *ctx, struct view line)
{
	struct stdio *stdio = ctx;

	if (stdio->session != NULL)
		mcp_session_receive(stdio->session, line);
}

static void on_too_long(void *ctx, struct view first, struct view last)
{
	struct stdio *stdio = ctx;
	struct error err;

	(void)error_set(&err, ERR_LIMIT, "a message has more than %zu bytes (max_line)",
	                stdio->lines.max);
	if (stdio->session != NULL)
		mcp_session_reject(stdio->session, first, last, &err);
}

static const struct line_reader_events line_events = { on_line, on_too_long };

static void on_bytes(void *ctx, struct view bytes)
{
	struct stdio *stdio = ctx;

	line_reader_feed(&stdio->lines, bytes);
}

static void on_input_end(void *ctx, const struct error *why)
{
	struct stdio *stdio = ctx;

	line_reader_end(&stdio->lines);
	if (why != NULL) {
		close_with_error(stdio, why);
		return;
	}
	if (stdio->closing)
		return;
	stdio->ended = true;
	loop_timer_start(stdio->hang_up_timer, stdio->grace_ms / 2);
	mcp_server_on_idle(stdio->server, on_idle, stdio);
}

static void on_hung_up(void *ctx)
{
	struct stdio *stdio = ctx;

	if (!stdio->closing)
		loop_timer_start(stdio->hang_up_timer, stdio->grace_ms / 2);
}

static void on_hang_up_over(void *ctx)
{
	struct stdio *stdio = ctx;

	if (output_pending(stdio->output) != 0)
		log_warning("the client closed its input and does not read: %zu bytes are queued "
		            "for it, and requests may be unread",
		            output_pending(stdio->output));
	stdio->grace_ms -= stdio->grace_ms / 2;
	stdio_close(stdio);
}

static const struct input_events input_events = { on_bytes, on_input_end, on_hung_up };

int stdio_new(struct loop *loop, struct mcp_server *server, const struct stdio_config *config,
              struct stdio **ret, struct error *err)
{
	struct mcp_caller caller = { config->owner, MCP_SCOPE_ALL, .has_roots = true };
	struct stdio *stdio = mem_new(sizeof *stdio);

	stdio->config = *config;
	stdio->loop = loop;
	stdio->server = server;
	stdio->sink = (struct mcp_sink){ .send = on_send, .is_busy = is_busy };
	if (output_new(loop, config->out_fd, config->max_queue, &output_events, stdio,
	               &stdio->output, err) < 0) {
		free(stdio);
		return -1;
	}
	line_reader_init(&stdio->lines, mcp_server_limits(server)->max_line, &line_events, stdio);
	stdio->grace_timer = loop_timer_new(loop, on_grace_over, stdio);
	stdio->hang_up_timer = loop_timer_new(loop, on_hang_up_over, stdio);
	stdio->grace_ms = config->grace_ms;
	stdio->close_timer = loop_timer_new(loop, on_close_timer, stdio);
	mcp_caller_set_language(&caller, config->locale);
	stdio->session = mcp_session_new(server, &stdio->sink, &caller);
	stdio->input = input_new(loop, config->in_fd, &input_events, stdio);
	*ret = stdio;
	return 0;
}

struct stdio *stdio_free(struct stdio *stdio)
{
	if (stdio == NULL)
		return NULL;
	if (stdio->session != NULL)
		mcp_session_close(stdio->session);
	mcp_server_on_idle(stdio->server, NULL, NULL);
	(void)input_free(stdio->input);
	(void)output_free(stdio->output);
	(void)loop_timer_free(stdio->grace_timer);
	(void)loop_timer_free(stdio->hang_up_timer);
	(void)loop_timer_free(stdio->close_timer);
	line_reader_done(&stdio->lines);
	free(stdio);
	return NULL;
}
