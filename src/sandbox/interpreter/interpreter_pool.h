/* kernels.h - the interpreters of one sandbox: spares, which wait for code that wants a fresh
 * one, and sessions, which keep what earlier cells made.
 *
 * A session has a name and a language for as long as its sandbox is in memory. Its interpreter
 * may end; then what it knew is lost, and the next cell is told why. Its cells run one after the
 * other. */
#pragma once
#include <stdbool.h>

#include "base/attr.h"
#include "base/list.h"
#include "sandbox/process/process.h"

struct error;
struct interpreter;
struct kernel_program;
struct kernels;
struct language;
struct sandbox;

enum { SESSIONS_MAX = 16, SESSION_QUEUE_MAX = 16 };

struct kernels *kernels_new(struct sandbox *sandbox);
void kernels_free(struct kernels *kernels);
/* The sandbox has ended, and all interpreters with it. */
void kernels_down(struct kernels *kernels, const char *why);

/* --- spares --- */

/* One to run something fresh in. With env it is one of its own, which goes afterwards. It comes
 * back by itself when the run has ended. */
MUST_CHECK int kernels_borrow(struct kernels *kernels, const struct kernel_program *program,
                              const char *path, const char *const *env, struct interpreter **ret,
                              struct error *err);
/* Whether another one may be had now. Too many that start at once, or are there, are slower
 * together than one after the other. */
bool kernels_have_one(struct kernels *kernels, const struct kernel_program *program,
                      const char *path);

struct kernels_turn { /* all zero: does not wait */
	struct list node;
	void (*begin)(void *ctx); /* one may be had */
	void *ctx;
};
/* First come, first served. list_remove(&turn->node): no more. */
void kernels_wait(struct kernels *kernels, struct kernels_turn *turn);

void kernels_discard(struct kernels *kernels, struct interpreter *interpreter); /* with its run */

/* --- sessions --- */

struct session {
	struct list node;
	struct kernels *kernels;
	char name[SESSION_NAME_MAX + 1];
	char language[32];
	struct interpreter *interpreter; /* NULL: none now */
	unsigned cells;                  /* that were begun */
	bool knows;                      /* one was begun in this interpreter */
	bool is_lost;                    /* what it knew, and nobody has begun anew */
	char why_lost[240];
	struct list queue; /* cells that wait, as struct session_cell */
	unsigned waiting;
	struct session_cell *current;
	struct loop_timer *turn; /* due at once: the next cell's */
};

struct session_cell {
	struct list node;
	struct session *session;
	void (*begin)(void *ctx); /* it is its turn */
	void *ctx;
};

/* The one of that name, made if there is none. */
MUST_CHECK int session_join(struct kernels *kernels, const char *name,
                            const struct language *language, struct session_cell *cell,
                            struct error *err);
void session_leave(struct session_cell *cell); /* whether it ran or not */
/* For the cell whose turn it is: the interpreter, started if there is none. */
MUST_CHECK int session_interpreter(struct session *session, const struct kernel_program *program,
                                   const char *path, struct interpreter **ret, struct error *err);
void session_begin(struct session *session); /* the cell whose turn it is runs */
/* Ends its interpreter. True: it knew something. */
bool session_lose(struct session *session, const char *why);
bool sessions_any_lost(const struct kernels *kernels); /* and nobody was told */
void sessions_each(struct kernels *kernels,
                   void (*each)(void *ctx, const char *name, const char *language, bool is_busy),
                   void *ctx);

/* --- for the two files of this --- */

void session_free(struct session *session);

struct kernels {
	struct sandbox *sandbox;
	struct list spares;      /* and those that are borrowed */
	struct list turns;       /* those who wait for one */
	struct loop_timer *look; /* whether their time has come */
	struct list sessions;    /* the oldest first */
};
