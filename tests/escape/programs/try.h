/* try.h - reports an attempt in one line: "what: DONE" if it succeeded, else the name of the error.
 * The tests read the lines, and check the effect on the host as well. */
#pragma once
#include <errno.h>
#include <stdio.h>
#include <string.h>

static inline void report(const char *what, long result)
{
	const char *name = result < 0 ? strerrorname_np(errno) : "DONE";

	printf("%s: %s\n", what, name != NULL ? name : "an error without a name");
	fflush(stdout);
}
