/* disk.h - where the files of sandboxes are, and how much they may be.
 *
 * QUOTA: a file system that counts for itself, by projects (ext4 or xfs mounted with prjquota), if
 * we are root. Exact.
 * WATCHED: any directory. While a sandbox is awake the free space is looked at many times a
 * second; when so much of it has gone that the sandbox could be over its limit its files are
 * counted, and it is ended if it is. Can be overshot by what is written in one interval. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"

struct error;

enum disk_kind { DISK_WATCHED, DISK_QUOTA };

struct disk_use {
	uint64_t bytes, inodes;
};

struct disk {
	enum disk_kind kind;
	int dir;       /* sandboxes/ : one directory each below it */
	char why[240]; /* why not QUOTA */
};

/* `is_root`: in the host's own user namespace. Makes what is missing below `state`. */
MUST_CHECK int disk_open(struct disk *ret, int state, bool is_root, struct error *err);
void disk_close(struct disk *disk);

/* QUOTA: everything below `dir`, which is empty, counts as `project` (not 0) from now on. */
MUST_CHECK int disk_limit(const struct disk *disk, int dir, uint32_t project,
                          const struct disk_use *most, struct error *err);
/* Is `dir` what disk_limit() made of it? Sandboxes may be older than the quotas. */
bool disk_is_limited(const struct disk *disk, int dir, uint32_t project);
MUST_CHECK int disk_used(const struct disk *disk, uint32_t project, struct disk_use *ret,
                         struct error *err); /* QUOTA */
/* Nothing counts as `project` any more: forgets its limits. 0, which is everything else on the file
 * system, is left alone: a sandbox that ended early never had a number. */
void disk_release(const struct disk *disk, uint32_t project);

/* Counts the files below name, itself included, which a sandbox may be changing meanwhile.
 * Takes its time. Stops as soon as it is more than `enough`. A file with several names counts
 * once, if all of them are below name. Fails if things change faster than they can be counted:
 * freeze it first, or take that as too much. Directories of our own uid that nobody may read
 * become readable for us. */
MUST_CHECK int disk_scan(int parent, const char *name, const struct disk_use *enough,
                         struct disk_use *ret, struct error *err);
