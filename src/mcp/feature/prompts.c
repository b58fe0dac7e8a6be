/* prompts.c - prompts/list and prompts/get. */
#include <string.h>

#include "base/text/utf8.h"
#include "mcp/internal.h"

static json_t *describe_arguments(const struct param *params)
{
	json_t *list = json_list();

	for (const struct param *p = params; p != NULL && p->type != PARAM_END; p++) {
		json_t *entry = json_obj();

		json_set(entry, "name", json_str(p->name));
		json_set_text(entry, "description", p->help);
		json_set(entry, "required", json_boolean(p->required));
		json_push(list, entry);
	}
	return list;
}

static json_t *describe_prompt(const struct mcp_call *call, const void *record)
{
	const struct mcp_prompt *p = record;
	json_t *entry = json_obj();

	json_set(entry, "name", json_str(p->name));
	set_base_metadata(
	        entry, call->revision,
	        &(struct base_metadata){ .title = p->title, .help = p->help, .icon = p->icon });
	json_set(entry, "arguments", describe_arguments(p->params));
	return entry;
}

void prompts_list_method(struct mcp_call *call)
{
	list_respond(call, "prompts", call->server->config.prompts, describe_prompt);
}

void prompts_get_method(struct mcp_call *call)
{
	const struct mcp_prompt *const *prompt = call->server->config.prompts;
	const char *name = json_text(call->params, "name");
	json_t *arguments;

	while (*prompt != NULL && (name == NULL || strcmp((*prompt)->name, name) != 0))
		prompt++;
	if (*prompt == NULL) {
		call_respond_error(call, RPC_INVALID_PARAMS, NULL,
		                   "unknown prompt '%s'; prompts/list returns all names",
		                   UTF8_ESCAPED(view_of(name != NULL ? name : ""), 80));
		return;
	}
	call->record = *prompt;
	if (call_get_arguments(call, &arguments))
		call_run_handler(call, (*prompt)->params, (*prompt)->args_size, arguments,
		                 (*prompt)->get);
}
