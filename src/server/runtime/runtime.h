/* runtime.h - everything that running sandboxes needs, put together: state directory, spawner,
 * engine, manager. The server, the doctor and each verb that uses sandboxes have one.
 *
 *   runtime_prepare  before the process has a loop, a socket or a thread: forks the spawner
 *   runtime_new      the rest; `ready` reports when sandboxes can be created, or why they cannot
 *   runtime_stop     puts everything to sleep -> runtime_free */
#pragma once
#include <limits.h>
#include <sys/types.h>

#include "base/attr.h"
#include "base/cleanup.h"
#include "egress/dialer/dialer.h"
#include "egress/intercept/intercept.h"
#include "engine/native/ids/ids.h"
#include "sandbox/registry/registry.h"
#include "server/options/options.h"
#include "server/runtime/ceilings.h"

struct cdi;
struct engine_report;
struct error;
struct loop;
struct manager;
struct network;
struct options;
struct runtime;

enum { RUNTIME_MOUNTS_MAX = SPEC_MOUNTS_MAX };

struct runtime_base {
	char state[PATH_MAX];
	char database[PATH_MAX];
	char instance[INSTANCE_LEN + 1];
	int servers, lock;         /* see registry/instances.h */
	uid_t user;                /* who started belljar */
	int listener;              /* of a server; -1: other processes cannot use its sandboxes */
	struct ids_taken taken;    /* only while the spawner is being started */
	enum engine_choice engine; /* native or docker, also where the option is auto */
	pid_t spawner;             /* the spawner, or the broker */
	int socket;                /* to that process */
	char *require;             /* layers without which `ready` fails; or NULL */
	char *targets[RUNTIME_MOUNTS_MAX]; /* where sandboxes see the shared directories */
	size_t target_count;
	struct cdi *gpus;  /* devices that sandboxes may use; or NULL */
	uint64_t gpus_max; /* bit n: a sandbox may have device n */
	struct ceilings ceilings;
	struct network *network;   /* the operator's settings about networks */
	struct dialer dialer;      /* no process: no sandbox has a network */
	struct dialer mirror;      /* of packages; no process: there is none */
	struct dialer interceptor; /* of TLS; likewise */
	struct intercept_config intercept_config;
	char *trusted; /* the CAs that programs trust, in PEM, if TLS is intercepted; or NULL */
};

MUST_CHECK int runtime_prepare(const struct options *options, struct runtime_base *ret,
                               struct error *err);
/* Ends the spawner again, if runtime_new() is not called. */
void runtime_base_close(struct runtime_base *base);

typedef void runtime_ready_fn(void *ctx, const struct error *why);
/* Takes over the base, also on failure. */
MUST_CHECK int runtime_new(struct loop *loop, struct runtime_base *base,
                           const struct options *options, runtime_ready_fn *ready, void *ctx,
                           struct runtime **ret, struct error *err);
void runtime_stop(struct runtime *runtime, void (*done)(void *ctx), void *ctx);
/* Waits for the spawner to exit: when this returns, no process of a sandbox is left. */
struct runtime *runtime_free(struct runtime *runtime);
DEFINE_CLEANUP(runtime)

struct manager *runtime_manager(struct runtime *runtime);
const struct engine_report *runtime_report(
        const struct runtime *runtime); /* valid once `ready` was called */

/* Sets the callback for processes that have ended. Call it before any sandbox is used. */
void runtime_on_process_end(struct runtime *runtime,
                            void (*fn)(void *ctx, const struct sandbox_row *row), void *ctx);
/* Sets the callback for the loss of the spawner: from then on every operation fails. */
void runtime_on_lost(struct runtime *runtime, void (*fn)(void *ctx, const struct error *why),
                     void *ctx);

/* The owner's quotas in it are final once `ready` was called. */
const struct ceilings *runtime_ceilings(const struct runtime *runtime);
bool runtime_allows_gpus(const struct runtime *runtime);
/* Chooses devices as a bit mask: `which` is none, auto for all that are allowed, a number or a
 * name. Refuses devices that the operator does not allow. */
MUST_CHECK int runtime_choose_gpu(const struct runtime *runtime, const char *which, uint64_t *ret,
                                  struct error *err);
/* Whether the creator of a sandbox may name an image. */
bool runtime_has_images(const struct runtime *runtime);
/* The engine, for its words about itself. */
struct engine_ops;
const struct engine_ops *runtime_engine(const struct runtime *runtime);
/* The settings about networks; NULL: no sandbox has one. */
const struct network *runtime_network(const struct runtime *runtime);
/* Whether installers get packages from the mirror (egress/mirror/mirror.h). */
bool runtime_has_mirror(const struct runtime *runtime);
/* The spec of a sandbox whose creator sets nothing else. */
MUST_CHECK int runtime_default_spec(const struct runtime *runtime, const struct options *options,
                                    struct spec *ret, struct error *err);
/* The engine that runtime_prepare() would start: native or docker. With --engine auto that is the
 * native one unless a step of making a sandbox fails here, which is tried in a child process, and
 * there is a Docker. */
enum engine_choice runtime_choose_engine(const struct options *options);
/* The absolute path of the state directory, which need not exist: --state-dir, or the default. */
MUST_CHECK int runtime_find_state_dir(const struct options *options, char out[PATH_MAX],
                                      struct error *err);
/* Other users must not be able to replace the state directory, or anything in it: the spawner
 * trusts what it finds there, and root gives files in it to the server's id (confine_choose_id).
 * `path` is a path without links, as realpath(3) returns it. */
MUST_CHECK int runtime_check_state_dir(const char *path, struct error *err);
