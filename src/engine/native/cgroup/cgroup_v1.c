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

/* A controller is there if its file is. */
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

/* --- our directories --------------------------------------------------------------- */

/* The v2 tree, bare as it may be, counts processor time and freezes. */
static bool is_wanted(const struct cgroups *all, size_t i)
{
	if (i == V1_CPUACCT || i == V1_FREEZER)
		return all->unified < 0 ||
		       !cgroup_has_file(all->unified,
		                        i == V1_FREEZER ? "cgroup.freeze" : "cpu.stat");
	return (all->has & controllers[i].bit) == 0;
}

static int open_own(const struct cgroup_place *place)
{
	struct statfs fs;
	AUTO_FD int top = cgroup_dir(AT_FDCWD, place->top);

	if (top < 0)
		return -1;
	if (fstatfs(top, &fs) < 0 || fs.f_type != CGROUP_SUPER_MAGIC) {
		errno = ENOTDIR;
		return -1;
	}
	return cgroup_dir(top, place->below[0] != '\0' ? place->below : ".");
}

bool cgroup_v1_is_twin(const struct cgroups *all, size_t controller)
{
	struct stat one, other;

	if (fstat(all->v1_parent[controller], &one) < 0)
		return false;
	for (size_t i = 0; i < controller; i++)
		if (all->v1[i] >= 0 && fstat(all->v1_parent[i], &other) == 0 &&
		    one.st_dev == other.st_dev)
			return true;
	return false;
}

static void drop(struct cgroups *all, size_t i)
{
	if (!cgroup_v1_is_twin(all, i))
		(void)cgroup_drop_dir(all->v1_parent[i], all->name);
	cleanup_fd(&all->v1[i]);
	cleanup_fd(&all->v1_parent[i]);
	all->v1[i] = all->v1_parent[i] = -1;
}

static void open_one(struct cgroups *all, const struct cgroup_place *place, size_t i,
                     struct cgroup_reason *why)
{
	all->v1_parent[i] = open_own(place);
	if (all->v1_parent[i] >= 0)
		all->v1[i] = cgroup_make_dir(all->v1_parent[i], all->name);
	if (all->v1[i] < 0) {
		cgroup_reason(why, "no group can be made in version 1's %s: %s: %s",
		              cgroup_v1_words[i], strerror(errno),
		              geteuid() != 0 ? "start belljar as root, or boot with version 2"
		                             : "mount it writable");
		cleanup_fd(&all->v1_parent[i]);
		all->v1_parent[i] = -1;
		return;
	}
	if (!cgroup_has_file(all->v1[i], controllers[i].file)) {
		cgroup_reason(why, "the kernel was built without %s", controllers[i].file);
		drop(all, i);
		return;
	}
	all->has |= controllers[i].bit;
	if (i == V1_MEMORY && cgroup_has_file(all->v1[i], "memory.memsw.limit_in_bytes"))
		all->has |= CGROUP_HAS_SWAP;
}

void cgroup_v1_open(struct cgroups *all, const struct cgroup_places *places,
                    struct cgroup_reason *why)
{
	for (size_t i = 0; i < V1_COUNT; i++)
		if (places->v1[i].score != 0 && is_wanted(all, i))
			open_one(all, &places->v1[i], i, why);
}

/* Backwards: a twin comes after the one whose directory it has. */
void cgroup_v1_close(struct cgroups *all)
{
	for (size_t i = V1_COUNT; i-- != 0;)
		if (all->v1[i] >= 0)
			drop(all, i);
}

/* --- the limits of one sandbox ----------------------------------------------------- */

static int set(const struct cgroup *group, enum cgroup_v1 controller, const char *file,
               uint64_t value, struct error *err)
{
	if (cgroup_write_number(group->v1[controller], file, value) < 0)
		return error_sys(err, "%s of group %s cannot be set to %" PRIu64, file, group->id,
		                 value);
	return 0;
}

static int limit_memory(const struct cgroup *group, const struct spec_limits *limits,
                        struct error *err)
{
	uint64_t swap = limits->swap < UINT64_MAX - limits->memory ? limits->swap : 0;

	if (set(group, V1_MEMORY, "memory.limit_in_bytes", limits->memory, err) < 0)
		return -1;
	if (group->in->has & CGROUP_HAS_SWAP)
		return set(group, V1_MEMORY, "memory.memsw.limit_in_bytes", limits->memory + swap,
		           err);
	if (swap == 0) /* not a limit, but the kernel tries */
		(void)cgroup_write(group->v1[V1_MEMORY], "memory.swappiness", "0");
	return 0;
}

static int limit_cpu(const struct cgroup *group, const struct spec_limits *limits,
                     struct error *err)
{
	uint64_t quota = limits->cpu * (CGROUP_CPU_PERIOD_US / 1000);

	if (set(group, V1_CPU, "cpu.cfs_period_us", CGROUP_CPU_PERIOD_US, err) < 0)
		return -1;
	/* EINVAL: a group above has less than that, which holds for this one as well. */
	if (set(group, V1_CPU, "cpu.cfs_quota_us", quota, err) < 0 && err->errnum != EINVAL)
		return -1;
	return 0;
}

int cgroup_v1_limit(const struct cgroup *group, const struct spec_limits *limits, struct error *err)
{
	if (group->v1[V1_MEMORY] >= 0 && limit_memory(group, limits, err) < 0)
		return -1;
	if (group->v1[V1_PIDS] >= 0 && set(group, V1_PIDS, "pids.max", limits->pids, err) < 0)
		return -1;
	if (group->v1[V1_CPU] >= 0 && limit_cpu(group, limits, err) < 0)
		return -1;
	return 0;
}
