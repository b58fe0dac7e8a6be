/* manager.h - all sandboxes of one server, the registry they are recorded in, and the recovery of
 * sandboxes whose server was killed.
 *
 *   manager_new -> (the engine is ready) manager_sweep -> sandbox calls -> manager_stop -> free
 *
 * The manager owns the registry's connection and every struct sandbox. The engine is the caller's
 * and must outlive the manager. */
#pragma once
#include <stddef.h>

#include "base/attr.h"
#include "base/cleanup.h"
#include "sandbox/process/process.h"
#include "sandbox/registry/registry.h"

struct dial;
struct engine;
struct error;
struct loop;
struct manager;
struct net_secrets;
struct process;
struct sandbox;
struct sandbox_options;

/* The limits on what one owner may have at a time; 0: no limit. */
struct quota {
	uint64_t sandboxes, processes;
	uint64_t memory; /* bytes: the sum of the limits of all sandboxes that are awake */
	uint64_t disk;   /* bytes: the sum of the limits of all sandboxes */
};

typedef void manager_connected_fn(void *ctx, int fd, const struct error *why);

struct manager_config {
	const char *database; /* path */
	const char *instance; /* this server's name among those that share the database */
	int servers;          /* the directory of their lock files: see registry/instances.h */
	struct engine *engine;
	/* Where sandboxes see the shared directories of the host. A mount's number is an index into
	 * this list and into the engine's list of the same directories. */
	const char *const *targets;
	size_t target_count;
	/* The variables that the devices of a sandbox need: "NAME=value" strings and a NULL behind
	 * the last, all from malloc; the manager frees them. May be NULL. */
	char **(*device_env)(void *ctx, const struct spec *spec);
	/* A process of the sandbox has ended, so any of its files may have changed. May be NULL. */
	void (*process_ended)(void *ctx, const struct sandbox_row *row);
	/* Connects to the socket of another server: `done` gets the descriptor, or -1 and the
	 * reason, from the loop. NULL: sandboxes that another server has awake cannot be used. */
	int (*connect_server)(void *ctx, const char *instance, manager_connected_fn *done,
	                      void *done_ctx, struct error *err);
	void *ctx; /* of all callbacks */
	/* Notes are read at a terminal: they name flags of belljar, not arguments of tools. */
	bool for_person;
	/* Connects to hosts outside, for sandboxes that have a network, as far as the ceiling
	 * allows. NULL: no sandbox has one. */
	struct dial *dial;
	struct dial *mirror;      /* of packages; NULL: installers reach the indexes themselves */
	struct dial *interceptor; /* of TLS to hosts with a secret; NULL: it is not looked into */
	const char *trusted;      /* with an interceptor: the CAs that programs trust, in PEM */
	const struct net_ceiling *ceiling;
	const struct net_secrets *secrets; /* NULL: none */
	/* A temporary sandbox that is idle is deleted instead of put to sleep: for servers that
	 * outlive their clients. */
	bool deletes_idle;
	struct process_limits process;
	struct quota quota;
	/* The most that a sandbox may have. A sandbox that was created with more is started with
	 * this. */
	struct spec_limits limits_max;
	uint64_t gpus_max; /* bit n: device n */
};

/* The texts and lists in the configuration must outlive the manager. */
MUST_CHECK int manager_new(struct loop *loop, const struct manager_config *config,
                           struct manager **ret, struct error *err);
/* Sets config.quota.memory. */
void manager_set_memory_quota(struct manager *manager, uint64_t bytes);
/* Takes over the rows of servers that are dead, and removes directories that have no row. */
void manager_sweep(struct manager *manager);
/* Starts a sandbox with a waiting Python interpreter before a call needs it. The first
 * sandbox_create() with the same options gets it; until then no caller can find it. Does nothing if
 * the owner has a default sandbox: waking that one needs its own files. A failure is only
 * logged. */
void manager_prepare(struct manager *manager, const struct sandbox_options *options);
/* Puts every sandbox that is awake to sleep, deletes the temporary ones, then calls done. From now
 * on no sandbox is created or woken. May be called several times; each `done` is called. */
void manager_stop(struct manager *manager, void (*done)(void *ctx), void *ctx);
/* Fails every waiter; a `done` that is still pending is not called. Runs the loop's deferred calls,
 * so it must not be called from a deferred call or from an event. */
struct manager *manager_free(struct manager *manager);
DEFINE_CLEANUP(manager)

/* Finds a process in any of the owner's sandboxes that are in memory. */
MUST_CHECK int manager_find_process(struct manager *manager, const char *owner, const char *id,
                                    struct sandbox **ret_sandbox, struct process **ret,
                                    struct error *err);
/* Calls each() for the owner's sandboxes: see registry_each(). Those that the next recovery deletes
 * are DELETING. */
MUST_CHECK int manager_each(struct manager *manager, const char *owner,
                            bool (*each)(void *ctx, const struct sandbox_row *row), void *ctx,
                            struct error *err);
