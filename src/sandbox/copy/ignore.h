/* ignore.h - the rules of .gitignore files, as git applies them.
 *
 * Rules are added file by file, each with the directory of its file. The last rule that matches
 * decides; rules of deeper directories come after those of the directories above them, and nothing
 * below a directory that is left out can be included again. `.git` is always left out. Paths are
 * relative to the top of the copy, without "./" and without a slash at their end.
 *
 * The files may come from a sandbox. Their number and size are limited, and so are the steps of
 * matching: a rule costs at most the product of its length and the path's, but there may be very
 * many of both.
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
	IGNORE_PATTERN_MAX = 4096,         /* a longer line is no rule */
	/* Steps of glob_match(), each some nanoseconds. */
	IGNORE_LOOK_STEPS = 200 * 1000,  /* for one path */
	IGNORE_STEPS = 10 * 1000 * 1000, /* in reserve at first, and at most */
	IGNORE_ENTRY_STEPS = 5000,       /* that each entry of the copy adds to the reserve */
};

struct ignore *ignore_new(void) RETURNS_NONNULL;
struct ignore *ignore_free(struct ignore *ignore);
DEFINE_CLEANUP(ignore)

/* Adds the text of `directory`/.gitignore; "" is the top. In any order. */
MUST_CHECK int ignore_add(struct ignore *ignore, struct view directory, struct view text,
                          struct error *err);

/* Whether a path is left out. The verdict on a directory is cached for the paths below it. Once the
 * steps are spent the result means nothing: ignore_check() tells. */
bool ignore_has(const struct ignore *ignore, struct view path, bool is_directory);
/* ERR_LIMIT: the steps are spent. */
MUST_CHECK int ignore_check(const struct ignore *ignore, struct error *err);
/* Adds IGNORE_ENTRY_STEPS: one more entry of the copy has arrived. */
void ignore_credit(const struct ignore *ignore);
