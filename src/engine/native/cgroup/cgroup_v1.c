/* cgroup_v1.c - version 1: each controller is mounted on its own, or two of them together. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "engine/native/cgroup/internal.h"

/* The buffers of sockets may take a quarter of the memory limit, in addition to that limit. */
#define SOCKET_LIMIT "memory.kmem.tcp.limit_in_bytes"
enum { SOCKET_SHARE = 4 };

/* A mounted controller may lack a limit that the kernel was built without; its file is then
 * missing. */
static const struct controller {
	const char *file;
	unsigned bit;
} controllers[V1_COUNT] = {
	[V1_MEMORY] = { "memory.limit_in_bytes", CGROUP_HAS_MEMORY },
	[V1_PIDS] = { "pids.max", CGROUP_HAS_PIDS },
	[V1_CPU] = { "cpu.cfs_quota_us", CGROUP_HAS_CPU },
	[V1_CPUACCT] = { "cpuacct.usage", 0 },
	[V1_FREEZER] = { "freezer.state", 0 },
};

/* True if the controller is still needed. Every cgroup of version 2 has cgroup.freeze and cpu.stat,
 * also without controllers, so that cpuacct and the freezer are only needed without version 2. */
static bool is_wanted(const struct cgroups *all, size_t i)
{
	if (i == V1_CPUACCT || i == V1_FREEZER)
		return all->unified < 0 ||
		       !cgroup_has_file(all->unified,
		                        i == V1_FREEZER ? "cgroup.freeze" : "cpu.stat");
	return (all->has & controllers[i].bit) == 0;
}

/* Our own cgroup in the hierarchy. The type of the file system is checked because another
 * file system may be mounted over the path by now. */
static int open_own_cgroup(const struct cgroup_hierarchy *tree)
{
	struct statfs fs;
	AUTO_FD int mount_point = cgroup_open_dir(AT_FDCWD, tree->mount_point);

	if (mount_point < 0)
		return -1;
	if (fstatfs(mount_point, &fs) < 0 || fs.f_type != CGROUP_SUPER_MAGIC) {
		errno = ENOTDIR;
		return -1;
	}
	return cgroup_open_dir(mount_point, tree->own_path[0] != '\0' ? tree->own_path : ".");
}

bool cgroup_v1_is_shared(const struct cgroups *all, size_t controller)
{
	struct stat one, other; /* each hierarchy is a file system with a device number */

	if (fstat(all->v1_parent[controller], &one) < 0)
		return false;
	for (size_t i = 0; i < controller; i++)
		if (all->v1[i] >= 0 && fstat(all->v1_parent[i], &other) == 0 &&
		    one.st_dev == other.st_dev)
			return true;
	return false;
}

static void close_controller(struct cgroups *all, size_t i)
{
	if (!cgroup_v1_is_shared(all, i))
		(void)cgroup_remove_dir(all->v1_parent[i], all->name);
	cleanup_fd(&all->v1[i]);
	cleanup_fd(&all->v1_parent[i]);
	all->v1[i] = all->v1_parent[i] = -1;
}

static void open_controller(struct cgroups *all, const struct cgroup_hierarchy *tree, size_t i,
                            struct cgroup_reason *why)
{
	all->v1_parent[i] = open_own_cgroup(tree);
	if (all->v1_parent[i] >= 0)
		all->v1[i] = cgroup_create_dir(all->v1_parent[i], all->name);
	if (all->v1[i] < 0) {
		cgroup_reason_set(why, "no cgroup can be created for version 1's %s: %s: %s",
		                  cgroup_v1_names[i], strerror(errno),
		                  geteuid() != 0 ? "start belljar as root, or boot with version 2"
		                                 : "mount it writable");
		cleanup_fd(&all->v1_parent[i]);
		all->v1_parent[i] = -1;
		return;
	}
	if (!cgroup_has_file(all->v1[i], controllers[i].file)) {
		cgroup_reason_set(why, "the kernel was built without %s", controllers[i].file);
		close_controller(all, i);
		return;
	}
	all->has |= controllers[i].bit;
	if (i == V1_MEMORY && cgroup_has_file(all->v1[i], "memory.memsw.limit_in_bytes"))
		all->has |= CGROUP_HAS_SWAP;
	if (i == V1_MEMORY && cgroup_has_file(all->v1[i], SOCKET_LIMIT))
		all->has |= CGROUP_HAS_SOCKETS;
}

void cgroup_v1_open(struct cgroups *all, const struct cgroup_hierarchies *trees,
                    struct cgroup_reason *why)
{
	for (size_t i = 0; i < V1_COUNT; i++)
		if (trees->v1[i].score != 0 && is_wanted(all, i))
			open_controller(all, &trees->v1[i], i, why);
}

/* Closes the controllers in reverse order: of two controllers that share a directory the first one
 * removes it, and must be closed last. */
void cgroup_v1_close(struct cgroups *all)
{
	for (size_t i = V1_COUNT; i-- != 0;)
		if (all->v1[i] >= 0)
			close_controller(all, i);
}

/* --- the limits of one sandbox --- */

static int set_limit(const struct cgroup *group, enum cgroup_v1 controller, const char *file,
                     uint64_t value, struct error *err)
{
	if (cgroup_write_number(group->v1[controller], file, value) < 0)
		return error_sys(err, "set %s of cgroup %s to %" PRIu64, file, group->id, value);
	return 0;
}

static int limit_memory(const struct cgroup *group, const struct spec_limits *limits,
                        struct error *err)
{
	uint64_t swap = limits->swap < UINT64_MAX - limits->memory ? limits->swap : 0;
	bool is_set, is_raised;

	/* The memory limit of version 1 does not count buffers of TCP and UDP sockets. They have a
	 * limit of their own, and are counted only if it is set. */
	if ((group->in->has & CGROUP_HAS_SOCKETS) &&
	    set_limit(group, V1_MEMORY, SOCKET_LIMIT, limits->memory / SOCKET_SHARE, err) < 0)
		return -1;
	/* The order matters: the kernel refuses (EINVAL) a memsw limit, which is memory plus swap,
	 * below the memory limit. Both begin without a limit, so a new cgroup gets the memory limit
	 * first; one whose limits are raised gets the memsw limit first. */
	is_set = cgroup_write_number(group->v1[V1_MEMORY], "memory.limit_in_bytes",
	                             limits->memory) == 0;
	is_raised = !is_set && errno == EINVAL;
	if ((is_set || is_raised) && (group->in->has & CGROUP_HAS_SWAP) &&
	    set_limit(group, V1_MEMORY, "memory.memsw.limit_in_bytes", limits->memory + swap, err) <
	            0)
		return -1;
	if (!is_set &&
	    set_limit(group, V1_MEMORY, "memory.limit_in_bytes", limits->memory, err) < 0)
		return -1;
	if (group->in->has & CGROUP_HAS_SWAP)
		return 0;
	/* Without swap accounting there is no limit. A swappiness of 0 makes the kernel avoid swap
	 * as long as it can. */
	if (swap == 0)
		(void)cgroup_write(group->v1[V1_MEMORY], "memory.swappiness", "0");
	return 0;
}

static int limit_cpu(const struct cgroup *group, const struct spec_limits *limits,
                     struct error *err)
{
	uint64_t quota = limits->cpu * (CGROUP_CPU_PERIOD_US / 1000);

	if (set_limit(group, V1_CPU, "cpu.cfs_period_us", CGROUP_CPU_PERIOD_US, err) < 0)
		return -1;
	/* EINVAL: a parent cgroup has a smaller quota, which limits this one as well. */
	if (set_limit(group, V1_CPU, "cpu.cfs_quota_us", quota, err) < 0 && err->errnum != EINVAL)
		return -1;
	return 0;
}

int cgroup_v1_limit(const struct cgroup *group, const struct spec_limits *limits, struct error *err)
{
	if (group->v1[V1_MEMORY] >= 0 && limit_memory(group, limits, err) < 0)
		return -1;
	if (group->v1[V1_PIDS] >= 0 && set_limit(group, V1_PIDS, "pids.max", limits->pids, err) < 0)
		return -1;
	if (group->v1[V1_CPU] >= 0 && limit_cpu(group, limits, err) < 0)
		return -1;
	return 0;
}
