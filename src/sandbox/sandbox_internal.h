/* sandbox_internal.h - what the files of a sandbox share.
 *
 *   sandbox.c      how it is made and woken, and all that is asked of it
 *   sandbox_end.c  how it ends: asleep, deleted, or with all others */
#pragma once
#include "base/error.h"
#include "base/list.h"
#include "sandbox/manager_internal.h"
#include "sandbox/sandbox.h"
#include "sandbox/waiters.h"

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

/* --- process_list.c --- */

struct processes *processes_new(struct sandbox *sandbox);
/* It has ended: so has everything in it, and what its sessions knew. Before the channel goes. */
void processes_down(struct processes *processes, const struct error *why);
/* Somebody may still want to know which sessions were lost, or how something ended. */
bool processes_worth_keeping(const struct processes *processes);
/* Those that still wait hear nothing more. */
void processes_free(struct processes *processes);

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
