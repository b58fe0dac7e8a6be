/* share.h - a sandbox that one server has awake, used by other processes of the same user: commands
 * in a terminal, and further servers.
 *
 * The server that has the sandbox awake is the holder, the other process the guest. Each server
 * listens on a socket in the state directory (registry/instances.h). A guest connects, sends one
 * struct share_request (and behind SHARE_UPDATE one struct share_changes), and gets one struct
 * share_answer. After a SHARE_ATTACH that succeeded, the connection carries the protocol of the
 * channel (src/wire), with the holder in the place of the agent: the guest has a struct channel of
 * its own, and all that runs over a channel works in a guest as in the holder.
 *
 * The directory and the socket's mode keep other users out; besides, the holder checks the user id
 * of the peer (SO_PEERCRED). A process of that user has access to the sandboxes of all owners
 * anyway, in the state directory, and looks a sandbox up by its owner before it asks for it. Both
 * ends are of one version: the structs are exchanged as they are in memory. */
#pragma once
#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "engine/spec.h"
#include "sandbox/registry/registry.h"

struct loop;
struct manager;
struct share;
struct share_call;

enum share_kind {
	SHARE_ATTACH = 1, /* wakes the sandbox, and keeps it awake while the connection is open */
	SHARE_DELETE,
	SHARE_RESET,
	SHARE_UPDATE,
	SHARE_KIND_COUNT
};

/* Every version of belljar has a request of this size that begins with `version`, so that a holder
 * can refuse a guest of another version by name. */
struct share_request {
	char version[64];
	uint32_t kind;
	char id[SPEC_ID_LEN + 1]; /* of the sandbox */
	char reserved[128 - 64 - sizeof(uint32_t) - (SPEC_ID_LEN + 1)];
};
_Static_assert(sizeof(struct share_request) == 128, "the same size in all versions");

/* The changes of SHARE_UPDATE: struct sandbox_changes without pointers. */
struct share_changes {
	uint32_t has_name;
	char name[SANDBOX_NAME_MAX + 1];
	char env[SANDBOX_ENV_MAX], labels[SANDBOX_LABELS_MAX];
	int64_t idle_s, lifetime_s;
	struct spec_limits limits;
	int32_t network;
	char network_allow[SANDBOX_HOSTS_MAX];
};

struct share_answer {
	uint32_t failed; /* 1: `message` says why */
	char message[sizeof(((struct error *)0)->msg)];
};

/* --- the holder --- */

struct share_config {
	int listener; /* of instance_listen(); the caller's */
	uid_t user;   /* whose processes may connect */
};

struct share *share_new(struct loop *loop, struct manager *manager,
                        const struct share_config *config);
/* Closes all connections. To be called before the manager is freed. */
struct share *share_free(struct share *share);
DEFINE_CLEANUP(share)

/* --- the guest --- */

/* After a SHARE_ATTACH that succeeded, `fd` is the connection, which the callee then owns.
 * Otherwise it is -1. `why` is NULL on success. */
typedef void share_answer_fn(void *ctx, int fd, const struct error *why);

/* Sends the request on a new connection, which it takes over, and waits for the answer. `changes`
 * is for SHARE_UPDATE, else NULL. */
struct share_call *share_call_new(struct loop *loop, int fd, enum share_kind kind, const char *id,
                                  const struct share_changes *changes, share_answer_fn *done,
                                  void *ctx);
/* Closes the connection without calling `done`. */
struct share_call *share_call_free(struct share_call *call);
