/* remove_tree.h - a directory and everything in it, however deep or wide it is.
 *
 * Goes down and up by descriptors, never by paths, and follows no link, so whatever is renamed
 * meanwhile, nothing outside is removed. A few descriptors stay open; of levels
 * further up only inode and position are remembered, to know them again on the way back. Mounts
 * are left alone. Directories of the user's own are made accessible first. */
#pragma once
#include <stdint.h>

#include "base/attr.h"
#include "base/view.h"

struct error;

enum { REMOVE_DEPTH_MAX = 1024 * 1024 }; /* sixteen bytes of memory each */

/* The directory `name` in `parent`; path: how errors are to call it. Says how many entries are
 * gone, itself included. */
MUST_CHECK int remove_tree(int parent, const char *name, struct view path, uint64_t *ret_count,
                           struct error *err);
