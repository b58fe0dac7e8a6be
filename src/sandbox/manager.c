#include "sandbox/manager.h"

#include <stdlib.h>

#include "base/mem.h"
#include "loop/loop.h"
#include "sandbox/manager_internal.h"
#include "store/store.h"

int manager_new(struct loop *loop, const struct manager_config *config, struct manager **ret,
                struct error *err)
{
	struct manager *manager = mem_new(sizeof *manager);

	manager->loop = loop;
	manager->config = *config;
	manager->engine = config->engine;
	list_init(&manager->sandboxes);
	if (store_open(config->database, registry_migrations, &manager->store, err) < 0) {
		free(manager);
		return -1;
	}
	*ret = manager;
	return 0;
}

static void tell_ended(void *ctx)
{
	struct manager *manager = ctx;
	void (*ended)(void *) = manager->ended;

	manager->ended = NULL;
	if (ended != NULL)
		ended(manager->ended_ctx);
}

void manager_check_ended(struct manager *manager)
{
	if (manager->ended != NULL && manager->sweeping == 0 && !sandbox_any_awake(manager))
		loop_defer(manager->loop, tell_ended, manager);
}

void manager_end(struct manager *manager, void (*done)(void *ctx), void *ctx)
{
	manager->ended = done;
	manager->ended_ctx = ctx;
	sandbox_end_all(manager);
	manager_check_ended(manager);
}

struct manager *manager_free(struct manager *manager)
{
	if (manager == NULL)
		return NULL;
	sandbox_free_all(manager);
	(void)store_free(manager->store);
	free(manager);
	return NULL;
}

int manager_each(struct manager *manager, const char *owner,
                 bool (*each)(void *ctx, const struct sandbox_row *row), void *ctx,
                 struct error *err)
{
	return registry_each(manager->store, owner, each, ctx, err);
}
