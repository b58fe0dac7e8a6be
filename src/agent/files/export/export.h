/* export.h - what a copy may place on the host, and what it would change there.
 *
 * One struct export belongs to one WRITE or UNPACK. In the agent on the host (job->on_host) it
 * decides about every entry by the path that the entry would really have there: an entry that
 * programs of the host trust (base/trusted/trusted_names.h) is left out, unless the host has the
 * same bytes already, and new files are not executable. The rules come from the porter, on the
 * agent's command line, so that neither code in a sandbox nor a server that was taken over can
 * change them. In a sandbox everything is allowed.
 *
 * With WIRE_PREVIEW nothing is written in either case; the report says what would be.
 *
 *   export_init -> export_kind, export_leave_out ... -> export_finish
 *
 * The struct is the caller's; its texts are static, because a worker process does one operation and
 * exits. */
#pragma once
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "agent/files/job.h"
#include "base/attr.h"
#include "base/buf.h"

struct error;

/* The target's path and the entry's name have at most PATH_MAX bytes each, and so has the part of
 * the target that is missing. */
enum { EXPORT_BASE_SIZE = 2 * PATH_MAX, EXPORT_PATH_SIZE = 4 * PATH_MAX };

struct export
{
	const struct job *job;
	struct wire_done *done;
	bool is_preview;
	size_t unlisted;               /* entries that did not fit into `list` */
	size_t unshown;                /* changes whose diff did not fit into `diffs` */
	struct buf list, diffs;        /* for the report: a line for each entry, and hunks */
	size_t base_len;               /* of `base` */
	char base[EXPORT_BASE_SIZE];   /* the host's path of the directory that names are below */
	char requested[3 * PATH_MAX];  /* the target's path in the request; "": no link is in it */
	char parent[PATH_MAX];         /* directory of the last entry, below base */
	char marked[EXPORT_PATH_SIZE]; /* path of `parent` on the host, with repositories as .git */
	char listed[256];              /* the last directory in `list` */
};

/* Whether this program can be the agent on the host: the agent in a sandbox has no rules. */
bool export_has_rules(void);

/* `directory` is the path of the directory that names are below. *ret is its descriptor, or -1 if
 * it does not exist. */
MUST_CHECK int export_init(struct export *export, const struct job *job, struct view directory,
                           bool is_preview, struct wire_done *done, int *ret, struct error *err);
/* Like export_init(), for a directory that is open already. */
MUST_CHECK int export_init_at(struct export *export, const struct job *job, int directory,
                              bool is_preview, struct wire_done *done, struct error *err);

/* Fails unless this directory, which was opened or created later, is the one of export_init(): two
 * copies at a time could put a link into the path of one of them. */
MUST_CHECK int export_verify(const struct export *export, int directory, struct error *err);

/* The kind of trusted file that the directory itself is, or -1. */
int export_base_kind(const struct export *export);
/* The kind of trusted file that an entry would be, or -1. */
int export_kind(struct export *export, const char *name, bool is_directory);

/* The kind by the path in the request, before links are resolved. A user's ~/.bashrc may be a link
 * to a file whose name is in no rule: a copy to ~/.bashrc would be written through the link. `name`
 * is the resolved last name of a target that is a file, or "". */
MUST_CHECK int export_set_requested(struct export *export, struct view path, const char *name,
                                    struct error *err);
int export_requested_kind(const struct export *export, const char *name, bool is_directory);

/* The permissions of a file or directory in `dir`. Of a file that the host does not have, or has
 * without executable bits, these bits are dropped, and done->not_executable counts it. */
mode_t export_file_mode(struct export *export, int dir, const char *name, mode_t mode);
mode_t export_directory_mode(const struct export *export, mode_t mode);

/* Counts and lists an entry that is left out. */
void export_leave_out(struct export *export, const char *name, bool is_directory, int kind);
/* Adds a line to the list: what happens to the entry, and more about it. */
void export_list(struct export *export, const char *what, const char *name, const char *more);
/* Sets done->report. */
void export_finish(struct export *export);
