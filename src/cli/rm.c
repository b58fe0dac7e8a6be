#include <stdio.h>

#include "base/error.h"
#include "base/log.h"
#include "cli/verb.h"
#include "loop/loop.h"
#include "sandbox/sandbox.h"
#include "server/confine.h"
#include "server/options/options.h"
#include "server/owner.h"
#include "server/runtime/runtime.h"

struct removal {
	const struct verb_call *call;
	struct loop *loop;
	struct runtime *runtime;
	size_t next; /* index of the operand that comes next */
	bool failed; /* `why` has the last error; earlier ones were printed */
	struct error why;
};

static void on_runtime_stopped(void *ctx)
{
	struct removal *removal = ctx;

	loop_stop(removal->loop);
}

static void add_error(struct removal *removal, const struct error *why)
{
	if (removal->failed)
		(void)fprintf(stderr, "belljar: %s\n", removal->why.msg);
	removal->failed = true;
	removal->why = *why;
}

static void on_deleted(void *ctx, const struct error *why);

/* Starts the removal of the next sandbox. One that cannot be removed does not stop the others. */
static void remove_next(struct removal *removal)
{
	const char *owner = owner_choose(removal->call->options->user);
	struct manager *manager = runtime_manager(removal->runtime);
	struct sandbox *sandbox;
	struct error err;
	const char *name;

	while ((name = removal->call->operands[removal->next]) != NULL) {
		removal->next++;
		if (sandbox_find(manager, owner, name, &sandbox, &err) == 0) {
			sandbox_delete(sandbox, on_deleted, removal);
			return;
		}
		add_error(removal, &err);
	}
	runtime_stop(removal->runtime, on_runtime_stopped, removal);
}

static void on_deleted(void *ctx, const struct error *why)
{
	struct removal *removal = ctx;

	if (why != NULL)
		add_error(removal, why);
	remove_next(removal);
}

static void on_ready(void *ctx, const struct error *why)
{
	struct removal *removal = ctx;

	if (why == NULL) {
		remove_next(removal);
		return;
	}
	add_error(removal, why);
	runtime_stop(removal->runtime, on_runtime_stopped, removal);
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
	{ "belljar rm work old", "Remove several." },
	{ NULL, NULL },
};

const struct verb verb_rm = {
	.name = "rm",
	.operand = "SANDBOX",
	.operand_needed = true,
	.operand_rest = "[SANDBOX...]",
	.summary = "Remove sandboxes and all their files.",
	.help = "SANDBOX is a name or an id. Programs that run in it are killed. A sandbox that a "
	        "server has awake is removed by that server, on request of this command.",
	.examples = examples,
	.options = FOR_RM,
	.run = run_rm,
};
