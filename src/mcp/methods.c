/* methods.c - which method means what, in which era.
 *
 * Theory of operation. Each request is routed on its own evidence:
 *
 *   _meta claims a version --- envelope broken ---------------> -32602, names the member
 *                          \-- version not ours -------------> -32022, lists ours
 *                           \- else --------------------------> stateless method
 *   no claim ------------------------------------------------> method of the handshake era
 *
 * except that an `initialize` whose claim does not hold is an ordinary handshake. A
 * method of a feature that is not offered is as unknown as one that does not exist. */
#include <string.h>

#include "base/log.h"
#include "base/text/utf8.h"
#include "mcp/envelope.h"
#include "mcp/internal.h"

enum era { HANDSHAKE = 1 << 0, STATELESS = 1 << 1, BOTH = HANDSHAKE | STATELESS };

static const struct method {
	const char *name;
	enum era eras;
	enum offer needs;
	method_fn *run;
} methods[] = {
	{ "initialize", HANDSHAKE, OFFER_ALWAYS, initialize_method },
	{ "ping", HANDSHAKE, OFFER_ALWAYS, ping_method },
	{ "logging/setLevel", HANDSHAKE, OFFER_ALWAYS, set_level_method },
	{ "server/discover", STATELESS, OFFER_ALWAYS, discover_method },
	{ "subscriptions/listen", STATELESS, OFFER_ALWAYS, listen_method },
	{ "tools/list", BOTH, OFFER_TOOLS, tools_list_method },
	{ "tools/call", BOTH, OFFER_TOOLS, tools_call_method },
	{ "resources/list", BOTH, OFFER_RESOURCES, resources_list_method },
	{ "resources/templates/list", BOTH, OFFER_RESOURCES, templates_list_method },
	{ "resources/read", BOTH, OFFER_RESOURCES, resources_read_method },
	{ "resources/subscribe", HANDSHAKE, OFFER_SUBSCRIPTIONS, resources_subscribe_method },
	{ "resources/unsubscribe", HANDSHAKE, OFFER_SUBSCRIPTIONS, resources_unsubscribe_method },
	{ "prompts/list", BOTH, OFFER_PROMPTS, prompts_list_method },
	{ "prompts/get", BOTH, OFFER_PROMPTS, prompts_get_method },
	{ "completion/complete", BOTH, OFFER_COMPLETIONS, complete_method },
};

static const struct method *find(const struct mcp_call *call, enum era era)
{
	for (size_t i = 0; i < ARRAY_LEN(methods); i++) {
		const struct method *m = &methods[i];

		if ((m->eras & era) == 0 || strcmp(m->name, call->method) != 0)
			continue;
		if (server_offers(call->server, m->needs))
			return m;
	}
	return NULL;
}

static void refuse_unknown(struct mcp_call *call)
{
	char shown[80];

	/* The one stateless method that clients send to find out about the era. */
	if (!mcp_revision_has(call->revision, MCP_STATELESS) &&
	    strcmp(call->method, "server/discover") == 0) {
		call_refuse(call, RPC_INVALID_PARAMS, NULL,
		            "'server/discover' needs params._meta with '" MCP_META_VERSION
		            "' and '" MCP_META_CAPABILITIES "'");
		return;
	}
	call_refuse(call, RPC_METHOD_NOT_FOUND, NULL, "method '%s' is not known in revision %s",
	            utf8_escape(view_of(call->method), shown, sizeof shown),
	            mcp_revision_name(call->revision));
}

static void refuse_envelope(struct mcp_call *call, const struct envelope *env)
{
	json_t *data = json_obj();
	json_t *envelope = json_obj();

	json_set(envelope, "key", json_str(env->bad_key));
	json_set(envelope, "problem", json_str(env->problem));
	json_set(data, "envelope", envelope);
	call_refuse(call, RPC_INVALID_PARAMS, data, "params._meta: '%s' %s", env->bad_key,
	            env->problem);
}

static void refuse_version(struct mcp_call *call, const struct envelope *env)
{
	json_t *data = json_obj();
	json_t *supported = json_list();
	char shown[64];

	json_push(supported, json_str(mcp_revision_name(MCP_FIRST_STATELESS)));
	json_set(data, "supported", supported);
	json_set(data, "requested",
	         json_str_view((struct view){
	                 env->version,
	                 utf8_prefix(env->version, strlen(env->version), RPC_ID_MAX) }));
	call_refuse(call, RPC_UNSUPPORTED_VERSION, data,
	            "protocol version '%s' is not supported without a handshake; %s is",
	            utf8_escape(view_of(env->version), shown, sizeof shown),
	            mcp_revision_name(MCP_FIRST_STATELESS));
}

static void dispatch(struct mcp_call *call, enum era era)
{
	const struct method *method = find(call, era);

	if (method == NULL) {
		refuse_unknown(call);
		return;
	}
	call->method = method->name; /* outlives the message */
	method->run(call);
}

static void dispatch_claim(struct mcp_call *call)
{
	struct envelope env;
	bool valid = envelope_read(call->params, &env);
	enum mcp_revision revision;

	if (strcmp(call->method, "initialize") == 0 &&
	    !(valid && mcp_revision_is_stateless(env.version))) {
		dispatch(call, HANDSHAKE);
		return;
	}
	if (!valid) {
		refuse_envelope(call, &env);
		return;
	}
	if (!mcp_revision_find(env.version, &revision) ||
	    !mcp_revision_has(revision, MCP_STATELESS)) {
		refuse_version(call, &env);
		return;
	}
	call->revision = revision;
	call->level = env.level;
	dispatch(call, STATELESS);
}

void methods_dispatch(struct mcp_call *call)
{
	if (envelope_is_claimed(call->params))
		dispatch_claim(call);
	else
		dispatch(call, HANDSHAKE);
}

static void cancelled(struct mcp_session *session, const json_t *params)
{
	struct mcp_call *call = session_find_call(session, json_object_get(params, "requestId"));

	if (call == NULL)
		return;
	log_info("a call of '%s' was cancelled", call->method);
	call_cancel(call);
}

/* Notifications are never answered, so what is unknown or malformed is let go. */
void methods_notified(struct mcp_session *session, const struct rpc_message *rpc)
{
	if (strcmp(rpc->method, "notifications/cancelled") == 0)
		cancelled(session, rpc->params);
	else if (strcmp(rpc->method, "notifications/initialized") == 0) {
		session->is_ready = true;
		roots_ask(session);
	} else if (strcmp(rpc->method, "notifications/roots/list_changed") == 0)
		roots_ask(session);
	else
		log_debug("notification '%s'", rpc->method);
}
