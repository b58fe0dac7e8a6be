/* clock.h - the monotonic clock for durations, and the time of day as text. */
#pragma once
#include <stdint.h>

uint64_t clock_now_ms(void); /* CLOCK_MONOTONIC */

/* The time since 1970 of CLOCK_REALTIME_COARSE, the clock of the times of files: a file that is
 * changed after this call has the same or a later time. */
uint64_t clock_file_ns(void);
/* The same of CLOCK_REALTIME: a file that was changed before this call has an earlier time. The
 * coarse clock may be some ticks behind on a busy machine, and some file systems set the precise
 * time. */
uint64_t clock_real_ns(void);

enum { CLOCK_TEXT_SIZE = 32 };
/* Writes the time of day in UTC, as 2026-01-31T23:59:59.123Z. Returns out. */
const char *clock_text(char out[CLOCK_TEXT_SIZE]);
