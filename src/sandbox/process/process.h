/* process.h - a process: a program, a shell command, code in some language, or one cell of a
 * session, as a call starts it in a sandbox.
 *
 * A process has an id ("p7", unique for the life of the server) by which later calls find it. The
 * beginning and the end of each output stream are kept in memory with exact byte counts; a stream
 * that does not fit is written completely to a file in the sandbox. A detached process (one that
 * took too long for its call, or that was started in the background) also keeps a bounded log of
 * its recent output for later calls.
 *
 *   process_start -> PREPARING -> [COMPILING] -> RUNNING -> ENDED or FAILED -> process_free
 *
 * Ownership: the caller of process_start() frees the process, until it calls process_detach(). A
 * detached process belongs to its sandbox, which frees it when newer ones have ended, or with
 * itself. A process that was not detached survives its sandbox as FAILED.
 *
 * While preparing, the process writes its files, checks its directory and finds out which program
 * runs its language; then everything else is the matter of one struct run (sandbox_run.h). */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/list.h"
#include "base/view.h"
#include "sandbox/run/sandbox_run.h"

struct buf;
struct error;
struct language;
struct language_found;
struct process;
struct sandbox;

enum { PROCESS_ID_MAX = 16, PROCESS_DISPLAYS_MAX = 32, PROCESS_ENTRIES_MAX = 64 };

/* How much is kept of each process; the same for all of a server. */
struct process_limits {
	size_t head, tail;      /* bytes of each stream in memory: its beginning, its end */
	size_t log;             /* bytes of the log of a detached process */
	uint64_t file_max;      /* bytes of the file that keeps a stream completely; 0: no file */
	uint64_t pixels, bytes; /* largest picture */
	unsigned kept;          /* detached processes of a sandbox that have ended */
};

struct process_file {
	const char *path; /* absolute, or relative to the workspace */
	struct view content;
};

/* Exactly one of argv, command and language is set. */
struct process_options {
	const char *const *argv;         /* a program and its arguments; ends with NULL */
	const char *command;             /* a line for bash, or for sh where bash is missing */
	const struct language *language; /* of `code` */
	struct view code;
	const char *session;              /* the code is a cell of this session; NULL: none */
	const char *const *args;          /* of the code; NULL: none */
	const struct process_file *files; /* written before the start */
	size_t file_count;
	const char *const *env; /* NAME=value; NULL: none */
	const char *cwd;        /* NULL: the workspace; in a session: unchanged */
	struct view in;         /* the first bytes of stdin */
	bool keep_input;        /* stdin stays open for process_write() */
	uint32_t deadline_ms;   /* 0: none */
	bool detached;          /* from the start */
	size_t output_max;      /* bytes of each stream in memory; 0: as process_limits say */
	uint16_t rows, columns; /* of the program's terminal; 0: it has none */
};

enum process_phase {
	PROCESS_PREPARING, /* files are written, or an interpreter starts, or a cell waits */
	PROCESS_COMPILING,
	PROCESS_RUNNING,
	PROCESS_ENDED,  /* `end` says how */
	PROCESS_FAILED, /* `why` says why; there is no exit status */
};

/* A value, a table or a picture that the code displayed. Either text or path is set. */
struct process_display {
	char mime[64];
	char *text; /* bounded, terminated, valid UTF-8 */
	size_t text_len;
	char *path;      /* of a file in the sandbox, absolute */
	char *id;        /* by which the code may replace the display; NULL: none */
	unsigned number; /* of its entry in the order; 0: the display has no entry */
};

/* A stretch of one output stream, or a display, in the order in which they appeared. */
enum process_entry_kind { PROCESS_ENTRY_STDOUT, PROCESS_ENTRY_STDERR, PROCESS_ENTRY_DISPLAY };
struct process_entry {
	enum process_entry_kind kind;
	uint64_t bytes;   /* of the stream */
	unsigned display; /* number of the display */
};

/* One output stream, as far as it is kept. */
struct process_stream {
	uint64_t total;         /* bytes printed */
	struct view head, tail; /* tail is empty if head is everything */
	uint64_t left_out;      /* bytes between the two */
	const char *file;       /* in the sandbox, with the complete stream; NULL: none */
	const char *file_note;  /* why the file is not complete; NULL: it is */
};

struct process_state {
	enum process_phase phase;
	struct run_end end;
	const struct error *why; /* if FAILED; else NULL */
	const char *label;       /* the command, or the beginning of the code, in one line */
	bool state_was_lost;     /* the session's state was lost before this cell: why_lost */
	bool state_is_lost;      /* this cell's end has lost the session's state */
	const char *why_lost;    /* or NULL */
	const struct process_display *displays;
	size_t display_count;
	const struct process_entry *entries;
	size_t entry_count; /* 0: the order is not known, or nothing appeared */
	/* The exception that ended a cell; NULL: none. Bounded. */
	const char *error_name, *error_message, *error_traceback;
	bool lacks_input; /* the code seems to read stdin, and was given none */
	bool lacks_value; /* stdin is open, so no interpreter reports the last expression's value */
	uint64_t elapsed_ms;
	uint64_t queued_ms;    /* of elapsed_ms: the wait for earlier cells of the session */
	int64_t started_s;     /* wall clock */
	uint64_t run_began_ns; /* of clock_file_ns(): earlier changes of files are not the run's */
	uint64_t given_until_ns; /* of clock_real_ns(): when the files of the call were written */
};

/* Starts a process in a sandbox that is awake. The options are copied. ERR_LIMIT: a quota, or too
 * many cells wait in the session. */
MUST_CHECK int process_start(struct sandbox *sandbox, const struct process_options *options,
                             struct process **ret, struct error *err);
/* Kills the process if it still runs, and frees it. Files it has written stay. NULL is allowed. */
void process_free(struct process *process);

/* A subscription to changes of a process; the struct belongs to the subscriber. */
struct process_watch {
	struct list node;
	struct process *process; /* NULL: not subscribed, or the process was freed */
	/* Called from the loop, at most once a turn, when there is new output or a new phase.
	 * Called once more from within process_free(), with process NULL. Must not free the
	 * process. */
	void (*fn)(void *ctx);
	void *ctx;
};
/* Subscribes. If the process has ended already, one call follows. */
void process_watch(struct process *process, struct process_watch *watch);
void process_unwatch(struct process_watch *watch);

const char *process_id(const struct process *process);
const char *process_label(const struct process *process); /* one line: the command or the code */
bool process_is_over(const struct process *process);      /* ENDED or FAILED */
/* The program, or the code in its interpreter, has ended and changes no file any more. Its last
 * output and its exit status may not have arrived yet. */
bool process_has_exited(const struct process *process);
/* Pointers in *ret are valid until the next turn of the loop. */
void process_state(struct process *process, struct process_state *ret);
struct process_stream process_stream(struct process *process, bool is_stderr);
/* How many bytes of the stream are kept. */
size_t process_stream_kept(const struct process_stream *stream);
/* Copies the kept bytes in one piece, which the caller frees. */
char *process_stream_copy(const struct process_stream *stream);
/* The path of the file that keeps a stream completely, whether it exists or not. Returns out. */
const char *process_file_path(const struct process *process, bool is_stderr, char *out,
                              size_t size);
/* The last line that was printed, without terminal escapes; "" if there is none. Returns out. */
const char *process_last_line(const struct process *process, char *out, size_t size);

/* Hands the process over to its sandbox, and keeps its output for process_read() from now on. */
void process_detach(struct process *process);
bool process_is_detached(const struct process *process);
/* The order of the bytes between two offsets: at most PROCESS_ENTRIES_MAX stretches. Returns how
 * many; 0: there are more. */
size_t process_read_entries(const struct process *process, uint64_t from, uint64_t to,
                            struct process_entry *ret);
/* Appends output from byte `since` on, counted over both streams in the order of arrival, to the
 * two buffers: at most `max` bytes. *next: the offset to continue at. *lost: how many bytes between
 * `since` and the first one returned are no longer kept. */
void process_read(struct process *process, uint64_t since, size_t max, struct buf *out,
                  struct buf *errors, uint64_t *next, uint64_t *lost);
/* The offset up to which output has been reported to callers that do not say where to begin. */
void process_set_read_offset(struct process *process, uint64_t offset);
uint64_t process_read_offset(const struct process *process);

/* Queues bytes for stdin. ERR_LIMIT: more than 1 MiB would wait. ERR_INVALID: the process has
 * ended, or its stdin is not open. */
MUST_CHECK int process_write(struct process *process, struct view bytes, struct error *err);
MUST_CHECK int process_end_input(struct process *process, struct error *err);
/* Sets the size of the terminal. ERR_INVALID: the process has ended, or has none. */
MUST_CHECK int process_resize(struct process *process, uint16_t rows, uint16_t columns,
                              struct error *err);
/* Sends a signal to the process and all its descendants. */
void process_signal(struct process *process, int number);
/* Asks the process to end and kills it if it does not; see run_stop(). */
void process_stop(struct process *process);

/* --- the processes of a sandbox --- */

/* ERR_NOT_FOUND lists the ids there are. */
MUST_CHECK int process_find(struct sandbox *sandbox, const char *id, struct process **ret,
                            struct error *err);
void process_each(struct sandbox *sandbox, void (*each)(void *ctx, struct process *process),
                  void *ctx);
size_t process_count_running(struct sandbox *sandbox);

/* The environment of the sandbox has changed: see interpreter_pool_renew(). */
void process_renew_env(struct sandbox *sandbox);
/* Finds out which languages the sandbox has, unless that is known. fn is called from the loop; with
 * why NULL, process_languages() has the result. */
void process_probe_languages(struct sandbox *sandbox, bool with_versions,
                             void (*fn)(void *ctx, const struct error *why), void *ctx);
const struct language_found *process_languages(struct sandbox *sandbox);

/* Calls each() for every session. is_busy: a cell runs in it. */
void process_each_session(struct sandbox *sandbox,
                          void (*each)(void *ctx, const char *name, const char *language,
                                       bool is_busy),
                          void *ctx);

/* See interpreter_pool_end_session(). */
MUST_CHECK int process_end_session(struct sandbox *sandbox, const char *name, struct error *err);

/* --- for the sandbox itself --- */

struct processes;

struct processes *processes_new(struct sandbox *sandbox);
/* Looks up the languages of a sandbox that is ready, and starts a Python interpreter that waits for
 * code: now, or after some time if no run of Python is under way then. */
void processes_start_spare(struct processes *processes, unsigned delay_ms);
/* The sandbox has ended: fails every process with *why, and ends every session. The sandbox calls
 * this before it frees its channel, because runs still refer to the channel's streams. */
void processes_stop(struct processes *processes, const struct error *why);
/* Whether a later call may still ask for the output of a detached process or for the reason why a
 * session was lost: the sandbox stays in memory for as long. */
bool processes_worth_keeping(const struct processes *processes);
/* Frees all detached processes; the others become FAILED and stay with their owners. */
void processes_free(struct processes *processes);
