#include "mcp/caller.h"

#include <string.h>

#include "base/attr.h"

static const struct {
	enum mcp_scope scope;
	const char *name;
} scopes[] = {
	{ MCP_SCOPE_RUN, "run" },
	{ MCP_SCOPE_FILES, "files" },
	{ MCP_SCOPE_ADMIN, "admin" },
};

const char *mcp_scope_name(enum mcp_scope scope)
{
	for (size_t i = 0; i < ARRAY_LEN(scopes); i++)
		if (scopes[i].scope == scope)
			return scopes[i].name;
	return "";
}

bool mcp_scope_find(const char *name, enum mcp_scope *ret)
{
	for (size_t i = 0; i < ARRAY_LEN(scopes); i++) {
		if (strcmp(scopes[i].name, name) != 0)
			continue;
		*ret = scopes[i].scope;
		return true;
	}
	return false;
}
