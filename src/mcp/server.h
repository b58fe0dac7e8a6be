/* server.h - what a server offers: tables handed over once, and served to any number of
 * sessions. Knows no transport and no sandbox.
 *
 * Tables and everything they point to must outlive the server. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "mcp/call.h"
#include "mcp/param/param.h"

struct loop;
struct mcp_server;

struct mcp_icon {
	const char *src, *mime_type, *sizes;
};

enum mcp_hint { /* what a tool may do; clients ask the user accordingly */
	        MCP_READ_ONLY = 1 << 0,
	        MCP_DESTRUCTIVE = 1 << 1,
	        MCP_IDEMPOTENT = 1 << 2,
	        MCP_OPEN_WORLD = 1 << 3,
};

struct mcp_tool {
	const char *name, *title, *help;
	uint32_t hints;
	const struct param *params; /* NULL: takes no arguments */
	size_t args_size;
	const struct param *output; /* of structuredContent; NULL: none */
	const struct mcp_icon *icon;
	mcp_handler_fn *call;
};

struct mcp_resource {
	const char *uri, *name, *title, *help, *mime_type;
	const struct mcp_icon *icon;
	mcp_handler_fn *read;
};

/* {name} stands for text up to the next '/', {+name} for any text; both are percent-
 * decoded and land in the arguments through `params` (strings only). */
struct mcp_template {
	const char *uri_template, *name, *title, *help, *mime_type;
	const struct mcp_icon *icon;
	const struct param *params;
	size_t args_size;
	mcp_handler_fn *read;
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
	size_t max_line;          /* bytes of one message, in and out */
	size_t max_batch;         /* messages in a batch */
	size_t max_calls;         /* unanswered calls of one session */
	size_t max_held;          /* bytes of their messages */
	size_t max_subscriptions; /* and open listen streams, of one session */
	size_t page_size;         /* entries of a list sent at once */
};
extern const struct mcp_limits mcp_default_limits;

struct mcp_config {
	const char *name, *title, *version, *help, *website, *instructions;
	const struct mcp_icon *icon;
	/* Arrays of pointers that end in NULL, or NULL altogether: the feature is not offered. */
	const struct mcp_tool *const *tools;
	const struct mcp_resource *const *resources;
	const struct mcp_template *const *templates;
	const struct mcp_prompt *const *prompts;
	/* Whether mcp_server_list_changed() and mcp_server_resource_updated() will ever be called. */
	bool lists_change, resources_change;
	uint32_t cache_ms; /* how long a client may keep a list */
	struct mcp_limits limits;
	void *app;
	/* The directories a client says are its own, all of them, whenever it tells; absolute
	 * paths. NULL: clients are not asked. */
	void (*roots)(void *app, const char *const *paths, size_t count);
};

/* Copies *config, not what it points to. Asserts that the tables make sense. */
struct mcp_server *mcp_server_new(struct loop *loop, const struct mcp_config *config);
/* All sessions must be closed. Calls still being worked on live on until their handlers
 * answer; what the handlers reach through mcp_call_app() must live as long. */
struct mcp_server *mcp_server_free(struct mcp_server *server);
DEFINE_CLEANUP(mcp_server)

enum mcp_list { MCP_LIST_TOOLS, MCP_LIST_PROMPTS, MCP_LIST_RESOURCES, MCP_LIST_COUNT };

/* Tells every client that wants to know. */
void mcp_server_list_changed(struct mcp_server *server, enum mcp_list list);
void mcp_server_resource_updated(struct mcp_server *server, const char *uri);
/* Any that begins like this may have changed. */
void mcp_server_resources_updated(struct mcp_server *server, const char *prefix);

const struct mcp_limits *mcp_server_limits(const struct mcp_server *server);

/* Calls fn once when no call is being worked on; at once if that is so now. NULL: forget
 * what was asked before. */
void mcp_server_on_idle(struct mcp_server *server, void (*fn)(void *ctx), void *ctx);
