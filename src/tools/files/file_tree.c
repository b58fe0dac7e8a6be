#include "tools/files/file_tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* 1: directly below the directory. */
static unsigned depth_of(const struct wire_entry *entry)
{
	unsigned depth = 1;

	for (size_t i = 0; i < entry->path.len; i++)
		depth += entry->path.ptr[i] == '/';
	return depth < FILE_TREE_DEPTH_MAX ? depth : FILE_TREE_DEPTH_MAX;
}

/* The list is depth first, so it is read from its end: an entry is the last of its directory if no
 * sibling came since the list left that directory. */
void file_tree_init(struct file_tree *tree, const struct wire_entry *entries, size_t count)
{
	bool has_sibling[FILE_TREE_DEPTH_MAX + 2] = { false };

	*tree = (struct file_tree){ .entries = entries,
		                    .is_last = mem_array(count + 1, sizeof *tree->is_last) };
	for (size_t i = count; i-- > 0;) {
		unsigned depth = depth_of(&entries[i]);

		tree->is_last[i] = !has_sibling[depth];
		has_sibling[depth] = true;
		for (unsigned deeper = depth + 1; deeper <= FILE_TREE_DEPTH_MAX; deeper++)
			has_sibling[deeper] = false;
	}
}

void file_tree_done(struct file_tree *tree)
{
	free(tree->is_last);
	tree->is_last = NULL;
}

const char *file_tree_prefix(struct file_tree *tree, size_t i, char out[FILE_TREE_PREFIX_SIZE])
{
	unsigned depth = depth_of(&tree->entries[i]);
	size_t used = 0;

	for (unsigned above = 1; above < depth; above++)
		used += (size_t)snprintf(out + used, FILE_TREE_PREFIX_SIZE - used, "%s",
		                         tree->open[above] ? "│   " : "    ");
	(void)snprintf(out + used, FILE_TREE_PREFIX_SIZE - used, "%s",
	               tree->is_last[i] ? "└── " : "├── ");
	tree->open[depth] = !tree->is_last[i];
	return out;
}

struct view file_tree_name(const struct wire_entry *entry)
{
	const struct view path = entry->path;
	const char *slash = memrchr(path.ptr, '/', path.len);
	size_t above = slash != NULL ? (size_t)(slash - path.ptr) + 1 : 0;

	return (struct view){ path.ptr + above, path.len - above };
}
