/* path.h - paths as the sandbox's user means them.
 *
 * "/" is the job's root and nothing is above it; a relative path starts in the workspace;
 * symbolic links are followed, but inside only. The kernel does the walking
 * (openat2: RESOLVE_IN_ROOT, RESOLVE_NO_MAGICLINKS), so there is no check that could be
 * raced. Errors name the path as the client wrote it. */
#pragma once
#include <stddef.h>
#include <sys/types.h>

#include "agent/job.h"
#include "base/attr.h"

enum { PATH_NAME_MAX = 255 };

/* open(2) with O_CLOEXEC, O_NOCTTY and O_NONBLOCK added. Returns the descriptor or -1. */
MUST_CHECK int path_open(const struct job *job, struct view path, int flags, mode_t mode,
                         struct error *err);

/* A regular file for reading; anything else (FIFO, device, directory) is an error. */
MUST_CHECK int path_open_file(const struct job *job, struct view path, struct error *err);
MUST_CHECK int path_open_directory(const struct job *job, struct view path, struct error *err);

/* Where something with this path is or would be: the directory it is in (a descriptor) and
 * its name there. `follow`: if the name is a symbolic link, where that leads (at most 40 of
 * them), also when nothing is there yet. Refuses "/", "." and "..". */
struct path_place {
	int dir; /* the caller closes it */
	char name[PATH_NAME_MAX + 1];
};
MUST_CHECK int path_place(const struct job *job, struct view path, bool follow,
                          struct path_place *ret, struct error *err);

/* Makes the directories above path that are missing. */
MUST_CHECK int path_make_parents(const struct job *job, struct view path, struct error *err);
