#include "agent/files/archive/pack_walk.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"

struct dirent_head { /* what getdents64(2) puts before each name */
	uint64_t inode;
	int64_t next;
	uint16_t size;
	uint8_t type;
} __attribute__((packed));
enum { HEAD_SIZE = sizeof(struct dirent_head) };
_Static_assert(HEAD_SIZE == 19, "as the kernel lays it out");

static struct pack_level *top(const struct pack_walk *walk)
{
	return &walk->levels[walk->depth - 1];
}

const struct pack_level *pack_walk_dir(const struct pack_walk *walk)
{
	return top(walk);
}

static void close_level(struct pack_level *level)
{
	if (level->fd >= 0)
		(void)close(level->fd);
	level->fd = -1;
}

void pack_walk_enter(struct pack_walk *walk, int fd, const struct stat *st)
{
	assert(walk->depth < PACK_DEPTH_MAX && walk->len <= PACK_PATH_MAX);
	walk->levels[walk->depth++] = (struct pack_level){
		.fd = fd, .device = st->st_dev, .inode = st->st_ino, .path = walk->len
	};
	if (walk->depth > PACK_OPEN_MAX)
		close_level(&walk->levels[walk->depth - 1 - PACK_OPEN_MAX]);
	walk->used = walk->next = 0;
}

void pack_walk_init(struct pack_walk *walk, int fd, const struct stat *st)
{
	walk->levels = mem_array(PACK_DEPTH_MAX, sizeof *walk->levels);
	walk->depth = walk->len = 0;
	pack_walk_enter(walk, fd, st);
}

void pack_walk_done(struct pack_walk *walk)
{
	for (; walk->depth > 0; walk->depth--)
		close_level(top(walk));
	free(walk->levels);
}

static int moved(const struct pack_walk *walk, struct error *err)
{
	char shown[PATH_SHOW_SIZE];

	return error_set(err, ERR_SYSTEM, "%s: was moved while it was being packed: try again",
	                 path_show((struct view){ walk->path, top(walk)->path }, shown));
}

/* Back to the level above, where its reading was left. */
static int leave(struct pack_walk *walk, struct error *err)
{
	struct pack_level below = *top(walk);
	struct pack_level *level;
	struct stat st;
	int r = 0;

	walk->depth--;
	walk->used = walk->next = 0;
	if (walk->depth == 0) {
		close_level(&below);
		return 0;
	}
	level = top(walk);
	if (level->fd < 0) {
		level->fd = openat(below.fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (level->fd < 0 || fstat(level->fd, &st) < 0 || st.st_dev != level->device ||
		    st.st_ino != level->inode)
			r = moved(walk, err);
	}
	if (r == 0 && lseek(level->fd, level->at, SEEK_SET) < 0)
		r = error_sys(err, "go on reading a directory");
	close_level(&below);
	return r;
}

/* More names of this directory: 1, or 0 at its end. One that was removed is at its end. */
static int refill(struct pack_walk *walk, struct error *err)
{
	long n = syscall(SYS_getdents64, top(walk)->fd, walk->names, sizeof walk->names);
	char shown[PATH_SHOW_SIZE];

	walk->used = walk->next = 0;
	if (n < 0 && errno != ENOENT)
		return error_sys(err, "%s",
		                 path_show((struct view){ walk->path, top(walk)->path }, shown));
	walk->used = n > 0 ? (size_t)n : 0;
	return n > 0;
}

static const char *take_name(struct pack_walk *walk)
{
	const char *at = walk->names + walk->next;
	struct dirent_head head;

	memcpy(&head, at, sizeof head);
	walk->next += head.size;
	top(walk)->at = head.next;
	return at + HEAD_SIZE;
}

/* Some file systems have longer names than everybody expects: what does not fit is cut, and
 * the length says that it cannot be used. */
static void join(struct pack_walk *walk, const char *name)
{
	size_t at = top(walk)->path, len = strlen(name);

	if (at != 0)
		walk->path[at++] = '/';
	walk->len = at + len;
	if (walk->len >= sizeof walk->path) {
		walk->len = sizeof walk->path - 1;
		len = walk->len - at;
	}
	memcpy(walk->path + at, name, len);
	walk->path[walk->len] = '\0';
}

int pack_walk_next(struct pack_walk *walk, const char **ret_name, struct error *err)
{
	while (walk->depth > 0) {
		if (walk->next == walk->used) {
			int r = refill(walk, err);

			if (r < 0 || (r == 0 && leave(walk, err) < 0))
				return -1;
			continue;
		}
		*ret_name = take_name(walk);
		if (strcmp(*ret_name, ".") == 0 || strcmp(*ret_name, "..") == 0)
			continue;
		join(walk, *ret_name);
		return 1;
	}
	return 0;
}
