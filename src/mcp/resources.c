#include <string.h>

#include "base/error.h"
#include "base/utf8.h"
#include "mcp/internal.h"

enum { URI_MAX = 8192 };

void resources_list_method(struct mcp_call *call)
{
	const struct mcp_config *config = &call->server->config;
	size_t count = table_count(config->resources);
	json_t *entries;
	struct page page;

	if (!page_find(call, "resources", count, &page))
		return;
	entries = json_list();
	for (size_t i = page.from; i < page.to; i++) {
		const struct mcp_resource *r = config->resources[i];
		json_t *entry = json_obj();

		json_set(entry, "uri", json_str(r->uri));
		json_set(entry, "name", json_str(r->name));
		describe_into(
		        entry, call->revision,
		        &(struct describe){ .title = r->title, .help = r->help, .icon = r->icon });
		json_set_text(entry, "mimeType", r->mime_type);
		json_push(entries, entry);
	}
	page_reply(call, "resources", &page, count, entries);
}

void templates_list_method(struct mcp_call *call)
{
	const struct mcp_config *config = &call->server->config;
	size_t count = table_count(config->templates);
	json_t *entries;
	struct page page;

	if (!page_find(call, "resourceTemplates", count, &page))
		return;
	entries = json_list();
	for (size_t i = page.from; i < page.to; i++) {
		const struct mcp_template *t = config->templates[i];
		json_t *entry = json_obj();

		json_set(entry, "uriTemplate", json_str(t->uri_template));
		json_set(entry, "name", json_str(t->name));
		describe_into(
		        entry, call->revision,
		        &(struct describe){ .title = t->title, .help = t->help, .icon = t->icon });
		json_set_text(entry, "mimeType", t->mime_type);
		json_push(entries, entry);
	}
	page_reply(call, "resourceTemplates", &page, count, entries);
}

/* The URI a request names; NULL when it was refused for having none. */
static const char *uri_of(struct mcp_call *call)
{
	const char *uri = json_text(call->params, "uri");

	if (uri == NULL || strlen(uri) > URI_MAX) {
		call_refuse(call, RPC_INVALID_PARAMS, NULL,
		            "'uri' must be a string of at most %d bytes", URI_MAX);
		return NULL;
	}
	return uri;
}

static bool read_template(struct mcp_call *call, const struct mcp_template *t)
{
	AUTO_JSON json_t *variables = uri_template_match(t->uri_template, call->uri);

	if (variables == NULL)
		return false;
	/* The arguments point into the variables: they live as long as the message. */
	json_set(call->message, "variables", json_incref(variables));
	call_handle(call, t->params, t->args_size, variables, t->read);
	return true;
}

void resources_read_method(struct mcp_call *call)
{
	const struct mcp_config *config = &call->server->config;
	size_t resources = table_count(config->resources),
	       templates = table_count(config->templates);
	struct error missing;
	char shown[160];

	call->uri = uri_of(call);
	if (call->uri == NULL)
		return;
	for (size_t i = 0; i < resources; i++) {
		if (strcmp(config->resources[i]->uri, call->uri) == 0) {
			call_handle(call, NULL, 0, NULL, config->resources[i]->read);
			return;
		}
	}
	for (size_t i = 0; i < templates; i++)
		if (read_template(call, config->templates[i]))
			return;
	(void)error_set(&missing, ERR_NOT_FOUND, "resource '%s' not found",
	                utf8_show(view_of(call->uri), shown, sizeof shown));
	call_refuse_error(call, &missing);
}

void resources_subscribe_method(struct mcp_call *call)
{
	const size_t max = call->server->config.limits.max_subscriptions;
	json_t *subscriptions = call->session->subscriptions;
	const char *uri = uri_of(call);

	if (uri == NULL)
		return;
	if (json_object_size(subscriptions) >= max && !json_has(subscriptions, uri)) {
		call_refuse(
		        call, RPC_INTERNAL_ERROR, NULL,
		        "%zu resources are subscribed (max_subscriptions); unsubscribe one first",
		        max);
		return;
	}
	json_set(subscriptions, uri, json_true());
	call_reply(call, json_obj());
}

void resources_unsubscribe_method(struct mcp_call *call)
{
	const char *uri = uri_of(call);

	if (uri == NULL)
		return;
	(void)json_object_del(call->session->subscriptions, uri);
	call_reply(call, json_obj());
}
