/* run_hint.h - recognises a run that failed because of what a sandbox does not allow, by the
 * messages that programs print then. A program may print such a message for another reason: the
 * answer then has one line too many. */
#pragma once

struct process_state;
struct run_fit;

/* The advice for the caller of a run that failed, or NULL. */
const char *run_hint(const struct process_state *state, const struct run_fit *fit);
