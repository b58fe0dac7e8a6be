#include "tools/files/watch_files.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "loop/loop.h"
#include "mcp/server.h"
#include "sandbox/sandbox.h"
#include "tools/files/changed_files.h"
#include "tools/files/file_work.h"

enum { CHECK_MS = 1000, WATCHED_MAX = 16 };

/* A sandbox with subscribers. */
struct watched {
	struct watch_files *watch;
	char id[SPEC_ID_LEN + 1]; /* "": the slot is free */
	bool is_used;             /* a subscription was found in this check */
	uint64_t since_ns, asked_ns;
	struct changed_files files;
};

struct watch_files {
	struct mcp_server *mcp;
	const struct tools_context *context;
	struct loop_timer *timer;
	struct watched all[WATCHED_MAX];
};

static void on_changed(void *ctx)
{
	struct watched *one = ctx;
	const struct tools_context *context = one->watch->context;
	struct sandbox *sandbox;
	struct error err;

	one->since_ns = one->asked_ns;
	if (tools_find_sandbox(context, one->id, &sandbox, &err) == 0)
		file_report_changed_files(context, sandbox_row(sandbox), &one->files);
	changed_files_done(&one->files);
}

static void ask_agent(struct watched *one, struct sandbox *sandbox)
{
	const struct changed_files_options options = { .since_ns = one->since_ns,
		                                       .mark = UINT64_MAX,
		                                       .directories = true };

	if (one->files.op != NULL || sandbox_channel(sandbox) == NULL)
		return;
	one->asked_ns = clock_file_ns();
	changed_files_start(&one->files, sandbox, &options, on_changed, one);
}

/* The slot of this sandbox, or a free one; NULL: too many sandboxes are watched. */
static struct watched *find_slot(struct watch_files *watch, const char *id)
{
	struct watched *free_slot = NULL;

	for (size_t i = 0; i < WATCHED_MAX; i++) {
		if (strcmp(watch->all[i].id, id) == 0)
			return &watch->all[i];
		if (watch->all[i].id[0] == '\0' && free_slot == NULL)
			free_slot = &watch->all[i];
	}
	return free_slot;
}

static void check_subscription(void *ctx, const char *uri)
{
	static const char scheme[] = "sandbox://";
	struct watch_files *watch = ctx;
	const char *name = uri + strlen(scheme), *end;
	char text[SANDBOX_NAME_MAX + SPEC_ID_LEN + 1];
	struct sandbox *sandbox;
	struct watched *one;
	struct error err;

	if (strncmp(uri, scheme, strlen(scheme)) != 0 || (end = strchr(name, '/')) == NULL ||
	    (size_t)(end - name) >= sizeof text)
		return;
	memcpy(text, name, (size_t)(end - name));
	text[end - name] = '\0';
	if (tools_find_sandbox(watch->context, text, &sandbox, &err) < 0)
		return;
	one = find_slot(watch, sandbox_row(sandbox)->spec.id);
	if (one == NULL || one->is_used)
		return;
	if (one->id[0] == '\0') {
		memcpy(one->id, sandbox_row(sandbox)->spec.id, sizeof one->id);
		one->since_ns = clock_file_ns();
		one->watch = watch;
	}
	one->is_used = true;
	ask_agent(one, sandbox);
}

void watch_files_check(struct watch_files *watch)
{
	bool is_needed = false;

	for (size_t i = 0; i < WATCHED_MAX; i++)
		watch->all[i].is_used = false;
	mcp_server_each_subscription(watch->mcp, check_subscription, watch);
	for (size_t i = 0; i < WATCHED_MAX; i++) {
		is_needed |= watch->all[i].is_used;
		if (watch->all[i].is_used)
			continue;
		changed_files_done(&watch->all[i].files);
		watch->all[i] = (struct watched){ 0 };
	}
	if (is_needed)
		loop_timer_start(watch->timer, CHECK_MS);
}

static void on_timer(void *ctx)
{
	watch_files_check(ctx);
}

struct watch_files *watch_files_new(struct loop *loop, struct mcp_server *mcp,
                                    const struct tools_context *context)
{
	struct watch_files *watch = mem_new(sizeof *watch);

	watch->mcp = mcp;
	watch->context = context;
	watch->timer = loop_timer_new(loop, on_timer, watch);
	return watch;
}

struct watch_files *watch_files_free(struct watch_files *watch)
{
	if (watch == NULL)
		return NULL;
	for (size_t i = 0; i < WATCHED_MAX; i++)
		changed_files_done(&watch->all[i].files);
	(void)loop_timer_free(watch->timer);
	free(watch);
	return NULL;
}
