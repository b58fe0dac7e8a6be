/* internal.h - what the files of root/ share: the mount system calls, and the parts of a
 * skeleton. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/attr.h"
#include "base/view.h"
#include "engine/native/root/root.h"

struct buf;
struct error;

/* --- mount system calls (mount.c) ---
 *
 * A mount is a descriptor first and is attached last, so no path is resolved twice and no other
 * process can exchange a path between check and use. Each returns a descriptor or 0, else -1. */

/* A new file system (fsopen, fsconfig, fsmount), not attached. `options`: "key=value,flag" or
 * NULL. */
MUST_CHECK int mount_create(const char *type, const char *options, uint32_t attrs,
                            struct error *err);
/* A copy of the mount at `path` below `dir` (open_tree), not attached. `dir` -1: an absolute path;
 * `path` "": `dir` itself. */
MUST_CHECK int mount_clone(int dir, const char *path, bool recursive, uint32_t attrs,
                           struct error *err);
MUST_CHECK int mount_attach(int mount, int dir, const char *path, struct error *err);
MUST_CHECK int mount_set_attrs(int mount, bool recursive, uint32_t attrs, struct error *err);
/* pivot_root(2) to `dir`; the old root is unmounted. */
MUST_CHECK int mount_pivot_root(int dir, struct error *err);

/* --- skeleton: what is copied from the host (skeleton_etc.c) --- */

/* All paths are from the root, without a leading slash. */
struct skeleton_visitor {
	/* One entry of the host: a directory, a link or a file that every user may read. `name` in
	 * the directory `at` is where to open it. */
	int (*visit)(void *ctx, const char *path, int at, const char *name, const struct stat *st,
	             struct error *err);
	/* A file or directory on which the result of the walk depends, also one that is skipped.
	 * As long as stat(2) of all of them is the same, another walk visits the same entries. A
	 * link is not among them: it changes only together with its directory. NULL: not
	 * wanted. */
	void (*seen)(void *ctx, const char *path, const struct stat *st);
	void *ctx;
};

/* Calls visit for each entry, a directory before its content, until a call fails. Entries that
 * cannot be read or exceed a limit are skipped. */
MUST_CHECK int skeleton_walk(int host, const struct skeleton_visitor *visitor, struct error *err);

/* --- skeleton: entries of /etc that belong to a program (skeleton_rule.c) --- */

/* The directories on which the rule depends besides /etc. NULL ends the list. */
extern const char *const skeleton_rule_dirs[];
/* Whether /etc/NAME has the name of an installed program that is neither a service nor one of those
 * that keep credentials or names of machines. */
bool skeleton_rule_names(int host, const char *name);
/* For the files of such an entry: whether the name, or the text, has nothing of a secret. */
bool skeleton_rule_allows_name(const char *name);
bool skeleton_rule_allows_text(const char *text, size_t len);
/* For a link in such a directory: whether it leads to programs or to another entry of /etc. */
bool skeleton_rule_allows_link(const char *target);

/* --- skeleton: files that a package brought (skeleton_package.c) --- */

enum { SKELETON_PATH_SIZE = 1024 };
/* The files of the host that tell it. NULL ends the list. */
extern const char *const skeleton_package_files[];
/* Reads them. buf_done() releases *known, which is empty on a host without dpkg. */
void skeleton_packages_read(int host, struct buf *known);
/* Whether `content` is what a package brought as the file `path`, "etc/...". */
bool skeleton_package_has(const struct buf *known, const char *path, struct view content);

/* --- skeleton: the new tree (skeleton_make.c) --- */

/* Whether the skeleton's /etc/NAME is generated. */
bool skeleton_is_generated(const char *name);

/* Names in the host's root that lead to programs, links or directories. NULL ends the list. */
extern const char *const skeleton_program_dirs[];

/* A tree under construction. The umask is 0, and new files belong to the skeleton's owner. */
struct skeleton_tree {
	int host, root;
};

/* First the copies, then the generated files. `root` is empty before. */
MUST_CHECK int skeleton_copy(struct skeleton_tree *tree, struct error *err);
MUST_CHECK int skeleton_generate(const struct skeleton_tree *tree, struct error *err);

/* Small files of sysfs that programs read to learn the number of processors; sysfs itself is not
 * mounted in a sandbox. NULL ends the list. */
extern const char *const skeleton_sysfs_files[];
enum { SKELETON_SYSFS_SIZE = 1024 };
/* The content of a small file of the host, or "". */
void skeleton_read_host(int host, const char *path, char out[SKELETON_SYSFS_SIZE]);

/* --- skeleton: its name (skeleton_name.c) --- */

#define SKELETON_PREFIX "skeleton-"

/* The name of the skeleton for the host's files as they are now, whether it exists or not. Reads
 * and writes the file "list" in `parent`. */
MUST_CHECK int skeleton_find_name(int host, int parent, uid_t owner, gid_t group,
                                  char name[SKELETON_NAME_SIZE], struct error *err);

/* --- skeleton: finding and making one (skeleton.c) --- */

bool skeleton_is_name(const char *name);

/* skeleton_open() with the host's root as a parameter, for tests. */
MUST_CHECK int skeleton_open_from(int host, int parent, uid_t owner, gid_t group,
                                  struct skeleton *ret, struct error *err);

/* --- disk images: parts of disk_image.c, disk_image_make.c and disk_image_claim.c --- */

enum { DISK_IMAGE_BLOCK = 4096 }; /* of the file system */

/* Files of an image that only keep inodes, so that a sandbox without any can wake. */
enum { DISK_IMAGE_KEPT = 16 };
void disk_image_keep_inodes(int mount, uint64_t count);

enum { DISK_IMAGE_LOOP_SIZE = 32 };
#define DISK_IMAGE_NAME "image" /* in the sandbox's directory */
/* The name of the loop device of a mounted image, "loop7". False: it is not known. */
bool disk_image_loop_name(const struct disk_images *images, int mount,
                          char ret[DISK_IMAGE_LOOP_SIZE]);
uint64_t disk_image_inodes(const struct spec_limits *limits);
/* Attaches the file to a loop device, and mounts that. Returns the mount, attached nowhere. */
MUST_CHECK int disk_image_mount(const struct disk_images *images, int file, struct error *err);
/* The empty file becomes an image. */
MUST_CHECK int disk_image_format(const struct disk_images *images, int file,
                                 const struct spec_limits *limits, struct error *err);
/* Repairs the file system by e2fsck(8). */
MUST_CHECK int disk_image_check(const struct disk_images *images, int file, struct error *err);
