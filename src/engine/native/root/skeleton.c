#include "engine/native/root/skeleton.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/tree/remove_tree.h"
#include "engine/native/root/skeleton_internal.h"

enum {
	FORMAT = 1, /* of what is made: another number, another skeleton */
	TRIES_MAX = 20,
	SWEEP_MAX = 64, /* at a time: the rest next time */
};

#define PREFIX     "skeleton-"
#define TEMPORARY  "new-"
#define FNV_OFFSET 0xcbf29ce484222325ULL
#define FNV_PRIME  0x100000001b3ULL

/* --- the name: which state of the host's files it is --------------------------------- */

static uint64_t add_text(uint64_t hash, const char *text)
{
	for (; *text != '\0'; text++)
		hash = (hash ^ (unsigned char)*text) * FNV_PRIME;
	return hash * FNV_PRIME; /* its end counts too */
}

static uint64_t add_number(uint64_t hash, uint64_t number)
{
	for (; number != 0; number >>= 8)
		hash = (hash ^ (number & 0xff)) * FNV_PRIME;
	return hash * FNV_PRIME;
}

/* A sum of hashes of the parts: directories may be read in any order. Nobody gains anything by
 * finding two states of the same sum. */
static int mix_entry(void *ctx, const char *path, int at, const char *name, const struct stat *st,
                     struct error *err)
{
	const uint64_t numbers[] = { st->st_mode, (uint64_t)st->st_size, st->st_ino,
		                     (uint64_t)st->st_mtim.tv_sec, (uint64_t)st->st_mtim.tv_nsec };
	uint64_t *sum = ctx, hash = add_text(FNV_OFFSET, path);

	(void)at;
	(void)name;
	(void)err;
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		hash = add_number(hash, numbers[i]);
	*sum += hash ^ hash >> 29;
	return 0;
}

static void mix_text(uint64_t *sum, const char *name, const char *text)
{
	uint64_t hash = add_text(add_text(FNV_OFFSET, name), text);

	*sum += hash ^ hash >> 29;
}

/* The number of the boot is part of it: what was made before a power cut may be incomplete,
 * and waiting for the disk every time would take longer than making it again. */
static int fingerprint(int host, uid_t owner, gid_t group, char name[SKELETON_NAME_SIZE],
                       struct error *err)
{
	char text[SKELETON_FACT_SIZE];
	uint64_t sum = 0;
	struct stat st;

	(void)snprintf(text, sizeof text, "%d %u:%u", FORMAT, owner, group);
	mix_text(&sum, "for", text);
	if (skeleton_walk(host, mix_entry, &sum, err) < 0)
		return -1;
	for (size_t i = 0; skeleton_roots[i] != NULL; i++)
		if (fstatat(host, skeleton_roots[i], &st, AT_SYMLINK_NOFOLLOW) == 0)
			(void)mix_entry(&sum, skeleton_roots[i], host, "", &st, err);
	for (size_t i = 0; skeleton_facts[i] != NULL; i++) {
		skeleton_fact(host, skeleton_facts[i], text);
		mix_text(&sum, skeleton_facts[i], text);
	}
	skeleton_fact(host, "proc/sys/kernel/random/boot_id", text);
	mix_text(&sum, "boot", text);
	mix_text(&sum, "bash", faccessat(host, "bin/bash", X_OK, 0) == 0 ? "yes" : "no");
	(void)snprintf(name, SKELETON_NAME_SIZE, PREFIX "%016llx", (unsigned long long)sum);
	return 0;
}

/* --- finding and locking ------------------------------------------------------------- */

static bool is_at(int parent, const char *name, int fd)
{
	struct stat here, there;

	return fstat(fd, &here) == 0 && fstatat(parent, name, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
	       here.st_ino == there.st_ino && here.st_dev == there.st_dev;
}

/* Opens and locks it, if it is still there by then. Returns -1 and errno. */
static int open_locked(int parent, const char *name, int lock)
{
	AUTO_FD int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0 || flock(fd, lock | LOCK_NB) < 0)
		return -1;
	if (is_at(parent, name, fd))
		return TAKE_FD(fd);
	errno = ENOENT;
	return -1;
}

static int choose_temporary(char name[SKELETON_NAME_SIZE], struct error *err)
{
	uint64_t random;

	if (getrandom(&random, sizeof random, 0) != sizeof random)
		return error_sys(err, "ask for random numbers");
	(void)snprintf(name, SKELETON_NAME_SIZE, TEMPORARY "%016llx", (unsigned long long)random);
	return 0;
}

static bool is_ours(const char *name)
{
	size_t prefix = strncmp(name, PREFIX, strlen(PREFIX)) == 0         ? strlen(PREFIX)
	                : strncmp(name, TEMPORARY, strlen(TEMPORARY)) == 0 ? strlen(TEMPORARY)
	                                                                   : 0;

	return prefix != 0 && strlen(name + prefix) == 16 &&
	       strspn(name + prefix, "0123456789abcdef") == 16;
}

/* Nobody has a lock on it. It gets another name first: who looks for it finds all of it, or
 * nothing. What cannot be removed stays for the next time. */
static void remove_unused(int parent, const char *name)
{
	AUTO_FD int fd = open_locked(parent, name, LOCK_EX);
	char temporary[SKELETON_NAME_SIZE];
	struct error ignored;
	uint64_t count;

	if (fd < 0 || choose_temporary(temporary, &ignored) < 0 ||
	    renameat(parent, name, parent, temporary) < 0)
		return;
	(void)!remove_tree(parent, temporary, view_of(temporary), &count, &ignored);
}

static void sweep(int parent, const char *keep)
{
	char names[SWEEP_MAX][SKELETON_NAME_SIZE];
	int fd = openat(parent, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	size_t count = 0;

	if (dir == NULL) {
		if (fd >= 0)
			(void)close(fd);
		return;
	}
	while (count < SWEEP_MAX && (entry = readdir(dir)) != NULL)
		if (is_ours(entry->d_name) && strcmp(entry->d_name, keep) != 0)
			(void)snprintf(names[count++], SKELETON_NAME_SIZE, "%.*s",
			               SKELETON_NAME_SIZE - 1, entry->d_name);
	(void)closedir(dir);
	for (size_t i = 0; i < count; i++)
		remove_unused(parent, names[i]);
}

/* --- making -------------------------------------------------------------------------- */

static int fill(int host, int root, uid_t owner, gid_t group, struct error *err)
{
	struct skeleton_tree tree = { .host = host, .root = root, .owner = owner, .group = group };
	struct stat st;
	mode_t old;
	int failed;

	if (fstat(root, &st) < 0)
		return error_sys(err, "look at a new directory");
	tree.chown = st.st_uid != owner || st.st_gid != group;
	old = umask(0);
	failed = skeleton_copy(&tree, err) < 0 || skeleton_fill(&tree, err) < 0 ? -1 : 0;
	(void)umask(old);
	return failed;
}

/* Returns the new directory, locked, under its name. 0 tries: somebody else was faster. */
static int make(int host, int parent, const char *name, uid_t owner, gid_t group, struct error *err)
{
	char temporary[SKELETON_NAME_SIZE];
	AUTO_FD int fd = -1;
	struct error ignored;
	uint64_t count;

	if (choose_temporary(temporary, err) < 0)
		return -1;
	if (mkdirat(parent, temporary, 0700) < 0)
		return error_sys(err, "make a directory for the skeleton");
	fd = open_locked(parent, temporary, LOCK_SH);
	if (fd < 0)
		return error_sys(err, "lock a directory for the skeleton");
	if (fill(host, fd, owner, group, err) == 0) {
		if (renameat(parent, temporary, parent, name) == 0)
			return TAKE_FD(fd);
		(void)error_sys(err, "rename the skeleton");
	}
	(void)!remove_tree(parent, temporary, view_of(temporary), &count, &ignored);
	return -1;
}

static bool is_worth_another_try(const struct error *err)
{
	/* Taken by another server, made or swept by one. */
	return err->errnum == EEXIST || err->errnum == ENOTEMPTY || err->errnum == ENOENT ||
	       err->errnum == EWOULDBLOCK;
}

static void find_over(int host, struct skeleton *skeleton)
{
	size_t count = 0;
	struct stat st;

	for (size_t i = 0; skeleton_roots[i] != NULL; i++)
		if (fstatat(host, skeleton_roots[i], &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    S_ISDIR(st.st_mode))
			skeleton->over[count++] = skeleton_roots[i];
	skeleton->over[count] = NULL;
}

int skeleton_open_from(int host, int parent, uid_t owner, gid_t group, struct skeleton *ret,
                       struct error *err)
{
	struct skeleton found = { .dir = -1 };

	if (fingerprint(host, owner, group, found.name, err) < 0)
		return -1;
	find_over(host, &found);
	for (int i = 0; found.dir < 0 && i < TRIES_MAX; i++) {
		found.dir = open_locked(parent, found.name, LOCK_SH);
		if (found.dir < 0 && errno != ENOENT && errno != EWOULDBLOCK)
			return error_sys(err, "open %s", found.name);
		if (found.dir < 0)
			found.dir = make(host, parent, found.name, owner, group, err);
		if (found.dir < 0 && !is_worth_another_try(err))
			return -1;
	}
	if (found.dir < 0)
		return -1;
	sweep(parent, found.name);
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
