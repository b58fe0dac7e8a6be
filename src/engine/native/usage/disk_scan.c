/* disk_scan.c - measures the files of a sandbox, which may be changing them meanwhile.
 *
 * The walk goes by descriptors and never by paths, so a directory that is exchanged for a link
 * leads nowhere. A path may be deeper than a process can have descriptors: only the deepest levels
 * are open, and of the levels above, inode and position are kept to recognize them on the way
 * up. */
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
#include "engine/native/usage/internal.h"

enum {
	STREAMS_MAX = 32,        /* levels with a descriptor */
	DEPTH_MAX = 1024 * 1024, /* remove_tree() has the same limit */
	FIRST_DEPTH = 256,
	TRIES_MAX = 3,  /* after a directory was moved during the walk */
	PART = 1 << 20, /* fractions of a file: each of its hard links counts PART / st_nlink */
	BLOCK = 512,    /* unit of st_blocks */
};

/* Entries that vanish before they are counted and are allowed besides the limit of inodes. A
 * program that creates and removes files all the time would otherwise keep the walk going. */
static const uint64_t extra_entries = 100000;

/* The record of a level, from which a closed stream is found again. */
struct mark {
	ino_t inode;
	long next; /* telldir(3) position to continue from */
};

struct scan {
	const struct disk_usage *limit;
	DIR *streams[STREAMS_MAX]; /* level i is at i % STREAMS_MAX */
	struct mark *marks;
	size_t depth, room;
	uint64_t bytes, parts, entries;
	bool moved; /* a directory was not where the walk had come from */
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

/* Each of n hard links counts one n-th of the file, rounded up: a file counts once in the end,
 * without a table of all inodes, and no number of links makes it vanish from the sum. */
static void count_file(struct scan *scan, const struct stat *st)
{
	uint64_t names = S_ISDIR(st->st_mode) || st->st_nlink == 0 ? 1 : st->st_nlink;

	scan->bytes += ((uint64_t)st->st_blocks * BLOCK + names - 1) / names;
	scan->parts += (PART + names - 1) / names;
}

static bool is_over_limit(const struct scan *scan)
{
	return scan->bytes > scan->limit->bytes || scan->parts / PART > scan->limit->inodes;
}

/* Errors of an entry that was removed or replaced since readdir(3), or is a mount point: such an
 * entry is not counted. */
static bool is_gone(int errnum)
{
	return errnum == ENOENT || errnum == ELOOP || errnum == ENOTDIR || errnum == EXDEV;
}

static int changing_error(struct error *err)
{
	return error_set(err, ERR_SYSTEM, "the files change faster than they can be counted");
}

/* Closes the descriptor in any case. Returns NULL and *err if the directory cannot be read. */
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

static int enter_directory(struct scan *scan, int at, const char *name, struct error *err)
{
	struct stat st;
	/* With a single id the spawner is an ordinary user, and a program could hide files from it
	 * in a directory without permissions. */
	AUTO_FD int fd = open_child_dir(at, name, 0500, &st);

	if (fd < 0 && is_gone(errno) && scan->depth != 0)
		return 0;
	if (fd < 0)
		return error_sys(err, "open a directory");
	if (scan->depth == DEPTH_MAX)
		return error_set(err, ERR_LIMIT, "more than %d directories deep", DEPTH_MAX);
	count_file(scan, &st);
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

/* Returns to the level above. If its stream was closed to save descriptors, ".." leads there,
 * unless a program has moved the directory since: then ".." is another directory. */
static int leave_directory(struct scan *scan, struct error *err)
{
	DIR **here = stream_at(scan, scan->depth - 1);

	if (scan->depth > 1 && *stream_at(scan, scan->depth - 2) == NULL) {
		AUTO_FD int fd = open_parent(dirfd(*here));
		const struct mark *above = &scan->marks[scan->depth - 2];
		struct stat st;
		DIR *stream;

		scan->moved = fd < 0 || fstat(fd, &st) < 0 || st.st_ino != above->inode;
		if (scan->moved)
			return changing_error(err);
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

/* d_type is DT_UNKNOWN on some file systems, and may be outdated when the entry is opened. */
static int scan_entry(struct scan *scan, int at, const struct dirent *entry, struct error *err)
{
	struct stat st;

	if (entry->d_type == DT_DIR)
		return enter_directory(scan, at, entry->d_name, err);
	if (fstatat(at, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return is_gone(errno) ? 0 : error_sys(err, "stat of a file");
	if (S_ISDIR(st.st_mode))
		return enter_directory(scan, at, entry->d_name, err);
	count_file(scan, &st);
	return 0;
}

static int scan_tree(struct scan *scan, int parent, const char *name, struct error *err)
{
	if (enter_directory(scan, parent, name, err) < 0)
		return -1;
	while (scan->depth != 0 && !is_over_limit(scan)) {
		DIR *dir = *stream_at(scan, scan->depth - 1);
		const struct dirent *entry;

		errno = 0;
		entry = readdir(dir);
		if (entry == NULL && errno != 0)
			return error_sys(err, "read a directory");
		if (entry == NULL) {
			if (leave_directory(scan, err) < 0)
				return -1;
			continue;
		}
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (scan->entries++ > extra_entries && scan->entries / 2 > scan->limit->inodes)
			return changing_error(err);
		if (scan_entry(scan, dirfd(dir), entry, err) < 0)
			return -1;
	}
	return 0;
}

int disk_scan(int parent, const char *name, const struct disk_usage *limit, struct disk_usage *ret,
              struct error *err)
{
	bool moved = true;

	for (int i = 0; moved && i < TRIES_MAX; i++) {
		CLEANUP(cleanup_scan) struct scan scan = { .limit = limit };

		if (scan_tree(&scan, parent, name, err) == 0) {
			*ret = (struct disk_usage){ .bytes = scan.bytes,
				                    .inodes = scan.parts / PART };
			return 0;
		}
		moved = scan.moved;
	}
	return -1;
}
