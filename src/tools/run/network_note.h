/* network_note.h - recognises a run that failed because a sandbox has no network. */
#pragma once
#include <stdbool.h>

struct process_state;
struct run_fit;

#define NETWORK_NOTE "a sandbox has no network: use what is installed, or copy files in"

/* Whether the run failed, and its output has a message of a client that found no network. */
bool failed_for_network(const struct process_state *state, const struct run_fit *fit);
