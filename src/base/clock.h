/* clock.h - the two clocks: one that only goes forward, one for people. */
#pragma once
#include <stdint.h>

uint64_t clock_now_ms(void); /* monotonic */

enum { CLOCK_TEXT_SIZE = 32 };
/* The wall clock in UTC as 2026-01-31T23:59:59.123Z. Returns out. */
const char *clock_text(char out[CLOCK_TEXT_SIZE]);
