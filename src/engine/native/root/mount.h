/* mount.h - the kernel's mount calls, as functions that say what failed.
 *
 * A mount is a descriptor first and gets its place last, so that no path is looked up twice. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"

struct error;

/* A new file system, not attached. `options`: "key=value,flag" or NULL. */
MUST_CHECK int mount_new(const char *type, const char *options, uint32_t attrs, struct error *err);
/* What is at `path` below `dir` (-1: an absolute path; "": `dir` itself), once more. */
MUST_CHECK int mount_copy(int dir, const char *path, bool recursive, uint32_t attrs,
                          struct error *err);
MUST_CHECK int mount_attach(int mount, int dir, const char *path, struct error *err);
MUST_CHECK int mount_set(int mount, bool recursive, uint32_t attrs, struct error *err);
/* `dir` becomes the root; the one before is let go. */
MUST_CHECK int mount_become_root(int dir, struct error *err);
