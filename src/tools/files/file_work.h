/* file_work.h - a call that works on files of one sandbox, as a sequence of requests to its agent.
 *
 * A tool's own struct begins with a struct file_work, which begins with a struct work (work.h). The
 * call belongs to struct work; file_work adds the request that is under way (one at a time), the
 * lock on the file (edit_lock.h) and the memory reserved for file contents. file_work_done() gives
 * all three back. */
#pragma once
#include "base/attr.h"
#include "base/error.h"
#include "sandbox/channel/files.h"
#include "tools/files/edit_lock.h"
#include "tools/support/work.h"

struct buf;
struct changed_files;
struct file_work;
struct sandbox_row;
struct tools_context;

/* Receives the reply to a request, which is valid until this returns. */
typedef void file_work_fn(struct file_work *file, const struct files_reply *reply);
/* Receives the error of a request. */
typedef void file_work_error_fn(struct file_work *file, const struct error *why);

struct file_work {
	struct work work;
	const char *path;           /* as the caller wrote it; lives as long as the call */
	const char *home;           /* where the caller's files are; NULL: /workspace */
	bool is_for_file;           /* the tool takes files only, and refuses directories by name */
	struct files_op *op;        /* the request under way, or NULL */
	file_work_fn *next;         /* receives its reply, */
	file_work_error_fn *failed; /* or its error */
	struct error path_error;    /* the first error, during requests of file_work_fail_path() */
	struct edit_lock lock;
	void (*locked)(struct file_work *file);
	size_t reserved; /* bytes of file_memory_reserve() */
};

/* For struct work_callbacks. A tool with a done() of its own calls file_work_done() from there. */
void file_work_done(struct work *work);

/* Takes the lock on file->path and continues with `locked`. The lock is released when the call
 * ends. */
void file_work_lock(struct file_work *file, void (*locked)(struct file_work *file));
/* Called before `bytes` of file contents are read into memory; replaces an earlier reservation of
 * this call. False: the calls under way hold too much, and this call was answered with that
 * error. */
MUST_CHECK bool file_work_reserve(struct file_work *file, size_t bytes);

/* Sends a request and continues with `next`. An error ends the call, by file_work_fail_path().
 * `content` follows a WRITE; `max` bounds the bytes of the reply. */
void file_work_request(struct file_work *file, const struct wire_message *request,
                       struct view content, size_t max, file_work_fn *next);
void file_work_stat(struct file_work *file, const char *path, bool follow, file_work_fn *next);
/* As file_work_request() and file_work_stat(), but an error is passed to `failed`. If the request
 * cannot be sent, `failed` is called before the function returns. */
void file_work_request_or(struct file_work *file, const struct wire_message *request,
                          struct view content, size_t max, file_work_fn *next,
                          file_work_error_fn *failed);
void file_work_stat_or(struct file_work *file, const char *path, bool follow, file_work_fn *next,
                       file_work_error_fn *failed);
/* Creates a directory and the missing ones above it; one that exists is no error. */
void file_work_make_directory(struct file_work *file, const char *path, file_work_fn *next);
/* Replaces or creates a file, and creates missing directories above it. `content` must live until
 * the reply. */
void file_work_write(struct file_work *file, const char *path, struct view content,
                     file_work_fn *next);
/* Reads bytes or lines of file->path, at most `max` bytes; one more than `max` is ERR_LIMIT. Lines
 * count from 1. */
void file_work_read(struct file_work *file, enum wire_unit unit, uint64_t from, uint64_t count,
                    size_t max, file_work_fn *next);
/* The entry in the reply to file_work_stat(). */
struct wire_entry file_work_entry(const struct files_reply *answer);

/* Ends the call with an error about file->path that says what to do next. For a path that does not
 * exist, a request to the agent first lists the names in its directory, for the message. */
void file_work_fail_path(struct file_work *file, const struct error *why);
/* Ends the call with this error. */
void file_work_fail(struct file_work *file, enum error_kind kind, const char *fmt, ...)
        PRINTF_LIKE(3, 4);

/* Reserves memory for file contents, so that many calls with large files at once cannot exhaust the
 * server's memory. *reserved (the caller's, 0 at first) becomes `bytes`, or ERR_LIMIT. */
MUST_CHECK int file_memory_reserve(size_t *reserved, size_t bytes, struct error *err);
void file_memory_release(size_t *reserved);

/* Notifies clients that subscribed to the file's resource, by the sandbox's id or by its name.
 * `and_below`: the path is a directory, and subscribers to files below it are notified too. */
void file_report_change(const struct work *work, const char *path, bool and_below);
/* Notifies clients that subscribed to one of these files, or to a directory above it. */
void file_report_changed_files(const struct tools_context *context, const struct sandbox_row *row,
                               const struct changed_files *files);
enum { FILE_URI_MAX = 16 * 1024 }; /* bytes of the URI of any path, percent-encoded */
/* Appends sandbox://ID/workspace/a%20b for a path as callers write it. */
MUST_CHECK int file_uri(const char *id, const char *path, struct buf *ret, struct error *err);

/* "file", "directory", "link", "other". */
extern const char *const file_type_names[WIRE_FILE_TYPE_COUNT];
/* Writes "2026-11-16 11:25" (UTC) and returns out. */
enum { FILE_TIME_SIZE = 24 };
const char *file_time(uint64_t ms, char out[FILE_TIME_SIZE]);

/* The bytes that `value` takes in an answer as JSON, with the comma behind it. */
size_t file_json_size(json_t *value);
