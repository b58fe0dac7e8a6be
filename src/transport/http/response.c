#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "transport/http/chars.h"
#include "transport/http/internal.h"

enum {
	SKIP_MAX = 64 * 1024, /* bytes of an unread body that are dropped to keep a connection */
	HEAD_RESERVE = 512,   /* room that fields leave for the library's own */
};

static const struct {
	int status;
	const char *text;
} statuses[] = {
	{ 200, "OK" },
	{ 202, "Accepted" },
	{ 204, "No Content" },
	{ 304, "Not Modified" },
	{ 400, "Bad Request" },
	{ 401, "Unauthorized" },
	{ 403, "Forbidden" },
	{ 404, "Not Found" },
	{ 405, "Method Not Allowed" },
	{ 406, "Not Acceptable" },
	{ 408, "Request Timeout" },
	{ 409, "Conflict" },
	{ 413, "Content Too Large" },
	{ 414, "URI Too Long" },
	{ 415, "Unsupported Media Type" },
	{ 417, "Expectation Failed" },
	{ 421, "Misdirected Request" },
	{ 429, "Too Many Requests" },
	{ 431, "Request Header Fields Too Large" },
	{ 500, "Internal Server Error" },
	{ 501, "Not Implemented" },
	{ 503, "Service Unavailable" },
	{ 505, "HTTP Version Not Supported" },
};

const char *status_text(int status)
{
	for (size_t i = 0; i < ARRAY_LEN(statuses); i++)
		if (statuses[i].status == status)
			return statuses[i].text;
	return "Other";
}

const char *server_date(struct http_server *server)
{
	struct timespec now;
	struct tm utc;

	(void)clock_gettime(CLOCK_REALTIME_COARSE, &now);
	if (server->date_s == now.tv_sec)
		return server->date;
	server->date_s = now.tv_sec;
	if (gmtime_r(&now.tv_sec, &utc) != NULL)
		(void)strftime(server->date, sizeof server->date, "%a, %d %b %Y %H:%M:%S GMT",
		               &utc);
	return server->date;
}

static void add_text(struct buf *head, const char *text)
{
	buf_put(head, view_of(text)); /* add_field() has checked the length */
}

/* Control characters could add a field or a second response. */
static void add_value(struct buf *head, const char *value)
{
	size_t from = head->len;

	add_text(head, value);
	for (size_t i = from; i < head->len; i++)
		if (!char_is(head->ptr[i], CHAR_VALUE))
			head->ptr[i] = ' ';
}

static void add_field(struct buf *head, const char *name, const char *value)
{
	if (strlen(name) + strlen(value) + HEAD_RESERVE > head->max - head->len) {
		log_error("the field %s of a response is too long and is left out", name);
		return;
	}
	add_text(head, name);
	add_text(head, ": ");
	add_value(head, value);
	add_text(head, "\r\n");
}

static bool is_body_read(const struct conn *conn)
{
	return conn->body.state == BODY_STATE_DONE ||
	       (conn->body.state == BODY_STATE_LENGTH && conn->body.left == 0);
}

/* Whether the next request cannot follow. A client that waits for "100 Continue" and gets a
 * response instead may send its body or not, so what comes next is not known. */
static bool must_close(const struct http_request *request)
{
	const struct conn *conn = request->conn;

	if (request->head.wants_close || conn->server->is_stopping)
		return true;
	if (is_body_read(conn))
		return false;
	return (request->head.expects_continue && !request->sent_continue) ||
	       (conn->body.state == BODY_STATE_LENGTH && conn->body.left > SKIP_MAX);
}

/* Makes the head in server->head. length: NULL for a stream. */
static struct view make_head(struct http_request *request, int status,
                             const struct http_field *fields, const size_t *length)
{
	struct http_server *server = request->conn->server;
	struct buf *head = &server->head;
	char text[48];

	request->status = status;
	request->is_bodiless = request->head.method == HTTP_HEAD || status == 204 || status == 304;
	request->closes = request->closes || must_close(request);
	buf_clear(head);
	(void)snprintf(text, sizeof text, "HTTP/1.1 %d ", status);
	add_text(head, text);
	add_text(head, status_text(status));
	add_text(head, "\r\n");
	add_field(head, "Date", server_date(server));
	for (; fields != NULL && fields->name != NULL; fields++)
		add_field(head, fields->name, fields->value);
	if (length != NULL && status != 204 && status != 304) {
		(void)snprintf(text, sizeof text, "Content-Length: %zu\r\n", *length);
		add_text(head, text);
	}
	if (request->is_chunked)
		add_text(head, "Transfer-Encoding: chunked\r\n");
	if (request->closes)
		add_text(head, "Connection: close\r\n");
	else if (request->head.wants_keep_alive)
		add_text(head, "Connection: keep-alive\r\n");
	add_text(head, "\r\n");
	return buf_view(head);
}

/* The response is complete: the connection gets its next state. */
static void end_response(struct http_request *request)
{
	struct conn *conn = request->conn;
	bool closes = request->closes || conn->server->is_stopping;

	request->response = RESPONSE_DONE;
	request_finish(request, true);
	if (closes) {
		conn_set_state(conn, CONN_FLUSH);
	} else if (!is_body_read(conn)) {
		conn->skip_left = SKIP_MAX;
		conn_set_state(conn, CONN_SKIP);
	} else {
		conn_set_state(conn, CONN_IDLE);
	}
	if (conn->state != CONN_IDLE || conn->held.len != 0 || conn->has_ended)
		conn_schedule(conn);
}

void http_respond(struct http_request *request, int status, const struct http_field *fields,
                  struct view body)
{
	struct view parts[2];

	assert(request->response == RESPONSE_NONE && status >= 200);
	parts[0] = make_head(request, status, fields, &body.len);
	parts[1] = body;
	conn_write(request->conn, parts, request->is_bodiless || body.len == 0 ? 1 : 2);
	request->sent_bytes = request->is_bodiless ? 0 : body.len;
	end_response(request);
}

void http_stream_start(struct http_request *request, int status, const struct http_field *fields,
                       const char *keep_alive)
{
	struct view head;

	assert(request->response == RESPONSE_NONE && status >= 200);
	request->response = RESPONSE_STREAM;
	request->keep_alive = keep_alive;
	request->is_chunked = !request->head.is_1_0;
	request->closes = request->head.is_1_0;
	head = make_head(request, status, fields, NULL);
	conn_write(request->conn, &head, 1);
}

static void write_stream(struct http_request *request, struct view bytes)
{
	struct conn *conn = request->conn;
	char size[24];
	int len;

	if (bytes.len == 0 || request->is_bodiless)
		return;
	request->sent_bytes += bytes.len;
	if (!request->is_chunked) {
		conn_write(conn, &bytes, 1);
		return;
	}
	len = snprintf(size, sizeof size, "%zx\r\n", bytes.len);
	conn_write(conn, (struct view[]){ { size, (size_t)len }, bytes, { "\r\n", 2 } }, 3);
}

void http_stream_write(struct http_request *request, struct view bytes)
{
	struct conn *conn = request->conn;
	size_t queued = conn_queued(conn), max = conn->server->config.limits.max_queue;

	assert(request->response == RESPONSE_STREAM);
	/* An empty queue takes a write of any length, or it could never be sent. */
	if (queued != 0 && (queued > max || bytes.len > max - queued)) {
		conn->is_broken = true;
		conn_schedule(conn);
		return;
	}
	write_stream(request, bytes);
}

void http_stream_end(struct http_request *request)
{
	static const struct view last = { "0\r\n\r\n", 5 };

	assert(request->response == RESPONSE_STREAM);
	if (request->is_chunked && !request->is_bodiless)
		conn_write(request->conn, &last, 1);
	end_response(request);
}

void stream_keep_alive(struct http_request *request)
{
	write_stream(request, view_of(request->keep_alive));
}

void http_raw_start(struct http_request *request, int status, const struct http_raw_events *events,
                    void *ctx)
{
	assert(request->response == RESPONSE_NONE);
	request->response = RESPONSE_STREAM;
	request->status = status;
	request->closes = true;
	request->raw = events;
	request->raw_ctx = ctx;
	conn_set_state(request->conn, CONN_RAW);
}

void http_raw_write(struct http_request *request, struct view bytes)
{
	request->sent_bytes += bytes.len;
	if (bytes.len != 0)
		conn_write(request->conn, &bytes, 1);
}

void http_raw_pause(struct http_request *request, bool is_paused)
{
	request->is_raw_paused = is_paused;
	if (!is_paused)
		conn_schedule(request->conn);
}

void http_raw_end(struct http_request *request)
{
	end_response(request);
}

size_t http_queued(const struct http_request *request)
{
	return conn_queued(request->conn);
}
