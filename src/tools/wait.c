/* wait.c - the simplest tool that takes time: it shows a model how progress and
 * cancelling feel here, and spares it a busy loop of polls. */
#include <math.h>

#include "base/clock.h"
#include "base/mem.h"
#include "loop/loop.h"
#include "tools/catalogue.h"

enum { TICK_MS = 500 };

struct wait_args {
	double seconds;
};

struct waiting {
	struct mcp_call *call;
	struct loop_timer *timer;
	uint64_t started_ms, wanted_ms;
};

static const struct param params[] = {
	{ .name = "seconds",
	  .type = PARAM_NUMBER,
	  .required = true,
	  .min = 0,
	  .max = 300,
	  .offset = offsetof(struct wait_args, seconds),
	  .help = "How long to wait; fractions are fine." },
	{ 0 },
};

static const struct param output[] = {
	{ .name = "waited_s", .type = PARAM_NUMBER, .required = true, .help = "Seconds waited." },
	{ 0 },
};

static void finish(struct waiting *w)
{
	json_t *result = json_obj();

	json_set(result, "waited_s", json_num((double)(clock_now_ms() - w->started_ms) / 1000));
	mcp_answer(w->call, NULL, result);
	(void)loop_timer_free(w->timer);
	free(w);
}

static void on_tick(void *ctx)
{
	struct waiting *w = ctx;
	uint64_t elapsed = clock_now_ms() - w->started_ms;
	uint64_t left = w->wanted_ms > elapsed ? w->wanted_ms - elapsed : 0;

	if (left == 0) {
		finish(w);
		return;
	}
	if (elapsed >= TICK_MS)
		mcp_call_progress(w->call, (double)elapsed / 1000, (double)w->wanted_ms / 1000,
		                  "%.0f s left", ceil((double)left / 1000));
	loop_timer_start(w->timer, left < TICK_MS ? left : TICK_MS);
}

static void on_cancel(struct mcp_call *call, void *ctx)
{
	(void)call;
	finish(ctx);
}

static int wait_seconds(struct mcp_call *call, const void *args, struct error *err)
{
	const struct wait_args *a = args;
	struct waiting *w = mem_new(sizeof *w);

	(void)err;
	w->call = call;
	w->started_ms = clock_now_ms();
	w->wanted_ms = (uint64_t)(a->seconds * 1000);
	w->timer = loop_timer_new(mcp_call_loop(call), on_tick, w);
	mcp_call_on_cancel(call, on_cancel, w);
	loop_timer_start(w->timer, 0);
	return 0;
}

const struct mcp_tool tool_wait = {
	.name = "wait",
	.title = "Wait",
	.help = "Wait for a number of seconds without using a sandbox, reporting progress. Use it "
	        "between polls of something that takes long.",
	.hints = MCP_READ_ONLY | MCP_IDEMPOTENT,
	.params = params,
	.args_size = sizeof(struct wait_args),
	.output = output,
	.call = wait_seconds,
};
