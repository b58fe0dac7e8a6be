/* internal.h - what the files of the runtime share.
 *
 *   runtime.c          the runtime itself: loop, engine, manager
 *   runtime_prepare.c  before the confinement: lock file, forks the processes
 *   state_dir.c        the state directory: found, made and checked
 *   runtime_docker.c   the broker in place of the spawner
 *   runtime_outside.c  graphics processors and networks
 *   ceilings.c         the defaults and ceilings of limits, from the options and the machine
 *   machine.c          how much this machine has of each resource
 *   gpu_env.c          the environment variables of graphics processors
 *   network.c          the operator's settings about networks
 *   delegation.c       a cgroup of this process's own, from the user's systemd */
#pragma once
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attr.h"
#include "engine/remote/remote.h"
#include "engine/spec.h"

struct cdi;
struct error;
struct options;
struct runtime_base;

/* --- state_dir.c --- */

/* The state directory of a server without --state-dir. */
MUST_CHECK int runtime_default_state_dir(char out[PATH_MAX], struct error *err);
/* Makes a directory and those above it. */
MUST_CHECK int runtime_make_path(const char *path, mode_t mode, struct error *err);
/* Makes and checks the state directory, and chooses the server's later user id: base->state and
 * base->taken. */
MUST_CHECK int runtime_prepare_state_dir(const struct options *options, struct runtime_base *base,
                                         struct error *err);

/* --- machine.c --- */

/* Reads the amounts in the units of struct spec_limits; UINT64_MAX: not known. If the server runs
 * in a cgroup with smaller limits, these are the amounts. `state` is the state directory, whose
 * file system holds the sandboxes. */
void machine_read(const char *state, struct spec_limits *ret);

/* --- gpu_env.c --- */

/* The variables of the chosen devices (bit n: device n), as "NAME=value" strings with a NULL behind
 * the last. Each name occurs once: the first device that sets it wins, except that LD_LIBRARY_PATH
 * collects the directories of all. The strings and the array are from malloc and the caller's. */
char **gpu_env(const struct cdi *gpus, uint64_t chosen);

/* --- runtime_outside.c: parts of runtime_prepare(), which fill in members of the base --- */

MUST_CHECK int runtime_read_gpus(const struct options *options, struct runtime_base *base,
                                 struct error *err);
MUST_CHECK int runtime_find_gpus_max(const struct options *options, struct runtime_base *base,
                                     struct error *err);
/* Reads the settings about networks and forks the dialer. */
MUST_CHECK int runtime_start_dialer(const struct options *options, struct runtime_base *base,
                                    struct error *err);

/* --- runtime_docker.c --- */

/* Forks the process of an engine. `sources` are the shared directories, as many as
 * base->target_count. */
typedef int runtime_start_fn(const struct options *options, struct runtime_base *base,
                             char *const *sources, struct error *err);
MUST_CHECK int runtime_start_broker(const struct options *options, struct runtime_base *base,
                                    char *const *sources, struct error *err);

/* --- runtime_prepare.c --- */

/* An engine as the server knows it before the engine's process sends its report. */
struct runtime_engine {
	struct remote_words words;
	runtime_start_fn *start;
	bool has_images;
	bool uses_own_cgroups; /* below the server's cgroup, which may have to be delegated to it */
};
extern const struct runtime_engine runtime_engines[]; /* by enum engine_choice */

/* Callbacks of the spawner and the broker; ctx is the struct runtime_base. */
bool runtime_is_alive(void *ctx, const char *instance);
int runtime_connect_server(void *ctx, const char *instance, struct error *err);
/* Whether the rows of sandboxes exist. The server creates them soon after its start. */
bool runtime_has_database(const struct runtime_base *base);
