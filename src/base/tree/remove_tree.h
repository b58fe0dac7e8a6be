/* remove_tree.h - removes a directory tree of any depth and width.
 *
 * The tree may belong to a sandboxed program that renames directories while they are removed. The
 * walk uses descriptors, never paths, and follows no symbolic link, so nothing outside the tree
 * is removed. A few descriptors are open at a time (see dir_stack.h). Mount points are an error
 * and are left alone. Directories that belong to the caller's user get mode 0700 first. */
#pragma once
#include <stdint.h>

#include "base/attr.h"
#include "base/view.h"

struct error;

enum { REMOVE_DEPTH_MAX = 1024 * 1024 }; /* levels; each takes 32 bytes of memory */

/* Removes the directory `name` in the directory `parent`. Errors name it as `path`. *ret_count is
 * the number of removed entries, the directory itself included. */
MUST_CHECK int remove_tree(int parent, const char *name, struct view path, uint64_t *ret_count,
                           struct error *err);
