/* sandbox.h - one sandbox: from a wish to files that sleep on disk, and back.
 *
 *   creating -> ready <-> asleep -> deleted
 *                 \-- reset --^
 *
 * Every change of state is written to the registry before it happens. Calls return at once; what
 * they lead to is told by a callback, never from within the call. A sandbox is in memory while
 * it is awake or somebody waits for it. */
#pragma once
#include <stdbool.h>

#include "base/attr.h"
#include "engine/engine.h"
#include "sandbox/registry/registry.h"
#include "sandbox/waiters.h"

struct channel;
struct error;
struct manager;
struct sandbox;

typedef waiter_fn sandbox_fn; /* why NULL: it is so */

struct sandbox_options {
	const char *owner, *name; /* name NULL or "": none */
	struct spec spec;         /* its id and its mounts are made */
	/* Where it sees directories of those that are offered; NULL: all of them. NULL ends it. */
	const char *const *mounts;
	const char *env; /* as in its row; NULL: none */
	uint32_t idle_s, lifetime_s;
	bool temporary; /* goes with the server, if not before */
};

/* A new one; sandbox_wake() tells when it can be used. */
MUST_CHECK int sandbox_create(struct manager *manager, const struct sandbox_options *wish,
                              struct sandbox **ret, struct error *err);
/* The one an owner uses without naming it: found, or made by the wish, whose name is not used. One
 * that another server has awake may be free in a moment; whoever does not want to wait for that is
 * `hasty` and gets "default-2", and so on, which this server then goes on with. */
MUST_CHECK int sandbox_get_default(struct manager *manager, const struct sandbox_options *wish,
                                   bool hasty, struct sandbox **ret, struct error *err);
/* One that exists, by id or name. */
MUST_CHECK int sandbox_find(struct manager *manager, const char *owner, const char *id_or_name,
                            struct sandbox **ret, struct error *err);

/* fn when it is ready; asleep ones are woken, one that is ending as soon as it has ended. */
void sandbox_wake(struct sandbox *sandbox, sandbox_fn *fn, void *ctx);
/* Ends everything in it; fn when it is asleep: its files stay. */
void sandbox_sleep(struct sandbox *sandbox, sandbox_fn *fn, void *ctx);
/* Ends everything in it; fn when it is asleep, as if it had just been made. */
void sandbox_reset(struct sandbox *sandbox, sandbox_fn *fn, void *ctx);
/* Ends everything in it and removes its files; fn when nothing is left. Then it is freed. */
void sandbox_delete(struct sandbox *sandbox, sandbox_fn *fn, void *ctx);

/* fn when it has ended, for whatever reason: sandbox_end_reason() tells it. It is awake now. */
void sandbox_notify_end(struct sandbox *sandbox, sandbox_fn *fn, void *ctx);

/* Somebody did something in it: its row says when that was last. */
void sandbox_touch(struct sandbox *sandbox);

/* While it is held it is not put to sleep for being idle, and stays in memory whatever happens to
 * it: then it has no channel. */
void sandbox_hold(struct sandbox *sandbox);
void sandbox_release(struct sandbox *sandbox);
/* Whether its owner may start one process more; ERR_LIMIT names the quota. */
MUST_CHECK int sandbox_admit_process(struct sandbox *sandbox, struct error *err);

/* As long as it is ready. */
struct channel *sandbox_channel(const struct sandbox *sandbox);
const struct sandbox_row *sandbox_row(const struct sandbox *sandbox);
/* What the kernel counted. False: nobody counts here, or it is not awake. */
bool sandbox_counts(struct sandbox *sandbox, struct engine_counters *ret);
/* Why it ended last, as one line: "" if it did not, or was told to. */
const char *sandbox_end_reason(const struct sandbox *sandbox);
bool sandbox_met_limit(const struct sandbox *sandbox); /* which ended all of it, the last time */
/* When it will be put to sleep or deleted if nothing happens, in seconds from now; -1: never. */
int64_t sandbox_sleeps_in_s(const struct sandbox *sandbox);
int64_t sandbox_expires_in_s(const struct sandbox *sandbox);
/* The environment the sandbox itself brings, for its programs. NULL ends it. */
const char *const *sandbox_env(struct sandbox *sandbox);
struct engine_box *sandbox_box(struct sandbox *sandbox);

/* --- for what runs in a sandbox: process/, interpreter/, copy/ --- */

struct loop;
struct process_limits;
struct processes;

struct loop *sandbox_loop(const struct sandbox *sandbox);
const struct process_limits *sandbox_process_limits(const struct sandbox *sandbox);
/* The processes of the sandbox; there from the sandbox's first moment in memory to its last. */
struct processes *sandbox_processes(struct sandbox *sandbox);
/* A reset was asked for and has not finished. */
bool sandbox_is_resetting(const struct sandbox *sandbox);
/* Reports a process that has ended: to the history, unless the sandbox is temporary, and to the
 * callback process_ended of the manager's configuration. `what` and `outcome` are one line each. */
void sandbox_record_run(struct sandbox *sandbox, int64_t started_s, uint64_t duration_ms,
                        const char *what, const char *outcome);
