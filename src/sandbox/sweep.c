/* sweep.c - removes what servers that were killed left behind.
 *
 * A row is inserted before the first file of its sandbox and deleted after the last one. So after a
 * crash: rows of a dead server that say CREATING or DELETING, or that are temporary, are deleted
 * with their files; rows that say AWAKE become ASLEEP; and a directory without a row belongs to no
 * sandbox and is removed, unless a server has it locked. Processes and cgroups of dead servers were
 * killed by the engine when it started. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "sandbox/internal.h"
#include "sandbox/registry/instances.h"

struct sweep {
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

static void free_sweep(struct sweep *sweep)
{
	list_remove(&sweep->node);
	free(sweep);
}

static void on_erased(void *ctx, const struct error *why)
{
	struct sweep *sweep = ctx;
	struct manager *manager = sweep->manager;
	struct error err;

	/* EBUSY: another server has the directory locked. It is that server's prepared sandbox. */
	if (why != NULL && why->errnum == EBUSY)
		log_debug("%s", why->msg);
	else if (why != NULL)
		log_warning("sandbox %s: its remaining files could not be removed: %s", sweep->id,
		            why->msg);
	else if (registry_remove(manager->store, sweep->id, &err) < 0)
		log_warning("sandbox %s: %s", sweep->id, err.msg);
	free_sweep(sweep);
	manager_check_stopped(manager);
}

static void erase_leftover(struct manager *manager, const char *id)
{
	struct sweep *sweep = mem_new(sizeof *sweep);
	struct error err;

	sweep->manager = manager;
	memcpy(sweep->id, id, sizeof sweep->id);
	list_add(&manager->sweeps, &sweep->node);
	if (manager->engine->ops->erase(manager->engine, id, on_erased, sweep, &err) < 0)
		on_erased(sweep, &err);
}

static void on_unfinished(void *ctx, const char *id)
{
	erase_leftover(ctx, id);
}

static void on_listed(void *ctx, const char *id)
{
	struct manager *manager = ctx;
	struct error err;
	bool has_row = true; /* when in doubt the files stay */

	if (id == NULL) { /* end of the list: nothing of the dead servers is left */
		instance_remove_dead(manager->config.servers);
		return;
	}
	if (registry_has(manager->store, id, &has_row, &err) < 0)
		log_warning("sandbox %s: %s", id, err.msg);
	if (!has_row)
		erase_leftover(manager, id);
}

void manager_recover(struct manager *manager)
{
	struct error err;

	if (registry_recover(manager->store, manager->config.instance, is_alive, on_unfinished,
	                     manager, &err) < 0)
		log_warning("sandboxes of dead servers are not recovered: %s", err.msg);
}

void manager_sweep(struct manager *manager)
{
	manager_recover(manager);
	manager->engine->ops->list(manager->engine, on_listed, manager);
}

void manager_free_sweeps(struct manager *manager)
{
	while (!list_is_empty(&manager->sweeps))
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): list links are not followed */
		free_sweep(container_of(manager->sweeps.next, struct sweep, node));
}
