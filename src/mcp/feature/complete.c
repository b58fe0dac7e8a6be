/* complete.c - completion/complete: suggests values for arguments of prompts and resource
 * templates. */
#include <string.h>

#include "mcp/internal.h"

enum { VALUES_MAX = 100 }; /* in one result, by the specification */

static const struct param *find_prompt_params(const struct mcp_config *config, const char *name,
                                              bool *found)
{
	for (size_t i = 0; config->prompts != NULL && config->prompts[i] != NULL; i++) {
		if (strcmp(config->prompts[i]->name, name) != 0)
			continue;
		*found = true;
		return config->prompts[i]->params;
	}
	return NULL;
}

static const struct param *find_template_params(const struct mcp_config *config, const char *uri,
                                                bool *found)
{
	for (size_t i = 0; config->templates != NULL && config->templates[i] != NULL; i++) {
		if (strcmp(config->templates[i]->uri_template, uri) != 0)
			continue;
		*found = true;
		return config->templates[i]->params;
	}
	return NULL;
}

/* The parameters of the prompt or template that params.ref names. They may be NULL, so *found says
 * whether it exists. */
static const struct param *find_ref_params(const struct mcp_call *call, bool *found)
{
	const json_t *ref = json_member(call->params, "ref", JSON_OBJECT);
	const char *type = json_text(ref, "type");
	const char *name = json_text(ref, "name");
	const char *uri = json_text(ref, "uri");

	*found = false;
	if (type != NULL && strcmp(type, "ref/prompt") == 0 && name != NULL)
		return find_prompt_params(&call->server->config, name, found);
	if (type != NULL && strcmp(type, "ref/resource") == 0 && uri != NULL)
		return find_template_params(&call->server->config, uri, found);
	return NULL;
}

static json_t *list_candidates(const struct mcp_call *call, const struct param *param,
                               const char *typed)
{
	json_t *candidates = json_list();

	for (size_t i = 0; param->values != NULL && param->values[i] != NULL; i++)
		json_push(candidates, json_str(param->values[i]));
	if (param->complete != NULL)
		param->complete(call->app, call->owner, typed, candidates);
	return candidates;
}

static void respond_matching(struct mcp_call *call, const json_t *candidates, const char *typed)
{
	json_t *completion = json_obj();
	json_t *values = json_list();
	json_int_t total = 0;
	json_t *value;
	size_t i;

	json_array_foreach (candidates, i, value) {
		if (strncmp(json_string_value(value), typed, strlen(typed)) != 0)
			continue;
		if (total++ < VALUES_MAX)
			json_push(values, json_incref(value));
	}
	json_set(completion, "values", values);
	json_set(completion, "total", json_int(total));
	json_set(completion, "hasMore", json_boolean(total > VALUES_MAX));
	call_respond(call, json_pair("completion", completion));
}

void complete_method(struct mcp_call *call)
{
	const json_t *argument = json_member(call->params, "argument", JSON_OBJECT);
	const char *name = json_text(argument, "name");
	const char *typed = json_text(argument, "value");
	const struct param *param;
	bool found;

	param = find_ref_params(call, &found);
	if (!found) {
		call_respond_error(call, RPC_INVALID_PARAMS, NULL,
		                   "'ref' names no prompt and no resource template of this server");
		return;
	}
	param = name != NULL ? param_find(param, name) : NULL;
	if (param == NULL || typed == NULL) {
		call_respond_error(
		        call, RPC_INVALID_PARAMS, NULL,
		        "'argument' must hold the name of an argument and a string 'value'");
		return;
	}
	AUTO_JSON json_t *candidates = list_candidates(call, param, typed);

	respond_matching(call, candidates, typed);
}
