/* ignore_glob.h - one pattern of a .gitignore against one path.
 *
 *   *     anything within one name     ?   one character of a name     [a-z] [!a-z]  one of these
 *   **    as a whole name: any number of directories; elsewhere the same as *
 *   \x    x itself
 *
 * Takes time in proportion to the product of the two lengths, whatever the pattern is. */
#pragma once
#include <stdbool.h>

#include "base/view.h"

/* The pattern has no slash in front or behind. */
bool ignore_glob(const char *pattern, struct view path);
