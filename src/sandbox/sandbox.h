/* sandbox.h - one sandbox over its whole life: created, awake, asleep on disk, deleted.
 *
 *   creating -> awake <-> asleep -> deleted
 *                 \-- reset --^
 *
 * Every change of state is written to the registry before it takes effect. Calls return at once;
 * their result is reported by a callback from the loop, never from within the call.
 *
 * The manager owns every struct sandbox. The struct is in memory while the sandbox is awake, while
 * a caller waits for it or holds it, and for some minutes afterwards. A caller that keeps a pointer
 * across turns of the loop must hold the sandbox (sandbox_hold).
 *
 * A sandbox that another server of the owner has awake is used through that server: all calls below
 * work on it, and its end by that server is an end here. */
#pragma once
#include <stdbool.h>

#include "base/attr.h"
#include "engine/engine.h"
#include "sandbox/registry/registry.h"
#include "sandbox/waiters.h"

struct channel;
struct error;
struct gate_log;
struct loop;
struct manager;
struct process_limits;
struct processes;
struct sandbox;

typedef waiter_fn sandbox_fn; /* why NULL: success */

struct sandbox_options {
	const char *owner, *name; /* name NULL or "": the sandbox has none */
	struct spec spec;         /* sandbox_create() fills in the id and the mounts */
	/* Targets of the shared directories to mount, NULL behind the last; NULL: all of them. */
	const char *const *mounts;
	const char *env;    /* in the format of sandbox_row.env; NULL: none */
	const char *labels; /* in the format of sandbox_row.labels; NULL: none */
	enum net_mode network;
	const char *network_allow; /* in the format of sandbox_row.network_allow; NULL: none */
	uint32_t idle_s, lifetime_s;
	bool temporary; /* deleted when the server exits, if not before */
};

/* Creates a sandbox and starts it; sandbox_wake() reports when it is ready. */
MUST_CHECK int sandbox_create(struct manager *manager, const struct sandbox_options *options,
                              struct sandbox **ret, struct error *err);
/* Finds or creates the sandbox that calls of this owner use when they name none. options->name is
 * ignored: the name is "default". With `skip_busy`, for callers that could not connect to the
 * server that has the default sandbox awake, "default-2", "default-3" ... is used instead, and this
 * server then keeps using that one. Without `skip_busy` the sandbox is returned even if another
 * server has it awake; sandbox_wake() then connects to that server. */
MUST_CHECK int sandbox_get_default(struct manager *manager, const struct sandbox_options *options,
                                   bool skip_busy, struct sandbox **ret, struct error *err);
/* Whether calls without a named sandbox use this one because the one that they used before was
 * deleted, perhaps by another server or `belljar rm`, or has expired. True once. */
bool sandbox_take_replacement(struct sandbox *sandbox);
/* Finds an existing sandbox of this owner by id or name. */
MUST_CHECK int sandbox_find(struct manager *manager, const char *owner, const char *id_or_name,
                            struct sandbox **ret, struct error *err);

/* Wakes the sandbox if it is asleep; a sandbox that is ending is woken after it has ended. Calls fn
 * when the sandbox is ready. */
void sandbox_wake(struct sandbox *sandbox, sandbox_fn *fn, void *ctx);
/* Kills everything inside; the files stay. Calls fn when the sandbox is asleep. */
void sandbox_sleep(struct sandbox *sandbox, sandbox_fn *fn, void *ctx);
/* Kills everything inside and removes the files. Calls fn when the sandbox is asleep and empty. */
void sandbox_reset(struct sandbox *sandbox, sandbox_fn *fn, void *ctx);
/* Kills everything inside, removes the files and the row. Calls fn when all are gone; after that
 * the sandbox is freed as soon as no caller holds it. */
void sandbox_delete(struct sandbox *sandbox, sandbox_fn *fn, void *ctx);
/* Calls fn when a sandbox that is awake has ended, for whatever reason: sandbox_end_reason(). */
void sandbox_notify_end(struct sandbox *sandbox, sandbox_fn *fn, void *ctx);
/* Removes a callback of sandbox_notify_end(). If the end was already reported to the loop, the
 * callback is still called once, before every deferred call that the caller adds from now on. */
void sandbox_cancel_notify_end(struct sandbox *sandbox, sandbox_fn *fn, void *ctx);
/* Whether this server itself has the sandbox awake, or is waking or ending it. */
bool sandbox_is_awake_here(const struct sandbox *sandbox);
/* Finds a sandbox of any owner that is awake here, by its id: for other processes of the user who
 * started belljar, which have checked the owner themselves. */
MUST_CHECK int sandbox_find_awake(struct manager *manager, const char *id, struct sandbox **ret,
                                  struct error *err);

/* The changes that sandbox_update() makes. A variable or label without a value is removed; the
 * others are set and those not named stay. */
struct sandbox_changes {
	const char *name;           /* NULL: stays; "": none */
	const char *env, *labels;   /* as in struct sandbox_options; "": stay */
	int64_t idle_s, lifetime_s; /* -1: stays; 0: never; the lifetime is counted from now */
	struct spec_limits limits;  /* only memory, cpu, pids and disk; 0: stays */
	int network;                /* enum net_mode; -1: the policy stays */
	const char *network_allow;  /* as in struct sandbox_options, if `network` is given */
};
/* Changes a sandbox that is asleep or awake; limits of one that is awake change at once, except
 * that its files may become as large as a larger disk only when it wakes again. Either everything
 * changes or nothing. `changes` must live until fn is called, and the caller must hold the sandbox
 * until then. */
void sandbox_update(struct sandbox *sandbox, const struct sandbox_changes *changes, sandbox_fn *fn,
                    void *ctx);

/* Restarts the idle time-out and updates the row's time of last use. */
void sandbox_touch(struct sandbox *sandbox);
/* A held sandbox does not go to sleep for being idle, and its struct stays in memory even if it is
 * deleted meanwhile; sandbox_channel() is NULL then. */
void sandbox_hold(struct sandbox *sandbox);
void sandbox_release(struct sandbox *sandbox);
/* Fails with ERR_LIMIT, naming the quota, if the owner may not start another process. */
MUST_CHECK int sandbox_admit_process(struct sandbox *sandbox, struct error *err);

/* True for a new sandbox that only one caller has held so far: no file has been written to it yet,
 * other than by an image. */
bool sandbox_is_untouched(const struct sandbox *sandbox);
/* When the sandbox became ready last, of clock_now_ms(): another value after each sleep and each
 * reset. */
uint64_t sandbox_awake_ms(const struct sandbox *sandbox);
/* NULL unless the sandbox is ready. */
struct channel *sandbox_channel(const struct sandbox *sandbox);
const struct sandbox_row *sandbox_row(const struct sandbox *sandbox);
/* The engine's work that takes long: it pulls an image before the sandbox can start, or adds Python
 * to it. NULL: there is none. */
const struct engine_progress *sandbox_progress(const struct sandbox *sandbox);
/* Reads the cgroup's counters. False: there is no cgroup, or the sandbox is not awake. */
bool sandbox_counts(struct sandbox *sandbox, struct engine_counters *ret);
/* Like sandbox_counts(), but reads memory_kills and pids_refused only. */
bool sandbox_refusals(struct sandbox *sandbox, struct engine_counters *ret);
/* How often the sandbox has ended in this server: another number than before means that all that
 * ran in it is gone, although it may be awake again. */
unsigned sandbox_ends(const struct sandbox *sandbox);
/* Why the sandbox ended last, as one line; "" if it never did, or ended on request. */
const char *sandbox_end_reason(const struct sandbox *sandbox);
/* The limits that are lower than those it was created with, because the operator's ceilings are
 * lower now; "" if there are none. */
const char *sandbox_lowered_limits(const struct sandbox *sandbox);
/* The reader of the messages about a sandbox. Advice names only what that reader can use. */
enum sandbox_reader {
	SANDBOX_FOR_TOOLS,   /* a model that has the default tools */
	SANDBOX_FOR_PROFILE, /* a model that has the tools of the profile that made the sandbox */
	SANDBOX_FOR_PERSON,  /* a person at a terminal, who has flags of belljar */
};
enum sandbox_reader sandbox_reader(const struct sandbox *sandbox);
/* The label of a sandbox that a profile has made; its value is the profile's name. */
#define SANDBOX_PROFILE_LABEL "profile"
/* The value of a label, or NULL. */
const char *sandbox_label(const struct sandbox_row *row, const char *name);
/* The argument `sandbox` of a call about this sandbox, for advice: its id, or NULL for the default
 * sandbox, which calls use without naming it. */
const char *sandbox_argument(const struct sandbox *sandbox);
/* Writes how the reader gets more of a limit than `now`, in units of `unit`: `or update_sandbox
 * {"pids":1024}` (with "sandbox", if it is not the default one), `or have the operator set --pids
 * 1024`, `or give a new sandbox --pids 1024`, or that the ceiling `max` is reached. `argument` is
 * that of update_sandbox; the name of one in MiB ends in "_mb". Returns out. */
enum { SANDBOX_MORE_SIZE = 120 };
const char *sandbox_more_of(const struct sandbox *sandbox, const char *argument, uint64_t now,
                            uint64_t max, uint64_t unit, char out[SANDBOX_MORE_SIZE]);
/* The same for the limits of memory and processes while the sandbox is awake. Without cgroups they
 * are set when the sandbox starts and update_sandbox refuses to change them, so that the reader
 * needs another sandbox: `or create_sandbox {"pids":1024}`. */
const char *sandbox_more_while_awake(struct sandbox *sandbox, const char *argument, uint64_t now,
                                     uint64_t max, uint64_t unit, char out[SANDBOX_MORE_SIZE]);
/* Writes which limit stops a single file from growing, and how the reader gets more: "disk: one
 * file may have at most 15.5 MiB ...", or "file-size: one file may have at most ...". Returns
 * out. */
enum { SANDBOX_FILE_MAX_SIZE = 280 };
#define SANDBOX_ONE_FILE "one file may have at most "
const char *sandbox_file_max(const struct sandbox *sandbox, char out[SANDBOX_FILE_MAX_SIZE]);
/* Error texts that programs and shells print when RLIMIT_FSIZE refuses a write (EFBIG). */
#define SANDBOX_FILE_MAX_MESSAGES "File too large", "file too large", "File size limit exceeded"
/* Writes that the disk limit is reached, and how the reader gets room. Returns out. */
#define SANDBOX_NO_ROOM "disk: no room is left"
const char *sandbox_no_room(const struct sandbox *sandbox, char out[SANDBOX_FILE_MAX_SIZE]);
/* Writes that the limit of processes is reached, and how the reader gets room. Returns out. */
const char *sandbox_no_process(struct sandbox *sandbox, char out[SANDBOX_FILE_MAX_SIZE]);
/* The network policy in force, which is below that of the row if the operator has lowered the
 * ceiling. */
enum net_mode sandbox_network_mode(const struct sandbox *sandbox);
/* Allows further hosts for SANDBOX_ONCE_MS, until the sandbox is put to sleep at the latest, and
 * keeps that in memory only: hosts is in the format of sandbox_row.network_allow. The sandbox may
 * be asleep: the time begins now. ERR_UNSUPPORTED: another server has the sandbox awake. */
enum { SANDBOX_ONCE_MS = 600 * 1000 };
MUST_CHECK int sandbox_allow_once(struct sandbox *sandbox, const char *hosts, struct error *err);
/* Lets one run of an installer reach the package indexes, or `hosts` if that is not NULL, and
 * nothing else, whatever the policy of the sandbox is: through a proxy that wants a password.
 * sandbox_close_installer() ends that, and so does the end of the sandbox. ERR_LIMIT: too many at a
 * time; ERR_UNSUPPORTED: the operator allows no network. */
enum { SANDBOX_INSTALLERS = 2 };
struct sandbox_installer {
	unsigned slot;
	uint64_t serial;
	char proxy[96]; /* a URL with the password, for HTTP_PROXY */
};
MUST_CHECK int sandbox_open_installer(struct sandbox *sandbox, const struct host_rules *hosts,
                                      struct sandbox_installer *ret, struct error *err);
void sandbox_close_installer(struct sandbox *sandbox, const struct sandbox_installer *installer);
/* Makes an image that is the one of this sandbox, which is awake, with Python in addition: see
 * add_python() in engine.h. The installer reaches the package servers that the image names, as far
 * as the operator allows them, and nothing else. Calls fn with the name of the image, or with NULL
 * and the reason; the caller holds the sandbox until then. */
void sandbox_add_python(struct sandbox *sandbox, engine_image_fn *fn, void *ctx);
/* The connections that programs tried to make. */
struct gate_log *sandbox_gate_log(struct sandbox *sandbox);
/* The most that a sandbox of this server may get. */
const struct spec_limits *sandbox_ceilings(const struct sandbox *sandbox);
/* Whether the last end was the engine's answer to a memory or disk limit. */
bool sandbox_met_limit(const struct sandbox *sandbox);
/* Seconds until the sandbox is put to sleep or deleted if nothing happens; -1: never. */
int64_t sandbox_sleeps_in_s(const struct sandbox *sandbox);
int64_t sandbox_expires_in_s(const struct sandbox *sandbox);
/* The variables that the sandbox adds to its programs' environment; NULL behind the last. */
const char *const *sandbox_env(struct sandbox *sandbox);

/* --- for the code that runs things in a sandbox: process/, interpreter/, run/ --- */

struct loop *sandbox_loop(const struct sandbox *sandbox);
const struct process_limits *sandbox_process_limits(const struct sandbox *sandbox);
/* The list of the sandbox's processes, which lives as long as the struct sandbox. */
struct processes *sandbox_processes(struct sandbox *sandbox);
/* Whether a reset was requested and has not finished. */
bool sandbox_is_resetting(const struct sandbox *sandbox);
/* Adds a process that starts to the history, unless the sandbox is temporary. sandbox_record_run()
 * with the same `started_s` and `what` replaces that. */
void sandbox_record_start(struct sandbox *sandbox, int64_t started_s, const char *what);
/* Reports a finished process: to the history, unless the sandbox is temporary, and to the manager's
 * process_ended callback. `what` and `outcome` are one line each. */
void sandbox_record_run(struct sandbox *sandbox, int64_t started_s, uint64_t duration_ms,
                        const char *what, const char *outcome);
