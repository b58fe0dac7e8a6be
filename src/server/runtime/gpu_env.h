/* gpu_env.h - the environment variables that programs need to use their graphics processors. */
#pragma once
#include <stdint.h>

struct cdi;

/* The variables of the chosen devices (bit n: device n), as "NAME=value" strings with a NULL behind
 * the last. Each name occurs once: the first device that sets it wins, except that LD_LIBRARY_PATH
 * collects the directories of all. The strings and the array are from malloc and the caller's. */
char **gpu_env(const struct cdi *gpus, uint64_t chosen);
