#include "server/confine.h"

#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/rights/caps.h"
#include "base/rights/landlock.h"
#include "engine/filter/filter.h"
#include "engine/native/ids/ids.h"

/* Set by confine_choose_id(). */
static struct {
	bool is_set;
	uid_t id;
} chosen;

/* Every file that the server opens after its confinement. A path without a slash is in the state
 * directory. A path that does not exist is left out. */
static const struct {
	const char *path;
	uint64_t rights;
} reachable[] = {
	/* SQLite creates and removes the journals beside the database. */
	{ "db", LANDLOCK_READ_DIR | LANDLOCK_READ_FILE | LANDLOCK_WRITE_FILE | LANDLOCK_MAKE_REG |
	                LANDLOCK_REMOVE_FILE | LANDLOCK_TRUNCATE },
	/* Lock files of servers: checked, and removed if their server is dead. */
	{ "servers", LANDLOCK_READ_DIR | LANDLOCK_READ_FILE | LANDLOCK_REMOVE_FILE },
	{ "/dev/urandom", LANDLOCK_READ_FILE },   /* SQLite, Jansson */
	{ "/etc/localtime", LANDLOCK_READ_FILE }, /* strftime() */
};

uid_t confine_id(void)
{
	if (chosen.is_set)
		return chosen.id;
	return idmap_has(IDS_HOST_FIRST + 1) ? IDS_HOST_FIRST + 1 : 0;
}

/* Gives a file to the server's id if it belongs to the directory's owner. The file is opened before
 * it is looked at, so that the server, which may have been taken over and owns the directory,
 * cannot exchange it for a link to a file of root in between. */
static void hand_over_file(int dir, const char *name, uid_t from)
{
	AUTO_FD int fd = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == from)
		(void)!fchownat(fd, "", chosen.id, chosen.id, AT_EMPTY_PATH);
}

/* Gives a directory of the server, with its files, to the id that the server has now. A directory
 * that does not exist is created later, by the runtime, which refuses a link in its place: here the
 * files of its target, /etc for example, would be given away. */
static int hand_over_directory(const char *state, const char *name, struct error *err)
{
	char path[PATH_MAX + 16];
	AUTO_FD int fd = -1;
	const struct dirent *entry;
	struct stat st;
	AUTO_DIR DIR *dir = NULL;

	(void)snprintf(path, sizeof path, "%s/%s", state, name);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	dir = fd >= 0 ? fd_open_dir(fd, ".") : NULL;
	if (dir == NULL || fstat(dirfd(dir), &st) < 0 || st.st_uid == chosen.id)
		return 0;
	while ((entry = readdir(dir)) != NULL)
		hand_over_file(dirfd(dir), entry->d_name, st.st_uid);
	if (fchown(dirfd(dir), chosen.id, chosen.id) < 0)
		return error_sys(err, "chown '%s'", path);
	return 0;
}

static uid_t find_present_id(const char *state)
{
	char path[PATH_MAX + 16];
	struct stat st;

	(void)snprintf(path, sizeof path, "%s/db", state);
	return stat(path, &st) == 0 ? st.st_uid : 0;
}

/* Called while the process may still change owners: db/ and servers/ have to belong to the id that
 * confine_process() changes to. The id is kept from one start to the next where possible. */
int confine_choose_id(const char *state, struct ids_taken *ret, struct error *err)
{
	struct ids_range own = { .file = "passwd", .owner = "belljar" };
	uint32_t id;

	*ret = (struct ids_taken){ 0 };
	if (geteuid() != 0)
		return 0;
	if (ids_taken_read("/etc", idmap_count() > IDS_HOST_LAST ? IDS_HOST_FIRST : 0, ret, err) <
	    0)
		return -1;
	if (ids_choose_server(ret, find_present_id(state), &id, err) < 0)
		goto failed;
	chosen.id = own.first = own.last = id;
	chosen.is_set = true;
	if (id == 0)
		return 0;
	if (hand_over_directory(state, "db", err) == 0 &&
	    hand_over_directory(state, "servers", err) == 0 && ids_taken_add(ret, &own, err) == 0)
		return 0;
failed:
	ids_taken_done(ret);
	return -1;
}

static int drop_root(struct error *err)
{
	uid_t id = confine_id();

	if (id == 0)
		return 0;
	/* Groups first: a process that is no longer root may not change them. setresuid() also sets
	 * the saved id, so that root cannot be regained. */
	if (setgroups(0, NULL) < 0 || setresgid(id, id, id) < 0 || setresuid(id, id, id) < 0)
		return error_sys(err, "change to user %u", id);
	return 0;
}

static int allow_reachable(const struct landlock *landlock, const char *state, struct error *err)
{
	char path[PATH_MAX + 16];

	for (size_t i = 0; i < ARRAY_LEN(reachable); i++) {
		if (reachable[i].path[0] == '/')
			(void)snprintf(path, sizeof path, "%s", reachable[i].path);
		else if (state != NULL)
			(void)snprintf(path, sizeof path, "%s/%s", state, reachable[i].path);
		else
			continue;
		if (access(path, F_OK) == 0 &&
		    landlock_allow_path(landlock, path, reachable[i].rights, err) < 0)
			return -1;
	}
	return 0;
}

static int limit_files(const char *state, struct error *err)
{
	AUTO_LANDLOCK struct landlock landlock = { .ruleset = -1 };

	if (landlock_open_isolated(&landlock, err) < 0 ||
	    allow_reachable(&landlock, state, err) < 0)
		return -1;
	return landlock_enforce(&landlock, err);
}

int confine_process(const struct confine_needs *needs, struct error *err)
{
	if (caps_drop(err) < 0)
		return -1;
	/* A dumpable process can be read with ptrace and /proc/PID/mem by every process of the same
	 * user, and messages of clients may contain tokens. */
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return error_sys(err, "prctl");
	if (limit_files(needs->state, err) < 0)
		return -1;
	if (filter_load(filter_for_server()) < 0)
		return error_sys(err, "install the server's seccomp filter");
	return 0;
}

/* A caller whose runtime_prepare() failed has chosen no id, and the default one may be a user's. */
static int ensure_id(struct error *err)
{
	struct ids_taken taken;

	if (chosen.is_set)
		return 0;
	if (confine_choose_id("", &taken, err) < 0)
		return -1;
	ids_taken_done(&taken);
	return 0;
}

int confine_server(const struct confine_needs *needs, struct error *err)
{
	if (ensure_id(err) < 0 || (geteuid() == 0 && drop_root(err) < 0))
		return -1;
#ifdef __SANITIZE_ADDRESS__
	(void)needs;
	return caps_drop(err);
#else
	return confine_process(needs, err);
#endif
}
