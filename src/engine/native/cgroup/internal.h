/* internal.h - what the files of this folder share: where the hierarchies are mounted
 * (cgroup_find.c), their small files (cgroup_file.c), and what differs between version 1 and 2
 * (cgroup_v1.c, cgroup_v2.c). cgroup_count.c reads counters, cgroup_own.c the limits of the cgroup
 * around belljar, and cgroup_sweep.c removes cgroups of killed servers.
 *
 * All access goes through descriptors of directories and relative names: the spawner leaves the
 * host's mount tree, where the absolute paths are. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attr.h"
#include "engine/native/cgroup/cgroup.h"

struct error;

/* --- where the hierarchies are (cgroup_find.c) --- */

enum { CGROUP_PATH_SIZE = 1024 };

/* A mount of one hierarchy, and the cgroup of this process in it. */
struct cgroup_hierarchy {
	int score; /* 0: not mounted; the higher, the more can be done with this mount */
	char mount_point[CGROUP_PATH_SIZE];
	/* From the mount point to our own cgroup. "" if that is the mount point itself, or if the
	 * mount does not show it. */
	char own_path[CGROUP_PATH_SIZE];
};

struct cgroup_hierarchies {
	struct cgroup_hierarchy unified, v1[V1_COUNT];
};

extern const char *const cgroup_v1_names[V1_COUNT];

/* Reads /proc/self/mountinfo and /proc/self/cgroup, or files of the same format. */
void cgroup_find_hierarchies(const char *mountinfo, const char *own,
                             struct cgroup_hierarchies *ret);

/* Removes the last name from the path. False: the path was empty. */
bool cgroup_path_up(char path[CGROUP_PATH_SIZE]);

/* --- files of a cgroup (cgroup_file.c) --- */

int cgroup_open_dir(int at, const char *path); /* a descriptor, or -1 with errno */
/* Opens a directory, and creates it if it does not exist. A descriptor, or -1 with errno. */
int cgroup_create_dir(int at, const char *name);
/* True if the directory does not exist any more. EBUSY: it still has processes or children. */
bool cgroup_remove_dir(int at, const char *name);
bool cgroup_has_file(int dir, const char *name);
bool cgroup_can_write(int dir, const char *name);
/* As much of the file as fits, terminated; "" if it cannot be read. */
const char *cgroup_read(int dir, const char *name, char *out, size_t size);
/* One write() call: the kernel parses each call on its own. 0, or -1 with errno. */
int cgroup_write(int dir, const char *name, const char *text);
int cgroup_write_number(int dir, const char *name, uint64_t number);

/* Calls fn for each process in cgroup.procs until it returns false, and returns that. A process of
 * another pid namespace is listed as 0. */
typedef bool (*cgroup_pid_fn)(void *ctx, pid_t pid);
bool cgroup_each_pid(int dir, cgroup_pid_fn fn, void *ctx);

/* Freezes or thaws by cgroup.freeze (version 2) or freezer.state (version 1). */
void cgroup_dir_freeze(int dir, bool frozen);
/* Kills all processes of a cgroup of either version, frozen or not. */
void cgroup_dir_kill(int dir);
/* Kills all processes without cgroup.kill, which kernels before 5.14 and version 1 do not have. */
void cgroup_dir_kill_each(int dir);

/* --- opening and limits (cgroup_v1.c, cgroup_v2.c) --- */

/* Why something is not available, for users. */
struct cgroup_reason {
	char text[160];
};
/* Keeps the first reason: later ones mostly follow from it. */
void cgroup_reason_set(struct cgroup_reason *why, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Each creates the directories that it can, adds to all->has, and gives the reason for the rest. */
void cgroup_v2_open(struct cgroups *all, const struct cgroup_hierarchy *tree,
                    struct cgroup_reason *why);
void cgroup_v2_close(struct cgroups *all);
void cgroup_v1_open(struct cgroups *all, const struct cgroup_hierarchies *trees,
                    struct cgroup_reason *why);
void cgroup_v1_close(struct cgroups *all);
/* True if an earlier controller is mounted in the same hierarchy (cpu,cpuacct), and so has created
 * the directory already. */
bool cgroup_v1_is_shared(const struct cgroups *all, size_t controller);

MUST_CHECK int cgroup_v2_limit(const struct cgroup *group, const struct spec_limits *limits,
                               struct error *err);
MUST_CHECK int cgroup_v1_limit(const struct cgroup *group, const struct spec_limits *limits,
                               struct error *err);
enum { CGROUP_CPU_PERIOD_US = 100000 };

/* cgroups_open(), cgroups_sweep() and cgroup_own_limits() with given hierarchies, for tests. The
 * limit is CGROUP_HAS_MEMORY or CGROUP_HAS_PIDS. */
MUST_CHECK int cgroups_open_in(struct cgroups *ret, const struct cgroup_hierarchies *trees,
                               const char *state, const char *instance, struct error *err);
void cgroups_sweep_in(struct cgroups *all, const struct cgroup_hierarchies *trees,
                      const char *state, bool (*is_alive)(void *ctx, const char *instance),
                      void *ctx);
uint64_t cgroup_own_limit_in(const struct cgroup_hierarchies *trees, unsigned limit);
