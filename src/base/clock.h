/* clock.h - the monotonic clock for durations, and the time of day as text. */
#pragma once
#include <stdint.h>

uint64_t clock_now_ms(void); /* CLOCK_MONOTONIC */

enum { CLOCK_TEXT_SIZE = 32 };
/* Writes the time of day in UTC, as 2026-01-31T23:59:59.123Z. Returns out. */
const char *clock_text(char out[CLOCK_TEXT_SIZE]);
