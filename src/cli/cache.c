#include "cli/cache.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/text/utf8.h"
#include "cli/support/out.h"
#include "cli/support/records.h"
#include "egress/mirror/package_cache.h"
#include "server/options/options.h"
#include "server/runtime/runtime.h"
#include "json/json.h"

/* The entries that a command is about, and what it has found. */
struct selection {
	const struct package_cache *cache;
	const char *const *names; /* NULL-terminated; none: every entry */
	json_t *list;             /* of the files, for --json; or NULL */
	uint64_t files, pages, bytes;
};

static enum verb_result report_misuse(struct error *err, const char *what)
{
	(void)error_set(err, ERR_INVALID, "cache: %s", what);
	return VERB_MISUSED;
}

/* The name of a file of an index; NULL: the entry is a page. */
static const char *file_name(const struct package_cache_entry *entry)
{
	const char *at = entry->name[0] == 'f' ? strchr(entry->name, '~') : NULL;

	return at != NULL ? at + 1 : NULL;
}

/* Whether the file belongs to the package: "typing-extensions" has typing_extensions-4.0.whl. */
static bool is_of_package(const char *file, const char *package)
{
	for (; *package != '\0'; file++, package++) {
		bool same = tolower((unsigned char)*file) == tolower((unsigned char)*package);

		if (!same && (*file == '\0' || strchr("-_.", *file) == NULL ||
		              strchr("-_.", *package) == NULL))
			return false;
	}
	return *file == '-';
}

static bool is_selected(const struct selection *selection, const char *file)
{
	if (selection->names[0] == NULL)
		return true;
	for (size_t i = 0; file != NULL && selection->names[i] != NULL; i++)
		if (is_of_package(file, selection->names[i]))
			return true;
	return false;
}

static void count_entry(struct selection *selection, const struct package_cache_entry *entry)
{
	selection->bytes += entry->bytes;
	if (file_name(entry) != NULL)
		selection->files++;
	else
		selection->pages++;
}

/* --- ls --- */

static void list_entry(void *ctx, const struct package_cache_entry *entry)
{
	struct selection *selection = ctx;
	const char *file = file_name(entry);
	char when[RECORDS_TEXT_SIZE];
	json_t *object;

	if (!is_selected(selection, file))
		return;
	count_entry(selection, entry);
	if (file == NULL)
		return;
	if (selection->list == NULL) {
		out("%12" PRIu64 "  %-20s  %s\n", entry->bytes, records_when(entry->used_s, when),
		    UTF8_ESCAPED(view_of(file), CACHE_NAME_MAX * 2));
		return;
	}
	object = json_obj();
	json_set_text(object, "name", file);
	json_set(object, "bytes", json_int((json_int_t)entry->bytes));
	json_set_text(object, "used", records_when(entry->used_s, when));
	json_set(object, "hash",
	         json_str_view(
	                 (struct view){ entry->name + 2, (size_t)(file - 1 - entry->name) - 2 }));
	json_push(selection->list, object);
}

static int list_cache(struct selection *selection, bool as_json, struct error *err)
{
	AUTO_JSON json_t *report = json_obj();
	AUTO_FREE char *text = NULL;
	size_t len;

	if (as_json) {
		selection->list = json_list();
		json_set(report, "files", selection->list);
	}
	if (selection->cache->dir >= 0 &&
	    package_cache_each(selection->cache, list_entry, selection, err) < 0)
		return -1;
	if (as_json) {
		json_set(report, "bytes", json_int((json_int_t)selection->bytes));
		text = json_write(report, &len);
		out("%s\n", text);
	} else
		out("%" PRIu64 " files and %" PRIu64 " pages, %" PRIu64 " bytes\n",
		    selection->files, selection->pages, selection->bytes);
	return 0;
}

/* --- rm --- */

static void remove_entry(void *ctx, const struct package_cache_entry *entry)
{
	struct selection *selection = ctx;

	if (!is_selected(selection, file_name(entry)))
		return;
	count_entry(selection, entry);
	package_cache_remove(selection->cache, entry->name);
}

static int remove_entries(struct selection *selection, struct error *err)
{
	if (selection->cache->dir >= 0 &&
	    package_cache_each(selection->cache, remove_entry, selection, err) < 0)
		return -1;
	out("Removed %" PRIu64 " files and %" PRIu64 " pages, %" PRIu64 " bytes.\n",
	    selection->files, selection->pages, selection->bytes);
	return 0;
}

/* --- the verb --- */

static const char *const actions[] = { "ls", "rm", "warm" };

static const char *action_at(size_t i)
{
	return i < ARRAY_LEN(actions) ? actions[i] : NULL;
}

/* *ret is -1 if the directory does not exist: no package was ever kept. */
static int open_cache(const struct verb_call *call, int *ret, struct error *err)
{
	char state[PATH_MAX], path[PATH_MAX + 8];

	if (runtime_find_state_dir(call->options, state, err) < 0)
		return -1;
	(void)snprintf(path, sizeof path, "%s/cache", state);
	*ret = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return *ret >= 0 || errno == ENOENT ? 0 : error_sys(err, "open '%s'", path);
}

static enum verb_result run_cache(const struct verb_call *call, struct error *err)
{
	const char *action = call->operands[0];
	AUTO_FD int dir = -1;
	struct package_cache cache;
	struct selection selection = { .cache = &cache, .names = call->operands + 1 };
	int r;

	if (strcmp(action, "warm") == 0) {
		if (call->operands[1] == NULL || call->operands[2] != NULL)
			return report_misuse(err,
			                     "name one file: belljar cache warm requirements.txt");
		return cache_warm(call, call->operands[1], err);
	}
	if (open_cache(call, &dir, err) < 0)
		return VERB_FAILED;
	cache = (struct package_cache){ .dir = dir };
	r = strcmp(action, "ls") == 0 ? list_cache(&selection, call->options->json, err)
	                              : remove_entries(&selection, err);
	return r < 0 ? VERB_FAILED : VERB_DONE;
}

static const struct verb_example examples[] = {
	{ "belljar cache ls", "What is kept, and when it was used last." },
	{ "belljar cache warm requirements.txt", "Fetch packages before sandboxes need them." },
	{ "belljar cache rm numpy", "Remove the files of one package; without a name, all." },
	{ NULL, NULL },
};

const struct verb verb_cache = {
	.name = "cache",
	.operand = "ACTION",
	.operand_needed = true,
	.operand_rest = "[NAME...|FILE]",
	.operand_choice = action_at,
	.summary = "Show, empty or fill the cache of packages.",
	.help = "Packages that one sandbox has installed are kept for all others (--package-cache "
	        "says how many bytes). 'ls' lists the files, 'rm' removes those of the packages "
	        "NAME, or all. 'warm' installs what FILE lists (requirements.txt or package.json) "
	        "in a sandbox that is deleted afterwards, so that later installations need no "
	        "network.",
	.examples = examples,
	.options = FOR_CACHE,
	.run = run_cache,
};
