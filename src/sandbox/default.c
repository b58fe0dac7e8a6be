/* default.c - the sandbox that calls use when they name none: "default", or "default-2" and so on
 * where another server of the same owner has the earlier ones awake and cannot be reached, or where
 * another engine has made them. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
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

static int find_or_create(struct manager *manager, const struct sandbox_options *options,
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

static bool is_deleted(struct manager *manager, const char *id)
{
	struct sandbox_row row;
	struct error err;

	if (registry_get(manager->store, id, &row, &err) < 0)
		return err.kind == ERR_NOT_FOUND;
	return row.state == SANDBOX_DELETING;
}

/* Calls go on in a new, empty sandbox after theirs was deleted behind their back, and a model would
 * look for its files in vain: remember which one they used. */
static void note_use(struct manager *manager, struct sandbox *sandbox)
{
	const char *owner = sandbox->row.owner, *id = sandbox->row.spec.id;
	struct default_use *use = NULL;

	for (size_t i = 0; i < DEFAULT_USES_MAX && use == NULL; i++)
		if (manager->default_uses[i].id[0] != '\0' &&
		    strcmp(manager->default_uses[i].owner, owner) == 0)
			use = &manager->default_uses[i];
	if (use == NULL) {
		use = &manager->default_uses[manager->next_default_use++ % DEFAULT_USES_MAX];
		(void)snprintf(use->owner, sizeof use->owner, "%s", owner);
	} else if (strcmp(use->id, id) == 0) {
		return;
	} else if (is_deleted(manager, use->id)) {
		sandbox->replaces_default = true;
	}
	(void)snprintf(use->id, sizeof use->id, "%s", id);
}

int sandbox_get_default(struct manager *manager, const struct sandbox_options *options,
                        bool skip_busy, struct sandbox **ret, struct error *err)
{
	if (find_or_create(manager, options, skip_busy, ret, err) < 0)
		return -1;
	note_use(manager, *ret);
	return 0;
}

bool sandbox_take_replacement(struct sandbox *sandbox)
{
	bool replaces = sandbox->replaces_default;

	sandbox->replaces_default = false;
	return replaces;
}
