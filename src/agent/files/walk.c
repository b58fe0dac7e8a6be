#include "agent/files/walk.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdint.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "agent/files/path.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/tree/open_child.h"

enum {
	NAMES_BYTES = 8 * 1024 * 1024, /* of all levels; each takes half of what is left */
	LEVEL_BYTES = 32 * 1024,       /* but at least this */
};

static void push_level(struct walk *walk, int fd, dev_t device, size_t path_len)
{
	walk->levels[walk->open++] = (struct walk_level){
		.fd = fd,
		.device = device,
		.path_len = path_len,
		.names.more = true, /* nothing has been read */
	};
}

static void pop_level(struct walk *walk)
{
	struct walk_level *level = &walk->levels[--walk->open];

	names_done(&level->names);
	(void)close(level->fd);
}

void walk_init(struct walk *walk, int dir, unsigned depth, bool hidden)
{
	struct stat st = { 0 };

	assert(depth >= 1 && depth <= WIRE_DEPTH_MAX);
	walk->batch = SIZE_MAX;
	walk->depth = depth;
	walk->hidden = hidden;
	walk->is_deeper = walk->skipped_long_paths = walk->enter = false;
	walk->open = 0;
	(void)fstat(dir, &st);
	push_level(walk, dir, st.st_dev, 0);
}

void walk_done(struct walk *walk)
{
	while (walk->open != 0)
		pop_level(walk);
}

bool walk_is_shortage(int errnum)
{
	return errnum == EMFILE || errnum == ENFILE || errnum == ENOMEM;
}

bool walk_is_pseudo(int fd)
{
	static const uint32_t kinds[] = {
		PROC_SUPER_MAGIC,   SYSFS_MAGIC,    CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC,
		DEBUGFS_MAGIC,      TRACEFS_MAGIC,  SECURITYFS_MAGIC,   BPF_FS_MAGIC,
		DEVPTS_SUPER_MAGIC, PSTOREFS_MAGIC, EFIVARFS_MAGIC,     SELINUX_MAGIC,
		BINFMTFS_MAGIC,
	};
	struct statfs fs;

	if (fstatfs(fd, &fs) < 0)
		return true;
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if ((uint32_t)fs.f_type == kinds[i])
			return true;
	return false;
}

/* Opens the directory that was returned last. O_NOFOLLOW: it may have become a link since lstat(2).
 * 1: opened; 0: pass over it. */
static int open_last(const struct walk *walk, int *ret_fd, dev_t *ret_device, struct error *err)
{
	const struct walk_level *level = &walk->levels[walk->open - 1];
	const char *name = level->names.items[level->next - 1];
	AUTO_FD int fd = open_resolved(level->fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, 0);
	struct stat st;

	if (fd < 0)
		return walk_is_shortage(errno) ? error_sys(err, "open the directory '%s'", name)
		                               : 0;
	if (fstat(fd, &st) < 0 || (st.st_dev != level->device && walk_is_pseudo(fd)))
		return 0;
	*ret_device = st.st_dev;
	*ret_fd = TAKE_FD(fd);
	return 1;
}

static int enter_last(struct walk *walk, struct error *err)
{
	AUTO_FD int fd = -1;
	dev_t device = 0;
	int got;

	if (walk->open == walk->depth && walk->is_deeper)
		return 0;
	got = open_last(walk, &fd, &device, err);
	if (got <= 0)
		return got;
	if (walk->open == walk->depth) {
		walk->is_deeper = names_any(fd, walk->hidden);
		return 0;
	}
	walk->path[walk->path_len] = '/';
	push_level(walk, TAKE_FD(fd), device, walk->path_len + 1);
	return 0;
}

static size_t level_bytes(const struct walk *walk)
{
	size_t used = 0, share;

	for (unsigned i = 0; i + 1 < walk->open; i++)
		used += walk->levels[i].names.bytes;
	share = used < NAMES_BYTES ? (NAMES_BYTES - used) / 2 : 0;
	return share > LEVEL_BYTES ? share : LEVEL_BYTES;
}

/* Reads more names if all have been returned. 1: names[next] exists; 0: there are no more. */
static int fill_level(struct walk *walk, struct walk_level *level, struct error *err)
{
	char after[PATH_NAME_MAX + 1] = "";
	struct names *names = &level->names;
	struct names_rule rule = { .after = after,
		                   .limit = walk->batch,
		                   .bytes = level_bytes(walk),
		                   .hidden = walk->hidden };
	struct error failed;

	if (level->next < names->count)
		return 1;
	if (!names->more)
		return 0;
	if (names->count != 0) {
		const char *last = names->items[names->count - 1];

		memcpy(after, last, strlen(last) + 1);
	}
	if (names_read(names, level->fd, &rule, &failed) < 0) {
		if (walk->open != 1 && !walk_is_shortage(failed.errnum))
			return 0;
		*err = failed;
		return -1;
	}
	level->next = 0;
	return names->count != 0;
}

/* Makes *ret the next entry. False: it was removed meanwhile, or its path is too long. */
static bool take_entry(struct walk *walk, struct walk_level *level, struct walk_entry *ret)
{
	const char *name = level->names.items[level->next++];
	size_t len = strlen(name);

	if (level->path_len + len > WIRE_PATH_MAX) {
		walk->skipped_long_paths = true;
		return false;
	}
	if (fstatat(level->fd, name, &ret->st, AT_SYMLINK_NOFOLLOW) < 0) {
		if (errno == ENOENT)
			return false;
		ret->st = (struct stat){ 0 };
	}
	memcpy(walk->path + level->path_len, name, len + 1);
	walk->path_len = level->path_len + len;
	walk->enter = S_ISDIR(ret->st.st_mode);
	ret->path = (struct view){ walk->path, walk->path_len };
	ret->name = name;
	ret->dir = level->fd;
	return true;
}

int walk_next(struct walk *walk, struct walk_entry *ret, struct error *err)
{
	if (walk->enter && enter_last(walk, err) < 0)
		return -1;
	walk->enter = false;
	while (walk->open != 0) {
		struct walk_level *level = &walk->levels[walk->open - 1];
		int got = fill_level(walk, level, err);

		if (got < 0)
			return -1;
		if (got == 0)
			pop_level(walk);
		else if (take_entry(walk, level, ret))
			return 1;
	}
	return 0;
}
