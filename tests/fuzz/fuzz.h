/* fuzz.h - what every fuzz target needs. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* The entry point of a target. libFuzzer calls it, and replay.c for saved inputs. Returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* libFuzzer takes an abort for a finding and saves the input. */
static inline void fuzz_check(bool holds)
{
	if (!holds)
		abort();
}
