/* engine.h - what carries sandboxes: the four things an engine does.
 *
 * It makes a sandbox (or wakes one whose files are there), hands over the agent's byte stream,
 * ends everything in it, and reports that it is gone. Everything else is said over the channel.
 * Calls return at once; what comes of them is told by events, never from within the call. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "engine/spec.h"

struct engine;
struct engine_box; /* one sandbox that is awake, or about to be */
struct error;

/* Why a sandbox is no longer awake. */
enum engine_end {
	ENGINE_ENDED,  /* it was told to */
	ENGINE_DIED,   /* its agent ended by itself, or was killed from outside */
	ENGINE_MEMORY, /* its agent was killed for want of memory */
	ENGINE_DISK,   /* it wrote more than it may */
	ENGINE_LOST,   /* the engine itself is gone */
};

/* What the kernel counted since the sandbox is awake. */
struct engine_counts {
	uint64_t memory_now, memory_peak, cpu_us, pids_now;
	uint64_t memory_kills; /* processes killed for want of memory */
	uint64_t pids_refused; /* processes not made because there were enough */
};

/* What the agent is told in WELCOME, as far as the engine decides it. */
struct engine_user {
	uint32_t uid, gid;
	bool alone; /* the agent has the same ids: there was only one to be had */
};

struct engine_events {
	void (*made)(void *ctx, int channel, const struct engine_user *user); /* takes channel */
	void (*failed)(void *ctx, const struct error *why); /* it was not made. Last call. */
	void (*gone)(void *ctx, enum engine_end end, const char *why); /* Last call, after made. */
};

struct engine_calls {
	const char *name;
	int (*make)(struct engine *engine, const struct spec *spec,
	            const struct engine_events *events, void *ctx, struct engine_box **ret,
	            struct error *err);
	/* Ends everything in it; `gone` follows. */
	void (*kill)(struct engine_box *box);
	void (*freeze)(struct engine_box *box, bool frozen);
	/* Cheap enough to be asked before and after every run. False: nobody counts. */
	bool (*count)(struct engine_box *box, struct engine_counts *ret);
	/* Nobody wants to hear of it any more: it is killed, and no further event comes. */
	void (*drop)(struct engine_box *box);
	/* The files of a sandbox that is not awake, or was told to end: then when it has.
	 * done(err NULL) when none can be found any more, after `gone`. */
	int (*erase)(struct engine *engine, const char *id,
	             void (*done)(void *ctx, const struct error *err), void *ctx,
	             struct error *err);
	/* The ids of all sandboxes that have files, one after the other; then NULL. */
	void (*list)(struct engine *engine, void (*each)(void *ctx, const char *id), void *ctx);
	void (*free)(struct engine *engine);
};

/* The first member of every engine's own struct. */
struct engine {
	const struct engine_calls *calls;
};

static inline bool engine_counts(struct engine *engine, struct engine_box *box,
                                 struct engine_counts *ret)
{
	return engine->calls->count(box, ret);
}
