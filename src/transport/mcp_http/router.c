/* router.c - paths and methods. */
#include <string.h>

#include "base/attr.h"
#include "transport/mcp_http/internal.h"

/* The order is that of enum endpoint. `more` is a second spelling of the path. */
static const struct endpoint_record {
	const char *path, *more;
	bool is_mounted; /* below the prefix of a mount */
	unsigned methods;
	const char *allow;
} endpoints[] = {
	[ENDPOINT_MCP] = { "/mcp", "/mcp/", true,
	                   1U << HTTP_GET | 1U << HTTP_POST | 1U << HTTP_DELETE,
	                   "GET, POST, DELETE, OPTIONS" },
	[ENDPOINT_SSE] = { "/sse", "/sse/", true, 1U << HTTP_GET, "GET, OPTIONS" },
	[ENDPOINT_MESSAGES] = { "/messages/", "/messages", true, 1U << HTTP_POST, "POST, OPTIONS" },
	[ENDPOINT_HEALTH] = { "/healthz", NULL, false, 1U << HTTP_GET | 1U << HTTP_HEAD,
	                      "GET, HEAD, OPTIONS" },
	[ENDPOINT_READY] = { "/readyz", NULL, false, 1U << HTTP_GET | 1U << HTTP_HEAD,
	                     "GET, HEAD, OPTIONS" },
};

static bool find_endpoint(const char *path, bool is_mounted, enum endpoint *ret)
{
	for (size_t i = 0; i < ARRAY_LEN(endpoints); i++) {
		const struct endpoint_record *record = &endpoints[i];

		if (record->is_mounted != is_mounted)
			continue;
		if (strcmp(path, record->path) == 0 ||
		    (record->more != NULL && strcmp(path, record->more) == 0)) {
			*ret = (enum endpoint)i;
			return true;
		}
	}
	return false;
}

bool route_find(const struct mcp_http_config *config, const char *path, enum endpoint *ret,
                const struct mcp_http_mount **ret_mount)
{
	*ret_mount = NULL;
	if (find_endpoint(path, false, ret))
		return true;
	for (size_t i = 0; i < config->mount_count; i++) {
		const struct mcp_http_mount *mount = &config->mounts[i];
		size_t len = strlen(mount->prefix);

		if (strncmp(path, mount->prefix, len) == 0 &&
		    find_endpoint(path + len, true, ret)) {
			*ret_mount = mount;
			return true;
		}
	}
	return false;
}

const char *route_methods(enum endpoint endpoint)
{
	return endpoints[endpoint].allow;
}

bool route_has_method(enum endpoint endpoint, enum http_method method)
{
	return (endpoints[endpoint].methods & 1U << method) != 0;
}
