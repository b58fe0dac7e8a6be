/* describe.c - server info, capabilities, and the metadata that all kinds of records share. */
#include "mcp/internal.h"
#include "mcp/request_meta.h"

static json_t *icon_list(const struct mcp_icon *icon)
{
	json_t *entry = json_obj();

	json_set(entry, "src", json_str(icon->src));
	json_set_text(entry, "mimeType", icon->mime_type);
	if (icon->sizes != NULL)
		json_set(entry, "sizes", json_list_of(json_str(icon->sizes)));
	return json_list_of(entry);
}

void set_base_metadata(json_t *object, enum mcp_revision revision,
                       const struct base_metadata *metadata)
{
	if (mcp_revision_has(revision, MCP_TITLES))
		json_set_text(object, "title", metadata->title);
	json_set_text(object, "description", metadata->help);
	if (metadata->icon != NULL && mcp_revision_has(revision, MCP_ICONS))
		json_set(object, "icons", icon_list(metadata->icon));
}

/* brief: for the _meta of each stateless result. */
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
		json_set(info, "icons", icon_list(config->icon));
	return info;
}

static bool has_task_tool(const struct mcp_config *config)
{
	for (size_t i = 0; config->tools != NULL && config->tools[i] != NULL; i++)
		if (config->tools[i]->task != MCP_TASK_NEVER)
			return true;
	return false;
}

bool server_has_capability(const struct mcp_server *server, enum capability capability)
{
	const struct mcp_config *config = &server->config;
	bool resources = config->resources != NULL || config->templates != NULL;

	switch (capability) {
	case CAPABILITY_ALWAYS:
		return true;
	case CAPABILITY_TOOLS:
		return config->tools != NULL;
	case CAPABILITY_PROMPTS:
		return config->prompts != NULL;
	case CAPABILITY_RESOURCES:
		return resources;
	case CAPABILITY_SUBSCRIPTIONS:
		return resources && config->resources_change;
	case CAPABILITY_COMPLETIONS:
		return config->prompts != NULL || config->templates != NULL;
	case CAPABILITY_TASKS:
		return has_task_tool(config);
	}
	return false;
}

static json_t *list_capability(const struct mcp_server *server)
{
	return server->config.lists_change ? json_pair("listChanged", json_true()) : json_obj();
}

/* Of 2025-11-25. The extension of the stateless era has no settings. */
static json_t *describe_tasks(void)
{
	json_t *tasks = json_obj();

	json_set(tasks, "list", json_obj());
	json_set(tasks, "cancel", json_obj());
	json_set(tasks, "requests", json_pair("tools", json_pair("call", json_obj())));
	return tasks;
}

json_t *describe_capabilities(const struct mcp_server *server, enum mcp_revision revision)
{
	json_t *all = json_obj();

	json_set(all, "logging", json_obj());
	if (server_has_capability(server, CAPABILITY_TOOLS))
		json_set(all, "tools", list_capability(server));
	if (server_has_capability(server, CAPABILITY_PROMPTS))
		json_set(all, "prompts", list_capability(server));
	if (server_has_capability(server, CAPABILITY_RESOURCES))
		json_set(all, "resources", list_capability(server));
	if (server_has_capability(server, CAPABILITY_SUBSCRIPTIONS))
		json_set(json_object_get(all, "resources"), "subscribe", json_true());
	if (server_has_capability(server, CAPABILITY_COMPLETIONS) &&
	    mcp_revision_has(revision, MCP_COMPLETIONS))
		json_set(all, "completions", json_obj());
	if (!server_has_capability(server, CAPABILITY_TASKS))
		return all;
	if (mcp_revision_has(revision, MCP_TASK_EXPERIMENT))
		json_set(all, "tasks", describe_tasks());
	if (mcp_revision_has(revision, MCP_STATELESS))
		json_set(all, "extensions", json_pair(MCP_TASKS_EXTENSION, json_obj()));
	return all;
}
