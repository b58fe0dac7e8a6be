/* measure.h - what the benchmark programs share: a clock, settings, medians, memory of a
 * process. */
#pragma once
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
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

/* A number from the environment; `fallback` if it is missing or 0. */
static inline size_t setting(const char *name, size_t fallback)
{
	const char *text = getenv(name);
	size_t n = text != NULL ? strtoul(text, NULL, 10) : 0;

	return n != 0 ? n : fallback;
}

static inline int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Sorts the values. */
static inline double median(double *values, size_t count)
{
	qsort(values, count, sizeof *values, compare_doubles);
	return values[count / 2];
}

/* Kibibytes on the line `key` ("VmRSS:") of /proc/PID/`file`. */
static inline unsigned long read_proc_kib(pid_t pid, const char *file, const char *key)
{
	char path[64], line[256];
	unsigned long kib = 0;
	FILE *in;

	(void)snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, file);
	in = fopen(path, "re");
	if (in == NULL)
		die(path, "cannot be read");
	while (fgets(line, sizeof line, in) != NULL)
		if (strncmp(line, key, strlen(key)) == 0)
			kib = strtoul(line + strlen(key), NULL, 10);
	(void)fclose(in);
	return kib;
}
