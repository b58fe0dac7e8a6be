#include "engine/native/cgroup/cgroup.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/text/utf8.h"
#include "engine/native/cgroup/internal.h"

#define LETTERS_AND_DIGITS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

static bool is_word(const char *text)
{
	size_t len = strspn(text, LETTERS_AND_DIGITS);

	return len != 0 && text[len] == '\0';
}

/* The name is split at its dashes by cgroups_sweep(), so neither part may contain one. */
static int set_name(struct cgroups *all, const char *state, const char *instance, struct error *err)
{
	const char *wrong = !is_word(state) ? state : !is_word(instance) ? instance : NULL;
	int len;

	if (wrong != NULL)
		return error_set(err, ERR_INVALID,
		                 "cgroup name: expected letters and digits, got '%s'",
		                 UTF8_ESCAPED(view_of(wrong), 64));
	len = snprintf(all->name, sizeof all->name, "belljar-%s-%s", state, instance);
	if (len < 0 || (size_t)len >= sizeof all->name)
		return error_set(err, ERR_LIMIT, "cgroup name: %d bytes, at most %zu are allowed",
		                 len, sizeof all->name - 1);
	return 0;
}

/* Writes all->why: the limits that do not hold and what the administrator can do. */
static void describe_missing_limits(struct cgroups *all, const struct cgroup_reason *why)
{
	static const struct {
		unsigned bit;
		const char *name;
	} limits[] = {
		{ CGROUP_HAS_MEMORY, "memory" },
		{ CGROUP_HAS_SWAP, "swap" },
		{ CGROUP_HAS_CPU, "processors" },
		{ CGROUP_HAS_PIDS, "processes" },
	};
	const unsigned every = CGROUP_HAS_MEMORY | CGROUP_HAS_SWAP | CGROUP_HAS_CPU |
	                       CGROUP_HAS_PIDS;
	size_t size = sizeof all->why, used = 0;

	for (size_t i = 0; i < ARRAY_LEN(limits); i++)
		if ((all->has & limits[i].bit) == 0)
			used += (size_t)snprintf(all->why + used, size - used, "%s%s",
			                         used == 0 ? "no limit on " : ", ", limits[i].name);
	if (used == 0 && all->kind == CGROUP_V1)
		(void)snprintf(
		        all->why, size,
		        "version 1: boot with systemd.unified_cgroup_hierarchy=1 for version 2");
	else if (all->has == (every & ~(unsigned)CGROUP_HAS_SWAP))
		(void)snprintf(all->why + used, size - used, ": boot with swapaccount=1");
	else if (used != 0)
		(void)snprintf(all->why + used, size - used, ": %s",
		               why->text[0] != '\0' ? why->text : "no such controller is mounted");
	all->why[utf8_prefix(all->why, strlen(all->why), size - 1)] = '\0';
}

int cgroups_open_in(struct cgroups *ret, const struct cgroup_hierarchies *trees, const char *state,
                    const char *instance, struct error *err)
{
	struct cgroup_reason in_v2 = { "" }, in_v1 = { "" }, none = { "" };
	struct cgroups all = { .unified = -1, .unified_parent = -1 };
	bool has_v1 = false, has_v2 = trees->unified.score != 0;

	if (set_name(&all, state, instance, err) < 0)
		return -1;
	for (size_t i = 0; i < V1_COUNT; i++) {
		all.v1[i] = all.v1_parent[i] = -1;
		has_v1 = has_v1 || trees->v1[i].score != 0;
	}
	cgroup_v2_open(&all, &trees->unified, &in_v2);
	cgroup_v1_open(&all, trees, &in_v1);
	all.kind = all.unified >= 0 ? CGROUP_V2 : CGROUP_NONE;
	for (size_t i = 0; i < V1_COUNT; i++)
		if (all.v1[i] >= 0)
			all.kind = CGROUP_V1;
	if (!has_v1 && !has_v2)
		cgroup_reason_set(&none, "no cgroups: mount -t cgroup2 none /sys/fs/cgroup");
	/* A controller is either in version 1 or in the unified hierarchy. Where version 1 is
	 * mounted, the controllers are there, and so is the reason for a missing limit. */
	describe_missing_limits(&all, !has_v1 && !has_v2 ? &none : has_v1 ? &in_v1 : &in_v2);
	*ret = all;
	return 0;
}

int cgroups_open(struct cgroups *ret, const char *state, const char *instance, struct error *err)
{
	struct cgroup_hierarchies trees;

	cgroup_find_hierarchies("/proc/self/mountinfo", "/proc/self/cgroup", &trees);
	return cgroups_open_in(ret, &trees, state, instance, err);
}

int cgroups_limit_memory(const struct cgroups *all, uint64_t bytes, struct error *err)
{
	const bool is_v1 = all->v1[V1_MEMORY] >= 0;
	const char *file = is_v1 ? "memory.limit_in_bytes" : "memory.max";

	if ((all->has & CGROUP_HAS_MEMORY) == 0)
		return 0;
	/* Kernels before 5.11 charge a parent of version 1 only with this. Later ones always do,
	 * and refuse every other value. */
	if (is_v1)
		(void)cgroup_write(all->v1[V1_MEMORY], "memory.use_hierarchy", "1");
	if (cgroup_write_number(is_v1 ? all->v1[V1_MEMORY] : all->unified, file, bytes) < 0)
		return error_sys(err, "set %s of cgroup %s to %" PRIu64, file, all->name, bytes);
	return 0;
}

void cgroups_close(struct cgroups *all)
{
	cgroup_v1_close(all);
	cgroup_v2_close(all);
	all->kind = CGROUP_NONE;
	all->has = 0;
}

/* --- the cgroup of one sandbox --- */

static int create_dir(int at, const char *id, bool exists, int *ret, struct error *err)
{
	/* EEXIST is an error: the directory would belong to a sandbox that still has processes, and
	 * its counters and limits would be mixed with ours. */
	if (!exists && mkdirat(at, id, 0755) < 0)
		return error_sys(err, "create cgroup %s", id);
	*ret = cgroup_open_dir(at, id);
	return *ret < 0 ? error_sys(err, "open cgroup %s", id) : 0;
}

static int create_dirs(const struct cgroups *all, struct cgroup *group, struct error *err)
{
	if (all->unified >= 0 &&
	    create_dir(all->unified, group->id, false, &group->unified, err) < 0)
		return -1;
	for (size_t i = 0; i < V1_COUNT; i++)
		if (all->v1[i] >= 0 &&
		    create_dir(all->v1[i], group->id, cgroup_v1_is_shared(all, i), &group->v1[i],
		               err) < 0)
			return -1;
	return 0;
}

int cgroup_create(const struct cgroups *all, const char *id, const struct spec_limits *limits,
                  struct cgroup *ret, struct error *err)
{
	struct cgroup group = { .in = all, .unified = -1 };
	size_t len = strspn(id, LETTERS_AND_DIGITS "_-");

	/* The id becomes the name of a directory: a "/" or ".." would create the cgroup
	 * elsewhere. */
	if (len == 0 || len >= sizeof group.id || id[len] != '\0')
		return error_set(err, ERR_INVALID,
		                 "cgroup id: expected 1 to %zu letters, digits, _ or -, got '%s'",
		                 sizeof group.id - 1, UTF8_ESCAPED(view_of(id), 64));
	memcpy(group.id, id, len + 1);
	for (size_t i = 0; i < V1_COUNT; i++)
		group.v1[i] = -1;
	/* All limits are set before the first process: a process that enters a cgroup without
	 * limits could take memory that a later limit does not take back. */
	if (create_dirs(all, &group, err) < 0 || cgroup_v2_limit(&group, limits, err) < 0 ||
	    cgroup_v1_limit(&group, limits, err) < 0) {
		(void)cgroup_remove(&group);
		return -1;
	}
	*ret = group;
	return 0;
}

static int check_change(const struct cgroup *group, const struct spec_limits *before,
                        const struct spec_limits *limits, struct error *err)
{
	const unsigned changed = (before->memory != limits->memory ? CGROUP_HAS_MEMORY : 0u) |
	                         (before->cpu != limits->cpu ? CGROUP_HAS_CPU : 0u) |
	                         (before->pids != limits->pids ? CGROUP_HAS_PIDS : 0u);
	const unsigned missing = changed & ~group->in->has;
	uint64_t used;

	if (missing != 0)
		return error_set(err, ERR_UNSUPPORTED,
		                 "%s: no cgroup controller enforces this limit on this machine, so "
		                 "it cannot change while the sandbox is awake: create another "
		                 "sandbox with it",
		                 (missing & CGROUP_HAS_MEMORY) != 0 ? "memory"
		                 : (missing & CGROUP_HAS_CPU) != 0  ? "cpus"
		                                                    : "pids");
	/* In version 2 the kernel kills processes until the others fit into the lower limit, so a
	 * limit below the use is refused. */
	used = limits->memory < before->memory ? cgroup_counters_now(group).memory_now : 0;
	if (used > limits->memory)
		return error_set(err, ERR_LIMIT,
		                 "memory: %llu MiB are in use, more than the new limit of %llu: "
		                 "end programs first, or choose a higher limit",
		                 (unsigned long long)(used >> 20),
		                 (unsigned long long)(limits->memory >> 20));
	return 0;
}

static int set_limits(const struct cgroup *group, const struct spec_limits *limits,
                      struct error *err)
{
	return cgroup_v2_limit(group, limits, err) < 0 ? -1 : cgroup_v1_limit(group, limits, err);
}

int cgroup_change_limits(const struct cgroup *group, const struct spec_limits *before,
                         const struct spec_limits *limits, struct error *err)
{
	struct error ignored;

	if (check_change(group, before, limits, err) < 0)
		return -1;
	if (set_limits(group, limits, err) == 0)
		return 0;
	(void)!set_limits(group, before, &ignored);
	return -1;
}

int cgroup_enter_self(const struct cgroup *group, struct error *err)
{
	for (size_t i = 0; i < V1_COUNT; i++)
		/* "tasks" moves one thread, here all there are; 0 stands for the caller. */
		if (group->v1[i] >= 0 && cgroup_write_number(group->v1[i], "tasks", 0) < 0)
			return error_sys(err, "enter cgroup %s (%s)", group->id,
			                 cgroup_v1_names[i]);
	return 0;
}

/* The directory whose cgroup.procs lists the sandbox's processes: that of the unified hierarchy,
 * else that of the v1 freezer, else that of any controller. */
static int process_dir(const struct cgroup *group)
{
	if (group->unified >= 0)
		return group->unified;
	for (size_t i = V1_COUNT; i-- != 0;)
		if (group->v1[i] >= 0)
			return group->v1[i];
	return -1;
}
_Static_assert(V1_FREEZER == V1_COUNT - 1, "the loop above finds the freezer first");

void cgroup_kill(const struct cgroup *group)
{
	int dir = process_dir(group);

	if (dir < 0)
		return;
	cgroup_dir_kill(dir);
	/* Kernels before 5.2 have no freezer in version 2, so that the processes may be frozen by
	 * version 1. */
	if (group->v1[V1_FREEZER] >= 0 && dir != group->v1[V1_FREEZER])
		cgroup_dir_kill(group->v1[V1_FREEZER]);
}

void cgroup_freeze(const struct cgroup *group, bool frozen)
{
	/* The v1 freezer is opened only if version 2 has none (see cgroup_v1.c). */
	int dir = group->v1[V1_FREEZER] >= 0 ? group->v1[V1_FREEZER] : process_dir(group);

	if (dir >= 0)
		cgroup_dir_freeze(dir, frozen);
}

/* True if the directory is removed and *dir closed. */
static bool remove_dir(int parent, int *dir, const char *id)
{
	if (*dir >= 0 && cgroup_remove_dir(parent, id)) {
		(void)close(*dir);
		*dir = -1;
	}
	return *dir < 0;
}

bool cgroup_remove(struct cgroup *group)
{
	const struct cgroups *all = group->in;
	bool is_removed = all == NULL || remove_dir(all->unified, &group->unified, group->id);

	for (size_t i = 0; i < V1_COUNT; i++)
		if (all != NULL && !remove_dir(all->v1[i], &group->v1[i], group->id))
			is_removed = false;
	/* A task frozen by version 1 cannot handle SIGKILL, so thaw the cgroup before waiting for
	 * it to empty. */
	if (!is_removed)
		cgroup_freeze(group, false);
	return is_removed;
}
