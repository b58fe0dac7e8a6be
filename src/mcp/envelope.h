/* envelope.h - what a request says about itself in params._meta.
 *
 * A request "claims" the stateless era when its _meta holds a protocol version, of
 * whatever type. A claim is then valid or an error, never quietly taken for an old
 * request. Without a claim the connection's handshake decides. */
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

struct envelope {
	const char *version;    /* as claimed; NULL if it is not even a string */
	json_t *progress_token; /* borrowed; NULL: no progress wanted */
	enum mcp_level level;   /* least severe log message wanted; MCP_LEVEL_NONE */
	/* Why the claim is invalid: the member, and what is wrong with it. */
	const char *bad_key;
	const char *problem;
};

bool envelope_is_claimed(const json_t *params);

/* For a claimed envelope. False: invalid, with bad_key and problem set. */
bool envelope_read(const json_t *params, struct envelope *ret);

/* Without a claim only the progress token counts, and only if it can be one. */
json_t *envelope_progress_token(const json_t *params);
