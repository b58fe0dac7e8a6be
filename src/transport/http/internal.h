/* internal.h - connections and requests, for the files of src/transport/http.
 *
 *   IDLE ---> HEAD ---> REQUEST ---> SKIP ---> IDLE          keep-alive
 *     |         |        |  |         |
 *     |         |        | RAW        |
 *     '---------'--------'--'---------'-----> FLUSH ---> LINGER ---> CLOSED
 *
 *   http_server.c         accepts connections; one timer visits all of them about once a second
 *   conn.c conn_output.c  the states of a connection; what is written while input is processed is
 *                         collected and sent by one system call
 *   tls.c                 decrypts and encrypts in memory
 *   head_scan.c           finds the end of a head, whatever pieces arrive
 *   head_parse.c          checks a head and splits it in place; target.c, chars.c: parts of that
 *   body.c                a body of a known length, or in chunks
 *   request.c response.c  the functions of http.h
 *   http_listen.c         sockets, opened before the server is confined
 *
 * A connection without a request has no buffer: an open connection that is silent costs less than
 * 1 KiB. A connection is closed from the loop only, never from within a function that a handler
 * calls: those mark the connection as broken and put it on the server's list of ready ones. */
#pragma once
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/list.h"
#include "transport/http/body.h"
#include "transport/http/head.h"
#include "transport/http/http.h"

struct loop_socket;
struct loop_timer;
struct tls_session;

enum conn_state {
	CONN_IDLE,    /* between two requests, or before the first */
	CONN_HEAD,    /* a part of a head has arrived */
	CONN_REQUEST, /* the handler has the request */
	CONN_RAW,     /* the handler writes to the client, and reads from it, itself */
	CONN_SKIP,    /* the response is complete, the rest of the body is dropped */
	CONN_FLUSH,   /* the connection ends when the queue is written */
	CONN_LINGER,  /* the writing side is shut down; input is dropped until the client closes */
	CONN_CLOSED,  /* freed by the server's wake-up */
};

struct conn {
	struct list node;  /* of server->conns; or of server->closed */
	struct list idle;  /* of server->idle, while IDLE; the longest idle first */
	struct list ready; /* of server->ready: conn_run() is due */
	struct http_server *server;
	struct loop_socket *socket;
	struct tls_session *tls;      /* NULL: plain */
	struct http_request *request; /* in HEAD and REQUEST */
	struct body_reader body;      /* of the request, in REQUEST and SKIP */
	struct buf held;              /* input that waits for the end of the request */
	struct buf queue; /* output that the client has not taken; from queue_start on */
	size_t queue_start;
	size_t skip_left;     /* bytes of the body that may still be dropped */
	uint64_t deadline_ms; /* of the state; 0: none */
	uint64_t written_ms;  /* the last progress of writing */
	enum conn_state state;
	bool is_paused;     /* the socket is not read */
	bool is_processing; /* conn_run() is on the stack */
	bool has_ended;     /* the client writes no more */
	bool is_broken;     /* writing failed, or a limit was met: nothing more is written */
	sa_family_t family;
	in_port_t port;          /* of the client, as in struct sockaddr_in */
	struct in6_addr address; /* of the client; for AF_INET in the first four bytes */
};

enum response_state { RESPONSE_NONE, RESPONSE_STREAM, RESPONSE_DONE };

struct http_request {
	struct list node; /* of server->spare_requests */
	struct conn *conn;
	struct head_scan scan;
	struct buf text; /* the head */
	struct head head;
	size_t field_room;
	struct arena arena; /* joined values of repeated fields */
	struct buf content; /* the body, as far as it has arrived in several parts */
	void (*on_body)(void *ctx, struct view body); /* while the body is read */
	void *body_ctx;
	void (*on_closed)(void *ctx);
	void *closed_ctx;
	const char *keep_alive;
	const struct http_raw_events *raw; /* in RAW */
	void *raw_ctx;
	uint64_t start_ms;
	uint64_t sent_bytes;
	int status;
	enum response_state response;
	bool is_valid; /* the head was parsed */
	bool sent_continue;
	bool is_raw_paused; /* bytes of the client are held, in RAW */
	bool is_bodiless;   /* the response has no body: HEAD, 204, 304 */
	bool is_chunked;    /* the length of the response is not known */
	bool closes;        /* the connection ends after the response */
};

struct listener {
	struct list node;
	struct http_server *server;
	struct loop_watch *watch; /* NULL while no connection is accepted */
	struct http_listener_options options;
	int fd;
};

enum { CORK_BYTES = 16 * 1024, PLAIN_BYTES = 16 * 1024, DATE_SIZE = 40 };

struct http_server {
	struct loop *loop;
	struct http_config config;
	struct list listeners;
	struct list conns, idle, ready, closed;
	struct list spare_requests;
	size_t conn_count, spare_count;
	size_t body_bytes;              /* of all bodies that are being received */
	struct loop_timer *wake_timer;  /* due at once: ready and closed connections */
	struct loop_timer *sweep_timer; /* checks deadlines */
	uint64_t sweep_ms;
	struct conn *corked; /* its output is collected in `cork` until conn_run() ends */
	struct buf cork;
	struct buf head;  /* the head of the response that is being made */
	char *plain;      /* decrypted input; NULL until the first TLS connection */
	long long date_s; /* of `date` */
	char date[DATE_SIZE];
	bool is_stopping, is_accept_paused, is_waking, is_warned;
	void (*on_idle)(void *ctx);
	void *idle_ctx;
};

/* conn.c */
void conn_new(struct http_server *server, int fd, const struct http_listener_options *options,
              const struct sockaddr *peer, socklen_t peer_len);
/* Handles input that has arrived, `bytes` last. The connection may be closed afterwards. */
void conn_run(struct conn *conn, struct view bytes);
void conn_close(struct conn *conn);    /* from the loop only; calls closed() of the request */
void conn_schedule(struct conn *conn); /* lets the loop call conn_run() */
void conn_set_state(struct conn *conn, enum conn_state state);
void conn_check_times(struct conn *conn, uint64_t now_ms);
const char *conn_peer(const struct conn *conn, char out[HTTP_PEER_SIZE]);

/* conn_output.c */
void conn_write(struct conn *conn, const struct view *parts, size_t count);
void conn_flush(struct conn *conn); /* writes the queue as far as the client takes it */
size_t conn_queued(const struct conn *conn);
void conn_cork(struct conn *conn);
void conn_uncork(struct conn *conn);

/* request.c */
struct http_request *request_new(struct conn *conn) RETURNS_NONNULL;
/* Reads the head from the front of *bytes; the handler is called when it is complete. */
void request_read_head(struct http_request *request, struct view *bytes);
/* In RAW: passes bytes on. False: the handler does not take any now. */
bool request_read_raw(struct http_request *request, struct view *bytes);
/* Reads the body if the handler wants it. False: nothing to do until more arrives. */
bool request_read_body(struct http_request *request, struct view *bytes);
/* The body may still arrive, and the handler waits for it. */
bool request_is_reading(const struct http_request *request);
/* Answers a request by the library itself. The connection ends. */
void request_reject(struct http_request *request, int status, const char *text);
/* Tells the log and frees the request. */
void request_finish(struct http_request *request, bool is_complete);
/* Sends something harmless, so that a client which has closed both directions answers with a
 * reset. */
void request_probe(struct http_request *request);

/* response.c */
const char *status_text(int status);
void stream_keep_alive(struct http_request *request);

/* http_server.c */
void server_wake(struct http_server *server);
void server_start_sweep(struct http_server *server);
const char *server_date(struct http_server *server);
