/* path.h - paths as the sandbox's user means them, opened without a way out of the root.
 *
 * "/" is the job's root and nothing is above it; a relative path starts in the workspace; symbolic
 * links are followed, but inside the root only (on the host a link that leads out of the root leads
 * nowhere). The kernel resolves the whole path in one call (openat2 with RESOLVE_IN_ROOT, on the
 * host RESOLVE_BENEATH, and RESOLVE_NO_MAGICLINKS). A check of our own before the open
 * could be raced: code in the sandbox may replace a directory by a link at any moment. Errors name
 * the path as the client wrote it. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/files/job.h"
#include "base/attr.h"

struct stat;

enum { PATH_NAME_MAX = 255, PATH_SHOW_SIZE = 256 };

/* Writes the path as one printable line, cut if it is long. Returns out. */
const char *path_show(struct view path, char out[PATH_SHOW_SIZE]);
/* Sets "notes.txt: No such file or directory" from errno. Returns -1. */
int path_error(struct view path, struct error *err);
/* Sets "notes.txt: is a directory, not a regular file". Returns -1. */
int path_not_file(struct view path, mode_t mode, struct error *err);

/* openat2(2) of a path as the client wrote it. Returns the descriptor or -1. */
MUST_CHECK int path_open(const struct job *job, struct view path, int flags, mode_t mode,
                         struct error *err);

/* Opens a regular file for reading; anything else (FIFO, device, directory) is an error. */
MUST_CHECK int path_open_file(const struct job *job, struct view path, struct error *err);
/* Opens a regular file with these flags; *ret is its fstat(). */
MUST_CHECK int path_open_regular(const struct job *job, struct view path, int flags, mode_t mode,
                                 struct stat *ret, struct error *err);
MUST_CHECK int path_open_directory(const struct job *job, struct view path, struct error *err);

/* The directory that a path is or would be in, and its name there. With `follow`, a name that is a
 * symbolic link is replaced by its target, up to 40 times, also if nothing is there yet. Slashes at
 * the end do not count. Refuses "/", "." and "..", which are no name in a directory. */
struct path_parent {
	int dir; /* the caller closes it */
	char name[PATH_NAME_MAX + 1];
};
MUST_CHECK int path_parent(const struct job *job, struct view path, bool follow,
                           struct path_parent *ret, struct error *err);

bool path_ends_in_slash(struct view path);

/* Creates the missing directories above the path, with mode 0777 less the umask. */
MUST_CHECK int path_make_parents(const struct job *job, struct view path, struct error *err);
/* Creates the directory `path` and the missing ones above it, like path_make_parents(). */
MUST_CHECK int path_make_directories(const struct job *job, struct view path, struct error *err);
