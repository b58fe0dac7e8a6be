/* target.h - the path of a request. */
#pragma once
#include "base/attr.h"

/* Decodes the percent-encoding of a path in place. Fails if an encoded byte is malformed, a control
 * character, a slash or a backslash, if the result is not UTF-8, or if a segment is "." or "..":
 * programs disagree about what these mean. */
MUST_CHECK int target_decode_path(char *path);
