/* internal.h - what the files of this folder share.
 *
 *   host.c             the server's end: allowed directories and handles
 *   host_agent.c       the server's end: requests to the porter, one agent per directory
 *   host_path.c        paths as text, for both ends
 *   porter.c           starts the porter with the directories of the options
 *   porter_slots.c     the porter's directories: of the options, and the client's roots
 *   porter_serve.c     the porter's process and its requests
 *   porter_confine.c   the porter's capabilities, Landlock and filter
 *   porter_agent.c     the porter's child that becomes an agent */
#pragma once
#include <stdint.h>

#include "base/error.h"
#include "base/list.h"
#include "base/rights/landlock.h"
#include "sandbox/porter/host.h"
#include "sandbox/porter/host_path.h"
#include "sandbox/porter/porter.h"

/* --- the protocol between server and porter --- */

/* SEQPACKET messages: after that of helper_report() the porter sends one reply for each request, in
 * their order. Both ends are the same program, so these are
 * plain structs of one size. The porter exits when a packet is malformed. */

enum { PORTER_GROUPS_MAX = 64 };

enum porter_request_kind {
	PORTER_OPEN,        /* start an agent in the directory of this index */
	PORTER_ADD_ROOT,    /* the client has declared the root `path`: give it this index */
	PORTER_REMOVE_ROOT, /* the client has withdrawn the root of this index */
	PORTER_REQUEST_KINDS,
};

struct porter_request {
	uint32_t kind;
	/* Of a directory: those of the options have the first indexes, in their order. */
	uint32_t index;
	char path[HOST_PATH_SIZE]; /* normal, then zeros; all zeros but for PORTER_ADD_ROOT */
};

/* A successful reply to PORTER_OPEN carries the channel's descriptor (SCM_RIGHTS). */
struct porter_reply {
	uint32_t failed;
	uint32_t uid, gid; /* the user whose rights the agent's workers have */
	uint32_t group_count;
	uint32_t groups[PORTER_GROUPS_MAX];
	struct error err;
};

/* --- the server's end --- */

enum host_dir_state { HOST_DIR_CLOSED, HOST_DIR_REQUESTED, HOST_DIR_HANDSHAKE, HOST_DIR_OPEN };

/* An allowed directory and its agent. */
struct host_dir {
	struct list node; /* in host->dirs */
	struct host *host;
	char path[HOST_PATH_SIZE];
	uint32_t index;   /* at the porter */
	bool is_root;     /* a root of the client, which may withdraw it */
	bool is_accepted; /* a root that the user has accepted: no list of roots withdraws it */
	bool is_removed;  /* withdrawn, but handles are still open */
	bool is_calling;  /* callbacks are running: must not be freed */
	enum host_dir_state state;
	struct channel *channel;
	struct loop_timer *idle; /* closes the channel after the last handle */
	struct list handles;
};

struct host_handle {
	struct list node; /* in dir->handles */
	struct host_dir *dir;
	host_opened_fn *fn; /* NULL: it has been called */
	void *ctx;
	bool is_due;                 /* fn is to be called in this round */
	struct loop_timer *deferred; /* calls fn if the channel was open already */
	char absolute[HOST_PATH_SIZE];
	const char *path; /* the part of `absolute` below the directory */
	char label[200];
};

/* A request that has no reply yet. While the socket's buffer is full, the request is not sent
 * either. */
struct pending_request {
	struct list node;
	enum porter_request_kind kind;
	struct host_dir *dir; /* NULL: the reply is ignored */
	bool is_sent;
	uint32_t index;
	char *path; /* "" but for PORTER_ADD_ROOT */
};

struct host {
	struct loop *loop;
	int socket;
	struct loop_watch *watch;
	enum host_roots roots;
	size_t fixed;              /* the directories of the options have the indexes below this */
	struct error refused_root; /* why the last root was refused; an empty text: none was */
	struct list dirs;          /* those of the options first */
	struct list requests;
};

struct host_dir *host_dir_new(struct host *host, const char *path, uint32_t index,
                              bool is_root) RETURNS_NONNULL;
/* Logs why a root of the client is left out, and keeps it for later errors. */
void host_note_refused_root(struct host *host, const struct error *why);
void host_dir_free(struct host_dir *dir);
/* Withdraws a root; the directory is freed when its last handle is closed. */
void host_dir_remove(struct host_dir *dir);
/* Called after a handle was closed: frees a removed directory, or starts the idle timer. */
void host_dir_release(struct host_dir *dir);
MUST_CHECK int host_request(struct host *host, enum porter_request_kind kind, struct host_dir *dir,
                            struct error *err);
void pending_request_free(struct pending_request *request);
void host_on_socket(void *host); /* the socket is readable, or writable again */

/* --- the porter --- */

struct porter_slot {
	char *path; /* as it was named; NULL: the slot is free */
	char *real; /* the path of the directory that was opened, without links */
	int fd;     /* O_PATH; -1: a root of the client, which is opened by its path each time */
	uint32_t uid, gid; /* the user whose rights the agent gets */
};

struct porter_slots {
	struct porter_slot at[PORTER_DIRECTORIES_MAX];
	size_t fixed; /* how many are of the options: the first ones */
	bool accepts_roots;
	const char *state; /* the state directory; NULL: none */
	uint64_t exports;  /* trusted kinds that agents may write (trusted_names.h) */
};

/* Adds a directory of the options, as it was named and as its real path. */
MUST_CHECK int porter_slots_allow(struct porter_slots *slots, const char *path, struct error *err);
MUST_CHECK int porter_slots_add_root(struct porter_slots *slots, size_t index, const char *path,
                                     struct error *err);
void porter_slots_remove(struct porter_slots *slots, size_t index);
void porter_slots_done(struct porter_slots *slots);
/* The directory's descriptor, which the caller closes. Fails if the directory is not the one that
 * was allowed any more. */
MUST_CHECK int porter_slots_open(const struct porter_slots *slots, size_t index, struct error *err);

/* The process: returns only by exiting. */
NORETURN void porter_serve(void *slots, int socket);

/* The rights on files that a copy needs: not those to run a file that a sandbox wrote, nor to
 * create devices, sockets and FIFOs, which another process of the host might open. */
enum {
	PORTER_RIGHTS = LANDLOCK_ALL &
	                ~(LANDLOCK_EXECUTE | LANDLOCK_MAKE_CHAR | LANDLOCK_MAKE_BLOCK |
	                  LANDLOCK_MAKE_SOCK | LANDLOCK_MAKE_FIFO | LANDLOCK_IOCTL_DEV),
};
/* The agent's program. */
struct porter_image {
	int fd;
	bool is_sealed; /* a memfd, which Landlock does not restrict */
};

/* Allows what an agent reads and writes outside of its directory: its own program, the state of its
 * processes, and the null device. */
MUST_CHECK int porter_allow_common(const struct landlock *landlock,
                                   const struct porter_image *image, struct error *err);

/* Confines the calling process for good: no new privileges, Landlock, capabilities, filter. */
MUST_CHECK int porter_confine(const struct porter_slots *slots, const struct porter_image *image,
                              struct error *err);

/* Starts an agent in the directory of the slot and fills in the reply. Returns the
 * channel's descriptor, or -1. */
MUST_CHECK int porter_start_agent(const struct porter_slots *slots, size_t index,
                                  const struct porter_image *image, struct porter_reply *reply,
                                  struct error *err);
/* Called before the first agent: handles SIGCHLD, so that agents that exit are reaped. */
void porter_count_agents(void);
