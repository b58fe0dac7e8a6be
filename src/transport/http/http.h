/* http.h - an HTTP/1.1 server that knows nothing of MCP.
 *
 *   http_server_new() -> http_server_listen() ... -> http_server_stop() -> http_server_free()
 *
 * The handler gets each request when its head is complete and valid. It ends the request with
 * http_respond(), or with http_stream_start(), http_stream_write() ... http_stream_end(), at once
 * or later:
 *
 *   request() -- http_read_body() -> body() --> http_respond()
 *       |                              '------> http_stream_start() ... http_stream_end()
 *       '-------------- the client closes, a limit is met ------------> closed()
 *
 * A request is valid, with all texts that its functions return, until http_respond() or
 * http_stream_end() returns or closed() was called. Callbacks come from the loop, never from
 * within a function of this header. Requests of one connection are handled one after the other.
 *
 * The parser is strict (RFC 9112 without its allowances for old clients): a request that another
 * HTTP program might split or route differently is answered with an error, and the connection is
 * closed. Such requests never reach the handler. The parser is Belljar's own: of 88 invalid
 * requests libevent's evhttp accepted 42 and libmicrohttpd 39. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/cleanup.h"
#include "base/view.h"

struct buf;
struct http_request;
struct http_server;
struct http_tls;
struct loop;

/* Any other method that HTTP defines for resources is HTTP_OTHER; CONNECT, TRACE and unknown ones
 * are answered with 501. */
enum http_method { HTTP_GET, HTTP_HEAD, HTTP_POST, HTTP_DELETE, HTTP_OPTIONS, HTTP_OTHER };

/* A field of a response. Arrays end with a name of NULL. Content-Length, Transfer-Encoding,
 * Connection and Date are the library's. Control characters in a value become spaces. */
struct http_field {
	const char *name, *value;
};

/* Times are checked about once a second, or more often if a limit is shorter. */
struct http_limits {
	size_t max_head;        /* bytes of request line and fields; else 431 or 414 */
	size_t max_fields;      /* else 431 */
	size_t max_body;        /* else 413, before the body is read if its length was declared */
	size_t max_bodies;      /* bytes of all bodies that are being received; else 503 */
	size_t max_connections; /* more wait in the kernel; idle connections make room */
	/* Bytes of a stream that the client has not taken yet; more close the connection. A
	 * response of http_respond() may be longer. */
	size_t max_queue;
	uint64_t head_ms;       /* from the first byte (or the connection) to the end of the head */
	uint64_t body_ms;       /* to the end of the body */
	uint64_t idle_ms;       /* between two requests of a connection */
	uint64_t write_ms;      /* without progress while the client does not read */
	uint64_t keep_alive_ms; /* between two keep-alives of a silent stream */
};
extern const struct http_limits http_default_limits;

/* A finished request, for an access log. A text is "" if the head was not valid. */
struct http_log {
	const char *method, *path; /* the path is decoded, without the query */
	const char *peer;          /* "127.0.0.1:53122", "[::1]:53122" or "unix" */
	int status;                /* 0: the connection ended before the response began */
	bool is_complete;          /* false: the connection ended before the response did */
	uint64_t sent_bytes;       /* of the response's body */
	uint64_t duration_ms;      /* since the head was complete */
};

struct http_config {
	struct http_limits limits;
	/* Fields that a request may have once only, besides those that the library knows (Host,
	 * Content-Type, Authorization, Origin ...): names in lower case; a '*' at the end stands
	 * for any rest. Ends with NULL; NULL: no more. A repeated one is answered with 400. */
	const char *const *single_fields;
	/* The head is complete and valid; the body has not been read. */
	void (*request)(void *ctx, struct http_request *request);
	/* Called for every request, also for those that the library answered itself. NULL: not
	 * wanted. */
	void (*finished)(void *ctx, const struct http_log *log);
	void *ctx;
};

/* The config is copied; what it points to must outlive the server. */
struct http_server *http_server_new(struct loop *loop,
                                    const struct http_config *config) RETURNS_NONNULL;

/* How connections of a listener are treated. `tls` (http_tls.h) must outlive the server; NULL:
 * plain HTTP. */
struct http_listener_options {
	struct http_tls *tls;
};
/* Accepts connections of a socket that listens (http_listen.h). The server closes fd. */
void http_server_listen(struct http_server *server, int fd,
                        const struct http_listener_options *options);

/* Closes the listeners and all idle connections. Requests in progress go on, and their connections
 * are closed after them. */
void http_server_stop(struct http_server *server);
/* Calls fn from the loop once the server is stopped and has no connection any more. */
void http_server_on_idle(struct http_server *server, void (*fn)(void *ctx), void *ctx);
size_t http_server_connections(const struct http_server *server);
/* Closes all connections; calls closed() of requests in progress. Not from a callback of the
 * server. */
struct http_server *http_server_free(struct http_server *server);
DEFINE_CLEANUP(http_server)

enum http_method http_method(const struct http_request *request);
const char *http_method_text(const struct http_request *request);
/* The path without the query, percent-decoded: valid UTF-8 that begins with '/' and has neither
 * control characters nor segments "." and "..", nor a slash that was encoded. "*" for OPTIONS *. */
const char *http_path(const struct http_request *request);
const char *http_query(const struct http_request *request); /* as received, "" without one */
/* A field's value without white space around it, or NULL. `name` is in lower case. The values of a
 * repeated field are joined with ", ". */
const char *http_get(struct http_request *request, const char *name);
bool http_is_tls(const struct http_request *request);

enum { HTTP_PEER_SIZE = 64 };
/* Writes the client's address as in struct http_log. Returns out. */
const char *http_peer(const struct http_request *request, char out[HTTP_PEER_SIZE]);

/* Looks `name` up in a query string or a form and appends the decoded value to *ret. Returns 1, 0
 * if there is no such name, -1 if the name appears twice, the encoding of its value is wrong, the
 * value has a NUL byte or does not fit. */
MUST_CHECK int http_query_get(const char *query, const char *name, struct buf *ret);

/* Calls body() once with the whole body, which is valid until body() returns; empty if the request
 * has none. Sends "100 Continue" if the client waits for it. A body that is too large, malformed or
 * late is answered by the library, and closed() is called. May be left out: then the rest of the
 * body is skipped after the response. */
void http_read_body(struct http_request *request, void (*body)(void *ctx, struct view body),
                    void *ctx);

/* closed() is called if the request ends in any other way than by http_respond() or
 * http_stream_end(): the client closed the connection or did not read (write_ms, max_queue), the
 * body was refused, the server is freed. It is the last callback. A client that only shut down its
 * writing side (half-close) still gets its response; to tell it from one that closed, the library
 * sends "102 Processing" before a response has begun, and the keep-alive of a stream. Over TLS
 * both count as closed. */
void http_on_close(struct http_request *request, void (*closed)(void *ctx), void *ctx);

/* Ends the request. */
void http_respond(struct http_request *request, int status, const struct http_field *fields,
                  struct view body);

/* Starts a response of unknown length. `keep_alive` (NULL: none) is written after keep_alive_ms
 * without a write, so that proxies keep the connection open and a client that is gone is noticed;
 * it must mean nothing to clients, such as ": keep-alive\n\n" in an event stream. */
void http_stream_start(struct http_request *request, int status, const struct http_field *fields,
                       const char *keep_alive);
void http_stream_write(struct http_request *request, struct view bytes);
void http_stream_end(struct http_request *request);

/* --- the connection as it is --- */

/* For a request that is passed on to another server. After http_raw_start() the connection carries
 * what the caller writes, beginning with a status line, and ends with the request: http_raw_end()
 * closes it when everything is written, so the caller writes "Connection: close" unless it switches
 * protocols. The head and the body of the request must have been read before. */
struct http_raw_events {
	/* Bytes that the client has sent behind the request. NULL: they are dropped. */
	void (*bytes)(void *ctx, struct view bytes);
	void (*ended)(void *ctx);   /* the client writes no more; may be NULL */
	void (*drained)(void *ctx); /* the client has taken everything that was written */
};
void http_raw_start(struct http_request *request, int status, const struct http_raw_events *events,
                    void *ctx);
void http_raw_write(struct http_request *request, struct view bytes);
/* Stops or starts again passing bytes of the client on. */
void http_raw_pause(struct http_request *request, bool is_paused);
void http_raw_end(struct http_request *request);

/* The i-th field of the request, with its name in lower case; false behind the last. */
bool http_field_at(const struct http_request *request, size_t i, struct http_field *ret);

/* Bytes of the response that the client's connection has not taken yet. */
size_t http_queued(const struct http_request *request);
