/* internal.h - what the files of waiting interpreters share.
 *
 *   interpreter.c       start and end of an interpreter's program
 *   interpreter_exec.c  one execution in an interpreter: output, messages, end mark
 *   interpreter_pool.c  the spares of a sandbox
 *   sessions.c          the sessions of a sandbox and the queues of their cells
 *   code_run.c          code in an interpreter as a struct run */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/list.h"
#include "sandbox/interpreter/end_mark.h"
#include "sandbox/interpreter/interpreter.h"
#include "sandbox/interpreter/interpreter_pool.h"
#include "sandbox/interpreter/kernel_wire.h"

struct loop;
struct loop_timer;

enum {
	INTERPRETER_OUT_MAX = 64 * 1024 * 1024,
	SESSIONS_MAX = 16,
	SESSION_QUEUE_MAX = 128, /* cells that wait for their turn */
};

/* --- one interpreter: interpreter.c, interpreter_exec.c --- */

enum interpreter_stage {
	INTERPRETER_STARTING, /* BOOT was sent */
	INTERPRETER_IDLE,
	INTERPRETER_RUNNING, /* RUN was sent */
	INTERPRETER_MARKING, /* ENDED arrived, and MARK was sent before or after it */
};

struct interpreter {
	const struct kernel_program *program;
	bool is_session;
	bool is_ready;  /* READY has arrived */
	bool sent_text; /* after TEXT */
	struct loop *loop;
	const struct sandbox *sandbox;
	uint64_t data_limit; /* of the program, when it was started; 0: none */
	const struct interpreter_owner_events *owner;
	void *owner_ctx;
	const struct interpreter_user_events *user; /* NULL: nothing executes */
	void *user_ctx;
	struct run *run; /* the program; NULL: it has ended */
	bool has_exited; /* the program has exited, and its end is being reported */
	enum interpreter_stage stage;
	struct buf pending;   /* a RUN message that waits until the interpreter is idle */
	uint32_t deadline_ms; /* of that execution */
	uint64_t deadline_at; /* on the clock of clock.h; 0: none */
	bool is_spent;        /* not to be used again: see interpreter_is_reusable() */
	struct buf out;       /* messages to the interpreter */
	size_t sent;          /* bytes of them that were sent */
	struct buf in;        /* the front of a message that has not arrived completely */
	struct end_mark marks[2];
	bool is_mark_sent;      /* with RUN */
	size_t bytes_since_end; /* of output, since ENDED */
	uint64_t mark_deadline; /* on the clock of clock.h */
	struct loop_timer *mark_timer;
	struct loop_timer *idle_timer; /* due at once: calls the owner's `idle` */
	struct run_end end;            /* of the execution */
	bool is_exit;
	struct buf early[2]; /* output that arrived while nothing executed; not consumed */
	size_t inserted[2];  /* bytes delivered that the interpreter did not print; not consumed */
};

/* Kills an interpreter whose messages cannot be trusted any more, and reports `gone`. */
void interpreter_fail(struct interpreter *interpreter, const struct error *why);
/* Sends as much of `out` as the agent accepts. */
void interpreter_send(struct interpreter *interpreter);
/* Starts the pending execution of an idle interpreter. */
void interpreter_start_pending(struct interpreter *interpreter);
/* Starts the execution of an interpreter whose RUN is in `out`. */
void interpreter_begin(struct interpreter *interpreter);
/* The program has ended before its mark: delivers what could have been the beginning of one. */
void interpreter_flush_held(struct interpreter *interpreter);
void interpreter_on_output(void *ctx, bool is_stderr, struct view bytes);
void interpreter_on_control(void *ctx, struct view bytes);
void interpreter_on_mark_timeout(void *ctx);
void interpreter_on_idle_timer(void *ctx);

/* --- spares: interpreter_pool.c --- */

struct interpreter_pool {
	struct sandbox *sandbox;
	struct list spares;                /* waiting and borrowed */
	struct list waiters;               /* struct pool_waiter, the longest wait first */
	struct loop_timer *wait_timer;     /* wakes the waiters */
	struct list sessions;              /* the oldest first */
	const char *loss_reason;           /* see interpreter_pool_set_loss_reason(); or NULL */
	char former[KERNEL_NAMES_MAX + 1]; /* what the last run of a new interpreter assigned */
};

struct pool_waiter { /* zeroed: not waiting */
	struct list node;
	void (*fn)(void *ctx); /* a spare may be available */
	void *ctx;
};

/* Borrows a spare for one execution, after which it returns to the pool by itself. If there is
 * none, a new interpreter is started, which may be for this execution only (kernel_program.once).
 * With `env` a new interpreter is started with that environment, and killed afterwards. */
MUST_CHECK int pool_borrow(struct interpreter_pool *pool, const struct kernel_program *program,
                           const char *path, const char *const *env, struct interpreter **ret,
                           struct error *err);
/* Whether a spare is free or another one may be started. Many interpreters that start at once are
 * slower together than one after the other. */
bool pool_has_capacity(struct interpreter_pool *pool, const struct kernel_program *program,
                       const char *path);
/* Waiters are called in the order of arrival. list_remove(&waiter->node) ends the wait. */
void pool_wait(struct interpreter_pool *pool, struct pool_waiter *waiter);
/* Kills a borrowed spare together with the code in it. */
void pool_kill(struct interpreter_pool *pool, struct interpreter *interpreter);

/* --- sessions: sessions.c --- */

struct session {
	struct list node;
	struct interpreter_pool *pool;
	char name[SESSION_NAME_MAX + 1];
	char language[32];
	struct interpreter *interpreter; /* NULL: none now */
	unsigned cells;                  /* how many were started */
	bool has_state;                  /* a cell was started in this interpreter */
	bool is_lost;                    /* the state was lost and no cell was started since */
	char why_lost[240];
	struct list queue; /* waiting cells */
	unsigned waiting;
	struct session_cell *current;
	struct loop_timer *turn_timer; /* due at once: the next cell gets its turn */
};

void session_free(struct session *session);
/* The interpreter for the cell whose turn it is, started if there is none. */
MUST_CHECK int session_interpreter(struct session *session, const struct kernel_program *program,
                                   const char *path, struct interpreter **ret, struct error *err);
void session_cell_started(struct session *session); /* the cell whose turn it is */
/* Kills the interpreter. Returns whether that has lost the state of earlier cells. */
bool session_kill(struct session *session, const char *why);
