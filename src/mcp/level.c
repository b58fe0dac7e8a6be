#include "mcp/level.h"

#include <string.h>

#include "base/attr.h"

static const char *const names[] = {
#define X(id, name) name,
	MCP_LEVELS(X)
#undef X
};

const char *mcp_level_name(enum mcp_level level)
{
	return names[level];
}

bool mcp_level_find(const char *name, enum mcp_level *ret)
{
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (strcmp(names[i], name) != 0)
			continue;
		*ret = (enum mcp_level)i;
		return true;
	}
	return false;
}
