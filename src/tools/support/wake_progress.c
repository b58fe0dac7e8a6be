#include "tools/support/wake_progress.h"

#include <stddef.h>

#include "base/clock.h"
#include "loop/loop.h"
#include "mcp/call.h"
#include "sandbox/sandbox.h"

enum { PROGRESS_MS = 1000, MB = 1000 * 1000 };

/* The number is the time, as for a program that runs later in the same call: a number that does not
 * grow would not be sent. */
static void on_timer(void *ctx)
{
	struct wake_progress *progress = ctx;
	const struct engine_progress *now = sandbox_progress(progress->sandbox);
	double elapsed = (double)(clock_now_ms() - progress->began_ms) / 1000;

	if (now != NULL && now->total != 0)
		mcp_call_progress(progress->call, elapsed, 0, "%.0f s: %s: %llu of %llu MB",
		                  elapsed, now->text, (unsigned long long)(now->done / MB),
		                  (unsigned long long)(now->total / MB));
	else if (now != NULL)
		mcp_call_progress(progress->call, elapsed, 0, "%.0f s: %s", elapsed, now->text);
	loop_timer_start(progress->timer, PROGRESS_MS);
}

void wake_progress_start(struct wake_progress *progress, struct mcp_call *call,
                         struct sandbox *sandbox)
{
	wake_progress_stop(progress);
	*progress = (struct wake_progress){ .call = call,
		                            .sandbox = sandbox,
		                            .began_ms = clock_now_ms() };
	progress->timer = loop_timer_new(mcp_call_loop(call), on_timer, progress);
	loop_timer_start(progress->timer, PROGRESS_MS);
}

void wake_progress_stop(struct wake_progress *progress)
{
	progress->timer = loop_timer_free(progress->timer);
}
