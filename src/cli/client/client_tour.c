#include "cli/client/client_tour.h"

#include <stdio.h>
#include <unistd.h>

#include "base/attr.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "cli/client/client_link.h"
#include "cli/client/client_show.h"
#include "cli/support/out.h"
#include "json/json.h"

enum { LINES_SHOWN = 14, INDENT = 4 };

#define PROGRAM                                                                                    \
	"import platform, sys\\n"                                                                  \
	"print('Python', platform.python_version(), 'says hello')\\n"                              \
	"print('six times seven is', 6 * 7)\\n"

/* `key` is the argument that takes the name of the tour's sandbox. */
static const struct step {
	const char *what, *tool, *arguments;
	const char *key;
} steps[] = {
	{ "Create a sandbox", "create_sandbox", "{}", "name" },
	{ "Write a file", "write_file", "{\"path\":\"hello.py\",\"content\":\"" PROGRAM "\"}",
	  "sandbox" },
	{ "Run the file", "run_command", "{\"command\":\"python3 hello.py\"}", "sandbox" },
	{ "Set a variable in a session", "run_code",
	  "{\"language\":\"python\",\"session\":\"tour\",\"code\":\"x = 41\"}", "sandbox" },
	{ "Use the variable in the next call", "run_code",
	  "{\"language\":\"python\",\"session\":\"tour\",\"code\":\"x + 1\"}", "sandbox" },
	{ "List the files", "list_directory", "{\"path\":\".\"}", "sandbox" },
	{ "Read the file", "read_file", "{\"path\":\"hello.py\"}", "sandbox" },
	{ "Delete the sandbox with its files", "delete_sandbox", "{}", "sandbox" },
};

static int run_step(struct link *link, const struct step *step, const char *sandbox,
                    bool *ret_failed, struct error *err)
{
	static const struct json_limits limits = { .depth = 8, .values = 64 };
	AUTO_JSON json_t *result = NULL;
	AUTO_FREE char *shown = NULL;
	json_t *arguments = NULL, *params;
	uint64_t began = clock_now_ms();
	size_t len;

	if (json_read(view_of(step->arguments), &limits, &arguments, NULL, err) < 0)
		return -1;
	json_set_text(arguments, step->key, sandbox);
	shown = json_write(arguments, &len);
	out("%s:\n  > %s %s\n", step->what, step->tool, shown);
	(void)fflush(stdout);
	params = json_obj();
	json_set_text(params, "name", step->tool);
	json_set(params, "arguments", arguments);
	if (client_link_request(link, "tools/call", params, &result, err) < 0)
		return -1;
	show_content(json_object_get(result, "content"), INDENT, LINES_SHOWN);
	if (json_is_true(json_object_get(result, "isError"))) {
		out("  The tool reported an error.\n");
		*ret_failed = true;
	}
	out("  (%llu ms)\n\n", (unsigned long long)(clock_now_ms() - began));
	return 0;
}

int tour_run(struct link *link, bool *ret_failed, struct error *err)
{
	char sandbox[32];

	(void)snprintf(sandbox, sizeof sandbox, "tour-%d", (int)getpid());
	for (size_t i = 0; i < ARRAY_LEN(steps); i++)
		if (run_step(link, &steps[i], sandbox, ret_failed, err) < 0)
			return -1;
	return 0;
}
