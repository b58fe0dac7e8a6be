/* names.h - the names in a directory, sorted by their bytes, a bounded number at a time.
 *
 * A directory is read from its start to its end, and only the smallest names behind a given one
 * are kept, so a directory with a million names costs no more memory than the rule allows. The
 * others are found by reading the directory again, behind the last name that was kept. A name is
 * any bytes but NUL and '/', at most 255; longer ones, which some file systems have, are passed
 * over, as are "." and "..".
 *
 *   zeroed -> names_read ... -> names_done    (the struct is the caller's, it owns the names) */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"

struct error;

struct names {
	char **items; /* ascending, each once */
	size_t count, cap;
	size_t bytes; /* of memory, about */
	bool more;    /* the directory has names behind the last one */
};

struct names_rule {
	const char *after; /* only names behind this one; "": all */
	size_t limit;      /* the most names, at least 1 */
	size_t bytes;      /* the most memory; one name is kept in any case */
	bool hidden;       /* include names that start with a dot */
};

/* Reads `dir` (open for reading, not O_PATH) from its start. The names held before are freed. */
MUST_CHECK int names_read(struct names *names, int dir, const struct names_rule *rule,
                          struct error *err);
void names_done(struct names *names);

/* Whether the directory has any name. False also if it cannot be read. */
bool names_any(int dir, bool hidden);
