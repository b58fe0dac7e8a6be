/* open_child.h - walking a tree somebody else may be changing: one step down, one step up.
 *
 * No link is followed and no mount crossed, whatever is put in the way meanwhile. */
#pragma once
#include <sys/types.h>

/* openat2(2) with O_CLOEXEC, and with O_NOCTTY and O_NONBLOCK unless flags has O_PATH. EAGAIN and
 * EINTR are retried. `mode` counts with O_CREAT only; `resolve` is RESOLVE_* of linux/openat2.h.
 * Returns the descriptor, or -1 and errno. */
int open_resolved(int at, const char *name, int flags, mode_t mode, unsigned resolve);

/* openat2(2) of what is in `at` under this name; O_CLOEXEC, O_NOFOLLOW and O_NONBLOCK go
 * without saying. Returns the descriptor, or -1 and errno: ELOOP or ENOTDIR for a
 * link, EXDEV for a mount. */
int open_child(int at, const char *name, int flags);
/* The directory `at` is in. Only the caller can know whether it is the one it came from. */
int open_parent(int at);
