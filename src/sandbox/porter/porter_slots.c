/* porter_slots.c - the directories that the porter starts agents in.
 *
 * A directory of the options is opened once, before the server reads its first byte. A root of the
 * client is checked when it is added, and opened by its path each time, because projects are
 * removed and cloned again while a server runs. In both cases the path that the kernel tells for
 * the descriptor must still be the one that was checked: no link or rename leads anywhere else. */
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/text/utf8.h"
#include "sandbox/porter/internal.h"

enum { FIRST_USER = 1000, NOBODY = 65534 };

/* --- one directory ----------------------------------------------------------------- */

static int read_real_path(int fd, char real[PATH_MAX], struct error *err)
{
	char link[32];
	ssize_t n;

	(void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	n = readlink(link, real, PATH_MAX - 1);
	if (n < 0)
		return error_sys(err, "readlink '%s'", link);
	real[n] = '\0';
	return 0;
}

static int open_directory(const char *path, struct stat *ret_stat, char real[PATH_MAX],
                          struct error *err)
{
	AUTO_FD int fd = open(path, O_PATH | O_CLOEXEC);
	char shown[160];

	(void)utf8_escape(view_of(path), shown, sizeof shown);
	if (fd < 0 || fstat(fd, ret_stat) < 0) {
		(void)error_sys(err, "'%s'", shown);
		return -1;
	}
	if (!S_ISDIR(ret_stat->st_mode)) {
		(void)error_set(err, ERR_INVALID, "'%s': is not a directory", shown);
		return -1;
	}
	if (read_real_path(fd, real, err) < 0)
		return -1;
	return TAKE_FD(fd);
}

/* The user's own group from the password file, never root's. The directory's group cannot be used:
 * the user may not be a member of it. */
static gid_t group_of(uid_t uid)
{
	const struct passwd *entry = getpwuid(uid);
	gid_t gid = entry != NULL ? entry->pw_gid : (gid_t)uid;

	return gid != 0 && gid != (gid_t)-1 ? gid : NOBODY;
}

/* If belljar runs as root, an agent gets the rights of the directory's owner: files that a copy
 * creates belong to that user, and a link planted by that user is followed with the user's rights,
 * not with root's. */
static void fill_user(struct porter_slot *slot, const struct stat *st)
{
	bool is_root = geteuid() == 0;

	slot->uid = is_root ? st->st_uid : getuid();
	slot->gid = !is_root ? getgid() : st->st_uid == 0 ? st->st_gid : group_of(st->st_uid);
}

static void fill_slot(struct porter_slot *slot, const char *path, const char *real, int fd,
                      const struct stat *st)
{
	*slot = (struct porter_slot){ .path = mem_dup(path), .real = mem_dup(real), .fd = fd };
	fill_user(slot, st);
}

/* --- directories of the options ---------------------------------------------------- */

static bool has_path(const struct porter_slots *slots, const char *path)
{
	for (size_t i = 0; i < slots->fixed; i++)
		if (strcmp(slots->at[i].path, path) == 0)
			return true;
	return false;
}

static int add_fixed(struct porter_slots *slots, const char *path, const char *real, int fd,
                     const struct stat *st, struct error *err)
{
	int copy;

	if (has_path(slots, path))
		return 0;
	if (slots->fixed == PORTER_DIRECTORIES_MAX)
		return error_set(err, ERR_LIMIT, "at most %d directories can be allowed",
		                 PORTER_DIRECTORIES_MAX);
	copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (copy < 0)
		return error_sys(err, "duplicate a descriptor");
	fill_slot(&slots->at[slots->fixed++], path, real, copy, st);
	return 0;
}

/* The server may use the path as it was named or the real one. A path with '..' in it, which
 * host_path_normal() refuses, is added by its real path only. */
int porter_slots_allow(struct porter_slots *slots, const char *path, struct error *err)
{
	AUTO_FD int fd = -1;
	char real[PATH_MAX], normal[HOST_PATH_SIZE];
	struct error ignored;
	struct stat st;

	fd = open_directory(path, &st, real, err);
	if (fd < 0 || host_path_check(real, slots->state, err) < 0)
		return -1;
	if (path[0] == '/' && host_path_normal(path, normal, &ignored) == 0 &&
	    (host_path_check(normal, slots->state, err) < 0 ||
	     add_fixed(slots, normal, real, fd, &st, err) < 0))
		return -1;
	return add_fixed(slots, real, real, fd, &st, err);
}

/* --- roots of the client ----------------------------------------------------------- */

static int check_home(const char *real, const char *home, struct error *err)
{
	char resolved[PATH_MAX];

	if (home == NULL || home[0] != '/' || strcmp(home, "/") == 0)
		return 0;
	return host_path_check_home(real, realpath(home, resolved) != NULL ? resolved : home, err);
}

static int check_home_of(const char *real, uid_t uid, struct error *err)
{
	const struct passwd *entry = getpwuid(uid);

	return entry != NULL ? check_home(real, entry->pw_dir, err) : 0;
}

/* Checks the home directories of accounts that people use. Services have accounts too, whose home
 * directories are shared ones such as /usr/sbin. */
static int check_listed_homes(const char *real, struct error *err)
{
	const struct passwd *entry;
	int r = 0;

	setpwent();
	while (r == 0 && (entry = getpwent()) != NULL)
		if (entry->pw_uid == 0 || (entry->pw_uid >= FIRST_USER && entry->pw_uid != NOBODY))
			r = check_home(real, entry->pw_dir, err);
	endpwent();
	return r;
}

/* getpwent() may not list the users of a directory service, so the user who started belljar and the
 * owner of the directory are looked up by their ids too. */
static int check_root(const struct porter_slots *slots, const char *real, uid_t owner,
                      struct error *err)
{
	if (host_path_check(real, slots->state, err) < 0 || host_path_check_root(real, err) < 0 ||
	    check_home(real, getenv("HOME"), err) < 0 || check_home_of(real, getuid(), err) < 0 ||
	    check_home_of(real, owner, err) < 0)
		return -1;
	return check_listed_homes(real, err);
}

int porter_slots_add_root(struct porter_slots *slots, size_t index, const char *path,
                          struct error *err)
{
	AUTO_FD int fd = -1;
	char real[PATH_MAX];
	struct stat st;

	if (slots->at[index].path != NULL)
		return error_set(err, ERR_INVALID, "the index %zu is in use", index);
	fd = open_directory(path, &st, real, err);
	if (fd < 0 || check_root(slots, real, st.st_uid, err) < 0)
		return -1;
	fill_slot(&slots->at[index], path, real, -1, &st);
	return 0;
}

/* --- both -------------------------------------------------------------------------- */

void porter_slots_remove(struct porter_slots *slots, size_t index)
{
	struct porter_slot *slot = &slots->at[index];

	if (slot->path == NULL)
		return;
	if (slot->fd >= 0)
		(void)close(slot->fd);
	free(slot->path);
	free(slot->real);
	*slot = (struct porter_slot){ .fd = -1 };
}

void porter_slots_done(struct porter_slots *slots)
{
	for (size_t i = 0; i < PORTER_DIRECTORIES_MAX; i++)
		porter_slots_remove(slots, i);
}

/* A directory that was renamed, or a path that leads elsewhere by now, is not what the operator or
 * the client has allowed. The owner must be the same too: the agents of a porter that is root run
 * as the owner of the directory. */
static int check_unchanged(const struct porter_slot *slot, const char *real, const struct stat *st,
                           struct error *err)
{
	char shown[160];

	(void)utf8_escape(view_of(slot->path), shown, sizeof shown);
	if (strcmp(real, slot->real) != 0)
		return error_set(err, ERR_INVALID,
		                 slot->fd >= 0 ? "the directory '%s' that was allowed is '%s' now: "
		                                 "start belljar again to allow the present one"
		                               : "'%s' leads to '%s' now, which was not declared: "
		                                 "let the client declare it",
		                 shown, UTF8_ESCAPED(view_of(real), 160));
	if (geteuid() == 0 && st->st_uid != slot->uid)
		return error_set(err, ERR_INVALID,
		                 "'%s' has another owner now: start belljar again to allow it",
		                 shown);
	return 0;
}

int porter_slots_open(const struct porter_slots *slots, size_t index, struct error *err)
{
	const struct porter_slot *slot = &slots->at[index];
	AUTO_FD int fd = -1;
	char real[PATH_MAX];
	struct stat st;

	if (slot->path == NULL)
		return error_set(err, ERR_INVALID, "there is no directory of this index");
	if (slot->fd < 0) {
		fd = open_directory(slot->path, &st, real, err);
		if (fd < 0)
			return -1;
	} else {
		fd = fcntl(slot->fd, F_DUPFD_CLOEXEC, 0);
		if (fd < 0 || fstat(fd, &st) < 0)
			return error_sys(err, "open the directory");
		if (read_real_path(fd, real, err) < 0)
			return -1;
	}
	return check_unchanged(slot, real, &st, err) == 0 ? TAKE_FD(fd) : -1;
}
