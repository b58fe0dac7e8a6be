/* usage.h - how much disk, memory and record locks sandboxes use, and the limits on their files.
 *
 * struct disk is the directory of all sandboxes' files, opened once by the spawner. A janitor is a
 * child process of the spawner that measures or removes the files of one sandbox:
 *
 *   disk_open -> disk_set_quota per sandbox -> disk_clear_quota -> disk_close
 *   janitor_start -> (SIGCHLD, wait4) -> janitor_finish */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "base/attr.h"
#include "base/error.h"
#include "engine/native/ids/ids.h"
#include "engine/spec.h"

/* --- disk (disk.c) --- */

/* DISK_QUOTA: the file system enforces the limits, by project quotas (ext4 or xfs mounted with
 * prjquota); only root of the host can set them.
 * DISK_IMAGE: the files of a new sandbox are in a file system of its own (root/disk_image.c). The
 * spawner watches only the free space below all images.
 * DISK_WATCHED: the spawner polls the free space of the file system and measures a sandbox's files
 * when it could be over its limit (spawner/limit_watch.c). A sandbox can exceed its limit by the
 * amount it writes in one interval. */
enum disk_kind { DISK_WATCHED, DISK_QUOTA, DISK_IMAGE };

struct disk_usage {
	uint64_t bytes, inodes;
};

struct disk {
	enum disk_kind kind;
	int dir;       /* sandboxes/, with one directory per sandbox */
	char why[240]; /* the reason for not being DISK_QUOTA; DISK_WATCHED: nor DISK_IMAGE */
};

/* Opens, or creates, sandboxes/ below the directory `state`. `quota`: use quotas if the file system
 * has them; the caller is root of the host. */
MUST_CHECK int disk_open(struct disk *ret, int state, bool quota, struct error *err);
void disk_close(struct disk *disk);

/* DISK_QUOTA only. The empty directory `dir` and all files that will be made below it count as
 * `project`, which must not be 0. */
MUST_CHECK int disk_set_quota(const struct disk *disk, int dir, uint32_t project,
                              const struct disk_usage *limit, struct error *err);
/* Whether disk_set_quota() was called for `dir`; a sandbox may be older than the quotas. */
bool disk_has_quota(const struct disk *disk, int dir, uint32_t project);
/* Removes the limits of `project` after its last file. Does nothing for 0, the project of all other
 * files on the file system: a sandbox whose creation failed early has no project. */
void disk_clear_quota(const struct disk *disk, uint32_t project);

/* --- janitor (janitor.c) --- */

/* Each piece of work has a process of its own: a sandbox may have millions of files and
 * descriptors, and the spawner must go on answering meanwhile. */
enum janitor_kind {
	JANITOR_REMOVE,
	JANITOR_DISK,
	JANITOR_LOCKS,   /* where a cgroup counts memory */
	JANITOR_MEMORY,  /* processes, sockets and locks, where no cgroup counts memory */
	JANITOR_SOCKETS, /* TCP and UDP only, where a cgroup counts the rest */
	JANITOR_UNMOUNT, /* the image of a sandbox that has ended */
	JANITOR_KIND_COUNT
};

/* How much of its disk limit a sandbox uses that no quota limits. */
enum disk_level {
	DISK_HAS_ROOM,
	DISK_FULL,   /* programs that run may not write; those that start may write small files */
	DISK_CLOSED, /* these were too many: no program may write */
};

struct janitor_job {
	enum janitor_kind kind;
	int parent;              /* the directory that `name` is in */
	const char *name;        /* the sandbox's directory */
	uint64_t number;         /* of the request that created the sandbox; JANITOR_REMOVE: 0 */
	struct ids_block ids;    /* JANITOR_REMOVE: released after the removal */
	struct disk_usage limit; /* the measuring stops above this */
	/* JANITOR_DISK: a sandbox that uses more than full_at is full, and one that was full and
	 * uses more than closed_at is closed. Its processes get RLIMIT_FSIZE for that, or file_max
	 * if it is neither; with sets_files also if that was so before. */
	uint64_t full_at, closed_at, file_max;
	enum disk_level level;
	bool sets_files;
	/* JANITOR_UNMOUNT: the mount; `parent` is the sandbox's directory. The caller closes its
	 * own image_fs after janitor_start(). */
	int image_fs;
	bool is_kept; /* the sandbox is not erased */
	int proc;     /* the host's /proc; JANITOR_REMOVE, JANITOR_UNMOUNT: not used */
	pid_t pid;    /* the sandbox's first process; likewise */
};

struct janitor {
	pid_t pid; /* 0: this slot is free */
	enum janitor_kind kind;
	uint64_t number;
	struct ids_block ids;
	char name[SPEC_ID_LEN + 1];
	int result; /* pipe on which the process writes one struct janitor_result */
};

struct janitor_result {
	bool failed;
	struct error err;
	enum janitor_kind kind;
	struct disk_usage usage; /* of JANITOR_MEMORY and JANITOR_SOCKETS only bytes */
	enum disk_level level;   /* of JANITOR_DISK only */
	uint64_t locks;          /* of JANITOR_MEMORY and JANITOR_LOCKS only */
	uint64_t cpu_us;         /* processor time that the janitor used */
};

MUST_CHECK int janitor_start(struct janitor *janitor, const struct janitor_job *job,
                             struct error *err);
/* Reads the result after the process was reaped, and frees the slot. `used` is from wait4(2). */
struct janitor_result janitor_finish(struct janitor *janitor, const struct rusage *used);

/* --- processes (process_tree.c) --- */

/* A number that changes when a process or one of its descendants uses memory for the first time
 * (a page fault), forks, or has used processor time, of which the kernel shows every tick of 10 ms.
 * False: the processes are too many to be looked at by the spawner itself, or one has just
 * exited. */
bool process_tree_activity(int proc, pid_t pid, uint64_t *ret);

/* --- sockets (sockets.c) --- */

/* Whether the TCP and UDP sockets in the network namespace of a process could hold more than
 * `limit` bytes, by their number and the largest buffer that the machine allows. Fast enough for
 * the spawner itself. */
bool sockets_could_exceed(int proc, pid_t pid, uint64_t limit);
