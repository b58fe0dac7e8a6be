#include <string.h>

#include "base/utf8.h"
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

void prompts_list_method(struct mcp_call *call)
{
	const struct mcp_config *config = &call->server->config;
	size_t count = table_count(config->prompts);
	json_t *entries;
	struct page page;

	if (!page_find(call, "prompts", count, &page))
		return;
	entries = json_list();
	for (size_t i = page.from; i < page.to; i++) {
		const struct mcp_prompt *p = config->prompts[i];
		json_t *entry = json_obj();

		json_set(entry, "name", json_str(p->name));
		describe_into(
		        entry, call->revision,
		        &(struct describe){ .title = p->title, .help = p->help, .icon = p->icon });
		json_set(entry, "arguments", describe_arguments(p->params));
		json_push(entries, entry);
	}
	page_reply(call, "prompts", &page, count, entries);
}

void prompts_get_method(struct mcp_call *call)
{
	const struct mcp_prompt *const *prompt = call->server->config.prompts;
	const char *name = json_text(call->params, "name");
	json_t *arguments = json_object_get(call->params, "arguments");
	char shown[80];

	while (*prompt != NULL && (name == NULL || strcmp((*prompt)->name, name) != 0))
		prompt++;
	if (*prompt == NULL) {
		call_refuse(call, RPC_INVALID_PARAMS, NULL,
		            "unknown prompt '%s'; prompts/list names those there are",
		            utf8_show(view_of(name != NULL ? name : ""), shown, sizeof shown));
		return;
	}
	if (arguments != NULL && !json_is_object(arguments) && !json_is_null(arguments)) {
		call_refuse(call, RPC_INVALID_PARAMS, NULL, "'arguments' must be an object");
		return;
	}
	call_handle(call, (*prompt)->params, (*prompt)->args_size,
	            json_is_object(arguments) ? arguments : NULL, (*prompt)->get);
}
