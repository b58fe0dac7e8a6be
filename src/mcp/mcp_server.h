/* mcp_server.h - an MCP server: tables of tools, resources and prompts, served to any number of
 * sessions.
 *
 * The server knows no transport and no sandbox. The caller owns the tables and everything they
 * point to, and keeps them until the server is freed.
 *
 *   mcp_server_new() -> mcp_session_new() ... mcp_session_close() -> mcp_server_free() */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "mcp/call.h"
#include "mcp/caller.h"
#include "mcp/param/param.h"

struct loop;
struct mcp_server;

struct mcp_icon {
	const char *src, *mime_type, *sizes;
};

/* The annotations of a tool (readOnlyHint and so on), by which clients decide when to ask the
 * user. */
enum mcp_hint {
	MCP_READ_ONLY = 1 << 0,
	MCP_DESTRUCTIVE = 1 << 1,
	MCP_IDEMPOTENT = 1 << 2,
	MCP_OPEN_WORLD = 1 << 3,
};

/* Whether a tool may run as a task, whose result the client fetches later. */
enum mcp_task_support {
	MCP_TASK_NEVER,
	MCP_TASK_OPTIONAL,
	MCP_TASK_REQUIRED, /* a client without tasks gets an error */
};

struct mcp_tool {
	const char *name, *title;
	const char *help; /* in tools/list, which every model reads: short */
	const char *more; /* further sentences for the manual; or NULL */
	uint32_t hints;   /* enum mcp_hint */
	/* The scope that a caller needs. Other callers do not see the tool in tools/list, and a
	 * call is refused before the handler. */
	enum mcp_scope scope;
	const struct param *params; /* NULL: takes no arguments */
	size_t args_size;
	const char *schema;         /* the input schema as JSON, if it says more than params */
	const struct param *output; /* outputSchema of structuredContent; NULL: none */
	const struct mcp_icon *icon;
	mcp_handler_fn *call;
	/* In 2025-11-25 the client decides. In the stateless era the handler decides, with
	 * mcp_call_start_task(). */
	enum mcp_task_support task;
	/* Whether tools/list has the tool; NULL: always. A call of a tool that is left out is
	 * answered all the same, with the reason why it cannot work. */
	bool (*is_offered)(const void *app);
	/* Changes the properties of the input schema to values that only the running server knows;
	 * may be NULL. `app` is mcp_config.app. */
	void (*complete_schema)(const void *app, json_t *properties);
};

struct mcp_resource {
	const char *uri, *name, *title, *help, *mime_type;
	enum mcp_scope scope;
	const struct mcp_icon *icon;
	mcp_handler_fn *read;
};

/* A resource template. {name} matches text up to the next '/', {+name} any text. Both are
 * percent-decoded and become arguments by `params`, which are all strings. */
struct mcp_template {
	const char *uri_template, *name, *title, *help, *mime_type;
	enum mcp_scope scope;
	const struct mcp_icon *icon;
	const struct param *params;
	size_t args_size;
	mcp_handler_fn *read;
	/* Fails if no resource with these variables can ever change, so that a subscription to it
	 * is refused. It must not respond. NULL: every URI that matches can be subscribed to. */
	mcp_handler_fn *check;
};

struct mcp_prompt {
	const char *name, *title, *help;
	const struct mcp_icon *icon;
	const struct param *params; /* strings only; NULL: none */
	size_t args_size;
	mcp_handler_fn *get;
};

struct mcp_limits {
	struct json_limits json;
	size_t max_line;          /* bytes of one message, in either direction */
	size_t max_batch;         /* messages in a batch */
	size_t max_calls;         /* calls in progress in one session */
	size_t max_held;          /* bytes of the requests of these calls */
	size_t max_subscriptions; /* subscriptions of one session, and its listen requests */
	size_t max_tasks;         /* tasks of one owner, those that have ended included */
	size_t page_size;         /* entries in one page of a list */
};
extern const struct mcp_limits mcp_default_limits;

struct mcp_config {
	const char *name, *title, *version, *help, *website, *instructions;
	const struct mcp_icon *icon;
	/* Arrays of pointers that end in NULL. NULL instead of an array: the server does not have
	 * the capability. */
	const struct mcp_tool *const *tools;
	const struct mcp_resource *const *resources;
	const struct mcp_template *const *templates;
	const struct mcp_prompt *const *prompts;
	/* True if mcp_server_list_changed() and mcp_server_resource_updated() may be called. */
	bool lists_change, resources_change;
	uint32_t cache_ms; /* ttlMs of lists: how long a client may cache them */
	struct mcp_limits limits;
	void *app; /* for the handlers: mcp_call_app() */
	/* Called with all roots of a client, as absolute paths, whenever the client sends them.
	 * NULL: clients are not asked for their roots. */
	void (*roots)(void *app, const char *const *paths, size_t count);
	/* Called after a client has subscribed to resources; or NULL. */
	void (*subscribed)(void *app);
};

/* Copies *config, but not the tables. Asserts that the tables are consistent. */
struct mcp_server *mcp_server_new(struct loop *loop, const struct mcp_config *config);
/* All sessions must be closed. A call whose handler has not responded yet lives on without the
 * server; mcp_call_app() must stay valid until then. */
struct mcp_server *mcp_server_free(struct mcp_server *server);
DEFINE_CLEANUP(mcp_server)

enum mcp_list { MCP_LIST_TOOLS, MCP_LIST_PROMPTS, MCP_LIST_RESOURCES, MCP_LIST_COUNT };

/* Send a notification to each session of the owner that has finished its handshake, or that has
 * subscribed to the resource, and for each listen request of the owner whose filter asks for it.
 * owner NULL: to those of every owner. */
void mcp_server_list_changed(struct mcp_server *server, const char *owner, enum mcp_list list);
/* Subscribers to a URI above this one (a directory) are notified too, with this URI. */
void mcp_server_resource_updated(struct mcp_server *server, const char *owner, const char *uri);
/* All resources whose URI begins with `prefix` may have changed. Subscribers whose URI ends in a
 * slash are not notified. */
void mcp_server_resources_updated(struct mcp_server *server, const char *owner, const char *prefix);
/* Calls fn for every subscribed URI, for some more than once. fn must not change subscriptions. */
void mcp_server_each_subscription(struct mcp_server *server,
                                  void (*fn)(void *ctx, const char *owner, const char *uri),
                                  void *ctx);

/* Cancels all tasks. To be called when the server shuts down: tasks of clients that do not keep a
 * connection open have no session whose end would cancel them. */
void mcp_server_cancel_tasks(struct mcp_server *server);

const struct mcp_limits *mcp_server_limits(const struct mcp_server *server);

/* Calls fn once, as soon as no call is in progress, which may be now. NULL: cancels the previous
 * request. */
void mcp_server_on_idle(struct mcp_server *server, void (*fn)(void *ctx), void *ctx);
