/* http_upgrade.c - a connection that becomes a byte stream (see http_client.h).
 *
 * libcurl makes the connection, with TLS if there is any, and sends and receives bytes on it
 * (CURLOPT_CONNECT_ONLY). The request and the head of the answer are written and read here, because
 * libcurl does not hand over a connection that was upgraded. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/text/utf8.h"
#include "engine/docker/http/internal.h"
#include "loop/loop.h"
#include "loop/watch.h"

enum {
	HEAD_MAX = 16 * 1024,
	QUEUE_MAX = 4 * 1024 * 1024, /* callers stop at far less: see http_upgrade_pending() */
	CHUNK = 64 * 1024,
	READS_AT_A_TIME = 8,
	OPEN_MS = 60000, /* for the connection and the daemon's answer */
};

struct http_upgrade {
	struct http_job job;
	struct http_client *http;
	CURL *easy;
	const struct http_upgrade_events *events;
	void *ctx;
	char *path;
	struct loop_watch *watch; /* NULL before the connection and after the end */
	struct loop_timer *again; /* reads bytes that wait in the TLS layer: the socket is silent */
	struct loop_timer *open_timer;
	struct buf head;  /* of the answer; until it is complete */
	struct buf queue; /* bytes that the connection has not taken yet */
	bool is_open, is_paused;
	bool is_freed; /* to be freed when the callbacks on the stack have returned */
	int depth;     /* callbacks on the stack */
	char detail[CURL_ERROR_SIZE];
};

static void free_stream_now(struct http_upgrade *stream)
{
	(void)loop_watch_free(stream->watch);
	(void)loop_timer_free(stream->again);
	(void)loop_timer_free(stream->open_timer);
	(void)curl_library.multi_remove_handle(stream->http->multi, stream->easy);
	curl_library.easy_cleanup(stream->easy);
	buf_done(&stream->head);
	buf_done(&stream->queue);
	free(stream->path);
	free(stream);
}

struct http_upgrade *http_upgrade_free(struct http_upgrade *stream)
{
	if (stream == NULL)
		return NULL;
	stream->is_freed = true;
	if (stream->depth == 0)
		free_stream_now(stream);
	return NULL;
}

/* A callback may call http_upgrade_free(): then the outermost leave_stream() frees the stream. */
static void enter_stream(struct http_upgrade *stream)
{
	stream->depth++;
}

static void leave_stream(struct http_upgrade *stream)
{
	if (--stream->depth == 0 && stream->is_freed)
		free_stream_now(stream);
}

/* The stream makes no call after `end`; its owner still has to free it. */
static void end_stream(struct http_upgrade *stream, const struct error *why)
{
	stream->watch = loop_watch_free(stream->watch);
	loop_timer_stop(stream->again);
	loop_timer_stop(stream->open_timer);
	stream->is_open = false;
	stream->events->end(stream->ctx, why);
}

static void fail_stream(struct http_upgrade *stream, CURLcode result)
{
	struct error err;

	http_client_explain(stream->http, result, stream->detail, &err);
	end_stream(stream, &err);
}

/* --- writing -------------------------------------------------------------------------- */

/* False: the stream has ended. */
static bool flush_queue(struct http_upgrade *stream)
{
	size_t sent = 0;

	while (stream->queue.len != sent) {
		size_t n = 0;
		CURLcode result = curl_library.easy_send(stream->easy, stream->queue.ptr + sent,
		                                         stream->queue.len - sent, &n);

		if (result == CURLE_AGAIN)
			break;
		if (result != CURLE_OK) {
			fail_stream(stream, result);
			return false;
		}
		sent += n;
	}
	if (sent != 0) {
		memmove(stream->queue.ptr, stream->queue.ptr + sent, stream->queue.len - sent);
		buf_truncate(&stream->queue, stream->queue.len - sent);
	}
	loop_watch_write(stream->watch, stream->queue.len != 0);
	if (sent != 0 && stream->queue.len == 0 && stream->is_open)
		stream->events->drained(stream->ctx);
	return stream->watch != NULL && !stream->is_freed;
}

void http_upgrade_send(struct http_upgrade *stream, struct view bytes)
{
	size_t sent = 0;

	if (stream->watch == NULL)
		return;
	/* Most messages fit into the socket's buffer and need no turn of the loop. An error is not
	 * reported from within this call: flush_queue() meets it again. */
	if (stream->is_open && stream->queue.len == 0 &&
	    curl_library.easy_send(stream->easy, bytes.ptr, bytes.len, &sent) == CURLE_OK) {
		bytes = (struct view){ bytes.ptr + sent, bytes.len - sent };
		if (bytes.len == 0)
			return;
	}
	if (!buf_put(&stream->queue, bytes))
		abort(); /* a bug: the owner ignored http_upgrade_pending() */
	loop_watch_write(stream->watch, true);
}

size_t http_upgrade_pending(const struct http_upgrade *stream)
{
	return stream->queue.len;
}

void http_upgrade_pause(struct http_upgrade *stream, bool is_paused)
{
	if (stream->watch == NULL || stream->is_paused == is_paused)
		return;
	stream->is_paused = is_paused;
	loop_watch_read(stream->watch, !is_paused);
	if (!is_paused)
		loop_timer_start(stream->again, 0);
}

/* --- reading -------------------------------------------------------------------------- */

/* Reads the status of "HTTP/1.1 101 ..."; 0: the line is no such line. */
static int read_status(const char *head)
{
	if ((strncmp(head, "HTTP/1.1 ", 9) != 0 && strncmp(head, "HTTP/1.0 ", 9) != 0) ||
	    strspn(head + 9, "0123456789") != 3 || strchr(" \r\n", head[12]) == NULL)
		return 0;
	return (head[9] - '0') * 100 + (head[10] - '0') * 10 + (head[11] - '0');
}

static void read_head(struct http_upgrade *stream, struct view bytes)
{
	struct view rest;
	char shown[240];
	struct error err;
	char *end;
	int status;

	if (buf_add(&stream->head, bytes, &err) < 0) {
		(void)error_set(&err, ERR_LIMIT, "Docker at %s sent more than %d bytes of headers",
		                stream->http->address->shown, HEAD_MAX);
		end_stream(stream, &err);
		return;
	}
	end = memmem(stream->head.ptr, stream->head.len, "\r\n\r\n", 4);
	if (end == NULL)
		return;
	status = read_status(stream->head.ptr);
	rest = (struct view){ end + 4, stream->head.len - (size_t)(end + 4 - stream->head.ptr) };
	/* 101 accepts the upgrade. Older daemons answer 200 and use the connection in the same
	 * way. */
	if (status != 101 && status != 200) {
		(void)error_set(&err, ERR_SYSTEM,
		                "Docker at %s refused a connection to the container (status %d): "
		                "%s",
		                stream->http->address->shown, status,
		                utf8_escape(view_trim(rest), shown, sizeof shown));
		end_stream(stream, &err);
		return;
	}
	loop_timer_stop(stream->open_timer);
	stream->is_open = true;
	stream->events->open(stream->ctx);
	if (rest.len != 0 && stream->is_open && !stream->is_freed)
		stream->events->bytes(stream->ctx, rest);
}

static void receive_bytes(struct http_upgrade *stream)
{
	static char bytes[CHUNK];

	for (int i = 0; i < READS_AT_A_TIME; i++) {
		size_t n = 0;
		CURLcode result;

		if (stream->is_paused || stream->watch == NULL || stream->is_freed)
			return;
		result = curl_library.easy_recv(stream->easy, bytes, sizeof bytes, &n);
		if (result == CURLE_AGAIN)
			return;
		if (result != CURLE_OK) {
			fail_stream(stream, result);
			return;
		}
		if (n == 0) {
			end_stream(stream, NULL);
			return;
		}
		if (stream->is_open)
			stream->events->bytes(stream->ctx, (struct view){ bytes, n });
		else
			read_head(stream, (struct view){ bytes, n });
	}
	if (stream->watch != NULL && !stream->is_freed)
		loop_timer_start(stream->again, 0);
}

static void on_ready(void *ctx)
{
	struct http_upgrade *stream = ctx;

	enter_stream(stream);
	if (flush_queue(stream))
		receive_bytes(stream);
	leave_stream(stream);
}

/* --- opening -------------------------------------------------------------------------- */

static void start_stream(struct http_upgrade *stream)
{
	curl_socket_t fd = CURL_SOCKET_BAD;
	char *request;

	(void)curl_library.easy_getinfo(stream->easy, CURLINFO_ACTIVESOCKET, &fd);
	if (fd == CURL_SOCKET_BAD) {
		fail_stream(stream, CURLE_COULDNT_CONNECT);
		return;
	}
	stream->watch = loop_watch_new(stream->http->loop, fd, on_ready, stream);
	request = mem_format("POST %s HTTP/1.1\r\nHost: docker\r\nConnection: Upgrade\r\n"
	                     "Upgrade: tcp\r\nContent-Length: 0\r\n\r\n",
	                     stream->path);
	http_upgrade_send(stream, view_of(request));
	free(request);
}

static void on_connected(struct http_job *job, CURLcode result)
{
	struct http_upgrade *stream = container_of(job, struct http_upgrade, job);

	enter_stream(stream);
	if (result == CURLE_OK)
		start_stream(stream);
	else
		fail_stream(stream, result);
	leave_stream(stream);
}

static void on_open_timeout(void *ctx)
{
	struct http_upgrade *stream = ctx;

	enter_stream(stream);
	fail_stream(stream, CURLE_OPERATION_TIMEDOUT);
	leave_stream(stream);
}

struct http_upgrade *http_upgrade_open(struct http_client *http, const char *path,
                                       const struct http_upgrade_events *events, void *ctx)
{
	struct http_upgrade *stream = mem_new(sizeof *stream);

	stream->job.finished = on_connected;
	stream->http = http;
	stream->events = events;
	stream->ctx = ctx;
	stream->path = mem_dup(path);
	stream->again = loop_timer_new(http->loop, on_ready, stream);
	stream->open_timer = loop_timer_new(http->loop, on_open_timeout, stream);
	loop_timer_start(stream->open_timer, OPEN_MS);
	buf_init(&stream->head, HEAD_MAX);
	buf_init(&stream->queue, QUEUE_MAX);
	stream->easy = http_client_new_easy(http, path, &stream->job);
	(void)curl_library.easy_setopt(stream->easy, CURLOPT_CONNECT_ONLY, 1L);
	(void)curl_library.easy_setopt(stream->easy, CURLOPT_FRESH_CONNECT, 1L);
	(void)curl_library.easy_setopt(stream->easy, CURLOPT_ERRORBUFFER, stream->detail);
	http_client_add_easy(http, stream->easy);
	return stream;
}
