/* move.h - a rename that replaces nothing, also where the file system has none. */
#pragma once
#include "base/attr.h"

/* rename(2) to a name that must be free: EEXIST if it is not. Where the kernel cannot tell by
 * itself, the file gets a second name, which replaces nothing either, and loses the first. What
 * can have one name only (directories; anything, on some file systems) is renamed after a look:
 * there a latecomer may be replaced. Returns 0, or -1 and errno. */
MUST_CHECK int move_to_free(int from_dir, const char *from, int to_dir, const char *to);
