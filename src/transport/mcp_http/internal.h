/* internal.h - sessions, event streams and requests, as the files of src/transport/mcp_http share
 * them.
 *
 *   mcp_http --- sessions (http_session) --- streams (event_stream) --- events that are kept
 *            \-- streams of stateless requests, which have no session
 *
 * An event stream is what the server sends to the client that belongs together: the answer to one
 * POST, or the messages of a session that belong to no POST. An HTTP response carries it. In a
 * session a stream can lose its connection and get another one; a stateless stream ends with its
 * connection, and its call is cancelled.
 *
 *   mcp_http.c         a request, from its checks to its route; the end of the server
 *   guard.c router.c   Host and Origin; paths and methods
 *   media.c            Accept and Content-Type
 *   bodies.c           bodies that are being read
 *   post.c get.c       a message of the client; a stream that the client opens or continues
 *   http_session.c     sessions
 *   event_stream.c     a stream: its connection, its messages, its end
 *   stream_response.c  the response of a stream: JSON at once, or text/event-stream
 *   events.c           events that are kept for Last-Event-ID
 *   sse.c              HTTP+SSE of 2024-11-05
 *   plain_answers.c    answers without a stream */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"
#include "base/view.h"
#include "mcp/session.h"
#include "transport/http/http.h"
#include "transport/mcp_http/mcp_http.h"
#include "json/json.h"

enum {
	SESSION_ID_BITS = 160,
	SESSION_ID_LEN = SESSION_ID_BITS / 4, /* in hexadecimal digits */
	SESSION_BUCKETS = 1024,
	EVENT_ID_SIZE = 48,
	FIELDS_MAX = 16,
};

struct mcp_http {
	struct loop *loop;
	struct mcp_http_config config;
	struct list sessions;                 /* the one that was used last is at the end */
	struct list buckets[SESSION_BUCKETS]; /* the same sessions by id */
	size_t session_count;
	struct list owners;   /* that have sessions */
	struct list streams;  /* all of sessions and stateless requests that are not finished */
	struct list waiting;  /* of these, those without any message yet, by time */
	struct list finished; /* finished streams with events that are kept, by time */
	size_t kept_bytes;
	struct loop_timer *silence_timer;
	struct loop_timer *expiry_timer;
	uint64_t expiry_at_ms;   /* when that timer fires; UINT64_MAX: it does not run */
	struct mcp_sink no_sink; /* for messages of stateless sessions that belong to no request */
	bool stopping;
	struct loop_timer *grace_timer;
	void (*stopped)(void *ctx); /* NULL once called */
	void *stopped_ctx;
};

/* A path of a mount. */
enum endpoint { ENDPOINT_MCP, ENDPOINT_SSE, ENDPOINT_MESSAGES, ENDPOINT_HEALTH, ENDPOINT_READY };

/* A request that passed all checks of mcp_http_request(). */
struct incoming {
	struct mcp_http *http;
	struct http_request *request;
	const struct mcp_http_mount *mount;
	enum endpoint endpoint;
	struct mcp_caller caller;
	uint64_t credential; /* mcp_http_identity.credential */
};

/* --- plain_answers.c: responses that are not MCP messages --- */

/* Codes of JSON-RPC errors that the transport itself sends. */
enum answer_code {
	ANSWER_TRANSPORT = -32000, /* as the official SDKs do */
	ANSWER_NO_SESSION = -32001,
	ANSWER_INVALID_REQUEST = -32600,
};

struct fields {
	struct http_field list[FIELDS_MAX];
	size_t count;
};

void fields_add(struct fields *fields, const char *name, const char *value);
/* The fields of every response: Cache-Control, and CORS for configured origins. */
void fields_init(struct fields *fields, const struct mcp_http *http, struct http_request *request);
/* A JSON-RPC error without an id. */
void answer_error(const struct mcp_http *http, struct http_request *request, int status,
                  enum answer_code code, const char *message);
void answer_json(const struct mcp_http *http, struct http_request *request, int status,
                 json_t *body);
void answer_empty(const struct mcp_http *http, struct http_request *request, int status);
/* 405; `methods` is the list for Allow. */
void answer_not_allowed(const struct mcp_http *http, struct http_request *request,
                        const char *methods);
void answer_refusal(const struct mcp_http *http, struct http_request *request,
                    const struct mcp_http_identity *identity);

/* --- guard.c: which web pages and which names of the server are allowed --- */

/* Whether the request came by a name of this server, so that no web site has made its own name lead
 * here. */
bool guard_allows_peer(const struct mcp_http_config *config, struct http_request *request);
/* host: NULL if there is no Host. */
bool guard_allows_host(const struct mcp_http_config *config, const char *host);
bool guard_allows_origin(const struct mcp_http_config *config, const char *origin,
                         const char *host);
/* NULL if Host and Origin are allowed, else the reason why not. */
const char *guard_check(const struct mcp_http_config *config, struct http_request *request);
/* The Origin of a request, if the response must allow that origin to read it; else NULL. */
const char *guard_cors_origin(const struct mcp_http_config *config, struct http_request *request);
/* Answers OPTIONS. `allow` is the list of methods of the path. */
void guard_answer_options(const struct mcp_http *http, struct http_request *request,
                          const char *allow);

/* --- router.c --- */

/* Finds the endpoint of a path; *ret_mount is NULL for endpoints that belong to no mount. */
bool route_find(const struct mcp_http_config *config, const char *path, enum endpoint *ret,
                const struct mcp_http_mount **ret_mount);
/* The methods of an endpoint, for Allow. */
const char *route_methods(enum endpoint endpoint);
bool route_has_method(enum endpoint endpoint, enum http_method method);

/* --- media.c: Accept and Content-Type --- */

bool media_is_json(const char *content_type);
/* Whether a client with this Accept (NULL: absent) takes the media type `type`/`subtype`. */
bool media_accepts(const char *accept, const char *type, const char *subtype);

/* --- events.c: event ids, and the events that a session keeps --- */

struct event_stream;
struct http_session;

/* An event id names the stream and the position in it. It has a meaning only within its session. */
struct event_id {
	uint64_t stream, position;
};
bool event_id_parse(const char *text, struct event_id *ret);
void event_id_format(const struct event_id *id, char out[EVENT_ID_SIZE]);

/* The bytes of an event with this message; id: NULL for none. The caller frees. */
char *event_format(const struct event_id *id, struct view text, size_t *ret_len);

/* Numbers the message, keeps it within the limits of the session, and writes it to the stream's
 * connection, if it has one. */
void events_add(struct event_stream *stream, struct view text);
/* False if an event after this position is not kept any more. */
bool events_has_after(const struct event_stream *stream, uint64_t position);
/* Writes all events of the stream after this position to its connection. */
void events_replay(struct event_stream *stream, uint64_t position);
/* Removes all events of one stream. */
void events_remove(struct event_stream *stream);

/* --- event_stream.c --- */

enum stream_state {
	STREAM_WAITING, /* no message yet: the answer may still be plain JSON */
	STREAM_EVENTS,  /* the answer is an event stream */
	STREAM_ENDED,   /* the answer was JSON, or nothing more can be sent */
};

struct event_stream {
	struct mcp_sink sink;
	struct mcp_http *http;
	struct http_session *session; /* NULL: stateless */
	struct mcp_session *own; /* of a stateless stream: the MCP session of its one request */
	uint64_t credential;     /* of a stateless stream: what it was opened with */
	struct http_request *request; /* the response that carries the stream; NULL: none now */
	enum stream_state state;
	bool accepts_events;      /* the client takes text/event-stream */
	bool is_listen;           /* subscriptions/listen, which never finishes by itself */
	bool is_initialize;       /* starts the session */
	bool is_relay;            /* of HTTP+SSE: all messages go to the stream of the session */
	bool in_receive;          /* mcp_session_receive_on() is on the stack */
	bool is_finished;         /* done() was called */
	uint64_t number;          /* in the session; 0: the messages that belong to no POST */
	uint64_t last;            /* position of the last event; the first has 1 */
	uint64_t written;         /* position of the last event that was written to a connection */
	uint64_t first_kept;      /* events from this position on are kept */
	uint64_t since_ms;        /* when the stream began to wait, or when it was finished */
	struct list node;         /* in mcp_http.streams */
	struct list session_node; /* in http_session.streams */
	struct list time_node;    /* in mcp_http.waiting or .finished */
};

/* Initializes the stream of a session that carries messages of no POST. */
void event_stream_init(struct event_stream *stream, struct http_session *session);
/* Passes a POST to the session. Takes over input. The stream frees itself. */
void event_stream_receive(struct incoming *incoming, struct http_session *session,
                          struct mcp_input *input, const struct mcp_headers *headers);
/* Passes a stateless POST to an MCP session of its own. Takes over input. */
void event_stream_receive_alone(struct incoming *incoming, struct mcp_input *input,
                                const struct mcp_headers *headers);
/* Passes a message of HTTP+SSE, whose POST has been answered, to the session. Takes over input. */
void event_stream_relay(struct http_session *session, struct mcp_input *input);
/* Begins an event stream on a response. `position`: of the event that the client has. */
void event_stream_open(struct event_stream *stream, struct http_request *request,
                       uint64_t position);
/* Removes and frees a finished stream of a session. */
void event_stream_free(struct event_stream *stream);
/* Cancels the request of a stateless stream, or ends it if it is a listen request. */
void event_stream_close_alone(struct event_stream *stream);
void event_streams_check_silence(struct mcp_http *http);

/* --- stream_response.c: the response that carries a stream --- */

/* The stream does not wait for its first message any more. */
void stream_end_waiting(struct event_stream *stream, enum stream_state state);
void stream_start_events(struct event_stream *stream);
/* Writes an event without a message, whose id lets the client resume the stream from `position`
 * (SEP-1699), if the client knows such events. */
void stream_write_first_event(struct event_stream *stream, uint64_t position);
/* Writes an event without an id. */
void stream_write_event(struct event_stream *stream, struct view text);
/* Ends the response with the only message of the stream. */
void stream_respond_json(struct event_stream *stream, const struct mcp_message *message);
/* Ends the response that carries the stream, if any. */
void event_stream_disconnect(struct event_stream *stream);

/* --- http_session.c --- */

/* The memory and the streams that all sessions of one owner use together. */
struct http_owner {
	struct list node; /* in mcp_http.owners */
	char *name;
	size_t session_count;
	size_t kept_bytes; /* of events */
};

struct http_session {
	struct mcp_http *http;
	struct http_owner *owner;
	const struct mcp_http_mount *mount;
	struct mcp_session *mcp;
	char id[SESSION_ID_LEN + 1];
	struct mcp_caller caller; /* caller.owner is owner->name */
	uint64_t credential;      /* of the request that started the session */
	bool is_sse;              /* HTTP+SSE of 2024-11-05: ends with the connection of `main` */
	bool is_closing;
	struct event_stream main; /* the messages that belong to no POST */
	struct list streams;      /* of POSTs */
	size_t open_count;        /* POSTs that are not finished */
	uint64_t last_stream;     /* number of the last stream */
	struct list events;       /* kept, oldest first */
	size_t event_count, event_bytes;
	uint64_t used_ms;
	struct list node, bucket_node;
};

/* Starts a session; NULL if there are too many. */
struct http_session *http_session_new(const struct incoming *incoming, bool is_sse);
/* The session of this id, if it is the caller's and of this mount; else NULL. */
struct http_session *http_session_find(const struct incoming *incoming, const char *id,
                                       bool is_sse);
/* The session was used: it does not expire for a while. */
void http_session_touch(struct http_session *session);
/* Cancels all calls, ends all streams and frees. Not from within a function of a sink. */
void http_session_close(struct http_session *session);
/* Whether the client knows events without data: the server may close streams and let it poll. */
bool http_session_has_polling(const struct http_session *session);
void http_sessions_expire(struct mcp_http *http);
/* Starts the timer that calls http_sessions_expire(). */
void http_sessions_schedule(struct mcp_http *http);

/* --- endpoints: one file each --- */

void post_mcp(const struct incoming *incoming);
void get_mcp(const struct incoming *incoming);
void delete_mcp(const struct incoming *incoming);
void get_sse(const struct incoming *incoming);
void post_messages(const struct incoming *incoming);

/* Finds the session that Mcp-Session-Id names and checks MCP-Protocol-Version. NULL: the request
 * has been answered. */
struct http_session *find_session(const struct incoming *incoming);

/* bodies.c: reads the body of a POST, then calls fn. Answers 415 if it is not JSON. */
typedef void body_fn(struct incoming *incoming, struct view body);
void read_json_body(const struct incoming *incoming, body_fn *fn);

/* Calls stopped() if the server is being stopped and no call is in progress. */
void mcp_http_check_stopped(struct mcp_http *http);
