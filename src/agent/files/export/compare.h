/* compare.h - compares an entry of a copy with the file of the same name, without changing it.
 *
 * An entry that is left out is compared because it counts as copied if the host has the same bytes
 * already; an entry of a preview is compared to report the difference. The bytes of a file are
 * compared as they arrive; for a diff the first DIFF_TEXT_MAX bytes of the new file are kept.
 *
 *   compare_start -> compare_bytes ... -> compare_end */
#pragma once
#include <stdbool.h>
#include <sys/stat.h>

#include "agent/files/export/export.h"
#include "base/attr.h"

struct compare_entry {
	int dir;          /* that the entry would be in; -1: it does not exist */
	const char *name; /* the last component */
	const char *path; /* for the report */
	mode_t type;      /* S_IFREG, S_IFDIR or S_IFLNK */
	mode_t mode;
	const char *link; /* the target of a symbolic link; "" otherwise */
	int kind;         /* of trusted files; -1: none */
};

struct compare {
	struct export *export;
	struct compare_entry entry;
	int old;          /* the present file, or -1 */
	bool exists;      /* a file, directory or link has the name */
	bool is_same;     /* it exists, and no difference was found so far */
	uint64_t size;    /* of the new file so far */
	struct stat st;   /* of the present file */
	struct buf bytes; /* in a preview: the beginning of the new file, for the diff */
};

/* The texts of *entry must live until compare_end(). */
MUST_CHECK int compare_start(struct compare *compare, struct export *export,
                             const struct compare_entry *entry, struct error *err);
void compare_bytes(struct compare *compare, struct view bytes);
/* Counts the entry in done, as left out or as written, and reports it. */
void compare_end(struct compare *compare);
/* Frees the comparison without a report. May be called twice, and after compare_end(). */
void compare_cancel(struct compare *compare);
