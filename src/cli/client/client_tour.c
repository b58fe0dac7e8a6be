#include "cli/client/client_tour.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "cli/client/client_link.h"
#include "cli/client/client_show.h"
#include "cli/support/out.h"
#include "json/json.h"

enum { LINES_SHOWN = 14, INDENT = 4, STEPS_MAX = 10, IDS_MAX = 2 };

#define PROGRAM                                                                                    \
	"import platform, sys\\n"                                                                  \
	"print('Python', platform.python_version(), 'says hello')\\n"                              \
	"print('six times seven is', 6 * 7)\\n"

/* One tour for the default tools, and one for each profile, like the example of its original. The
 * server's tools decide: the first step of each tour has another tool. */
static const struct tour {
	struct {
		const char *what, *tool, *arguments;
	} steps[STEPS_MAX + 1];
	/* Members of the first result that later calls have as arguments. */
	struct {
		const char *member, *argument;
	} ids[IDS_MAX];
} tours[] = {
	{
	        .ids = { { "id", "sandbox" } },
	        .steps = {
	                { "Create a sandbox", "create_sandbox", "{}" },
	                { "Write a file", "write_file",
	                  "{\"path\":\"hello.py\",\"content\":\"" PROGRAM "\"}" },
	                { "Run the file", "run_command", "{\"command\":\"python3 hello.py\"}" },
	                { "Set a variable in a session", "run_code",
	                  "{\"language\":\"python\",\"session\":\"tour\",\"code\":\"x = 41\"}" },
	                { "Use the variable in the next call", "run_code",
	                  "{\"language\":\"python\",\"session\":\"tour\",\"code\":\"x + 1\"}" },
	                { "List the files", "list_directory", "{\"path\":\".\"}" },
	                { "Read the file", "read_file", "{\"path\":\"hello.py\"}" },
	                { "Delete the sandbox with its files", "delete_sandbox", "{}" },
	        },
	},
	{
	        .ids = { { "executor_id", "executor_id" } },
	        .steps = {
	                { "Create an executor", "create_executor", "{}" },
	                { "Create a directory", "create_directory",
	                  "{\"dir_path\":\"my_project\"}" },
	                { "Write a file", "write_file",
	                  "{\"file_path\":\"my_project/main.py\",\"content\":\"" PROGRAM "\"}" },
	                { "Run the file", "execute_code",
	                  "{\"code\":\"cd /workspace/my_project && python main.py\","
	                  "\"language\":\"bash\"}" },
	                { "Run code", "execute_code", "{\"code\":\"print(6 * 7)\"}" },
	                { "List the files", "list_directory", "{\"path\":\"my_project\"}" },
	                { "Draw all files as a tree", "project_structure", "{}" },
	                { "Read the file", "read_file",
	                  "{\"file_path\":\"my_project/main.py\"}" },
	                { "Delete the executor with its files", "delete_executor", "{}" },
	        },
	},
	{
	        .steps = {
	                { "Create the sandbox", "initialize_sandbox", "{}" },
	                { "Run a program", "execute_code", "{\"code\":\"" PROGRAM "\"}" },
	                { "Remove the sandbox", "stop_sandbox", "{}" },
	        },
	},
	{
	        .ids = { { "container_id", "container_id" }, { "workspace_id", "workspace_id" } },
	        .steps = {
	                { "Get a workspace", "sandbox_initialize", "{}" },
	                { "Write a file", "write_file_sandbox",
	                  "{\"file_name\":\"hello.py\",\"file_contents\":\"" PROGRAM "\"}" },
	                { "Run the file", "sandbox_exec",
	                  "{\"commands\":[\"pwd\",\"python hello.py\"]}" },
	                { "Empty the workspace", "clean_workspace", "{}" },
	        },
	},
	{
	        .steps = {
	                { "Run a command", "execute_bash", "{\"command\":\"whoami; pwd\"}" },
	                { "Write a file", "write_file",
	                  "{\"file_path\":\"/workspace/hello.py\",\"content\":\"" PROGRAM "\"}" },
	                { "Run the file", "execute_bash", "{\"command\":\"python hello.py\"}" },
	                { "Read its last line", "read_file",
	                  "{\"file_path\":\"/workspace/hello.py\",\"offset\":2}" },
	                { "Stop the sandbox; its files stay", "stop_container", "{}" },
	        },
	},
	{
	        .steps = {
	                { "Run a program", "execute_python", "{\"code\":\"" PROGRAM "\"}" },
	                { "List the packages", "list_installed_packages", "{}" },
	                { "Describe the sandbox", "get_sandbox_info", "{}" },
	        },
	},
};

static bool has_tool(const json_t *tools, const char *name)
{
	const json_t *tool;
	size_t i;

	json_array_foreach (tools, i, tool) {
		const char *own = json_text(tool, "name");

		if (own != NULL && strcmp(own, name) == 0)
			return true;
	}
	return false;
}

static int find_tour(struct link *link, const struct tour **ret, struct error *err)
{
	AUTO_JSON json_t *tools = NULL;

	if (client_link_list(link, "tools/list", "tools", &tools, err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(tours); i++)
		if (has_tool(tools, tours[i].steps[0].tool)) {
			*ret = &tours[i];
			return 0;
		}
	return error_set(err, ERR_UNSUPPORTED,
	                 "there is no tour of the tools of this server: 'tools' lists them");
}

/* Adds the ids of the first result to the arguments of the next call. */
static void add_ids(const struct tour *tour, const json_t *first, json_t *arguments)
{
	const json_t *object = json_object_get(first, "structuredContent");

	for (size_t i = 0; i < IDS_MAX && tour->ids[i].member != NULL; i++)
		json_set_text(arguments, tour->ids[i].argument,
		              json_text(object, tour->ids[i].member));
}

/* A profile reports that a thing is missing in its own shape, as "success": false. */
static bool has_failed(const json_t *result)
{
	return json_is_true(json_object_get(result, "isError")) ||
	       json_is_false(
	               json_object_get(json_object_get(result, "structuredContent"), "success"));
}

static int run_step(struct link *link, const struct tour *tour, size_t at, json_t **first,
                    bool *ret_failed, struct error *err)
{
	static const struct json_limits limits = { .depth = 8, .values = 64 };
	AUTO_JSON json_t *result = NULL;
	AUTO_FREE char *shown = NULL;
	json_t *arguments = NULL, *params;
	uint64_t began = clock_now_ms();
	size_t len;

	if (json_read(view_of(tour->steps[at].arguments), &limits, &arguments, NULL, err) < 0)
		return -1;
	add_ids(tour, *first, arguments);
	shown = json_write(arguments, &len);
	out("%s:\n  > %s %s\n", tour->steps[at].what, tour->steps[at].tool, shown);
	(void)fflush(stdout);
	params = json_obj();
	json_set_text(params, "name", tour->steps[at].tool);
	json_set(params, "arguments", arguments);
	if (client_link_request(link, "tools/call", params, &result, err) < 0)
		return -1;
	show_content(json_object_get(result, "content"), INDENT, LINES_SHOWN);
	if (has_failed(result)) {
		out("  The tool reported an error.\n");
		*ret_failed = true;
	}
	out("  (%llu ms)\n\n", (unsigned long long)(clock_now_ms() - began));
	if (*first == NULL)
		*first = json_incref(result);
	return 0;
}

int tour_run(struct link *link, bool *ret_failed, struct error *err)
{
	AUTO_JSON json_t *first = NULL;
	const struct tour *tour;

	*ret_failed = false;
	if (find_tour(link, &tour, err) < 0)
		return -1;
	for (size_t i = 0; tour->steps[i].tool != NULL; i++) {
		if (run_step(link, tour, i, &first, ret_failed, err) < 0)
			return -1;
		/* All others need what the first step makes, or what it has shown to work. */
		if (i == 0 && *ret_failed) {
			out("The tour ends here: its other steps need this one.\n");
			return 0;
		}
	}
	return 0;
}
