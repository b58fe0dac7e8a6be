/* rpc.h - JSON-RPC 2.0 messages: decodes those of the client and builds those of the server. */
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
	RPC_BAD_VERSION_HEADER = -32000, /* handshake revisions only, like the next two */
	RPC_RESOURCE_NOT_FOUND = -32002,
	RPC_PAGES_REQUIRED = -32042,  /* of these, 2025-11-25 only */
	RPC_HEADER_MISMATCH = -32020, /* stateless revisions only, like the others */
	RPC_MISSING_CAPABILITY = -32021,
	RPC_UNSUPPORTED_VERSION = -32022,
};

enum rpc_kind { RPC_REQUEST, RPC_NOTIFICATION, RPC_RESPONSE };

enum { RPC_ID_MAX = 1024 }; /* bytes of a string id, which is stored and repeated in the response */

/* A decoded message. All pointers are borrowed from the JSON value. */
struct rpc_message {
	enum rpc_kind kind;
	json_t *id; /* a string or a number; NULL in a notification */
	const char *method;
	json_t *params;  /* an object, or NULL if absent or null */
	bool bad_params; /* `params` is present, but neither an object nor null */
	json_t *result;  /* of a response: an object, or NULL */
	json_t *error;   /* of a response: an object, or NULL */
};

/* ERR_INVALID, or ERR_LIMIT for a long id: the value is no request, notification or response. */
MUST_CHECK int rpc_decode(const json_t *value, struct rpc_message *ret, struct error *err);

/* True if the value can be the id of a request. */
bool rpc_is_id(const json_t *value);

/* The id in the first or the last bytes of a request; NULL: none was found. The caller owns it. */
json_t *rpc_find_id(struct view first, struct view last);

/* These constructors take over result, params and data. They borrow id; NULL becomes null. */
json_t *rpc_result(json_t *id, json_t *result);
json_t *rpc_error(json_t *id, enum rpc_code code, const char *message, json_t *data);
json_t *rpc_notification(const char *method, json_t *params);
