/* default.c - the sandbox of those who name none. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "loop/loop.h"
#include "sandbox/internal.h"
#include "sandbox/registry/instances.h"

enum { DEFAULTS_MAX = 32 };

/* By a server that lives. What a dead one left awake is put right when it is claimed. */
static bool is_anothers(const struct manager *manager, const struct sandbox_row *row)
{
	return row->instance[0] != '\0' && strcmp(row->instance, manager->config.instance) != 0 &&
	       instance_is_alive(manager->config.servers, row->instance);
}

static const char *name_of(int number, char out[24])
{
	if (number == 1)
		return "default";
	(void)snprintf(out, 24, "default-%d", number);
	return out;
}

/* The one this server has awake, if there is one. */
static bool find_ours(struct manager *manager, const char *owner, struct sandbox **ret)
{
	char text[24];

	LIST_EACH (node, &manager->sandboxes) {
		struct sandbox *sandbox = container_of(node, struct sandbox, node);

		if (strcmp(sandbox->row.owner, owner) != 0 || sandbox->phase == PHASE_ASLEEP ||
		    sandbox->doomed)
			continue;
		for (int i = 1; i <= DEFAULTS_MAX; i++)
			if (strcmp(sandbox->row.name, name_of(i, text)) == 0) {
				*ret = sandbox;
				return true;
			}
	}
	return false;
}

int sandbox_get_default(struct manager *manager, const struct sandbox_options *wish, bool hasty,
                        struct sandbox **ret, struct error *err)
{
	char text[24];

	if (find_ours(manager, wish->owner, ret))
		return 0;
	for (int i = 1; i <= DEFAULTS_MAX; i++) {
		struct sandbox_options named = *wish;
		struct sandbox_row row;
		struct error why;

		named.name = name_of(i, text);
		if (registry_find(manager->store, wish->owner, named.name, &row, &why) == 0) {
			if (!hasty || !is_anothers(manager, &row))
				return sandbox_find(manager, wish->owner, row.spec.id, ret, err);
			continue;
		}
		if (why.kind == ERR_NOT_FOUND && sandbox_create(manager, &named, ret, &why) == 0)
			return 0;
		if (why.errnum != EEXIST) {
			*err = why;
			return -1;
		}
	}
	return error_set(err, ERR_LIMIT,
	                 "there are %d default sandboxes, and other servers use all of them: name "
	                 "one with 'sandbox'",
	                 DEFAULTS_MAX);
}
