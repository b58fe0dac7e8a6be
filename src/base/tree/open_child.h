/* open_child.h - walking a tree somebody else may be changing: one step down, one step up.
 *
 * No link is followed and no mount crossed, whatever is put in the way meanwhile. */
#pragma once

/* openat2(2) of what is in `at` under this name; O_CLOEXEC, O_NOFOLLOW and O_NONBLOCK go
 * without saying. Returns the descriptor, or -1 and errno: ELOOP or ENOTDIR for a
 * link, EXDEV for a mount. */
int open_child(int at, const char *name, int flags);
/* The directory `at` is in. Only the caller can know whether it is the one it came from. */
int open_parent(int at);
