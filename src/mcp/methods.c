/* methods.c - the table of methods, and the dispatch of requests and notifications.
 *
 * The _meta of each request decides which methods it can call:
 *
 *   _meta has a version --- _meta is invalid ---------------> error -32602, names the member
 *                       \-- version is not supported -------> error -32022, lists those that are
 *                        \- else --------------------------> methods of the stateless era
 *   _meta has no version -----------------------------------> methods of the handshake era
 *
 * Over HTTP the headers are compared with the body on the way (header/header_check.c).
 *
 * An `initialize` with an invalid _meta or with a version of the handshake era is an ordinary
 * handshake. A method of a capability that the server does not have is an unknown method. */
#include <string.h>

#include "base/log.h"
#include "base/text/utf8.h"
#include "mcp/internal.h"
#include "mcp/request_meta.h"

enum era {
	HANDSHAKE = 1 << 0,
	STATELESS = 1 << 1,
	EXPERIMENT = 1 << 2, /* of the handshake era, 2025-11-25 only */
	BOTH = HANDSHAKE | STATELESS,
};

static const struct method {
	const char *name;
	unsigned eras; /* enum era */
	enum capability needs;
	method_fn *run;
} methods[] = {
	{ "initialize", HANDSHAKE, CAPABILITY_ALWAYS, initialize_method },
	{ "ping", HANDSHAKE, CAPABILITY_ALWAYS, ping_method },
	{ "logging/setLevel", HANDSHAKE, CAPABILITY_ALWAYS, set_level_method },
	{ "server/discover", STATELESS, CAPABILITY_ALWAYS, discover_method },
	{ "subscriptions/listen", STATELESS, CAPABILITY_ALWAYS, listen_method },
	{ "tools/list", BOTH, CAPABILITY_TOOLS, tools_list_method },
	{ "tools/call", BOTH, CAPABILITY_TOOLS, tools_call_method },
	{ "resources/list", BOTH, CAPABILITY_RESOURCES, resources_list_method },
	{ "resources/templates/list", BOTH, CAPABILITY_RESOURCES, templates_list_method },
	{ "resources/read", BOTH, CAPABILITY_RESOURCES, resources_read_method },
	{ "resources/subscribe", HANDSHAKE, CAPABILITY_SUBSCRIPTIONS, resources_subscribe_method },
	{ "resources/unsubscribe", HANDSHAKE, CAPABILITY_SUBSCRIPTIONS,
	  resources_unsubscribe_method },
	{ "prompts/list", BOTH, CAPABILITY_PROMPTS, prompts_list_method },
	{ "prompts/get", BOTH, CAPABILITY_PROMPTS, prompts_get_method },
	{ "completion/complete", BOTH, CAPABILITY_COMPLETIONS, complete_method },
	{ "tasks/get", EXPERIMENT | STATELESS, CAPABILITY_TASKS, tasks_get_method },
	{ "tasks/cancel", EXPERIMENT | STATELESS, CAPABILITY_TASKS, tasks_cancel_method },
	{ "tasks/update", STATELESS, CAPABILITY_TASKS, tasks_update_method },
	{ "tasks/result", EXPERIMENT, CAPABILITY_TASKS, tasks_result_method },
	{ "tasks/list", EXPERIMENT, CAPABILITY_TASKS, tasks_list_method },
};

static const struct method *find_method(const struct mcp_call *call, unsigned era)
{
	if (mcp_revision_has(call->revision, MCP_TASK_EXPERIMENT))
		era |= EXPERIMENT;
	for (size_t i = 0; i < ARRAY_LEN(methods); i++) {
		const struct method *m = &methods[i];

		if ((m->eras & era) == 0 || strcmp(m->name, call->method) != 0)
			continue;
		if (server_has_capability(call->server, m->needs))
			return m;
	}
	return NULL;
}

static void respond_unknown_method(struct mcp_call *call)
{
	/* Clients send this method to find out whether the server has the stateless era. */
	if (!mcp_revision_has(call->revision, MCP_STATELESS) &&
	    strcmp(call->method, "server/discover") == 0) {
		call_respond_error(call, RPC_INVALID_PARAMS, NULL,
		                   "'server/discover' needs params._meta with '" MCP_META_VERSION
		                   "' and '" MCP_META_CAPABILITIES "'");
		return;
	}
	call_respond_error(
	        call, RPC_METHOD_NOT_FOUND, NULL, "method '%s' is not known in revision %s",
	        UTF8_ESCAPED(view_of(call->method), 80), mcp_revision_name(call->revision));
}

static void respond_invalid_meta(struct mcp_call *call, const struct request_meta *meta)
{
	json_t *member = json_obj();

	json_set(member, "key", json_str(meta->bad_key));
	json_set(member, "problem", json_str(meta->problem));
	call->outcome = MCP_OUTCOME_BAD_REQUEST;
	call_respond_error(call, RPC_INVALID_PARAMS, json_pair("envelope", member),
	                   "params._meta: '%s' %s", meta->bad_key, meta->problem);
}

void methods_respond_without_meta(struct mcp_call *call)
{
	json_t *missing = json_list_of(
	        json_str(json_has(call->params, "_meta") ? MCP_META_VERSION : "_meta"));

	call->outcome = MCP_OUTCOME_BAD_REQUEST;
	call_respond_error(
	        call, RPC_INVALID_PARAMS, json_pair("envelope", json_pair("missing", missing)),
	        "params._meta must have '" MCP_META_VERSION "' and '" MCP_META_CAPABILITIES
	        "', as the header MCP-Protocol-Version says");
}

static void respond_unsupported_version(struct mcp_call *call, const struct request_meta *meta)
{
	json_t *data = json_obj();

	json_set(data, "supported", json_list_of(json_str(mcp_revision_name(MCP_FIRST_STATELESS))));
	json_set(data, "requested",
	         json_str_view((struct view){
	                 meta->version,
	                 utf8_prefix(meta->version, strlen(meta->version), RPC_ID_MAX) }));
	call_respond_error(call, RPC_UNSUPPORTED_VERSION, data,
	                   "protocol version '%s' is not supported without a handshake; use %s",
	                   UTF8_ESCAPED(view_of(meta->version), 64),
	                   mcp_revision_name(MCP_FIRST_STATELESS));
}

static void dispatch_in_era(struct mcp_call *call, enum era era)
{
	const struct method *method = find_method(call, era);

	if (method == NULL) {
		respond_unknown_method(call);
		return;
	}
	call->method = method->name; /* the message is freed after the dispatch */
	method->run(call);
}

static void dispatch_with_version(struct mcp_call *call)
{
	struct request_meta meta;
	enum mcp_revision revision;

	if (!request_meta_read(call->params, &meta)) {
		respond_invalid_meta(call, &meta);
		return;
	}
	if (!headers_check_equal(call, &meta))
		return;
	if (!mcp_revision_find(meta.version, &revision) ||
	    !mcp_revision_has(revision, MCP_STATELESS)) {
		respond_unsupported_version(call, &meta);
		return;
	}
	call->revision = revision;
	call->level = meta.level;
	call->abilities = client_abilities(meta.capabilities, revision);
	if (headers_check_present(call))
		dispatch_in_era(call, STATELESS);
}

void methods_dispatch_request(struct mcp_call *call, const struct rpc_message *rpc)
{
	if (request_meta_has_version(rpc->params) && !input_is_handshake(rpc))
		dispatch_with_version(call);
	else if (headers_check_handshake(call))
		dispatch_in_era(call, HANDSHAKE);
}

static void receive_cancelled(struct mcp_session *session, const json_t *params)
{
	struct mcp_call *call = session_find_call(session, json_object_get(params, "requestId"));

	if (call == NULL)
		return;
	log_info("a call of '%s' was cancelled", call->method);
	call_cancel(call);
}

/* A notification has no response, so unknown and malformed ones are ignored. */
void methods_dispatch_notification(struct mcp_session *session, const struct rpc_message *rpc)
{
	if (strcmp(rpc->method, "notifications/cancelled") == 0)
		receive_cancelled(session, rpc->params);
	else if (strcmp(rpc->method, "notifications/initialized") == 0) {
		session->is_ready = true;
		roots_request(session);
	} else if (strcmp(rpc->method, "notifications/roots/list_changed") == 0)
		roots_request(session);
	else
		log_debug("notification '%s' is ignored", rpc->method);
}
