/* disk_scan.c - measures the files of a sandbox, which may be changing them meanwhile.
 *
 * The walk goes by descriptors and never by paths, so a directory that a program exchanges for a
 * link leads nowhere (base/tree/dir_stack.h). */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/tree/dir_stack.h"
#include "base/tree/open_child.h"
#include "base/tree/remove_tree.h"
#include "engine/native/usage/internal.h"

enum {
	TRIES_MAX = 3,  /* after a directory was moved during the walk */
	PART = 1 << 20, /* fractions of a file: each of its hard links counts PART / st_nlink */
	BLOCK = 512,    /* unit of st_blocks */
};

/* Entries that vanish before they are counted and are allowed besides the limit of inodes. A
 * program that creates and removes files all the time would otherwise keep the walk going. */
static const uint64_t extra_entries = 100000;

struct scan {
	const struct disk_usage *limit;
	struct dir_stack dirs;
	uint64_t bytes, parts, entries;
	bool moved; /* a directory was not where the walk had come from */
};

static void cleanup_scan(struct scan *scan)
{
	dir_stack_done(&scan->dirs);
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

static int fail_changing(struct error *err)
{
	return error_set(err, ERR_SYSTEM, "the files change faster than they can be counted");
}

static int enter_directory(struct scan *scan, int at, const char *name, struct error *err)
{
	struct stat st;
	/* With a single id the spawner is an ordinary user, and a program could hide files from it
	 * in a directory without permissions. */
	AUTO_FD int fd = open_child_dir(at, name, 0500, &st);

	if (fd < 0 && is_gone(errno) && scan->dirs.depth != 0)
		return 0;
	if (fd < 0)
		return error_sys(err, "open a directory");
	/* A deeper tree could not be removed either. */
	if (scan->dirs.depth == REMOVE_DEPTH_MAX)
		return error_set(err, ERR_LIMIT, "more than %d directories deep", REMOVE_DEPTH_MAX);
	count_file(scan, &st);
	if (dir_stack_push(&scan->dirs, TAKE_FD(fd), &st) < 0)
		return error_sys(err, "read a directory");
	return 0;
}

/* Returning to the parent fails if a program has moved the directory: its ".." is then another
 * directory. */
static int leave_directory(struct scan *scan, struct error *err)
{
	scan->moved = dir_stack_pop(&scan->dirs) < 0;
	return scan->moved ? fail_changing(err) : 0;
}

/* d_type is DT_UNKNOWN on some file systems, and may be outdated when the entry is opened. */
static int scan_entry(struct scan *scan, const struct dirent *entry, struct error *err)
{
	int at = dir_stack_fd(&scan->dirs);
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
	while (scan->dirs.depth != 0 && !is_over_limit(scan)) {
		const struct dirent *entry = dir_stack_read(&scan->dirs);

		if (entry == NULL && errno != 0)
			return error_sys(err, "read a directory");
		if (entry == NULL) {
			if (leave_directory(scan, err) < 0)
				return -1;
			continue;
		}
		if (scan->entries++ > extra_entries && scan->entries / 2 > scan->limit->inodes)
			return fail_changing(err);
		if (scan_entry(scan, entry, err) < 0)
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
