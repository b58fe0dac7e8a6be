/* sandbox_end.c - how a sandbox ends: put to sleep, reset, deleted, or because the engine or the
 * agent failed (see internal.h). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "loop/loop.h"
#include "sandbox/channel/channel.h"
#include "sandbox/internal.h"

static void free_sandbox(void *ctx)
{
	struct sandbox *sandbox = ctx;

	/* Freeing the processes may release the sandbox once more; that must not free it again. */
	sandbox->holds++;
	list_remove(&sandbox->node);
	processes_free(sandbox->processes);
	waiters_done(&sandbox->waiters);
	sandbox_stop_gates(sandbox);
	(void)channel_free(sandbox->channel);
	sandbox_free_env(sandbox->env);
	free(sandbox->gate_log);
	free(sandbox);
}

void sandbox_unload(struct sandbox *sandbox)
{
	if (sandbox->manager->prepared == sandbox)
		sandbox->manager->prepared = NULL;
	list_remove(&sandbox->node);
	list_add(&sandbox->manager->unloaded, &sandbox->node);
	sandbox->is_unloaded = true;
	if (sandbox->holds == 0)
		loop_defer(sandbox->manager->loop, free_sandbox, sandbox);
}

void sandbox_set_state(struct sandbox *sandbox, enum sandbox_state state)
{
	struct manager *manager = sandbox->manager;
	bool is_ours = state != SANDBOX_ASLEEP;
	struct error err;

	if (registry_set_state(manager->store, sandbox->row.spec.id, state,
	                       is_ours ? manager->config.instance : "", &err) < 0)
		log_warning("sandbox %s: %s", sandbox->row.spec.id, err.msg);
	sandbox->row.state = state;
}

/* EBUSY means that another server has the sandbox. That server may have died since this server last
 * recovered rows, so recover the rows of dead servers now and try once more. `fresh` is read again
 * because a server that had the sandbox in between may have begun a reset. */
int sandbox_claim(struct sandbox *sandbox, struct error *err)
{
	struct manager *manager = sandbox->manager;
	const char *id = sandbox->row.spec.id, *instance = manager->config.instance;
	struct sandbox_row row;

	if (registry_claim(manager->store, id, instance, err) < 0) {
		if (err->errnum != EBUSY)
			return -1;
		manager_recover(manager);
		if (registry_claim(manager->store, id, instance, err) < 0)
			return -1;
	}
	if (registry_get(manager->store, id, &row, err) < 0)
		return -1;
	sandbox_adopt_row(sandbox, &row); /* another server may have changed the row */
	sandbox->row.spec.fresh = row.spec.fresh;
	sandbox->row.state = SANDBOX_AWAKE;
	return 0;
}

/* --- what follows when nothing runs in the sandbox any more --- */

/* Notified callers may ask for the sandbox again at once; in PHASE_ENDING they become waiters for
 * EVENT_WAKE_AGAIN. */
static void disconnect_sandbox(struct sandbox *sandbox, const struct error *why)
{
	struct error requested;

	if (why == NULL) {
		(void)error_set(&requested, ERR_SYSTEM,
		                "the sandbox was put to sleep, reset or deleted meanwhile");
		why = &requested;
	}
	sandbox->phase = PHASE_ENDING;
	sandbox->box = NULL;
	sandbox->ends++;
	/* The engine may report the end before the channel's socket does. Fail the channel now, so
	 * that its streams do not wait for an end of file. */
	sandbox_stop_gates(sandbox);
	if (sandbox->channel != NULL)
		channel_fail(sandbox->channel, why);
	processes_stop(sandbox->processes, why);
	sandbox->channel = channel_free(sandbox->channel);
	waiters_notify(&sandbox->waiters, EVENT_READY, why);
	waiters_notify(&sandbox->waiters, EVENT_ENDED, NULL);
}

/* Fails the waiters for any event other than the deletion. */
static void notify_deletion(struct sandbox *sandbox)
{
	struct error err;

	(void)error_set(&err, ERR_SYSTEM, "the sandbox is being deleted");
	waiters_notify(&sandbox->waiters, EVENT_ASLEEP, &err);
	waiters_notify(&sandbox->waiters, EVENT_WAKE_AGAIN, &err);
	waiters_notify(&sandbox->waiters, EVENT_RESET, &err);
}

static void log_unremoved(const struct sandbox *sandbox, const struct error *why)
{
	log_warning("sandbox %s: its files could not be removed: %s", sandbox->row.spec.id,
	            why->msg);
}

/* The row is deleted only after the files: if removing them failed, the row stays DELETING, and
 * recovery by a later server tries again. */
static void on_erased(void *ctx, const struct error *why)
{
	struct sandbox *sandbox = ctx;
	struct manager *manager = sandbox->manager;
	struct error err;

	/* An engine that failed reports this before its last event on the box. Release the
	 * box, or that event would reach a sandbox that is already freed. */
	if (sandbox->box != NULL) {
		manager->engine->ops->release(sandbox->box);
		disconnect_sandbox(sandbox, why);
		notify_deletion(sandbox);
	}
	if (why != NULL)
		log_unremoved(sandbox, why);
	else if (registry_remove(manager->store, sandbox->row.spec.id, &err) < 0)
		log_warning("sandbox %s: %s", sandbox->row.spec.id, err.msg);
	sandbox->phase = PHASE_DELETED;
	waiters_notify(&sandbox->waiters, EVENT_DELETED, why);
	sandbox_unload(sandbox);
	manager_check_stopped(manager);
}

/* The engine removes the files of a sandbox that is still ending as soon as it has ended. */
static void request_erase(struct sandbox *sandbox)
{
	struct engine *engine = sandbox->manager->engine;
	struct error err;

	sandbox->erase_requested = true;
	/* Written before the first file is removed, so that a half-removed sandbox is never woken.
	 * The row of a temporary sandbox needs no such write: recovery deletes it in any state. */
	if (!sandbox->row.temporary)
		sandbox_set_state(sandbox, SANDBOX_DELETING);
	if (engine->ops->erase(engine, sandbox->row.spec.id, on_erased, sandbox, &err) < 0)
		on_erased(sandbox, &err);
}

static void erase_sandbox(struct sandbox *sandbox)
{
	sandbox->phase = PHASE_ERASING;
	notify_deletion(sandbox);
	if (!sandbox->erase_requested)
		request_erase(sandbox);
}

static void set_asleep(struct sandbox *sandbox)
{
	sandbox->phase = PHASE_ASLEEP;
	if (sandbox->is_guest) /* only the holder writes the row */
		sandbox->is_guest = false;
	else
		sandbox_set_state(sandbox, SANDBOX_ASLEEP);
	waiters_notify(&sandbox->waiters, EVENT_ASLEEP, NULL);
	sandbox_wake_again(sandbox);
	if (sandbox->phase == PHASE_ASLEEP)
		sandbox->is_clean = false; /* another server may wake the sandbox and leave files */
	manager_check_stopped(sandbox->manager);
}

static void on_cleared(void *ctx, const struct error *why)
{
	struct sandbox *sandbox = ctx;

	if (sandbox->delete_pending) {
		erase_sandbox(sandbox);
		return;
	}
	if (why != NULL) {
		log_unremoved(sandbox, why);
		waiters_notify(&sandbox->waiters, EVENT_WAKE_AGAIN, why);
	}
	sandbox->is_clean = why == NULL;
	waiters_notify(&sandbox->waiters, EVENT_RESET, why);
	set_asleep(sandbox);
}

void sandbox_clear(struct sandbox *sandbox)
{
	struct engine *engine = sandbox->manager->engine;
	struct error err;

	sandbox->reset_pending = false;
	sandbox->phase = PHASE_CLEARING;
	if (engine->ops->erase(engine, sandbox->row.spec.id, on_cleared, sandbox, &err) < 0)
		on_cleared(sandbox, &err);
}

void sandbox_handle_end(struct sandbox *sandbox, const struct error *why)
{
	disconnect_sandbox(sandbox, why);
	if (sandbox->delete_pending)
		erase_sandbox(sandbox);
	else if (sandbox->reset_pending)
		sandbox_clear(sandbox);
	else
		set_asleep(sandbox);
}

/* --- requests --- */

static bool is_being_deleted(const struct sandbox *sandbox)
{
	return sandbox->phase == PHASE_ERASING || sandbox->phase == PHASE_DELETED;
}

void sandbox_notify_end(struct sandbox *sandbox, sandbox_fn *fn, void *ctx)
{
	if (sandbox->box == NULL && !sandbox->is_guest)
		waiters_notify_one(sandbox->manager->loop, fn, ctx, NULL);
	else
		waiters_add(&sandbox->waiters, EVENT_ENDED, fn, ctx);
}

void sandbox_cancel_notify_end(struct sandbox *sandbox, sandbox_fn *fn, void *ctx)
{
	waiters_remove(&sandbox->waiters, EVENT_ENDED, fn, ctx);
}

void sandbox_kill(struct sandbox *sandbox)
{
	if (sandbox->is_guest) {
		guest_disconnect(sandbox);
		return;
	}
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
	if (is_being_deleted(sandbox)) {
		(void)error_set(&err, ERR_INVALID, "the sandbox is being deleted");
		waiters_notify_one(sandbox->manager->loop, fn, ctx, &err);
		return;
	}
	waiters_add(&sandbox->waiters, EVENT_ASLEEP, fn, ctx);
	sandbox_kill(sandbox);
}

/* Marks the row `fresh` before anything is killed or removed: if this server dies during the reset,
 * the next wake removes the old files first. */
static int record_reset(struct sandbox *sandbox, struct error *err)
{
	struct manager *manager = sandbox->manager;

	if (manager->is_stopping)
		return manager_stopping_error(err);
	if (sandbox->delete_pending || is_being_deleted(sandbox))
		return error_set(err, ERR_INVALID, "the sandbox is being deleted");
	if (sandbox_check_engine(sandbox, err) < 0)
		return -1;
	if (sandbox->phase == PHASE_ASLEEP && sandbox_claim(sandbox, err) < 0)
		return -1;
	if (registry_set_fresh(manager->store, sandbox->row.spec.id, true, err) < 0)
		return -1;
	sandbox->row.spec.fresh = true;
	return 0;
}

void sandbox_reset(struct sandbox *sandbox, sandbox_fn *fn, void *ctx)
{
	struct error err;

	if (guest_reset(sandbox, fn, ctx))
		return;
	if (record_reset(sandbox, &err) < 0) {
		waiters_notify_one(sandbox->manager->loop, fn, ctx, &err);
		return;
	}
	waiters_add(&sandbox->waiters, EVENT_RESET, fn, ctx);
	if (sandbox->phase == PHASE_ASLEEP) {
		sandbox_clear(sandbox);
	} else if (sandbox->phase != PHASE_CLEARING) {
		sandbox->reset_pending = true;
		sandbox_kill(sandbox);
	}
}

void sandbox_delete(struct sandbox *sandbox, sandbox_fn *fn, void *ctx)
{
	struct error err;

	if (guest_delete(sandbox, fn, ctx))
		return;
	waiters_add(&sandbox->waiters, EVENT_DELETED, fn, ctx);
	if (sandbox->delete_pending)
		return;
	if (sandbox->phase == PHASE_CLEARING) {
		sandbox->delete_pending = true; /* on_cleared() continues */
		return;
	}
	if (sandbox->phase != PHASE_ASLEEP) {
		sandbox->delete_pending = true;
		sandbox_kill(sandbox);
		if (sandbox->phase == PHASE_ENDING && !sandbox->erase_requested)
			request_erase(sandbox);
		return;
	}
	if (sandbox_check_engine(sandbox, &err) < 0 || sandbox_claim(sandbox, &err) < 0) {
		waiters_notify(&sandbox->waiters, EVENT_DELETED, &err);
		return;
	}
	sandbox->delete_pending = true;
	erase_sandbox(sandbox);
}

/* --- for the manager --- */

void sandbox_stop_all(struct manager *manager)
{
	for (struct list *node = manager->sandboxes.next; node != &manager->sandboxes;) {
		struct sandbox *sandbox = container_of(node, struct sandbox, node);

		node = node->next;
		/* A temporary sandbox of another server is deleted by that server. */
		if (sandbox->row.temporary &&
		    strcmp(sandbox->row.instance, manager->config.instance) == 0)
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

void sandbox_notify_all(struct manager *manager, const struct error *why)
{
	LIST_EACH (node, &manager->sandboxes)
		waiters_notify_all(&container_of(node, struct sandbox, node)->waiters, why);
}

void sandbox_free_all(struct manager *manager)
{
	while (!list_is_empty(&manager->sandboxes))
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): list links are not followed */
		free_sandbox(container_of(manager->sandboxes.next, struct sandbox, node));
	while (!list_is_empty(&manager->unloaded))
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): as above */
		free_sandbox(container_of(manager->unloaded.next, struct sandbox, node));
}
