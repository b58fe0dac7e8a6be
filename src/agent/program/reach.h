/* reach.h - verifies that the agent can see and kill the processes of the sandbox's user.
 *
 * A keeper finds a program's descendants in /proc and kills them. Where /proc is missing or hides
 * other users' processes, or where the agent lacks CAP_KILL, a program could never be stopped: the
 * agent then refuses to serve. The check forks a process with the user's rights and kills it. */
#pragma once
#include <stdint.h>

#include "base/attr.h"

struct error;
struct user;

/* Runs the check, unless reach_check_ahead() has already run it for this user without supplementary
 * groups. */
MUST_CHECK int reach_check(const struct user *user, struct error *err);

/* Runs the check before WELCOME names the user, while the server is not waiting yet. A failure is
 * not reported: reach_check() then runs the check again. */
void reach_check_ahead(uint32_t uid);
