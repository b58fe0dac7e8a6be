/* skeleton.c - finds, makes, locks and removes skeletons. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/random.h"
#include "base/tree/remove_tree.h"
#include "engine/native/root/internal.h"

enum {
	FORMAT = 4, /* part of the name: increase it when the content of a skeleton changes */
	TRIES_MAX = 20,
	SWEEP_MAX = 64, /* removed by one start; the next start removes more */
};

#define PREFIX    "skeleton-"
#define TEMPORARY "new-"

/* --- the name: a hash of the host's files ------------------------------------------- */

static uint64_t hash_number(uint64_t hash, uint64_t number)
{
	for (; number != 0; number >>= 8)
		hash = (hash ^ (number & 0xff)) * HASH_PRIME;
	return hash * HASH_PRIME;
}

/* The sum of the entries' hashes does not depend on the order in which readdir(3) returns them. A
 * collision only makes a sandbox use an older copy of the host's /etc, so the hash need not be
 * cryptographic. */
static int add_entry_hash(void *ctx, const char *path, int at, const char *name,
                          const struct stat *st, struct error *err)
{
	const uint64_t numbers[] = { st->st_mode, (uint64_t)st->st_size, st->st_ino,
		                     (uint64_t)st->st_mtim.tv_sec, (uint64_t)st->st_mtim.tv_nsec };
	uint64_t *sum = ctx, hash = hash_text(HASH_START, path);

	(void)at;
	(void)name;
	(void)err;
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		hash = hash_number(hash, numbers[i]);
	*sum += hash ^ hash >> 29;
	return 0;
}

static void add_text_hash(uint64_t *sum, const char *name, const char *text)
{
	uint64_t hash = hash_text(hash_text(HASH_START, name), text);

	*sum += hash ^ hash >> 29;
}

/* The boot id is part of the name: after a power cut the files of an older skeleton may be empty,
 * and an fsync(2) per file would take longer than making a new skeleton after each boot. */
static int make_skeleton_name(int host, uid_t owner, gid_t group, char name[SKELETON_NAME_SIZE],
                              struct error *err)
{
	char text[SKELETON_SYSFS_SIZE];
	uint64_t sum = 0;
	struct stat st;

	(void)snprintf(text, sizeof text, "%d %u:%u", FORMAT, owner, group);
	add_text_hash(&sum, "for", text);
	if (skeleton_walk(host, add_entry_hash, &sum, err) < 0)
		return -1;
	for (size_t i = 0; skeleton_program_dirs[i] != NULL; i++)
		if (fstatat(host, skeleton_program_dirs[i], &st, AT_SYMLINK_NOFOLLOW) == 0)
			(void)add_entry_hash(&sum, skeleton_program_dirs[i], host, "", &st, err);
	for (size_t i = 0; skeleton_sysfs_files[i] != NULL; i++) {
		skeleton_read_host(host, skeleton_sysfs_files[i], text);
		add_text_hash(&sum, skeleton_sysfs_files[i], text);
	}
	skeleton_read_host(host, "proc/sys/kernel/random/boot_id", text);
	add_text_hash(&sum, "boot", text);
	add_text_hash(&sum, "bash", faccessat(host, "bin/bash", X_OK, 0) == 0 ? "yes" : "no");
	(void)snprintf(name, SKELETON_NAME_SIZE, PREFIX "%016llx", (unsigned long long)sum);
	return 0;
}

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

static bool is_skeleton_name(const char *name)
{
	size_t prefix = strncmp(name, PREFIX, strlen(PREFIX)) == 0         ? strlen(PREFIX)
	                : strncmp(name, TEMPORARY, strlen(TEMPORARY)) == 0 ? strlen(TEMPORARY)
	                                                                   : 0;

	return prefix != 0 && strlen(name + prefix) == 16 &&
	       strspn(name + prefix, "0123456789abcdef") == 16;
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
	DIR *dir = fd_open_dir(parent, ".");
	const struct dirent *entry;
	size_t count = 0;

	if (dir == NULL)
		return;
	while (count < SWEEP_MAX && (entry = readdir(dir)) != NULL)
		if (is_skeleton_name(entry->d_name) && strcmp(entry->d_name, keep) != 0)
			(void)snprintf(names[count++], SKELETON_NAME_SIZE, "%.*s",
			               SKELETON_NAME_SIZE - 1, entry->d_name);
	(void)closedir(dir);
	for (size_t i = 0; i < count; i++)
		remove_unused(parent, names[i]);
}

/* --- making -------------------------------------------------------------------------- */

/* umask 0: the modes of the tables are meant exactly, and the spawner's umask is 077. */
static int fill_skeleton(int host, int root, uid_t owner, gid_t group, struct error *err)
{
	struct skeleton_tree tree = { .host = host, .root = root, .owner = owner, .group = group };
	struct stat st;
	mode_t old;
	int failed;

	if (fstat(root, &st) < 0)
		return error_sys(err, "stat of a new directory");
	tree.chown = st.st_uid != owner || st.st_gid != group;
	old = umask(0);
	failed = skeleton_copy(&tree, err) < 0 || skeleton_generate(&tree, err) < 0 ? -1 : 0;
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

	if (make_skeleton_name(host, owner, group, found.name, err) < 0)
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
