/* request_meta.h - the params._meta of a request: protocol version, progress token, log level.
 *
 * A request belongs to the stateless era if its _meta holds a protocol version, of whatever JSON
 * type. Such a _meta is valid, or the request is an error; it never falls back to the handshake
 * era. Without a version the connection's handshake decides. */
#pragma once
#include <stdbool.h>

#include "mcp/level.h"
#include "json/json.h"

#define MCP_META_VERSION         "io.modelcontextprotocol/protocolVersion"
#define MCP_META_CAPABILITIES    "io.modelcontextprotocol/clientCapabilities"
#define MCP_META_CLIENT_INFO     "io.modelcontextprotocol/clientInfo"
#define MCP_META_LOG_LEVEL       "io.modelcontextprotocol/logLevel"
#define MCP_META_SERVER_INFO     "io.modelcontextprotocol/serverInfo"
#define MCP_META_SUBSCRIPTION_ID "io.modelcontextprotocol/subscriptionId"
#define MCP_META_RELATED_TASK    "io.modelcontextprotocol/related-task"
#define MCP_TASKS_EXTENSION      "io.modelcontextprotocol/tasks"

struct request_meta {
	const char *version;    /* NULL if it is not a string */
	json_t *capabilities;   /* borrowed; NULL if they are no object */
	json_t *progress_token; /* borrowed; NULL: the client wants no progress */
	enum mcp_level level;   /* least severe log message the client wants */
	/* If _meta is invalid: the member, and what is wrong with it. */
	const char *bad_key;
	const char *problem;
};

bool request_meta_has_version(const json_t *params);
/* NULL if there is none, or if it is not a string. */
const char *request_meta_version(const json_t *params);

/* Reads a _meta with a version. Returns false if it is invalid; bad_key and problem say why. */
bool request_meta_read(const json_t *params, struct request_meta *ret);

/* For a _meta without a version. NULL if there is no valid progress token. */
json_t *request_meta_progress_token(const json_t *params);
