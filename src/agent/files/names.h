/* names.h - the names in a directory, sorted by their bytes, a bounded number at a time.
 *
 * A directory is read from its start to its end, and only the smallest names behind a
 * given one are kept: a directory with a million names costs no more memory than the rule
 * allows. What did not fit is read again, behind the last name kept. A name is any bytes
 * but NUL and '/', at most 255 of them; longer ones (some file systems have them) are
 * passed over, "." and ".." too.
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
	bool more;    /* there are others behind the last */
};

struct names_rule {
	const char *after; /* only names behind this one; "": all */
	size_t limit;      /* at most so many, at least 1 */
	size_t bytes;      /* of memory; one name is kept in any case */
	bool hidden;       /* names that start with a dot too */
};

/* Reads `dir` (open for reading, not O_PATH) from its start. What the struct held is freed. */
MUST_CHECK int names_read(struct names *names, int dir, const struct names_rule *rule,
                          struct error *err);
void names_done(struct names *names);

/* Is there any name in it, as far as can be seen? */
bool names_any(int dir, bool hidden);
