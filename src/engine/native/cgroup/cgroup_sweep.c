/* cgroup_sweep.c - removes the cgroups that killed servers left behind. */
#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/view.h"
#include "engine/native/cgroup/internal.h"

enum { SWEEP_MS = 2000, SWEEP_NAP_MS = 10 };

struct sweep {
	const struct cgroups *all;
	const char *state;
	bool (*is_alive)(void *ctx, const char *instance);
	void *ctx;
	bool is_unfinished; /* a directory could not be removed yet: EBUSY */
};

typedef void (*dir_fn)(struct sweep *sweep, int parent, const char *name);

/* Calls fn for each subdirectory. The stream has a descriptor of its own, because duplicates share
 * the position in a directory. Removing entries while reading may skip others; the next pass finds
 * them. */
static void each_dir(struct sweep *sweep, int dir, dir_fn fn)
{
	AUTO_DIR DIR *stream = fd_open_dir(dir, ".");
	const struct dirent *entry;

	while (stream != NULL && (entry = readdir(stream)) != NULL)
		if (entry->d_type == DT_DIR && entry->d_name[0] != '.')
			fn(sweep, dir, entry->d_name);
}

/* Splits belljar-<state>-<instance>, with or without "-server" at the end. */
static bool split_name(const struct sweep *sweep, const char *name, char instance[CGROUP_NAME_SIZE],
                       bool *ret_is_server)
{
	struct view rest = view_of(name);
	size_t len = strlen(sweep->state);
	const char *end;

	if (rest.len >= CGROUP_NAME_SIZE + 8 || !view_starts(rest, "belljar-"))
		return false;
	rest = (struct view){ rest.ptr + 8, rest.len - 8 };
	if (!view_starts(rest, sweep->state) || rest.len <= len + 1 || rest.ptr[len] != '-')
		return false;
	rest = (struct view){ rest.ptr + len + 1, rest.len - len - 1 };
	end = memchr(rest.ptr, '-', rest.len);
	*ret_is_server = end != NULL;
	if (end != NULL && strcmp(end, "-server") != 0)
		return false;
	if (end != NULL)
		rest.len = (size_t)(end - rest.ptr);
	if (rest.len == 0 || rest.len >= CGROUP_NAME_SIZE)
		return false;
	memcpy(instance, rest.ptr, rest.len);
	instance[rest.len] = '\0';
	return true;
}

static void remove_cgroup(struct sweep *sweep, int parent, const char *name)
{
	AUTO_FD int dir = cgroup_open_dir(parent, name);

	if (dir >= 0)
		cgroup_dir_kill(dir);
	/* EBUSY while killed processes have not exited: the next pass tries again. */
	if (!cgroup_remove_dir(parent, name))
		sweep->is_unfinished = true;
}

static void remove_instance(struct sweep *sweep, int parent, const char *name)
{
	char instance[CGROUP_NAME_SIZE];
	bool is_server;
	AUTO_FD int dir = -1;

	/* Cgroups of other software and of running servers stay: the name must have belljar's
	 * prefix and this state, and the instance must not be alive, which is decided by the lock
	 * that a server holds as long as it runs. */
	if (!split_name(sweep, name, instance, &is_server) || strcmp(name, sweep->all->name) == 0 ||
	    sweep->is_alive(sweep->ctx, instance))
		return;
	/* <name>-server holds no sandbox, but the dead server's parents if it was moved there with
	 * them: remove the directory only if it is empty. */
	if (is_server) {
		(void)cgroup_remove_dir(parent, name);
		return;
	}
	dir = cgroup_open_dir(parent, name);
	if (dir >= 0)
		each_dir(sweep, dir, remove_cgroup);
	if (!cgroup_remove_dir(parent, name))
		sweep->is_unfinished = true;
}

/* Looks at the mount point and at three levels from our own cgroup upwards: an earlier server used
 * its own cgroup or the one above, and this server may have been moved one level down. */
static void sweep_hierarchy(struct sweep *sweep, const struct cgroup_hierarchy *tree)
{
	enum { LEVELS = 3 };
	AUTO_FD int mount_point = tree->score != 0 ? cgroup_open_dir(AT_FDCWD, tree->mount_point)
	                                           : -1;
	char path[CGROUP_PATH_SIZE];

	if (mount_point < 0)
		return;
	each_dir(sweep, mount_point, remove_instance);
	memcpy(path, tree->own_path, sizeof path);
	for (int level = 0; level < LEVELS && path[0] != '\0'; level++) {
		AUTO_FD int dir = cgroup_open_dir(mount_point, path);

		if (dir >= 0)
			each_dir(sweep, dir, remove_instance);
		(void)cgroup_path_up(path);
	}
}

static void sweep_once(struct sweep *sweep, const struct cgroup_hierarchies *trees)
{
	const struct cgroups *all = sweep->all;

	sweep->is_unfinished = false;
	if (all->unified_parent >= 0)
		each_dir(sweep, all->unified_parent, remove_instance);
	for (size_t i = 0; i < V1_COUNT; i++)
		if (all->v1_parent[i] >= 0)
			each_dir(sweep, all->v1_parent[i], remove_instance);
	sweep_hierarchy(sweep, &trees->unified);
	for (size_t i = 0; i < V1_COUNT; i++)
		sweep_hierarchy(sweep, &trees->v1[i]);
}

void cgroups_sweep_in(struct cgroups *all, const struct cgroup_hierarchies *trees,
                      const char *state, bool (*is_alive)(void *ctx, const char *instance),
                      void *ctx)
{
	struct sweep sweep = { .all = all, .state = state, .is_alive = is_alive, .ctx = ctx };
	uint64_t until = clock_now_ms() + SWEEP_MS;

	for (;;) {
		sweep_once(&sweep, trees);
		if (!sweep.is_unfinished || clock_now_ms() >= until)
			return;
		(void)nanosleep(&(struct timespec){ .tv_nsec = SWEEP_NAP_MS * 1000000L }, NULL);
	}
}

void cgroups_sweep(struct cgroups *all, const char *state,
                   bool (*is_alive)(void *ctx, const char *instance), void *ctx)
{
	struct cgroup_hierarchies trees;

	cgroup_find_hierarchies("/proc/self/mountinfo", "/proc/self/cgroup", &trees);
	cgroups_sweep_in(all, &trees, state, is_alive, ctx);
}
