/* skeleton.c - finds, makes, locks and removes skeletons. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/random.h"
#include "base/tree/remove_tree.h"
#include "engine/native/root/internal.h"

enum {
	TRIES_MAX = 20,
	SWEEP_MAX = 64, /* removed by one start; the next start removes more */
};

#define TEMPORARY "new-"

/* --- finding and locking ------------------------------------------------------------- */

static bool is_still_named(int parent, const char *name, int fd)
{
	struct stat here, there;

	return fstat(fd, &here) == 0 && fstatat(parent, name, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
	       here.st_ino == there.st_ino && here.st_dev == there.st_dev;
}

/* Between open(2) and flock(2) another server may have renamed or removed the directory: the lock
 * counts only if the name still leads to the locked inode. Returns -1 with errno. */
static int open_locked(int parent, const char *name, int lock)
{
	AUTO_FD int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0 || flock(fd, lock | LOCK_NB) < 0)
		return -1;
	if (is_still_named(parent, name, fd))
		return TAKE_FD(fd);
	errno = ENOENT;
	return -1;
}

static void make_temporary_name(char name[SKELETON_NAME_SIZE])
{
	(void)snprintf(name, SKELETON_NAME_SIZE, TEMPORARY "%016llx",
	               (unsigned long long)random_number());
}

static bool has_number_after(const char *name, const char *prefix)
{
	size_t len = strlen(prefix);

	return strncmp(name, prefix, len) == 0 && strlen(name + len) == 16 &&
	       strspn(name + len, "0123456789abcdef") == 16;
}

bool skeleton_is_name(const char *name)
{
	return has_number_after(name, SKELETON_PREFIX);
}

/* The exclusive lock fails while any server uses the skeleton. The directory is renamed first, so a
 * server that starts meanwhile finds a complete skeleton or none. Failures are ignored: the next
 * start tries again. */
static void remove_unused(int parent, const char *name)
{
	AUTO_FD int fd = open_locked(parent, name, LOCK_EX);
	char temporary[SKELETON_NAME_SIZE];
	struct error ignored;
	uint64_t count;

	make_temporary_name(temporary);
	if (fd < 0 || renameat(parent, name, parent, temporary) < 0)
		return;
	(void)!remove_tree(parent, temporary, view_of(temporary), &count, &ignored);
}

/* The names are read first: readdir(3) while entries of the directory are renamed may return an
 * entry twice or not at all. */
static void remove_all_unused(int parent, const char *keep)
{
	char names[SWEEP_MAX][SKELETON_NAME_SIZE];
	AUTO_DIR DIR *dir = fd_open_dir(parent, ".");
	const struct dirent *entry;
	size_t count = 0;

	if (dir == NULL)
		return;
	while (count < SWEEP_MAX && (entry = readdir(dir)) != NULL)
		if ((skeleton_is_name(entry->d_name) ||
		     has_number_after(entry->d_name, TEMPORARY)) &&
		    strcmp(entry->d_name, keep) != 0)
			(void)snprintf(names[count++], SKELETON_NAME_SIZE, "%.*s",
			               SKELETON_NAME_SIZE - 1, entry->d_name);
	for (size_t i = 0; i < count; i++)
		remove_unused(parent, names[i]);
}

/* --- making -------------------------------------------------------------------------- */

/* With these ids new files belong to the owner at once: a chown(2) of each took a third of the
 * time. The change also drops CAP_DAC_OVERRIDE from the effective set, so the kernel refuses to
 * open a file of the host that only root may read. */
static void set_file_ids(uid_t uid, gid_t gid)
{
	(void)setfsgid(gid);
	(void)setfsuid(uid);
}

static int give_root(int root, uid_t owner, gid_t group, struct error *err)
{
	struct stat st;

	if (fstat(root, &st) < 0)
		return error_sys(err, "stat of a new directory");
	if ((st.st_uid != owner || st.st_gid != group) && fchown(root, owner, group) < 0)
		return error_sys(err, "give the root to %u:%u", owner, group);
	return 0;
}

/* umask 0: the modes of the tables are meant exactly, and the spawner's umask is 077. */
static int fill_skeleton(int host, int root, uid_t owner, gid_t group, struct error *err)
{
	struct skeleton_tree tree = { .host = host, .root = root };
	/* A change of the ids makes the process non-dumpable: its /proc entry and those of its
	 * children belong to root then, and an ordinary user could not write their id maps. */
	bool is_dumpable = prctl(PR_GET_DUMPABLE) == 1;
	mode_t old;
	int failed;

	if (give_root(root, owner, group, err) < 0)
		return -1;
	old = umask(0);
	set_file_ids(owner, group);
	failed = skeleton_copy(&tree, err) < 0 || skeleton_generate(&tree, err) < 0 ? -1 : 0;
	set_file_ids(geteuid(), getegid());
	if (is_dumpable)
		(void)prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	(void)umask(old);
	return failed;
}

/* Builds the skeleton under a temporary name and renames it, so that no other server sees a partial
 * one. rename(2) fails if another server was faster. Returns the locked directory. */
static int make_skeleton(int host, int parent, const char *name, uid_t owner, gid_t group,
                         struct error *err)
{
	char temporary[SKELETON_NAME_SIZE];
	AUTO_FD int fd = -1;
	struct error ignored;
	uint64_t count;

	make_temporary_name(temporary);
	if (mkdirat(parent, temporary, 0700) < 0)
		return error_sys(err, "make a directory for the skeleton");
	fd = open_locked(parent, temporary, LOCK_SH);
	if (fd < 0)
		return error_sys(err, "lock a directory for the skeleton");
	if (fill_skeleton(host, fd, owner, group, err) == 0) {
		if (renameat(parent, temporary, parent, name) == 0)
			return TAKE_FD(fd);
		(void)error_sys(err, "rename the skeleton");
	}
	(void)!remove_tree(parent, temporary, view_of(temporary), &count, &ignored);
	return -1;
}

static bool is_race(const struct error *err)
{
	/* Another server made the same skeleton, or removed the temporary directory. */
	return err->errnum == EEXIST || err->errnum == ENOTEMPTY || err->errnum == ENOENT ||
	       err->errnum == EWOULDBLOCK;
}

static void find_program_dirs(int host, struct skeleton *skeleton)
{
	size_t count = 0;
	struct stat st;

	for (size_t i = 0; skeleton_program_dirs[i] != NULL; i++)
		if (fstatat(host, skeleton_program_dirs[i], &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    S_ISDIR(st.st_mode))
			skeleton->program_dirs[count++] = skeleton_program_dirs[i];
	skeleton->program_dirs[count] = NULL;
}

int skeleton_open_from(int host, int parent, uid_t owner, gid_t group, struct skeleton *ret,
                       struct error *err)
{
	struct skeleton found = { .dir = -1 };

	if (skeleton_find_name(host, parent, owner, group, found.name, err) < 0)
		return -1;
	find_program_dirs(host, &found);
	for (int i = 0; found.dir < 0 && i < TRIES_MAX; i++) {
		found.dir = open_locked(parent, found.name, LOCK_SH);
		if (found.dir < 0 && errno != ENOENT && errno != EWOULDBLOCK)
			return error_sys(err, "open %s", found.name);
		if (found.dir < 0)
			found.dir = make_skeleton(host, parent, found.name, owner, group, err);
		if (found.dir < 0 && !is_race(err))
			return -1;
	}
	if (found.dir < 0)
		return -1;
	remove_all_unused(parent, found.name);
	*ret = found;
	return 0;
}

int skeleton_open(int parent, uid_t owner, gid_t group, struct skeleton *ret, struct error *err)
{
	AUTO_FD int host = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (host < 0)
		return error_sys(err, "open the root directory");
	return skeleton_open_from(host, parent, owner, group, ret, err);
}
