/* shared_dir.h - which directories of the host may be shared with sandboxes. */
#pragma once
#include "base/attr.h"

struct error;

/* `state` is the state directory. Both are paths that exist. */
MUST_CHECK int shared_dir_check(const char *source, const char *state, struct error *err);
