/* internal.h - the insides of struct manager and struct sandbox, for the files of src/sandbox.
 *
 *   manager.c        the manager's life, and the end of all sandboxes
 *   sandbox.c        finding, starting and waking a sandbox
 *   sandbox_create.c creating a sandbox; the prepared sandbox
 *   sandbox_end.c    putting a sandbox to sleep, resetting and deleting it
 *   sandbox_update.c changing the name, the limits and the like of a sandbox
 *   sandbox_setup.c  the mounts, the environment and the ceilings of a sandbox
 *   sandbox_history.c what is recorded about runs and connections
 *   sandbox_facts.c  answers to questions about a sandbox: times, limits, counters
 *   sandbox_advice.c who reads messages about a sandbox, and how that reader gets more of a limit
 *   sandbox_network.c the network policy, and the gate of a sandbox that is awake
 *   sandbox_python.c Python for the image of a sandbox
 *   guest.c          sandboxes that another server has awake
 *   default.c idle.c quota.c sweep.c   policies over all sandboxes
 *
 * Code that runs things in a sandbox uses the accessors of sandbox.h instead. */
#pragma once
#include "base/error.h"
#include "base/list.h"
#include "engine/engine.h"
#include "sandbox/manager.h"
#include "sandbox/sandbox.h"
#include "sandbox/waiters.h"

struct gate;
struct gate_log;
struct history;

/* The default sandbox that the calls of an owner used last: default.c. */
enum { DEFAULT_USES_MAX = 32 };
struct default_use {
	char owner[OWNER_MAX + 1];
	char id[SPEC_ID_LEN + 1]; /* "": the entry is free */
};

struct manager {
	struct loop *loop;
	struct manager_config config;
	struct store *store;
	struct engine *engine;
	struct list sandboxes;    /* in memory; all but `prepared` are known to the registry */
	struct list unloaded;     /* no longer in `sandboxes`, freed when no caller holds them */
	struct loop_timer *timer; /* for idle time-outs and lifetimes: idle.c */
	int64_t expiry_checked_s; /* when the registry was last searched for expired rows */
	struct history *history;
	struct list sweeps;       /* directories without an owner that the engine is removing */
	struct list stop_waiters; /* callers of manager_stop() */
	struct list guest_calls;  /* requests to other servers: guest.c */
	bool is_stopping;         /* no sandbox is created or woken any more */
	struct sandbox *prepared; /* one of `sandboxes`, without a row; NULL: none */
	struct default_use default_uses[DEFAULT_USES_MAX]; /* of the owners that called last */
	size_t next_default_use;                           /* the entry that is replaced next */
};

enum phase {
	PHASE_ASLEEP,
	PHASE_STARTING,  /* the engine is making the sandbox */
	PHASE_HANDSHAKE, /* the agent runs, but has not sent READY */
	PHASE_READY,
	PHASE_ENDING,   /* the engine is killing it */
	PHASE_CLEARING, /* the engine removes the files; the sandbox stays */
	PHASE_ERASING,  /* the engine removes the files; the row follows */
	PHASE_DELETED,
};

/* The events that callers wait for: see waiters.h. */
enum sandbox_event {
	EVENT_READY,
	EVENT_ENDED, /* nothing runs any more; sandbox_notify_end() */
	EVENT_ASLEEP,
	EVENT_RESET, /* the files are gone */
	EVENT_DELETED,
	/* The sandbox is ending, and these callers want it awake: they become waiters for
	 * EVENT_READY as soon as it is asleep. */
	EVENT_WAKE_AGAIN,
};

struct sandbox {
	struct list node; /* in manager->sandboxes or manager->unloaded */
	struct manager *manager;
	struct sandbox_row row;
	enum phase phase;
	struct engine_box *box;  /* from PHASE_STARTING to the engine's last event */
	struct channel *channel; /* from PHASE_HANDSHAKE on */
	struct waiters waiters;  /* by enum sandbox_event */
	struct processes *processes;
	unsigned holds;       /* see sandbox_hold() */
	unsigned ends;        /* how often it has ended: sandbox_ends() */
	unsigned uses;        /* 1 + calls of sandbox_hold() since its creation; 0: not known */
	uint64_t active_ms;   /* last use, on the monotonic clock */
	uint64_t awake_ms;    /* when it became ready last, likewise */
	int64_t saved_used_s; /* last use as written to the row, wall clock */
	char **env;           /* of its programs; NULL: not computed yet */
	struct gate *gate;    /* while it is awake; NULL: it has no network */
	struct gate *installers[SANDBOX_INSTALLERS]; /* see sandbox_open_installer(); or NULL */
	uint64_t installer_serials[SANDBOX_INSTALLERS];
	struct net_once *once;    /* hosts of sandbox_allow_once(); NULL: none */
	struct files_op *placing; /* of sandbox_place_trusted(); or NULL */
	void (*placed)(struct sandbox *sandbox);
	struct gate_log *gate_log; /* NULL: no program has had a network */
	bool is_unloaded;          /* in manager->unloaded */
	bool is_guest;             /* awake in another server; `box` is NULL then */
	bool is_clean;         /* a reset has just removed the files: waking need not do it again */
	bool reset_pending;    /* to be cleared as soon as it has ended */
	bool delete_pending;   /* to be deleted as soon as it has ended */
	bool erase_requested;  /* the engine is removing the files for good, or will */
	bool met_limit;        /* the last end was a limit on memory, disk or locks */
	bool replaces_default; /* see sandbox_take_replacement() */
	struct engine_progress progress; /* of what takes long for the engine; "": none */
	char path[ENGINE_PATH_SIZE];     /* PATH of its image; "" */
	char reason[480];                /* why it ended last */
	char lowered[480]; /* the limits that are below those of its creation, in words; "" */
};

/* --- manager.c --- */

/* Calls the waiters of manager_stop() if nothing is awake and no sweep is running. */
void manager_check_stopped(struct manager *manager);
/* Sets the error for requests that come after manager_stop(). Returns -1. */
int manager_stopping_error(struct error *err);

/* --- idle.c --- */

void idle_start(struct manager *manager);
void idle_check_soon(struct manager *manager); /* a sandbox became ready */
void idle_stop(struct manager *manager);
/* When the lifetime of the row's sandbox is over, by the wall clock; 0: never. */
int64_t sandbox_expiry_s(const struct sandbox_row *row);

/* --- quota.c: fail with ERR_LIMIT, naming the quota --- */

MUST_CHECK int quota_admit_new(struct manager *manager, const char *owner, const struct spec *spec,
                               struct error *err);
/* The disk limit of an existing sandbox changes from `before` to `bytes`. */
MUST_CHECK int quota_admit_disk(struct manager *manager, const char *owner, uint64_t before,
                                uint64_t bytes, struct error *err);
MUST_CHECK int quota_admit_awake(struct manager *manager, const char *owner,
                                 const struct spec *spec, struct error *err);

/* --- guest.c --- */

/* Whether another server that is alive has the sandbox awake. A row that names a dead server does
 * not count: sandbox_claim() recovers it. */
bool guest_is_used_elsewhere(const struct manager *manager, const struct sandbox_row *row);
/* Each of these returns false, and does nothing, unless another server has the sandbox awake. The
 * first is to be called in PHASE_ASLEEP; *ret is -1 if the connection could not be requested. */
MUST_CHECK bool guest_wake(struct sandbox *sandbox, int *ret, struct error *err);
MUST_CHECK bool guest_delete(struct sandbox *sandbox, sandbox_fn *fn, void *ctx);
MUST_CHECK bool guest_update(struct sandbox *sandbox, const struct sandbox_changes *changes,
                             sandbox_fn *fn, void *ctx);
MUST_CHECK bool guest_reset(struct sandbox *sandbox, sandbox_fn *fn, void *ctx);
/* Closes the connection to the holder, after which the sandbox is asleep for this server. */
void guest_disconnect(struct sandbox *sandbox);
void guest_free_calls(struct manager *manager);

/* --- sweep.c --- */

/* Takes over the rows of servers that have died since the last call. */
void manager_recover(struct manager *manager);
void manager_free_sweeps(struct manager *manager);

/* --- sandbox.c --- */

struct sandbox *sandbox_add(struct manager *manager, const struct sandbox_row *row);
/* Has the engine start a sandbox that is asleep or new. */
MUST_CHECK int sandbox_start(struct sandbox *sandbox, struct error *err);
/* Makes a sandbox READY, here or as a guest, and notifies its waiters. */
void sandbox_enter_ready(struct sandbox *sandbox);
/* Wakes a sandbox that has just become ASLEEP, if callers have asked for it meanwhile. */
void sandbox_wake_again(struct sandbox *sandbox);

/* --- sandbox_create.c --- */

/* Deletes the prepared sandbox, if there is one. */
void prepared_delete(struct manager *manager);

/* --- sandbox_end.c --- */

/* Writes the state to the row. A failure is only logged: the row then names this server in a state
 * that recovery corrects once this server is dead. */
void sandbox_set_state(struct sandbox *sandbox, enum sandbox_state state);
/* Makes the sandbox this server's in the registry and reads the row again. */
MUST_CHECK int sandbox_claim(struct sandbox *sandbox, struct error *err);
void sandbox_kill(struct sandbox *sandbox);
/* The engine has reported its last event: nothing of the sandbox runs any more. */
void sandbox_handle_end(struct sandbox *sandbox, const struct error *why);
/* Removes the sandbox from the manager's list. Its memory is freed in the next turn of the loop, or
 * when the last holder releases it. */
void sandbox_unload(struct sandbox *sandbox);
/* Starts removing the files for a reset. */
void sandbox_clear(struct sandbox *sandbox);
void sandbox_stop_all(struct manager *manager);
bool sandbox_any_awake(const struct manager *manager);
void sandbox_notify_all(struct manager *manager, const struct error *why);
void sandbox_free_all(struct manager *manager);

/* --- sandbox_update.c --- */

/* Copies what sandbox_update() can change from a row of the registry. */
void sandbox_adopt_row(struct sandbox *sandbox, const struct sandbox_row *row);

/* --- sandbox_network.c --- */

enum { SANDBOX_NETWORK_ENV_MAX = 56 };
/* The CAs that programs trust, if TLS is intercepted. */
#define SANDBOX_TRUSTED SPEC_HOME "/.config/belljar/ca-certificates.pem"
/* Writes that file, if there is one, before any program runs. */
void sandbox_place_trusted(struct sandbox *sandbox, void (*placed)(struct sandbox *sandbox));
/* Starts the gate of a sandbox that is ready, applies a changed policy to it, or stops it. */
void sandbox_start_gate(struct sandbox *sandbox);
void sandbox_stop_gates(struct sandbox *sandbox); /* also those of installers */
/* The row has another policy now; `before` was the mode in force. */
void sandbox_network_changed(struct sandbox *sandbox, enum net_mode before);
/* Writes "NAME=value" strings from malloc into `env`, which has room for SANDBOX_NETWORK_ENV_MAX.
 * Returns their number. */
size_t sandbox_network_env(const struct sandbox *sandbox, char **env);
/* --- sandbox_history.c --- */

/* Writes a line to the history, unless the sandbox is temporary. */
void sandbox_add_history(struct sandbox *sandbox, int64_t started_s, uint64_t duration_ms,
                         const char *what, const char *outcome);

/* --- sandbox_setup.c --- */

/* Whether the row's sandbox was made by the engine of this server. */
bool sandbox_has_engine(const struct manager *manager, const struct sandbox_row *row);
/* Fails, naming both engines, if it was not. */
MUST_CHECK int sandbox_check_engine(const struct sandbox *sandbox, struct error *err);
/* Records in *row which shared directories the options ask for. */
MUST_CHECK int sandbox_choose_mounts(const struct manager *manager, const char *const *targets,
                                     struct sandbox_row *row, struct error *err);
/* Fills row->spec.mounts by the shared directories that this server has now. */
void sandbox_fill_mounts(const struct manager *manager, struct sandbox_row *row);
/* Lowers the limits and devices in sandbox->row to the manager's ceilings: the operator may have
 * lowered them since the sandbox was created, or it was created on a larger machine. The registry
 * keeps the old ones. */
void sandbox_lower_limits(struct sandbox *sandbox);
/* Sets the PATH that the image of the sandbox names, before any program runs. */
void sandbox_set_path(struct sandbox *sandbox, const char *path);
char **sandbox_make_env(const struct sandbox *sandbox);
void sandbox_free_env(char **env);
