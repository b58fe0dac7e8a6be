/* disk_scan.c - counting what a sandbox has written, while it may be writing more.
 *
 * By descriptors, as remove_tree does it: a few of the deepest levels are open, of those above
 * only inode and position are known. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/tree/open_child.h"
#include "engine/native/usage/disk.h"

enum {
	STREAMS_MAX = 32,        /* levels with a descriptor */
	DEPTH_MAX = 1024 * 1024, /* as deep as can be removed */
	FIRST_DEPTH = 256,
	TRIES_MAX = 3,  /* when directories are moved away under us */
	PART = 1 << 20, /* of a file: what one of its names counts is a fraction */
	BLOCK = 512,    /* of st_blocks */
};

static const uint64_t spare_looks = 100000; /* at what is gone before it can be counted */

struct mark {
	ino_t inode;
	long next; /* where to read on */
};

struct scan {
	const struct disk_use *enough;
	DIR *streams[STREAMS_MAX]; /* level i is at i % STREAMS_MAX */
	struct mark *marks;
	size_t depth, room;
	uint64_t bytes, parts, looks;
	bool moved;
};

static void cleanup_scan(struct scan *scan)
{
	for (size_t i = 0; i < STREAMS_MAX; i++)
		if (scan->streams[i] != NULL)
			(void)closedir(scan->streams[i]);
	free(scan->marks);
}

static DIR **stream_at(struct scan *scan, size_t level)
{
	return &scan->streams[level % STREAMS_MAX];
}

static void count(struct scan *scan, const struct stat *st)
{
	uint64_t names = S_ISDIR(st->st_mode) || st->st_nlink == 0 ? 1 : st->st_nlink;

	scan->bytes += ((uint64_t)st->st_blocks * BLOCK + names - 1) / names;
	scan->parts += (PART + names - 1) / names;
}

static bool is_enough(const struct scan *scan)
{
	return scan->bytes > scan->enough->bytes || scan->parts / PART > scan->enough->inodes;
}

/* What is not there any more, not what it was, or not of this file system: does not count. */
static bool is_gone(int errnum)
{
	return errnum == ENOENT || errnum == ELOOP || errnum == ENOTDIR || errnum == EXDEV;
}

/* Only for who has one uid and no rights beyond it: sandboxed code must not hide files so. */
static int unlock(int at, const char *name)
{
	AUTO_FD int fd = open_child(at, name, O_PATH | O_DIRECTORY);
	char by_number[32];
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -1;
	(void)snprintf(by_number, sizeof by_number, "/proc/self/fd/%d", fd);
	if (st.st_uid == geteuid() && chmod(by_number, (st.st_mode & 07777) | 0500) == 0)
		return 0;
	errno = EACCES;
	return -1;
}

static int open_directory(int at, const char *name, struct stat *ret)
{
	AUTO_FD int fd = open_child(at, name, O_RDONLY | O_DIRECTORY);

	if (fd < 0 && errno == EACCES && unlock(at, name) == 0)
		fd = open_child(at, name, O_RDONLY | O_DIRECTORY);
	if (fd < 0 || fstat(fd, ret) < 0)
		return -1;
	/* Readable, but what is in it cannot be looked at. */
	if ((ret->st_mode & 0500) != 0500 && ret->st_uid == geteuid())
		(void)fchmod(fd, (ret->st_mode & 07777) | 0500);
	return TAKE_FD(fd);
}

static int too_fast(struct error *err)
{
	return error_set(err, ERR_SYSTEM, "the files change faster than they can be counted");
}

/* Takes the descriptor. NULL and *err if it cannot be read. */
static DIR *set_stream(struct scan *scan, size_t level, int fd, struct error *err)
{
	DIR **stream = stream_at(scan, level);

	if (*stream != NULL)
		(void)closedir(*stream);
	*stream = fdopendir(fd);
	if (*stream == NULL) {
		(void)error_sys(err, "read a directory");
		(void)close(fd);
	}
	return *stream;
}

static int go_down(struct scan *scan, int at, const char *name, struct error *err)
{
	struct stat st;
	AUTO_FD int fd = open_directory(at, name, &st);

	if (fd < 0 && is_gone(errno) && scan->depth != 0)
		return 0;
	if (fd < 0)
		return error_sys(err, "open a directory");
	if (scan->depth == DEPTH_MAX)
		return error_set(err, ERR_LIMIT, "more than %d directories deep", DEPTH_MAX);
	count(scan, &st);
	if (scan->depth != 0)
		scan->marks[scan->depth - 1].next = telldir(*stream_at(scan, scan->depth - 1));
	if (scan->depth == scan->room) {
		scan->room = scan->room == 0 ? FIRST_DEPTH : scan->room * 2;
		scan->marks = mem_resize(scan->marks, scan->room * sizeof *scan->marks);
	}
	if (set_stream(scan, scan->depth, TAKE_FD(fd), err) == NULL)
		return -1;
	scan->marks[scan->depth++] = (struct mark){ .inode = st.st_ino };
	return 0;
}

static int go_up(struct scan *scan, struct error *err)
{
	DIR **here = stream_at(scan, scan->depth - 1);

	if (scan->depth > 1 && *stream_at(scan, scan->depth - 2) == NULL) {
		AUTO_FD int fd = open_parent(dirfd(*here));
		const struct mark *above = &scan->marks[scan->depth - 2];
		struct stat st;
		DIR *stream;

		scan->moved = fd < 0 || fstat(fd, &st) < 0 || st.st_ino != above->inode;
		if (scan->moved)
			return too_fast(err);
		stream = set_stream(scan, scan->depth - 2, TAKE_FD(fd), err);
		if (stream == NULL)
			return -1;
		seekdir(stream, above->next);
	}
	(void)closedir(*here);
	*here = NULL;
	scan->depth--;
	return 0;
}

static int look(struct scan *scan, int at, const struct dirent *entry, struct error *err)
{
	struct stat st;

	if (entry->d_type == DT_DIR)
		return go_down(scan, at, entry->d_name, err);
	if (fstatat(at, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return is_gone(errno) ? 0 : error_sys(err, "look at a file");
	if (S_ISDIR(st.st_mode))
		return go_down(scan, at, entry->d_name, err);
	count(scan, &st);
	return 0;
}

static int scan_all(struct scan *scan, int parent, const char *name, struct error *err)
{
	if (go_down(scan, parent, name, err) < 0)
		return -1;
	while (scan->depth != 0 && !is_enough(scan)) {
		DIR *dir = *stream_at(scan, scan->depth - 1);
		const struct dirent *entry;

		errno = 0;
		entry = readdir(dir);
		if (entry == NULL && errno != 0)
			return error_sys(err, "read a directory");
		if (entry == NULL) {
			if (go_up(scan, err) < 0)
				return -1;
			continue;
		}
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (scan->looks++ > spare_looks && scan->looks / 2 > scan->enough->inodes)
			return too_fast(err);
		if (look(scan, dirfd(dir), entry, err) < 0)
			return -1;
	}
	return 0;
}

int disk_scan(int parent, const char *name, const struct disk_use *enough, struct disk_use *ret,
              struct error *err)
{
	bool moved = true;

	for (int i = 0; moved && i < TRIES_MAX; i++) {
		CLEANUP(cleanup_scan) struct scan scan = { .enough = enough };

		if (scan_all(&scan, parent, name, err) == 0) {
			*ret = (struct disk_use){ .bytes = scan.bytes,
				                  .inodes = scan.parts / PART };
			return 0;
		}
		moved = scan.moved;
	}
	return -1;
}
