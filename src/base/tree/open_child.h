/* open_child.h - opens entries of a directory tree that other processes may be changing.
 *
 * open_child() and open_child_dir() follow no symbolic link and cross no mount point, so a
 * sandboxed program that swaps a directory for a link cannot lead the caller out of the tree. */
#pragma once
#include <sys/stat.h>
#include <sys/types.h>

/* openat2(2) with O_CLOEXEC, and with O_NOCTTY and O_NONBLOCK unless flags has O_PATH. EAGAIN and
 * EINTR are retried. `mode` counts with O_CREAT only; `resolve` is RESOLVE_* of linux/openat2.h.
 * Returns the descriptor, or -1 and errno. */
int open_resolved(int at, const char *name, int flags, mode_t mode, unsigned resolve);

/* Opens the entry `name` of the directory `at`, with O_CLOEXEC, O_NOFOLLOW, O_NOCTTY and
 * O_NONBLOCK added to the flags. Returns the descriptor, or -1 and errno: ELOOP or ENOTDIR for a
 * symbolic link, EXDEV for a mount point. */
int open_child(int at, const char *name, int flags);
/* Opens the directory `name` of the directory `at` for reading, and *ret is its fstat(2). If it
 * belongs to the caller's user, it gets the permission bits `need` first: its owner may have
 * removed them to hide what is in it. */
int open_child_dir(int at, const char *name, mode_t need, struct stat *ret);
