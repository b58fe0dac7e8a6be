/* tree_draw.h - a list of paths, depth first, as a tree drawn with lines. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/view.h"

enum { TREE_DEPTH_MAX = 16, TREE_PREFIX_SIZE = TREE_DEPTH_MAX * 10 + 1 };

struct tree_node {
	unsigned depth; /* 1: directly below the root */
	bool is_last;   /* of its directory, as far as the list goes */
};

/* Which lines go on below a node: all zero at the start. */
struct tree_lines {
	bool open[TREE_DEPTH_MAX + 1];
};

unsigned tree_depth(struct view path);
void tree_mark_last(struct tree_node *nodes, size_t count);
/* What is drawn in front of the node's name; nodes are drawn in order. Returns out. */
const char *tree_prefix(struct tree_lines *lines, const struct tree_node *node,
                        char out[TREE_PREFIX_SIZE]);
