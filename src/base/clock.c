#include "base/clock.h"

#include <stdio.h>
#include <time.h>

uint64_t clock_now_ms(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static uint64_t read_ns(clockid_t clock)
{
	struct timespec now;

	(void)clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

uint64_t clock_file_ns(void)
{
	return read_ns(CLOCK_REALTIME_COARSE);
}

uint64_t clock_real_ns(void)
{
	return read_ns(CLOCK_REALTIME);
}

const char *clock_text(char out[CLOCK_TEXT_SIZE])
{
	struct timespec now;
	struct tm utc;
	char seconds[24] = "";

	(void)clock_gettime(CLOCK_REALTIME, &now);
	if (gmtime_r(&now.tv_sec, &utc) != NULL)
		(void)strftime(seconds, sizeof seconds, "%Y-%m-%dT%H:%M:%S", &utc);
	(void)snprintf(out, CLOCK_TEXT_SIZE, "%s.%03dZ", seconds, (int)(now.tv_nsec / 1000000));
	return out;
}
