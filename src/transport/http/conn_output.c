#include <string.h>
#include <sys/uio.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "loop/socket.h"
#include "transport/http/internal.h"
#include "transport/http/tls.h"

/* Parts of one write: the corked output, and up to three of the caller. */
enum { PARTS_MAX = 4, KEEP_QUEUE = 2048 };

size_t conn_queued(const struct conn *conn)
{
	const struct http_server *server = conn->server;

	return conn->queue.len - conn->queue_start +
	       (server->corked == conn ? server->cork.len : 0);
}

static bool has_queue(const struct conn *conn)
{
	return conn->queue.len != conn->queue_start;
}

static void break_conn(struct conn *conn)
{
	conn->is_broken = true;
	conn_schedule(conn);
}

/* Moves the unwritten rest to the front when more than half of a large queue is written. */
static void compact_queue(struct conn *conn)
{
	if (conn->queue_start < CORK_BYTES || conn->queue_start < conn->queue.len / 2)
		return;
	memmove(conn->queue.ptr, conn->queue.ptr + conn->queue_start,
	        conn->queue.len - conn->queue_start);
	buf_truncate(&conn->queue, conn->queue.len - conn->queue_start);
	conn->queue_start = 0;
}

static void add_to_queue(struct conn *conn, struct view bytes)
{
	compact_queue(conn);
	if (!buf_put(&conn->queue, bytes))
		break_conn(conn);
}

/* Writes parts to a client that has taken everything before, and queues the rest. */
static void write_parts(struct conn *conn, const struct view *parts, size_t count)
{
	struct iovec vec[PARTS_MAX] = { 0 };
	struct error err;
	ssize_t taken;

	for (size_t i = 0; i < count; i++)
		vec[i] = (struct iovec){ (void *)(uintptr_t)parts[i].ptr, parts[i].len };
	taken = loop_socket_write(conn->socket, vec, count, &err);
	if (taken < 0) {
		break_conn(conn);
		return;
	}
	for (size_t i = 0; i < count; i++) {
		size_t skip = (size_t)taken < parts[i].len ? (size_t)taken : parts[i].len;

		taken -= (ssize_t)skip;
		if (skip < parts[i].len)
			add_to_queue(conn,
			             (struct view){ parts[i].ptr + skip, parts[i].len - skip });
	}
}

/* The queue is empty: a connection that is silent keeps no more than a small buffer. */
static void free_queue(struct conn *conn)
{
	size_t cap = conn->queue.cap;

	conn->queue_start = 0;
	buf_clear(&conn->queue);
	if (cap <= KEEP_QUEUE)
		return;
	buf_done(&conn->queue);
	mem_trim(cap);
}

void conn_flush(struct conn *conn)
{
	struct iovec rest = { conn->queue.ptr + conn->queue_start,
		              conn->queue.len - conn->queue_start };
	struct error err;
	ssize_t taken;

	if (conn->is_broken || rest.iov_len == 0)
		return;
	taken = loop_socket_write(conn->socket, &rest, 1, &err);
	if (taken < 0) {
		break_conn(conn);
		return;
	}
	conn->queue_start += (size_t)taken;
	if (taken > 0)
		conn->written_ms = clock_now_ms();
	if (has_queue(conn))
		return;
	free_queue(conn);
}

static void encrypt_parts(struct conn *conn, const struct view *parts, size_t count)
{
	bool was_empty = !has_queue(conn);

	compact_queue(conn);
	for (size_t i = 0; i < count; i++)
		if (tls_session_write(conn->tls, parts[i]) < 0) {
			break_conn(conn);
			return;
		}
	if (was_empty)
		conn_flush(conn);
}

static void send_parts(struct conn *conn, const struct view *parts, size_t count)
{
	if (!has_queue(conn))
		conn->written_ms = clock_now_ms();
	if (conn->tls != NULL) {
		encrypt_parts(conn, parts, count);
	} else if (!has_queue(conn)) {
		write_parts(conn, parts, count);
	} else {
		for (size_t i = 0; i < count; i++)
			add_to_queue(conn, parts[i]);
	}
}

void conn_write(struct conn *conn, const struct view *parts, size_t count)
{
	struct http_server *server = conn->server;
	struct view all[PARTS_MAX];
	size_t all_count = 0, len = 0;

	if (conn->is_broken || conn->state >= CONN_LINGER)
		return;
	for (size_t i = 0; i < count; i++)
		len += parts[i].len;
	if (server->corked == conn && len <= server->cork.max - server->cork.len) {
		for (size_t i = 0; i < count; i++)
			buf_put(&server->cork, parts[i]); /* the length was compared */
		return;
	}
	if (server->corked == conn && server->cork.len != 0)
		all[all_count++] = buf_view(&server->cork);
	for (size_t i = 0; i < count && all_count < PARTS_MAX; i++)
		all[all_count++] = parts[i];
	send_parts(conn, all, all_count);
	if (server->corked == conn)
		buf_clear(&server->cork);
}

void conn_cork(struct conn *conn)
{
	conn->server->corked = conn;
}

void conn_uncork(struct conn *conn)
{
	struct http_server *server = conn->server;
	struct view part = buf_view(&server->cork);

	server->corked = NULL;
	if (part.len != 0 && !conn->is_broken)
		send_parts(conn, &part, 1);
	buf_clear(&server->cork);
}
