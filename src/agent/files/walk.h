/* walk.h - all that is below a directory, one entry after the other.
 *
 * Depth first, a directory before what is in it, siblings by name. Symbolic links are
 * entries, never followed. Memory, descriptors and depth are bounded whatever the tree
 * looks like (8 MiB of names, one descriptor for each level); nothing recurses. The tree may
 * change meanwhile: what is gone when its turn comes is passed over, names only ever ascend, so no
 * directory is given twice under one name.
 *
 * Passed over without a word: directories that cannot be opened or read (the walk goes
 * on; the directory itself is given), and what is in procfs, sysfs and their like, unless the walk
 * starts there. Other mounts are crossed.
 *
 *   walk_init -> walk_next ... -> walk_done    (the struct is the caller's) */
#pragma once
#include <stdbool.h>
#include <sys/stat.h>

#include "agent/files/names.h"
#include "wire/table.h"

struct walk_level {
	int fd;
	dev_t device;
	size_t path_len; /* of the directory's own path, slash included */
	struct names names;
	size_t next; /* name to be given */
};

struct walk {
	size_t batch; /* names read of one directory at a time; may be lowered to what is wanted */
	bool deeper;  /* there was something below the depth allowed */
	bool lost;    /* paths were longer than WIRE_PATH_MAX, and left out */

	unsigned depth; /* levels allowed */
	bool hidden;
	unsigned open; /* levels */
	bool enter;    /* the entry given last is a directory */
	size_t path_len;
	struct walk_level levels[WIRE_DEPTH_MAX];
	char path[WIRE_PATH_MAX + 2];
};

/* Valid until the next call. */
struct walk_entry {
	struct view path; /* below the start, terminated */
	const char *name; /* the last part of it */
	int dir;          /* where the name is */
	/* lstat(); all zero (no file type) if that was refused, as in a directory that may
	 * be read but not searched */
	struct stat st;
};

/* Takes `dir` over, which is open for reading. depth is 1 to WIRE_DEPTH_MAX; 1: only what is in
 * dir itself. hidden: names that start with a dot too. */
void walk_init(struct walk *walk, int dir, unsigned depth, bool hidden);
void walk_done(struct walk *walk);
static inline void cleanup_walk(struct walk *walk)
{
	walk_done(walk);
}
#define AUTO_WALK CLEANUP(cleanup_walk)

/* 1: *ret is the next entry; 0: that was all; -1: the start could not be read, or the
 * worker is out of descriptors or memory. */
MUST_CHECK int walk_next(struct walk *walk, struct walk_entry *ret, struct error *err);

/* Ours, and not the directory's: what comes after it would fail in the same way. */
bool walk_is_shortage(int errnum);
/* Made up by the kernel while one looks: endless, or with side effects. True as well of what does
 * not tell: leaving a mount out is the smaller harm. */
bool walk_is_pseudo(int fd);
