#include "base/tree/remove_tree.h"

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
#include "base/text/utf8.h"
#include "base/tree/dir_stack.h"
#include "base/tree/open_child.h"

enum {
	RETRIES_MAX = 1000, /* directories that got new entries between reading and rmdir() */
	SHOW_SIZE = 256,    /* bytes of a name in an error */
};

/* A directory on the way that holds a descriptor. */
struct open_level {
	char name[NAME_MAX + 1]; /* of the child directory that was entered */
	bool is_partial; /* reading did not start at the beginning: entries may be left there */
};

struct walk {
	struct view path;
	struct dir_stack dirs;
	struct open_level open[DIR_STACK_OPEN_MAX]; /* level i is at i % DIR_STACK_OPEN_MAX */
	uint64_t count;                             /* entries removed */
	int retries;
};

static struct open_level *level_at(struct walk *walk, size_t i)
{
	return &walk->open[i % DIR_STACK_OPEN_MAX];
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
	if (saved == ESTALE)
		return error_set(err, ERR_SYSTEM, "%s: was moved while it was being removed",
		                 shown);
	errno = saved;
	if (walk->dirs.depth == 0)
		return error_sys(err, "%s", shown);
	return error_sys(err, "%s: '%s' in it", shown, shown_name);
}

/* Enters a directory. Returns 1 on success, 0 if it does not exist any more. */
static int enter_child(struct walk *walk, int at, const char *name, struct error *err)
{
	struct stat st;
	AUTO_FD int fd = open_child_dir(at, name, 0700, &st);

	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0)
		return set_entry_error(walk, name, err);
	if (walk->dirs.depth == REMOVE_DEPTH_MAX)
		return error_set(err, ERR_LIMIT, "%s: is more than %d directories deep",
		                 UTF8_ESCAPED(walk->path, SHOW_SIZE), REMOVE_DEPTH_MAX);
	if (walk->dirs.depth != 0)
		(void)snprintf(level_at(walk, walk->dirs.depth - 1)->name, NAME_MAX + 1, "%s",
		               name);
	if (dir_stack_push(&walk->dirs, TAKE_FD(fd), &st) < 0)
		return set_entry_error(walk, name, err);
	level_at(walk, walk->dirs.depth - 1)->is_partial = false;
	return 1;
}

/* Leaves an empty directory and removes it. */
static int leave_child(struct walk *walk, struct error *err)
{
	bool reopens = walk->dirs.levels[walk->dirs.depth - 2].stream == NULL;
	struct open_level *parent = level_at(walk, walk->dirs.depth - 2);

	if (dir_stack_pop(&walk->dirs) < 0)
		return set_entry_error(walk, "..", err);
	/* The name is not known any more. Reading continues at the entry of the child, which is
	 * empty now. Reading a large directory from its start once per child would take quadratic
	 * time, because file systems do not shrink directories. */
	if (reopens) {
		parent->is_partial = true;
		return 0;
	}
	if (unlinkat(dir_stack_fd(&walk->dirs), parent->name, AT_REMOVEDIR) == 0)
		walk->count++;
	else if (errno == ENOTEMPTY && walk->retries++ < RETRIES_MAX)
		rewinddir(dir_stack_top(&walk->dirs)->stream);
	else if (errno != ENOENT)
		return set_entry_error(walk, parent->name, err);
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
	struct open_level *level = level_at(walk, walk->dirs.depth - 1);

	for (;;) {
		const struct dirent *entry = dir_stack_read(&walk->dirs);
		int entered;

		if (entry == NULL && errno != 0)
			return set_entry_error(walk, ".", err);
		if (entry == NULL && !level->is_partial)
			return 0;
		if (entry == NULL) {
			level->is_partial = false;
			rewinddir(dir_stack_top(&walk->dirs)->stream);
			continue;
		}
		entered = remove_entry(walk, dir_stack_fd(&walk->dirs), entry, err);
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
		if (deeper == 0 && walk->dirs.depth == 1)
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
		struct walk walk = { .path = path, .dirs.rereads = true };
		int failed = clear_tree(&walk, parent, name, err);

		dir_stack_done(&walk.dirs);
		count += walk.count;
		if (failed < 0)
			return -1;
		if (unlinkat(parent, name, AT_REMOVEDIR) == 0)
			break;
		if (errno != ENOTEMPTY || i == RETRIES_MAX)
			return set_entry_error(&walk, name, err);
	}
	*ret_count = count + 1;
	return 0;
}
