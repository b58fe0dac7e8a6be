#include "tools/support/tree_draw.h"

#include <stdio.h>
#include <string.h>

unsigned tree_depth(struct view path)
{
	unsigned depth = 1;

	for (size_t i = 0; i < path.len; i++)
		depth += path.ptr[i] == '/';
	return depth < TREE_DEPTH_MAX ? depth : TREE_DEPTH_MAX;
}

/* From the end: a node is the last of its directory if no sibling was met since the list left the
 * directory above. */
void tree_mark_last(struct tree_node *nodes, size_t count)
{
	bool met[TREE_DEPTH_MAX + 2] = { false };

	for (size_t i = count; i-- > 0;) {
		unsigned depth = nodes[i].depth;

		nodes[i].is_last = !met[depth];
		met[depth] = true;
		for (unsigned deeper = depth + 1; deeper <= TREE_DEPTH_MAX; deeper++)
			met[deeper] = false;
	}
}

const char *tree_prefix(struct tree_lines *lines, const struct tree_node *node,
                        char out[TREE_PREFIX_SIZE])
{
	size_t used = 0;

	for (unsigned above = 1; above < node->depth; above++)
		used += (size_t)snprintf(out + used, TREE_PREFIX_SIZE - used, "%s",
		                         lines->open[above] ? "│   " : "    ");
	(void)snprintf(out + used, TREE_PREFIX_SIZE - used, "%s", node->is_last ? "└── " : "├── ");
	lines->open[node->depth] = !node->is_last;
	return out;
}
