/* default.c - the sandbox of those who name none. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "loop/loop.h"
#include "sandbox/instances.h"
#include "sandbox/sandbox_internal.h"

enum { DEFAULTS_MAX = 32 };

/* By a server that lives. What a dead one left awake is put right when it is claimed. */
static bool is_anothers(const struct manager *manager, const struct sandbox_row *row)
{
	return row->instance[0] != '\0' && strcmp(row->instance, manager->config.instance) != 0 &&
	       instance_is_alive(manager->config.servers, row->instance);
}

int sandbox_default(struct manager *manager, const struct sandbox_wish *wish, struct sandbox **ret,
                    struct error *err)
{
	for (int i = 1; i <= DEFAULTS_MAX; i++) {
		struct sandbox_wish named = *wish;
		struct sandbox_row row;
		struct error why;
		char name[24] = "default";

		if (i > 1)
			(void)snprintf(name, sizeof name, "default-%d", i);
		named.name = name;
		if (registry_find(manager->store, wish->owner, name, &row, &why) == 0) {
			if (!is_anothers(manager, &row))
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
	return error_set(
	        err, ERR_LIMIT,
	        "there are %d default sandboxes, and other servers use all of them: name one "
	        "with 'sandbox'",
	        DEFAULTS_MAX);
}
