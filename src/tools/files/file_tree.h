/* file_tree.h - draws the entries of a TREE reply, which come depth first, as a tree of lines.
 *
 *   file_tree_init -> file_tree_prefix for each entry, in order -> file_tree_done */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "wire/message.h"

enum {
	FILE_TREE_DEPTH_MAX = 32,
	FILE_TREE_PREFIX_SIZE = FILE_TREE_DEPTH_MAX * 10 + 1, /* four columns a level, in UTF-8 */
};

struct file_tree {
	const struct wire_entry *entries;
	bool *is_last;                      /* for each entry: the last one of its directory */
	bool open[FILE_TREE_DEPTH_MAX + 1]; /* the line at this depth goes on below */
};

/* The entries must outlive the tree. */
void file_tree_init(struct file_tree *tree, const struct wire_entry *entries, size_t count);
void file_tree_done(struct file_tree *tree);
/* The lines in front of entry `i`. Returns out. */
const char *file_tree_prefix(struct file_tree *tree, size_t i, char out[FILE_TREE_PREFIX_SIZE]);
/* The part of an entry's path behind its last slash. */
struct view file_tree_name(const struct wire_entry *entry);
