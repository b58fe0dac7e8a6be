#include "base/tree/remove_tree.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/text/utf8.h"
#include "base/tree/open_child.h"

enum {
	STREAMS_MAX = 32,   /* levels with an open descriptor: the deepest ones */
	RETRIES_MAX = 1000, /* directories that got new entries between reading and rmdir() */
	FIRST_DEPTH = 256,  /* levels in the first allocation of `marks` */
	SHOW_SIZE = 256,    /* bytes of a name in an error */
};

struct level {
	DIR *dir;                /* NULL: closed to save descriptors */
	char name[NAME_MAX + 1]; /* of the child directory on the way down */
	bool is_partial; /* reading did not start at the beginning: entries may be left there */
};

/* What is remembered of every level. The inode number identifies a directory, because the walk
 * never leaves the file system. */
struct level_mark {
	ino_t inode;
	long position; /* telldir() of the child directory on the way down */
};

struct walk {
	struct view path;
	struct level levels[STREAMS_MAX]; /* level i is at i % STREAMS_MAX */
	struct level_mark *marks;
	size_t depth;      /* levels between the top and the current directory */
	size_t marks_size; /* entries allocated in `marks` */
	uint64_t count;    /* entries removed */
	int retries;
};

static void walk_done(struct walk *walk)
{
	for (size_t i = 0; i < STREAMS_MAX; i++)
		if (walk->levels[i].dir != NULL)
			(void)closedir(walk->levels[i].dir);
	free(walk->marks);
}

static struct level *level_at(struct walk *walk, size_t i)
{
	return &walk->levels[i % STREAMS_MAX];
}

static int set_entry_error(const struct walk *walk, const char *name, struct error *err)
{
	int saved = errno;
	char shown[SHOW_SIZE], shown_name[SHOW_SIZE];

	(void)utf8_escape(walk->path, shown, sizeof shown);
	(void)utf8_escape(view_of(name), shown_name, sizeof shown_name);
	if (saved == EXDEV || saved == EBUSY)
		return error_set(err, ERR_INVALID,
		                 "%s: '%s' is a mount point, which cannot be removed", shown,
		                 shown_name);
	errno = saved;
	if (walk->depth == 0)
		return error_sys(err, "%s", shown);
	return error_sys(err, "%s: '%s' in it", shown, shown_name);
}

static int push_mark(struct walk *walk, ino_t inode, struct error *err)
{
	char shown[SHOW_SIZE];

	if (walk->depth == REMOVE_DEPTH_MAX)
		return error_set(err, ERR_LIMIT, "%s: is more than %d directories deep",
		                 utf8_escape(walk->path, shown, sizeof shown), REMOVE_DEPTH_MAX);
	if (walk->depth == walk->marks_size) {
		walk->marks_size = walk->marks_size == 0 ? FIRST_DEPTH : walk->marks_size * 2;
		walk->marks = mem_resize(walk->marks, walk->marks_size * sizeof *walk->marks);
	}
	walk->marks[walk->depth++] = (struct level_mark){ .inode = inode };
	return 0;
}

/* Takes over the descriptor. */
static int open_stream(struct level *level, int fd)
{
	level->dir = fdopendir(fd);
	level->is_partial = false;
	if (level->dir != NULL)
		return 0;
	(void)close(fd);
	return -1;
}

/* Enters a directory. Returns 1 on success, 0 if it does not exist any more. */
static int enter_child(struct walk *walk, int at, const char *name, struct error *err)
{
	struct stat st;
	AUTO_FD int fd = open_child_dir(at, name, 0700, &st);
	struct level *level = level_at(walk, walk->depth);

	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0)
		return set_entry_error(walk, name, err);
	if (walk->depth != 0)
		(void)snprintf(level_at(walk, walk->depth - 1)->name, sizeof level->name, "%s",
		               name);
	if (level->dir != NULL)
		(void)closedir(level->dir);
	level->dir = NULL;
	if (push_mark(walk, st.st_ino, err) < 0)
		return -1;
	return open_stream(level, TAKE_FD(fd)) < 0 ? set_entry_error(walk, name, err) : 1;
}

/* Opens the closed level above again through "..". If a sandboxed program has moved the current
 * directory, ".." may lead out of the tree; the inode shows that. */
static int reopen_parent(struct walk *walk, int below, struct error *err)
{
	size_t above = walk->depth - 2;
	struct level *level = level_at(walk, above);
	AUTO_FD int fd = open_parent(below);
	char shown[SHOW_SIZE];
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return set_entry_error(walk, "..", err);
	if (st.st_ino != walk->marks[above].inode)
		return error_set(err, ERR_SYSTEM, "%s: was moved while it was being removed",
		                 utf8_escape(walk->path, shown, sizeof shown));
	if (open_stream(level, TAKE_FD(fd)) < 0)
		return set_entry_error(walk, "..", err);
	/* Continue at the remembered position: reading a large directory from its start once per
	 * child would take quadratic time, because file systems do not shrink directories. */
	seekdir(level->dir, walk->marks[above].position);
	level->is_partial = true;
	return 0;
}

/* Leaves an empty directory and removes it. */
static int leave_child(struct walk *walk, struct error *err)
{
	struct level *level = level_at(walk, walk->depth - 1);
	struct level *above = level_at(walk, walk->depth - 2);
	bool reopened = above->dir == NULL;

	if (reopened && reopen_parent(walk, dirfd(level->dir), err) < 0)
		return -1;
	(void)closedir(level->dir);
	level->dir = NULL;
	walk->depth--;
	/* readdir() continues in a reopened level at the child that is empty now, and removes
	 * it. */
	if (reopened)
		return 0;
	if (unlinkat(dirfd(above->dir), above->name, AT_REMOVEDIR) == 0)
		walk->count++;
	else if (errno == ENOTEMPTY && walk->retries++ < RETRIES_MAX)
		rewinddir(above->dir);
	else if (errno != ENOENT)
		return set_entry_error(walk, above->name, err);
	return 0;
}

/* Removes an entry, or enters it if it is a directory with entries. Returns 1 if it was entered,
 * 0 if it is gone. */
static int remove_entry(struct walk *walk, int at, const struct dirent *entry, struct error *err)
{
	bool gone = false;

	if (entry->d_type != DT_DIR) {
		gone = unlinkat(at, entry->d_name, 0) == 0;
		if (!gone && errno == ENOENT)
			return 0;
		if (!gone && errno != EISDIR)
			return set_entry_error(walk, entry->d_name, err);
	}
	if (!gone && unlinkat(at, entry->d_name, AT_REMOVEDIR) < 0) {
		if (errno == ENOENT)
			return 0;
		if (errno != ENOTEMPTY && errno != EEXIST)
			return set_entry_error(walk, entry->d_name, err);
		return enter_child(walk, at, entry->d_name, err);
	}
	walk->count++;
	return 0;
}

/* Removes entries of the current level. Returns 1 if the walk is one level deeper now, 0 if the
 * level is empty. */
static int clear_level(struct walk *walk, struct error *err)
{
	struct level *level = level_at(walk, walk->depth - 1);
	DIR *dir = level->dir;

	assert(dir != NULL); /* the deepest level is always open */
	for (;;) {
		const struct dirent *entry;
		int entered;

		walk->marks[walk->depth - 1].position = telldir(dir);
		errno = 0;
		entry = readdir(dir);
		if (entry == NULL && errno != 0)
			return set_entry_error(walk, ".", err);
		if (entry == NULL && !level->is_partial)
			return 0;
		if (entry == NULL) {
			level->is_partial = false;
			rewinddir(dir);
			continue;
		}
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		entered = remove_entry(walk, dirfd(dir), entry, err);
		if (entered != 0)
			return entered;
	}
}

/* Removes everything in the directory, but not the directory itself. */
static int clear_tree(struct walk *walk, int parent, const char *name, struct error *err)
{
	int deeper = enter_child(walk, parent, name, err);

	if (deeper <= 0)
		return deeper;
	for (;;) {
		deeper = clear_level(walk, err);
		if (deeper < 0)
			return -1;
		if (deeper == 0 && walk->depth == 1)
			return 0;
		if (deeper == 0 && leave_child(walk, err) < 0)
			return -1;
	}
}

int remove_tree(int parent, const char *name, struct view path, uint64_t *ret_count,
                struct error *err)
{
	uint64_t count = 0;

	for (int i = 0;; i++) {
		struct walk walk = { .path = path };
		int failed = clear_tree(&walk, parent, name, err);

		walk_done(&walk);
		count += walk.count;
		if (failed < 0)
			return -1;
		if (unlinkat(parent, name, AT_REMOVEDIR) == 0)
			break;
		walk.depth = 0;
		if (errno != ENOTEMPTY || i == RETRIES_MAX)
			return set_entry_error(&walk, name, err);
	}
	*ret_count = count + 1;
	return 0;
}
