/* run_hint.h - recognises a run that failed because of what a sandbox does not allow, by the
 * messages that programs print then. A program may print such a message for another reason: the
 * answer then has one line too many. */
#pragma once

#include <stdbool.h>

#include "base/view.h"

struct run_fit;
struct run_result;

enum { RUN_HINT_SIZE = 400 };

/* Writes the advice for the caller of a run that failed. False: there is none. */
bool run_hint(const struct run_result *result, const struct run_fit *fit, char out[RUN_HINT_SIZE]);
/* Whether a program says that it cannot reach a host. What it printed to stdout counts only if it
 * failed. */
bool run_hint_is_network(struct view out, struct view errors, bool has_failed);
