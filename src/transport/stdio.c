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
#include "mcp/server.h"
#include "mcp/session.h"
#include "transport/line.h"

/* With this much unread (or half the queue, if that is less) the client is slow: progress
 * is left out, input waits. */
enum { BUSY_BYTES = 1024 * 1024 };

_Static_assert((int)INPUT_CHUNK <= (int)LINE_FEED_MAX, "what is read at once can be fed at once");

struct stdio {
	struct mcp_sink sink;
	struct stdio_config config;
	struct loop *loop;
	struct mcp_server *server;
	struct mcp_session *session; /* NULL once closing */
	struct input *input;
	struct output *output;
	struct line_reader lines;
	struct loop_timer *grace;
	struct loop_timer *give_up; /* due at once: ends the connection from the loop */
	bool closing, idle, closed, given_up;
	bool broken; /* `why` says why */
	struct error why;
};

static void finish(struct stdio *stdio)
{
	if (stdio->closed)
		return;
	stdio->closed = true;
	loop_timer_stop(stdio->grace);
	stdio->config.closed(stdio->config.ctx, stdio->broken ? &stdio->why : NULL);
}

static void finish_when_quiet(struct stdio *stdio)
{
	if (stdio->closing && stdio->idle && output_pending(stdio->output) == 0)
		finish(stdio);
}

static void on_idle(void *ctx)
{
	struct stdio *stdio = ctx;

	stdio->idle = true;
	finish_when_quiet(stdio);
}

static void on_grace_over(void *ctx)
{
	struct stdio *stdio = ctx;

	log_warning("%s within %llu ms (grace); closing all the same",
	            stdio->idle ? "the client did not read what was left for it"
	                        : "calls did not stop",
	            (unsigned long long)stdio->config.grace_ms);
	finish(stdio);
}

void stdio_close(struct stdio *stdio)
{
	if (stdio->closing)
		return;
	stdio->closing = true;
	input_pause(stdio->input);
	loop_timer_start(stdio->grace, stdio->config.grace_ms);
	mcp_session_close(stdio->session);
	stdio->session = NULL;
	mcp_server_on_idle(stdio->server, on_idle, stdio);
}

static void on_give_up(void *ctx)
{
	stdio_close(ctx);
}

/* --- towards the client --- */

static bool is_busy(struct mcp_sink *sink)
{
	const struct stdio *stdio = container_of(sink, struct stdio, sink);
	size_t half = stdio->config.max_queue / 2;

	return output_pending(stdio->output) > (half < BUSY_BYTES ? half : BUSY_BYTES);
}

static void on_send(struct mcp_sink *sink, struct view text)
{
	struct stdio *stdio = container_of(sink, struct stdio, sink);
	AUTO_FREE char *line = NULL;
	struct error err;

	if (stdio->given_up)
		return;
	line = mem_resize(NULL, text.len + 1);
	memcpy(line, text.ptr, text.len);
	line[text.len] = '\n';
	if (output_write(stdio->output, (struct view){ line, text.len + 1 }, &err) < 0) {
		(void)error_wrap(&err, "client given up");
		stdio->given_up = stdio->broken = true;
		stdio->why = err;
		loop_timer_start(stdio->give_up, 0);
	}
	if (is_busy(sink)) {
		input_pause(stdio->input);
		line_pause(&stdio->lines);
	}
}

static void on_drained(void *ctx)
{
	struct stdio *stdio = ctx;

	if (stdio->closing) {
		finish_when_quiet(stdio);
		return;
	}
	line_resume(&stdio->lines);
	if (!stdio->lines.paused)
		input_resume(stdio->input);
}

static void end_broken(struct stdio *stdio, const struct error *why)
{
	stdio->broken = true;
	stdio->why = *why;
	stdio_close(stdio);
}

static void on_output_failed(void *ctx, const struct error *why)
{
	struct stdio *stdio = ctx;

	if (why->errnum == EPIPE || why->errnum == ECONNRESET)
		stdio_close(stdio);
	else
		end_broken(stdio, why);
	finish_when_quiet(stdio);
}

static const struct output_events output_events = { on_drained, on_output_failed };

/* --- from the client --- */

static void on_line(void *ctx, struct view line)
{
	struct stdio *stdio = ctx;

	if (stdio->session != NULL)
		mcp_session_receive(stdio->session, line);
}

static void on_too_long(void *ctx)
{
	struct stdio *stdio = ctx;
	struct error err;

	(void)error_set(&err, ERR_LIMIT, "a message of more than %zu bytes (max_line)",
	                stdio->lines.max);
	if (stdio->session != NULL)
		mcp_session_reject(stdio->session, &err);
}

static const struct line_events line_events = { on_line, on_too_long };

static void on_bytes(void *ctx, struct view bytes)
{
	struct stdio *stdio = ctx;

	line_feed(&stdio->lines, bytes);
}

static void on_input_end(void *ctx, const struct error *why)
{
	struct stdio *stdio = ctx;

	line_end(&stdio->lines);
	if (why == NULL)
		stdio_close(stdio);
	else
		end_broken(stdio, why);
}

static const struct input_events input_events = { on_bytes, on_input_end };

int stdio_new(struct loop *loop, struct mcp_server *server, const struct stdio_config *config,
              struct stdio **ret, struct error *err)
{
	struct stdio *stdio = mem_new(sizeof *stdio);

	stdio->config = *config;
	stdio->loop = loop;
	stdio->server = server;
	stdio->sink = (struct mcp_sink){ on_send, is_busy };
	if (output_new(loop, config->out_fd, config->max_queue, &output_events, stdio,
	               &stdio->output, err) < 0) {
		free(stdio);
		return -1;
	}
	line_init(&stdio->lines, mcp_server_limits(server)->max_line, &line_events, stdio);
	stdio->grace = loop_timer_new(loop, on_grace_over, stdio);
	stdio->give_up = loop_timer_new(loop, on_give_up, stdio);
	stdio->session = mcp_session_new(server, &stdio->sink);
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
	(void)loop_timer_free(stdio->grace);
	(void)loop_timer_free(stdio->give_up);
	line_done(&stdio->lines);
	free(stdio);
	return NULL;
}
