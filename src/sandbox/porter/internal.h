/* internal.h - what the files of this folder share.
 *
 *   host.c           the server's end: allowed directories and handles
 *   host_agent.c     the server's end: requests to the porter, one agent per directory
 *   host_path.c      paths as text, for both ends
 *   porter.c         the porter's list of directories and its loop
 *   porter_agent.c   the porter's child that becomes an agent */
#pragma once
#include <stdint.h>

#include "base/error.h"
#include "base/list.h"
#include "sandbox/porter/host.h"
#include "sandbox/porter/host_path.h"
#include "sandbox/porter/porter.h"

/* --- the protocol between server and porter --- */

/* SEQPACKET messages: one reply for each request, in their order. Both ends are the same program,
 * so these are plain structs. The porter trusts no field that it reads. */

enum { PORTER_GROUPS_MAX = 64 };

enum porter_request_kind {
	PORTER_OPEN_DIRECTORY, /* start an agent in this directory, which must be in the list */
	PORTER_ADD_ROOT,       /* the client has declared this root */
	PORTER_REMOVE_ROOT,    /* the client has withdrawn this root */
};

/* Sent up to and including the path's terminator. */
struct porter_request {
	uint32_t kind;
	char path[HOST_PATH_SIZE];
};

/* A successful reply to PORTER_OPEN_DIRECTORY carries the channel's descriptor (SCM_RIGHTS). */
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
	bool is_root;    /* a root of the client, which may withdraw it */
	bool is_removed; /* withdrawn, but handles are still open */
	bool is_calling; /* callbacks are running: must not be freed */
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
	char *path;
};

struct host {
	struct loop *loop;
	int socket;
	struct loop_watch *watch;
	bool accepts_roots;
	struct list dirs; /* those of the options first */
	struct list requests;
};

/* The allowed directories; those of the options come first. NULL: there is no n-th one. */
size_t host_directory_count(const struct host *host);
const char *host_directory(const struct host *host, size_t n);

struct host_dir *host_dir_new(struct host *host, const char *path, bool is_root) RETURNS_NONNULL;
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

bool porter_has(const struct porter *porter, const char *path);

/* Starts an agent for the directory and fills in the reply. Returns the channel's descriptor, or
 * -1. `image` is the agent's program, opened on first use and kept; -1 at first. */
MUST_CHECK int porter_start_agent(const struct porter *porter, const char *path, int *image,
                                  struct porter_reply *reply, struct error *err);
