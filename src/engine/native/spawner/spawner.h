/* spawner.h - the process that makes sandboxes.
 *
 * Forked from the server before it has a loop, a socket or a thread, it alone has privileges.
 * It makes sandboxes when told, several at a time, watches them, removes what is left of them,
 * and never lets the server wait: long work is done by processes of its own. When the server is
 * gone it ends everything and goes too. */
#pragma once
#include <stdbool.h>
#include <sys/types.h>

#include "base/attr.h"

struct cdi;
struct error;

struct spawner_config {
	const char *state;    /* the state directory, absolute; exists */
	const char *claims;   /* where ids are claimed: the same for all of this user's servers */
	const char *instance; /* the server's name among those that share the state directory */
	const char *const *mounts; /* directories to offer, absolute */
	size_t mount_count;
	bool alone;             /* one id only, even if more could be had */
	bool no_groups;         /* as if there were no cgroups */
	bool watched;           /* no disk quota, even if it could be had */
	const struct cdi *gpus; /* devices to offer; or NULL */
	int keep_fd;            /* held open: the lock that says this server is alive */
	int servers;            /* held open: what is_alive() looks into */
	bool (*is_alive)(void *ctx, const char *instance);
	void *ctx;
};

/* Returns the server's end of the conversation (SOCK_SEQPACKET, close-on-exec). */
MUST_CHECK int spawner_start(const struct spawner_config *config, pid_t *pid, int *socket,
                             struct error *err);
