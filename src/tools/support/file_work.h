/* file_work.h - a call that works on the files of one sandbox: one question after the other.
 *
 * A tool's own struct begins with a struct file_work, as that begins with a struct work (work.h).
 * One question is under way at a time. */
#pragma once
#include "base/attr.h"
#include "base/error.h"
#include "sandbox/channel/files.h"
#include "tools/support/turns.h"
#include "tools/support/work.h"

struct buf;
struct file_work;

/* `why` NULL: it is answered; bytes are there until this returns. */
typedef void file_work_fn(struct file_work *file, const struct files_reply *answer,
                          const struct error *why);

struct file_work {
	struct work work;
	const char *path; /* as the caller wrote it; lives as long as the call */
	bool is_for_file; /* a directory is the wrong thing */
	struct files_op *op;
	file_work_fn *next;
	struct error why; /* what is being explained */
	struct turn turn; /* of a call that changes the file */
	void (*begin)(struct file_work *file);
	size_t held; /* bytes of files in memory, as far as that was asked for */
};

/* For work_callbacks: what every such call does. file_work_done() is also to be called by a done() of
 * the tool's own. */
void file_work_cancel(struct work *work);
void file_work_done(struct work *work);

/* Goes on with `begin` when no other call changes the file any more; it is this one's until it
 * ends. */
void file_work_in_turn(struct file_work *file, void (*begin)(struct file_work *file));
/* Before so many bytes of a file come into memory; takes the place of what was said before. False:
 * calls under way hold too much, and this one has ended with that. */
MUST_CHECK bool file_work_hold(struct file_work *file, size_t bytes);

/* Goes on with `next`. If it cannot even be asked, next hears that at once. */
void file_work_ask(struct file_work *file, const struct wire_message *request, struct view content,
                   size_t max, file_work_fn *next);
/* The simplest and most frequent question. */
void file_work_stat(struct file_work *file, const char *path, bool follow, file_work_fn *next);
/* The one record of its answer. */
struct wire_entry file_work_entry(const struct files_reply *answer);

/* Ends the call: what went wrong with `path`, in words that say what to do. A missing file costs
 * one more question, for what is there instead. */
void file_work_explain(struct file_work *file, const struct error *why);
/* Ends the call with this. Returns nothing, so that callers can `return`. */
void file_work_fail(struct file_work *file, enum error_kind kind, const char *fmt, ...)
        PRINTF_LIKE(3, 4);

/* Tells whoever subscribed to the file, by the id or the name of its sandbox. */
void file_work_changed(const struct file_work *file);
/* To files below it as well: a directory is gone. */
void file_work_changed_below(const struct file_work *file);
/* sandbox://ID/workspace/a%20b for a path as callers write it. */
MUST_CHECK int file_work_uri(const char *id, const char *path, struct buf *ret, struct error *err);

/* "2026-11-16 11:25", in UTC. Returns out. */
enum { FILE_TIME_SIZE = 24 };
const char *file_time(uint64_t ms, char out[FILE_TIME_SIZE]);

/* How many bytes `value` has in an answer, the comma behind it included. */
size_t file_json_size(json_t *value);

/* The parameter that says which file. */
#define FILE_PARAM_PATH(type_, member_, help_)                                                     \
	{                                                                                          \
		.name = "path", .type = PARAM_STRING, .required = true, .min = 1, .max = 4095,     \
		.offset = offsetof(type_, member_),                                                \
		.help = help_ " Absolute, or relative to /workspace."                              \
	}
