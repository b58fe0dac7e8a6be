/* cache_warm.c - `belljar cache warm`: installs packages by way of a server of its own, so that
 * they take the same way as those of any client. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/fd.h"
#include "cli/cache.h"
#include "cli/client/client_link.h"
#include "cli/support/out.h"
#include "server/options/options.h"

enum { FILE_MAX = 1024 * 1024, PACKAGES_MAX = 1000, CALL_PACKAGES_MAX = 50 };

/* --- the file --- */

/* "numpy>=1.20 ; python_version > '3'  # why" */
static void read_requirements(struct view text, json_t *packages)
{
	struct view line;

	while (view_next_line(&text, &line) && json_array_size(packages) < PACKAGES_MAX) {
		size_t len = 0;

		while (len < line.len && strchr(";#\\", line.ptr[len]) == NULL)
			len++;
		line = view_trim((struct view){ line.ptr, len });
		if (line.len != 0 && line.ptr[0] != '-')
			json_push(packages, json_str_view(line));
	}
}

static int read_project(struct view text, json_t *packages, struct error *err)
{
	static const char *const keys[] = { "dependencies", "devDependencies" };
	static const struct json_limits limits = { .depth = 32, .values = 100000 };
	AUTO_JSON json_t *project = NULL;
	const char *name;
	json_t *version;

	if (json_read(text, &limits, &project, NULL, err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		json_object_foreach (json_member(project, keys[i], JSON_OBJECT), name, version)
			if (json_as_text(version) != NULL &&
			    json_array_size(packages) < PACKAGES_MAX)
				json_push(packages,
				          json_format("%s@%s", name, json_as_text(version)));
	return 0;
}

static int read_list(const char *path, bool is_project, json_t *packages, struct error *err)
{
	AUTO_BUF struct buf text;

	buf_init(&text, FILE_MAX);
	if (fd_read_file(path, &text, err) < 0)
		return -1;
	if (!is_project)
		read_requirements(buf_view(&text), packages);
	else if (read_project(buf_view(&text), packages, err) < 0)
		return error_wrap(err, "'%s'", path);
	return json_array_size(packages) != 0
	               ? 0
	               : error_set(err, ERR_INVALID, "'%s' lists no packages", path);
}

/* --- the server --- */

static int call_tool(struct link *link, const char *tool, json_t *arguments, struct error *err)
{
	AUTO_JSON json_t *result = NULL;
	json_t *params = json_obj();
	const char *text;

	json_set_text(params, "name", tool);
	json_set(params, "arguments", arguments);
	if (client_link_request(link, "tools/call", params, &result, err) < 0)
		return -1;
	text = json_text(json_array_get(json_object_get(result, "content"), 0), "text");
	if (json_is_true(json_object_get(result, "isError")))
		return error_set(err, ERR_SYSTEM, "%s", text != NULL ? text : tool);
	return 0;
}

/* Installs at most CALL_PACKAGES_MAX packages, from `first` on. */
static int install_some(struct link *link, const char *sandbox, const json_t *packages,
                        size_t first, bool is_project, struct error *err)
{
	json_t *arguments = json_obj(), *some = json_list();

	for (size_t i = first; i < json_array_size(packages) && i < first + CALL_PACKAGES_MAX; i++)
		json_push(some, json_incref(json_array_get(packages, i)));
	json_set(arguments, "packages", some);
	json_set_text(arguments, "sandbox", sandbox);
	json_set_text(arguments, "language", is_project ? "javascript" : "python");
	return call_tool(link, "install_packages", arguments, err);
}

static int install_all(const char *const *flags, const json_t *packages, bool is_project,
                       struct error *err)
{
	struct link link = { .with_progress = true };
	AUTO_JSON json_t *server = NULL;
	struct error ignored;
	char sandbox[40];
	int r = client_link_open(&link, flags, &server, err);

	(void)snprintf(sandbox, sizeof sandbox, "cache-warm-%d", (int)getpid());
	if (r == 0)
		r = call_tool(&link, "create_sandbox", json_pack("{s:s}", "name", sandbox), err);
	for (size_t i = 0; r == 0 && i < json_array_size(packages); i += CALL_PACKAGES_MAX)
		r = install_some(&link, sandbox, packages, i, is_project, err);
	if (link.pid != 0)
		(void)!call_tool(&link, "delete_sandbox", json_pack("{s:s}", "sandbox", sandbox),
		                 &ignored);
	client_link_close(&link);
	return r;
}

enum verb_result cache_warm(const struct verb_call *call, const char *path, struct error *err)
{
	const struct options *options = call->options;
	const char *flags[16] = { "--profile", "default", "--answer-within", "3600000" };
	bool is_project = view_ends(view_of(path), ".json");
	AUTO_JSON json_t *packages = json_list();
	size_t count = 4;

	if (options->state_dir != NULL) {
		flags[count++] = "--state-dir";
		flags[count++] = options->state_dir;
	}
	if (options->pip_index != NULL) {
		flags[count++] = "--pip-index";
		flags[count++] = options->pip_index;
	}
	if (options->npm_registry != NULL) {
		flags[count++] = "--npm-registry";
		flags[count++] = options->npm_registry;
	}
	if (read_list(path, is_project, packages, err) < 0 ||
	    install_all(flags, packages, is_project, err) < 0)
		return VERB_FAILED;
	out("The cache has what '%s' lists.\n", path);
	return VERB_DONE;
}
