/* process.h - what was started in a sandbox, from its first byte to what can be said of its end:
 * a program, a piece of code in some language, or one more cell of a session.
 *
 * A process has a name ("p7", never used again while the server lives) under which the calls of
 * other requests find it. What it prints is kept as beginning and end of each stream, with exact
 * counts; what does not fit there is written to a file inside, whole. A process that was detached
 * (a call that took too long, or a background one) keeps a bounded journal of what it prints,
 * for whoever asks later.
 *
 *   process_start -> running -> ended -> process_free
 *
 * Code goes: into a file of its own below /tmp, through a compiler if its language has one, to
 * its end, away. Python's goes to an interpreter that waits for it. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/view.h"
#include "sandbox/run/sandbox_run.h"

struct buf;
struct error;
struct language;
struct language_found;
struct process;
struct sandbox;

enum { PROCESS_ID_MAX = 16, PROCESS_DISPLAYS_MAX = 32, SESSION_NAME_MAX = 64 };

/* How much is kept; of a server, the same for all. */
struct process_limits {
	size_t head, tail;      /* bytes of each stream in memory: its beginning, its end */
	size_t journal;         /* bytes of a detached one */
	uint64_t file_max;      /* bytes of the file that keeps a stream whole */
	uint64_t pixels, bytes; /* of a picture */
	unsigned kept;          /* detached ones that have ended, in a sandbox: the oldest goes */
};

struct process_file {
	const char *path; /* as the file tools take it */
	struct view content;
};

struct process_options {
	const char *const *argv;         /* a program; or NULL: */
	const struct language *language; /* code */
	struct view code;
	const char *session;              /* a cell of it; NULL: none */
	const char *const *args;          /* of the code; NULL: none */
	const struct process_file *files; /* written before it starts */
	size_t file_count;
	const char *const *env; /* NAME=value; NULL: none */
	const char *cwd;        /* NULL: the workspace; of a session: where it is */
	struct view in;         /* its stdin */
	bool keep_input;        /* more may be written, process_write() and process_end_input() */
	bool terminal;
	uint16_t rows, columns;
	uint32_t deadline_ms; /* 0: none */
	bool detached;        /* from the start */
};

enum process_phase {
	PROCESS_PREPARING, /* files are written, an interpreter starts */
	PROCESS_COMPILING,
	PROCESS_RUNNING,
	PROCESS_ENDED,  /* `end` says how */
	PROCESS_FAILED, /* `why` says why: there is no end to tell */
};

/* Something it wanted to be seen. One of text and path is there. */
struct process_display {
	char mime[64];
	char *text; /* bounded, terminated, whole UTF-8 */
	size_t text_len;
	char *path; /* of a file inside, absolute */
};

/* One stream of output, as far as it is kept. */
struct process_stream {
	uint64_t total;         /* bytes printed */
	struct view head, tail; /* tail is empty if head is all of it */
	uint64_t left_out;      /* bytes between the two */
	const char *file;       /* inside, with all of it; NULL: there is none */
	const char *file_note;  /* why the file has not all of it; NULL: it has */
};

struct process_state {
	enum process_phase phase;
	struct run_end end;
	const struct error *why;
	bool compile_failed; /* it was the compiler that ended so */
	bool is_new_session; /* it was the first cell */
	bool state_was_lost; /* a session of this name was there, and was lost before: why_lost */
	bool state_is_lost;  /* and is lost by this: it was killed, or ended itself */
	const char *why_lost;
	const struct process_display *shown;
	size_t display_count;
	/* An exception of a cell; NULL: none. Bounded. */
	const char *error_name, *error_message, *error_traceback;
	uint64_t elapsed_ms;
	int64_t started_s; /* wall clock */
};

/* The sandbox is ready (sandbox_wake() said so). The wish is copied. ERR_LIMIT: a quota. */
MUST_CHECK int process_start(struct sandbox *sandbox, const struct process_options *wish,
                             struct process **ret, struct error *err);
/* fn whenever something has changed, from the loop, at most once a turn; NULL: nobody. One at a
 * time: process_unwatch() before another. */
MUST_CHECK int process_watch(struct process *process, void (*fn)(void *ctx), void *ctx,
                             struct error *err);
void process_unwatch(struct process *process);

const char *process_id(const struct process *process);
const char *process_label(const struct process *process); /* one line: what was started */
void process_state(struct process *process,
                   struct process_state *ret); /* valid until the next turn */
struct process_stream process_stream(struct process *process, bool is_stderr);
/* Where a file that keeps a stream whole is, or would be. Returns out. */
const char *process_file_path(const struct process *process, bool is_stderr, char *out,
                              size_t size);
/* The last whole or partial line, without terminal escapes; "" if there is none. */
const char *process_last_line(const struct process *process, char *out, size_t size);
bool process_is_over(const struct process *process);

/* From now on its output is kept for process_read(), and it stays when it has ended. */
void process_detach(struct process *process);
bool process_is_detached(const struct process *process);
/* What was printed since byte `since` of both streams together, in the order it came: appended to
 * the two buffers, at most `max` bytes. *next: where to go on; *lost: bytes that are no longer
 * kept between `since` and the first one here. */
void process_read(struct process *process, uint64_t since, size_t max, struct buf *out,
                  struct buf *errors, uint64_t *next, uint64_t *lost);
/* How far it was told to whoever asks without saying where to begin; 0 at first. */
void process_set_read_offset(struct process *process, uint64_t offset);
uint64_t process_read_offset(const struct process *process);

/* What it does not take at once waits, up to 1 MiB; past it ERR_LIMIT. */
MUST_CHECK int process_write(struct process *process, struct view bytes, struct error *err);
MUST_CHECK int process_end_input(struct process *process, struct error *err);
void process_resize(struct process *process, uint16_t rows, uint16_t columns);
void process_signal(struct process *process, int number);
/* A cell is interrupted, and its session killed if it does not heed that in time; anything else
 * is told to end (SIGTERM), then killed. It ends soon. */
void process_stop(struct process *process);
/* Ends it at once if it still runs; nothing of it is left but files. */
void process_free(struct process *process);

/* Of a sandbox, whether detached or not. ERR_NOT_FOUND names those there are. */
MUST_CHECK int process_find(struct sandbox *sandbox, const char *id, struct process **ret,
                            struct error *err);
void process_each(struct sandbox *sandbox, void (*each)(void *ctx, struct process *process),
                  void *ctx);
size_t process_count_running(struct sandbox *sandbox); /* how many */

/* --- interpreters --- */

/* What a sandbox can run; fn(why NULL) when it is known: process_languages() has it. */
void process_probe_languages(struct sandbox *sandbox, bool with_versions,
                             void (*fn)(void *ctx, const struct error *why), void *ctx);
const struct language_found *process_languages(struct sandbox *sandbox);

/* The sessions there are: name, language, whether a cell runs in it. */
void process_each_session(struct sandbox *sandbox,
                          void (*each)(void *ctx, const char *name, const char *language,
                                       bool is_busy),
                          void *ctx);

/* --- all processes of a sandbox: for the sandbox itself --- */

struct processes;

struct processes *processes_new(struct sandbox *sandbox);
/* The sandbox has ended: fails every process with *why, and ends every session. The sandbox calls
 * this before it frees its channel, because runs still refer to the channel's streams. */
void processes_down(struct processes *processes, const struct error *why);
/* Whether a later call may still ask for the output of a detached process or for the reason why a
 * session was lost: the sandbox stays in memory for as long. */
bool processes_worth_keeping(const struct processes *processes);
/* Frees all processes without any callback. */
void processes_free(struct processes *processes);
