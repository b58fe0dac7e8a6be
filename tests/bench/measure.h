/* measure.h - what programs that measure have in common. */
#pragma once
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/attr.h"

NORETURN static inline void die(const char *what, const char *why)
{
	(void)fprintf(stderr, "bench: %s: %s\n", what, why);
	exit(1);
}

static inline double now_us(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* From the environment. */
static inline size_t setting(const char *name, size_t otherwise)
{
	const char *text = getenv(name);
	size_t n = text != NULL ? strtoul(text, NULL, 10) : 0;

	return n != 0 ? n : otherwise;
}

static inline int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static inline double median(double *values, size_t count)
{
	qsort(values, count, sizeof *values, compare);
	return values[count / 2];
}
