/* cgroup_v2.c - version 2: one hierarchy for all controllers, which a cgroup passes on to its
 * children by cgroup.subtree_control. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/view.h"
#include "engine/native/cgroup/internal.h"

static const struct controller {
	const char *name;
	unsigned bit;
} controllers[] = {
	{ "memory", CGROUP_HAS_MEMORY },
	{ "pids", CGROUP_HAS_PIDS },
	{ "cpu", CGROUP_HAS_CPU },
};

/* `file` is cgroup.controllers (available here) or cgroup.subtree_control (passed on to
 * children). */
static unsigned read_controllers(int dir, const char *file)
{
	char text[512];
	struct view words = view_of(cgroup_read(dir, file, text, sizeof text));
	unsigned bits = 0;

	for (size_t i = 0; i < ARRAY_LEN(controllers); i++)
		if (view_list_has(words, ' ', controllers[i].name))
			bits |= controllers[i].bit;
	return bits;
}

static void switch_controllers(int dir, unsigned bits, char sign)
{
	char text[16];

	/* Each controller is written on its own: the kernel applies a list as a whole or not at
	 * all, and it refuses cpu while real-time processes run, which is no reason to go without
	 * the others. */
	for (size_t i = 0; i < ARRAY_LEN(controllers); i++)
		if (bits & controllers[i].bit) {
			(void)snprintf(text, sizeof text, "%c%s", sign, controllers[i].name);
			(void)cgroup_write(dir, "cgroup.subtree_control", text);
		}
}

/* Passes the controllers on to child cgroups. Returns those that are passed on. */
static unsigned enable_controllers(int dir, unsigned bits)
{
	unsigned on = read_controllers(dir, "cgroup.subtree_control");

	switch_controllers(dir, bits & ~on, '+');
	return bits & read_controllers(dir, "cgroup.subtree_control");
}

/* The root cgroup has no cgroup.events. The root is the only cgroup that may have both processes
 * and controllers for its children. */
static bool is_root(int dir)
{
	return !cgroup_has_file(dir, "cgroup.events");
}

/* --- moving our own processes out of the way --- */

/* Also true for a process that has exited. */
static bool is_child_of_server(pid_t pid)
{
	char path[32], text[256], parent[16];
	const char *name_end;

	(void)snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	(void)snprintf(parent, sizeof parent, "%d ", (int)getppid());
	name_end = strrchr(cgroup_read(AT_FDCWD, path, text, sizeof text), ')');
	/* Behind the name: a blank, the state, a blank and the parent. */
	return name_end == NULL ||
	       (strlen(name_end) > 4 && strncmp(name_end + 4, parent, strlen(parent)) == 0);
}

/* The spawner, the server and the helpers that it forks meanwhile, and the init process of a
 * container in which the server was started. */
static bool is_own_process(UNUSED void *ctx, pid_t pid)
{
	return pid != 0 &&
	       (pid == getpid() || pid == getppid() || pid == 1 || is_child_of_server(pid));
}

static bool stop_at_first(UNUSED void *ctx, UNUSED pid_t pid)
{
	return false;
}

static bool move_process(void *ctx, pid_t pid)
{
	const int *dir = ctx;

	/* 0 is a process of another pid namespace; written to cgroup.procs, 0 means the caller. */
	if (pid == 0)
		return true;
	return cgroup_write_number(*dir, "cgroup.procs", (uint64_t)pid) == 0 || errno == ESRCH;
}

/* The cgroup into which server and spawner are moved. */
static void leaf_name(const struct cgroups *all, char out[CGROUP_NAME_SIZE + 8])
{
	(void)snprintf(out, CGROUP_NAME_SIZE + 8, "%s-server", all->name);
}

/* Undoes move_to_leaf(). The controllers that were enabled for the children have to be disabled
 * first: the kernel refuses (EBUSY) to move a process into a cgroup that passes controllers on. */
static void move_back(struct cgroups *all, int parent, unsigned enabled)
{
	char name[CGROUP_NAME_SIZE + 8];
	AUTO_FD int leaf = -1;

	leaf_name(all, name);
	leaf = cgroup_open_dir(parent, name);
	switch_controllers(parent, enabled, '-');
	if (leaf >= 0)
		(void)cgroup_each_pid(leaf, move_process, &parent);
	(void)cgroup_remove_dir(parent, name);
	all->is_moved = false;
}

/* Moves all processes of `parent` to `leaf`. A helper that the server forks before the server
 * itself is moved is not in the list that is being read, so the list is read until it is empty. */
static bool move_own(int parent, int leaf, struct cgroup_reason *why)
{
	enum { ROUNDS = 8 };

	for (int i = 0; i < ROUNDS; i++) {
		if (cgroup_each_pid(parent, stop_at_first, NULL))
			return true;
		if (!cgroup_each_pid(parent, is_own_process, NULL)) {
			cgroup_reason_set(why,
			                  "other processes are in belljar's cgroup: start "
			                  "belljar with systemd-run %s--scope -p Delegate=yes",
			                  geteuid() != 0 ? "--user " : "");
			return false;
		}
		if (!cgroup_each_pid(parent, move_process, &leaf))
			break;
	}
	cgroup_reason_set(why, "belljar cannot be moved into a cgroup of its own: %s",
	                  strerror(errno));
	return false;
}

/* The "no internal processes" rule of version 2: a cgroup other than the root either has processes
 * or passes controllers on to its children. If all processes of `parent` are ours, moves them into
 * a child of their own. Processes of others are left alone: they may be in a cgroup for a
 * reason. */
static bool move_to_leaf(struct cgroups *all, int parent, struct cgroup_reason *why)
{
	char name[CGROUP_NAME_SIZE + 8];
	AUTO_FD int leaf = -1;

	if (is_root(parent) || cgroup_each_pid(parent, stop_at_first, NULL))
		return true;
	leaf_name(all, name);
	leaf = cgroup_create_dir(parent, name);
	if (leaf < 0) {
		cgroup_reason_set(why, "no cgroup can be created in belljar's: %s",
		                  strerror(errno));
		return false;
	}
	all->is_moved = true;
	if (move_own(parent, leaf, why))
		return true;
	move_back(all, parent, 0);
	return false;
}

/* --- the directory of this server --- */

static bool check_writable(int parent, struct cgroup_reason *why)
{
	if (cgroup_can_write(parent, ".") && cgroup_can_write(parent, "cgroup.procs") &&
	    cgroup_can_write(parent, "cgroup.subtree_control"))
		return true;
	if (errno == EROFS)
		cgroup_reason_set(why,
		                  "mounted read-only: give the container --cgroupns=private and a "
		                  "writable /sys/fs/cgroup");
	else
		cgroup_reason_set(why, "belljar's cgroup is not writable: start belljar with "
		                       "systemd-run --user --scope -p Delegate=yes");
	return false;
}

/* memory.max counts buffers of sockets, unless the kernel's command line has
 * cgroup.memory=nosocket. */
static bool counts_sockets(void)
{
	char text[4096];
	const char *option = strstr(cgroup_read(AT_FDCWD, "/proc/cmdline", text, sizeof text),
	                            "cgroup.memory=");

	return option == NULL || memmem(option, strcspn(option, " \n"), "nosocket", 8) == NULL;
}

/* Creates our directory in `parent` with the controllers `wanted`, or at least one of them. */
static bool try_parent(struct cgroups *all, int parent, unsigned wanted, struct cgroup_reason *why)
{
	unsigned had = read_controllers(parent, "cgroup.subtree_control"), have;
	AUTO_FD int dir = -1;

	if (!check_writable(parent, why) ||
	    ((wanted & ~had) != 0 && !move_to_leaf(all, parent, why)))
		return false;
	have = enable_controllers(parent, wanted);
	if (have != 0 || wanted == 0) {
		dir = cgroup_create_dir(parent, all->name);
		if (dir >= 0)
			have = enable_controllers(dir, have);
	}
	if (dir < 0 || (have == 0 && wanted != 0)) {
		cgroup_reason_set(why, "controllers cannot be enabled: %s", strerror(errno));
		if (dir >= 0)
			(void)cgroup_remove_dir(parent, all->name);
		if (all->is_moved)
			move_back(all, parent, wanted & ~had);
		return false;
	}
	/* A kernel built without CONFIG_CFS_BANDWIDTH has a cpu controller without cpu.max. */
	if (!cgroup_has_file(dir, "cpu.max"))
		have &= ~(unsigned)CGROUP_HAS_CPU;
	if ((have & CGROUP_HAS_MEMORY) && cgroup_has_file(dir, "memory.swap.max"))
		have |= CGROUP_HAS_SWAP;
	if ((have & CGROUP_HAS_MEMORY) && counts_sockets())
		have |= CGROUP_HAS_SOCKETS;
	all->unified = TAKE_FD(dir);
	all->has |= have;
	return true;
}

/* --- which cgroup can be the parent --- */

enum { OWN, ROOT, ABOVE, PARENTS };

static bool is_server_leaf(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash != NULL ? slash + 1 : path;
	size_t len = strlen(name);

	return strncmp(name, "belljar-", 8) == 0 && len > 7 &&
	       strcmp(name + len - 7, "-server") == 0;
}

/* Three cgroups in which our directory can be created: our own, the root cgroup (writable for root
 * only), and the one above ours, which belongs to us too if a user's systemd started us. */
static void open_parents(const struct cgroup_hierarchy *tree, int parents[PARENTS])
{
	char path[CGROUP_PATH_SIZE];
	struct statfs fs;
	AUTO_FD int mount_point = cgroup_open_dir(AT_FDCWD, tree->mount_point);

	if (mount_point < 0 || fstatfs(mount_point, &fs) < 0 || fs.f_type != CGROUP2_SUPER_MAGIC)
		return;
	(void)snprintf(path, sizeof path, "%s", tree->own_path);
	/* The shell that started this server is in the -server cgroup of an earlier server, which
	 * moved the shell there and was killed before it could move it back. */
	if (is_server_leaf(path))
		(void)cgroup_path_up(path);
	parents[OWN] = cgroup_open_dir(mount_point, path[0] != '\0' ? path : ".");
	if (cgroup_path_up(path))
		parents[ABOVE] = cgroup_open_dir(mount_point, path[0] != '\0' ? path : ".");
	if (is_root(mount_point))
		parents[ROOT] = TAKE_FD(mount_point);
}

static int count_bits(unsigned bits)
{
	return __builtin_popcount(bits);
}

/* A controller that the root cgroup lacks is missing in the kernel; another one was not
 * delegated. */
static void explain_missing(unsigned missing, unsigned kernel, struct cgroup_reason *why)
{
	for (size_t i = 0; i < ARRAY_LEN(controllers); i++)
		if ((missing & ~kernel & controllers[i].bit) != 0)
			cgroup_reason_set(
			        why, "the kernel has no %s controller: boot with cgroup_enable=%s",
			        controllers[i].name, controllers[i].name);
	if (missing != 0)
		cgroup_reason_set(
		        why, "not delegated to belljar: add Delegate=cpu memory pids to the %s",
		        geteuid() != 0 ? "unit user@.service" : "unit");
}

void cgroup_v2_open(struct cgroups *all, const struct cgroup_hierarchy *tree,
                    struct cgroup_reason *why)
{
	const unsigned every = CGROUP_HAS_MEMORY | CGROUP_HAS_PIDS | CGROUP_HAS_CPU;
	int parents[PARENTS] = { -1, -1, -1 };
	unsigned can[PARENTS] = { 0 };
	bool has_root;

	if (tree->score == 0)
		return;
	open_parents(tree, parents);
	has_root = parents[ROOT] >= 0;
	for (size_t i = 0; i < PARENTS; i++)
		if (parents[i] >= 0)
			can[i] = read_controllers(parents[i], "cgroup.controllers");
	/* Tries the parent with the most controllers first, and at last one without any: its
	 * children can still be killed and frozen. */
	for (int count = count_bits(every); count >= 0; count--)
		for (size_t i = 0; i < PARENTS && all->unified < 0; i++)
			if (parents[i] >= 0 && (count == 0 || count_bits(can[i]) == count) &&
			    try_parent(all, parents[i], count != 0 ? can[i] : 0, why))
				all->unified_parent = TAKE_FD(parents[i]);
	explain_missing(every & ~all->has, has_root ? can[ROOT] : every, why);
	for (size_t i = 0; i < PARENTS; i++)
		cleanup_fd(&parents[i]);
}

void cgroup_v2_close(struct cgroups *all)
{
	if (all->unified >= 0) {
		(void)close(TAKE_FD(all->unified));
		(void)cgroup_remove_dir(all->unified_parent, all->name);
	}
	if (all->is_moved)
		move_back(all, all->unified_parent,
		          CGROUP_HAS_MEMORY | CGROUP_HAS_PIDS | CGROUP_HAS_CPU);
	cleanup_fd(&all->unified_parent);
	all->unified_parent = -1;
}

/* --- the limits of one sandbox --- */

static int set_file(const struct cgroup *group, const char *file, const char *value,
                    struct error *err)
{
	if (cgroup_write(group->unified, file, value) < 0)
		return error_sys(err, "set %s of cgroup %s to %s", file, group->id, value);
	return 0;
}

static int set_number(const struct cgroup *group, const char *file, uint64_t value,
                      struct error *err)
{
	char text[24];

	(void)snprintf(text, sizeof text, "%" PRIu64, value);
	return set_file(group, file, text, err);
}

/* True if this limit is enforced in version 2: on a hybrid machine version 1 may have it. */
static bool is_enforced_here(const struct cgroup *group, unsigned bit, enum cgroup_v1 controller)
{
	return group->unified >= 0 && (group->in->has & bit) != 0 && group->v1[controller] < 0;
}

int cgroup_v2_limit(const struct cgroup *group, const struct spec_limits *limits, struct error *err)
{
	char text[64];

	if (group->unified < 0)
		return 0;
	/* The cgroup file system is not mounted in the sandbox. If a process reached it all the
	 * same, it could not create child cgroups and hide processes or memory in them. */
	(void)cgroup_write(group->unified, "cgroup.max.descendants", "0");
	(void)cgroup_write(group->unified, "cgroup.max.depth", "0");
	if (is_enforced_here(group, CGROUP_HAS_MEMORY, V1_MEMORY)) {
		if (set_number(group, "memory.max", limits->memory, err) < 0)
			return -1;
		/* oom.group would kill the agent along with the offender; the agent has to survive
		 * to report the kill. zswap would hold compressed pages beyond the swap limit. */
		(void)cgroup_write(group->unified, "memory.oom.group", "0");
		(void)cgroup_write(group->unified, "memory.zswap.max", "0");
	}
	if (is_enforced_here(group, CGROUP_HAS_SWAP, V1_MEMORY) &&
	    set_number(group, "memory.swap.max", limits->swap, err) < 0)
		return -1;
	if (is_enforced_here(group, CGROUP_HAS_PIDS, V1_PIDS) &&
	    set_number(group, "pids.max", limits->pids, err) < 0)
		return -1;
	(void)snprintf(text, sizeof text, "%" PRIu64 " %d",
	               limits->cpu * (CGROUP_CPU_PERIOD_US / 1000), CGROUP_CPU_PERIOD_US);
	if (is_enforced_here(group, CGROUP_HAS_CPU, V1_CPU) &&
	    set_file(group, "cpu.max", text, err) < 0)
		return -1;
	return 0;
}
