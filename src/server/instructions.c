#include "server/instructions.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "sandbox/manager.h"
#include "tools/catalogue.h"

struct search {
	bool found;
	int64_t used_s;
};

/* Finds the default sandbox. One that was reset and not used since (`fresh`) is empty. */
static bool find_default_row(void *ctx, const struct sandbox_row *row)
{
	struct search *search = ctx;

	if (strcmp(row->name, "default") != 0 || row->spec.fresh || row->state == SANDBOX_DELETING)
		return true;
	search->found = true;
	search->used_s = row->used_s;
	return false;
}

/* Only the registry is read. To look at the sandbox's files the sandbox would have to wake, and
 * most clients connect long before the first call. */
void instructions_write(struct manager *manager, const char *owner, char *out, size_t size)
{
	struct search search = { 0 };
	char day[16] = "";
	struct error ignored;
	struct tm tm;

	(void)snprintf(out, size, "%s", catalogue_instructions);
	if (manager == NULL ||
	    manager_each(manager, owner, find_default_row, &search, &ignored) < 0 ||
	    !search.found || gmtime_r(&(time_t){ search.used_s }, &tm) == NULL ||
	    strftime(day, sizeof day, "%Y-%m-%d", &tm) == 0)
		return;
	(void)snprintf(out + strlen(out), size - strlen(out),
	               " The default sandbox was used before, last on %s, and keeps its files: "
	               "list_directory shows them, reset_sandbox removes them.",
	               day);
}
