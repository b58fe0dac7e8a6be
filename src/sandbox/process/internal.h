/* internal.h - what the files of processes share.
 *
 *   process.c          state and output for callers, detaching, freeing
 *   process_start.c    a new process: its options, id and label
 *   process_prepare.c  from there to the run: files, directory, languages
 *   process_events.c   events of the run: output and the end
 *   process_control.c  stdin, signals, stopping
 *   processes.c        all processes of a sandbox
 *   saved_code.c       the run of code that is saved to a file and compiled
 *   capture.c          beginning and end of a stream;  spill.c: the file with all of it
 *   output_log.c       recent output of a detached process
 *   displays.c         values and exceptions that code displayed
 *   journal.c          the order of output and displays
 *
 * The run of a process calls back into the process while it is on the stack. Watchers are called
 * from a timer, so a process is never freed while one of its own functions is running. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/list.h"
#include "sandbox/interpreter/code_run.h"
#include "sandbox/interpreter/interpreter_pool.h"
#include "sandbox/interpreter/language_cache.h"
#include "sandbox/process/capture.h"
#include "sandbox/process/displays.h"
#include "sandbox/process/journal.h"
#include "sandbox/process/output_log.h"
#include "sandbox/process/process.h"
#include "sandbox/process/spill.h"

struct files_op;
struct loop_timer;

enum {
	PROCESS_INPUT_MAX = 1024 * 1024,
	AFTER_RUN_MS = 5, /* until a spare is started: the answer of the run goes first */
};

struct processes {
	struct sandbox *sandbox;
	struct list all; /* the oldest first */
	struct interpreter_pool *interpreters;
	struct language_cache *languages;
	struct loop_timer *spare_timer; /* looks up the languages and starts an interpreter */
};

/* One output stream. */
struct process_sink {
	struct process *process;
	bool is_stderr;
	struct capture capture;
	struct spill *spill; /* NULL: everything fits into the capture */
	bool is_closing;     /* the process waits for the spill's file */
};

struct process {
	struct list node;
	struct processes *processes; /* NULL: the sandbox was freed */
	struct list watches;
	struct loop_timer *notify_timer; /* due at once: calls the watches */
	char id[PROCESS_ID_MAX];
	char label[128];

	struct arena arena; /* of the options; freed at the end */
	struct process_options options;
	size_t files_written;
	struct files_op *op; /* a file that is written, or the check of the directory */
	struct language_request language_request;

	enum process_phase phase;
	struct run_end end;
	struct error why;
	struct session_cell cell; /* in a session */
	struct session_report session;
	struct displays displays;
	struct journal journal;
	uint64_t started_ms, ended_ms;
	uint64_t queued_ms; /* how long a cell waited for earlier cells of its session */
	int64_t started_s;
	bool is_recorded; /* the history has its start */
	/* When the preparations were done, of clock_file_ns() and of clock_real_ns(). */
	uint64_t run_began_ns, given_until_ns;

	struct run *run; /* NULL: not started, or ended */
	struct process_sink sinks[2];
	struct output_log log;
	uint64_t read_offset; /* see process_read_offset() */

	struct buf in; /* stdin that the run has not accepted */
	size_t in_at;
	bool takes_input;     /* the run has an open stdin */
	bool in_ended;        /* stdin ends behind these bytes */
	bool has_first_input; /* options.in is in the buffer */

	bool lacks_input;    /* the code reads stdin, and was given none */
	bool lacks_value;    /* stdin is open, so the last expression's value is not reported */
	bool has_exited;     /* of the run: see process_has_exited() */
	bool has_probed;     /* the languages were looked up for this process */
	bool is_by_name;     /* its interpreter was looked for along PATH when it started */
	bool is_stopped;     /* process_stop() was called */
	bool is_last_stderr; /* the stream that was printed to last */
	bool is_clear_due;   /* the next output or display replaces all before it */
	bool is_detached;
	bool is_read; /* the process has ended and a caller has read its log to the end */
};

/* --- process.c --- */

void process_changed(struct process *process); /* the watches are called from the loop */

/* --- process_start.c --- */

/* Makes the arguments of a command, by the languages that are known now, and its label. */
void process_choose_shell(struct process *process);

/* --- process_prepare.c --- */

void process_prepare(struct process *process);
/* Looks up the languages if the process failed because PATH has no program of its interpreter's
 * name. False: the failure was another one. */
bool process_retry(struct process *process, const struct error *why);
void processes_on_spare_timer(void *ctx);

/* --- process_events.c --- */

extern const struct run_events process_run_events;
void process_started(struct process *process); /* the program or code runs now */
void process_fail(struct process *process, const struct error *why);
/* Cancels everything the process has under way and leaves its session. */
void process_release(struct process *process);

/* --- process_control.c --- */

/* Puts options.in into the buffer, in front of anything from process_write(). */
MUST_CHECK int process_put_first_input(struct process *process, struct error *err);
void process_feed(struct process *process); /* sends what the run accepts */

/* --- processes.c --- */

/* Frees the oldest detached process that has ended, if there are more than the limit. */
void process_free_oldest(struct processes *processes, const struct process *newest);

/* --- saved_code.c --- */

struct saved_code_options {
	const struct language *language;
	const struct language_runner *runner;
	const char *program; /* path of the interpreter or compiler */
	struct view code;
	const char *const *args;       /* of the code; NULL: none */
	const struct run_options *run; /* of the program; argv is made from the runner */
};

/* The run of code that is saved to a file below /tmp, compiled if its language needs that, executed
 * and removed. One deadline holds for all steps together. The memory that the options point to must
 * stay valid until the last event. */
struct run *saved_code_new(struct sandbox *sandbox, const struct saved_code_options *options,
                           const struct run_events *events, void *ctx);
void saved_code_start(struct run *run); /* `failed` may come from within */
