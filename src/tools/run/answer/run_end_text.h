/* run_end_text.h - how a run ended, in words. */
#pragma once
#include <stdbool.h>

struct run_result;

enum { RUN_END_SIZE = 240 };

/* Writes the end of a run for a line of its answer; "" if there is nothing to say. `is_silent`: the
 * answer has no output. */
void run_end_describe(const struct run_result *r, bool is_silent, char out[RUN_END_SIZE]);
