/* internal.h - the state of the spawner, and the functions that its files share.
 *
 *   spawner.c          the process: its start, its loop and its end
 *   host_resources.c   opens what sandboxes are started with: cgroups, skeleton, disk, ids
 *   requests.c         checks the server's requests and carries them out
 *   spawner_sandbox.c  one sandbox, from clone3(2) to its last process
 *   child_setup.c      the first process of a sandbox, from clone3(2) to the agent
 *   sandbox_dirs.c     the directories of sandboxes
 *   spare.c            the sandbox that is started ahead of its request
 *   limit_watch.c lock_watch.c   limits that the kernel does not enforce here
 *   image_watch.c      the free space below disk images
 *   reap.c             children that have started or exited: sandboxes and janitors
 *   spawner_report.c   the layers that sandboxes have on this machine
 *
 * struct spawner owns everything. The struct has fixed tables of sandboxes and janitors, so the
 * spawner allocates nothing per request but the queue of replies, which is bounded. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attr.h"
#include "engine/native/cgroup/cgroup.h"
#include "engine/native/ids/ids.h"
#include "engine/native/root/root.h"
#include "engine/native/spawner/spawner.h"
#include "engine/native/usage/usage.h"
#include "engine/remote/reply_queue.h"

enum { SANDBOXES_MAX = 1024, JANITORS_MAX = 40, REMOVALS_MAX = 4096 };

/* The prefix of a spare's directory instead of "sb_"; a directory that is being removed has
 * IDS_REMOVED_PREFIX. Neither is an id that a request can name. */
#define SPARE_PREFIX "sp_"
#define SPARE_NUMBER UINT64_MAX /* of a spare, which no request has asked for */

/* --- resources of the host (host_resources.c) --- */

/* The parts of the host that sandboxes are started with. Opened once, and not changed until
 * the spawner exits. */
struct host_resources {
	struct userns userns;
	struct base_tree tree;
	struct cgroups cgroups;
	struct skeleton skeleton;
	struct kernel_shares shares;
	struct disk disk;
	struct disk_images images;
	struct ids ids;
	unsigned taken_blocks; /* as in struct spawner_report */
	struct error taken_why;
	char unlisted[IDS_SOURCE_SIZE];
	const struct cdi *gpus; /* or NULL */
	size_t mount_count;
	/* The most that a request may ask for; as in struct spawner_options. */
	struct spec_limits ceilings;
	uint64_t gpus_max;
	uint64_t memory_sum;
	int lock_objects; /* the kernel's number of file locks as a file; -1: not readable */
	/* The first spare is known. Where there are sandboxes already, the first call probably
	 * wakes one of them. */
	bool wants_first;
};

/* Opens everything that needs the host's mount tree, then leaves that tree for the base tree. */
MUST_CHECK int host_resources_open(struct host_resources *host,
                                   const struct spawner_options *options, struct error *err);
void host_resources_close(struct host_resources *host);

/* --- one sandbox (spawner_sandbox.c) ---
 *
 *   spawner_sandbox_start -> spawner_sandbox_check_started -> spawner_sandbox_kill
 *   -> (its process is reaped) -> spawner_sandbox_finish */

struct spawner;

struct disk_watch {
	struct disk_usage used;        /* when measured last */
	struct disk_usage free_before; /* free space of the file system at that time */
	struct disk_usage free_next;   /* free space at the start of the measuring under way */
	/* The sandbox's limit; or more: what was in use when the sandbox woke, when it was found to
	 * be full, or when its limit was lowered. Above it the sandbox is killed. */
	struct disk_usage limit;
	enum disk_level level;
	uint64_t full_due_ms; /* when a full sandbox that runs is measured again at the latest */
	bool is_lowered;      /* the sandbox's limit is lower, and the next measuring applies it */
	bool is_changed;      /* the next measuring sets RLIMIT_FSIZE for the sandbox's limit */
	bool owes_reply;      /* that measuring is followed by REPLY_LIMITED */
	bool is_watched;      /* neither a quota nor an image limits this sandbox */
	uint64_t image_limit; /* in force; less than the sandbox's if the host has no room for it */
	uint64_t claimed;     /* as in struct disk_claim; 0: the image has no claim yet */
	bool is_host_full;    /* nearly: so the sandbox's image takes no more */
	bool is_measured;     /* since it started */
	unsigned failures;    /* of measurings, one after the other */
	uint64_t idle_cpu_us; /* processor time of the sandbox when it was known to be within its
	                       * limit; 0: not known since the latest measuring */
	uint64_t read_cpu_us; /* processor time at the check before this one; 0: none was made */
};

struct lock_watch {
	uint64_t used;         /* record locks when counted last */
	uint64_t before, next; /* readings of lock_watch.c: at that time, and the latest */
	uint64_t due_ms;       /* when to check next */
};

/* A janitor that counts files or locks while the cgroup is frozen. */
struct frozen_measuring {
	bool is_running;
	uint64_t began_ms;
	uint64_t frozen_until_ms; /* the cgroup stays frozen until then; 0: it is not frozen */
};

struct spawner_sandbox {
	uint64_t number; /* of the REQUEST_START; SPARE_NUMBER; 0: this slot is free */
	char id[SPEC_ID_LEN + 1];
	pid_t pid;      /* or -1: there is no process yet */
	int setup_pipe; /* end of file: the agent runs; a struct error: set-up failed. Then -1 */
	int dir;        /* the sandbox's directory, locked by flock(2) */
	int channel;    /* the server's end, until it is sent; then -1 */
	/* The sandbox's files are in an image (root/disk_image.c). image_fs is its mount; -1: a
	 * janitor unmounts it, or has done so. */
	bool has_image, is_unmounting;
	int image_fs;
	struct cgroup cgroup;
	struct ids_block ids;
	struct spec_limits limits;
	enum spec_syscalls syscalls;
	struct disk_watch disk;
	struct lock_watch locks;
	struct frozen_measuring measuring;
	uint64_t activity;       /* of process_tree_activity(), before memory was measured last */
	uint64_t memory_due_ms;  /* when memory is measured although there was no activity */
	uint64_t sockets_due_ms; /* when the memory of sockets is measured next, if at all */
	uint64_t erase_number;   /* of a REQUEST_ERASE that waits for the end; or 0 */
	bool failed;             /* it was not started; `why` is sent when it is finished */
	struct error why;
	bool is_fresh; /* its files were created by this start */
	bool is_killed;
	bool is_dead;        /* its first process is reaped; others may still be in the cgroup */
	enum engine_end end; /* the reason to report if it ends now */
};

/* Starts the sandbox of the request in the free slot `sandbox`. *image is a copy of the agent's
 * program made ahead, or -1; it is used up. After a failure the caller calls
 * spawner_sandbox_fail(): a process and a cgroup may exist already. */
MUST_CHECK int spawner_sandbox_start(struct host_resources *host, int *image,
                                     const struct engine_request *request,
                                     struct spawner_sandbox *sandbox, struct error *err);
/* Reads the set-up pipe. 1: the agent runs and is confined. 0: not yet. -1: it failed. */
int spawner_sandbox_check_started(const struct host_resources *host,
                                  struct spawner_sandbox *sandbox, struct error *err);
void spawner_sandbox_kill(struct spawner_sandbox *sandbox, enum engine_end end);
/* Records why the sandbox could not be started, and kills it. */
void spawner_sandbox_fail(struct spawner_sandbox *sandbox, const struct error *why);
/* Releases everything of a sandbox whose process was reaped. False: its cgroup is not empty yet, or
 * its image is not unmounted; call again. */
bool spawner_sandbox_finish(struct spawner *spawner, struct spawner_sandbox *sandbox);

/* --- its first process (child_setup.c) --- */

struct child_setup {
	enum userns_mode mode;
	const struct mount_plan *plan;
	const struct spec *spec;
	const struct spec_limits *limits; /* the spec's, or lower */
	uint64_t file_max;                /* size of a single file; at most that of the limits */
	bool limit_memory;                /* by rlimit, because no cgroup does */
	bool lower_priority;              /* because no cgroup limits processor time */
	const struct cgroup *cgroup;
	int image;    /* the agent's program */
	int image_fs; /* the mount of the sandbox's files; -1: they are in its directory */
	int channel;
	int maps_written; /* one byte comes when the parent has written the id maps */
	int setup_pipe;   /* close-on-exec; a struct error is written to it on failure */
};

/* Runs in the new process, which clone3() put into new namespaces with all capabilities in them.
 * Sets up the sandbox, gives up its rights step by step, and executes the agent. Each step succeeds
 * or the process exits: there is no weaker sandbox. */
NORETURN void child_setup_run(const struct child_setup *given);

/* --- directories of sandboxes (sandbox_dirs.c) --- */

/* Creates the directory of a new sandbox, claims its ids, and sets its quota or mounts its image.
 * sandbox->dir is the locked directory. */
MUST_CHECK int sandbox_dir_create(struct host_resources *host, struct spawner_sandbox *sandbox,
                                  struct error *err);
/* Opens and locks the directory of a sandbox that wakes, and mounts its image. */
MUST_CHECK int sandbox_dir_wake(struct host_resources *host, struct spawner_sandbox *sandbox,
                                struct error *err);
/* The spare becomes the sandbox `id`. */
MUST_CHECK int sandbox_dir_rename(struct host_resources *host, struct spawner_sandbox *sandbox,
                                  const char *id, struct error *err);
/* Unmounts the image of a sandbox that has ended, in a janitor. False: the image is still mounted,
 * or no janitor is free. A sandbox whose files will be removed does not wait for the janitor. */
bool sandbox_dir_unmount(struct spawner *spawner, struct spawner_sandbox *sandbox);
/* Unlocks the directory; its files stay. */
void sandbox_dir_close(struct spawner_sandbox *sandbox);
/* Renames the directory of a sandbox that is not running, so that its id is free at once, and
 * queues the removal of its files. Succeeds if there is none. */
MUST_CHECK int sandbox_dir_erase(struct spawner *spawner, const char *id, struct error *err);
/* Queues the removal of a directory that no sandbox uses. */
void sandbox_dirs_remove(struct spawner *spawner, const char *name);
/* Starts janitors for queued removals as far as there are free slots. */
void sandbox_dirs_start_removals(struct spawner *spawner);
/* Queues the removal of directories that a killed spawner left: spares, and those it was
 * removing. */
void sandbox_dirs_sweep(struct spawner *spawner);
/* Queues a REPLY_LISTED for each sandbox that has files, and the one that ends the list. */
void sandbox_dirs_list(struct spawner *spawner, uint64_t number);

/* --- the report (spawner_report.c) --- */

/* The layers that the spawner has found on this machine. */
struct spawner_report {
	enum userns_mode mode;
	enum cgroup_kind cgroups;
	unsigned cgroup_limits; /* CGROUP_HAS_... */
	enum disk_kind disk;
	char mode_why[240], cgroups_why[240], disk_why[240]; /* why not the better kind */
	char groups[160];                                    /* as in struct userns */
	bool usr_is_single_mount;
	uint32_t taken_blocks;  /* sandboxes whose ids were given to users of the host since */
	struct error taken_why; /* of one of them */
	char unlisted[IDS_SOURCE_SIZE]; /* see ids_unlisted_source(); as root only */
};

/* Converts the findings to layers. */
void spawner_report_layers(const struct spawner_report *found, struct engine_report *ret);

/* REPLY_STARTED, with the channel and the counter files of the sandbox's cgroup. */
void spawner_reply_started(struct replies *replies, const struct host_resources *host,
                           struct spawner_sandbox *sandbox);

/* --- the spawner (spawner.c, requests.c) --- */

struct spawner {
	struct host_resources host;
	struct replies replies;
	int socket;  /* the spawner's end */
	int signals; /* signalfd for SIGCHLD */
	int (*connect)(void *ctx, const char *instance, struct error *err); /* or NULL */
	void *ctx;                                                          /* of connect */
	struct spawner_sandbox sandboxes[SANDBOXES_MAX];
	size_t sandbox_top; /* no slot at or above this index is in use */
	struct janitor janitors[JANITORS_MAX];
	char removals[REMOVALS_MAX][SPEC_ID_LEN + 1]; /* ring of directories to remove */
	size_t removal_first, removal_count;
	int next_image;                      /* the agent's program for the next sandbox; or -1 */
	struct engine_request spare_request; /* the latest request for a new sandbox */
	uint64_t spare_until_ms;             /* a spare is kept until then; 0: none is wanted */
	uint64_t last_request_ms;
	uint64_t
	        held_until_ms; /* a request waits for the spare, until then at most; 0: none does */
	uint64_t first_request_ms;           /* for a new sandbox; 0: there was none */
	uint64_t disk_due_ms, memory_due_ms; /* next check of limit_watch.c */
	bool is_disk_short; /* the images awake have holes for more than the host has */
	size_t memory_next; /* index of the sandbox whose memory is checked next */
};

/* The sandbox of a REQUEST_START, or NULL. */
struct spawner_sandbox *spawner_find_sandbox(struct spawner *spawner, uint64_t number);
struct spawner_sandbox *spawner_free_sandbox_slot(struct spawner *spawner); /* or NULL */
/* NULL if all slots of this kind are in use. Each kind of work has slots of its own, so removals do
 * not delay measurings. */
struct janitor *spawner_free_janitor_slot(struct spawner *spawner, enum janitor_kind kind);

void spawner_handle_request(struct spawner *spawner, const struct engine_request *request);
/* Erases the files of a sandbox that is not running, and replies to REQUEST_ERASE `number`. */
void spawner_erase(struct spawner *spawner, const char *id, uint64_t number);

/* --- children that started or exited (reap.c) --- */

/* The set-up pipe of the sandbox is readable. */
void spawner_check_started(struct spawner *spawner, struct spawner_sandbox *sandbox);
/* Reaps all child processes that have exited. */
void spawner_reap(struct spawner *spawner);
/* Finishes sandboxes whose process was reaped. True: the cgroup of one is not empty yet. */
bool spawner_finish_dead(struct spawner *spawner);

/* --- the spare (spare.c) ---
 *
 * A spare is a sandbox that is started ahead of the request for it: the first together with the
 * spawner. After each new sandbox, another with the same limits and mounts is started without an
 * id; its directory is called sp_... and is no sandbox's yet. The next request that fits gets the
 * spare, once. A spare is killed if no request comes for a while. */

/* Starts a spare before any request, for the sandbox that a server asks for as soon as it is
 * ready, if host.wants_first. */
void spare_start_first(struct spawner *spawner, const struct spec *spec);
/* Whether the spare that fits to the request is being set up: then the request is handled when that
 * is done, which is earlier than another sandbox would start. */
bool spare_is_coming(struct spawner *spawner, const struct engine_request *request);
/* A new sandbox was requested: keeps or starts a spare like it. */
void spare_note_request(struct spawner *spawner, const struct engine_request *request);
/* Gives the spare to the request, under its id and number; NULL if there is none that fits. */
struct spawner_sandbox *spare_take(struct spawner *spawner, const struct engine_request *request);
/* Starts or kills the spare. To be called when nothing else is to do; it does not start one right
 * after a request, whose program would have to share the processors with it. */
void spare_update(struct spawner *spawner);
/* Milliseconds until spare_update() should be called; -1: no need. */
int spare_timeout_ms(const struct spawner *spawner);

/* --- record locks (lock_watch.c) ---
 *
 * The memory that the kernel holds for record locks counts in no cgroup. A janitor counts a
 * sandbox's locks when the sandbox could have taken too many since they were counted last. */

/* To be called before the spawner leaves the host's mount tree. -1: only root of the host may. */
int lock_watch_open(void);
void lock_watch_start(const struct host_resources *host, struct spawner_sandbox *sandbox);
bool lock_watch_could_exceed(const struct host_resources *host, struct spawner_sandbox *sandbox);
/* The sandbox has `used` record locks; kills it if these are too many. */
void lock_watch_result(struct spawner_sandbox *sandbox, uint64_t used);

/* --- limits that the kernel does not enforce (limit_watch.c) ---
 *
 * Disk, without quotas: the free space of the file system is read, which is one system call. Only
 * when it has shrunk so much since the last measuring that the sandbox could be over its limit, a
 * janitor measures its files. The processor time of the janitor is charged to the sandbox: the
 * sandbox stays frozen until its limit on processors would have allowed as much. Record locks are
 * counted and charged in the same way. Memory, without cgroups: a janitor adds up the processes'
 * memory, and counts their locks. A sandbox over a limit is killed. */

bool spawner_sandbox_is_running(const struct spawner_sandbox *sandbox);
void limit_watch_start(const struct host_resources *host, struct spawner_sandbox *sandbox);
/* Whether neither a quota nor an image enforces the disk limit. */
bool limit_watch_is_needed(const struct host_resources *host,
                           const struct spawner_sandbox *sandbox);
/* Changes the disk limit. Without quotas a sandbox would be killed at a limit below what is in use,
 * so what is in use is measured first, and stays allowed. The size of a single file follows the
 * limit, also for programs that are running. */
MUST_CHECK int limit_watch_set_disk(const struct host_resources *host,
                                    struct spawner_sandbox *sandbox, uint64_t bytes,
                                    struct error *err);
/* True if a changed disk limit is not in force yet: limit_watch_result() sends REPLY_LIMITED when
 * it is, so that the next program runs under the new limit. */
bool limit_watch_owes_reply(struct spawner *spawner, uint64_t number);
/* Milliseconds until the next check; -1: nothing to watch. */
int limit_watch_timeout_ms(const struct spawner *spawner);
void limit_watch_check(struct spawner *spawner);
/* A janitor has measured the sandbox of REQUEST_START `number`. */
void limit_watch_result(struct spawner *spawner, uint64_t number,
                        const struct janitor_result *result);

/* --- the file system below disk images (image_watch.c) ---
 *
 * Images have limits of their own, but data that programs write to them is lost if the file system
 * below has no room. So no image may grow by more than it has claimed there. */

/* Before the first program of a sandbox that was created or has woken: puts its limit in force, as
 * far as the disk has room. */
MUST_CHECK int image_watch_start(struct spawner *spawner, struct spawner_sandbox *sandbox,
                                 struct error *err);
/* Changes the limit. ERR_LIMIT: the image has no room for so much. */
MUST_CHECK int image_watch_set_limit(const struct host_resources *host,
                                     struct spawner_sandbox *sandbox, uint64_t bytes,
                                     struct error *err);
/* To be called every few hundredths of a second while spawner->is_disk_short, else less often. */
void image_watch_check(struct spawner *spawner);
