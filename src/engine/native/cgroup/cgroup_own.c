/* cgroup_own.c - the limits of the cgroup that belljar was started in, such as a container's. */
#include <fcntl.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/num.h"
#include "engine/native/cgroup/internal.h"

/* UINT64_MAX if no cgroup has a limit: fd_read_number() returns it for "max" too. */
static uint64_t read_tree(const struct cgroup_hierarchy *tree, const char *file)
{
	AUTO_FD int mount_point = tree->score != 0 ? cgroup_open_dir(AT_FDCWD, tree->mount_point)
	                                           : -1;
	uint64_t least = UINT64_MAX;
	char path[CGROUP_PATH_SIZE];

	if (mount_point < 0)
		return least;
	(void)snprintf(path, sizeof path, "%s", tree->own_path);
	do {
		AUTO_FD int dir = cgroup_open_dir(mount_point, path[0] != '\0' ? path : ".");

		if (dir >= 0)
			least = num_min(least, fd_read_number(dir, file));
	} while (cgroup_path_up(path));
	return least;
}

uint64_t cgroup_own_limit_in(const struct cgroup_hierarchies *trees, unsigned limit)
{
	bool is_memory = limit == CGROUP_HAS_MEMORY;

	return num_min(read_tree(&trees->unified, is_memory ? "memory.max" : "pids.max"),
	               is_memory ? read_tree(&trees->v1[V1_MEMORY], "memory.limit_in_bytes")
	                         : read_tree(&trees->v1[V1_PIDS], "pids.max"));
}

void cgroup_own_limits(uint64_t *ret_memory, uint64_t *ret_pids)
{
	struct cgroup_hierarchies trees;

	cgroup_find_hierarchies("/proc/self/mountinfo", "/proc/self/cgroup", &trees);
	*ret_memory = cgroup_own_limit_in(&trees, CGROUP_HAS_MEMORY);
	*ret_pids = cgroup_own_limit_in(&trees, CGROUP_HAS_PIDS);
}
