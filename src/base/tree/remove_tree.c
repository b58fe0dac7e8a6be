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
	STREAMS_MAX = 32,  /* levels with a descriptor: the deepest ones */
	AGAIN_MAX = 1000,  /* directories that were empty and then were not */
	FIRST_DEPTH = 256, /* levels remembered before the first growth */
	SHOW_SIZE = 256,   /* of a name in an error */
};

struct level {
	DIR *dir;                /* NULL: closed to save descriptors */
	char name[NAME_MAX + 1]; /* of the directory in it that we went down to */
	bool partly;             /* not read from its start: what is before that may not be gone */
};

/* What is kept of every level: all are on one mount. */
struct mark {
	ino_t inode;
	long below; /* where in it the directory stands that we went down to */
};

struct removing {
	struct view path;
	struct level levels[STREAMS_MAX]; /* level i is at i % STREAMS_MAX */
	struct mark *marks;
	size_t depth, room; /* levels there are, marks there is room for */
	uint64_t count;
	int again;
};

static void removing_done(struct removing *removing)
{
	for (size_t i = 0; i < STREAMS_MAX; i++)
		if (removing->levels[i].dir != NULL)
			(void)closedir(removing->levels[i].dir);
	free(removing->marks);
}

static struct level *level_at(struct removing *removing, size_t i)
{
	return &removing->levels[i % STREAMS_MAX];
}

static int fail(const struct removing *removing, const char *name, struct error *err)
{
	int saved = errno;
	char shown[SHOW_SIZE], shown_name[SHOW_SIZE];

	(void)utf8_escape(removing->path, shown, sizeof shown);
	(void)utf8_escape(view_of(name), shown_name, sizeof shown_name);
	if (saved == EXDEV || saved == EBUSY)
		return error_set(err, ERR_INVALID,
		                 "%s: '%s' is a mount point, which cannot be removed", shown,
		                 shown_name);
	errno = saved;
	if (removing->depth == 0)
		return error_sys(err, "%s", shown);
	return error_sys(err, "%s: '%s' in it", shown, shown_name);
}

/* Lets the user into a directory of their own. Not by its name: that could be a link by now. */
static int unlock(int at, const char *name)
{
	AUTO_FD int fd = open_child(at, name, O_PATH | O_DIRECTORY);
	char by_number[32];
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -1;
	(void)snprintf(by_number, sizeof by_number, "/proc/self/fd/%d", fd);
	if (st.st_uid == geteuid() && chmod(by_number, (st.st_mode & 07777) | 0700) == 0)
		return 0;
	errno = EACCES;
	return -1;
}

static int open_in(int at, const char *name)
{
	int fd = open_child(at, name, O_RDONLY | O_DIRECTORY);

	if (fd < 0 && errno == EACCES && unlock(at, name) == 0)
		fd = open_child(at, name, O_RDONLY | O_DIRECTORY);
	return fd;
}

static int remember(struct removing *removing, ino_t inode, struct error *err)
{
	char shown[SHOW_SIZE];

	if (removing->depth == REMOVE_DEPTH_MAX)
		return error_set(err, ERR_LIMIT, "%s: is more than %d directories deep",
		                 utf8_escape(removing->path, shown, sizeof shown),
		                 REMOVE_DEPTH_MAX);
	if (removing->depth == removing->room) {
		removing->room = removing->room == 0 ? FIRST_DEPTH : removing->room * 2;
		removing->marks = mem_resize(removing->marks,
		                             removing->room * sizeof *removing->marks);
	}
	removing->marks[removing->depth++] = (struct mark){ .inode = inode };
	return 0;
}

/* Takes the descriptor. */
static int open_stream(struct level *level, int fd)
{
	level->dir = fdopendir(fd);
	level->partly = false;
	if (level->dir != NULL)
		return 0;
	(void)close(fd);
	return -1;
}

/* 1: we are in it now; 0: it is gone. */
static int go_down(struct removing *removing, int at, const char *name, struct error *err)
{
	AUTO_FD int fd = open_in(at, name);
	struct level *level = level_at(removing, removing->depth);
	struct stat st;

	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0 || fstat(fd, &st) < 0)
		return fail(removing, name, err);
	if (st.st_uid == geteuid() && (st.st_mode & 0700) != 0700)
		(void)fchmod(fd, (st.st_mode & 07777) | 0700);
	if (removing->depth != 0)
		(void)snprintf(level_at(removing, removing->depth - 1)->name, sizeof level->name,
		               "%s", name);
	if (level->dir != NULL)
		(void)closedir(level->dir);
	level->dir = NULL;
	if (remember(removing, st.st_ino, err) < 0)
		return -1;
	return open_stream(level, TAKE_FD(fd)) < 0 ? fail(removing, name, err) : 1;
}

/* The level above was closed: finds it by "..", if that is still the one we came from. */
static int reopen(struct removing *removing, int below, struct error *err)
{
	size_t above = removing->depth - 2;
	struct level *level = level_at(removing, above);
	AUTO_FD int fd = open_parent(below);
	char shown[SHOW_SIZE];
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return fail(removing, "..", err);
	if (st.st_ino != removing->marks[above].inode)
		return error_set(err, ERR_SYSTEM, "%s: was moved while it was being removed",
		                 utf8_escape(removing->path, shown, sizeof shown));
	if (open_stream(level, TAKE_FD(fd)) < 0)
		return fail(removing, "..", err);
	/* From the start it would be slow: a directory stays as long as it ever was. */
	seekdir(level->dir, removing->marks[above].below);
	level->partly = true;
	return 0;
}

/* This level is empty: back to the one above, and away with it. */
static int go_up(struct removing *removing, struct error *err)
{
	struct level *level = level_at(removing, removing->depth - 1);
	struct level *above = level_at(removing, removing->depth - 2);
	bool reopened = above->dir == NULL;

	if (reopened && reopen(removing, dirfd(level->dir), err) < 0)
		return -1;
	(void)closedir(level->dir);
	level->dir = NULL;
	removing->depth--;
	if (reopened) /* it is read from where this one stands, which comes up again, empty */
		return 0;
	if (unlinkat(dirfd(above->dir), above->name, AT_REMOVEDIR) == 0)
		removing->count++;
	else if (errno == ENOTEMPTY && removing->again++ < AGAIN_MAX)
		rewinddir(above->dir);
	else if (errno != ENOENT)
		return fail(removing, above->name, err);
	return 0;
}

/* 1: it is a directory, and we are in it now; 0: it is gone. */
static int remove_entry(struct removing *removing, int at, const struct dirent *entry,
                        struct error *err)
{
	bool gone = false;

	if (entry->d_type != DT_DIR) {
		gone = unlinkat(at, entry->d_name, 0) == 0;
		if (!gone && errno == ENOENT)
			return 0;
		if (!gone && errno != EISDIR)
			return fail(removing, entry->d_name, err);
	}
	if (!gone && unlinkat(at, entry->d_name, AT_REMOVEDIR) < 0) {
		if (errno == ENOENT)
			return 0;
		if (errno != ENOTEMPTY && errno != EEXIST)
			return fail(removing, entry->d_name, err);
		return go_down(removing, at, entry->d_name, err);
	}
	removing->count++;
	return 0;
}

/* 1: we are one level deeper; 0: this one is empty. */
static int clear_level(struct removing *removing, struct error *err)
{
	struct level *level = level_at(removing, removing->depth - 1);
	DIR *dir = level->dir;

	assert(dir != NULL); /* the deepest level is always open */
	for (;;) {
		const struct dirent *entry;
		int deeper;

		removing->marks[removing->depth - 1].below = telldir(dir);
		errno = 0;
		entry = readdir(dir);
		if (entry == NULL && errno != 0)
			return fail(removing, ".", err);
		if (entry == NULL && !level->partly)
			return 0;
		if (entry == NULL) {
			level->partly = false;
			rewinddir(dir);
			continue;
		}
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		deeper = remove_entry(removing, dirfd(dir), entry, err);
		if (deeper != 0)
			return deeper;
	}
}

/* Everything in it. */
static int clear_all(struct removing *removing, int parent, const char *name, struct error *err)
{
	int deeper = go_down(removing, parent, name, err);

	if (deeper <= 0)
		return deeper;
	for (;;) {
		deeper = clear_level(removing, err);
		if (deeper < 0)
			return -1;
		if (deeper == 0 && removing->depth == 1)
			return 0;
		if (deeper == 0 && go_up(removing, err) < 0)
			return -1;
	}
}

int remove_tree(int parent, const char *name, struct view path, uint64_t *ret_count,
                struct error *err)
{
	uint64_t count = 0;

	for (int i = 0;; i++) {
		struct removing removing = { .path = path };
		int failed = clear_all(&removing, parent, name, err);

		removing_done(&removing);
		count += removing.count;
		if (failed < 0)
			return -1;
		if (unlinkat(parent, name, AT_REMOVEDIR) == 0)
			break;
		removing.depth = 0;
		if (errno != ENOTEMPTY || i == AGAIN_MAX)
			return fail(&removing, name, err);
	}
	*ret_count = count + 1;
	return 0;
}
