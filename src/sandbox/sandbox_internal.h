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
	PHASE_ENDING,  /* it was told to end */
	PHASE_ERASING, /* its files go */
	PHASE_DELETED,
};

struct sandbox {
	struct list node;
	struct manager *manager;
	struct sandbox_row row;
	enum phase phase;
	struct engine_box *box;
	struct channel *channel;
	/* For READY, ENDING (it is over), ASLEEP or DELETED; MAKING: to wake when it is over. */
	struct waiters waiters;
	char **env;       /* of its programs; NULL: not asked for yet */
	bool is_erased;   /* or will be: the engine has been asked */
	bool doomed;      /* to be deleted as soon as it has ended */
	bool met_limit;   /* the engine said so */
	char reason[480]; /* why it ended last */
};

/* --- sandbox.c --- */

/* Those who asked for it while it was ending get it now. */
void sandbox_wake_again(struct sandbox *sandbox);

/* --- sandbox_end.c --- */

/* A row that could not be written is put right by the next start. */
void sandbox_set_state(struct sandbox *sandbox, enum sandbox_state state);
void sandbox_end(struct sandbox *sandbox);
/* The engine has nothing of it any more. */
void sandbox_is_down(struct sandbox *sandbox, const struct error *why);
/* Takes it out of the manager; its memory goes with the next turn of the loop. */
void sandbox_forget(struct sandbox *sandbox);
