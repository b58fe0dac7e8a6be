/* pack_walk.h - all that is below a directory, however deep, in the order it is found.
 *
 * Unlike walk.h it sorts nothing and has no limit of depth but that of a path, so an archive
 * is whole: a level costs 40 bytes, and only the innermost ones hold a descriptor. On the
 * way back up a directory is found again through "..", and recognised by its inode. The
 * caller decides which directories are entered; links are never followed.
 *
 *   init -> next (enter) ... -> done    (the struct is the caller's; it owns the descriptors) */
#pragma once
#include <stdbool.h>
#include <sys/stat.h>

#include "agent/files/path.h"
#include "wire/tar.h"

enum {
	PACK_PATH_MAX = TAR_NAME_MAX - 1, /* a directory gets a slash behind it */
	PACK_DEPTH_MAX = PACK_PATH_MAX / 2 + 2,
	PACK_OPEN_MAX = 16,
};

struct pack_level {
	int fd; /* -1: too far up, closed meanwhile */
	dev_t device;
	ino_t inode;
	off_t at;    /* where reading goes on, while another level is read */
	size_t path; /* length of the directory's path */
};

struct pack_walk {
	struct pack_level *levels;
	size_t depth;      /* levels in use */
	size_t used, next; /* bytes of names[] */
	_Alignas(8) char names[8192];
	size_t len; /* of path: may be more than PACK_PATH_MAX, and then must not be used */
	char path[PACK_PATH_MAX + 1 + PATH_NAME_MAX + 1];
};

/* Takes fd over, a directory that is open for reading; st is its fstat(). */
void pack_walk_init(struct pack_walk *walk, int fd, const struct stat *st);
void pack_walk_done(struct pack_walk *walk);

/* 1: walk->path is the next one, *ret_name its last part, in pack_walk_dir(); 0: no more. */
MUST_CHECK int pack_walk_next(struct pack_walk *walk, const char **ret_name, struct error *err);
const struct pack_level *pack_walk_dir(const struct pack_walk *walk);

/* Goes on within the directory that was given last; takes its descriptor over. */
void pack_walk_enter(struct pack_walk *walk, int fd, const struct stat *st);
