/* revision.h - the protocol's revisions, and what came with which.
 *
 * Four revisions begin with a handshake and keep state per connection; from 2026-07-28 on
 * each request stands alone. The enum is in order of time, so "since" is a comparison. */
#pragma once
#include <stdbool.h>

#define MCP_REVISIONS(X)                                                                           \
	X(MCP_2024_11_05, "2024-11-05")                                                            \
	X(MCP_2025_03_26, "2025-03-26")                                                            \
	X(MCP_2025_06_18, "2025-06-18")                                                            \
	X(MCP_2025_11_25, "2025-11-25")                                                            \
	X(MCP_2026_07_28, "2026-07-28")

#define X(id, name) id,
enum mcp_revision {
	MCP_REVISIONS(X) MCP_REVISION_COUNT,
	MCP_FIRST_STATELESS = MCP_2026_07_28,
	MCP_LAST_HANDSHAKE = MCP_2025_11_25,
	MCP_DEFAULT_REVISION =
	        MCP_2025_03_26, /* of a request that says nothing, before any handshake */
};
#undef X

enum mcp_feature {
	MCP_BATCHES,           /* arrays of messages */
	MCP_ANNOTATIONS,       /* hints on tools */
	MCP_AUDIO,             /* audio blocks */
	MCP_COMPLETIONS,       /* a capability of their own */
	MCP_PROGRESS_MESSAGES, /* text beside the numbers */
	MCP_TITLES,            /* names for people */
	MCP_STRUCTURED,        /* outputSchema and structuredContent */
	MCP_LINKS,             /* resource_link blocks */
	MCP_ICONS,             /* pictures, descriptions and web sites of things */
	MCP_STATELESS,         /* resultType, caching hints, server info on each result */
	MCP_FEATURE_COUNT
};

const char *mcp_revision_name(enum mcp_revision revision);
bool mcp_revision_find(const char *name, enum mcp_revision *ret);
bool mcp_revision_has(enum mcp_revision revision, enum mcp_feature feature);

/* Whether a version string belongs to the stateless era, known or not: later dates and
 * junk such as "v999" do, so that they are refused as unsupported and not as malformed. */
bool mcp_revision_is_stateless(const char *name);
