#include <arpa/inet.h>
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/num.h"
#include "loop/socket.h"
#include "transport/http/internal.h"
#include "transport/http/tls.h"

enum {
	LINGER_MS = 2000,
	HELD_BYTES = LOOP_SOCKET_CHUNK, /* with more than this the socket is not read */
	QUEUE_MAX = 1 << 30, /* only for the buffer: http_stream_write() applies max_queue */
};

static const struct view no_bytes = { "", 0 };

void conn_schedule(struct conn *conn)
{
	if (conn->is_processing || conn->ready.next != NULL || conn->state == CONN_CLOSED)
		return;
	list_add(&conn->server->ready, &conn->ready);
	server_wake(conn->server);
}

static uint64_t state_limit(const struct conn *conn, enum conn_state state)
{
	const struct http_limits *limits = &conn->server->config.limits;

	switch (state) {
	case CONN_IDLE:
		return limits->idle_ms;
	case CONN_HEAD:
		return limits->head_ms;
	case CONN_REQUEST:
	case CONN_SKIP:
		return limits->body_ms;
	case CONN_LINGER:
		return LINGER_MS;
	case CONN_RAW:
	case CONN_FLUSH: /* limited by write_ms */
	case CONN_CLOSED:
		break;
	}
	return 0;
}

void conn_set_state(struct conn *conn, enum conn_state state)
{
	uint64_t limit = state_limit(conn, state);

	conn->deadline_ms = limit != 0 ? clock_now_ms() + limit : 0;
	conn->state = state;
	if (state == CONN_IDLE)
		list_add(&conn->server->idle, &conn->idle);
	else
		list_remove(&conn->idle);
	if (state == CONN_IDLE && conn->server->is_accept_paused)
		server_wake(conn->server); /* an idle connection may be closed for a new one */
}

/* Everything is written: the client reads the end of the connection after it. Closing at once would
 * send a reset if the client has sent something meanwhile, and the reset would destroy the response
 * in the client's kernel. */
static void start_linger(struct conn *conn)
{
	if (conn->tls != NULL) {
		tls_session_end(conn->tls);
		conn_flush(conn);
	}
	if (conn->has_ended || conn->is_broken) {
		conn_close(conn);
		return;
	}
	conn_set_state(conn, CONN_LINGER);
	buf_done(&conn->held);
	if (conn->is_paused)
		loop_socket_resume(conn->socket);
	loop_socket_shutdown(conn->socket);
}

/* Reads the rest of a body that the handler did not want. Its bytes must not be taken for the next
 * request: a client behind a proxy that shares the connection could send a request in the name of
 * another (request smuggling). A rest that is too long, or malformed, ends the connection. */
static void skip_body(struct conn *conn, struct view *bytes)
{
	enum body_result result;
	struct view data;

	while ((result = body_next(&conn->body, bytes, &data)) == BODY_DATA) {
		if (data.len > conn->skip_left) {
			conn_set_state(conn, CONN_FLUSH);
			return;
		}
		conn->skip_left -= data.len;
	}
	if (result == BODY_BAD)
		conn_set_state(conn, CONN_FLUSH);
	if (result == BODY_DONE)
		conn_set_state(conn, CONN_IDLE);
}

/* Handles input until it is used up or the connection waits for the handler or the client. */
static void process_input(struct conn *conn, struct view *bytes)
{
	for (;;) {
		switch (conn->state) {
		case CONN_IDLE:
			/* A client that does not read its responses gets no more of them. */
			if (bytes->len == 0 || conn->is_broken ||
			    conn->queue.len != conn->queue_start)
				return;
			conn->request = request_new(conn);
			conn_set_state(conn, CONN_HEAD);
			break;
		case CONN_HEAD:
			if (bytes->len == 0)
				return;
			request_read_head(conn->request, bytes);
			break;
		case CONN_REQUEST:
			if (!request_read_body(conn->request, bytes))
				return;
			break;
		case CONN_RAW:
			if (!request_read_raw(conn->request, bytes))
				return;
			break;
		case CONN_SKIP:
			skip_body(conn, bytes);
			if (conn->state == CONN_SKIP)
				return;
			break;
		case CONN_FLUSH:
		case CONN_LINGER:
			bytes->len = 0;
			return;
		case CONN_CLOSED:
			return;
		}
	}
}

/* The client writes no more: requests that are complete are still answered. */
static void advance_ended_conn(struct conn *conn, bool has_queue)
{
	bool is_waiting = conn->state == CONN_RAW ||
	                  (conn->state == CONN_REQUEST && !request_is_reading(conn->request));

	if (is_waiting || (conn->state == CONN_IDLE && conn->held.len != 0))
		return;
	if (!has_queue || conn->state == CONN_REQUEST) {
		conn_close(conn);
		return;
	}
	if (conn->state == CONN_HEAD)
		request_finish(conn->request, false);
	conn_set_state(conn, CONN_FLUSH);
}

/* Closes the connection, pauses it or resumes it, after input or output has been handled. */
static void advance_conn(struct conn *conn)
{
	bool has_queue = conn->queue.len != conn->queue_start;
	bool is_full = conn->held.len >= HELD_BYTES;

	if (conn->is_broken) {
		conn_close(conn);
		return;
	}
	if (conn->has_ended && conn->state != CONN_FLUSH) {
		advance_ended_conn(conn, has_queue);
		return;
	}
	if (conn->state == CONN_FLUSH && !has_queue) {
		start_linger(conn);
		return;
	}
	if (is_full != conn->is_paused && !conn->has_ended) {
		conn->is_paused = is_full;
		if (is_full)
			loop_socket_pause(conn->socket);
		else
			loop_socket_resume(conn->socket);
	}
}

/* Keeps the rest of the input for later. */
static void hold_input(struct conn *conn, struct view rest, bool is_held)
{
	if (rest.len == 0) {
		buf_done(&conn->held);
	} else if (is_held) {
		memmove(conn->held.ptr, rest.ptr, rest.len);
		buf_truncate(&conn->held, rest.len);
	} else if (!buf_put(&conn->held, rest)) {
		conn->is_broken = true;
	}
}

void conn_run(struct conn *conn, struct view bytes)
{
	bool is_held = conn->held.len != 0;
	struct view rest;

	assert(!conn->is_processing);
	list_remove(&conn->ready);
	if (is_held && !buf_put(&conn->held, bytes))
		conn->is_broken = true;
	rest = is_held ? buf_view(&conn->held) : bytes;
	conn->is_processing = true;
	conn_cork(conn);
	if (!conn->is_broken)
		process_input(conn, &rest);
	conn_uncork(conn);
	conn->is_processing = false;
	hold_input(conn, rest, is_held);
	advance_conn(conn);
}

static void on_encrypted_bytes(struct conn *conn, struct view bytes)
{
	struct http_server *server = conn->server;
	ssize_t n;

	if (server->plain == NULL)
		server->plain = mem_new(PLAIN_BYTES);
	tls_session_feed(conn->tls, bytes);
	while ((n = tls_session_read(conn->tls, server->plain, PLAIN_BYTES)) > 0) {
		conn_flush(conn); /* the end of the handshake comes before the first response */
		conn_run(conn, (struct view){ server->plain, (size_t)n });
		if (conn->state == CONN_CLOSED)
			return;
	}
	conn_flush(conn); /* the handshake, or an alert */
	if (n == TLS_MORE)
		return;
	/* A client that ends its TLS session does not read any more. */
	conn_close(conn);
}

static void on_bytes(void *ctx, struct view bytes)
{
	struct conn *conn = ctx;

	if (conn->state == CONN_LINGER)
		return;
	if (conn->tls != NULL)
		on_encrypted_bytes(conn, bytes);
	else
		conn_run(conn, bytes);
}

static void on_end(void *ctx)
{
	struct conn *conn = ctx;

	conn->has_ended = true;
	if (conn->state == CONN_LINGER || conn->tls != NULL) {
		conn_close(conn);
		return;
	}
	if (conn->state == CONN_REQUEST && !request_is_reading(conn->request))
		request_probe(conn->request);
	if (conn->state == CONN_RAW && conn->request->raw->ended != NULL)
		conn->request->raw->ended(conn->request->raw_ctx);
	advance_conn(conn);
}

/* The client has sent more requests than the connection holds, and then closed or shut down its
 * side. A write tells which: a client that has closed answers with a reset. */
static void on_ending(void *ctx)
{
	struct conn *conn = ctx;

	if (conn->state == CONN_REQUEST && !request_is_reading(conn->request))
		request_probe(conn->request);
}

static void on_writable(void *ctx)
{
	struct conn *conn = ctx;

	conn_flush(conn);
	if (conn->queue.len != conn->queue_start && !conn->is_broken)
		return;
	if (conn->state == CONN_RAW && !conn->is_broken)
		conn->request->raw->drained(conn->request->raw_ctx);
	if (conn->state == CONN_IDLE)
		conn->deadline_ms = clock_now_ms() + conn->server->config.limits.idle_ms;
	conn_run(conn, no_bytes);
}

static void on_failed(void *ctx, const struct error *why)
{
	(void)why;
	conn_close(ctx);
}

static const struct loop_socket_events socket_events = { on_bytes, on_end, on_writable, on_failed,
	                                                 on_ending };

static void set_peer(struct conn *conn, const struct sockaddr *peer, socklen_t len)
{
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;

	conn->family = peer->sa_family;
	if (peer->sa_family == AF_INET && len >= sizeof v4) {
		memcpy(&v4, peer, sizeof v4);
		conn->port = v4.sin_port;
		memcpy(&conn->address, &v4.sin_addr, sizeof v4.sin_addr);
	} else if (peer->sa_family == AF_INET6 && len >= sizeof v6) {
		memcpy(&v6, peer, sizeof v6);
		conn->port = v6.sin6_port;
		conn->address = v6.sin6_addr;
	}
}

const char *conn_peer(const struct conn *conn, char out[HTTP_PEER_SIZE])
{
	bool is_v6 = conn->family == AF_INET6;
	char text[INET6_ADDRSTRLEN];

	if ((conn->family != AF_INET && !is_v6) ||
	    inet_ntop(conn->family, &conn->address, text, sizeof text) == NULL)
		(void)snprintf(out, HTTP_PEER_SIZE, "unix");
	else
		(void)snprintf(out, HTTP_PEER_SIZE, is_v6 ? "[%s]:%u" : "%s:%u", text,
		               (unsigned)ntohs(conn->port));
	return out;
}

void conn_new(struct http_server *server, int fd, const struct http_listener_options *options,
              const struct sockaddr *peer, socklen_t peer_len)
{
	struct conn *conn = mem_new(sizeof *conn);

	conn->server = server;
	set_peer(conn, peer, peer_len);
	buf_init(&conn->held, (size_t)HELD_BYTES + LOOP_SOCKET_CHUNK);
	buf_init(&conn->queue, QUEUE_MAX);
	if (options->tls != NULL)
		conn->tls = tls_session_new(options->tls, &conn->queue);
	conn->socket = loop_socket_new(server->loop, fd, &socket_events, conn);
	list_add(&server->conns, &conn->node);
	server->conn_count++;
	conn->written_ms = clock_now_ms();
	conn_set_state(conn, CONN_IDLE);
	/* A client that has just connected has a request to send. head_ms, not the longer idle_ms:
	 * connections on which nothing is sent would use up the places of all clients. */
	conn->deadline_ms = clock_now_ms() + server->config.limits.head_ms;
	server_start_sweep(server);
}

void conn_close(struct conn *conn)
{
	struct http_server *server = conn->server;
	void (*on_closed)(void *ctx) = NULL;
	void *closed_ctx = NULL;

	assert(!conn->is_processing);
	if (conn->state == CONN_CLOSED)
		return;
	conn_set_state(conn, CONN_CLOSED);
	list_remove(&conn->ready);
	list_remove(&conn->node);
	conn->socket = loop_socket_free(conn->socket);
	conn->tls = tls_session_free(conn->tls);
	buf_done(&conn->held);
	buf_done(&conn->queue);
	if (conn->request != NULL) {
		on_closed = conn->request->on_closed;
		closed_ctx = conn->request->closed_ctx;
		request_finish(conn->request, false);
	}
	server->conn_count--;
	list_add(&server->closed, &conn->node);
	server_wake(server);
	if (on_closed != NULL)
		on_closed(closed_ctx);
}

/* The handler has the request, or its head is incomplete. */
static void check_request_times(struct conn *conn, bool is_late, bool is_silent)
{
	struct http_request *request = conn->request;

	if (is_late && conn->state == CONN_HEAD) {
		request_reject(request, 408, "the head did not arrive in time");
		advance_conn(conn);
	} else if (is_late && request_is_reading(request)) {
		request_reject(request, 408, "the body did not arrive in time");
		advance_conn(conn);
	} else if (is_silent && request->keep_alive != NULL) {
		stream_keep_alive(request);
	}
}

void conn_check_times(struct conn *conn, uint64_t now_ms)
{
	const struct http_limits *limits = &conn->server->config.limits;
	bool has_queue = conn->queue.len != conn->queue_start;
	bool is_late = conn->deadline_ms != 0 && now_ms >= conn->deadline_ms;
	uint64_t silent_ms = now_ms - num_min(now_ms, conn->written_ms);
	bool is_stuck = has_queue && silent_ms >= limits->write_ms;

	if (!is_stuck && conn->request != NULL)
		check_request_times(conn, is_late,
		                    !has_queue && silent_ms >= limits->keep_alive_ms);
	else if (is_stuck || (is_late && !has_queue))
		conn_close(conn);
}
