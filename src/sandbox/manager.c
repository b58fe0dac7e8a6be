#include "sandbox/manager.h"

#include <stdlib.h>

#include "base/mem.h"
#include "loop/loop.h"
#include "sandbox/internal.h"
#include "sandbox/registry/history.h"
#include "store/store.h"

struct ending {
	struct list node;
	void (*done)(void *ctx);
	void *ctx;
};

static void forget_ending(struct ending *ending)
{
	list_remove(&ending->node);
	free(ending);
}

static void forget_endings(struct manager *manager)
{
	while (!list_is_empty(&manager->endings))
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): it does not follow the links */
		forget_ending(container_of(manager->endings.next, struct ending, node));
}

int manager_new(struct loop *loop, const struct manager_config *config, struct manager **ret,
                struct error *err)
{
	struct manager *manager = mem_new(sizeof *manager);

	manager->loop = loop;
	manager->config = *config;
	manager->engine = config->engine;
	list_init(&manager->sandboxes);
	list_init(&manager->forgotten);
	list_init(&manager->swept);
	list_init(&manager->endings);
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
	                 "belljar is ending: no sandbox is made or woken any more");
}

static void tell_ended(void *ctx)
{
	struct manager *manager = ctx;

	while (!list_is_empty(&manager->endings)) {
		struct ending *ending = container_of(manager->endings.next, struct ending, node);
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): it does not follow the links */
		void (*done)(void *) = ending->done;
		void *done_ctx = ending->ctx;

		forget_ending(ending);
		done(done_ctx);
	}
}

void manager_check_stopped(struct manager *manager)
{
	if (!list_is_empty(&manager->endings) && list_is_empty(&manager->swept) &&
	    !sandbox_any_awake(manager))
		loop_defer(manager->loop, tell_ended, manager);
}

void manager_stop(struct manager *manager, void (*done)(void *ctx), void *ctx)
{
	struct ending *ending = mem_new(sizeof *ending);

	*ending = (struct ending){ .done = done, .ctx = ctx };
	list_add(&manager->endings, &ending->node);
	manager->is_over = true;
	sandbox_end_all(manager);
	manager_check_stopped(manager);
}

/* What was deferred is about sandboxes that are there until it has run. */
struct manager *manager_free(struct manager *manager)
{
	struct error err;

	if (manager == NULL)
		return NULL;
	manager->is_over = true;
	idle_stop(manager);
	(void)manager_stopping_error(&err);
	sandbox_tell_all(manager, &err);
	forget_endings(manager);
	loop_run_deferred(manager->loop);
	forget_endings(manager); /* of those who heard it only now */
	sandbox_free_all(manager);
	manager_free_swept(manager);
	manager->history = history_free(manager->history);
	store_close(manager->store);
	free(manager);
	return NULL;
}

struct loop *manager_loop(const struct manager *manager)
{
	return manager->loop;
}

int manager_each(struct manager *manager, const char *owner,
                 bool (*each)(void *ctx, const struct sandbox_row *row), void *ctx,
                 struct error *err)
{
	return registry_each(manager->store, owner, each, ctx, err);
}
