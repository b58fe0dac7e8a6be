/* interpreter_pool.h - the interpreters of one sandbox.
 *
 * Spares wait for code that needs a fresh interpreter. A session is an interpreter that keeps the
 * state of its earlier cells. A session has a name and a language for as long as its sandbox is in
 * memory. If its interpreter ends, the state is lost, and the next cell reports why. The cells of a
 * session run one after the other.
 *
 * A pool belongs to the sandbox's struct processes. Code is executed through code_run.h. */
#pragma once
#include <stdbool.h>

#include "base/attr.h"
#include "base/list.h"

struct error;
struct interpreter_pool;
struct kernel_program;
struct language;
struct sandbox;
struct session;

enum { SESSION_NAME_MAX = 64 };

struct interpreter_pool *interpreter_pool_new(struct sandbox *sandbox);
void interpreter_pool_free(struct interpreter_pool *pool); /* NULL is allowed */
/* Starts a spare ahead of the next run, unless one is free. */
void interpreter_pool_add_spare(struct interpreter_pool *pool, const struct kernel_program *program,
                                const char *path);
/* Whether an interpreter of this kind waits, starts or runs code. */
bool interpreter_pool_has_spare(struct interpreter_pool *pool,
                                const struct kernel_program *program);
/* Until interpreter_pool_stop(), a session whose cell is cancelled loses its state for this reason:
 * the sandbox is ending, and the processes in it are cancelled first. */
void interpreter_pool_set_loss_reason(struct interpreter_pool *pool, const char *why);
/* Later runs get interpreters with the sandbox's present environment; those that run code keep
 * theirs, and so do sessions. */
void interpreter_pool_renew(struct interpreter_pool *pool);
/* The sandbox has ended and all interpreters with it. `why` is what sessions report. */
void interpreter_pool_stop(struct interpreter_pool *pool, const char *why);

/* A cell in the queue of a session. Zeroed, it is in none. */
struct session_cell {
	struct list node;
	struct session *session; /* NULL: none */
	void (*turn)(void *ctx); /* from the loop: no other cell runs in the session now */
	void *ctx;
};

/* Puts a cell into the queue of the session of that name, which is created if there is none. */
MUST_CHECK int session_join(struct interpreter_pool *pool, const char *name,
                            const struct language *language, struct session_cell *cell,
                            struct error *err);
/* Removes a cell, whether it has run or not; the next one in the queue gets its turn. */
void session_leave(struct session_cell *cell);

/* Ends a session with its state; a later cell with its name starts a new one. ERR_NOT_FOUND: there
 * is none. ERR_INVALID: cells run or wait in it. */
MUST_CHECK int interpreter_pool_end_session(struct interpreter_pool *pool, const char *name,
                                            struct error *err);
/* Whether a session has lost its state and no later cell has reported that. */
bool interpreter_pool_has_lost_session(const struct interpreter_pool *pool);
/* Calls each() for every session that has an interpreter or cells. is_busy: a cell runs in it. */
void interpreter_pool_each_session(struct interpreter_pool *pool,
                                   void (*each)(void *ctx, const char *name, const char *language,
                                                bool is_busy),
                                   void *ctx);
