/* state_dir.c - finds, makes and checks the state directory. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/tree/make_parents.h"
#include "engine/native/ids/ids.h"
#include "server/confine.h"
#include "server/options/options.h"
#include "server/runtime/internal.h"
#include "server/runtime/runtime.h"

int runtime_default_state_dir(char out[PATH_MAX], struct error *err)
{
	const char *base = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
	int n;

	if (geteuid() == 0)
		n = snprintf(out, PATH_MAX, "/var/lib/belljar");
	else if (base != NULL && base[0] == '/')
		n = snprintf(out, PATH_MAX, "%s/belljar", base);
	else if (home != NULL && home[0] == '/')
		n = snprintf(out, PATH_MAX, "%s/.local/state/belljar", home);
	else
		return error_set(err, ERR_INVALID,
		                 "no directory for sandboxes: set HOME, or use --state-dir DIR");
	return n < PATH_MAX ? 0
	                    : error_set(err, ERR_LIMIT,
	                                "the state directory's path is too long: choose another "
	                                "with --state-dir DIR");
}

int runtime_find_state_dir(const struct options *options, char out[PATH_MAX], struct error *err)
{
	const char *given = options->state_dir;
	char here[PATH_MAX] = "";
	int n;

	if (given == NULL)
		return runtime_default_state_dir(out, err);
	if (given[0] == '~' && (given[1] == '/' || given[1] == '\0'))
		return error_set(err, ERR_INVALID,
		                 "--state-dir '%s': the home directory is not known: set HOME, or "
		                 "give the whole path",
		                 given);
	if (given[0] != '/' && getcwd(here, sizeof here) == NULL)
		return error_sys(err, "--state-dir '%s': the current directory", given);
	n = snprintf(out, PATH_MAX, "%s%s%s", here, given[0] != '/' ? "/" : "", given);
	return n < PATH_MAX ? 0
	                    : error_set(err, ERR_LIMIT,
	                                "the state directory's path is too long: choose another "
	                                "with --state-dir DIR");
}

int runtime_make_path(const char *path, mode_t mode, struct error *err)
{
	/* As root the server changes its user id later and must still get there, whatever the umask
	 * says. */
	mode_t before = umask(022);
	int r;

	if (geteuid() != 0)
		(void)umask(before);
	r = make_parents(path, 0755, err);
	if (r == 0 && mkdir(path, mode) < 0 && errno != EEXIST)
		r = error_sys(err, "create directory '%s'", path);
	(void)umask(before);
	return r;
}

static int check_directory_above(const struct stat *st, const char *above, const char *path,
                                 struct error *err)
{
	const char *shown = above[0] == '\0' ? "/" : above;

	if (st->st_uid != 0)
		return error_set(err, ERR_INVALID,
		                 "'%s' is below '%s', which belongs to user %u, who could replace "
		                 "it: run 'chown root %s', or choose another directory with "
		                 "--state-dir DIR",
		                 path, shown, st->st_uid, shown);
	if ((st->st_mode & S_ISVTX) == 0 &&
	    ((st->st_mode & S_IWOTH) != 0 || ((st->st_mode & S_IWGRP) != 0 && st->st_gid != 0)))
		return error_set(err, ERR_INVALID,
		                 "'%s' is below '%s', to which other users may write, so they "
		                 "could replace it: run 'chmod go-w %s', or choose another "
		                 "directory with --state-dir DIR",
		                 path, shown, shown);
	return 0;
}

/* A user to whom a directory above belongs, or who may write to it, could put another directory in
 * the place of the state directory, whose files root gives away and trusts. Each directory is
 * opened below one that was checked, so none can be replaced after its check. `path` has no links.
 * Where not all ids are mapped, root is not that of the host. */
static int check_all_above(const char *path, struct error *err)
{
	AUTO_FD int dir = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	char above[PATH_MAX], *end = above;
	struct stat st;

	if (geteuid() != 0 || idmap_count() <= IDS_HOST_LAST)
		return 0;
	(void)snprintf(above, sizeof above, "%s", path);
	for (;;) {
		char *name = end + 1;
		int next;

		*end = '\0';
		if (dir < 0 || fstat(dir, &st) < 0)
			return error_sys(err, "'%s'", above);
		if (check_directory_above(&st, above, path, err) < 0)
			return -1;
		*end = '/';
		end = strchr(name, '/');
		if (end == NULL)
			return 0;
		*end = '\0';
		next = openat(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		(void)close(dir);
		dir = next;
	}
}

int runtime_check_state_dir(const char *path, struct error *err)
{
	struct stat st;

	if (check_all_above(path, err) < 0)
		return -1;
	if (lstat(path, &st) < 0)
		return error_sys(err, "'%s'", path);
	if (!S_ISDIR(st.st_mode))
		return error_set(err, ERR_INVALID, "'%s' is not a directory", path);
	if (st.st_uid != geteuid())
		return error_set(err, ERR_INVALID,
		                 "'%s' belongs to user %u: use --state-dir with a directory of "
		                 "your own",
		                 path, st.st_uid);
	if ((st.st_mode & (S_IWGRP | S_IWOTH)) != 0)
		return error_set(err, ERR_INVALID,
		                 "other users may write to '%s': run chmod go-w on it", path);
	/* The server changes its user id later and must still get to db/ and servers/. A directory
	 * that belljar creates has this mode already. */
	if (geteuid() == 0 && (st.st_mode & S_IXOTH) == 0 && chmod(path, 0711) < 0)
		return error_sys(err, "chmod 711 '%s'", path);
	return 0;
}

/* The server changes its user id later, so it needs search permission on all directories above. */
static int check_parents(const char *path, struct error *err)
{
	char above[PATH_MAX];
	struct stat st;

	(void)snprintf(above, sizeof above, "%s", path);
	for (char *slash = strrchr(above, '/'); slash != NULL && slash != above;
	     slash = strrchr(above, '/')) {
		*slash = '\0';
		if (stat(above, &st) < 0 || (st.st_mode & S_IXOTH) == 0)
			return error_set(
			        err, ERR_INVALID,
			        "'%s' is below '%s', which other users may not enter: as root, "
			        "belljar serves as another user; choose another directory",
			        path, above);
	}
	return 0;
}

int runtime_prepare_state_dir(const struct options *options, struct runtime_base *base,
                              struct error *err)
{
	char path[PATH_MAX];

	if (runtime_find_state_dir(options, path, err) < 0)
		return -1;
	if (runtime_make_path(path, geteuid() == 0 ? 0711 : 0700, err) < 0)
		return -1;
	if (realpath(path, base->state) == NULL)
		return error_sys(err, "'%s'", path);
	/* Before confine_choose_id() changes owners in a directory that could be another user's. */
	if (runtime_check_state_dir(base->state, err) < 0 ||
	    confine_choose_id(base->state, &base->taken, err) < 0)
		return -1;
	if (geteuid() == 0 && confine_id() != 0)
		return check_parents(base->state, err);
	return 0;
}
