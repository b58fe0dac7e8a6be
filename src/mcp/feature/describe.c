#include "mcp/internal.h"

static json_t *icons(const struct mcp_icon *icon)
{
	json_t *list = json_list();
	json_t *one = json_obj();

	json_set(one, "src", json_str(icon->src));
	json_set_text(one, "mimeType", icon->mime_type);
	if (icon->sizes != NULL) {
		json_t *sizes = json_list();

		json_push(sizes, json_str(icon->sizes));
		json_set(one, "sizes", sizes);
	}
	json_push(list, one);
	return list;
}

void describe_into(json_t *object, enum mcp_revision revision, const struct describe *what)
{
	if (mcp_revision_has(revision, MCP_TITLES))
		json_set_text(object, "title", what->title);
	json_set_text(object, "description", what->help);
	if (what->icon != NULL && mcp_revision_has(revision, MCP_ICONS))
		json_set(object, "icons", icons(what->icon));
}

/* Brief is for the stamp on each stateless result. */
json_t *describe_server(const struct mcp_server *server, enum mcp_revision revision, bool brief)
{
	const struct mcp_config *config = &server->config;
	json_t *info = json_obj();

	json_set(info, "name", json_str(config->name));
	json_set(info, "version", json_str(config->version));
	if (mcp_revision_has(revision, MCP_TITLES))
		json_set_text(info, "title", config->title);
	if (brief || !mcp_revision_has(revision, MCP_ICONS))
		return info;
	json_set_text(info, "description", config->help);
	json_set_text(info, "websiteUrl", config->website);
	if (config->icon != NULL)
		json_set(info, "icons", icons(config->icon));
	return info;
}

bool server_offers(const struct mcp_server *server, enum offer offer)
{
	const struct mcp_config *config = &server->config;
	bool resources = config->resources != NULL || config->templates != NULL;

	switch (offer) {
	case OFFER_ALWAYS:
		return true;
	case OFFER_TOOLS:
		return config->tools != NULL;
	case OFFER_PROMPTS:
		return config->prompts != NULL;
	case OFFER_RESOURCES:
		return resources;
	case OFFER_SUBSCRIPTIONS:
		return resources && config->resources_change;
	case OFFER_COMPLETIONS:
		return config->prompts != NULL || config->templates != NULL;
	}
	return false;
}

static json_t *list_capability(const struct mcp_server *server)
{
	json_t *capability = json_obj();

	if (server->config.lists_change)
		json_set(capability, "listChanged", json_true());
	return capability;
}

json_t *describe_capabilities(const struct mcp_server *server, enum mcp_revision revision)
{
	json_t *all = json_obj();

	json_set(all, "logging", json_obj());
	if (server_offers(server, OFFER_TOOLS))
		json_set(all, "tools", list_capability(server));
	if (server_offers(server, OFFER_PROMPTS))
		json_set(all, "prompts", list_capability(server));
	if (server_offers(server, OFFER_RESOURCES))
		json_set(all, "resources", list_capability(server));
	if (server_offers(server, OFFER_SUBSCRIPTIONS))
		json_set(json_object_get(all, "resources"), "subscribe", json_true());
	if (server_offers(server, OFFER_COMPLETIONS) && mcp_revision_has(revision, MCP_COMPLETIONS))
		json_set(all, "completions", json_obj());
	return all;
}
