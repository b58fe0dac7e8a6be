/* trusted_names.h - the files that programs of the host execute or trust by themselves.
 *
 * A copy from a sandbox to the host must not place such a file: with a .git/config from a sandbox,
 * for example, the user's next `git status` runs code of the sandbox on the host. The table has one
 * row for each kind of file, with the reason that a user is told. Ordinary project files, such as a
 * Makefile or package.json, are not in it: a user runs them on purpose.
 *
 * The agent on the host matches the path that a file would really have there, so a copy of a
 * directory "hooks" to the host's ".git/" is found as well. Nothing here accesses a file. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"

struct error;

/* A pattern is a list of names with '/' between. It matches a path that has these names in this
 * order, one directly below the other, wherever they stand: ".git/hooks" matches "/a/.git/hooks"
 * and all that is below. A '/' at its beginning stands for the root directory, and '*' for any
 * characters of one name. Patterns are in lower case and have a space between them. */
struct trusted_kind {
	const char *name;     /* for --copy-trusted */
	const char *patterns; /* of the files */
	const char *except;   /* patterns of files that are not meant; or NULL */
	bool only_files;      /* matches the last name of a path, and no directory */
	const char *reason;   /* continues "left out, because" */
};

/* At most 63: a set of kinds is a uint64_t with the bit of each row, and TRUSTED_EXECUTABLES. */
enum { TRUSTED_KINDS_MAX = 63 };
extern const struct trusted_kind trusted_kinds[];
extern const size_t trusted_kind_count;

#define TRUSTED_EXECUTABLES (UINT64_C(1) << 63) /* new files may be executable */

/* The row that an absolute path belongs to, leaving out the kinds in the set `allowed`; -1: none.
 * Letters match in either case, and names match that a file system may take for the same: with
 * code points that HFS+ and ext4 ignore, with dots and spaces at their end, and short ones of FAT
 * and NTFS ("GIT~1"). */
int trusted_kind_of(const char *path, bool is_directory, uint64_t allowed);

/* Reads "git-hooks,agents" or "all" as a set of kinds. */
MUST_CHECK int trusted_parse(const char *list, uint64_t *ret, struct error *err);
