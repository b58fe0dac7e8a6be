/* changed_files.h - the files of a sandbox that were created or changed since a time: of the
 * workspace, of /tmp and of the home directory.
 *
 *   changed_files_start -> fn -> changed_files_done, which also cancels
 *
 * The agent looks at a bounded number of entries, so among many files some may be missing;
 * hidden files and directories of packages are left out (agent/files/changes.c). The struct belongs
 * to the caller; zeroed, it is inactive and has no files. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/spec.h"
#include "json/json.h"

struct buf;
struct files_op;
struct process_file;
struct sandbox;

enum { CHANGED_FILES_MAX = 20 };

struct changed_files {
	char sandbox[SPEC_ID_LEN + 1]; /* id */
	uint64_t mark, given_until_ns;
	const struct process_file *given;
	size_t given_count;
	char *paths[CHANGED_FILES_MAX]; /* absolute, sorted */
	size_t count;
	bool has_more; /* or there may be more */
	struct files_op *op;
	void (*fn)(void *ctx);
	void *ctx;
};

struct changed_files_options {
	uint64_t since_ns; /* of clock_file_ns() */
	uint64_t mark;     /* of changed_files_mark(), from the same moment */
	bool directories;  /* also directories in which an entry was created or removed */
	/* Files that were written just before; they are left out unless they were changed again.
	 * The caller keeps them. */
	const struct process_file *given;
	size_t given_count;
	uint64_t given_until_ns; /* of clock_real_ns(), after they were written */
};

/* fn is called when the answer is there or cannot be had, perhaps from within, and not after
 * changed_files_done(). */
void changed_files_start(struct changed_files *files, struct sandbox *sandbox,
                         const struct changed_files_options *options, void (*fn)(void *ctx),
                         void *ctx);
void changed_files_done(struct changed_files *files);

/* Changes that were answered before this mark are not answered again. UINT64_MAX: none of those
 * that were answered by the time of the agent's reply. */
uint64_t changed_files_mark(void);
/* The last change of this file has been answered. `sandbox` is an id, `path` absolute. */
void changed_files_answered(const char *sandbox, const char *path);

/* Appends "a.txt, b/c.png" to `text`, and the absolute paths to `list`. `files` may be NULL. */
void changed_files_report(const struct changed_files *files, struct buf *text, json_t *list);
