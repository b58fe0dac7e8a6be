/* resources.c - resources/list, templates/list, read, subscribe and unsubscribe. */
#include <string.h>

#include "base/error.h"
#include "base/text/utf8.h"
#include "mcp/internal.h"

static json_t *describe_resource(const struct mcp_call *call, const void *record)
{
	const struct mcp_resource *r = record;
	json_t *entry = json_obj();

	json_set(entry, "uri", json_str(r->uri));
	json_set(entry, "name", json_str(r->name));
	set_base_metadata(
	        entry, call->revision,
	        &(struct base_metadata){ .title = r->title, .help = r->help, .icon = r->icon });
	json_set_text(entry, "mimeType", r->mime_type);
	return entry;
}

static json_t *describe_template(const struct mcp_call *call, const void *record)
{
	const struct mcp_template *t = record;
	json_t *entry = json_obj();

	json_set(entry, "uriTemplate", json_str(t->uri_template));
	json_set(entry, "name", json_str(t->name));
	set_base_metadata(
	        entry, call->revision,
	        &(struct base_metadata){ .title = t->title, .help = t->help, .icon = t->icon });
	json_set_text(entry, "mimeType", t->mime_type);
	return entry;
}

void resources_list_method(struct mcp_call *call)
{
	list_respond(call, "resources", call->server->config.resources, describe_resource);
}

void templates_list_method(struct mcp_call *call)
{
	list_respond(call, "resourceTemplates", call->server->config.templates, describe_template);
}

/* params.uri, or NULL if it is invalid; the error response has then been sent. */
static const char *get_uri(struct mcp_call *call)
{
	const char *uri = json_text(call->params, "uri");

	if (uri == NULL || strlen(uri) > MCP_URI_MAX) {
		call_respond_error(call, RPC_INVALID_PARAMS, NULL,
		                   "'uri' must be a string of at most %d bytes", MCP_URI_MAX);
		return NULL;
	}
	return uri;
}

/* Returns false if the URI does not match the template. */
static bool read_template(struct mcp_call *call, const struct mcp_template *t)
{
	AUTO_JSON json_t *variables = uri_template_match(t->uri_template, call->uri);

	if (variables == NULL)
		return false;
	call->record = t;
	if (!call_check_scope(call, t->scope))
		return true;
	call_run_handler(call, t->params, t->args_size, variables, t->read);
	return true;
}

/* Returns false if no resource and no template has the URI. */
static bool read_resource(struct mcp_call *call)
{
	const struct mcp_config *config = &call->server->config;

	for (size_t i = 0; config->resources != NULL && config->resources[i] != NULL; i++) {
		if (strcmp(config->resources[i]->uri, call->uri) != 0)
			continue;
		call->record = config->resources[i];
		if (!call_check_scope(call, config->resources[i]->scope))
			return true;
		call_run_handler(call, NULL, 0, NULL, config->resources[i]->read);
		return true;
	}
	for (size_t i = 0; config->templates != NULL && config->templates[i] != NULL; i++)
		if (read_template(call, config->templates[i]))
			return true;
	return false;
}

static void respond_not_found(struct mcp_call *call)
{
	struct error missing;

	(void)error_set(&missing, ERR_NOT_FOUND, "resource '%s' not found",
	                UTF8_ESCAPED(view_of(call->uri), 160));
	call_respond_failure(call, &missing);
}

void resources_read_method(struct mcp_call *call)
{
	const char *uri = get_uri(call);

	if (uri == NULL)
		return;
	call->uri = arena_text(&call->arena, uri);
	if (!read_resource(call))
		respond_not_found(call);
}

/* Fails if no resource and no template has call->uri, or the template's check refuses it. A file
 * need not exist yet: its creation is reported. */
static int check_uri(struct mcp_call *call, struct error *err)
{
	const struct mcp_config *config = &call->server->config;

	for (size_t i = 0; config->resources != NULL && config->resources[i] != NULL; i++)
		if (strcmp(config->resources[i]->uri, call->uri) == 0)
			return 0;
	for (size_t i = 0; config->templates != NULL && config->templates[i] != NULL; i++) {
		const struct mcp_template *t = config->templates[i];
		AUTO_JSON json_t *variables = uri_template_match(t->uri_template, call->uri);
		void *args;

		if (variables == NULL)
			continue;
		if (t->check == NULL)
			return 0;
		args = arena_new(&call->arena, 1, t->args_size);
		if (param_decode(t->params, variables, &call->arena, args, err) < 0)
			return -1;
		return t->check(call, args, err);
	}
	return error_set(err, ERR_NOT_FOUND, "resource '%s' not found",
	                 UTF8_ESCAPED(view_of(call->uri), 160));
}

void resources_subscribe_method(struct mcp_call *call)
{
	const size_t max = call->server->config.limits.max_subscriptions;
	json_t *subscriptions = call->session->subscriptions;
	const char *uri = get_uri(call);
	struct error err;

	if (uri == NULL)
		return;
	call->uri = arena_text(&call->arena, uri);
	if (check_uri(call, &err) < 0) {
		call_respond_failure(call, &err);
		return;
	}
	if (json_object_size(subscriptions) >= max && !json_has(subscriptions, uri)) {
		call_respond_error(
		        call, RPC_INTERNAL_ERROR, NULL,
		        "%zu resources are subscribed (max_subscriptions); unsubscribe one first",
		        max);
		return;
	}
	json_set(subscriptions, uri, json_true());
	if (call->server->config.subscribed != NULL)
		call->server->config.subscribed(call->server->config.app);
	call_respond(call, json_obj());
}

void resources_unsubscribe_method(struct mcp_call *call)
{
	const char *uri = get_uri(call);

	if (uri == NULL)
		return;
	(void)json_object_del(call->session->subscriptions, uri);
	call_respond(call, json_obj());
}
