/* make_parents.h - makes the directories above a file that does not exist yet. */
#pragma once
#include <sys/types.h>

#include "base/attr.h"

struct error;

/* Makes every missing directory in front of the last slash of the path, with this mode. */
MUST_CHECK int make_parents(const char *path, mode_t mode, struct error *err);
