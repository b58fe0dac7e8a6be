/* host_path.h - paths of the host as texts: nothing here looks at a disk.
 *
 * Which directory a path belongs to is decided by its letters. What is on the way below that
 * directory, links too, is for the agent there to find out, and it never leaves it. */
#pragma once
#include <stdbool.h>

#include "base/attr.h"
#include "sandbox/porter/host_wire.h"

struct error;

/* Absolute, each name once, no '.' and no slash at the end. Refuses '..': what it means depends on
 * links. */
MUST_CHECK int host_path_normal(const char *path, char ret[HOST_PATH_SIZE], struct error *err);

/* May this normal path be given away at all? Not the root, not what the kernel shows of itself, and
 * nothing that holds, or is in, the state directory. */
MUST_CHECK int host_path_check(const char *path, const char *state, struct error *err);

/* Is it the directory or below it? What is left (without slash, "." for the directory itself), or
 * NULL. */
const char *host_path_below(const char *directory, const char *path);
