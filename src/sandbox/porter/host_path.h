/* host_path.h - paths of the host as text. Nothing here accesses a file.
 *
 * The text alone decides which allowed directory a path belongs to. Symbolic links below that
 * directory are resolved by the agent there, which never leaves it. */
#pragma once
#include "base/attr.h"

struct error;

enum { HOST_PATH_SIZE = 4096 }; /* terminator included */

/* Makes a path absolute text without '.', double slashes and a slash at its end. Refuses '..':
 * behind a symbolic link it is not the directory that the text suggests. */
MUST_CHECK int host_path_normal(const char *path, char ret[HOST_PATH_SIZE], struct error *err);

/* Fails if this normal path must not be allowed: the root directory, /proc, /sys and /dev, and a
 * directory that contains, or is in, the state directory (NULL: not known). */
MUST_CHECK int host_path_check(const char *path, const char *state, struct error *err);

/* The part of the path below the directory, "." for the directory itself; NULL if it is not. */
const char *host_path_below(const char *directory, const char *path);

/* Fails if a client must not declare this real path as its root, because the path is, contains or
 * is in a directory of the system. */
MUST_CHECK int host_path_check_root(const char *path, struct error *err);
/* Fails if the path is, contains or is in a place of this home directory that holds keys or starts
 * programs, as ~/.ssh; so a home directory itself cannot be a root. */
MUST_CHECK int host_path_check_home(const char *path, const char *home, struct error *err);
