/* profile_mounts.h - the MCP servers of all profiles, for HTTP: the one that the operator has
 * chosen on /mcp, and each of them on /p/NAME/mcp.
 *
 *   profile_mounts_init -> http_service_start -> ... -> profile_mounts_done
 *
 * The struct belongs to the caller. */
#pragma once
#include <stddef.h>

#include "server/http/side_paths.h"
#include "server/mcp_setup.h"
#include "tools/catalogue.h"
#include "transport/mcp_http/mcp_http.h"

struct loop;
struct options;
struct profile;

enum { PROFILE_MOUNTS_MAX = 8 };

struct profile_mount {
	struct mcp_setup setup;
	struct tools_context tools;
	struct mcp_server *mcp; /* NULL: that of the caller */
	char prefix[40];
};

struct profile_mounts {
	struct side_paths side; /* of the profile execution-client */
	struct profile_mount at[PROFILE_MOUNTS_MAX];
	struct mcp_http_mount mounts[PROFILE_MOUNTS_MAX + 1]; /* "" and all prefixes */
	size_t count;                                         /* of `at`; `mounts` has one more */
};

/* `chosen` is served by `mcp`. The contexts of the others begin as copies of `tools`, from which
 * the limits of `chosen` have not been taken yet. */
void profile_mounts_init(struct profile_mounts *mounts, struct loop *loop,
                         const struct options *options, const struct profile *chosen,
                         struct mcp_server *mcp, const struct tools_context *tools);
/* No sandbox can be created any more, for the reason in `tools`. */
void profile_mounts_set_unavailable(struct profile_mounts *mounts,
                                    const struct tools_context *tools);
void profile_mounts_cancel_tasks(struct profile_mounts *mounts); /* the server stops */
void profile_mounts_done(struct profile_mounts *mounts);
