/* docker.h - the Docker engine: sandboxes are containers of a Docker or Podman that already runs.
 *
 * Whoever can use Docker's socket is root on its machine, so the server, which parses the input of
 * clients, never has it. The broker, a process that is forked before the server gives up its
 * rights, is the only one that speaks with the daemon. It gets the requests of
 * engine/remote/messages.h, checks every field again, and alone decides how a container is made: a
 * server that was taken over can start sandboxes within the operator's limits, and nothing else.
 *
 *   docker_find_daemon -> broker_start -> layers, REPLY_READY -> requests and replies
 *   -> close the socket
 *
 * When the server closes its end of the socket, or dies, the broker removes all containers of this
 * server and exits; their files stay, in volumes. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attr.h"
#include "engine/docker/daemon.h"
#include "engine/spec.h"

struct cdi;
struct error;

/* All pointers and descriptors are the caller's; the forked process has copies of them. */
struct broker_options {
	const struct daemon_address *daemon;
	const char *state;    /* id of the state directory: letters and digits */
	const char *instance; /* name of this server among those that share the state directory */
	const char *image;    /* of a sandbox whose creator names none; NULL: the usual one */
	const char *images;   /* patterns of images that may be pulled, or NULL: only `image` */
	bool any_image;       /* a person at a terminal may pull any image */
	const char *runtime;  /* OCI runtime; NULL: the daemon's default */
	bool writable_root;
	/* Host directories that sandboxes may be given: absolute, checked by shared_dir_check(). */
	const char *const *mounts;
	size_t mount_count;
	const char *empty;      /* an empty directory, the lower layer below each of them */
	const struct cdi *gpus; /* or NULL */
	struct spec_limits ceilings;
	uint64_t gpus_max;
	int instance_lock, instances; /* kept open; as in struct spawner_options */
	bool (*is_alive)(void *ctx, const char *instance);
	int (*connect)(void *ctx, const char *instance, struct error *err);
	void *ctx;
};

/* Forks the broker. *socket is the server's end, close-on-exec, and belongs to the caller. */
MUST_CHECK int broker_start(struct broker_options *options, pid_t *pid, int *socket,
                            struct error *err);
