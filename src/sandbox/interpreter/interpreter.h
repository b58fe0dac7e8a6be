/* interpreter.h - one waiting interpreter: a program inside that is told what to run over its
 * descriptor 3, and says there how that went (kernel_wire.h).
 *
 *   interpreter_start -> (idle -> interpreter_run -> ended) ... -> gone, or interpreter_drop
 *
 * Its owner keeps it and hears when it is idle or gone; whoever has something to run borrows it
 * until `ended` or `gone`. Output belongs to the one that runs. What comes while nothing runs is
 * kept for the next one of a session (there is not more of it than the first 64 KiB of each
 * stream), and dropped otherwise. It is hostile: what it says that breaks a rule ends it. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/view.h"
#include "sandbox/run/sandbox_run.h"

struct error;
struct interpreter;
struct kernel_program;
struct kernel_run;
struct kernel_said;
struct sandbox;

/* To whom it belongs. */
struct interpreter_owner {
	void (*idle)(void *ctx); /* also the first time */
	/* Last call: by itself. In words what was the matter: "it exited with code 3". */
	void (*gone)(void *ctx, const char *why);
};

/* Who has something running in it. */
struct interpreter_user {
	void (*started)(void *ctx);                                   /* RUN was sent */
	void (*output)(void *ctx, bool is_stderr, struct view bytes); /* interpreter_consumed() */
	void (*said)(void *ctx, const struct kernel_said *said);      /* SHOWN, ERROR */
	void (*ended)(void *ctx, const struct run_end *end, bool is_exit); /* last call */
	/* Last call: the interpreter ended with it. `end` or `why`, the other is NULL. */
	void (*gone)(void *ctx, const struct run_end *end, const struct error *why);
};

struct interpreter_wish {
	const struct kernel_program *program;
	const char *path;       /* of the interpreter's own program */
	const char *const *env; /* over what every program gets; or NULL */
	bool is_session;
};

MUST_CHECK int interpreter_start(struct sandbox *sandbox, const struct interpreter_wish *wish,
                                 const struct interpreter_owner *owner, void *ctx,
                                 struct interpreter **ret, struct error *err);
/* Ends it; nobody hears of it. NULL is fine. */
void interpreter_drop(struct interpreter *interpreter);

/* As soon as it is idle; nothing else runs in it. A deadline of 0: none. Its limit is kept inside
 * and ends the interpreter too. ERR_LIMIT: what is to be run is too large. */
MUST_CHECK int interpreter_run(struct interpreter *interpreter, const struct kernel_run *run,
                               uint32_t deadline_ms, const struct interpreter_user *user, void *ctx,
                               struct error *err);
void interpreter_consumed(struct interpreter *interpreter, bool is_stderr, size_t bytes);
void interpreter_interrupt(struct interpreter *interpreter);
void interpreter_signal(struct interpreter *interpreter, int number); /* to all of it */

bool interpreter_is_up(const struct interpreter *interpreter); /* it has started */
bool interpreter_is_idle(const struct interpreter *interpreter);
/* It may serve once more: nobody has told it to end, no deadline was close. */
bool interpreter_is_sound(const struct interpreter *interpreter);
const struct kernel_program *interpreter_program(const struct interpreter *interpreter);
