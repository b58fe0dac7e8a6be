/* machine.h - how much this machine has of each resource that a limit of sandboxes is about. */
#pragma once
#include "engine/spec.h"

/* Reads the amounts in the units of struct spec_limits; UINT64_MAX: not known. If the server runs
 * in a cgroup with smaller limits, these are the amounts. `state` is the state directory, whose
 * file system holds the sandboxes. */
void machine_read(const char *state, struct spec_limits *ret);
