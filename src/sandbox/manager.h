/* manager.h - all sandboxes of one server: the registry, the engine that carries them, and what
 * is left of those whose server was killed.
 *
 *   manager_new -> (the engine is ready) manager_sweep -> sandbox calls -> manager_stop -> free */
#pragma once
#include <stddef.h>

#include "base/attr.h"
#include "base/cleanup.h"
#include "sandbox/process/process.h"
#include "sandbox/registry/registry.h"

struct engine;
struct error;
struct loop;
struct manager;

/* What one owner may have at a time; 0: as much as there is. */
struct quota {
	uint64_t sandboxes, processes;
	uint64_t memory, disk; /* bytes: of those awake; of all, by their limits */
};

struct manager_config {
	const char *database; /* path */
	const char *instance; /* our name among the servers that share it */
	int servers;          /* the directory of their locks: see instances.h */
	struct engine *engine;
	/* Where sandboxes see the directories the engine was told to offer, in its order. */
	const char *const *targets;
	size_t target_count;
	/* The variables that the devices of a sandbox need: "NAME=value" strings and a NULL behind
	 * the last, all from malloc; the manager frees them. May be NULL. */
	char **(*device_env)(void *ctx, const struct spec *spec);
	/* A process of the sandbox has ended, so any of its files may have changed. May be NULL. */
	void (*process_ended)(void *ctx, const struct sandbox_row *row);
	void *ctx; /* of both callbacks */
	struct process_limits process;
	struct quota quota;
};

MUST_CHECK int manager_new(struct loop *loop, const struct manager_config *config,
                           struct manager **ret, struct error *err);
/* Finishes what dead servers began and removes what nobody owns. */
void manager_sweep(struct manager *manager);
/* Puts everything that is awake to sleep, or throws it away; then calls done. Nothing is made or
 * woken any more. Whoever asks again is told, too. */
void manager_stop(struct manager *manager, void (*done)(void *ctx), void *ctx);
/* Whoever still waits for a sandbox hears now that nothing comes of it; `done` is not called any
 * more. Lets the loop's deferred calls run: not to be called from one, nor from an event. */
struct manager *manager_free(struct manager *manager);
DEFINE_CLEANUP(manager)

struct process;
struct sandbox;
/* A process of any of the owner's sandboxes that are awake here, or were. */
MUST_CHECK int manager_find_process(struct manager *manager, const char *owner, const char *id,
                                    struct sandbox **ret_sandbox, struct process **ret,
                                    struct error *err);
struct loop *manager_loop(const struct manager *manager);
MUST_CHECK int manager_each(struct manager *manager, const char *owner,
                            bool (*each)(void *ctx, const struct sandbox_row *row), void *ctx,
                            struct error *err);
