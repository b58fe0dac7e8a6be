/* code_run.h - the run of code in a waiting interpreter: in a spare, or as a cell of a session.
 *
 *   code_run_new -> code_run_start -> events of struct run, or run_cancel
 *
 * Fresh code waits for a spare, and the agent enforces its deadline. A cell is interrupted by the
 * server at its deadline, so that the session keeps its state; a cell that ignores the interrupt is
 * killed, and the state is lost. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/view.h"
#include "sandbox/run/sandbox_run.h"

struct interpreter_pool;
struct kernel_program;
struct session_cell;

struct code_options {
	const struct kernel_program *program;
	const char *path; /* of the interpreter's executable */
	struct view code;
	struct view in;                         /* all of stdin */
	const char *const *args;                /* ends with NULL; NULL: none */
	const char *const *env;                 /* NAME=value; NULL: none */
	const char *cwd;                        /* NULL: the workspace; for a cell: unchanged */
	uint32_t deadline_ms;                   /* 0: none */
	uint64_t picture_pixels, picture_bytes; /* largest picture that is saved */
	/* The cell whose turn it is; NULL: fresh code. */
	struct session_cell *cell;
	struct session_report *report; /* with a cell: filled in; belongs to the caller */
};

struct session_report {
	bool was_lost; /* the state of earlier cells was lost before: why_lost */
	bool is_lost;  /* this cell's end has lost the state */
	char why_lost[240];
};

/* The options are copied; what they point to must stay valid until `started`. */
struct run *code_run_new(struct interpreter_pool *pool, const struct code_options *options,
                         const struct run_events *events, void *ctx);
/* Finds an interpreter and hands it the code. All events may come from within, `failed` too. */
void code_run_start(struct run *run);
