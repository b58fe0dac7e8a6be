/* fuzz_config.c - a configuration file of any bytes is an error that names the file, or its
 * values are within the limits of the options' table. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "fuzz/fuzz.h"
#include "server/options/options.h"

static void check_bounds(const struct options *options)
{
	for (size_t i = 0; i < OPTION_COUNT; i++) {
		const struct option_spec *spec = &option_specs[i];
		uint64_t value;

		/* Without a value of its own, an option such as --memory-max is 0: not set. */
		if (options->sources[i] == OPTION_FROM_TABLE)
			continue;
		if (spec->type != OPTION_TYPE_NUMBER && spec->type != OPTION_TYPE_SIZE)
			continue;
		memcpy(&value, (const char *)options + spec->offset, sizeof value);
		if (value < spec->min || value > spec->max)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO_FD int fd = memfd_create("config", MFD_CLOEXEC);
	const char *flags[OPTION_COUNT] = { 0 };
	char *const environment[] = { NULL };
	struct options options = { 0 };
	struct error err;
	char path[64];

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	(void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	flags[OPTION_CONFIG] = path;
	if (options_load(&options, FOR_SERVE, flags, environment, &err) < 0) {
		if (strstr(err.msg, path) == NULL)
			abort();
		return 0;
	}
	check_bounds(&options);
	options_done(&options);
	return 0;
}
