/* internal.h - what the files of this folder know of each other's objects.
 *
 *   server --- sessions --- calls        a call in a batch also belongs to the batch
 *          \-- listens (calls that stay open and carry notifications)
 *
 * A call ends when its handler answers. A cancelled one lives on until then, counted but
 * unheard; one whose session or server goes away lives on without it. Of its message a call keeps
 * what it needs and no more: what a client adds beside that costs nothing for long. */
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
	struct list calls; /* every call that waits for its handler's answer */
	void (*idle)(void *ctx);
	void *idle_ctx;
};

struct mcp_session {
	struct list node;
	struct mcp_server *server;
	struct mcp_sink *sink;
	enum mcp_revision revision; /* of the handshake; MCP_DEFAULT_REVISION before it */
	bool is_ready;              /* the handshake is over: notifications are welcome */
	enum mcp_level level;       /* of log messages, outside the stateless era */
	json_t *subscriptions;      /* object: the URIs are the keys */
	struct list calls;
	size_t call_count;
	size_t listen_count;
	bool has_roots;       /* the client can be asked for them */
	unsigned roots_asked; /* how often */
	char roots_id[24];    /* of the question that waits for an answer; "" */
	size_t message_bytes; /* of the message being received */
	size_t held_bytes;    /* of the messages whose calls are in progress */
};

struct mcp_call {
	struct list node;            /* of the server's calls */
	struct list in_session;      /* of the session's calls */
	struct mcp_session *session; /* NULL once that is closed */
	struct mcp_server *server;   /* NULL once that is freed */
	struct loop *loop;
	void *app;
	const void *record;      /* what it is for */
	struct mcp_batch *batch; /* NULL: answered by itself */
	json_t *id;              /* owned, like the token and the arguments */
	const char *method;
	json_t *params; /* borrowed, while the message is being dispatched only; or NULL */
	json_t *arguments;
	size_t held_bytes; /* of the message, while its call is in progress */
	enum mcp_revision revision;
	json_t *progress_token;
	enum mcp_level level;
	bool answered, cancelled;
	bool is_tool;    /* failures are results, not JSON-RPC errors */
	bool is_listen;  /* stays open; does not count as a call in progress */
	const char *uri; /* resources/read: what was asked for */
	mcp_cancel_fn *on_cancel;
	void *cancel_ctx;
	double progress_sent; /* and the budget of further progress messages */
	double progress_budget;
	uint64_t progress_at_ms;
	struct arena arena;
};

/* call.c */
struct mcp_call *call_new(struct mcp_session *session, struct mcp_batch *batch,
                          const struct rpc_message *rpc);
void call_reply(struct mcp_call *call, json_t *result); /* any method's result */
void call_refuse(struct mcp_call *call, enum rpc_code code, json_t *data, const char *fmt, ...)
        PRINTF_LIKE(4, 5);
void call_refuse_error(struct mcp_call *call, const struct error *err);
void call_drop(struct mcp_call *call); /* answered, but nobody is to hear it */
void call_cancel(struct mcp_call *call);
void call_orphan(struct mcp_call *call); /* its server goes away before it is answered */
/* What a request gives its handler (NULL: nothing). False: it was refused for giving no
 * object. */
bool call_arguments(struct mcp_call *call, json_t **ret);
/* Decodes the arguments and runs the handler, unless too many are running: only what has a
 * handler can take long, so a ping is always answered. */
void call_handle(struct mcp_call *call, const struct param *params, size_t args_size,
                 json_t *arguments, mcp_handler_fn *handler);

/* batch.c */
struct mcp_batch *batch_new(struct mcp_session *session);
void batch_expect(struct mcp_batch *batch); /* one more answer will come */
/* The answer to one of them, taken over; NULL: it will not come. */
void batch_settle(struct mcp_batch *batch, json_t *id, json_t *answer);
void batch_ready(struct mcp_batch *batch);   /* all requests are in */
void batch_abandon(struct mcp_batch *batch); /* the session goes away */

/* session.c */
void session_send(struct mcp_session *session, struct view text);
/* The answer to a request as it can be sent: if it is too long for clients, an error that
 * says so. Takes over the answer; the caller frees. */
char *session_text(const struct mcp_session *session, json_t *id, json_t *answer, size_t *ret_len);
void session_answer(struct mcp_session *session, json_t *id, json_t *answer);
void session_notify(struct mcp_session *session, const char *method, json_t *params);
void session_end_call(struct mcp_session *session, struct mcp_call *call);
/* The call in progress with that id; NULL if there is none, or it was cancelled. */
struct mcp_call *session_find_call(const struct mcp_session *session, const json_t *id);

/* methods.c */
void methods_dispatch(struct mcp_call *call);
void methods_notified(struct mcp_session *session, const struct rpc_message *rpc);

/* The methods, one file per feature. Each answers the call. */
typedef void method_fn(struct mcp_call *call);
method_fn initialize_method, discover_method, ping_method, set_level_method;
method_fn tools_list_method, tools_call_method;
method_fn resources_list_method, templates_list_method, resources_read_method;
method_fn resources_subscribe_method, resources_unsubscribe_method;
method_fn prompts_list_method, prompts_get_method;
method_fn complete_method;
method_fn listen_method;

/* describe.c: what a server offers, by the tables it was given. */
enum offer {
	OFFER_ALWAYS,
	OFFER_TOOLS,
	OFFER_PROMPTS,
	OFFER_RESOURCES,
	OFFER_SUBSCRIPTIONS, /* to resources that change */
	OFFER_COMPLETIONS,
};
bool server_offers(const struct mcp_server *server, enum offer offer);
/* The parts of a thing's description its revision knows. */
struct describe {
	const char *title, *help;
	const struct mcp_icon *icon;
};
void describe_into(json_t *object, enum mcp_revision revision, const struct describe *what);
json_t *describe_server(const struct mcp_server *server, enum mcp_revision revision, bool brief);
json_t *describe_capabilities(const struct mcp_server *server, enum mcp_revision revision);

/* roots.c */
void roots_ask(struct mcp_session *session); /* if the client has any */
/* Whether it is the answer to that. */
bool roots_answered(struct mcp_session *session, const struct rpc_message *rpc);

/* listen.c */
void listen_finish(struct mcp_call *call); /* the server ends the stream */

/* list.c: answers with the page of a table (an array of records ending in NULL, or NULL)
 * that the request asks for, under the key `what`. */
typedef json_t *describe_fn(const void *record, enum mcp_revision revision);
void list_reply(struct mcp_call *call, const char *what, const void *table, describe_fn *describe);
void cache_hints(const struct mcp_call *call, json_t *result, uint32_t ms);

/* uri_template.c: what %41 and the like stand for, as a string; NULL if that is no UTF-8. */
json_t *uri_percent_decode(struct view encoded);
/* the variables of a URI, as an object; NULL if it does not match. */
json_t *uri_template_match(const char *uri_template, const char *uri);
