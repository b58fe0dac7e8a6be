#include "mcp/revision.h"

#include <string.h>

#include "base/attr.h"

static const char *const names[] = {
#define X(id, name) [id] = name,
	MCP_REVISIONS(X)
#undef X
};

static const struct span {
	enum mcp_revision first, last;
} features[] = {
	[MCP_BATCHES] = { MCP_2024_11_05, MCP_2025_03_26 },
	[MCP_ANNOTATIONS] = { MCP_2025_03_26, MCP_2026_07_28 },
	[MCP_AUDIO] = { MCP_2025_03_26, MCP_2026_07_28 },
	[MCP_COMPLETIONS] = { MCP_2025_03_26, MCP_2026_07_28 },
	[MCP_PROGRESS_MESSAGES] = { MCP_2025_03_26, MCP_2026_07_28 },
	[MCP_TITLES] = { MCP_2025_06_18, MCP_2026_07_28 },
	[MCP_STRUCTURED] = { MCP_2025_06_18, MCP_2026_07_28 },
	[MCP_LINKS] = { MCP_2025_06_18, MCP_2026_07_28 },
	[MCP_FORMS] = { MCP_2025_06_18, MCP_2026_07_28 },
	[MCP_PAGES] = { MCP_2025_11_25, MCP_2026_07_28 },
	[MCP_PAGE_ERRORS] = { MCP_2025_11_25, MCP_2025_11_25 },
	[MCP_TASK_EXPERIMENT] = { MCP_2025_11_25, MCP_2025_11_25 },
	[MCP_ICONS] = { MCP_2025_11_25, MCP_2026_07_28 },
	[MCP_STATELESS] = { MCP_2026_07_28, MCP_2026_07_28 },
};
_Static_assert(ARRAY_LEN(features) == MCP_FEATURE_COUNT, "a span for each feature");

const char *mcp_revision_name(enum mcp_revision revision)
{
	return names[revision];
}

bool mcp_revision_find(const char *name, enum mcp_revision *ret)
{
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (strcmp(names[i], name) != 0)
			continue;
		*ret = (enum mcp_revision)i;
		return true;
	}
	return false;
}

bool mcp_revision_has(enum mcp_revision revision, enum mcp_feature feature)
{
	return revision >= features[feature].first && revision <= features[feature].last;
}

bool mcp_revision_is_stateless(const char *name)
{
	return strcmp(name, names[MCP_FIRST_STATELESS]) >= 0;
}
