/* root.h - the spawner's own namespaces, and the root file system of a sandbox.
 *
 * The spawner calls, once and in this order:
 *
 *   userns_enter      enters its user and mount namespace; decides which ids sandboxes get
 *   skeleton_open     finds or makes the lowest layer of every sandbox's root
 *   base_tree_enter   replaces the host's mount tree by what sandboxes are made of
 *
 * For each sandbox it then calls mount_plan_make(), and the sandbox's first process, in its new
 * namespaces, calls mount_plan_apply(). The structs belong to the caller; descriptors in them stay
 * open until the spawner exits. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attr.h"
#include "engine/native/cdi/cdi.h"
#include "engine/spec.h"

struct error;
struct ids_taken;

/* --- user namespace (userns.c) --- */

/* How many ids the spawner can give to sandboxes. In the first two modes the agent and the programs
 * run under different ids, and neither is an id of the host or of the user who started belljar. */
enum userns_mode {
	USERNS_ROOT,      /* root of the host: 65536 ids for each sandbox */
	USERNS_MAPPED,    /* a user with subordinate ids, or root of a container: three ids each */
	USERNS_SINGLE_ID, /* other users: agent and programs have the user's own id */
	USERNS_MODE_COUNT
};

/* All ids are as the spawner's own user namespace sees them. */
struct userns_ids {
	uint32_t files; /* owns the skeleton and every root; no process has it. Inside: 0 */
	/* For sandboxes: `count` blocks of `block` ids each, from `first` on. */
	uint32_t first, block, count;
};

struct userns {
	enum userns_mode mode;
	char why[240]; /* the reason for not having a better mode; empty for USERNS_ROOT */
	struct userns_ids ids;
	uid_t uid; /* USERNS_SINGLE_ID: the user's own ids */
	gid_t gid;
	char groups[160]; /* USERNS_SINGLE_ID: groups with special rights that sandboxes keep */
	int proc;         /* O_PATH descriptor of the host's /proc, checked to be a procfs */
};

struct userns_wanted {
	bool single_id; /* enter USERNS_SINGLE_ID even if more ids could be had */
	uid_t server;   /* the server's id, which ids_choose_server() returned; or 0 */
	const struct ids_taken *taken; /* ids of users, which sandboxes must not have; or NULL */
};

/* Enters the best mode that can be had. unshare(2) of a user namespace works only in a process with
 * one thread. */
MUST_CHECK int userns_enter(struct userns *userns, const struct userns_wanted *wanted,
                            struct error *err);

/* --- skeleton (skeleton.c) --- */

enum { SKELETON_NAME_SIZE = 40 };

/* The lowest layer of a sandbox's root with the host's programs: mount points, the symbolic links
 * of the host's root (/bin, /lib ...), and an /etc of files that are either copies (alternatives,
 * certificates, fonts, the loader's configuration, files with the name of a program ...) or
 * generated (passwd, group, hosts ...). A skeleton shares no inode with the host, and has no file
 * of the host that only some users may read.
 *
 * There is one skeleton for each state of the host's files. All sandboxes use it read-only, below
 * an overlay. A shared flock(2) on `dir` keeps other servers from removing it. */
struct skeleton {
	int dir;
	char name[SKELETON_NAME_SIZE]; /* of `dir` in its parent */
	/* Names in the host's root, besides usr, that are directories and not links into /usr. Each
	 * gets a mount of its own, like /usr. NULL ends the list. */
	const char *program_dirs[8];
};

/* Finds or makes the skeleton for the host's files as they are now, owned by owner:group, in the
 * directory `parent`, and removes skeletons that no server has locked. Servers with different state
 * directories may use the same `parent`. Reads the host's tree, so it comes before
 * base_tree_enter(). */
MUST_CHECK int skeleton_open(int parent, uid_t owner, gid_t group, struct skeleton *ret,
                             struct error *err);

/* --- base tree (base_tree.c) --- */

enum { BASE_TREE_MOUNTS_MAX = 64 };
#define BASE_TREE_SANDBOXES "/sandboxes"

/* The spawner's own mount tree. Every sandbox starts as a copy of it and leaves it for a root of
 * its own. The tree is small, because copying a mount namespace takes time per mount, and because a
 * mistake in the set-up of a sandbox reaches only the files in this tree:
 *   /usr /bin ...     the host's programs, read-only, or links into /usr
 *   /skeleton         the lowest layer of every root
 *   /sandboxes        the sandboxes' own files
 *   /dev              six device nodes
 *   /mounts/N         the host directories that sandboxes may be given
 *   /gpu/D/N          device nodes of graphics processor D
 *   /gpu/D/fN         files of graphics processor D
 *   /proc             the host's, for id maps and for checks from outside
 *   /tmp              for the agent's program where memory cannot be executed
 *   /new /empty       mount point for the root under construction; an empty directory */
struct base_tree {
	bool usr_is_single_mount; /* no other file system is mounted below the host's /usr */
	uint64_t gpus;            /* bit n: device n of the CDI list is usable */
};

/* Everything was opened after userns_enter(): a mount of another mount namespace cannot be cloned
 * into this one. */
struct base_tree_sources {
	const char *state;         /* the state directory; the new tree is first mounted on it */
	int sandboxes;             /* the directory of the sandboxes' files */
	int proc;                  /* the host's /proc */
	const char *const *mounts; /* host directories that sandboxes may be given */
	size_t mount_count;
	const struct skeleton *skeleton;
	const struct cdi *gpus; /* or NULL */
};

/* Makes the base tree the root; the host's tree is unmounted. */
MUST_CHECK int base_tree_enter(struct base_tree *ret, const struct base_tree_sources *sources,
                               struct error *err);

/* --- disk images (disk_image.c) --- */

enum { DISK_IMAGE_BOOT_SIZE = 40 };

/* The means to keep the writable layer of a sandbox in a file system of its own, which is in a file
 * of the sandbox's directory, the image. Only root of the host can mount images. */
struct disk_images {
	int dev;           /* the host's /dev; -1: images are not possible */
	int control;       /* /dev/loop-control */
	int sysfs;         /* /sys/fs/ext4 */
	int templates;     /* images/ below `parent`: an empty image of each size in use */
	int loops;         /* loops/ below `parent`: the claims of mounted images, and their lock */
	const char *tools; /* the directory of mke2fs(8) and e2fsck(8) */
	char boot[DISK_IMAGE_BOOT_SIZE]; /* changes when the machine starts */
	/* An image that is made ahead: its file, without a name, and the process that makes it. */
	int ahead;
	pid_t ahead_pid; /* 0: there is none */
	uint64_t ahead_size, ahead_inodes;
};

/* To be called before base_tree_enter(). Mounts nothing. Templates of images are kept below the
 * directory `parent`. */
MUST_CHECK int disk_images_open(struct disk_images *ret, int parent, struct error *err);
/* Bytes of a disk that the file of an image may have at most, and what it would have at most if the
 * disk had room for all limits (disk_image_claim.c). */
struct disk_claim {
	uint64_t most, wanted;
};
/* Notes the claim of the image in `dir` instead of an earlier one. To be called before the limit is
 * raised, with the claims locked, or after it was lowered. */
MUST_CHECK int disk_image_claim(const struct disk_images *images, int dir, int mount,
                                const struct disk_claim *claim, struct error *err);
/* False: another spawner holds the lock; with `waits`, for some tenths of a second already. */
bool disk_claims_lock(const struct disk_images *images, bool waits);
void disk_claims_unlock(const struct disk_images *images);
/* Removes the claims of images that are not attached any more. */
void disk_claims_sweep(const struct disk_images *images);
/* All claims on one disk, of all servers. */
struct disk_claims {
	uint64_t count;
	uint64_t claimed; /* bytes that the images may still take */
	uint64_t wanted;  /* bytes that they may take if each gets what it wants */
};
/* `device`: stat.st_dev of an image on that disk. `disk`: any directory of the disk. */
struct disk_claims disk_claims_read(const struct disk_images *images, int disk, dev_t device);
/* Bytes of an image with room for the limits; 0: they are too large for an image. */
uint64_t disk_image_size(const struct spec_limits *limits);
/* Begins to make the image of the first sandbox, whose directory will be in `sandboxes`, in a
 * process of its own. The next disk_image_create() waits for that process; disk_image_end_ahead()
 * removes an image that was not used. */
void disk_image_start_ahead(struct disk_images *images, int sandboxes,
                            const struct spec_limits *limits);
void disk_image_end_ahead(struct disk_images *images);
/* Whether the sandbox's directory `dir` has an image. */
bool disk_image_exists(int dir);
/* Makes the image, or opens that of an earlier time, and mounts it. Both return a mount that is
 * attached nowhere; the image is unmounted after the last close(2) and the last use by an overlay.
 * The image has a MiB beyond what is used, until disk_image_claim() and disk_image_set_limit().
 * After a failure disk_image_create() leaves `dir` without an image. */
MUST_CHECK int disk_image_create(struct disk_images *images, int dir,
                                 const struct spec_limits *limits, struct error *err);
MUST_CHECK int disk_image_wake(const struct disk_images *images, int dir, struct error *err);
/* To be called after disk_image_wake(), when the overlay is mounted: keeps inodes again for the
 * next wake. */
void disk_image_settle(int mount);
/* Attaches the mount at `path` of the calling process's mount namespace. */
MUST_CHECK int disk_image_attach(int mount, const char *path, struct error *err);
/* Changes the limit of a mounted image, at most to its size; files that exceed it stay. */
MUST_CHECK int disk_image_set_limit(const struct disk_images *images, int mount, uint64_t bytes,
                                    struct error *err);

/* --- a sandbox's share of the kernel's tables (kernel_shares.c) --- */

enum { KERNEL_SHARE = 8, KERNEL_FILES_LEAST = 128 };

/* The share of one sandbox in kernel tables that the whole host uses: an eighth of each, so that
 * neither one sandbox nor a few empty a table. */
struct kernel_shares {
	uint64_t inotify_instances, inotify_watches; /* at most 64 and 65536 */
	uint64_t file_max;                           /* fs.file-max: open files of the host */
};

/* Reads the limits from /proc/sys below `proc`. A file that is missing does not limit. */
void kernel_shares_read(int proc, struct kernel_shares *ret);
/* The most processes that a sandbox may have: with KERNEL_FILES_LEAST open files each they fill
 * half of the file table. */
uint64_t kernel_shares_pids(const struct kernel_shares *shares);
/* Lowers limits->files until pids times files are an eighth of the file table, but not below
 * KERNEL_FILES_LEAST. Fails if there are more than kernel_shares_pids() processes. */
MUST_CHECK int kernel_shares_fit(const struct kernel_shares *shares, struct spec_limits *limits,
                                 struct error *err);
/* Called in a user namespace of the spawner's own: keeps half of the user's inotify instances and
 * watches for programs outside of sandboxes. */
void kernel_shares_keep_half(int proc);

/* --- mount plan (mount_plan.c, mount_plan_apply.c) --- */

enum mount_step_kind {
	STEP_MOUNT,      /* a new file system; `source` is its type */
	STEP_BIND,       /* bind mount of a directory of the base tree */
	STEP_BIND_FILE,  /* bind mount of a file or node on an empty file that is created for it */
	STEP_SYMLINK,    /* a symbolic link to `source` */
	STEP_USER_DIR,   /* a directory owned by the sandbox's user, unless the name exists */
	STEP_PUBLIC_DIR, /* a directory like /tmp (mode 1777), unless the name exists */
	STEP_MASK,       /* if present: a file is covered by /dev/null, a directory by /empty */
	STEP_BIND_READONLY, /* if present: bound on itself, read-only */
	STEP_SET_READONLY,  /* the mount at `target` becomes read-only */
	STEP_WRITE,         /* if present: `source` is written to the file after all other steps */
	STEP_KIND_COUNT
};

enum { MOUNT_PLAN_MAX = 224 };

struct mount_step {
	enum mount_step_kind kind;
	const char *target; /* without the leading "/"; "" is the root, which is the first step */
	const char *source;
	const char *options; /* STEP_MOUNT: "key=value,flag" */
	uint32_t attrs;      /* MOUNT_ATTR_... */
	bool recursive;      /* STEP_BIND: with the mounts below it */
};

/* A sandbox's root as a list of steps. Steps point into `text` or to constants. */
struct mount_plan {
	size_t count;
	struct mount_step steps[MOUNT_PLAN_MAX];
	size_t text_used;
	char text[32 * 1024];
};

/* Decides all steps without a system call, so that tests see the whole plan. */
MUST_CHECK int mount_plan_make(enum userns_mode mode, const struct base_tree *tree,
                               const struct skeleton *skeleton, const struct kernel_shares *shares,
                               const struct cdi *gpus, const struct spec *spec,
                               struct mount_plan *ret, struct error *err);
/* Called in the sandbox's namespaces with its directory as the current one: assembles the root at
 * /new, makes it the root and unmounts the base tree. No target is resolved through a symbolic
 * link, because a woken sandbox's files are the work of untrusted programs. */
MUST_CHECK int mount_plan_apply(const struct mount_plan *plan, struct error *err);
