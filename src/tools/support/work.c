#include "tools/support/work.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/text/utf8.h"
#include "engine/spec.h"
#include "loop/loop.h"
#include "sandbox/channel/channel.h"
#include "sandbox/manager.h"
#include "sandbox/sandbox.h"
#include "tools/catalogue.h"
#include "tools/support/params.h"

enum {
	/* How often, and after how many milliseconds, work tries again to wake a sandbox that
	 * another server has awake. */
	TRIES_MAX = 20,
	RETRY_MS = 50,
	PATH_SHOWN = 100, /* bytes of a path in a message */
};

void tools_respond_error(struct mcp_call *call, const struct error *why)
{
	const struct tools_context *context = mcp_call_app(call);

	if (context->respond_error != NULL)
		context->respond_error(call, why);
	else
		mcp_respond_tool_error(call, why);
}

static void free_work(struct work *work)
{
	if (work->callbacks->done != NULL)
		work->callbacks->done(work);
	wake_progress_stop(&work->progress);
	if (work->sandbox != NULL)
		sandbox_release(work->sandbox);
	if (work->retry_timer != NULL)
		(void)loop_timer_free(work->retry_timer);
	free(work);
}

void work_answer(struct work *work, json_t *content, json_t *structured)
{
	struct mcp_call *call = work->call;

	free_work(work);
	mcp_respond_content(call, content, structured);
}

int work_sandbox_gone(struct error *err)
{
	return error_set(err, ERR_SYSTEM,
	                 "the sandbox was put to sleep, reset or deleted meanwhile: call again");
}

static void fail_call(struct work *work, const struct error *why)
{
	struct error kept = *why; /* *why may be a part of the work, which is freed */
	struct mcp_call *call = work->call;
	char shown[sizeof kept.msg], advice[SANDBOX_FILE_MAX_SIZE];

	/* Errors from the sandbox have paths in them, which untrusted code has chosen. */
	(void)utf8_escape(view_of(why->msg), shown, sizeof shown);
	/* The agent forks for nearly every request: while programs have all processes of the
	 * sandbox, nearly every tool fails, and its error must name what still works. */
	if (why->kind == ERR_LIMIT && why->errnum == EAGAIN && work->sandbox != NULL)
		(void)error_set(&kept, ERR_LIMIT, "%s: %s", shown,
		                sandbox_no_process(work->sandbox, advice));
	else
		(void)error_set(&kept, why->kind, "%s", shown);
	free_work(work);
	tools_respond_error(call, &kept);
}

static void on_sandbox_end(void *ctx, const struct error *why)
{
	struct work *work = ctx;
	const char *reason = sandbox_end_reason(work->sandbox);
	struct error err;

	(void)why;
	if (reason[0] == '\0')
		(void)work_sandbox_gone(&err);
	else
		(void)error_set(&err, sandbox_met_limit(work->sandbox) ? ERR_LIMIT : ERR_SYSTEM,
		                "the sandbox ended: %s", reason);
	fail_call(work, &err);
}

static bool has_lost_sandbox(const struct work *work, const struct error *why)
{
	const struct channel *channel;

	if (!work->is_started || why->kind != ERR_SYSTEM)
		return false;
	if (sandbox_ends(work->sandbox) != work->ends)
		return true;
	channel = sandbox_channel(work->sandbox);
	return channel == NULL || channel_has_ended(channel);
}

/* Each module has a different error for a sandbox that ended under it; clients get the same message
 * from all of them. The engine reports the reason (a disk limit, for example) a moment after the
 * channel has ended, so wait for it, unless the end is over: another call may have woken the
 * sandbox already, and its next end may be hours away. */
void work_fail(struct work *work, const struct error *why)
{
	if (work->is_ending)
		return;
	if (!has_lost_sandbox(work, why)) {
		fail_call(work, why);
		return;
	}
	if (sandbox_ends(work->sandbox) != work->ends) {
		on_sandbox_end(work, NULL);
		return;
	}
	work->is_ending = true;
	sandbox_notify_end(work->sandbox, on_sandbox_end, work);
}

void work_cancel(struct work *work)
{
	struct error err;

	(void)error_set(&err, ERR_INVALID, "cancelled");
	work_fail(work, &err);
}

void work_fail_write(struct work *work, const struct error *why)
{
	char advice[SANDBOX_FILE_MAX_SIZE];
	struct error err = *why;

	if (why->errnum == EFBIG)
		(void)sandbox_file_max(work->sandbox, advice);
	else if (why->errnum == ENOSPC || why->errnum == EDQUOT)
		(void)sandbox_no_room(work->sandbox, advice);
	else {
		work_fail(work, why);
		return;
	}
	(void)error_set(&err, why->kind, "%s: %s", why->msg, advice);
	work_fail(work, &err);
}

struct mcp_call *work_take_call(struct work *work)
{
	struct mcp_call *call = work->call;

	free_work(work);
	return call;
}

static void on_awake(void *ctx, const struct error *why);

static void wake_sandbox(void *ctx)
{
	struct work *work = ctx;

	wake_progress_start(&work->progress, work->call, work->sandbox);
	sandbox_wake(work->sandbox, on_awake, work);
}

/* Another server has the sandbox awake and cannot be reached. A client that restarts its server
 * starts the new one before the old one has put its sandboxes to sleep, so wait a moment. After
 * that a call without a named sandbox gets the next default sandbox. */
static void retry_wake(struct work *work, const struct error *why)
{
	const struct sandbox_options options = tools_sandbox_options(work->context,
	                                                             mcp_call_owner(work->call));
	struct sandbox *other;
	struct error err;

	if (++work->tries < TRIES_MAX) {
		if (work->retry_timer == NULL)
			work->retry_timer = loop_timer_new(mcp_call_loop(work->call), wake_sandbox,
			                                   work);
		loop_timer_start(work->retry_timer, RETRY_MS);
		return;
	}
	if (!work->is_default) {
		work_fail(work, why);
		return;
	}
	work->is_default = false;
	if (sandbox_get_default(work->context->manager, &options, true, &other, &err) < 0) {
		work_fail(work, &err);
		return;
	}
	sandbox_hold(other);
	sandbox_release(work->sandbox);
	work->sandbox = other;
	wake_sandbox(work);
}

static void on_awake(void *ctx, const struct error *why)
{
	struct work *work = ctx;
	struct error err;

	wake_progress_stop(&work->progress);
	if (why == NULL && work->is_cancelled) {
		work_cancel(work);
		return;
	}
	if (why != NULL && why->errnum == EBUSY && !work->is_cancelled) {
		retry_wake(work, why);
		return;
	}
	if (why != NULL) {
		work_fail(work, why);
		return;
	}
	/* The sandbox was ready, and has ended since. */
	if (sandbox_channel(work->sandbox) == NULL) {
		wake_sandbox(work);
		return;
	}
	work->is_started = true;
	work->ends = sandbox_ends(work->sandbox);
	if (work->callbacks->start(work, &err) < 0)
		work_fail(work, &err);
}

/* Before start() there is nothing to stop: on_awake() fails the call. */
static void on_cancel(struct mcp_call *call, void *ctx)
{
	struct work *work = ctx;

	(void)call;
	work->is_cancelled = true;
	if (work->is_started && !work->is_ending && work->callbacks->cancel != NULL)
		work->callbacks->cancel(work);
}

struct sandbox_options tools_sandbox_options(const struct tools_context *context, const char *owner)
{
	return (struct sandbox_options){ .owner = owner,
		                         .spec = context->spec,
		                         .idle_s = context->idle_s,
		                         .lifetime_s = context->lifetime_s,
		                         .network = context->network };
}

int tools_check_manager(const struct tools_context *context, struct error *err)
{
	if (context->manager != NULL)
		return 0;
	return error_set(err, ERR_UNSUPPORTED,
	                 "nothing can be run here: %s. 'belljar doctor' says what is missing",
	                 context->why_not != NULL ? context->why_not : "there is no engine");
}

int tools_find_sandbox(const struct tools_context *context, const char *owner, const char *name,
                       struct sandbox **ret, struct error *err)
{
	const struct sandbox_options options = tools_sandbox_options(context, owner);

	if (tools_check_manager(context, err) < 0)
		return -1;
	if (name == NULL)
		return sandbox_get_default(context->manager, &options, false, ret, err);
	if (name[0] == '\0')
		return error_set(
		        err, ERR_INVALID,
		        "argument 'sandbox' is empty: leave it out for the default sandbox; "
		        "list_sandboxes lists yours");
	if (sandbox_find(context->manager, owner, name, ret, err) == 0)
		return 0;
	if (err->kind != ERR_NOT_FOUND)
		return -1;
	return error_set(err, ERR_NOT_FOUND, "there is no sandbox '%s'; list_sandboxes lists yours",
	                 UTF8_ESCAPED(view_of(name), 80));
}

struct work *work_start_in(struct mcp_call *call, size_t size,
                           const struct work_callbacks *callbacks, struct sandbox *sandbox)
{
	struct work *work = mem_new(size);

	*work = (struct work){ .call = call,
		               .context = mcp_call_app(call),
		               .callbacks = callbacks,
		               .sandbox = sandbox };
	sandbox_hold(sandbox);
	mcp_call_on_cancel(call, on_cancel, work);
	wake_sandbox(work);
	return work;
}

int work_start(struct mcp_call *call, size_t size, const struct work_callbacks *callbacks,
               const char *sandbox, struct work **ret, struct error *err)
{
	struct sandbox *found;

	if (tools_find_sandbox(mcp_call_app(call), mcp_call_owner(call), sandbox, &found, err) < 0)
		return -1;
	*ret = work_start_in(call, size, callbacks, found);
	(*ret)->is_default = sandbox == NULL;
	return 0;
}

static bool add_sandbox_name(void *ctx, const struct sandbox_row *row)
{
	json_push(ctx, json_str(row->name[0] != '\0' ? row->name : row->spec.id));
	return true;
}

void work_complete_sandbox(void *app, const char *owner, const char *typed, json_t *values)
{
	const struct tools_context *context = app;
	struct error err;

	(void)typed;
	if (context->manager != NULL)
		(void)!manager_each(context->manager, owner, add_sandbox_name, values, &err);
}

int work_check_path(const char *path, struct error *err)
{
	if (path[0] == '\0')
		return error_set(err, ERR_INVALID,
		                 "the path is empty; \".\" stands for /workspace itself");
	if (strlen(path) > TOOL_PATH_MAX)
		return error_set(
		        err, ERR_LIMIT,
		        "the path has %zu bytes, and at most %d are allowed: use a shorter "
		        "one",
		        strlen(path), TOOL_PATH_MAX);
	/* Only a shell expands "~"; a tool would create a directory of this name. */
	if (path[0] == '~' && (path[1] == '\0' || path[1] == '/'))
		return error_set(err, ERR_INVALID,
		                 "'%.*s' begins with ~, which only shells expand: use " SPEC_HOME
		                 "%.*s, or ./~ for a file of this name",
		                 PATH_SHOWN, path, PATH_SHOWN, path + 1);
	return 0;
}
