/* cgroup.h - the kernel's groups of processes: where the limits of a sandbox are enforced.
 *
 * One group a sandbox, made with all its limits before anything runs in it. Version 2 if its
 * controllers can be had, version 1 otherwise (then with a group of the bare v2 tree beside it,
 * if there is one, for ending, freezing and starting in it), and nothing if neither can: then
 * rlimits have to do. Which it is, and why not better, is told.
 *
 * Groups are named <base>/belljar-<state>-<instance>/<id>: `state` tells servers with other
 * state directories apart, `instance` is the server's. Used by the spawner alone: nothing here
 * allocates. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attr.h"
#include "engine/engine.h"

struct error;

enum cgroup_kind { CGROUP_NONE, CGROUP_V1, CGROUP_V2, CGROUP_KIND_COUNT };
enum cgroup_v1 { V1_MEMORY, V1_PIDS, V1_CPU, V1_CPUACCT, V1_FREEZER, V1_COUNT };

enum { CGROUP_NAME_SIZE = 64 };

/* What limits hold: bits of struct cgroups.has. */
enum { CGROUP_HAS_MEMORY = 1, CGROUP_HAS_SWAP = 2, CGROUP_HAS_CPU = 4, CGROUP_HAS_PIDS = 8 };

struct cgroups {
	enum cgroup_kind kind;
	unsigned has;                /* the limits that hold, whatever the kind */
	int unified;                 /* our directory in the v2 tree, or -1 */
	int v1[V1_COUNT];            /* our directories in the v1 trees, or -1 */
	char name[CGROUP_NAME_SIZE]; /* of our directory */
	char why[240];               /* why it is no better: empty if it is the best there is */
	/* For removing our directory at the end: the directories it is in. */
	int unified_parent, v1_parent[V1_COUNT];
	bool moved; /* server and spawner were put into <name>-server, to make room */
};

/* A group of one sandbox. All fds -1 if there is none. */
struct cgroup {
	const struct cgroups *in;
	char id[CGROUP_NAME_SIZE];
	int unified; /* for CLONE_INTO_CGROUP */
	int v1[V1_COUNT];
};

/* The files whose numbers are counts: open for reading, to be handed to the server, which reads
 * them with cgroup_read_counters() whenever it likes. -1: not to be had. */
enum {
	CGROUP_COUNTER_MEMORY_NOW,
	CGROUP_COUNTER_MEMORY_PEAK,
	CGROUP_COUNTER_MEMORY_EVENTS,
	CGROUP_COUNTER_PIDS_NOW,
	CGROUP_COUNTER_PIDS_EVENTS,
	CGROUP_COUNTER_CPU,
	CGROUP_COUNTER_FILES
};

/* Finds the best there is. Nothing to be had is no error. `state` and `instance` are short
 * words of letters and digits. Opens directories by absolute path: before the spawner gives the
 * host's tree up. May move this process and its parent into a group of their own, for version 2
 * has no limits below a group with processes: nobody else may be ours yet. */
MUST_CHECK int cgroups_open(struct cgroups *ret, const char *state, const char *instance,
                            struct error *err);
void cgroups_close(struct cgroups *all); /* and removes our directory: no group is left in it */

/* Ends and removes every group of the same `state` whose instance is not alive, wherever this
 * server would have made it. Waits for them to end, two seconds at most. */
void cgroups_sweep(struct cgroups *all, const char *state,
                   bool (*is_alive)(void *ctx, const char *instance), void *ctx);

MUST_CHECK int cgroup_create(const struct cgroups *all, const char *id,
                             const struct spec_limits *limits, struct cgroup *ret,
                             struct error *err);
/* For what clone3() could not do: the process is waiting and not yet in the group. */
MUST_CHECK int cgroup_enter(const struct cgroup *group, pid_t pid, struct error *err);
/* The same for the calling process, if it has one thread and was started in `unified`: moving
 * oneself takes microseconds, being moved takes milliseconds. */
MUST_CHECK int cgroup_enter_self(const struct cgroup *group, struct error *err);
void cgroup_kill(const struct cgroup *group);
/* Returns before all is frozen. */
void cgroup_freeze(const struct cgroup *group, bool frozen);
/* All its processes are dead or dying. False: not yet, try again soon. */
bool cgroup_remove(struct cgroup *group);

void cgroup_open_counters(const struct cgroup *group, int fds[CGROUP_COUNTER_FILES]);
void cgroup_read_counters(const int fds[CGROUP_COUNTER_FILES], enum cgroup_kind kind,
                          struct engine_counters *ret);
