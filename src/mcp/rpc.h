/* rpc.h - the JSON-RPC 2.0 envelope: what kind of message is this, and the building of
 * ours. Knows nothing of methods. */
#pragma once
#include "base/attr.h"
#include "json/json.h"

struct error;

enum rpc_code {
	RPC_PARSE_ERROR = -32700,
	RPC_INVALID_REQUEST = -32600,
	RPC_METHOD_NOT_FOUND = -32601,
	RPC_INVALID_PARAMS = -32602,
	RPC_INTERNAL_ERROR = -32603,
	RPC_RESOURCE_NOT_FOUND = -32002,  /* handshake revisions only */
	RPC_UNSUPPORTED_VERSION = -32022, /* stateless revisions only */
};

enum rpc_kind { RPC_REQUEST, RPC_NOTIFICATION, RPC_RESPONSE };

enum { RPC_ID_MAX = 1024 }; /* bytes of a string id: it is stored and echoed */

/* All borrowed from the decoded value. */
struct rpc_message {
	enum rpc_kind kind;
	json_t *id; /* a string or a number; NULL in a notification */
	const char *method;
	json_t *params;  /* an object, or NULL if absent or null */
	bool bad_params; /* present, but no object */
	json_t *result;  /* of a response: an object, or NULL */
};

/* Refuses what is neither request, notification nor response. */
MUST_CHECK int rpc_decode(const json_t *value, struct rpc_message *ret, struct error *err);

/* Whether a value can be a request's id. */
bool rpc_is_id(const json_t *value);

/* These take over result, params and data; id is borrowed, NULL becomes null. */
json_t *rpc_result(json_t *id, json_t *result);
json_t *rpc_error(json_t *id, enum rpc_code code, const char *message, json_t *data);
json_t *rpc_notification(const char *method, json_t *params);
