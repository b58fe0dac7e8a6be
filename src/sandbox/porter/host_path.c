#include "sandbox/porter/host_path.h"

#include <stdio.h>
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
		/* If "a" is a link, the kernel's "a/.." is the parent of the link's target. Cutting
		 * both off the text would check one directory and open another. */
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
	static const char *const kernel_dirs[] = { "/proc", "/sys", "/dev" };

	if (strcmp(path, "/") == 0)
		return error_set(err, ERR_INVALID,
		                 "'/': the whole host cannot be allowed: name a directory");
	/* Files there are interfaces of the kernel: writing one changes the machine, and below
	 * /proc/PID/root are the files of other processes. */
	for (size_t i = 0; i < ARRAY_LEN(kernel_dirs); i++)
		if (host_path_below(kernel_dirs[i], path) != NULL)
			return error_set(
			        err, ERR_INVALID,
			        "'%s': is an interface of the kernel, not a directory of files",
			        path);
	/* The state directory holds the database and the files of all sandboxes: a process that can
	 * write there controls every sandbox. */
	if (state != NULL &&
	    (host_path_below(path, state) != NULL || host_path_below(state, path) != NULL))
		return error_set(
		        err, ERR_INVALID,
		        "'%s': belljar's own state directory is '%s', which copies must not reach",
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
	return path[len] == '/' ? path + len + 1 : NULL; /* "/home/ab" is not below "/home/a" */
}

/* --- roots of clients -------------------------------------------------------------- */

/* Directories that a client cannot declare as roots, because a server that was taken over could
 * declare any directory. People do not keep their projects in these; --allow-path still allows
 * each of them. */
struct closed_place {
	const char *path, *holds;
};

static const struct closed_place system_places[] = {
	{ "/bin", "programs of the system" },
	{ "/boot", "the kernel that starts next" },
	{ "/etc", "settings and passwords of the system" },
	{ "/lib", "programs of the system" },
	{ "/lib64", "programs of the system" },
	{ "/run", "sockets of running services" },
	{ "/sbin", "programs of the system" },
	{ "/usr", "programs of the system" },
	{ "/var/lib", "data of services" },
	{ "/var/log", "logs of services" },
	{ "/var/spool", "jobs and mail of users" },
};

static const struct closed_place home_places[] = {
	{ ".ssh", "keys, and who may log in" },
	{ ".gnupg", "keys" },
	{ ".pki", "keys" },
	{ ".password-store", "passwords" },
	{ ".aws", "credentials" },
	{ ".azure", "credentials" },
	{ ".docker", "credentials" },
	{ ".kube", "credentials" },
	{ ".config", "credentials, and programs that start by themselves" },
	{ ".local", "keys, programs, and belljar's own state" },
	{ ".mozilla", "passwords and sessions of a browser" },
	{ ".thunderbird", "mail and passwords" },
};

static bool paths_overlap(const char *path, const char *other)
{
	return host_path_below(path, other) != NULL || host_path_below(other, path) != NULL;
}

static int refuse_root(const char *path, const char *place, const char *holds, struct error *err)
{
	return error_set(err, ERR_INVALID,
	                 "'%s' is, contains or is in '%s' (%s), which a client cannot declare: "
	                 "allow what is needed with --allow-path",
	                 UTF8_ESCAPED(view_of(path), 160), UTF8_ESCAPED(view_of(place), 160),
	                 holds);
}

int host_path_check_root(const char *path, struct error *err)
{
	for (size_t i = 0; i < ARRAY_LEN(system_places); i++)
		if (paths_overlap(path, system_places[i].path))
			return refuse_root(path, system_places[i].path, system_places[i].holds,
			                   err);
	return 0;
}

int host_path_check_home(const char *path, const char *home, struct error *err)
{
	char place[HOST_PATH_SIZE];

	for (size_t i = 0; i < ARRAY_LEN(home_places); i++) {
		if (snprintf(place, sizeof place, "%s/%s", home, home_places[i].path) >=
		    (int)sizeof place)
			return error_set(err, ERR_LIMIT, "the home directory's path is too long");
		if (paths_overlap(path, place))
			return refuse_root(path, place, home_places[i].holds, err);
	}
	return 0;
}
