#include "mcp/internal.h"

static void set_instructions(const struct mcp_call *call, json_t *result)
{
	json_set_text(result, "instructions", call->server->config.instructions);
}

/* Asked for a revision we do not have, we offer our newest; the client decides. A second
 * handshake on one connection starts over. */
void initialize_method(struct mcp_call *call)
{
	struct mcp_session *session = call->session;
	const char *asked = json_text(call->params, "protocolVersion");
	enum mcp_revision revision;
	json_t *result = json_obj();

	if (asked == NULL || !mcp_revision_find(asked, &revision) || revision > MCP_LAST_HANDSHAKE)
		revision = MCP_LAST_HANDSHAKE;
	session->revision = call->revision = revision;
	session->is_ready = false; /* until notifications/initialized */
	session->level = MCP_LEVEL_INFO;
	(void)json_object_clear(session->subscriptions);
	session->has_roots = call->server->config.roots != NULL &&
	                     json_member(json_member(call->params, "capabilities", JSON_OBJECT),
	                                 "roots", JSON_OBJECT) != NULL;
	json_set(result, "protocolVersion", json_str(mcp_revision_name(revision)));
	json_set(result, "capabilities", describe_capabilities(call->server, revision));
	json_set(result, "serverInfo", describe_server(call->server, revision, false));
	set_instructions(call, result);
	call_reply(call, result);
}

void discover_method(struct mcp_call *call)
{
	json_t *result = json_obj();
	json_t *versions = json_list();

	json_push(versions, json_str(mcp_revision_name(MCP_FIRST_STATELESS)));
	json_set(result, "supportedVersions", versions);
	json_set(result, "capabilities", describe_capabilities(call->server, call->revision));
	set_instructions(call, result);
	cache_hints(call, result, call->server->config.cache_ms);
	call_reply(call, result);
}

void ping_method(struct mcp_call *call)
{
	call_reply(call, json_obj());
}

void set_level_method(struct mcp_call *call)
{
	const char *name = json_text(call->params, "level");
	enum mcp_level level;

	if (name == NULL || !mcp_level_find(name, &level)) {
		call_refuse(call, RPC_INVALID_PARAMS, NULL,
		            "'level' must be one of " MCP_LEVEL_LIST);
		return;
	}
	call->session->level = level;
	call_reply(call, json_obj());
}
