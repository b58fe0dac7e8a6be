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
#include "base/text/utf8.h"
#include "engine/native/cgroup/internal.h"

static const struct controller {
	const char *word;
	unsigned bit;
} controllers[] = {
	{ "memory", CGROUP_HAS_MEMORY },
	{ "pids", CGROUP_HAS_PIDS },
	{ "cpu", CGROUP_HAS_CPU },
};

/* --- controllers of a directory ---------------------------------------------------- */

static unsigned read_controllers(int dir, const char *file)
{
	char text[512];
	struct view words = view_of(cgroup_read(dir, file, text, sizeof text));
	unsigned bits = 0;

	for (size_t i = 0; i < ARRAY_LEN(controllers); i++)
		if (cgroup_has_word(words, ' ', controllers[i].word))
			bits |= controllers[i].bit;
	return bits;
}

static void switch_controllers(int dir, unsigned bits, char sign)
{
	char text[16];

	/* One by one: cpu may be refused where there are real-time processes, and is no reason
	 * to go without the others. */
	for (size_t i = 0; i < ARRAY_LEN(controllers); i++)
		if (bits & controllers[i].bit) {
			(void)snprintf(text, sizeof text, "%c%s", sign, controllers[i].word);
			(void)cgroup_write(dir, "cgroup.subtree_control", text);
		}
}

static unsigned enable(int dir, unsigned bits)
{
	unsigned on = read_controllers(dir, "cgroup.subtree_control");

	switch_controllers(dir, bits & ~on, '+');
	return bits & read_controllers(dir, "cgroup.subtree_control");
}

/* The only group that may have processes and controllers for what is below. */
static bool is_root(int dir)
{
	return !cgroup_has_file(dir, "cgroup.events");
}

/* --- making room ------------------------------------------------------------------- */

/* The server, its spawner, and what a container was started with, if that is in our group. */
static bool is_ours(UNUSED void *ctx, pid_t pid)
{
	return pid != 0 && (pid == getpid() || pid == getppid() || pid == 1);
}

static bool is_nobody(UNUSED void *ctx, UNUSED pid_t pid)
{
	return false;
}

static bool move_to(void *ctx, pid_t pid)
{
	const int *dir = ctx;

	if (pid == 0) /* to the kernel that would be us */
		return true;
	return cgroup_write_number(*dir, "cgroup.procs", (uint64_t)pid) == 0 || errno == ESRCH;
}

static void leaf_name(const struct cgroups *all, char out[CGROUP_NAME_SIZE + 8])
{
	(void)snprintf(out, CGROUP_NAME_SIZE + 8, "%s-server", all->name);
}

static void move_back(struct cgroups *all, int base, unsigned enabled)
{
	char name[CGROUP_NAME_SIZE + 8];
	AUTO_FD int leaf = -1;

	leaf_name(all, name);
	leaf = cgroup_dir(base, name);
	switch_controllers(base, enabled, '-');
	if (leaf >= 0)
		(void)cgroup_each_pid(leaf, move_to, &base);
	(void)cgroup_drop_dir(base, name);
	all->moved = false;
}

/* Controllers cannot be had below a group that has processes itself. If they are only ours, they
 * go one down. */
static bool make_room(struct cgroups *all, int base, struct cgroup_reason *why)
{
	char name[CGROUP_NAME_SIZE + 8];
	AUTO_FD int leaf = -1;

	if (is_root(base) || cgroup_each_pid(base, is_nobody, NULL))
		return true;
	if (!cgroup_each_pid(base, is_ours, NULL)) {
		cgroup_reason(why,
		              "other processes are in our group: start belljar with "
		              "systemd-run %s--scope -p Delegate=yes",
		              geteuid() != 0 ? "--user " : "");
		return false;
	}
	leaf_name(all, name);
	leaf = cgroup_make_dir(base, name);
	if (leaf < 0) {
		cgroup_reason(why, "no group can be made in ours: %s", strerror(errno));
		return false;
	}
	all->moved = true;
	if (cgroup_each_pid(base, move_to, &leaf))
		return true;
	cgroup_reason(why, "we cannot be moved one group down: %s", strerror(errno));
	move_back(all, base, 0);
	return false;
}

/* --- our directory ----------------------------------------------------------------- */

static bool check_writable(int base, struct cgroup_reason *why)
{
	if (cgroup_can_write(base, ".") && cgroup_can_write(base, "cgroup.procs") &&
	    cgroup_can_write(base, "cgroup.subtree_control"))
		return true;
	if (errno == EROFS)
		cgroup_reason(why, "it is mounted read-only: give the container "
		                   "--cgroupns=private and a writable /sys/fs/cgroup");
	else
		cgroup_reason(why, "our group is not ours to write: start belljar with "
		                   "systemd-run --user --scope -p Delegate=yes");
	return false;
}

static bool try_base(struct cgroups *all, int base, unsigned wanted, struct cgroup_reason *why)
{
	unsigned had = read_controllers(base, "cgroup.subtree_control"), have;
	AUTO_FD int dir = -1;

	if (!check_writable(base, why) || ((wanted & ~had) != 0 && !make_room(all, base, why)))
		return false;
	have = enable(base, wanted);
	if (have != 0 || wanted == 0) {
		dir = cgroup_make_dir(base, all->name);
		if (dir >= 0)
			have = enable(dir, have);
	}
	if (dir < 0 || (have == 0 && wanted != 0)) {
		cgroup_reason(why, "controllers cannot be switched on: %s", strerror(errno));
		if (dir >= 0)
			(void)cgroup_drop_dir(base, all->name);
		if (all->moved)
			move_back(all, base, wanted & ~had);
		return false;
	}
	/* Built without bandwidth control, the kernel has a cpu controller that limits nothing. */
	if (!cgroup_has_file(dir, "cpu.max"))
		have &= ~(unsigned)CGROUP_HAS_CPU;
	if ((have & CGROUP_HAS_MEMORY) && cgroup_has_file(dir, "memory.swap.max"))
		have |= CGROUP_HAS_SWAP;
	all->unified = TAKE_FD(dir);
	all->has |= have;
	return true;
}

/* --- where it may be --------------------------------------------------------------- */

enum { OWN, TOP, PARENT, BASES };

static bool is_leaf_of_ours(const char *below)
{
	const char *slash = strrchr(below, '/');
	const char *name = slash != NULL ? slash + 1 : below;
	size_t len = strlen(name);

	return strncmp(name, "belljar-", 8) == 0 && len > 7 &&
	       strcmp(name + len - 7, "-server") == 0;
}

/* Our own group, the root of all groups (which nobody but root can write), and the group that
 * ours is in: a user's service manager owns that as well. */
static void open_bases(const struct cgroup_place *place, int bases[BASES])
{
	char below[CGROUP_PATH_SIZE];
	struct statfs fs;
	AUTO_FD int top = cgroup_dir(AT_FDCWD, place->top);

	if (top < 0 || fstatfs(top, &fs) < 0 || fs.f_type != CGROUP2_SUPER_MAGIC)
		return;
	(void)snprintf(below, sizeof below, "%s", place->below);
	/* Left there by a server that did not come to move its parents back. */
	if (is_leaf_of_ours(below))
		(void)cgroup_go_up(below);
	bases[OWN] = cgroup_dir(top, below[0] != '\0' ? below : ".");
	if (cgroup_go_up(below))
		bases[PARENT] = cgroup_dir(top, below[0] != '\0' ? below : ".");
	if (is_root(top))
		bases[TOP] = TAKE_FD(top);
}

static int count_bits(unsigned bits)
{
	return __builtin_popcount(bits);
}

/* What the root has not got, the kernel has not got. */
static void say_missing(unsigned missing, unsigned kernel, struct cgroup_reason *why)
{
	for (size_t i = 0; i < ARRAY_LEN(controllers); i++)
		if ((missing & ~kernel & controllers[i].bit) != 0)
			cgroup_reason(why,
			              "the kernel has no %s controller: boot with "
			              "cgroup_enable=%s",
			              controllers[i].word, controllers[i].word);
	if (missing != 0)
		cgroup_reason(why, "not delegated to us: add Delegate=cpu memory pids to the %s",
		              geteuid() != 0 ? "unit user@.service" : "unit");
}

void cgroup_v2_open(struct cgroups *all, const struct cgroup_place *place,
                    struct cgroup_reason *why)
{
	const unsigned every = CGROUP_HAS_MEMORY | CGROUP_HAS_PIDS | CGROUP_HAS_CPU;
	int bases[BASES] = { -1, -1, -1 };
	unsigned can[BASES] = { 0 };
	bool has_top;

	if (place->score == 0)
		return;
	open_bases(place, bases);
	has_top = bases[TOP] >= 0;
	for (size_t i = 0; i < BASES; i++)
		if (bases[i] >= 0)
			can[i] = read_controllers(bases[i], "cgroup.controllers");
	/* The most controllers first; in the end none, which is enough to end and to freeze. */
	for (int count = count_bits(every); count >= 0; count--)
		for (size_t i = 0; i < BASES && all->unified < 0; i++)
			if (bases[i] >= 0 && (count == 0 || count_bits(can[i]) == count) &&
			    try_base(all, bases[i], count != 0 ? can[i] : 0, why))
				all->unified_parent = TAKE_FD(bases[i]);
	say_missing(every & ~all->has, has_top ? can[TOP] : every, why);
	for (size_t i = 0; i < BASES; i++)
		cleanup_fd(&bases[i]);
}

void cgroup_v2_close(struct cgroups *all)
{
	if (all->unified >= 0) {
		(void)close(TAKE_FD(all->unified));
		(void)cgroup_drop_dir(all->unified_parent, all->name);
	}
	if (all->moved)
		move_back(all, all->unified_parent,
		          CGROUP_HAS_MEMORY | CGROUP_HAS_PIDS | CGROUP_HAS_CPU);
	cleanup_fd(&all->unified_parent);
	all->unified_parent = -1;
}

/* --- the limits of one sandbox ----------------------------------------------------- */

static int set(const struct cgroup *group, const char *file, const char *value, struct error *err)
{
	if (cgroup_write(group->unified, file, value) < 0)
		return error_sys(err, "%s of group %s cannot be set to %s", file, group->id, value);
	return 0;
}

static int set_number(const struct cgroup *group, const char *file, uint64_t value,
                      struct error *err)
{
	char text[24];

	(void)snprintf(text, sizeof text, "%" PRIu64, value);
	return set(group, file, text, err);
}

/* What version 1 has is limited there. */
static bool has(const struct cgroup *group, unsigned bit, enum cgroup_v1 controller)
{
	return group->unified >= 0 && (group->in->has & bit) != 0 && group->v1[controller] < 0;
}

int cgroup_v2_limit(const struct cgroup *group, const struct spec_limits *limits, struct error *err)
{
	char text[64];

	if (group->unified < 0)
		return 0;
	/* Nobody inside sees this tree. If somebody did, no further groups. */
	(void)cgroup_write(group->unified, "cgroup.max.descendants", "0");
	(void)cgroup_write(group->unified, "cgroup.max.depth", "0");
	if (has(group, CGROUP_HAS_MEMORY, V1_MEMORY)) {
		if (set_number(group, "memory.max", limits->memory, err) < 0)
			return -1;
		/* The agent has to survive, to tell of it. */
		(void)cgroup_write(group->unified, "memory.oom.group", "0");
		(void)cgroup_write(group->unified, "memory.zswap.max", "0");
	}
	if (has(group, CGROUP_HAS_SWAP, V1_MEMORY) &&
	    set_number(group, "memory.swap.max", limits->swap, err) < 0)
		return -1;
	if (has(group, CGROUP_HAS_PIDS, V1_PIDS) &&
	    set_number(group, "pids.max", limits->pids, err) < 0)
		return -1;
	(void)snprintf(text, sizeof text, "%" PRIu64 " %d",
	               limits->cpu * (CGROUP_CPU_PERIOD_US / 1000), CGROUP_CPU_PERIOD_US);
	if (has(group, CGROUP_HAS_CPU, V1_CPU) && set(group, "cpu.max", text, err) < 0)
		return -1;
	return 0;
}
