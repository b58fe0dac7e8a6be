/* internal.h - what the files of the doctor share.
 *
 *   doctor.c            the table of layers, and what is required
 *   doctor_trial.c      starts the engine in a child and runs `true` in a sandbox
 *   doctor_engine.c     layers that the engine reports about itself
 *   doctor_isolation.c  layers that the trial sandbox proves, or which of them failed
 *   doctor_host.c       layers of the machine: kernel, container, state directory, settings
 *   doctor_server.c     whether the server can give up its rights
 *   doctor_kernel.c     sizes of kernel tables that sandboxes and the host share
 *   doctor_software.c   interpreters, Docker, the configuration file
 *   probe.c             filling a check; trying something in a child process
 *
 * A probe changes nothing, leaves no process behind and ends within seconds. */
#pragma once
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attr.h"
#include "base/error.h"
#include "engine/report.h"
#include "server/doctor/doctor.h"

struct options;

/* --- probe.c --- */

void check_set(struct check *check, enum check_status status, const char *fmt, ...)
        PRINTF_LIKE(3, 4);
void check_fix(struct check *check, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* The first line of a file in /proc or /sys without its newline; "" if there is none. Returns
 * out. */
const char *probe_read_line(const char *path, char *out, size_t size);
/* Appends to a list with commas, as far as there is room. */
void probe_list_add(char *list, size_t size, const char *word);

/* Runs in the child, on a copy of the caller's record, which it changes. Must not use stdio. */
typedef void probe_child_fn(void *record);

enum { PROBE_RECORD_MAX = 48 * 1024, PROBE_DEADLINE_MS = 10000 };

/* Runs fn in a forked child and copies the record back. The child is killed at the deadline and
 * when this process exits, so that a probe can neither hang nor outlive its caller. The record is
 * at most PROBE_RECORD_MAX bytes, and is written only on success. */
MUST_CHECK int probe_child_run(probe_child_fn *fn, void *record, size_t size, unsigned deadline_ms,
                               struct error *err);

/* --- doctor_trial.c --- */

/* Errno values of the single steps of making a sandbox; 0: the step succeeded. */
enum { NAMESPACE_KINDS = 6 };
struct isolation_steps {
	int user_namespace, map_user;
	int kinds[NAMESPACE_KINDS];
	int loopback, mounts, overlay, proc;
	int no_new_privileges, filter;
};

struct trial {
	bool with_sandbox; /* requested: without, the engine only starts */
	bool is_docker;    /* which engine was tried */
	bool is_ready;     /* the engine started: `report` is valid */
	bool has_run;      /* a program ran in a sandbox and exited with 0 */
	uint32_t ready_ms, run_ms;
	struct engine_report report;
	struct error why;             /* why is_ready or has_run is false */
	struct isolation_steps steps; /* tried one by one if the trial failed; else all 0 */
	bool steps_failed;            /* the steps could not be tried: `steps_why` */
	struct error steps_why;
	const struct options *options; /* during the trial */
};

/* Takes as long as the start of a server, and some milliseconds for the sandbox. */
void trial_run(const struct options *options, struct trial *trial);

/* A cgroup of version 2 can limit groups below it only while it has no processes of its own. A
 * server therefore moves itself one group down, if no other process is in its group. The doctor
 * waits for its trial in that same group and would be in the way: it moves to a group of its own
 * meanwhile. */
struct cgroup_move {
	char group[PATH_MAX]; /* the present group; "": nothing is to be done */
	char aside[PATH_MAX + 32];
};

/* `root`: where version 2 is mounted. */
void cgroup_move_plan(struct cgroup_move *move, const char *root);
/* Called in the child, which stays: moves its parent. */
void cgroup_move_parent(const struct cgroup_move *move, pid_t parent);
/* Called by the parent when the child has exited. */
void cgroup_move_back(const struct cgroup_move *move);

/* --- the layers: each function sets status, detail and fix of a check in which they are empty
 * --- */

typedef void probe_fn(const struct options *options, struct check *ret);
typedef void trial_fn(const struct trial *trial, struct check *ret);

/* doctor_isolation.c */
void isolation_try_steps(struct trial *trial);
trial_fn isolation_user_namespaces, isolation_namespaces, isolation_network, isolation_proc;
trial_fn isolation_overlayfs, isolation_seccomp, isolation_no_new_privileges, isolation_agent;

/* doctor_engine.c */
trial_fn report_sandbox;
/* Reads the layer ret->name from the engine's report. */
void report_layer(const struct trial *trial, struct check *ret);

/* doctor_host.c */
probe_fn probe_kernel, probe_landlock, probe_host, probe_state_dir, probe_hardening, probe_mounts;
/* Whether this is a kernel in which programs can write to the page cache. The texts are uname's. */
bool probe_kernel_is_vulnerable(const char *release, const char *built);

/* doctor_server.c */
probe_fn probe_confinement;

/* doctor_kernel.c */
probe_fn probe_kernel_tables;

/* doctor_software.c */
probe_fn probe_interpreters, probe_containers, probe_configuration;
/* probe_interpreters() with other directories than those of sandboxes, separated by ":". */
void probe_interpreters_in(const char *directories, struct check *ret);
