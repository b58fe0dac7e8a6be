/* internal.h - server, session and call, as the files of src/mcp share them.
 *
 *   server --- sessions --- calls        a call in a batch also belongs to the batch
 *          \-- listens: calls of subscriptions/listen, which stay open and carry notifications
 *
 * A call ends when its handler responds. A cancelled call lives on until then and counts against
 * max_calls. A call whose session is closed or whose server is freed lives on without them. A call
 * keeps only the parts of its message that it needs; the rest is freed after the dispatch. */
#pragma once
#include "base/arena.h"
#include "base/list.h"
#include "mcp/call.h"
#include "mcp/level.h"
#include "mcp/revision.h"
#include "mcp/rpc.h"
#include "mcp/server.h"
#include "mcp/session.h"

enum { MCP_URI_MAX = 8192 };

struct mcp_batch;

struct mcp_server {
	struct loop *loop;
	struct mcp_config config;
	struct list sessions;
	struct list listens;
	struct list calls;          /* every call in progress */
	void (*on_idle)(void *ctx); /* of mcp_server_on_idle(), or NULL */
	void *idle_ctx;
};

struct mcp_session {
	struct list node;
	struct mcp_server *server;
	struct mcp_sink *sink;
	enum mcp_revision revision; /* of the handshake; MCP_DEFAULT_REVISION before it */
	bool is_ready;              /* notifications/initialized was received */
	enum mcp_level level;       /* of log messages, in the handshake era */
	json_t *subscriptions;      /* object whose keys are URIs */
	struct list calls;
	size_t call_count; /* without listen requests */
	size_t listen_count;
	bool has_roots;          /* the client has the roots capability */
	unsigned roots_requests; /* roots/list requests sent so far */
	char roots_id[24];       /* id of the roots/list request without a response yet; "" */
	size_t message_bytes;    /* bytes of the message being received */
	size_t held_bytes;       /* bytes of the requests of calls in progress */
};

struct mcp_call {
	struct list server_node;     /* in mcp_server.calls */
	struct list session_node;    /* in mcp_session.calls */
	struct mcp_session *session; /* NULL after the session is closed */
	struct mcp_server *server;   /* NULL after the server is freed */
	struct loop *loop;
	void *app;
	const void *record;      /* the mcp_tool, mcp_resource, mcp_template or mcp_prompt */
	struct mcp_batch *batch; /* NULL: the request is not part of a batch */
	json_t *id;              /* owned */
	const char *method;
	json_t *params;    /* borrowed during the dispatch, then NULL */
	json_t *arguments; /* owned */
	size_t held_bytes; /* bytes of the request that count against max_held */
	enum mcp_revision revision;
	json_t *progress_token; /* owned; NULL: none */
	enum mcp_level level;
	bool responded, cancelled;
	bool is_tool;    /* failures are results with isError, not JSON-RPC errors */
	bool is_listen;  /* subscriptions/listen: does not count against max_calls */
	const char *uri; /* of resources/read */
	mcp_cancel_fn *on_cancel;
	void *cancel_ctx;
	double last_progress;      /* value in the last notification; -1: none was sent */
	double progress_allowance; /* notifications that may be sent now: a token bucket */
	uint64_t progress_at_ms;   /* time of the last refill of the bucket */
	struct arena arena;
};

/* call.c */
struct mcp_call *call_new(struct mcp_session *session, struct mcp_batch *batch,
                          const struct rpc_message *rpc);
/* The functions that respond end the call. They take over result and data. */
void call_respond(struct mcp_call *call, json_t *result);
void call_respond_error(struct mcp_call *call, enum rpc_code code, json_t *data, const char *fmt,
                        ...) PRINTF_LIKE(4, 5);
void call_respond_failure(struct mcp_call *call, const struct error *err);
void call_end_without_response(struct mcp_call *call);
void call_cancel(struct mcp_call *call);
void call_detach_server(struct mcp_call *call); /* the server is being freed */
/* Gets params.arguments, or NULL if absent. Returns false if they are no object; the error
 * response has then been sent. */
bool call_get_arguments(struct mcp_call *call, json_t **ret);
/* Decodes the arguments and runs the handler, unless the session has too many calls in progress.
 * Methods without a handler, such as ping, respond at once and need no limit. */
void call_run_handler(struct mcp_call *call, const struct param *params, size_t args_size,
                      json_t *arguments, mcp_handler_fn *handler);

/* batch.c */
struct mcp_batch *batch_new(struct mcp_session *session);
void batch_add_request(struct mcp_batch *batch); /* one more response is expected */
/* Takes over the response to one request; NULL: the request was cancelled. */
void batch_add_response(struct mcp_batch *batch, json_t *id, json_t *response);
void batch_finish_requests(struct mcp_batch *batch); /* all requests have been added */
void batch_detach_session(struct mcp_batch *batch);  /* the session is being closed */

/* session.c */
void session_send(struct mcp_session *session, struct view text);
/* Encodes a response as text, or an error response if it is longer than max_line. Takes over the
 * response; the caller frees the text. */
char *session_encode_response(const struct mcp_session *session, json_t *id, json_t *response,
                              size_t *ret_len);
void session_respond(struct mcp_session *session, json_t *id, json_t *response);
void session_notify(struct mcp_session *session, const char *method, json_t *params);
void session_remove_call(struct mcp_session *session, struct mcp_call *call);
/* The call with this id; NULL if there is none or it was cancelled. */
struct mcp_call *session_find_call(const struct mcp_session *session, const json_t *id);

/* methods.c */
void methods_dispatch_request(struct mcp_call *call);
void methods_dispatch_notification(struct mcp_session *session, const struct rpc_message *rpc);

/* The methods, in one file per feature. Each responds to the call or gives it to a handler. */
typedef void method_fn(struct mcp_call *call);
method_fn initialize_method, discover_method, ping_method, set_level_method;
method_fn tools_list_method, tools_call_method;
method_fn resources_list_method, templates_list_method, resources_read_method;
method_fn resources_subscribe_method, resources_unsubscribe_method;
method_fn prompts_list_method, prompts_get_method;
method_fn complete_method;
method_fn listen_method;

/* describe.c: the capabilities of a server, which follow from its tables. */
enum capability {
	CAPABILITY_ALWAYS,
	CAPABILITY_TOOLS,
	CAPABILITY_PROMPTS,
	CAPABILITY_RESOURCES,
	CAPABILITY_SUBSCRIPTIONS, /* resources.subscribe */
	CAPABILITY_COMPLETIONS,
};
bool server_has_capability(const struct mcp_server *server, enum capability capability);
/* title, description and icons, which tools, resources and prompts have in common. Members that
 * the revision does not have are left out. */
struct base_metadata {
	const char *title, *help;
	const struct mcp_icon *icon;
};
void set_base_metadata(json_t *object, enum mcp_revision revision,
                       const struct base_metadata *metadata);
json_t *describe_server(const struct mcp_server *server, enum mcp_revision revision, bool brief);
json_t *describe_capabilities(const struct mcp_server *server, enum mcp_revision revision);

/* roots.c */
/* Sends roots/list if the client has the roots capability. */
void roots_request(struct mcp_session *session);
/* Returns false if the message is not the response to that request. */
bool roots_receive_response(struct mcp_session *session, const struct rpc_message *rpc);

/* listen.c */
void listen_end(struct mcp_call *call); /* responds to subscriptions/listen */

/* list.c */
/* Returns the record's entry, or NULL to leave it out. */
typedef json_t *describe_fn(const struct mcp_call *call, const void *record);
/* Responds with one page of a table (an array of records that ends in NULL, or NULL), as the
 * member `key` of the result. */
void list_respond(struct mcp_call *call, const char *key, const void *table, describe_fn *describe);
void set_cache_hints(const struct mcp_call *call, json_t *result, uint32_t ms);

/* uri_template.c: the text with its %41 escapes decoded; NULL if the result is not UTF-8. */
json_t *uri_percent_decode(struct view encoded);
/* The variables of a URI as an object; NULL if the URI does not match the template. */
json_t *uri_template_match(const char *uri_template, const char *uri);
