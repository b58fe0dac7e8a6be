/* nameless.h - files that have no name (any more) but are held open or mapped: they take room on
 * the disk or in memory, and no walk through directories finds them.
 *
 * Of what is open the size is known. Of what is mapped and open nowhere only root of the host is
 * told it; others see how far into the file it is mapped, and so much counts, written or not.
 * Nobody sees what was written behind that, nor what is under way in a socket. */
#pragma once
#include <sys/types.h>

#include "engine/native/usage/disk.h"

struct nameless_where {
	unsigned long type; /* of file system: OVERLAYFS_SUPER_MAGIC, TMPFS_MAGIC */
	/* The device below an overlay: some kernels say that a file is mapped from there. 0: what
	 * is mapped counts only if its size is known. */
	dev_t below;
};

/* Those the process and its descendants hold. `proc`: one that shows them, to somebody who may
 * look. If they are more than can be looked at in a moment, that is more than any limit. */
struct disk_use nameless_files(int proc, pid_t pid, const struct nameless_where *where);
