/* landlock.h - a Landlock ruleset, see landlock(7).
 *
 * landlock_open() creates a ruleset that denies every file right the kernel knows, landlock_allow()
 * adds directories with the rights that remain there, landlock_enforce() binds the calling process
 * and all its descendants for good; the process must have set no_new_privs. The owner closes the
 * ruleset, by AUTO_LANDLOCK or landlock_close(); an enforced ruleset stays in force.
 *
 * On a kernel without Landlock, or with version 1 of it, which could not allow renames between
 * directories, `ruleset` is -1 and all calls succeed without effect: the caller decides whether
 * that is enough. */
#pragma once
#include <stdint.h>

#include "base/attr.h"

struct error;

/* Rights as in <linux/landlock.h>. The installed header may be older than those of versions 2
 * to 5. */
enum landlock_right {
	LANDLOCK_EXECUTE = 1 << 0,
	LANDLOCK_WRITE_FILE = 1 << 1,
	LANDLOCK_READ_FILE = 1 << 2,
	LANDLOCK_READ_DIR = 1 << 3,
	LANDLOCK_REMOVE_FILE = 1 << 5,
	LANDLOCK_MAKE_CHAR = 1 << 6,
	LANDLOCK_MAKE_REG = 1 << 8,
	LANDLOCK_MAKE_SOCK = 1 << 9,
	LANDLOCK_MAKE_FIFO = 1 << 10,
	LANDLOCK_MAKE_BLOCK = 1 << 11,
	LANDLOCK_TRUNCATE = 1 << 14,  /* version 3: truncate(), and open() with O_TRUNC */
	LANDLOCK_IOCTL_DEV = 1 << 15, /* version 5: ioctl() on a device */
	LANDLOCK_ALL = (1 << 16) - 1,
};

struct landlock {
	int ruleset;     /* -1: none */
	uint64_t denied; /* the rights that the ruleset denies by default */
};

/* The version of Landlock's interface; below 1 there is none, and errno says why. */
long landlock_version(void);

MUST_CHECK int landlock_open(struct landlock *ret, struct error *err);
/* The ruleset also denies what reaches other processes, as far as the kernel can: binding and
 * connecting TCP sockets (version 4), sockets of the abstract namespace that were made outside and
 * signals to processes outside (version 6). */
MUST_CHECK int landlock_open_isolated(struct landlock *ret, struct error *err);
void landlock_close(struct landlock *landlock);
#define AUTO_LANDLOCK CLEANUP(landlock_close)

/* Allows `rights`, as far as the ruleset denies them, on `fd` (O_PATH is enough) and below it. A
 * file takes none of the rights that only directories have. */
MUST_CHECK int landlock_allow(const struct landlock *landlock, int fd, uint64_t rights,
                              struct error *err);
MUST_CHECK int landlock_allow_path(const struct landlock *landlock, const char *path,
                                   uint64_t rights, struct error *err);

MUST_CHECK int landlock_enforce(const struct landlock *landlock, struct error *err);
