/* lifecycle.c - initialize, server/discover, ping and logging/setLevel. */
#include "mcp/internal.h"

static void set_instructions(const struct mcp_call *call, json_t *result)
{
	json_set_text(result, "instructions", call->server->config.instructions);
}

/* If the server does not have the requested revision, it names its newest one, and the client
 * decides whether to go on. A second handshake on one connection resets the session. */
void initialize_method(struct mcp_call *call)
{
	struct mcp_session *session = call->session;
	const char *requested = json_text(call->params, "protocolVersion");
	enum mcp_revision revision;
	json_t *result = json_obj();

	if (requested == NULL || !mcp_revision_find(requested, &revision) ||
	    revision > MCP_LAST_HANDSHAKE)
		revision = MCP_LAST_HANDSHAKE;
	session->revision = call->revision = revision;
	session->has_handshake = true;
	session->is_ready = false; /* until notifications/initialized */
	session->level = MCP_LEVEL_INFO;
	(void)json_object_clear(session->subscriptions);
	session->abilities = client_abilities(
	        json_member(call->params, "capabilities", JSON_OBJECT), revision);
	session->has_roots = session->may_have_roots && call->server->config.roots != NULL &&
	                     (session->abilities & CLIENT_ROOTS) != 0;
	json_set(result, "protocolVersion", json_str(mcp_revision_name(revision)));
	json_set(result, "capabilities", describe_capabilities(call->server, revision));
	json_set(result, "serverInfo", describe_server(call->server, revision, false));
	set_instructions(call, result);
	call_respond(call, result);
}

void discover_method(struct mcp_call *call)
{
	json_t *result = json_obj();

	json_set(result, "supportedVersions",
	         json_list_of(json_str(mcp_revision_name(MCP_FIRST_STATELESS))));
	json_set(result, "capabilities", describe_capabilities(call->server, call->revision));
	set_instructions(call, result);
	set_cache_hints(call, result, call->server->config.cache_ms);
	call_respond(call, result);
}

void ping_method(struct mcp_call *call)
{
	call_respond(call, json_obj());
}

void set_level_method(struct mcp_call *call)
{
	const char *name = json_text(call->params, "level");
	enum mcp_level level;

	if (name == NULL || !mcp_level_find(name, &level)) {
		call_respond_error(call, RPC_INVALID_PARAMS, NULL,
		                   "'level' must be one of " MCP_LEVEL_LIST);
		return;
	}
	call->session->level = level;
	call_respond(call, json_obj());
}
