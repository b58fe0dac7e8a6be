/* spawner.h - the process that starts native sandboxes.
 *
 * The server forks the spawner before it has an event loop, a socket or a thread, and then gives up
 * its own privileges. Only the spawner keeps them. The spawner starts, kills and watches sandboxes
 * and removes their files; slow work is done by child processes (janitors), so no request waits for
 * another. When the server closes its end of the socket, or dies, the spawner kills all sandboxes,
 * finishes the removals it has begun, and exits.
 *
 *   spawner_start -> one REPLY_READY -> requests and replies -> close the socket
 *
 * The messages are those of engine/remote/messages.h. */
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
#include "engine/remote/messages.h"

struct cdi;

/* All pointers and descriptors are the caller's; the forked process has copies of them. */
struct spawner_options {
	const char *state;     /* the state directory: absolute, exists */
	const char *claims;    /* the directory in which all servers of this user claim ids */
	const char *skeletons; /* the directory of skeletons that they share */
	const char *instance;  /* name of this server among those that share the state directory */
	const char *const *mounts; /* host directories that sandboxes may be given; absolute */
	size_t mount_count;
	struct userns_wanted ids; /* `taken` also holds the server's id, if it is in the range */
	const struct spec *first; /* of the sandbox that is probably asked for first; or NULL */
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
MUST_CHECK int spawner_start(struct spawner_options *options, pid_t *pid, int *socket,
                             struct error *err);
