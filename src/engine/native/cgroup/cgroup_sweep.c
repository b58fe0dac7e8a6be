#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "engine/native/cgroup/internal.h"

enum { SWEEP_MS = 2000, SWEEP_NAP_MS = 10 };

struct sweep {
	const struct cgroups *all;
	const char *state;
	bool (*is_alive)(void *ctx, const char *instance);
	void *ctx;
	bool left; /* something that was ended is not gone yet */
};

/* --- directories in a directory ---------------------------------------------------- */

typedef void (*dir_fn)(struct sweep *sweep, int parent, const char *name);

/* Without opendir(), which allocates. A second fd: the first one's position is not ours. What is
 * removed meanwhile may hide others: the next pass finds them. */
static void each_dir(struct sweep *sweep, int dir, dir_fn fn)
{
	_Alignas(struct dirent64) char bytes[4096];
	AUTO_FD int fd = cgroup_dir(dir, ".");
	ssize_t n;

	while (fd >= 0 && (n = getdents64(fd, bytes, sizeof bytes)) > 0)
		for (ssize_t at = 0; at < n;) {
			const struct dirent64 *entry = (const void *)(bytes + at);

			at += entry->d_reclen;
			if (entry->d_type == DT_DIR && entry->d_name[0] != '.')
				fn(sweep, dir, entry->d_name);
		}
}

/* --- what is dead ------------------------------------------------------------------ */

/* belljar-<state>-<instance>, or that and "-server". */
static bool split_name(const struct sweep *sweep, const char *name, char instance[CGROUP_NAME_SIZE],
                       bool *server)
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
	*server = end != NULL;
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

static void end_group(struct sweep *sweep, int parent, const char *name)
{
	AUTO_FD int dir = cgroup_dir(parent, name);

	if (dir >= 0)
		cgroup_dir_kill(dir);
	if (!cgroup_drop_dir(parent, name))
		sweep->left = true;
}

static void end_instance(struct sweep *sweep, int parent, const char *name)
{
	char instance[CGROUP_NAME_SIZE];
	bool server;
	AUTO_FD int dir = -1;

	if (!split_name(sweep, name, instance, &server) || strcmp(name, sweep->all->name) == 0 ||
	    sweep->is_alive(sweep->ctx, instance))
		return;
	/* It may hold what started the server, which is not ours to end. */
	if (server) {
		(void)cgroup_drop_dir(parent, name);
		return;
	}
	dir = cgroup_dir(parent, name);
	if (dir >= 0)
		each_dir(sweep, dir, end_group);
	if (!cgroup_drop_dir(parent, name))
		sweep->left = true;
}

/* --- where to look ----------------------------------------------------------------- */

/* The tree's top, our own group, the one that is in, and one more: we may have moved down. */
static void sweep_place(struct sweep *sweep, const struct cgroup_place *place)
{
	enum { LEVELS = 3 };
	AUTO_FD int top = place->score != 0 ? cgroup_dir(AT_FDCWD, place->top) : -1;
	char below[CGROUP_PATH_SIZE];

	if (top < 0)
		return;
	each_dir(sweep, top, end_instance);
	memcpy(below, place->below, sizeof below);
	for (int level = 0; level < LEVELS && below[0] != '\0'; level++) {
		AUTO_FD int dir = cgroup_dir(top, below);

		if (dir >= 0)
			each_dir(sweep, dir, end_instance);
		(void)cgroup_go_up(below);
	}
}

static void sweep_once(struct sweep *sweep, const struct cgroup_places *places)
{
	const struct cgroups *all = sweep->all;

	sweep->left = false;
	if (all->unified_parent >= 0)
		each_dir(sweep, all->unified_parent, end_instance);
	for (size_t i = 0; i < V1_COUNT; i++)
		if (all->v1_parent[i] >= 0)
			each_dir(sweep, all->v1_parent[i], end_instance);
	sweep_place(sweep, &places->unified);
	for (size_t i = 0; i < V1_COUNT; i++)
		sweep_place(sweep, &places->v1[i]);
}

void cgroups_sweep_in(struct cgroups *all, const struct cgroup_places *places, const char *state,
                      bool (*is_alive)(void *ctx, const char *instance), void *ctx)
{
	struct sweep sweep = { .all = all, .state = state, .is_alive = is_alive, .ctx = ctx };
	uint64_t until = clock_now_ms() + SWEEP_MS;

	for (;;) {
		sweep_once(&sweep, places);
		if (!sweep.left || clock_now_ms() >= until)
			return;
		(void)nanosleep(&(struct timespec){ .tv_nsec = SWEEP_NAP_MS * 1000000L }, NULL);
	}
}

void cgroups_sweep(struct cgroups *all, const char *state,
                   bool (*is_alive)(void *ctx, const char *instance), void *ctx)
{
	struct cgroup_places places;

	cgroup_find("/proc/self/mountinfo", "/proc/self/cgroup", &places);
	cgroups_sweep_in(all, &places, state, is_alive, ctx);
}
