/* cdi_check.h - what a path, a name or a variable of a device's description may be. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"
#include "base/view.h"

struct error;

/* Absolute, already clean ("..", "." and "//" are in no part of it, no "/" at its end), without
 * control characters, at most CDI_PATH_MAX bytes of UTF-8. */
MUST_CHECK int cdi_check_path(const char *path, struct error *err);

/* Where a device node may appear: below /dev, not in the place of what we put there. */
MUST_CHECK int cdi_check_node(const char *path, const char *host_path, struct error *err);

/* Where a file may appear. *ret_left_out: nowhere, but that is no reason to refuse the rest. */
MUST_CHECK int cdi_check_mount(const char *path, const char *host_path, bool *ret_left_out,
                               struct error *err);

/* NAME=value, for a name that does not steer the loader, the shell or an interpreter. */
MUST_CHECK int cdi_check_env(const char *entry, struct error *err);

/* A directory the loader may be sent to: the list it goes into has separators. */
MUST_CHECK int cdi_check_folder(const char *path, struct error *err);

/* vendor.com/class, and the name of one device. */
MUST_CHECK int cdi_check_kind(const char *kind, struct error *err);
MUST_CHECK int cdi_check_name(const char *name, struct error *err);
