/* try.h - what the programs here have in common: one line for each attempt, "what: DONE" if it
 * worked, else the name of the error. The tests read the lines, and then look for themselves. */
#pragma once
#include <errno.h>
#include <stdio.h>
#include <string.h>

static inline void tell(const char *what, long result)
{
	const char *name = result < 0 ? strerrorname_np(errno) : "DONE";

	printf("%s: %s\n", what, name != NULL ? name : "an error without a name");
	fflush(stdout);
}
