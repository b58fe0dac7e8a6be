#include "tools/support/work.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/text/utf8.h"
#include "loop/loop.h"
#include "sandbox/manager.h"
#include "sandbox/sandbox.h"
#include "tools/catalogue.h"

enum {
	PATH_MOST = 4095,
	TRIES = 20, /* to get a sandbox that another server has */
	AGAIN_MS = 50,
};

static void let_go(struct work *work)
{
	if (work->calls->done != NULL)
		work->calls->done(work);
	if (work->sandbox != NULL)
		sandbox_release(work->sandbox);
	if (work->again != NULL)
		(void)loop_timer_free(work->again);
	free(work);
}

void work_answer(struct work *work, json_t *content, json_t *structured)
{
	struct mcp_call *call = work->call;

	let_go(work);
	mcp_respond_content(call, content, structured);
}

int work_sandbox_gone(struct error *err)
{
	return error_set(err, ERR_SYSTEM,
	                 "the sandbox was put to sleep, reset or deleted meanwhile: call again");
}

/* Each part that loses its sandbox has its own words for that; a sandbox that ended by itself has
 * a reason. */
static bool is_gone(const struct work *work, const struct error *why)
{
	return work->is_started && why->kind == ERR_SYSTEM &&
	       sandbox_channel(work->sandbox) == NULL &&
	       sandbox_end_reason(work->sandbox)[0] == '\0';
}

void work_fail(struct work *work, const struct error *why)
{
	struct error kept = *why; /* it may be in what is let go */
	struct mcp_call *call = work->call;

	if (is_gone(work, why))
		(void)work_sandbox_gone(&kept);
	else /* the sandbox's words have paths in them */
		(void)utf8_escape(view_of(why->msg), kept.msg, sizeof kept.msg);
	let_go(work);
	mcp_respond_tool_error(call, &kept);
}

struct mcp_call *work_take_call(struct work *work)
{
	struct mcp_call *call = work->call;

	let_go(work);
	return call;
}

static void on_awake(void *ctx, const struct error *why);

/* Our own predecessor may be about to let go of it. */
static void wake_again(void *ctx)
{
	struct work *work = ctx;

	sandbox_wake(work->sandbox, on_awake, work);
}

static void wait_for_it(struct work *work, const struct error *why)
{
	const struct sandbox_options wish = tools_sandbox_options(work->context);
	struct sandbox *other;
	struct error err;

	if (++work->tries < TRIES) {
		if (work->again == NULL)
			work->again = loop_timer_new(mcp_call_loop(work->call), wake_again, work);
		loop_timer_start(work->again, AGAIN_MS);
		return;
	}
	if (!work->is_default) {
		work_fail(work, why);
		return;
	}
	work->is_default = false;
	if (sandbox_get_default(work->context->manager, &wish, true, &other, &err) < 0) {
		work_fail(work, &err);
		return;
	}
	sandbox_hold(other);
	sandbox_release(work->sandbox);
	work->sandbox = other;
	wake_again(work);
}

static void on_awake(void *ctx, const struct error *why)
{
	struct work *work = ctx;
	struct error err;

	if (why == NULL && work->is_cancelled) {
		(void)error_set(&err, ERR_INVALID, "cancelled");
		why = &err;
	}
	if (why != NULL && why->errnum == EBUSY && !work->is_cancelled) {
		wait_for_it(work, why);
		return;
	}
	if (why != NULL) {
		work_fail(work, why);
		return;
	}
	work->is_started = true;
	if (work->calls->start(work, &err) < 0)
		work_fail(work, &err);
}

/* Before it has started there is nothing to stop: on_awake() finds out. */
static void on_cancel(struct mcp_call *call, void *ctx)
{
	struct work *work = ctx;

	(void)call;
	work->is_cancelled = true;
	if (work->is_started && work->calls->cancel != NULL)
		work->calls->cancel(work);
}

struct sandbox_options tools_sandbox_options(const struct tools_context *context)
{
	return (struct sandbox_options){ .owner = context->owner,
		                         .spec = context->spec,
		                         .idle_s = context->idle_s,
		                         .lifetime_s = context->lifetime_s };
}

int tools_check_manager(const struct tools_context *context, struct error *err)
{
	if (context->manager != NULL)
		return 0;
	return error_set(err, ERR_UNSUPPORTED,
	                 "nothing can be run here: %s. 'belljar doctor' tells more",
	                 context->why_not != NULL ? context->why_not : "there is no engine");
}

int tools_find_sandbox(const struct tools_context *context, const char *name, struct sandbox **ret,
                       struct error *err)
{
	const struct sandbox_options wish = tools_sandbox_options(context);
	char shown[80];

	if (tools_check_manager(context, err) < 0)
		return -1;
	if (name == NULL)
		return sandbox_get_default(context->manager, &wish, false, ret, err);
	if (sandbox_find(context->manager, context->owner, name, ret, err) == 0)
		return 0;
	if (err->kind != ERR_NOT_FOUND)
		return -1;
	return error_set(err, ERR_NOT_FOUND,
	                 "sandbox (list_sandboxes shows those there are): there is no sandbox '%s'",
	                 utf8_escape(view_of(name), shown, sizeof shown));
}

int work_start(struct mcp_call *call, size_t size, const struct work_callbacks *calls,
               const char *sandbox, struct work **ret, struct error *err)
{
	const struct tools_context *context = mcp_call_app(call);
	struct sandbox *found;
	struct work *work;

	if (tools_find_sandbox(context, sandbox, &found, err) < 0)
		return -1;
	work = mem_new(size);
	*work = (struct work){ .call = call,
		               .context = context,
		               .calls = calls,
		               .sandbox = found,
		               .is_default = sandbox == NULL };
	sandbox_hold(found);
	mcp_call_on_cancel(call, on_cancel, work);
	sandbox_wake(found, on_awake, work);
	*ret = work;
	return 0;
}

static bool add_names(void *ctx, const struct sandbox_row *row)
{
	json_push(ctx, json_str(row->name[0] != '\0' ? row->name : row->spec.id));
	return true;
}

void work_complete_sandbox(void *app, const char *typed, json_t *values)
{
	const struct tools_context *context = app;
	struct error err;

	(void)typed;
	if (context->manager != NULL)
		(void)!manager_each(context->manager, context->owner, add_names, values, &err);
}

int work_check_path(const char *path, struct error *err)
{
	if (path[0] == '\0')
		return error_set(err, ERR_INVALID,
		                 "path: it is empty; \".\" stands for /workspace itself");
	if (strlen(path) > PATH_MOST)
		return error_set(err, ERR_LIMIT, "path: %zu bytes, at most %d are allowed",
		                 strlen(path), PATH_MOST);
	return 0;
}
