/* ignore_glob.h - one pattern of a .gitignore against one path.
 *
 *   *     anything within one name     ?   one character of a name     [a-z] [!a-z]  one of these
 *   **    as a whole name: any number of directories; elsewhere the same as *
 *   \x    x itself
 *
 * Takes time in proportion to the product of the two lengths at most, and no more steps than there
 * are. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/view.h"

/* The pattern has no slash in front or behind. What it takes goes off `steps`; at 0 it gives up,
 * and the answer means nothing. */
bool ignore_glob(const char *pattern, struct view path, uint64_t *steps);
