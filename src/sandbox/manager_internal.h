/* manager_internal.h - what manager.c, sandbox.c and sweep.c share. */
#pragma once
#include "base/error.h"
#include "base/list.h"
#include "engine/engine.h"
#include "sandbox/manager.h"
#include "sandbox/sandbox.h"

struct manager {
	struct loop *loop;
	struct manager_config config;
	struct store *store;
	struct engine *engine;
	struct list sandboxes; /* those in memory */
	unsigned sweeping;     /* directories being erased that nobody owns */
	void (*ended)(void *ctx);
	void *ended_ctx;
};

/* manager.c: calls `ended` if it is to be called and the last one has gone. */
void manager_check_ended(struct manager *manager);

/* sandbox.c */
void sandbox_end_all(struct manager *manager);
bool sandbox_any_awake(const struct manager *manager);
void sandbox_free_all(struct manager *manager);
