/* sandbox_facts.c - the accessors of sandbox.h that only read a sandbox: times, limits, counters,
 * reasons. */
#include "engine/engine.h"
#include "sandbox/internal.h"

uint64_t sandbox_awake_ms(const struct sandbox *sandbox)
{
	return sandbox->awake_ms;
}

struct channel *sandbox_channel(const struct sandbox *sandbox)
{
	return sandbox->phase == PHASE_READY ? sandbox->channel : NULL;
}

const struct sandbox_row *sandbox_row(const struct sandbox *sandbox)
{
	return &sandbox->row;
}

const char *const *sandbox_env(struct sandbox *sandbox)
{
	if (sandbox->env == NULL)
		sandbox->env = sandbox_make_env(sandbox);
	return (const char *const *)sandbox->env;
}

const struct engine_progress *sandbox_progress(const struct sandbox *sandbox)
{
	return sandbox->progress.text[0] != '\0' ? &sandbox->progress : NULL;
}

bool sandbox_counts(struct sandbox *sandbox, struct engine_counters *ret)
{
	*ret = (struct engine_counters){ 0 };
	return sandbox->box != NULL &&
	       sandbox->manager->engine->ops->read_counters(sandbox->box, false, ret);
}

bool sandbox_refusals(struct sandbox *sandbox, struct engine_counters *ret)
{
	*ret = (struct engine_counters){ 0 };
	return sandbox->box != NULL &&
	       sandbox->manager->engine->ops->read_counters(sandbox->box, true, ret);
}

struct loop *sandbox_loop(const struct sandbox *sandbox)
{
	return sandbox->manager->loop;
}

const struct process_limits *sandbox_process_limits(const struct sandbox *sandbox)
{
	return &sandbox->manager->config.process;
}

struct processes *sandbox_processes(struct sandbox *sandbox)
{
	return sandbox->processes;
}

bool sandbox_is_untouched(const struct sandbox *sandbox)
{
	return sandbox->uses == 2;
}

bool sandbox_is_resetting(const struct sandbox *sandbox)
{
	return sandbox->reset_pending || sandbox->row.spec.fresh;
}

bool sandbox_met_limit(const struct sandbox *sandbox)
{
	return sandbox->met_limit;
}

unsigned sandbox_ends(const struct sandbox *sandbox)
{
	return sandbox->ends;
}

const char *sandbox_end_reason(const struct sandbox *sandbox)
{
	return sandbox->reason;
}
