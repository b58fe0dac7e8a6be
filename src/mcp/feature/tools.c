/* tools.c - tools/list and tools/call. */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/text/nearest.h"
#include "base/text/utf8.h"
#include "mcp/internal.h"

/* Hints with their default values are left out: a tool is taken for destructive and open unless it
 * says otherwise. Revisions without a title of their own have it here. */
static json_t *describe_annotations(const struct mcp_tool *tool, enum mcp_revision revision)
{
	json_t *all = json_obj();

	if (!mcp_revision_has(revision, MCP_TITLES))
		json_set_text(all, "title", tool->title);
	if ((tool->hints & MCP_READ_ONLY) != 0)
		json_set(all, "readOnlyHint", json_true());
	else if ((tool->hints & MCP_DESTRUCTIVE) == 0)
		json_set(all, "destructiveHint", json_false());
	if ((tool->hints & MCP_IDEMPOTENT) != 0 && (tool->hints & MCP_READ_ONLY) == 0)
		json_set(all, "idempotentHint", json_true());
	if ((tool->hints & MCP_OPEN_WORLD) == 0)
		json_set(all, "openWorldHint", json_false());
	return all;
}

static json_t *describe_input(const struct mcp_tool *tool)
{
	static const struct json_limits limits = { .depth = 32, .values = 1000 };
	json_t *schema = NULL;
	struct error err;

	if (tool->schema == NULL)
		return param_schema(tool->params, true);
	if (json_read(view_of(tool->schema), &limits, &schema, NULL, &err) < 0)
		abort(); /* the table is wrong */
	return schema;
}

static json_t *describe_execution(const struct mcp_tool *tool)
{
	return json_pair("taskSupport",
	                 json_str(tool->task == MCP_TASK_REQUIRED ? "required" : "optional"));
}

static json_t *describe_tool(const struct mcp_call *call, const void *record)
{
	const struct mcp_tool *tool = record;
	json_t *entry, *input;

	if ((tool->is_offered != NULL && !tool->is_offered(call->app)) ||
	    (call->scopes & tool->scope) != tool->scope)
		return NULL;
	entry = json_obj();
	input = describe_input(tool);

	json_set(entry, "name", json_str(tool->name));
	set_base_metadata(entry, call->revision,
	                  &(struct base_metadata){
	                          .title = tool->title, .help = tool->help, .icon = tool->icon });
	if (tool->complete_schema != NULL)
		tool->complete_schema(call->app, json_object_get(input, "properties"));
	json_set(entry, "inputSchema", input);
	if (tool->output != NULL && mcp_revision_has(call->revision, MCP_STRUCTURED))
		json_set(entry, "outputSchema", param_schema(tool->output, false));
	if (mcp_revision_has(call->revision, MCP_ANNOTATIONS))
		json_set(entry, "annotations", describe_annotations(tool, call->revision));
	if (tool->task != MCP_TASK_NEVER && mcp_revision_has(call->revision, MCP_TASK_EXPERIMENT))
		json_set(entry, "execution", describe_execution(tool));
	return entry;
}

void tools_list_method(struct mcp_call *call)
{
	list_respond(call, "tools", call->server->config.tools, describe_tool);
}

/* Sets a bound of a number to that of the schema, if the schema has one. Bounds of messages are
 * whole numbers. */
static void set_bound(int64_t *bound, const json_t *property, const char *key)
{
	double value = json_number_value(json_object_get(property, key));

	if (value >= 1 && value == (double)(int64_t)value)
		*bound = (int64_t)value;
}

/* Tables have the arguments and the bounds of all servers: this one may not have a use for some
 * arguments, and its bounds are narrower, as its schema says. Decoding the arguments again with
 * what the schema has makes the same error with the right names and numbers. */
void tools_name_shown(struct mcp_call *call, struct error *err)
{
	const struct mcp_tool *tool = call->record;
	AUTO_JSON json_t *input = NULL;
	struct param *own;
	size_t count = 0;
	struct error again;

	if (tool->complete_schema == NULL)
		return;
	input = describe_input(tool);
	tool->complete_schema(call->app, json_object_get(input, "properties"));
	while (tool->params[count].type != PARAM_END)
		count++;
	own = arena_new(&call->arena, count + 1, sizeof *own);
	for (size_t i = 0; i < count; i++) {
		const json_t *property = json_object_get(json_object_get(input, "properties"),
		                                         tool->params[i].name);

		own[i] = tool->params[i];
		own[i].hidden = own[i].hidden || property == NULL;
		if (own[i].type != PARAM_INT && own[i].type != PARAM_NUMBER)
			continue;
		set_bound(&own[i].min, property, "minimum");
		set_bound(&own[i].max, property, "maximum");
	}
	if (param_decode(own, call->arguments, &call->arena, call->args, &again) < 0)
		*err = again;
}

static void respond_unknown_tool(struct mcp_call *call, const char *name)
{
	struct nearest best = { 0 };
	char shown[80];

	if (name == NULL) {
		call_respond_error(call, RPC_INVALID_PARAMS, NULL,
		                   "'name' must be the name of a tool");
		return;
	}
	for (size_t i = 0; call->server->config.tools[i] != NULL; i++)
		nearest_consider(&best, name, call->server->config.tools[i]->name);
	(void)utf8_escape(view_of(name), shown, sizeof shown);
	if (best.name != NULL)
		call_respond_error(call, RPC_INVALID_PARAMS, NULL,
		                   "unknown tool '%s'; did you mean '%s'?", shown, best.name);
	else
		call_respond_error(call, RPC_INVALID_PARAMS, NULL,
		                   "unknown tool '%s'; tools/list returns all names", shown);
}

void tools_call_method(struct mcp_call *call)
{
	const struct mcp_tool *const *tool = call->server->config.tools;
	const char *name = json_text(call->params, "name");
	json_t *arguments;

	while (*tool != NULL && (name == NULL || strcmp((*tool)->name, name) != 0))
		tool++;
	if (*tool == NULL) {
		respond_unknown_tool(call, name);
		return;
	}
	if (!call_get_arguments(call, &arguments) ||
	    !headers_check_params(call, (*tool)->params, arguments) ||
	    !call_check_scope(call, (*tool)->scope) || !task_check_request(call, *tool))
		return;
	call->is_tool = true;
	call->record = *tool;
	call_run_handler(call, (*tool)->params, (*tool)->args_size, arguments, (*tool)->call);
}
