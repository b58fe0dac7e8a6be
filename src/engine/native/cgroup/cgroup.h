/* cgroup.h - control groups: where the kernel enforces the limits of a sandbox on memory,
 * processors and processes.
 *
 * Each sandbox has one cgroup, created with all of its limits before any process is in it, so that
 * no process ever runs without them. Its directory is <parent>/belljar-<state>-<instance>/<id>:
 * `state` tells servers with different state directories apart, `instance` is this server's.
 *
 * Three kinds, the best available one is taken:
 *   CGROUP_V2    the controllers memory, cpu and pids of the unified hierarchy.
 *   CGROUP_V1    controllers of version 1. If the unified hierarchy is mounted as well (a "hybrid"
 *                machine), the sandbox also has a cgroup there without controllers, because only
 *                version 2 has CLONE_INTO_CGROUP, cgroup.kill and a freezer that can be killed.
 *   CGROUP_NONE  neither can be used: only rlimits hold.
 * `has` says which limits hold and `why` says what keeps the machine from better ones.
 *
 *   cgroups_open -> cgroups_sweep -> (cgroup_create -> cgroup_kill -> cgroup_remove) ...
 *                -> cgroups_close
 *
 * Only the spawner uses this module, except for cgroup_read_counters(), cgroup_own_limits() and
 * cgroup_open_process_counters().
 * Both structs are the caller's and own descriptors of directories. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attr.h"
#include "engine/engine.h"

struct error;

enum cgroup_kind { CGROUP_NONE, CGROUP_V1, CGROUP_V2 };
enum cgroup_v1 { V1_MEMORY, V1_PIDS, V1_CPU, V1_CPUACCT, V1_FREEZER, V1_COUNT };

enum { CGROUP_NAME_SIZE = 64 };

/* The limits that hold: bits of struct cgroups.has. */
enum {
	CGROUP_HAS_MEMORY = 1,
	CGROUP_HAS_SWAP = 2,
	CGROUP_HAS_CPU = 4,
	CGROUP_HAS_PIDS = 8,
	CGROUP_HAS_SOCKETS = 16, /* buffers of TCP and UDP sockets */
};

/* The directories of this server, in which the cgroups of its sandboxes are created. */
struct cgroups {
	enum cgroup_kind kind;
	unsigned has;                /* CGROUP_HAS_*, whatever the kind */
	int unified;                 /* our directory in the unified hierarchy, or -1 */
	int v1[V1_COUNT];            /* our directory in each hierarchy of version 1, or -1 */
	char name[CGROUP_NAME_SIZE]; /* of our directory, the same everywhere */
	char why[240];               /* what is missing and what would help; "" if nothing is */
	/* The parents of our directories, in which they are removed at the end. */
	int unified_parent, v1_parent[V1_COUNT];
	bool is_moved; /* server and spawner were moved into the cgroup <name>-server */
};

/* The cgroup of one sandbox. All descriptors are -1 if kind is CGROUP_NONE. */
struct cgroup {
	const struct cgroups *in;
	char id[CGROUP_NAME_SIZE];
	int unified; /* for clone3() with CLONE_INTO_CGROUP */
	int v1[V1_COUNT];
};

/* Files with the kernel's counters. The spawner opens them and passes the descriptors to the
 * server, which has no access to the cgroup file system itself. -1: there is no such file. */
enum {
	CGROUP_COUNTER_MEMORY_NOW,
	CGROUP_COUNTER_MEMORY_PEAK,
	CGROUP_COUNTER_MEMORY_EVENTS,
	CGROUP_COUNTER_PIDS_NOW,
	CGROUP_COUNTER_PIDS_EVENTS,
	CGROUP_COUNTER_CPU,
	CGROUP_COUNTER_FILES
};

/* Creates this server's directories in the best hierarchies there are; having none is no error.
 * `state` and `instance` are short words of letters and digits. To be called before the spawner
 * leaves the host's mount tree, and before it has other children: version 2 allows no controllers
 * below a cgroup that has processes itself, so this may move the calling process and its parent
 * into a cgroup of their own. */
MUST_CHECK int cgroups_open(struct cgroups *ret, const char *state, const char *instance,
                            struct error *err);
/* Limits the memory of all sandboxes of this server together, by their common parent cgroup. To be
 * called before the first sandbox exists. No error if there is no memory controller. */
MUST_CHECK int cgroups_limit_memory(const struct cgroups *all, uint64_t bytes, struct error *err);
/* Removes this server's directories and moves the two processes back. All cgroups in them must
 * have been removed. */
void cgroups_close(struct cgroups *all);

/* Kills and removes what servers of the same `state` left behind whose instance is not alive. Looks
 * wherever this server could have created its own directories. Waits for the killed processes, two
 * seconds at most. */
void cgroups_sweep(struct cgroups *all, const char *state,
                   bool (*is_alive)(void *ctx, const char *instance), void *ctx);

MUST_CHECK int cgroup_create(const struct cgroups *all, const char *id,
                             const struct spec_limits *limits, struct cgroup *ret,
                             struct error *err);
/* Changes the limits on memory, processors and processes of a cgroup in use from `before` to
 * `limits`. ERR_UNSUPPORTED: no controller enforces one that differs. ERR_LIMIT: more memory is in
 * use than the new limit. After a failure the old limits hold. */
MUST_CHECK int cgroup_change_limits(const struct cgroup *group, const struct spec_limits *before,
                                    const struct spec_limits *limits, struct error *err);
/* Moves the calling process, which was cloned into `unified` and has one thread, into the cgroups
 * of version 1. A single thread that moves itself takes microseconds. Moving another process takes
 * the kernel's lock cgroup_threadgroup_rwsem for writing, which waits milliseconds for RCU. */
MUST_CHECK int cgroup_enter_self(const struct cgroup *group, struct error *err);
/* Sends SIGKILL to all processes of the cgroup. The processes exit some time after this function
 * returns. */
void cgroup_kill(const struct cgroup *group);
/* Freezes or thaws all processes. The processes may still run for a moment after this function
 * returns. */
void cgroup_freeze(const struct cgroup *group, bool frozen);
/* Removes the cgroup and closes its descriptors. False: killed processes have not exited yet, so
 * that the kernel answers EBUSY; call again. */
bool cgroup_remove(struct cgroup *group);

void cgroup_open_counters(const struct cgroup *group, int fds[CGROUP_COUNTER_FILES]);
/* Opens the counters of the cgroups of a process that another program manages, if their paths
 * contain the text `within`: a process id alone may have been given to another process since.
 * CGROUP_NONE: there are none, and fds is not written. The caller owns the descriptors. */
enum cgroup_kind cgroup_open_process_counters(pid_t pid, const char *within,
                                              int fds[CGROUP_COUNTER_FILES]);
void cgroup_read_counters(const int fds[CGROUP_COUNTER_FILES], enum cgroup_kind kind,
                          struct engine_counters *ret);
/* Sets memory_kills and pids_refused only. */
void cgroup_read_refusals(const int fds[CGROUP_COUNTER_FILES], enum cgroup_kind kind,
                          struct engine_counters *ret);
/* Opens, reads and closes the counters; all are 0 without a cgroup. */
struct engine_counters cgroup_counters_now(const struct cgroup *group);

/* The smallest limits on the calling process's own cgroup and the cgroups above it, as far as they
 * are mounted; memory is in bytes. UINT64_MAX: there is none. */
void cgroup_own_limits(uint64_t *ret_memory, uint64_t *ret_pids);
