/* copy.h - copies a file or a directory between the host and a sandbox.
 *
 * A copy first asks both ends: what the source is, what the target is, and whether something is in
 * the way. Then a transfer (transfer.h) moves the bytes. The contents of a source directory are
 * merged into an existing target directory; files that only the target has stay.
 *
 *   copy_start -> progress ... -> ended, once; or copy_cancel
 *
 * The copy is freed after `ended` returned, or by copy_cancel(). */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "sandbox/copy/transfer.h"

struct buf;
struct channel;
struct copy;
struct error;
struct host_handle;
struct sandbox;

enum { COPY_ENTRIES_MAX = 200000 };

/* One end of a copy: an agent and a path in its file system. */
struct copy_endpoint {
	/* Called before each step, because the channel may fail meanwhile: NULL then. */
	struct channel *(*channel)(void *ctx);
	void *ctx;
	const char *path;  /* resolved by the agent */
	const char *where; /* a prefix for errors of this end; or NULL */
	bool is_host;
};

/* Neither copies the texts. */
struct copy_endpoint copy_host_endpoint(struct host_handle *handle, const char *path,
                                        const char *where);
struct copy_endpoint copy_sandbox_endpoint(struct sandbox *sandbox, const char *path,
                                           const char *where);

const char *copy_last_name(const char *path); /* the part behind the last slash */

struct copy_options {
	struct copy_endpoint from, to;
	const char *name; /* the source's name, for a target that is a directory; without slashes */
	bool into;        /* copy a directory into an existing one, under its name; a target that
	                   * ends in a slash means the same */
	bool overwrite;   /* replace a file, merge a directory; otherwise both are refused */
	bool preview;     /* change nothing, report what would change; implies overwrite */
	bool gitignore;   /* leave out the files that .gitignore files of the source name */
	bool only_directory; /* a source that is a file is refused */
	uint64_t max_bytes;
	uint32_t max_count;
};

struct copy_result {
	struct transfer_result moved;
	uint64_t ignored;   /* entries left out by .gitignore */
	bool is_directory;  /* the source is one */
	bool is_preview;    /* nothing was written; moved.report tells what would be */
	const char *target; /* the path of the copy, for the agent there */
};

/* The format of what is said about entries that could not be copied: how many, and the first. */
#define COPY_SKIPPED                                                                               \
	"%" PRIu64 " skipped (links that lead out of the directory, devices, sockets, unreadable " \
	"files), the first is '%s'"

/* Texts about what a copy to the host has left out. */
enum { COPY_NAMES_MAX = 10, COPY_NOTES_MAX = 8192 };
/* The first names that were left out, each with its kind. Returns their number. */
size_t copy_left_out_names(const struct copy_result *result, struct view names[COPY_NAMES_MAX]);
/* Appends, each on a line of its own, what was left out, why, and how a person can allow it: at
 * most COPY_NOTES_MAX bytes, none if everything was copied. */
void copy_add_notes(const struct copy_result *result, struct buf *text);
/* Fails if all files were left out: a copy that does nothing must not look like a success. */
MUST_CHECK int copy_check_some(const struct copy_result *result, struct error *err);

struct copy_events {
	void (*progress)(void *ctx, uint64_t bytes); /* may be NULL */
	/* The last call, from the loop. `why` is NULL on success, otherwise `result` is. */
	void (*ended)(void *ctx, const struct copy_result *result, const struct error *why);
};

/* The options and their texts are copied. */
MUST_CHECK int copy_start(const struct copy_options *options, const struct copy_events *events,
                          void *ctx, struct copy **ret, struct error *err);
/* Stops the copy; no event is called afterwards. Does nothing from within `ended`. */
void copy_cancel(struct copy *copy);
