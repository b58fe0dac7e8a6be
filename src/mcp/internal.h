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
#include "base/error.h"
#include "base/list.h"
#include "mcp/ask/asks.h"
#include "mcp/ask/request_state.h"
#include "mcp/call.h"
#include "mcp/level.h"
#include "mcp/mcp_server.h"
#include "mcp/revision.h"
#include "mcp/rpc.h"
#include "mcp/session.h"
#include "mcp/task/task.h"

enum { MCP_URI_MAX = 8192 };

struct mcp_batch;

/* A message of the client after parsing. */
struct mcp_input {
	const struct mcp_limits *limits;
	size_t bytes;           /* of the text */
	json_t *message;        /* NULL: the text is no JSON, or exceeds a limit */
	json_t *id;             /* of a text that exceeds a limit; or NULL */
	struct rpc_message rpc; /* unless the message is an array or invalid */
	bool is_invalid;        /* for the reason `err` */
	struct error err;
};

/* One message of mcp_session_receive_on(). */
struct mcp_exchange {
	struct list node; /* in mcp_session.exchanges */
	struct mcp_sink *sink;
	const struct mcp_headers *headers; /* NULL after the message was received */
	size_t pending;                    /* requests without an answer */
};

struct mcp_server {
	struct loop *loop;
	struct mcp_config config;
	struct list sessions;
	struct list listens;
	struct list calls; /* every call in progress */
	struct list tasks;
	struct request_state_key state_key;
	void (*on_idle)(void *ctx); /* of mcp_server_on_idle(), or NULL */
	void *idle_ctx;
};

struct mcp_session {
	struct list node;
	struct mcp_server *server;
	struct mcp_sink *sink;
	char *owner;
	unsigned scopes; /* enum mcp_scope */
	struct list exchanges;
	enum mcp_revision revision; /* of the handshake; MCP_DEFAULT_REVISION before it */
	bool has_handshake;         /* initialize was received */
	bool is_ready;              /* notifications/initialized was received */
	enum mcp_level level;       /* of log messages, in the handshake era */
	json_t *subscriptions;      /* object whose keys are URIs */
	struct list calls;
	size_t call_count; /* without listen requests */
	size_t listen_count;
	bool may_have_roots; /* mcp_caller.has_roots */
	char language[MCP_LANGUAGE_SIZE];
	bool has_roots;          /* the client has the roots capability */
	unsigned abilities;      /* enum client_ability, of the handshake */
	unsigned ask_count;      /* questions sent so far */
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
	/* The message of mcp_session_receive_on(); NULL: received otherwise, or cancelled. */
	struct mcp_exchange *exchange;
	struct mcp_sink *sink; /* NULL after the session is closed or the call is cancelled */
	const char *owner;     /* in the arena */
	unsigned scopes;       /* enum mcp_scope: what the caller may do */
	bool may_have_roots;   /* mcp_caller.has_roots */
	char language[MCP_LANGUAGE_SIZE];
	enum mcp_outcome outcome;
	enum mcp_scope missing_scope;
	json_t *id; /* owned */
	const char *method;
	json_t *params;          /* borrowed during the dispatch, then NULL */
	json_t *arguments;       /* owned */
	mcp_handler_fn *handler; /* NULL: the method has none */
	void *args;              /* of the handler, in the arena */
	unsigned abilities;      /* enum client_ability: what the client can do */
	struct asks asks;
	json_t *identity;  /* owned: what requestState is bound to; NULL in the handshake era */
	size_t held_bytes; /* bytes of the request that count against max_held */
	enum mcp_revision revision;
	json_t *progress_token; /* owned; NULL: none */
	enum mcp_level level;
	struct mcp_task *task;   /* NULL: the client waits for the response */
	bool wants_task;         /* of 2025-11-25 */
	uint64_t task_ttl_ms;    /* 0: the default */
	struct list waiter_node; /* in mcp_task.waiters: this is a call of tasks/result */
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
/* Where a request came from. NULL: no batch; no exchange, but mcp_session_receive(). */
struct call_origin {
	struct mcp_batch *batch;
	struct mcp_exchange *exchange;
};
struct mcp_call *call_new(struct mcp_session *session, const struct call_origin *origin,
                          const struct rpc_message *rpc);
/* The headers of the POST while the request is dispatched, else NULL. */
const struct mcp_headers *call_headers(const struct mcp_call *call);
/* The functions that respond end the call. They take over result and data. */
void call_respond(struct mcp_call *call, json_t *result);
void call_respond_error(struct mcp_call *call, enum rpc_code code, json_t *data, const char *fmt,
                        ...) PRINTF_LIKE(4, 5);
void call_respond_failure(struct mcp_call *call, const struct error *err);
void call_end_without_response(struct mcp_call *call);
/* Sends the response with which a task begins; the call goes on. Takes over result. */
void call_respond_early(struct mcp_call *call, json_t *result);
/* Counts the request against max_calls and max_held. Returns false if it has sent an error
 * instead. */
bool call_reserve_limits(struct mcp_call *call);
void call_cancel(struct mcp_call *call);
void call_detach_server(struct mcp_call *call); /* the server is being freed */
/* Gets params.arguments, or NULL if absent. Returns false if they are no object; the error
 * response has then been sent. */
bool call_get_arguments(struct mcp_call *call, json_t **ret);
/* Decodes the arguments and runs the handler, unless the session has too many calls in progress.
 * Methods without a handler, such as ping, respond at once and need no limit. */
void call_run_handler(struct mcp_call *call, const struct param *params, size_t args_size,
                      json_t *arguments, mcp_handler_fn *handler);

/* Refuses the call if the caller lacks the scope: returns false, the error has been sent. */
bool call_check_scope(struct mcp_call *call, enum mcp_scope scope);

/* exchange.c */
struct mcp_exchange *exchange_new(struct mcp_session *session, struct mcp_sink *sink,
                                  const struct mcp_headers *headers);
void exchange_hold(struct mcp_exchange *exchange);    /* one more answer is expected */
void exchange_release(struct mcp_exchange *exchange); /* the last one frees the exchange */

/* mcp_input.c */
MUST_CHECK int input_check_batch(const struct mcp_input *input, enum mcp_revision revision,
                                 struct error *err);
bool input_is_handshake(const struct rpc_message *rpc);

/* header/header_check.c: the headers of a POST must say what its body says. Each function returns
 * false if it has sent an error. */
bool headers_check_handshake(struct mcp_call *call);
struct request_meta;
bool headers_check_equal(struct mcp_call *call, const struct request_meta *meta);
bool headers_check_present(struct mcp_call *call);
/* Mcp-Param-*, for parameters with a header. */
bool headers_check_params(struct mcp_call *call, const struct param *params,
                          const json_t *arguments);
bool headers_check_notification(struct mcp_session *session, struct mcp_exchange *exchange,
                                const struct rpc_message *rpc);

/* batch.c */
struct mcp_batch *batch_new(struct mcp_session *session, struct mcp_sink *sink);
void batch_add_request(struct mcp_batch *batch); /* one more response is expected */
/* Takes over the response to one request; NULL: the request was cancelled. */
void batch_add_response(struct mcp_batch *batch, json_t *id, json_t *response);
void batch_finish_requests(struct mcp_batch *batch); /* all requests have been added */
void batch_detach_session(struct mcp_batch *batch);  /* the session is being closed */

/* session.c */
void sink_send(struct mcp_sink *sink, enum mcp_message_kind kind, struct view text);
/* Encodes a response as text, or an error response if it is longer than max_line. Takes over the
 * response; the caller frees the text. */
char *session_encode_response(const struct mcp_session *session, json_t *id, json_t *response,
                              size_t *ret_len);
/* Sends an error response that belongs to no call. */
void session_send_error(struct mcp_session *session, struct mcp_exchange *exchange, json_t *id,
                        enum rpc_code code, const char *text);
/* Sends a notification to a sink of the session. Takes over params. */
void session_notify(struct mcp_session *session, struct mcp_sink *sink, const char *method,
                    json_t *params);
void session_remove_call(struct mcp_session *session, struct mcp_call *call);
/* The call with this id; NULL if there is none or it was cancelled. */
struct mcp_call *session_find_call(const struct mcp_session *session, const json_t *id);

/* methods.c */
void methods_dispatch_request(struct mcp_call *call, const struct rpc_message *rpc);
void methods_dispatch_notification(struct mcp_session *session, const struct rpc_message *rpc);
/* Responds with -32602: the request has no version in params._meta, but a header says it should. */
void methods_respond_without_meta(struct mcp_call *call);

/* The methods, in one file per feature. Each responds to the call or gives it to a handler. */
typedef void method_fn(struct mcp_call *call);
method_fn initialize_method, discover_method, ping_method, set_level_method;
method_fn tools_list_method, tools_call_method;
/* Makes the error of arguments that could not be decoded name the bounds of this server. */
void tools_name_shown(struct mcp_call *call, struct error *err);
method_fn resources_list_method, templates_list_method, resources_read_method;
method_fn resources_subscribe_method, resources_unsubscribe_method;
method_fn prompts_list_method, prompts_get_method;
method_fn complete_method;
method_fn listen_method;
method_fn tasks_get_method, tasks_result_method, tasks_list_method, tasks_cancel_method,
        tasks_update_method;

/* describe.c: the capabilities of a server, which follow from its tables. */
enum capability {
	CAPABILITY_ALWAYS,
	CAPABILITY_TOOLS,
	CAPABILITY_PROMPTS,
	CAPABILITY_RESOURCES,
	CAPABILITY_SUBSCRIPTIONS, /* resources.subscribe */
	CAPABILITY_COMPLETIONS,
	CAPABILITY_TASKS, /* a tool may run as a task */
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
/* Sends notifications/tasks for the listen requests of its owner that name the task. */
void listen_notify_task(const struct mcp_task *task);

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
