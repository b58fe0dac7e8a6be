#include "tools/run/wait_process.h"

#include "base/clock.h"
#include "loop/loop.h"
#include "mcp/call.h"

enum {
	PROGRESS_MS = 1000,
	/* After the first new byte of output the wait goes on for this long: programs often print a
	 * line in several writes, and an answer with a part of a line costs the client another
	 * call. */
	MORE_OUTPUT_MS = 20,
	LINE_MAX_BYTES = 160,
};

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

static void send_progress(struct wait_process *wait)
{
	uint64_t now = clock_now_ms();
	uint64_t tenths = (now - wait->options.began_ms) / 100;
	double elapsed = (double)tenths / 10;
	char line[LINE_MAX_BYTES];

	if (now < wait->progress_ms + PROGRESS_MS)
		return;
	wait->progress_ms = now;
	(void)process_last_line(wait->watch.process, line, sizeof line);
	mcp_call_progress(wait->options.call, elapsed, 0, "%.0f s%s%s", elapsed,
	                  line[0] != '\0' ? ": " : "", line);
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
	process_watch(process, &wait->watch);
	start_timer(wait);
}

void wait_process_set_endless(struct wait_process *wait)
{
	wait->options.until_ms = UINT64_MAX;
}

void wait_process_stop(struct wait_process *wait)
{
	if (wait->timer == NULL)
		return;
	wait->timer = loop_timer_free(wait->timer);
	process_unwatch(&wait->watch);
}
