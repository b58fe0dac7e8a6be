/* manager_internal.h - what the manager, its sandboxes and the sweep share. */
#pragma once
#include "base/error.h"
#include "base/list.h"
#include "engine/engine.h"
#include "sandbox/manager.h"
#include "sandbox/sandbox.h"

struct history;

struct manager {
	struct loop *loop;
	struct manager_config config;
	struct store *store;
	struct engine *engine;
	struct list sandboxes;   /* those in memory */
	struct list forgotten;   /* deleted, and still held by somebody */
	struct loop_timer *tick; /* for those that are idle or whose time is over */
	int64_t looked_s;        /* when it was last asked whose time is over */
	struct history *history;
	struct list swept;   /* directories being erased that nobody owns */
	struct list endings; /* who wants to hear when all have ended */
	bool is_over;        /* nothing is made or woken any more */
};

/* manager.c: tells those who wait for the end if it is there. */
void manager_check_ended(struct manager *manager);
/* What is asked for after the end has begun. Returns -1. */
int manager_refuse(struct error *err);

/* history.c */
struct history *history_new(struct manager *manager);
struct history *history_free(struct history *history); /* writes what waits */

/* idle.c */
void idle_begin(struct manager *manager);
void idle_look(struct manager *manager); /* something was woken */
void idle_end(struct manager *manager);

/* quota.c: whether an owner may have this one too, or have it awake. */
MUST_CHECK int quota_admit_new(struct manager *manager, const char *owner, const struct spec *spec,
                               struct error *err);
MUST_CHECK int quota_admit_awake(struct manager *manager, const char *owner,
                                 const struct spec *spec, struct error *err);

/* sweep.c */
/* The rows of servers that died meanwhile are put right. */
void manager_recover(struct manager *manager);
void manager_forget_swept(struct manager *manager);

/* sandbox_end.c */
void sandbox_end_all(struct manager *manager);
bool sandbox_any_awake(const struct manager *manager);
void sandbox_tell_all(struct manager *manager, const struct error *why);
void sandbox_free_all(struct manager *manager);
