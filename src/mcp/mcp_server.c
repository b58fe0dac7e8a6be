#include "mcp/mcp_server.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "mcp/internal.h"

const struct mcp_limits mcp_default_limits = {
	.json = { .depth = 64, .values = 200000 },
	.max_line = 10 * 1024 * 1024,
	.max_batch = 100,
	.max_calls = 256,
	.max_held = 64 * 1024 * 1024,
	.max_subscriptions = 1000,
	.max_tasks = 64,
	.page_size = 100,
};

/* Names that every client accepts: some allow only these characters. */
static void check_name(const char *name)
{
	assert(name != NULL && name[0] != '\0' && strlen(name) <= 64);
	assert(strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") ==
	       strlen(name));
}

/* Every parameter must have its limits, because they bound what a client can make the server
 * store. */
static void check_params(const struct param *params, size_t args_size)
{
	for (const struct param *p = params; p != NULL && p->type != PARAM_END; p++) {
		bool lists = p->type == PARAM_STRINGS || p->type == PARAM_MAP;

		check_name(p->name);
		assert((p->help != NULL || p->hidden) && p->offset < args_size);
		assert((p->type != PARAM_STRING && p->type != PARAM_TEXT) || p->max > 0);
		assert((p->type != PARAM_INT && p->type != PARAM_NUMBER) || p->max > p->min);
		assert(!lists || (p->max > 0 && p->item_max > 0));
		assert(p->type != PARAM_ENUM || p->values != NULL);
		assert(p->type != PARAM_RECORDS || p->max > 0);
		assert(p->header == NULL || p->type == PARAM_STRING || p->type == PARAM_ENUM ||
		       p->type == PARAM_BOOL || p->type == PARAM_INT);
		if (p->type == PARAM_RECORDS)
			check_params(p->fields, p->record_size);
		if (p->type == PARAM_RECORD)
			check_params(p->fields, args_size - p->offset);
	}
}

static void check_tables(const struct mcp_config *config)
{
	for (size_t i = 0; config->tools != NULL && config->tools[i] != NULL; i++) {
		const struct mcp_tool *tool = config->tools[i];

		check_name(tool->name);
		assert(tool->help != NULL && strlen(tool->help) <= 2000 && tool->call != NULL);
		check_params(tool->params, tool->args_size);
	}
	for (size_t i = 0; config->prompts != NULL && config->prompts[i] != NULL; i++) {
		check_name(config->prompts[i]->name);
		check_params(config->prompts[i]->params, config->prompts[i]->args_size);
	}
	for (size_t i = 0; config->templates != NULL && config->templates[i] != NULL; i++)
		check_params(config->templates[i]->params, config->templates[i]->args_size);
}

struct mcp_server *mcp_server_new(struct loop *loop, const struct mcp_config *config)
{
	struct mcp_server *server = mem_new(sizeof *server);

	assert(config->name != NULL && config->version != NULL);
	check_tables(config);
	server->loop = loop;
	server->config = *config;
	request_state_key_init(&server->state_key);
	list_init(&server->sessions);
	list_init(&server->listens);
	list_init(&server->tasks);
	list_init(&server->calls);
	return server;
}

struct mcp_server *mcp_server_free(struct mcp_server *server)
{
	if (server == NULL)
		return NULL;
	assert(list_is_empty(&server->sessions));
	mcp_server_cancel_tasks(server);
	while (!list_is_empty(&server->tasks)) {
		struct mcp_task *task = container_of(server->tasks.next, struct mcp_task, node);

		if (task->call != NULL)
			task->call->task = NULL;
		task->call = NULL;
		task_free(task);
	}
	while (!list_is_empty(&server->calls))
		call_detach_server(container_of(server->calls.next, struct mcp_call, server_node));
	free(server);
	return NULL;
}

/* A cancelled task stays in the list, and a handler that responds at once frees no task. */
void mcp_server_cancel_tasks(struct mcp_server *server)
{
	LIST_EACH (node, &server->tasks)
		task_cancel(container_of(node, struct mcp_task, node));
}

const struct mcp_limits *mcp_server_limits(const struct mcp_server *server)
{
	return &server->config.limits;
}

void mcp_server_on_idle(struct mcp_server *server, void (*fn)(void *ctx), void *ctx)
{
	if (fn != NULL && list_is_empty(&server->calls)) {
		fn(ctx);
		return;
	}
	server->on_idle = fn;
	server->idle_ctx = ctx;
}
