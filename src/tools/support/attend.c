#include "tools/support/attend.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/text/utf8.h"
#include "loop/loop.h"
#include "mcp/call.h"
#include "sandbox/manager.h"
#include "sandbox/process/process.h"
#include "sandbox/sandbox.h"
#include "tools/catalogue.h"

/* Often while somebody may talk to it, seldom when it takes its time. */
enum { SOON_MS = 20, LATER_MS = 100, SOON_FOR_MS = 2000, PROGRESS_MS = 1000 };

struct waiting {
	struct attend attend;
	struct loop_timer *timer;
	uint64_t told_ms;
};

struct named {
	const char *name;
	bool is_there;
};

static bool has_name(const struct sandbox_row *row, const char *name)
{
	return strcmp(row->spec.id, name) == 0 ||
	       (row->name[0] != '\0' && strcmp(row->name, name) == 0);
}

static bool compare(void *ctx, const struct sandbox_row *row)
{
	struct named *named = ctx;

	named->is_there = has_name(row, named->name);
	return !named->is_there;
}

/* Why there is no such process in a sandbox of this name. */
static int refuse_in(const struct tools_context *context, const char *id, const char *name,
                     struct error *err)
{
	struct named named = { .name = name };
	char shown[80], sought[40];

	if (manager_each(context->manager, context->owner, compare, &named, err) < 0)
		return -1;
	if (!named.is_there)
		return error_set(err, ERR_NOT_FOUND,
		                 "argument 'sandbox': there is no sandbox \"%s\"; list_sandboxes "
		                 "shows those there are",
		                 utf8_escape(view_of(name), shown, sizeof shown));
	return error_set(err, ERR_NOT_FOUND,
	                 "argument 'process': there is no process \"%s\" in that sandbox; "
	                 "sandbox_info shows those there are",
	                 utf8_escape(view_of(id), sought, sizeof sought));
}

/* The manager's own words would show the id as it came. */
static int refuse(const char *id, struct error *err)
{
	char shown[40];

	if (err->kind != ERR_NOT_FOUND)
		return -1;
	return error_set(err, ERR_NOT_FOUND,
	                 "argument 'process': there is no process \"%s\"; sandbox_info lists "
	                 "those of a sandbox, and those of one that slept or was reset are gone",
	                 utf8_escape(view_of(id), shown, sizeof shown));
}

int attend_find(const struct tools_context *context, const char *id, const char *name,
                struct sandbox **ret_sandbox, struct process **ret, struct error *err)
{
	struct sandbox *sandbox;
	struct process *process;

	if (context->manager == NULL)
		return error_set(err, ERR_UNSUPPORTED, "nothing can be run here: %s",
		                 context->why_not != NULL ? context->why_not
		                                          : "the server is still starting");
	if (manager_find_process(context->manager, context->owner, id, &sandbox, &process, err) < 0)
		return name != NULL ? refuse_in(context, id, name, err) : refuse(id, err);
	if (name != NULL && !has_name(sandbox_row(sandbox), name))
		return refuse_in(context, id, name, err);
	*ret_sandbox = sandbox;
	*ret = process;
	return 0;
}

static void finish(struct waiting *w)
{
	(void)loop_timer_free(w->timer);
	free(w);
}

static void tell_progress(struct waiting *w, struct process *process, uint64_t now)
{
	uint64_t tenths = (now - w->attend.began_ms) / 100;
	double elapsed = (double)tenths / 10;
	char line[160];

	if (now - w->told_ms < PROGRESS_MS)
		return;
	w->told_ms = now;
	(void)process_last_line(process, line, sizeof line);
	mcp_call_progress(w->attend.call, elapsed, 0, "%.0f s%s%s", elapsed,
	                  line[0] != '\0' ? ": " : "", line);
}

/* True: it was answered. */
static bool look(struct waiting *w)
{
	struct attend *a = &w->attend;
	uint64_t now = clock_now_ms();
	struct sandbox *sandbox = NULL;
	struct process *process = NULL;
	struct error err;

	if (attend_find(a->context, a->process, a->sandbox, &sandbox, &process, &err) < 0) {
		mcp_respond_tool_error(a->call, &err);
		return true;
	}
	if (now >= a->until_ms || process_is_over(process) || a->is_enough(a, process)) {
		a->tell(a, sandbox, process);
		return true;
	}
	tell_progress(w, process, now);
	loop_timer_start(w->timer, now - a->began_ms < SOON_FOR_MS ? SOON_MS : LATER_MS);
	return false;
}

static void on_timer(void *ctx)
{
	if (look(ctx))
		finish(ctx);
}

static void on_cancel(struct mcp_call *call, void *ctx)
{
	mcp_respond_content(call, json_list(), NULL);
	finish(ctx);
}

struct attend attend_of(struct mcp_call *call, const char *process, const char *sandbox,
                        const void *args, uint64_t patience_ms)
{
	uint64_t now = clock_now_ms();

	return (struct attend){ .call = call,
		                .context = mcp_call_app(call),
		                .process = process,
		                .sandbox = sandbox,
		                .args = args,
		                .began_ms = now,
		                .until_ms = now + patience_ms };
}

int attend_begin(const struct attend *like, struct error *err)
{
	struct waiting *w;
	struct sandbox *sandbox = NULL;
	struct process *process = NULL;

	if (attend_find(like->context, like->process, like->sandbox, &sandbox, &process, err) < 0)
		return -1;
	sandbox_touch(sandbox);
	w = mem_new(sizeof *w);
	w->attend = *like;
	w->told_ms = like->began_ms;
	w->timer = loop_timer_new(mcp_call_loop(like->call), on_timer, w);
	if (look(w))
		finish(w);
	else
		mcp_call_on_cancel(like->call, on_cancel, w);
	return 0;
}
