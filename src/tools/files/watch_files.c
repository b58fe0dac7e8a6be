#include "tools/files/watch_files.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/list.h"
#include "base/mem.h"
#include "loop/loop.h"
#include "mcp/mcp_server.h"
#include "sandbox/sandbox.h"
#include "tools/files/changed_files.h"
#include "tools/files/file_work.h"

enum { CHECK_MS = 1000 };

/* A sandbox with subscribers. */
struct watched {
	struct list node;
	struct watch_files *watch;
	char id[SPEC_ID_LEN + 1];
	char owner[OWNER_MAX + 1];
	bool is_used; /* a subscription was found in this check */
	uint64_t since_ns, asked_ns;
	struct changed_files files;
};

struct watch_files {
	struct mcp_server *mcp;
	const struct tools_context *context;
	struct loop_timer *timer;
	struct list all; /* not more than there are subscriptions */
};

static void on_changed(void *ctx)
{
	struct watched *one = ctx;
	const struct tools_context *context = one->watch->context;
	struct sandbox *sandbox;
	struct error err;

	one->since_ns = one->asked_ns;
	if (tools_find_sandbox(context, one->owner, one->id, &sandbox, &err) == 0)
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

static struct watched *watched_of(struct list *node)
{
	return container_of(node, struct watched, node);
}

/* The entry of this sandbox, made if there is none. */
static struct watched *get_watched(struct watch_files *watch, const struct sandbox_row *row)
{
	struct watched *one;

	LIST_EACH (node, &watch->all)
		if (strcmp(watched_of(node)->id, row->spec.id) == 0)
			return watched_of(node);
	one = mem_new(sizeof *one);
	one->watch = watch;
	memcpy(one->id, row->spec.id, sizeof one->id);
	memcpy(one->owner, row->owner, sizeof one->owner);
	one->since_ns = clock_file_ns();
	list_add(&watch->all, &one->node);
	return one;
}

static void free_watched(struct watched *one)
{
	changed_files_done(&one->files);
	list_remove(&one->node);
	free(one);
}

static void check_subscription(void *ctx, const char *owner, const char *uri)
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
	if (tools_find_sandbox(watch->context, owner, text, &sandbox, &err) < 0)
		return;
	one = get_watched(watch, sandbox_row(sandbox));
	if (one->is_used)
		return;
	one->is_used = true;
	ask_agent(one, sandbox);
}

void watch_files_check(struct watch_files *watch)
{
	LIST_EACH (node, &watch->all)
		watched_of(node)->is_used = false;
	mcp_server_each_subscription(watch->mcp, check_subscription, watch);
	for (struct list *node = watch->all.next, *next; node != &watch->all; node = next) {
		next = node->next;
		if (!watched_of(node)->is_used)
			free_watched(watched_of(node));
	}
	if (!list_is_empty(&watch->all))
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
	list_init(&watch->all);
	watch->timer = loop_timer_new(loop, on_timer, watch);
	return watch;
}

struct watch_files *watch_files_free(struct watch_files *watch)
{
	if (watch == NULL)
		return NULL;
	while (!list_is_empty(&watch->all))
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): it does not follow the links */
		free_watched(watched_of(watch->all.next));
	(void)loop_timer_free(watch->timer);
	free(watch);
	return NULL;
}
