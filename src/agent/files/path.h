/* path.h - paths as the sandbox's user means them.
 *
 * "/" is the job's root and nothing is above it; a relative path starts in the workspace;
 * symbolic links are followed, but inside only. The kernel does the walking
 * (openat2: RESOLVE_IN_ROOT, RESOLVE_NO_MAGICLINKS), so there is no check that could be
 * raced. Errors name the path as the client wrote it. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/files/job.h"
#include "base/attr.h"

struct stat;

enum { PATH_NAME_MAX = 255, PATH_SHOW_SIZE = 256 };

/* A path for people: one printable line, cut if it is long. Returns out. */
const char *path_show(struct view path, char out[PATH_SHOW_SIZE]);
/* "notes.txt: No such file or directory", from errno. Returns -1. */
int path_error(struct view path, struct error *err);
/* "notes.txt: is a directory, not a regular file". Returns -1. */
int path_not_file(struct view path, mode_t mode, struct error *err);

/* openat2(2) of a path as the client wrote it. Returns the descriptor or -1. */
MUST_CHECK int path_open(const struct job *job, struct view path, int flags, mode_t mode,
                         struct error *err);

/* A regular file for reading; anything else (FIFO, device, directory) is an error. */
MUST_CHECK int path_open_file(const struct job *job, struct view path, struct error *err);
/* The same with flags of one's own, and what it is. */
MUST_CHECK int path_open_regular(const struct job *job, struct view path, int flags, mode_t mode,
                                 struct stat *ret, struct error *err);
MUST_CHECK int path_open_directory(const struct job *job, struct view path, struct error *err);

/* Where something with this path is or would be: the directory it is in (a descriptor) and
 * its name there. `follow`: if the name is a symbolic link, where that leads (at most 40 of
 * them), also when nothing is there yet. Slashes at the end do not count. Refuses "/", "."
 * and "..": they are no name in a directory. */
struct path_parent {
	int dir; /* the caller closes it */
	char name[PATH_NAME_MAX + 1];
};
MUST_CHECK int path_parent(const struct job *job, struct view path, bool follow,
                           struct path_parent *ret, struct error *err);

bool path_ends_in_slash(struct view path);

/* Makes the directories above path that are missing. */
MUST_CHECK int path_make_parents(const struct job *job, struct view path, struct error *err);
/* The same and path itself, with this mode (less the umask). Says how many were missing. */
MUST_CHECK int path_make_directories(const struct job *job, struct view path, mode_t mode,
                                     uint64_t *ret_made, struct error *err);
