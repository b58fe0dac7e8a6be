/* project_files.h - the files in which a project lists its packages, and the versions of them whose
 * packages were installed.
 *
 *   project_find -> project_is_known, else project_read_start -> fn -> [project_set_done]
 *
 * Reading files takes a request to the agent, which every run would pay for. So a directory is read
 * once, and again only after something may have changed: a tool or a run has written such a file
 * (project_files_changed), a process runs in the background, or half a minute has passed, in which
 * another server of the same user may have changed files of the sandbox.
 *
 * The table has a fixed size: the entry that was not used for the longest time is replaced, and its
 * directory is read again. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "engine/spec.h"
#include "sandbox/process/process.h"
#include "tools/packages/project_command.h"

struct files_op;
struct process_options;
struct sandbox;

enum { PROJECT_FILES_MAX = 2 };

/* One directory of a sandbox, for one language. */
struct project {
	char sandbox[SPEC_ID_LEN + 1];
	char dir[PROJECT_DIR_SIZE];
	char installer[PROCESS_ID_MAX + 1]; /* its call did not wait for it; "": none */
	bool is_python;
	bool is_reading;    /* a call waits for the files */
	bool is_installing; /* a call waits for the installer */
	unsigned users;     /* calls that hold a pointer to it */
	uint64_t awake_ms;  /* of sandbox_awake_ms(): a reset or a sleep makes it invalid */
	uint64_t read_ms;   /* when the files were read; 0: they may have changed */
	uint64_t version;   /* hash of the files whose packages were installed; 0: none was */
	uint64_t used_ms;
	struct list waiting; /* further calls that wait for that call */
};

/* Finds or adds the entry and counts a user. NULL: every entry is in use. */
struct project *project_find(const struct sandbox *sandbox, const char *dir, bool is_python);
void project_release(struct project *project);
/* Whether the files need not be read. */
bool project_is_known(const struct project *project, struct sandbox *sandbox);

/* A reading of the files of a directory; the zeroed struct is an inactive one. */
struct project_read {
	struct files_op *ops[PROJECT_FILES_MAX];
	uint64_t hashes[PROJECT_FILES_MAX]; /* 0: no file, or it lists nothing */
	bool is_python, is_starting;
	unsigned pending;
	void (*fn)(void *ctx);
	void *ctx;
};

/* Reads the files of the project; those that the run of `options` is about to write are taken from
 * there. fn may be called from within, and not after project_read_done(). */
void project_read_start(struct project_read *read, struct sandbox *sandbox,
                        const struct project *project, const struct process_options *options,
                        void (*fn)(void *ctx), void *ctx);
void project_read_done(struct project_read *read);
/* A hash of what was read; 0: the project lists nothing. */
uint64_t project_read_version(const struct project_read *read);
/* Writes "requirements.txt and pyproject.toml", or the one that there is. Returns out. */
enum { PROJECT_NAMES_SIZE = 48 };
const char *project_read_names(const struct project_read *read, char out[PROJECT_NAMES_SIZE]);

/* A file of a sandbox has been written, moved or removed; `and_below`: a directory. */
void project_files_changed(const char *sandbox, const char *path, bool and_below);
/* Any file of the sandbox may have changed. */
void project_files_expire(const char *sandbox);
/* Packages of the sandbox have been removed: the files of its projects are read again. */
void project_files_reset(const char *sandbox);
