/* reach.h - can the agent see and end the processes of the sandbox's user? */
#pragma once
#include <stdint.h>

#include "base/attr.h"

struct error;
struct user;

/* Tries it once, with a process made for it. If it cannot (no /proc, one that hides other
 * users' processes, no right to signal them), nothing may be run here: it could not be ended. */
MUST_CHECK int reach_check(const struct user *user, struct error *err);

/* Tries it ahead for a user who will probably be the one: then there is nothing to wait for. */
void reach_ahead(uint32_t uid);
