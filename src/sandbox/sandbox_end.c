/* sandbox_end.c - how a sandbox ends: put to sleep, deleted, or because the engine says so. */
#include <errno.h>
#include <stdlib.h>

#include "base/log.h"
#include "loop/loop.h"
#include "sandbox/channel/channel.h"
#include "sandbox/internal.h"

/* --- life in memory ------------------------------------------------------------------ */

static void free_now(void *ctx)
{
	struct sandbox *sandbox = ctx;

	sandbox->holds++; /* whoever lets go of it now is not the last */
	list_remove(&sandbox->node);
	processes_free(sandbox->processes);
	waiters_done(&sandbox->waiters);
	(void)channel_free(sandbox->channel);
	sandbox_free_env(sandbox->env);
	free(sandbox);
}

void sandbox_forget(struct sandbox *sandbox)
{
	list_remove(&sandbox->node);
	list_add(&sandbox->manager->forgotten, &sandbox->node);
	sandbox->is_forgotten = true;
	if (sandbox->holds == 0)
		loop_defer(sandbox->manager->loop, free_now, sandbox);
}

void sandbox_set_state(struct sandbox *sandbox, enum sandbox_state state)
{
	struct manager *manager = sandbox->manager;
	bool ours = state != SANDBOX_ASLEEP;
	struct error err;

	if (registry_set_state(manager->store, sandbox->row.spec.id, state,
	                       ours ? manager->config.instance : "", &err) < 0)
		log_warning("sandbox %s: %s", sandbox->row.spec.id, err.msg);
	sandbox->row.state = state;
}

/* The server that had it may have died since we started. What another one did to it in between is
 * in its row, not in our memory. */
int sandbox_claim(struct sandbox *sandbox, struct error *err)
{
	struct manager *manager = sandbox->manager;
	const char *id = sandbox->row.spec.id, *instance = manager->config.instance;
	struct sandbox_row row;
	struct error why;

	if (registry_claim(manager->store, id, instance, &why) < 0) {
		if (why.errnum == EBUSY) {
			manager_recover(manager);
			if (registry_claim(manager->store, id, instance, err) < 0)
				return -1;
		} else {
			*err = why;
			return -1;
		}
	}
	if (registry_get(manager->store, id, &row, err) < 0)
		return -1;
	sandbox->row.spec.fresh = row.spec.fresh;
	sandbox->row.state = SANDBOX_AWAKE;
	return 0;
}

/* --- the end -------------------------------------------------------------------------- */

/* Whoever hears of it here may ask for it again: it is still ending. */
static void went_down(struct sandbox *sandbox, const struct error *why)
{
	struct error gone;

	sandbox->phase = PHASE_ENDING;
	sandbox->box = NULL;
	(void)error_set(&gone, ERR_SYSTEM, "the sandbox was put to sleep or deleted meanwhile");
	/* The engine may know before the channel does, and its streams wait for an end. */
	if (sandbox->channel != NULL)
		channel_fail(sandbox->channel, why != NULL ? why : &gone);
	processes_down(sandbox->processes, why != NULL ? why : &gone);
	sandbox->channel = channel_free(sandbox->channel);
	waiters_notify(&sandbox->waiters, PHASE_READY, why != NULL ? why : &gone);
	waiters_notify(&sandbox->waiters, PHASE_ENDING, NULL);
}

static void no_more_sleep(struct sandbox *sandbox)
{
	struct error err;

	(void)error_set(&err, ERR_SYSTEM, "the sandbox is being deleted");
	waiters_notify(&sandbox->waiters, PHASE_ASLEEP, &err);
	waiters_notify(&sandbox->waiters, PHASE_MAKING, &err);
	waiters_notify(&sandbox->waiters, PHASE_CLEARING, &err);
}

static void on_erased(void *ctx, const struct error *why)
{
	struct sandbox *sandbox = ctx;
	struct manager *manager = sandbox->manager;
	struct error err;

	/* An engine that gave up may still say `gone`, to a sandbox that is freed. */
	if (sandbox->box != NULL) {
		manager->engine->ops->release(sandbox->box);
		went_down(sandbox, why);
		no_more_sleep(sandbox);
	}
	if (why != NULL)
		log_warning("sandbox %s: its files could not be removed: %s", sandbox->row.spec.id,
		            why->msg);
	else if (registry_remove(manager->store, sandbox->row.spec.id, &err) < 0)
		log_warning("sandbox %s: %s", sandbox->row.spec.id, err.msg);
	sandbox->phase = PHASE_DELETED;
	waiters_notify(&sandbox->waiters, PHASE_DELETED, why);
	sandbox_forget(sandbox);
	manager_check_stopped(manager);
}

/* One that is awake goes as soon as it has ended. */
static void ask_to_erase(struct sandbox *sandbox)
{
	struct engine *engine = sandbox->manager->engine;
	struct error err;

	sandbox->is_erased = true;
	/* What is thrown away with its server needs no note: it would go anyway. */
	if (!sandbox->row.temporary)
		sandbox_set_state(sandbox, SANDBOX_DELETING);
	if (engine->ops->erase(engine, sandbox->row.spec.id, on_erased, sandbox, &err) < 0)
		on_erased(sandbox, &err);
}

static void erase(struct sandbox *sandbox)
{
	sandbox->phase = PHASE_ERASING;
	no_more_sleep(sandbox);
	if (!sandbox->is_erased)
		ask_to_erase(sandbox);
}

static void fall_asleep(struct sandbox *sandbox)
{
	sandbox->phase = PHASE_ASLEEP;
	sandbox_set_state(sandbox, SANDBOX_ASLEEP);
	waiters_notify(&sandbox->waiters, PHASE_ASLEEP, NULL);
	sandbox_wake_again(sandbox);
	if (sandbox->phase == PHASE_ASLEEP)
		sandbox->is_clean = false; /* another server may have it next */
	manager_check_stopped(sandbox->manager);
}

static void on_cleared(void *ctx, const struct error *why)
{
	struct sandbox *sandbox = ctx;

	if (sandbox->doomed) {
		erase(sandbox);
		return;
	}
	if (why != NULL) {
		log_warning("sandbox %s: its files could not be removed: %s", sandbox->row.spec.id,
		            why->msg);
		waiters_notify(&sandbox->waiters, PHASE_MAKING, why);
	}
	sandbox->is_clean = why == NULL;
	waiters_notify(&sandbox->waiters, PHASE_CLEARING, why);
	fall_asleep(sandbox);
}

void sandbox_clear(struct sandbox *sandbox)
{
	struct engine *engine = sandbox->manager->engine;
	struct error err;

	sandbox->resetting = false;
	sandbox->phase = PHASE_CLEARING;
	if (engine->ops->erase(engine, sandbox->row.spec.id, on_cleared, sandbox, &err) < 0)
		on_cleared(sandbox, &err);
}

void sandbox_is_down(struct sandbox *sandbox, const struct error *why)
{
	went_down(sandbox, why);
	if (sandbox->doomed) {
		erase(sandbox);
		return;
	}
	if (sandbox->resetting)
		sandbox_clear(sandbox);
	else
		fall_asleep(sandbox);
}

/* --- calls ----------------------------------------------------------------------------- */

void sandbox_end(struct sandbox *sandbox)
{
	if (sandbox->phase == PHASE_ENDING || sandbox->box == NULL)
		return;
	sandbox_touch(sandbox);
	sandbox->phase = PHASE_ENDING;
	sandbox->manager->engine->ops->kill(sandbox->box);
}

void sandbox_sleep(struct sandbox *sandbox, sandbox_fn *fn, void *ctx)
{
	struct error err;

	if (sandbox->phase == PHASE_ASLEEP) {
		waiters_notify_one(sandbox->manager->loop, fn, ctx, NULL);
		return;
	}
	if (sandbox->phase == PHASE_ERASING || sandbox->phase == PHASE_DELETED) {
		(void)error_set(&err, ERR_INVALID, "the sandbox is being deleted");
		waiters_notify_one(sandbox->manager->loop, fn, ctx, &err);
		return;
	}
	waiters_add(&sandbox->waiters, PHASE_ASLEEP, fn, ctx);
	sandbox_end(sandbox);
}

/* The row says so first: whatever happens now, the old files are not shown again. */
static int promise_reset(struct sandbox *sandbox, struct error *err)
{
	struct manager *manager = sandbox->manager;
	const char *id = sandbox->row.spec.id;

	if (manager->is_over)
		return manager_stopping_error(err);
	if (sandbox->doomed || sandbox->phase == PHASE_ERASING || sandbox->phase == PHASE_DELETED)
		return error_set(err, ERR_INVALID, "the sandbox is being deleted");
	if (sandbox->phase == PHASE_ASLEEP && sandbox_claim(sandbox, err) < 0)
		return -1;
	if (registry_set_fresh(manager->store, id, true, err) < 0)
		return -1;
	sandbox->row.spec.fresh = true;
	return 0;
}

void sandbox_reset(struct sandbox *sandbox, sandbox_fn *fn, void *ctx)
{
	struct error err;

	if (promise_reset(sandbox, &err) < 0) {
		waiters_notify_one(sandbox->manager->loop, fn, ctx, &err);
		return;
	}
	waiters_add(&sandbox->waiters, PHASE_CLEARING, fn, ctx);
	if (sandbox->phase == PHASE_ASLEEP) {
		sandbox_clear(sandbox);
	} else if (sandbox->phase != PHASE_CLEARING) {
		sandbox->resetting = true;
		sandbox_end(sandbox);
	}
}

void sandbox_delete(struct sandbox *sandbox, sandbox_fn *fn, void *ctx)
{
	struct error err;

	waiters_add(&sandbox->waiters, PHASE_DELETED, fn, ctx);
	if (sandbox->doomed)
		return;
	if (sandbox->phase == PHASE_CLEARING) {
		sandbox->doomed = true;
		return;
	}
	if (sandbox->phase != PHASE_ASLEEP) {
		sandbox->doomed = true;
		sandbox_end(sandbox);
		if (sandbox->phase == PHASE_ENDING && !sandbox->is_erased)
			ask_to_erase(sandbox);
		return;
	}
	if (sandbox_claim(sandbox, &err) < 0) {
		waiters_notify(&sandbox->waiters, PHASE_DELETED, &err);
		return;
	}
	sandbox->doomed = true;
	erase(sandbox);
}

/* --- for the manager -------------------------------------------------------------------- */

void sandbox_end_all(struct manager *manager)
{
	for (struct list *node = manager->sandboxes.next; node != &manager->sandboxes;) {
		struct sandbox *sandbox = container_of(node, struct sandbox, node);

		node = node->next;
		if (sandbox->row.temporary)
			sandbox_delete(sandbox, NULL, NULL);
		else
			sandbox_sleep(sandbox, NULL, NULL);
	}
}

bool sandbox_any_awake(const struct manager *manager)
{
	LIST_EACH (node, &manager->sandboxes) {
		const struct sandbox *sandbox = container_of(node, struct sandbox, node);

		if (sandbox->phase != PHASE_ASLEEP)
			return true;
	}
	return false;
}

void sandbox_tell_all(struct manager *manager, const struct error *why)
{
	LIST_EACH (node, &manager->sandboxes)
		waiters_notify_all(&container_of(node, struct sandbox, node)->waiters, why);
}

void sandbox_free_all(struct manager *manager)
{
	while (!list_is_empty(&manager->sandboxes))
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): it does not follow the links */
		free_now(container_of(manager->sandboxes.next, struct sandbox, node));
	while (!list_is_empty(&manager->forgotten))
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): the same */
		free_now(container_of(manager->forgotten.next, struct sandbox, node));
}
