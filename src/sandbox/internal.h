/* internal.h - what the files of src/sandbox share: the insides of struct manager and struct sandbox.
 *
 * Only the state machine and what decides over it knows these structs. Everything that runs in a
 * sandbox (process/, interpreter/, copy/) uses the accessors of sandbox.h. */
#pragma once
#include "base/error.h"
#include "base/list.h"
#include "engine/engine.h"
#include "sandbox/manager.h"
#include "sandbox/sandbox.h"
#include "sandbox/waiters.h"

struct history;

struct manager {
	struct loop *loop;
	struct manager_config config;
	struct store *store;
	struct engine *engine;
	struct list sandboxes;   /* those in memory */
	struct list forgotten;   /* deleted, and still held by somebody */
	struct loop_timer *tick; /* for those that are idle or whose time is over */
	int64_t looked_s;        /* when it was last asked whose time is over */
	struct history *history;
	struct list swept;   /* directories being erased that nobody owns */
	struct list endings; /* who wants to hear when all have ended */
	bool is_over;        /* nothing is made or woken any more */
};

/* manager.c: tells those who wait for the end if it is there. */
void manager_check_stopped(struct manager *manager);
/* What is asked for after the end has begun. Returns -1. */
int manager_stopping_error(struct error *err);

/* idle.c */
void idle_start(struct manager *manager);
void idle_check_soon(struct manager *manager); /* something was woken */
void idle_stop(struct manager *manager);

/* quota.c: whether an owner may have this one too, or have it awake. */
MUST_CHECK int quota_admit_new(struct manager *manager, const char *owner, const struct spec *spec,
                               struct error *err);
MUST_CHECK int quota_admit_awake(struct manager *manager, const char *owner,
                                 const struct spec *spec, struct error *err);

/* sweep.c */
/* The rows of servers that died meanwhile are put right. */
void manager_recover(struct manager *manager);
void manager_free_swept(struct manager *manager);

/* sandbox_end.c */
void sandbox_end_all(struct manager *manager);
bool sandbox_any_awake(const struct manager *manager);
void sandbox_tell_all(struct manager *manager, const struct error *why);
void sandbox_free_all(struct manager *manager);

enum phase {
	PHASE_ASLEEP,
	PHASE_MAKING,   /* the engine makes it */
	PHASE_GREETING, /* the agent is there, and not yet ready */
	PHASE_READY,
	PHASE_ENDING,   /* it was told to end */
	PHASE_CLEARING, /* its files go, and it stays */
	PHASE_ERASING,  /* its files go */
	PHASE_DELETED,
};

struct processes;

struct sandbox {
	struct list node;
	struct manager *manager;
	struct sandbox_row row;
	enum phase phase;
	struct engine_box *box;
	struct channel *channel;
	/* For READY, ENDING (it is over), ASLEEP or DELETED; MAKING: to wake when it is over. */
	struct waiters waiters;
	struct processes *processes; /* what was started in it; see process.h */
	unsigned holds;              /* see sandbox_hold() */
	uint64_t active_ms;          /* when it was held last, on the clock of clock.h */
	int64_t noted_s;             /* what the row says of its last use */
	char **env;                  /* of its programs; NULL: not asked for yet */
	bool is_forgotten;           /* freed when nobody holds it any more */
	bool is_clean;               /* its files were removed just now, to be made anew */
	bool resetting;              /* to be cleared as soon as it has ended */
	bool is_erased;              /* or will be: the engine has been asked */
	bool doomed;                 /* to be deleted as soon as it has ended */
	bool met_limit;              /* the engine said so */
	char reason[480];            /* why it ended last */
};

/* --- sandbox.c --- */

/* Those who asked for it while it was ending get it now. */
void sandbox_wake_again(struct sandbox *sandbox);

/* --- sandbox_end.c --- */

/* A row that could not be written is put right by the next start. */
void sandbox_set_state(struct sandbox *sandbox, enum sandbox_state state);
/* Makes it this server's; then its row is as it is in the registry. */
MUST_CHECK int sandbox_claim(struct sandbox *sandbox, struct error *err);
void sandbox_end(struct sandbox *sandbox);
/* The engine has nothing of it any more. */
void sandbox_is_down(struct sandbox *sandbox, const struct error *why);
/* Takes it out of the manager; its memory goes with the next turn of the loop, or when nobody holds
 * it any more. */
void sandbox_forget(struct sandbox *sandbox);
/* Removes its files; then it is asleep and will be made anew. */
void sandbox_clear(struct sandbox *sandbox);

/* --- sandbox_env.c --- */

char **sandbox_make_env(const struct sandbox *sandbox);
void sandbox_free_env(char **env);
