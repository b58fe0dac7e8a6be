/* work.h - the work of a call in a sandbox: finds the sandbox, wakes it, holds it until the answer.
 *
 *   work_start -> start() (the sandbox is awake) -> ... -> work_answer or work_fail
 *                     \-> cancel(): stops the work, then answers; the client ignores the answer
 *
 * A tool has a struct of its own that begins with a struct work. After work_start() has returned 0,
 * the call is answered by exactly one work_answer(), work_fail() or work_take_call(), which also
 * frees the struct. Until then the sandbox stays in memory and is not put to sleep for being idle.
 * Another call may still end or delete it: then its channel is NULL, and operations in it fail. */
#pragma once
#include "base/attr.h"
#include "mcp/call.h"
#include "tools/support/params.h"
#include "tools/support/wake_progress.h"
#include "json/json.h"

struct error;
struct sandbox;
struct tools_context;
struct work;

struct work_callbacks {
	/* The sandbox is awake. -1: the call fails with *err. */
	int (*start)(struct work *work, struct error *err);
	/* The call was cancelled after start(). NULL: there is nothing to stop. */
	void (*cancel)(struct work *work);
	/* Cancels pending requests and frees what the struct owns, but not the struct; may be
	 * NULL. */
	void (*done)(struct work *work);
};

struct work {
	struct mcp_call *call;
	const struct tools_context *context;
	const struct work_callbacks *callbacks;
	struct sandbox *sandbox;        /* held */
	struct wake_progress progress;  /* while the sandbox is being started */
	struct loop_timer *retry_timer; /* another server has the sandbox awake; NULL: not needed */
	unsigned tries;                 /* to wake the sandbox */
	unsigned ends;                  /* sandbox_ends() when the work started */
	bool is_default;                /* the caller has named no sandbox */
	bool is_started, is_cancelled;
	bool is_ending; /* the sandbox has ended; its reason is awaited */
};

/* Allocates `size` bytes, zeroed except for the struct work in front, which it returns. `sandbox`:
 * id or name; NULL: the caller's default sandbox, created at the first use. start() is never called
 * from within. The arguments of the call stay valid until the answer. */
MUST_CHECK int work_start(struct mcp_call *call, size_t size,
                          const struct work_callbacks *callbacks, const char *sandbox,
                          struct work **ret, struct error *err);
/* Like work_start(), in a sandbox that the caller has found or created. */
struct work *work_start_in(struct mcp_call *call, size_t size,
                           const struct work_callbacks *callbacks, struct sandbox *sandbox);
void work_answer(struct work *work, json_t *content, json_t *structured); /* takes both over */
void work_fail(struct work *work, const struct error *why);
/* Frees the work and returns its call, which the caller answers at once: for resources and
 * prompts. */
struct mcp_call *work_take_call(struct work *work);

/* Fails a call that its client has cancelled: the callback `cancel` of most work. done() stops what
 * is under way. */
void work_cancel(struct work *work);

/* As work_fail(), for an operation that writes files of the sandbox: an error of a limit says which
 * one it is, and what to do. */
void work_fail_write(struct work *work, const struct error *why);

/* Sets the error of a call whose sandbox was ended by another call. Returns -1. */
int work_sandbox_gone(struct error *err);

/* Responds with the error, in the shape that the profile's clients expect. */
void tools_respond_error(struct mcp_call *call, const struct error *why);
/* Fails with the reason if no engine is available. */
MUST_CHECK int tools_check_manager(const struct tools_context *context, struct error *err);
/* Finds a sandbox of the owner by id or name without waking it; NULL: the default sandbox. */
MUST_CHECK int tools_find_sandbox(const struct tools_context *context, const char *owner,
                                  const char *name, struct sandbox **ret, struct error *err);
/* The options of a new sandbox of the owner, unless the caller overrides them. */
struct sandbox_options;
struct sandbox_options tools_sandbox_options(const struct tools_context *context,
                                             const char *owner);

/* The parameter `sandbox`, for a tool's table. */
#define WORK_PARAM_SANDBOX(args_)                                                                  \
	ARG(args_, sandbox, STRING, "", .max = 64, .complete = work_complete_sandbox,              \
	    .also = PARAM_ALSO("sandbox_id"),                                                      \
	    .more = "Id or name. Without it your default sandbox is used, which is created at "    \
	            "the first use.")
param_complete_fn work_complete_sandbox;

/* Checks a path argument: absolute, or relative to /workspace, not empty, not too long and without
 * a ~ for the home directory. The agent resolves the path and checks everything else. */
MUST_CHECK int work_check_path(const char *path, struct error *err);
