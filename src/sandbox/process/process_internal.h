/* process_internal.h - what the files of processes share.
 *
 *   process.c         what is asked of one: state, output, detaching, its end in memory
 *   process_start.c   from a wish to the first step
 *   process_output.c  what it prints, and how it ends
 *   process_input.c   its stdin, signals, stopping
 *   process_code.c    code in a language, step by step: saved, compiled, run, removed
 *   process_kernel.c  code in an interpreter that waits, and cells of sessions
 *   process_note.c    its end, for those who keep books
 *   process_list.c    all of a sandbox
 *   probe.c           which languages it has
 *
 * A process is told what happens by its source: a run, or an interpreter it has borrowed. Nobody
 * outside is told anything but from a timer, so nothing here is freed while it is on the stack. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/list.h"
#include "sandbox/interpreter/interpreter_pool.h"
#include "sandbox/interpreter/language_cache.h"
#include "sandbox/process/capture.h"
#include "sandbox/process/displays.h"
#include "sandbox/process/output_log.h"
#include "sandbox/process/process.h"
#include "sandbox/process/spill.h"
#include "sandbox/run/limit_check.h"
#include "sandbox/run/sandbox_run.h"

struct files_op;
struct interpreter;
struct loop_timer;

enum {
	PROCESS_GRACE_MS = 2000, /* between the request to end and the end */
	PROCESS_INPUT_MAX = 1024 * 1024,
};

struct processes {
	struct sandbox *sandbox;
	struct list all; /* the oldest first */
	struct kernels *kernels;
	struct probe *probe;
};

enum process_clock {
	CLOCK_OFF,
	CLOCK_DEADLINE, /* of a cell: it is interrupted */
	CLOCK_GRACE,    /* it was told to end: it is killed */
};

struct process_sink { /* one of its two streams */
	struct process *process;
	bool is_stderr;
	struct capture capture;
	struct spill *spill; /* NULL: no need for a file */
	size_t owed;         /* bytes its source has not got back */
	bool is_waiting;     /* for the file, at the end */
};

struct process {
	struct list node;
	struct processes *processes; /* NULL: its sandbox is gone */
	struct loop_timer *tell;     /* due at once: whoever watches is to hear */
	void (*fn)(void *ctx);
	void *ctx;
	char id[PROCESS_ID_MAX];
	char label[128];

	struct arena arena; /* of the wish */
	struct process_options wish;
	size_t files_written;
	struct files_op *op; /* a file that is being written */
	struct probe_waiter languages;
	bool has_looked; /* for languages, itself */

	enum process_phase phase;
	struct run_end end;
	struct error why;
	bool compile_failed, is_new_session, state_was_lost, state_is_lost;
	char *why_lost;
	struct shown shown;
	uint64_t started_ms, running_ms, ended_ms;
	int64_t started_s;
	uint64_t deadline_at; /* of all steps together; 0: none */

	struct process_sink sinks[2];
	bool is_last_stderr; /* where it printed last */
	struct journal journal;
	uint64_t mark; /* see process_read_offset() */
	bool is_detached;
	bool is_looked_at; /* it has ended, and all that is kept was read */
	bool is_finishing; /* `end` is there; files are still being closed */

	struct kernels_turn turn;        /* it waits for an interpreter */
	struct run *run;                 /* its source; or */
	struct interpreter *interpreter; /* this */
	struct session_cell cell;
	struct limit_check judge;
	struct loop_timer *clock;
	enum process_clock clock_for;
	bool is_timed_out; /* of a cell */
	bool is_stopped;   /* somebody asked for it */

	const struct language_runner *runner;
	const char *program; /* its path inside */
	char dir[48];        /* of its code, below /tmp; "": there is none */

	struct buf in; /* what it has not taken yet */
	size_t in_at;
	bool takes_input, in_ended;
	bool has_first_input; /* the wish's is in there */
};

/* --- process.c --- */

void process_changed(struct process *process); /* whoever watches hears it from the loop */

/* --- process_start.c --- */

void process_copy_wish(struct process *process, const struct process_options *wish);
void process_prepare(struct process *process); /* files first, then what is to be run */

/* --- process_output.c --- */

void process_took(struct process *process, bool is_stderr, struct view bytes);
/* `end` is there and no more output comes: it is over when its files are. */
void process_finish(struct process *process);
void process_fail(struct process *process, const struct error *why);
/* Lets go of all that it uses; nothing is told to it any more. */
void process_let_go(struct process *process);

/* --- process_input.c --- */

/* The wish's input, before anything that comes later. */
MUST_CHECK int process_put_first_input(struct process *process, struct error *err);
void process_feed(struct process *process); /* what waits goes to its run */
void process_set_clock(struct process *process, enum process_clock what, uint64_t ms);
void process_on_clock(void *ctx);

/* --- process_code.c --- */

MUST_CHECK int process_run_program(struct process *process, const char *const *argv, bool has_input,
                                   uint32_t deadline_ms, const struct run_events *events,
                                   struct error *err);
extern const struct run_events process_run_events; /* its end is the end */
void process_look(struct process *process);        /* for languages, then runs the code */
void process_run_code(struct process *process);    /* the languages are known */
/* A directory of its own, which is not made yet. */
void process_name_dir(struct process *process);
void process_remove_dir(struct process *process); /* nobody waits for it */

/* --- process_kernel.c --- */

void process_use_kernel(struct process *process, const char *path);
void process_end_cell_by_force(struct process *process);

/* --- process_note.c --- */

void process_note_end(const struct process *process); /* in the books of the server */

/* --- process_list.c --- */

/* Those that were detached and have ended are no more than are to be kept. */
void process_forget_oldest(struct processes *processes, const struct process *newest);
