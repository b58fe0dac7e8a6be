/* gpu_env.h - what programs are told about the graphics processors they may use. */
#pragma once
#include <stdint.h>

struct cdi;

/* The variables of all chosen devices, "NAME=value", NULL behind the last: each name once;
 * LD_LIBRARY_PATH has the directories of all. The caller frees it with gpu_env_free(). */
char **gpu_env(const struct cdi *gpus, uint64_t chosen);
void gpu_env_free(char **env);
