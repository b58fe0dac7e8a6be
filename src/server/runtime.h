/* runtime.h - everything below the tools put together: state directory, spawner, engine, manager.
 *
 *   runtime_prepare  before there is a loop, a socket or a thread: forks the spawner
 *   runtime_new      the rest; `ready` tells when sandboxes can be made, or why they never will
 *   runtime_stop      nothing is awake any more -> runtime_free */
#pragma once
#include <limits.h>
#include <sys/types.h>

#include "base/attr.h"
#include "base/cleanup.h"
#include "sandbox/registry/registry.h"

struct cdi;
struct error;
struct loop;
struct manager;
struct spawner_report;
struct options;
struct runtime;

enum { RUNTIME_MOUNTS_MAX = SPEC_MOUNTS_MAX };

struct runtime_base {
	char state[PATH_MAX];
	char database[PATH_MAX];
	char instance[INSTANCE_LEN + 1];
	int servers, lock; /* see sandbox/instances.h */
	pid_t spawner;
	int socket;
	char *require; /* layers without which it is never ready; or NULL */
	char *targets
	        [RUNTIME_MOUNTS_MAX]; /* where sandboxes see the directories that are offered */
	size_t target_count;
	struct cdi *gpus; /* what could be offered; or NULL */
};

MUST_CHECK int runtime_prepare(const struct options *options, struct runtime_base *ret,
                               struct error *err);
/* Nothing comes of it: the spawner ends. */
void runtime_base_close(struct runtime_base *base);

typedef void runtime_ready_fn(void *ctx, const struct error *why);
/* Takes over the base, also when it fails. */
MUST_CHECK int runtime_new(struct loop *loop, struct runtime_base *base,
                           const struct options *options, runtime_ready_fn *ready, void *ctx,
                           struct runtime **ret, struct error *err);
void runtime_stop(struct runtime *runtime, void (*done)(void *ctx), void *ctx);
/* Waits for the spawner: when this returns nothing of us is left. */
struct runtime *runtime_free(struct runtime *runtime);
DEFINE_CLEANUP(runtime)

struct manager *runtime_manager(struct runtime *runtime);
const struct spawner_report *runtime_report(const struct runtime *runtime); /* once it is ready */

/* Calls fn whenever something ended that was run in a sandbox. Before any is used. */
void runtime_on_process_end(struct runtime *runtime,
                            void (*fn)(void *ctx, const struct sandbox_row *row), void *ctx);
/* Calls fn when the process that makes sandboxes is gone: nothing comes of anything any more. */
void runtime_on_lost(struct runtime *runtime, void (*fn)(void *ctx, const struct error *why),
                     void *ctx);

/* Devices by a wish: none, auto, a number, a name. */
MUST_CHECK int runtime_choose_gpu(const struct runtime *runtime, const char *wish, uint64_t *ret,
                                  struct error *err);
/* What a sandbox gets unless somebody says otherwise. */
MUST_CHECK int runtime_default_spec(const struct runtime *runtime, const struct options *options,
                                    struct spec *ret, struct error *err);
/* The state directory that was asked for, or the usual one: an absolute path. It need not exist. */
MUST_CHECK int runtime_find_state_dir(const struct options *options, char out[PATH_MAX],
                                      struct error *err);
