#include "tools/support/follow.h"

#include "base/clock.h"
#include "loop/loop.h"
#include "mcp/call.h"
#include "sandbox/process/process.h"

enum { TICK_MS = 1000, LINE_MAX_BYTES = 160 };

static void start_timer(struct follow *follow)
{
	uint64_t now = clock_now_ms();
	uint64_t left = follow->until_ms > now ? follow->until_ms - now : 0;

	if (process_is_over(follow->process))
		left = 0;
	loop_timer_start(follow->timer, left < TICK_MS ? left : TICK_MS);
}

static void tell_progress(struct follow *follow, uint64_t now)
{
	uint64_t tenths = (now - follow->began_ms) / 100;
	double elapsed = (double)tenths / 10;
	char line[LINE_MAX_BYTES];

	(void)process_last_line(follow->process, line, sizeof line);
	mcp_call_progress(follow->call, elapsed, 0, "%.0f s%s%s", elapsed,
	                  line[0] != '\0' ? ": " : "", line);
}

static void on_tick(void *ctx)
{
	struct follow *follow = ctx;
	bool is_over = process_is_over(follow->process);
	uint64_t now = clock_now_ms();

	if (!is_over && now < follow->until_ms) {
		tell_progress(follow, now);
		start_timer(follow);
		return;
	}
	follow_end(follow);
	follow->fn(follow->ctx, is_over);
}

/* The process is on the stack here: what its end leads to waits for the timer. */
static void on_change(void *ctx)
{
	struct follow *follow = ctx;

	if (process_is_over(follow->process))
		loop_timer_start(follow->timer, 0);
}

int follow_begin(struct follow *follow, struct mcp_call *call, struct process *process,
                 uint64_t began_ms, uint64_t until_ms, follow_fn *fn, void *ctx, struct error *err)
{
	if (process_watch(process, on_change, follow, err) < 0)
		return -1;
	*follow = (struct follow){ .call = call,
		                   .process = process,
		                   .timer = loop_timer_new(mcp_call_loop(call), on_tick, follow),
		                   .began_ms = began_ms,
		                   .until_ms = until_ms,
		                   .fn = fn,
		                   .ctx = ctx };
	start_timer(follow);
	return 0;
}

void follow_to_the_end(struct follow *follow)
{
	follow->until_ms = UINT64_MAX;
}

void follow_end(struct follow *follow)
{
	if (follow->timer == NULL)
		return;
	follow->timer = loop_timer_free(follow->timer);
	process_unwatch(follow->process);
}
