/* remove_tree.h - a directory and everything in it, however deep or wide it is.
 *
 * Goes down and up by descriptors, never by paths, and follows no link, so whatever is renamed
 * meanwhile, nothing outside is removed. A few descriptors stay open; of levels
 * further up only the inode is remembered, to know them again on the way back. Mounts are
 * left alone. Directories of the user's own are made accessible first. */
#pragma once
#include <stdint.h>

#include "agent/path.h"
#include "base/attr.h"

struct error;

enum { REMOVE_DEPTH_MAX = 1024 * 1024 }; /* eight bytes of memory each */

/* path: as the client wrote it, for errors. Says how many entries are gone, itself included. */
MUST_CHECK int remove_tree(const struct path_place *place, struct view path, uint64_t *ret_count,
                           struct error *err);
