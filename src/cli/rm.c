#include <signal.h>

#include "base/error.h"
#include "base/log.h"
#include "cli/verb.h"
#include "loop/loop.h"
#include "sandbox/sandbox.h"
#include "server/confine.h"
#include "server/options/options.h"
#include "server/owner.h"
#include "server/runtime.h"

struct removal {
	const struct verb_call *call;
	struct loop *loop;
	struct runtime *runtime;
	bool failed;
	struct error why;
};

static void on_runtime_stopped(void *ctx)
{
	struct removal *removal = ctx;

	loop_stop(removal->loop);
}

static void on_deleted(void *ctx, const struct error *why)
{
	struct removal *removal = ctx;

	removal->failed = why != NULL;
	if (why != NULL)
		removal->why = *why;
	runtime_stop(removal->runtime, on_runtime_stopped, removal);
}

static void on_ready(void *ctx, const struct error *why)
{
	struct removal *removal = ctx;
	struct sandbox *sandbox;
	struct error err;

	if (why != NULL)
		on_deleted(removal, why);
	else if (sandbox_find(runtime_manager(removal->runtime), owner_local(),
	                      removal->call->operands[0], &sandbox, &err) < 0)
		on_deleted(removal, &err);
	else
		sandbox_delete(sandbox, on_deleted, removal);
}

static enum verb_result run_rm(const struct verb_call *call, struct error *err)
{
	struct removal removal = { .call = call };
	struct runtime_base base;

	log_set_level(call->options->log_level);
	(void)owner_local();
	if (runtime_prepare(call->options, &base, err) < 0 || loop_new(&removal.loop, err) < 0 ||
	    confine_server(&(struct confine_needs){ base.state }, err) < 0)
		return VERB_FAILED;
	if (runtime_new(removal.loop, &base, call->options, on_ready, &removal, &removal.runtime,
	                err) < 0) {
		(void)loop_free(removal.loop);
		return VERB_FAILED;
	}
	loop_run(removal.loop);
	(void)runtime_free(removal.runtime);
	(void)loop_free(removal.loop);
	if (!removal.failed)
		return VERB_DONE;
	*err = removal.why;
	return VERB_FAILED;
}

static const struct verb_example examples[] = {
	{ "belljar rm work", "Remove a sandbox and its files." },
	{ NULL, NULL },
};

const struct verb verb_rm = {
	.name = "rm",
	.operand = "SANDBOX",
	.operand_needed = true,
	.summary = "Remove a sandbox and all its files.",
	.help = "SANDBOX is a name or an id. A sandbox that a server has awake can be removed "
	        "only by that server.",
	.examples = examples,
	.options = FOR_RM,
	.run = run_rm,
};
