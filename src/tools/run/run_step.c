#include "tools/run/run_step.h"

#include "base/clock.h"
#include "sandbox/sandbox.h"
#include "tools/support/work.h"

int run_step_start(struct run_step *step, const struct work *work,
                   const struct process_options *options, void (*fn)(void *ctx), void *ctx,
                   struct error *err)
{
	const struct wait_options wait = { .call = work->call,
		                           .began_ms = clock_now_ms(),
		                           .until_ms = UINT64_MAX,
		                           .fn = fn,
		                           .ctx = ctx };

	run_step_done(step);
	if (sandbox_channel(work->sandbox) == NULL)
		return work_sandbox_gone(err);
	if (process_start(work->sandbox, options, &step->process, err) < 0)
		return -1;
	wait_process_start(&step->wait, step->process, &wait);
	return 0;
}

void run_step_done(struct run_step *step)
{
	wait_process_stop(&step->wait);
	process_free(step->process);
	step->process = NULL;
}
