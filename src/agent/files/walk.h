/* walk.h - all entries below a directory, one after the other, for TREE, FIND and GREP.
 *
 * Depth first, a directory before its entries, siblings by name. Symbolic links are entries and
 * never followed. Memory, descriptors and depth are bounded whatever the tree looks like: 8 MiB of
 * names, one descriptor for each level; nothing recurses. Another process may change the tree
 * meanwhile: an entry that was removed is passed over, and names only ascend, so no entry is
 * returned twice under one name.
 *
 * Passed over silently: the contents of directories that cannot be opened or read (the directory
 * itself is returned), and mounts of procfs, sysfs and their like, unless the walk starts there.
 * Other mounts are entered.
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
	size_t next; /* index of the name to be returned */
};

struct walk {
	size_t batch;            /* names read of a directory at a time; the caller may lower it */
	bool is_deeper;          /* there are entries below the allowed depth */
	bool skipped_long_paths; /* paths longer than WIRE_PATH_MAX were left out */

	unsigned depth; /* allowed levels */
	bool hidden;
	unsigned open; /* levels that are open */
	bool enter;    /* the last entry is a directory, to be entered next */
	size_t path_len;
	struct walk_level levels[WIRE_DEPTH_MAX];
	char path[WIRE_PATH_MAX + 2];
};

/* Valid until the next call. */
struct walk_entry {
	struct view path; /* below the start, terminated */
	const char *name; /* the last part of it */
	int dir;          /* where the name is */
	/* lstat(2); all zero (no file type) if that was denied, as in a directory that may be read
	 * but not searched */
	struct stat st;
};

/* Takes over `dir`, which is open for reading. depth is 1 to WIRE_DEPTH_MAX; 1 means the entries of
 * dir itself. hidden: includes names that start with a dot. */
void walk_init(struct walk *walk, int dir, unsigned depth, bool hidden);
void walk_done(struct walk *walk);
static inline void cleanup_walk(struct walk *walk)
{
	walk_done(walk);
}
#define AUTO_WALK CLEANUP(cleanup_walk)

/* 1: *ret is the next entry; 0: there are no more; -1: the start could not be read, or the worker
 * is out of descriptors or memory. */
MUST_CHECK int walk_next(struct walk *walk, struct walk_entry *ret, struct error *err);

/* Whether an error means a lack of descriptors or memory: the next call would fail in the same
 * way. */
bool walk_is_shortage(int errnum);
/* Whether a directory is on procfs, sysfs or their like, whose files the kernel generates: reading
 * them may be endless or have side effects. True also if fstatfs() fails: leaving a mount out is
 * the smaller harm. */
bool walk_is_pseudo(int fd);
