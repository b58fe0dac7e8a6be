/* ignore.h - which files a project does not count as its own: .gitignore, as git reads it.
 *
 * Rules are added file by file, each with the directory it stands in. The last rule that fits
 * decides; rules of deeper directories come behind those above them, and what is below a
 * directory that is left out cannot be had back. `.git` is left out always. Paths are relative to
 * where the copy begins, without "./" and without a slash at their end.
 *
 *   ignore_new -> ignore_add ... -> ignore_has ... -> ignore_free */
#pragma once
#include <stdbool.h>

#include "base/attr.h"
#include "base/cleanup.h"
#include "base/view.h"

struct error;
struct ignore;

enum {
	IGNORE_FILES_MAX = 1000,
	IGNORE_FILE_MAX = 256 * 1024,      /* bytes of one file */
	IGNORE_TEXT_MAX = 4 * 1024 * 1024, /* bytes of all of them */
	IGNORE_RULES_MAX = 10000,          /* each is tried with each path */
	IGNORE_PATTERN_MAX = 4096,         /* a longer line means nothing */
	/* Steps of comparing, each some nanoseconds, as patterns may be made to take long. */
	IGNORE_LOOK_STEPS = 200 * 1000,  /* for one path */
	IGNORE_STEPS = 10 * 1000 * 1000, /* in reserve at first, and at most */
	IGNORE_ENTRY_STEPS = 5000,       /* that an entry adds to it */
};

struct ignore *ignore_new(void) RETURNS_NONNULL;
struct ignore *ignore_free(struct ignore *ignore);
DEFINE_CLEANUP(ignore)

/* The text of `directory`/.gitignore; "" is where the copy begins. In any order. */
MUST_CHECK int ignore_add(struct ignore *ignore, struct view directory, struct view text,
                          struct error *err);

/* Once it has cost too much the answer means nothing: ask ignore_check(). What was decided of a
 * directory is kept for what is below. */
bool ignore_has(const struct ignore *ignore, struct view path, bool is_directory);
/* ERR_LIMIT: the rules take too long. */
MUST_CHECK int ignore_check(const struct ignore *ignore, struct error *err);
/* One more entry of the copy has come. */
void ignore_credit(const struct ignore *ignore);
