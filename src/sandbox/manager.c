#include "sandbox/manager.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "loop/loop.h"
#include "sandbox/internal.h"
#include "sandbox/registry/history.h"
#include "sandbox/registry/instances.h"
#include "store/store.h"

struct stop_waiter {
	struct list node;
	void (*done)(void *ctx);
	void *ctx;
};

static void free_stop_waiter(struct stop_waiter *waiter)
{
	list_remove(&waiter->node);
	free(waiter);
}

static void free_stop_waiters(struct manager *manager)
{
	while (!list_is_empty(&manager->stop_waiters))
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): list links are not followed */
		free_stop_waiter(
		        container_of(manager->stop_waiters.next, struct stop_waiter, node));
}

int manager_new(struct loop *loop, const struct manager_config *config, struct manager **ret,
                struct error *err)
{
	struct manager *manager = mem_new(sizeof *manager);

	manager->loop = loop;
	manager->config = *config;
	manager->engine = config->engine;
	list_init(&manager->sandboxes);
	list_init(&manager->unloaded);
	list_init(&manager->sweeps);
	list_init(&manager->stop_waiters);
	list_init(&manager->guest_calls);
	if (store_open(config->database, registry_migrations, &manager->store, err) < 0) {
		free(manager);
		return -1;
	}
	manager->history = history_new(loop, manager->store);
	idle_start(manager);
	*ret = manager;
	return 0;
}

int manager_stopping_error(struct error *err)
{
	return error_set(err, ERR_INVALID,
	                 "belljar is shutting down: no sandbox is created or woken any more");
}

static void notify_stopped(void *ctx)
{
	struct manager *manager = ctx;

	while (!list_is_empty(&manager->stop_waiters)) {
		struct stop_waiter *waiter = container_of(manager->stop_waiters.next,
		                                          struct stop_waiter, node);
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): list links are not followed */
		void (*done)(void *) = waiter->done;
		void *done_ctx = waiter->ctx;

		free_stop_waiter(waiter);
		done(done_ctx);
	}
}

void manager_check_stopped(struct manager *manager)
{
	if (!list_is_empty(&manager->stop_waiters) && list_is_empty(&manager->sweeps) &&
	    !sandbox_any_awake(manager))
		loop_defer(manager->loop, notify_stopped, manager);
}

void manager_stop(struct manager *manager, void (*done)(void *ctx), void *ctx)
{
	struct stop_waiter *waiter = mem_new(sizeof *waiter);

	*waiter = (struct stop_waiter){ .done = done, .ctx = ctx };
	list_add(&manager->stop_waiters, &waiter->node);
	manager->is_stopping = true;
	sandbox_stop_all(manager);
	manager_check_stopped(manager);
}

/* Deferred calls refer to sandboxes, so they must run before the sandboxes are freed. */
struct manager *manager_free(struct manager *manager)
{
	struct error err;

	if (manager == NULL)
		return NULL;
	manager->is_stopping = true;
	idle_stop(manager);
	(void)manager_stopping_error(&err);
	sandbox_notify_all(manager, &err);
	free_stop_waiters(manager);
	loop_run_deferred(manager->loop);
	free_stop_waiters(manager); /* a deferred call may have called manager_stop() */
	guest_free_calls(manager);
	sandbox_free_all(manager);
	manager_free_sweeps(manager);
	manager->history = history_free(manager->history);
	store_close(manager->store);
	free(manager);
	return NULL;
}

struct row_visit {
	const struct manager *manager;
	bool (*each)(void *ctx, const struct sandbox_row *row);
	void *ctx;
};

/* The next recovery deletes a sandbox whose server was killed while it made the sandbox, and a
 * temporary one of a killed server. Until then the row has the state from before. */
static bool is_lost(const struct manager *manager, const struct sandbox_row *row)
{
	return (row->state == SANDBOX_CREATING || row->temporary) && row->instance[0] != '\0' &&
	       strcmp(row->instance, manager->config.instance) != 0 &&
	       !instance_is_alive(manager->config.servers, row->instance);
}

static bool visit_row(void *ctx, const struct sandbox_row *row)
{
	const struct row_visit *visit = ctx;
	struct sandbox_row lost;

	if (!is_lost(visit->manager, row))
		return visit->each(visit->ctx, row);
	lost = *row;
	lost.state = SANDBOX_DELETING;
	return visit->each(visit->ctx, &lost);
}

int manager_each(struct manager *manager, const char *owner,
                 bool (*each)(void *ctx, const struct sandbox_row *row), void *ctx,
                 struct error *err)
{
	struct row_visit visit = { manager, each, ctx };

	return registry_each(manager->store, owner, visit_row, &visit, err);
}
