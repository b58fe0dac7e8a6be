/* machine.h - what this machine has of everything that sandboxes are limited in. */
#pragma once
#include "engine/spec.h"

/* The amounts in the units of struct spec_limits; UINT64_MAX: not known. A cgroup around the server
 * counts as the machine. `state` is the state directory, whose file system holds the sandboxes. */
void machine_read(const char *state, struct spec_limits *ret);
