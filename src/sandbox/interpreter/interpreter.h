/* interpreter.h - one waiting interpreter: a program in the sandbox that receives code over its
 * descriptor 3 and reports there how the code ended (kernel_wire.h).
 *
 *   interpreter_start -> (idle -> interpreter_execute -> ended) ... -> gone, or interpreter_kill
 *
 * The owner (the pool or a session) keeps the interpreter and learns when it is idle or gone. A
 * user borrows it for one execution, until `ended` or `gone`. Output belongs to the execution
 * during which it arrives. Output that arrives while nothing executes is kept for the next cell of
 * a session (at most the first 64 KiB of each stream, because no credit is returned for it), and
 * discarded otherwise.
 *
 * The interpreter is hostile, because the code it executes can write to descriptor 3 itself: the
 * first message that breaks a rule kills it. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/view.h"
#include "sandbox/run/sandbox_run.h"

struct error;
struct interpreter;
struct kernel_message;
struct kernel_program;
struct kernel_run;
struct sandbox;

/* Callbacks of the owner. */
struct interpreter_owner_events {
	void (*idle)(void *ctx); /* ready for code; also after the start */
	/* Last event: the program ended by itself or broke the protocol, and the interpreter is
	 * freed after this call. `why` is a clause: "it exited with code 3". */
	void (*gone)(void *ctx, const char *why);
	/* The code assigns these names (kernel_wire.h: NAMES); or NULL. */
	void (*names)(void *ctx, struct view names);
};

/* Callbacks of the user. */
struct interpreter_user_events {
	void (*started)(void *ctx); /* RUN was sent */
	/* Returned with interpreter_consumed(). */
	void (*output)(void *ctx, bool is_stderr, struct view bytes);
	void (*display)(void *ctx, const struct kernel_message *message); /* SHOWN or ERROR */
	/* The code has ended, or an interpreter that is for one run has exited; the rest of the
	 * output follows, and then `ended` or `gone`. */
	void (*exited)(void *ctx);
	/* Last event: the code ended. is_exit: a cell asked its whole session to end. */
	void (*ended)(void *ctx, const struct run_end *end, bool is_exit);
	/* Last event: the interpreter ended with the code. Either `end` or `why` is not NULL. */
	void (*gone)(void *ctx, const struct run_end *end, const struct error *why);
};

struct interpreter_options {
	const struct kernel_program *program;
	const char *path;       /* of the interpreter's executable */
	const char *const *env; /* overrides the default environment; or NULL */
	const char *former;     /* names that earlier runs have assigned; "": none */
	bool is_session;
};

MUST_CHECK int interpreter_start(struct sandbox *sandbox, const struct interpreter_options *options,
                                 const struct interpreter_owner_events *owner, void *ctx,
                                 struct interpreter **ret, struct error *err);
/* Kills the program and frees the interpreter without any event. NULL is allowed. */
void interpreter_kill(struct interpreter *interpreter);

/* Executes code as soon as the interpreter is idle, or when it starts if it is for this code only
 * (kernel_program.once); nothing else is executing. deadline_ms 0: none.
 * The agent enforces the deadline and kills the interpreter too. ERR_LIMIT: the code is too long.
 * `started` and `output` may come from within. */
MUST_CHECK int interpreter_execute(struct interpreter *interpreter, const struct kernel_run *run,
                                   uint32_t deadline_ms, const struct interpreter_user_events *user,
                                   void *ctx, struct error *err);
void interpreter_consumed(struct interpreter *interpreter, bool is_stderr, size_t bytes);
/* Sends SIGINT, as Ctrl-C in a terminal would. */
void interpreter_interrupt(struct interpreter *interpreter);
/* Sends a signal to the interpreter and all its descendants. A spare is not used again. */
void interpreter_signal(struct interpreter *interpreter, int number);

bool interpreter_is_started(const struct interpreter *interpreter); /* READY has arrived */
bool interpreter_is_idle(const struct interpreter *interpreter);
/* The program has exited, and `gone` follows: the interpreter executes nothing any more. */
bool interpreter_has_exited(const struct interpreter *interpreter);
/* Whether another execution may follow: no signal was sent, no deadline was near, the end mark
 * arrived. */
bool interpreter_is_reusable(const struct interpreter *interpreter);
