/* header_check.c - compares the headers of a POST with its body.
 *
 * Proxies route and filter by these headers, so a header that says something else than the body is
 * an error. Requests of the stateless era must have all of them. Requests that were not received
 * over HTTP have no headers, and every check passes. */
#include <stdio.h>
#include <string.h>

#include "base/text/utf8.h"
#include "mcp/header/header_value.h"
#include "mcp/internal.h"
#include "mcp/request_meta.h"

/* The methods that need Mcp-Name, and the member of params that it repeats. */
static const struct {
	const char *method, *member;
} named_methods[] = {
	{ "tools/call", "name" },  { "prompts/get", "name" },    { "resources/read", "uri" },
	{ "tasks/get", "taskId" }, { "tasks/update", "taskId" }, { "tasks/cancel", "taskId" },
};

static bool refuse_header(struct mcp_call *call, const char *header, const char *problem)
{
	call_respond_error(call, RPC_HEADER_MISMATCH, NULL, "header %s %s", header, problem);
	return false;
}

static bool names_stateless(const struct mcp_headers *headers)
{
	return headers != NULL && headers->version != NULL &&
	       mcp_revision_is_stateless(headers->version);
}

/* True if the header is one of a handshake revision that the server has. */
static bool is_known_handshake(const char *version)
{
	enum mcp_revision revision;

	return mcp_revision_find(version, &revision) && revision <= MCP_LAST_HANDSHAKE;
}

bool headers_check_handshake(struct mcp_call *call)
{
	const struct mcp_headers *headers = call_headers(call);
	bool is_initialize = strcmp(call->method, "initialize") == 0;

	if (headers == NULL || headers->version == NULL)
		return true;
	if (names_stateless(headers) && is_initialize)
		return refuse_header(call, "MCP-Protocol-Version",
		                     "names a revision that has no 'initialize'");
	if (names_stateless(headers)) {
		methods_respond_without_meta(call);
		return false;
	}
	/* The version of `initialize` is negotiated by its body. */
	if (is_initialize || is_known_handshake(headers->version))
		return true;
	call_respond_error(call, RPC_BAD_VERSION_HEADER, NULL,
	                   "header MCP-Protocol-Version: '%s' is not supported",
	                   UTF8_ESCAPED(view_of(headers->version), 64));
	return false;
}

bool headers_check_equal(struct mcp_call *call, const struct request_meta *meta)
{
	const struct mcp_headers *headers = call_headers(call);

	if (headers == NULL)
		return true;
	if (headers->version != NULL && strcmp(headers->version, meta->version) != 0)
		return refuse_header(call, "MCP-Protocol-Version", "differs from params._meta");
	if (headers->method != NULL && strcmp(headers->method, call->method) != 0)
		return refuse_header(call, "Mcp-Method", "differs from 'method'");
	return true;
}

static bool check_name(struct mcp_call *call, const char *header)
{
	for (size_t i = 0; i < ARRAY_LEN(named_methods); i++) {
		const char *name = json_text(call->params, named_methods[i].member);

		if (strcmp(named_methods[i].method, call->method) != 0 || name == NULL)
			continue;
		if (header == NULL)
			return refuse_header(call, "Mcp-Name", "is missing");
		if (!header_value_is_text(header, name))
			return refuse_header(call, "Mcp-Name", "differs from the name in params");
	}
	return true;
}

bool headers_check_present(struct mcp_call *call)
{
	const struct mcp_headers *headers = call_headers(call);

	if (headers == NULL)
		return true;
	if (headers->version == NULL)
		return refuse_header(call, "MCP-Protocol-Version", "is missing");
	if (headers->method == NULL)
		return refuse_header(call, "Mcp-Method", "is missing");
	return check_name(call, headers->name);
}

/* The problem with the headers of a notification, or NULL. */
static const char *find_notification_problem(const struct mcp_headers *headers,
                                             const struct rpc_message *rpc)
{
	const char *version = request_meta_version(rpc->params);

	if (version != NULL && headers->version != NULL && strcmp(headers->version, version) != 0)
		return "header MCP-Protocol-Version differs from params._meta";
	if ((version != NULL || names_stateless(headers)) && headers->method != NULL &&
	    strcmp(headers->method, rpc->method) != 0)
		return "header Mcp-Method differs from 'method'";
	return NULL;
}

bool headers_check_notification(struct mcp_session *session, struct mcp_exchange *exchange,
                                const struct rpc_message *rpc)
{
	const struct mcp_headers *headers = exchange != NULL ? exchange->headers : NULL;
	bool has_version = request_meta_has_version(rpc->params);
	const char *problem;

	if (headers == NULL)
		return true;
	if (has_version && request_meta_version(rpc->params) == NULL) {
		session_send_error(session, exchange, NULL, RPC_INVALID_PARAMS,
		                   "params._meta: '" MCP_META_VERSION "' must be a string");
		return false;
	}
	problem = find_notification_problem(headers, rpc);
	if (problem != NULL) {
		session_send_error(session, exchange, NULL, RPC_HEADER_MISMATCH, problem);
		return false;
	}
	if (!has_version && headers->version != NULL && !names_stateless(headers) &&
	    !is_known_handshake(headers->version)) {
		session_send_error(session, exchange, NULL, RPC_BAD_VERSION_HEADER,
		                   "header MCP-Protocol-Version names no supported revision");
		return false;
	}
	return true;
}

/* The argument of a parameter, under any of its names. */
static const json_t *find_argument(const struct param *param, const json_t *arguments)
{
	const json_t *value = json_object_get(arguments, param->name);

	for (const char *const *also = param->also; value == NULL && also != NULL && *also != NULL;
	     also++)
		value = json_object_get(arguments, *also);
	return value;
}

bool headers_check_params(struct mcp_call *call, const struct param *params,
                          const json_t *arguments)
{
	const struct mcp_headers *headers = call_headers(call);
	bool has_headers = headers != NULL && mcp_revision_has(call->revision, MCP_STATELESS);

	for (const struct param *p = params; has_headers && p != NULL && p->type != PARAM_END;
	     p++) {
		const json_t *value = p->header != NULL ? find_argument(p, arguments) : NULL;
		const char *given;
		char name[80];

		if (value == NULL || json_is_null(value))
			continue;
		(void)snprintf(name, sizeof name, "Mcp-Param-%s", p->header);
		given = headers->param(headers->ctx, p->header);
		if (given == NULL)
			return refuse_header(call, name, "is missing");
		if (!header_value_is_json(given, value))
			return refuse_header(call, name, "differs from the argument");
	}
	return true;
}
