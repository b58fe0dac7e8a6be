/* revision.h - the revisions of MCP, and the features of each.
 *
 * There are two eras. The four revisions of the handshake era begin with `initialize` and keep
 * state per connection. In the stateless era, from 2026-07-28 on, each request names its version
 * in _meta. The enum is in order of time, so that revisions can be compared with < and >=. */
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
	MCP_DEFAULT_REVISION = MCP_2025_03_26, /* before any handshake */
};
#undef X

enum mcp_feature {
	MCP_BATCHES,           /* JSON arrays of messages */
	MCP_ANNOTATIONS,       /* annotations of tools */
	MCP_AUDIO,             /* audio content blocks */
	MCP_COMPLETIONS,       /* the completions capability */
	MCP_PROGRESS_MESSAGES, /* `message` in notifications/progress */
	MCP_TITLES,            /* `title` */
	MCP_STRUCTURED,        /* outputSchema and structuredContent */
	MCP_LINKS,             /* resource_link content blocks */
	MCP_FORMS,             /* elicitation with a form */
	MCP_PAGES,             /* elicitation with a page that the user opens */
	MCP_PAGE_ERRORS,       /* the error that names pages to open; replaced by rounds */
	MCP_TASK_EXPERIMENT,   /* tasks that the client asks for; replaced by an extension */
	MCP_ICONS,             /* `icons`; description and websiteUrl of the server */
	MCP_STATELESS,         /* resultType, cache hints and server info in each result */
	MCP_FEATURE_COUNT
};

const char *mcp_revision_name(enum mcp_revision revision);
bool mcp_revision_find(const char *name, enum mcp_revision *ret);
bool mcp_revision_has(enum mcp_revision revision, enum mcp_feature feature);

/* True if a version string belongs to the stateless era, whether it is known or not. Later dates
 * and strings such as "v999" belong to it: the error for them is "unsupported version". */
bool mcp_revision_is_stateless(const char *name);
