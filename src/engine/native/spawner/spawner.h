/* spawner.h - the process that starts sandboxes, and the messages between it and the server.
 *
 * The server forks the spawner before it has an event loop, a socket or a thread, and then gives up
 * its own privileges. Only the spawner keeps them. The spawner starts, kills and watches sandboxes
 * and removes their files; slow work is done by child processes (janitors), so no request waits for
 * another. When the server closes its end of the socket, or dies, the spawner kills all sandboxes,
 * finishes the removals it has begun, and exits.
 *
 *   spawner_start -> one REPLY_READY -> requests and replies -> close the socket
 *
 * A message is one fixed struct on a SOCK_SEQPACKET pair. The server parses input from clients and
 * may have been taken over, so the spawner checks every field of a request and touches nothing but
 * the sandboxes of its own directory. Descriptors are sent in one direction only, with
 * REPLY_STARTED and REPLY_CONNECTED. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attr.h"
#include "base/error.h"
#include "engine/engine.h"
#include "engine/native/cgroup/cgroup.h"
#include "engine/native/ids/ids.h"
#include "engine/native/root/root.h"
#include "engine/native/usage/usage.h"
#include "engine/spec.h"

struct cdi;

/* All pointers and descriptors are the caller's; the forked process has copies of them. */
struct spawner_options {
	const char *state;    /* the state directory: absolute, exists */
	const char *claims;   /* the directory in which all servers of this user claim ids */
	const char *instance; /* name of this server among those that share the state directory */
	const char *const *mounts; /* host directories that sandboxes may be given; absolute */
	size_t mount_count;
	struct userns_wanted ids; /* `taken` also holds the server's id, if it is in the range */
	bool no_cgroups;          /* behave as on a machine without cgroups */
	bool no_quota;            /* behave as on a file system without quotas */
	const struct cdi *gpus;   /* graphics processors that sandboxes may be given; or NULL */
	/* The most that any request gets, whatever the server asks for. */
	struct spec_limits ceilings;
	uint64_t gpus_max;        /* bit n: device n of `gpus` */
	uint64_t memory_together; /* bytes that all sandboxes may use together, by their cgroup */
	/* Without a memory controller: bytes that the memory limits of all sandboxes may add up to;
	 * 0: no limit. */
	uint64_t memory_sum;
	int instance_lock; /* kept open: the lock that shows that this server is alive; or -1 */
	int instances;     /* kept open: the directory of the two callbacks below; or -1 */
	/* Whether the server `instance` runs; its cgroups are removed if not. */
	bool (*is_alive)(void *ctx, const char *instance);
	/* Connects to the socket of the server `instance`, without waiting, and returns the
	 * descriptor; fails if the text is not the name of a server. NULL: not possible. */
	int (*connect)(void *ctx, const char *instance, struct error *err);
	void *ctx;
};

/* Forks the spawner. *socket is the server's end, close-on-exec, and belongs to the caller. */
MUST_CHECK int spawner_start(const struct spawner_options *options, pid_t *pid, int *socket,
                             struct error *err);

/* --- requests --- */

enum { SPAWNER_INSTANCE_SIZE = 24 };

enum spawner_request_kind {
	REQUEST_START = 1, /* spec */
	REQUEST_KILL,      /* number of the REQUEST_START */
	REQUEST_ERASE,     /* spec.id */
	REQUEST_LIST,
	REQUEST_LIMIT,   /* number of the REQUEST_START; spec.limits: memory, cpu, pids and disk */
	REQUEST_CONNECT, /* instance; the server's own filter refuses socket(2) */
	REQUEST_KIND_COUNT
};

struct spawner_request {
	uint32_t kind;
	uint64_t number; /* chosen by the server; a REQUEST_START never uses a number twice */
	struct spec spec;
	char instance[SPAWNER_INSTANCE_SIZE]; /* name of another server */
};

/* --- replies --- */

enum spawner_reply_kind {
	REPLY_READY = 1, /* the first reply: `report`, or `err` and the spawner exits */
	REPLY_STARTED,   /* descriptors: the channel, then the counter files named by `counters` */
	REPLY_ENDED,     /* after REPLY_STARTED; or, with `err`, instead of it */
	REPLY_ERASED,
	REPLY_LISTED,    /* one per sandbox; the last has an empty id */
	REPLY_CONNECTED, /* one descriptor; or `err` */
	REPLY_LIMITED,   /* number of the REQUEST_START */
	REPLY_KIND_COUNT
};

/* The isolation and the limits that this machine allows, for doctor and server_info. */
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

enum { REPLY_FDS_MAX = 1 + CGROUP_COUNTER_FILES };

struct spawner_reply {
	uint32_t kind;
	uint64_t number; /* of the request */
	bool failed;     /* `err` has the reason */
	struct error err;
	enum engine_end end;     /* REPLY_ENDED */
	uint32_t pid;            /* REPLY_STARTED: the first process, as numbered on the host */
	struct engine_user user; /* REPLY_STARTED */
	uint32_t counters; /* REPLY_STARTED: bit n: the descriptor of counter file n follows */
	char id[SPEC_ID_LEN + 1];     /* REPLY_LISTED */
	struct spawner_report report; /* REPLY_READY */
};
