/* manager_internal.h - what the manager, its sandboxes and the sweep share. */
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
	struct list swept;     /* directories being erased that nobody owns */
	struct list endings;   /* who wants to hear when all have ended */
	bool is_over;          /* nothing is made or woken any more */
};

/* manager.c: tells those who wait for the end if it is there. */
void manager_check_ended(struct manager *manager);
/* What is asked for after the end has begun. Returns -1. */
int manager_refuse(struct error *err);

/* sweep.c */
void manager_forget_swept(struct manager *manager);

/* sandbox_end.c */
void sandbox_end_all(struct manager *manager);
bool sandbox_any_awake(const struct manager *manager);
void sandbox_tell_all(struct manager *manager, const struct error *why);
void sandbox_free_all(struct manager *manager);
