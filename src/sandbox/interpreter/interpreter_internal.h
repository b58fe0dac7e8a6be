/* interpreter_internal.h - what the two files of an interpreter share.
 *
 *   interpreter.c      its start and its end
 *   interpreter_run.c  what it prints and says while something runs in it */
#pragma once
#include "base/buf.h"
#include "sandbox/interpreter/end_mark.h"
#include "sandbox/interpreter/interpreter.h"

struct loop;
struct loop_timer;

enum { INTERPRETER_ORDERS_MAX = 64 * 1024 * 1024 };

enum interpreter_stage {
	INTERPRETER_STARTING, /* BOOT was sent */
	INTERPRETER_IDLE,
	INTERPRETER_RUNNING, /* RUN was sent */
	INTERPRETER_MARKING, /* ENDED came, MARK was sent */
};

struct interpreter {
	const struct kernel_program *program;
	bool is_session;
	struct loop *loop;
	const struct interpreter_owner *owner;
	void *owner_ctx;
	const struct interpreter_user *user; /* NULL: nobody */
	void *user_ctx;
	struct run *run;
	enum interpreter_stage stage;
	struct buf wanted;    /* a RUN that waits until it is idle */
	uint32_t deadline_ms; /* of that RUN */
	uint64_t started_us;  /* when it was sent */
	uint64_t deadline_at; /* on the clock of clock.h; or 0 */
	bool is_unsound;
	struct buf orders; /* what it has not taken yet */
	size_t ordered;    /* bytes of them it has */
	struct buf heard;  /* the front of a frame whose rest has not come */
	struct mark marks[2];
	size_t behind;               /* bytes that came since ENDED */
	uint64_t mark_until;         /* on the clock of clock.h: no mark is waited for longer */
	struct loop_timer *patience; /* with a mark */
	struct loop_timer *idle;     /* due at once: its owner is to hear of it */
	struct run_end end;
	bool is_exit;
	uint64_t user_us, system_us; /* of earlier runs */
	struct buf early[2];         /* came while nothing ran; not given back yet */
};

/* --- interpreter.c --- */

/* Nothing it says can be believed any more. */
void interpreter_give_up(struct interpreter *interpreter, const struct error *why);

/* --- interpreter_run.c --- */

uint64_t interpreter_now_us(void);
void interpreter_push(struct interpreter *interpreter); /* what it has not taken yet */
/* It is idle: what is wanted of it begins. */
void interpreter_begin(struct interpreter *interpreter);
void interpreter_on_output(void *ctx, bool is_stderr, struct view bytes);
void interpreter_on_control(void *ctx, struct view bytes);
void interpreter_on_impatient(void *ctx); /* the mark does not come */
void interpreter_on_idle(void *ctx);      /* its owner is to hear of it */
