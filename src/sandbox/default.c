/* default.c - the sandbox that calls use when they name none: "default", or "default-2" and so on
 * where another server of the same owner has the earlier ones awake and cannot be reached, or where
 * another engine has made them. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "loop/loop.h"
#include "sandbox/internal.h"

enum { DEFAULTS_MAX = 32 };

static const char *default_name(int number, char out[24])
{
	if (number == 1)
		return "default";
	(void)snprintf(out, 24, "default-%d", number);
	return out;
}

/* Finds the default sandbox that this server already has awake, whatever its number: calls of one
 * server must all reach the same one. */
static bool find_awake(struct manager *manager, const char *owner, struct sandbox **ret)
{
	char text[24];

	LIST_EACH (node, &manager->sandboxes) {
		struct sandbox *sandbox = container_of(node, struct sandbox, node);

		if (strcmp(sandbox->row.owner, owner) != 0 || sandbox->phase == PHASE_ASLEEP ||
		    sandbox->delete_pending)
			continue;
		for (int i = 1; i <= DEFAULTS_MAX; i++)
			if (strcmp(sandbox->row.name, default_name(i, text)) == 0) {
				*ret = sandbox;
				return true;
			}
	}
	return false;
}

/* A server that ended while it created the sandbox has left a row without a whole sandbox. Recovery
 * deletes it, but a call may come before the recovery at the start of this server. */
static int find_row(struct manager *manager, const char *owner, const char *name,
                    struct sandbox_row *ret, struct error *err)
{
	if (registry_find(manager->store, owner, name, ret, err) < 0)
		return -1;
	if (ret->state != SANDBOX_CREATING || guest_is_used_elsewhere(manager, ret) ||
	    strcmp(ret->instance, manager->config.instance) == 0)
		return 0;
	manager_recover(manager);
	return registry_find(manager->store, owner, name, ret, err);
}

int sandbox_get_default(struct manager *manager, const struct sandbox_options *options,
                        bool skip_busy, struct sandbox **ret, struct error *err)
{
	char text[24];

	if (find_awake(manager, options->owner, ret))
		return 0;
	for (int i = 1; i <= DEFAULTS_MAX; i++) {
		struct sandbox_options named = *options;
		struct sandbox_row row;
		struct error why;

		named.name = default_name(i, text);
		if (find_row(manager, options->owner, named.name, &row, &why) == 0) {
			bool is_elsewhere = guest_is_used_elsewhere(manager, &row);

			if (is_elsewhere ? !skip_busy : sandbox_has_engine(manager, &row))
				return sandbox_find(manager, options->owner, row.spec.id, ret, err);
			continue;
		}
		if (why.kind == ERR_NOT_FOUND && sandbox_create(manager, &named, ret, &why) == 0)
			return 0;
		/* EEXIST: another server has created a sandbox of this name since
		 * registry_find(). */
		if (why.errnum != EEXIST) {
			*err = why;
			return -1;
		}
	}
	return error_set(err, ERR_LIMIT,
	                 "all %d default sandboxes are in use by other servers: name a sandbox "
	                 "with the argument 'sandbox'",
	                 DEFAULTS_MAX);
}
