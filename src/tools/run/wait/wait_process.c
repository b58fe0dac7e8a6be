#include "tools/run/wait/wait_process.h"

#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "loop/loop.h"
#include "mcp/call.h"
#include "tools/run/answer/run_text.h"

enum {
	PROGRESS_MS = 1000,
	/* After the first new byte of output the wait goes on for this long: programs often print a
	 * line in several writes, and an answer with a part of a line costs the client another
	 * call. */
	MORE_OUTPUT_MS = 20,
	LINE_MAX_BYTES = 160,
	NEW_LINES_MAX = 450, /* bytes of each stream; progress has room for 1000 in all */
};

static struct list active = { &active, &active };
static bool has_ended_all;

static bool is_done(const struct wait_process *wait)
{
	struct process *process = wait->watch.process;

	if (process == NULL || process_is_over(process) || clock_now_ms() >= wait->options.until_ms)
		return true;
	return wait->options.is_enough != NULL &&
	       wait->options.is_enough(wait->options.ctx, process);
}

static void start_timer(struct wait_process *wait)
{
	uint64_t now = clock_now_ms();
	uint64_t next = wait->progress_ms + PROGRESS_MS;

	if (next > wait->options.until_ms)
		next = wait->options.until_ms;
	loop_timer_start(wait->timer, next > now ? next - now : 0);
}

/* Copies the last `len` bytes of a stream that keeps at least as many. */
static void copy_end(const struct process_stream *stream, size_t len, char *out)
{
	size_t tail = len < stream->tail.len ? len : stream->tail.len, head = len - tail;

	if (head != 0)
		memcpy(out, stream->head.ptr + (stream->head.len - head), head);
	if (tail != 0)
		memcpy(out + head, stream->tail.ptr + (stream->tail.len - tail), tail);
}

/* Appends what a stream got since the last progress. If that is more than NEW_LINES_MAX bytes, only
 * the last whole lines are appended. */
static void add_new_lines(struct wait_process *wait, bool is_stderr, struct buf *out)
{
	struct process_stream stream = process_stream(wait->watch.process, is_stderr);
	uint64_t fresh = stream.total - wait->reported[is_stderr];
	size_t kept = stream.left_out == 0 ? process_stream_kept(&stream) : stream.tail.len;
	size_t len = fresh < NEW_LINES_MAX ? (size_t)fresh : NEW_LINES_MAX;
	char bytes[NEW_LINES_MAX], *line;
	struct view part = { bytes, len < kept ? len : kept };

	wait->reported[is_stderr] = stream.total;
	copy_end(&stream, part.len, bytes);
	line = part.len < fresh ? memchr(bytes, '\n', part.len) : NULL;
	if (line != NULL && line + 1 < bytes + part.len)
		part = (struct view){ line + 1, (size_t)(bytes + part.len - line - 1) };
	run_text_clean(part, out);
}

/* The new lines, without line ends behind them; if there are none, the last line. */
static void describe_output(struct wait_process *wait, struct buf *out)
{
	char line[LINE_MAX_BYTES];

	for (int i = 0; i < 2; i++)
		add_new_lines(wait, i != 0, out);
	while (out->len != 0 && out->ptr[out->len - 1] == '\n')
		buf_truncate(out, out->len - 1);
	if (out->len == 0)
		buf_put(out, view_of(process_last_line(wait->watch.process, line, sizeof line)));
}

static void send_progress(struct wait_process *wait)
{
	uint64_t now = clock_now_ms();
	uint64_t tenths = (now - wait->options.began_ms) / 100;
	double elapsed = (double)tenths / 10;
	AUTO_BUF struct buf lines = { 0 };

	if (now < wait->progress_ms + PROGRESS_MS)
		return;
	wait->progress_ms = now;
	buf_init(&lines, 2 * run_text_room(NEW_LINES_MAX));
	describe_output(wait, &lines);
	mcp_call_progress(wait->options.call, elapsed, 0, "%.0f s%s%s", elapsed,
	                  lines.len != 0 ? ": " : "", buf_text(&lines));
}

static void on_timer(void *ctx)
{
	struct wait_process *wait = ctx;

	wait->is_checking = false;
	if (is_done(wait)) {
		wait_process_stop(wait);
		wait->options.fn(wait->options.ctx);
		return;
	}
	send_progress(wait);
	start_timer(wait);
}

/* process.c calls this while it still uses the process, and fn may free the process. fn is
 * therefore called from the timer. */
static void on_change(void *ctx)
{
	struct wait_process *wait = ctx;
	struct process *process = wait->watch.process;

	if (process != NULL && process_has_exited(process) && !wait->has_exited) {
		wait->has_exited = true;
		if (wait->options.exited != NULL)
			wait->options.exited(wait->options.ctx);
	}
	if (process == NULL || process_is_over(process)) {
		loop_timer_start(wait->timer, 0);
	} else if (wait->options.is_enough != NULL && !wait->is_checking) {
		wait->is_checking = true;
		loop_timer_start(wait->timer, MORE_OUTPUT_MS);
	}
}

void wait_process_start(struct wait_process *wait, struct process *process,
                        const struct wait_options *options)
{
	*wait = (struct wait_process){ .options = *options,
		                       .watch = { .fn = on_change, .ctx = wait },
		                       .progress_ms = options->began_ms };
	wait->timer = loop_timer_new(mcp_call_loop(options->call), on_timer, wait);
	for (int i = 0; i < 2; i++)
		wait->reported[i] = process_stream(process, i != 0).total;
	process_watch(process, &wait->watch);
	list_add(&active, &wait->node);
	start_timer(wait);
}

void wait_process_set_endless(struct wait_process *wait)
{
	wait->options.until_ms = UINT64_MAX;
}

void wait_process_wake(struct wait_process *wait)
{
	loop_timer_start(wait->timer, 0);
}

void wait_process_stop(struct wait_process *wait)
{
	if (wait->timer == NULL)
		return;
	wait->timer = loop_timer_free(wait->timer);
	list_remove(&wait->node);
	process_unwatch(&wait->watch);
}

bool wait_process_has_ended_all(void)
{
	return has_ended_all;
}

/* A wait without an end is one whose call has been answered as a task. */
void wait_process_end_all(void)
{
	has_ended_all = true;
	LIST_EACH (node, &active) {
		struct wait_process *wait = container_of(node, struct wait_process, node);

		if (wait->options.until_ms == UINT64_MAX)
			continue;
		wait->options.until_ms = 0;
		loop_timer_start(wait->timer, 0);
	}
}
