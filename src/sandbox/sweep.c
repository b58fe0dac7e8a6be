/* sweep.c - what servers that were killed left behind.
 *
 * Rows come before files and go after them. So: what dead servers were making, deleting or had to
 * throw away is deleted; what they had awake sleeps; and a directory without a row, whoever
 * left it, is nobody's. Processes and groups are the engine's: it swept them when it began. */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "loop/loop.h"
#include "sandbox/internal.h"
#include "sandbox/registry/instances.h"

struct swept {
	struct list node;
	struct manager *manager;
	char id[SPEC_ID_LEN + 1];
};

static bool is_alive(void *ctx, const char *instance)
{
	struct manager *manager = ctx;

	return strcmp(instance, manager->config.instance) == 0 ||
	       instance_is_alive(manager->config.servers, instance);
}

static void forget(struct swept *swept)
{
	list_remove(&swept->node);
	free(swept);
}

static void on_erased(void *ctx, const struct error *why)
{
	struct swept *swept = ctx;
	struct manager *manager = swept->manager;
	struct error err;

	if (why != NULL)
		log_warning("sandbox %s: what is left of it could not be removed: %s", swept->id,
		            why->msg);
	else if (registry_remove(manager->store, swept->id, &err) < 0)
		log_warning("sandbox %s: %s", swept->id, err.msg);
	forget(swept);
	manager_check_stopped(manager);
}

static void erase(struct manager *manager, const char *id)
{
	struct swept *swept = mem_new(sizeof *swept);
	struct error err;

	swept->manager = manager;
	memcpy(swept->id, id, sizeof swept->id);
	list_add(&manager->swept, &swept->node);
	if (manager->engine->ops->erase(manager->engine, id, on_erased, swept, &err) < 0)
		on_erased(swept, &err);
}

static void doomed(void *ctx, const char *id)
{
	erase(ctx, id);
}

static void on_listed(void *ctx, const char *id)
{
	struct manager *manager = ctx;
	struct error err;
	bool known = true;

	if (id == NULL) {
		instance_remove_dead(manager->config.servers);
		return;
	}
	if (registry_has(manager->store, id, &known, &err) < 0)
		log_warning("sandbox %s: %s", id, err.msg);
	if (!known)
		erase(manager, id);
}

void manager_recover(struct manager *manager)
{
	struct error err;

	if (registry_recover(manager->store, manager->config.instance, is_alive, doomed, manager,
	                     &err) < 0)
		log_warning("what other servers left is not swept: %s", err.msg);
}

void manager_sweep(struct manager *manager)
{
	manager_recover(manager);
	manager->engine->ops->list(manager->engine, on_listed, manager);
}

void manager_free_swept(struct manager *manager)
{
	while (!list_is_empty(&manager->swept))
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): it does not follow the links */
		forget(container_of(manager->swept.next, struct swept, node));
}
