#include "sandbox/porter/host_path.h"

#include <string.h>

#include "base/error.h"
#include "base/text/utf8.h"
#include "base/view.h"

int host_path_normal(const char *path, char ret[HOST_PATH_SIZE], struct error *err)
{
	char out[HOST_PATH_SIZE], shown[256];
	size_t used = 0;

	(void)utf8_escape(view_of(path), shown, sizeof shown);
	if (path[0] != '/')
		return error_set(err, ERR_INVALID, "'%s': not an absolute path", shown);
	while (*path != '\0') {
		size_t slashes = strspn(path, "/"), len = strcspn(path + slashes, "/");
		const char *name = path + slashes;

		path = name + len;
		if (len == 0 || (len == 1 && name[0] == '.'))
			continue;
		if (len == 2 && name[0] == '.' && name[1] == '.')
			return error_set(err, ERR_INVALID,
			                 "'%s': '..' cannot be used in paths of the host", shown);
		if (len > sizeof out - used - 2)
			return error_set(err, ERR_LIMIT, "'%s': a path of more than %d bytes",
			                 shown, HOST_PATH_SIZE - 1);
		out[used++] = '/';
		memcpy(out + used, name, len);
		used += len;
	}
	if (used == 0)
		out[used++] = '/';
	out[used] = '\0';
	memcpy(ret, out, used + 1);
	return 0;
}

int host_path_check(const char *path, const char *state, struct error *err)
{
	static const char *const own[] = { "/proc", "/sys", "/dev" };

	if (strcmp(path, "/") == 0)
		return error_set(err, ERR_INVALID,
		                 "'/': all of the host is too much: name a directory");
	for (size_t i = 0; i < ARRAY_LEN(own); i++)
		if (host_path_below(own[i], path) != NULL)
			return error_set(err, ERR_INVALID,
			                 "'%s': no files are there, but what the kernel shows of "
			                 "itself",
			                 path);
	if (state != NULL &&
	    (host_path_below(path, state) != NULL || host_path_below(state, path) != NULL))
		return error_set(err, ERR_INVALID,
		                 "'%s': belljar's own state directory is '%s': sandboxes must not "
		                 "get at it",
		                 path, state);
	return 0;
}

const char *host_path_below(const char *directory, const char *path)
{
	size_t len = strlen(directory);

	if (strcmp(directory, "/") == 0)
		return path[1] != '\0' ? path + 1 : ".";
	if (strncmp(directory, path, len) != 0)
		return NULL;
	if (path[len] == '\0')
		return ".";
	return path[len] == '/' ? path + len + 1 : NULL;
}
