/* work.h - a call that does something in a sandbox: finding it, waking it, letting go of it.
 *
 * A tool's own struct begins with a struct work. From work_start() on the call is answered by
 * exactly one work_answer() or work_fail(), which also frees; until then the sandbox stays in
 * memory and is not put to sleep. It may still end or be deleted by somebody else: then its
 * channel is NULL, and what runs in it fails by itself.
 *
 *   work_start -> start (the sandbox is awake) -> ... -> work_answer or work_fail
 *                     \-> cancel: stop what runs, then answer as usual, unheard */
#pragma once
#include <stddef.h>

#include "base/attr.h"
#include "mcp/call.h"
#include "mcp/param/param.h"
#include "json/json.h"

struct error;
struct sandbox;
struct tools_context;
struct work;

struct work_callbacks {
	/* -1: it fails with *err. */
	int (*start)(struct work *work, struct error *err);
	/* May be NULL: nothing has to be stopped. */
	void (*cancel)(struct work *work);
	/* Drops what still runs and frees what the struct holds, not the struct; may be NULL. */
	void (*done)(struct work *work);
};

struct work {
	struct mcp_call *call;
	const struct tools_context *context;
	const struct work_callbacks *calls;
	struct sandbox *sandbox;  /* from start() on */
	struct loop_timer *again; /* to ask for one that another server has */
	unsigned tries;
	bool is_default, is_started, is_cancelled;
};

/* Allocates `size` bytes, zeroed but for the struct work in front, which it returns. `sandbox`: id
 * or name; NULL: the caller's default one, made on first use. Arguments of the call stay valid
 * until the answer. */
MUST_CHECK int work_start(struct mcp_call *call, size_t size, const struct work_callbacks *calls,
                          const char *sandbox, struct work **ret, struct error *err);
void work_answer(struct work *work, json_t *content, json_t *structured); /* takes both over */
void work_fail(struct work *work, const struct error *why);
/* Frees all but the call, which the caller answers at once: for resources and prompts. */
struct mcp_call *work_take_call(struct work *work);

/* What a call hears whose sandbox is there no more; -1. */
int work_sandbox_gone(struct error *err);

/* Whether anything can be run here at all. */
MUST_CHECK int tools_check_manager(const struct tools_context *context, struct error *err);
/* By id or name, without waking it; NULL: the default one. */
MUST_CHECK int tools_find_sandbox(const struct tools_context *context, const char *name,
                                  struct sandbox **ret, struct error *err);
/* What a sandbox is made with, unless its maker says otherwise. */
struct sandbox_options;
struct sandbox_options tools_sandbox_options(const struct tools_context *context);

/* The parameter every such tool has, for its table. */
#define WORK_PARAM_SANDBOX(type_, member_)                                                         \
	{                                                                                          \
		.name = "sandbox", .type = PARAM_STRING, .max = 64,                                \
		.complete = work_complete_sandbox, .offset = offsetof(type_, member_),             \
		.help = "Id or name of the sandbox. Leave it out for your default one, which is "  \
		        "made "                                                                    \
		        "when it is first needed."                                                 \
	}
param_complete_fn work_complete_sandbox;

/* A path as callers write it: absolute, or relative to /workspace. Refuses what is empty, too long
 * or holds a zero; everything else is for the sandbox to resolve. */
MUST_CHECK int work_check_path(const char *path, struct error *err);
