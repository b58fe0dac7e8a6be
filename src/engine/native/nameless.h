/* nameless.h - files that have no name (any more) but are held open or mapped: they take room on
 * the disk or in memory, and no walk through directories finds them. */
#pragma once
#include <sys/types.h>

#include "engine/native/disk.h"

/* Those the process and its descendants hold on file systems of this type (OVERLAYFS_SUPER_MAGIC,
 * TMPFS_MAGIC). `proc`: one that shows them, to somebody who may look. */
struct disk_use nameless_files(int proc, pid_t pid, unsigned long type);
