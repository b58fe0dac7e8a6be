#include "engine/shared_dir.h"

#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

/* Both paths are results of realpath(3). */
static bool is_within(const char *path, const char *directory)
{
	size_t len = strlen(directory);

	return strcmp(directory, "/") == 0 ||
	       (strncmp(path, directory, len) == 0 && (path[len] == '\0' || path[len] == '/'));
}

/* /proc, /sys, /dev and /run hold the host's processes, devices and service sockets (docker.sock is
 * root of the host); the state directory holds other sandboxes' files. */
int shared_dir_check(const char *source, const char *state, struct error *err)
{
	static const char *const never[] = { "/proc", "/sys", "/dev", "/run" };
	char path[PATH_MAX], own[PATH_MAX];

	if (realpath(source, path) == NULL)
		return error_sys(err, "'%s'", source);
	if (realpath(state, own) == NULL)
		return error_sys(err, "'%s'", state);
	for (size_t i = 0; i < ARRAY_LEN(never); i++)
		if (is_within(path, never[i]))
			return error_set(err, ERR_INVALID,
			                 "'%s' is in %s, which sandboxes may not see: "
			                 "name another directory",
			                 source, never[i]);
	if (is_within(own, path) || is_within(path, own))
		return error_set(
		        err, ERR_INVALID,
		        "'%s' and the state directory '%s' must not contain one another, "
		        "or sandboxes would see each other's files: name another directory",
		        source, own);
	return 0;
}
