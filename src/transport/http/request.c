#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "transport/http/internal.h"

enum {
	SPARE_MAX = 64,        /* requests whose memory is kept for the next ones */
	SPARE_TEXT_MAX = 4096, /* longest head of those */
};

struct http_request *request_new(struct conn *conn)
{
	struct http_server *server = conn->server;
	struct http_request *request;

	if (list_is_empty(&server->spare_requests)) {
		request = mem_new(sizeof *request);
		buf_init(&request->text, server->config.limits.max_head);
		buf_init(&request->content, server->config.limits.max_body);
	} else {
		request = container_of(server->spare_requests.next, struct http_request, node);
		list_remove(&request->node);
		server->spare_count--;
	}
	request->conn = conn;
	request->start_ms = clock_now_ms();
	return request;
}

static void free_content(struct http_server *server, struct buf *content)
{
	size_t cap = content->cap;

	server->body_bytes -= content->len;
	buf_done(content);
	mem_trim(cap);
}

/* Returns the request's memory to the server. */
static void free_request(struct http_request *request)
{
	struct http_server *server = request->conn->server;
	struct buf text = request->text, content;
	struct head_field *fields = request->head.fields;
	size_t field_room = request->field_room;

	free_content(server, &request->content);
	arena_done(&request->arena);
	if (server->spare_count == SPARE_MAX || text.cap > SPARE_TEXT_MAX) {
		buf_done(&text);
		free(fields);
		free(request);
		return;
	}
	content = request->content;
	buf_clear(&text);
	*request = (struct http_request){
		.text = text, .content = content, .head.fields = fields, .field_room = field_room
	};
	list_add(&server->spare_requests, &request->node);
	server->spare_count++;
}

void request_finish(struct http_request *request, bool is_complete)
{
	struct conn *conn = request->conn;
	struct http_server *server = conn->server;
	char peer[HTTP_PEER_SIZE];

	if (server->config.finished != NULL) {
		struct http_log log = {
			.method = request->is_valid ? http_method_text(request) : "",
			.path = request->is_valid ? http_path(request) : "",
			.peer = conn_peer(conn, peer),
			.status = request->status,
			.is_complete = is_complete,
			.sent_bytes = request->sent_bytes,
			.duration_ms = clock_now_ms() - request->start_ms,
		};

		server->config.finished(server->config.ctx, &log);
	}
	conn->request = NULL;
	free_request(request);
}

/* Closes the connection: where a malformed or incomplete request ends, and the next one begins, is
 * not known, and a guess is what request smuggling relies on. */
void request_reject(struct http_request *request, int status, const char *text)
{
	struct conn *conn = request->conn;
	void (*on_closed)(void *ctx) = request->on_closed;
	void *ctx = request->closed_ctx;
	char body[160], head[320];
	int body_len, head_len;

	body_len = snprintf(body, sizeof body, "%d %s: %s\n", status, status_text(status), text);
	head_len = snprintf(head, sizeof head,
	                    "HTTP/1.1 %d %s\r\nDate: %s\r\nContent-Type: text/plain\r\n"
	                    "Content-Length: %d\r\nConnection: close\r\n\r\n",
	                    status, status_text(status), server_date(conn->server), body_len);
	conn_write(conn, (struct view[]){ { head, (size_t)head_len }, { body, (size_t)body_len } },
	           request->is_valid && request->head.method == HTTP_HEAD ? 1 : 2);
	request->status = status;
	request->sent_bytes = (uint64_t)body_len;
	request_finish(request, true);
	conn_set_state(conn, CONN_FLUSH);
	if (on_closed != NULL)
		on_closed(ctx);
}

static void reject_head(struct http_request *request, enum head_verdict verdict)
{
	request_reject(request, head_verdict_status(verdict), head_verdict_text(verdict));
}

/* The head is complete: checks it and calls the handler. */
static void dispatch_request(struct http_request *request)
{
	struct conn *conn = request->conn;
	const struct http_config *config = &conn->server->config;
	struct head_rules rules = { config->limits.max_fields, config->single_fields };
	enum head_verdict verdict;

	if (request->scan.lines > request->field_room) {
		request->field_room = request->scan.lines;
		free(request->head.fields);
		request->head.fields = mem_array(request->field_room, sizeof *request->head.fields);
	}
	verdict = head_parse(&rules, request->text.ptr, request->text.len, &request->head);
	if (verdict != HEAD_VALID) {
		reject_head(request, verdict);
		return;
	}
	request->is_valid = true;
	request->start_ms = clock_now_ms();
	if (request->head.length > config->limits.max_body) {
		request_reject(request, 413, "the body is too large");
		return;
	}
	body_init(&conn->body, &request->head);
	conn_set_state(conn, CONN_REQUEST);
	config->request(config->ctx, request);
}

void request_read_head(struct http_request *request, struct view *bytes)
{
	const struct http_limits *limits = &request->conn->server->config.limits;
	enum head_verdict verdict;
	struct view head;

	verdict = head_scan(&request->scan, limits->max_head, bytes, &head);
	if (verdict == HEAD_VALID && request->scan.lines > limits->max_fields + 1)
		verdict = HEAD_MANY_FIELDS;
	if (verdict == HEAD_VALID && !buf_put(&request->text, head))
		verdict = HEAD_LONG_HEAD;
	if (verdict != HEAD_VALID)
		reject_head(request, verdict);
	else if (request->scan.is_complete)
		dispatch_request(request);
}

bool request_is_reading(const struct http_request *request)
{
	return request->on_body != NULL;
}

/* Calls the handler with the whole body. The content is taken out of the request, because the
 * handler may end the request and still use the body. */
static void deliver_body(struct http_request *request, struct view body)
{
	struct http_server *server = request->conn->server;
	void (*on_body)(void *ctx, struct view body) = request->on_body;
	struct buf content = request->content;
	void *ctx = request->body_ctx;

	request->on_body = NULL;
	buf_init(&request->content, content.max);
	on_body(ctx, body);
	free_content(server, &content);
}

/* Adds a part of the body that is not the whole body. max_bodies limits the bodies of all
 * connections together: many clients that each send a large body slowly would otherwise hold
 * memory up to max_body times the number of connections. */
static bool collect_body(struct http_request *request, struct view data)
{
	struct http_server *server = request->conn->server;

	if (data.len > server->config.limits.max_bodies - server->body_bytes) {
		request_reject(request, 503, "the server receives too many bodies; try again");
		return false;
	}
	if (!buf_put(&request->content, data)) {
		request_reject(request, 413, "the body is too large");
		return false;
	}
	server->body_bytes += data.len;
	return true;
}

/* Each step either uses input or ends the request, and returns true then. */
bool request_read_body(struct http_request *request, struct view *bytes)
{
	struct body_reader *body = &request->conn->body;
	bool is_whole;
	struct view data;

	if (!request_is_reading(request))
		return false;
	switch (body_next(body, bytes, &data)) {
	case BODY_DATA:
		is_whole = !request->head.is_chunked && data.len == request->head.length;
		if (is_whole)
			deliver_body(request, data);
		else
			(void)collect_body(request, data);
		return true;
	case BODY_DONE:
		deliver_body(request,
		             (struct view){ buf_text(&request->content), request->content.len });
		return true;
	case BODY_BAD:
		request_reject(request, 400, "the chunks of the body are malformed");
		return true;
	case BODY_MORE:
		break;
	}
	return false;
}

void http_read_body(struct http_request *request, void (*body)(void *ctx, struct view body),
                    void *ctx)
{
	static const struct view go_on = { "HTTP/1.1 100 Continue\r\n\r\n", 25 };
	struct conn *conn = request->conn;

	request->on_body = body;
	request->body_ctx = ctx;
	conn->deadline_ms = clock_now_ms() + conn->server->config.limits.body_ms;
	if (request->head.expects_continue && !request->sent_continue &&
	    request->response == RESPONSE_NONE &&
	    (request->head.is_chunked || request->head.length != 0)) {
		request->sent_continue = true;
		conn_write(conn, &go_on, 1);
	}
	conn_schedule(conn);
}

void http_on_close(struct http_request *request, void (*closed)(void *ctx), void *ctx)
{
	request->on_closed = closed;
	request->closed_ctx = ctx;
}

void request_probe(struct http_request *request)
{
	static const struct view processing = { "HTTP/1.1 102 Processing\r\n\r\n", 27 };

	if (request->response == RESPONSE_NONE && !request->head.is_1_0)
		conn_write(request->conn, &processing, 1);
	else if (request->response == RESPONSE_STREAM && request->keep_alive != NULL)
		stream_keep_alive(request);
}

bool request_read_raw(struct http_request *request, struct view *bytes)
{
	struct view all = *bytes;

	if (bytes->len == 0 || request->is_raw_paused)
		return false;
	bytes->ptr += all.len;
	bytes->len = 0;
	if (request->raw->bytes != NULL)
		request->raw->bytes(request->raw_ctx, all);
	return true;
}

bool http_field_at(const struct http_request *request, size_t i, struct http_field *ret)
{
	const struct head *head = &request->head;

	if (i >= head->field_count)
		return false;
	ret->name = request->text.ptr + head->fields[i].name;
	ret->value = request->text.ptr + head->fields[i].value;
	return true;
}

enum http_method http_method(const struct http_request *request)
{
	return request->head.method;
}

const char *http_method_text(const struct http_request *request)
{
	return request->text.ptr + request->head.method_text;
}

const char *http_path(const struct http_request *request)
{
	return request->text.ptr + request->head.path;
}

const char *http_query(const struct http_request *request)
{
	return request->text.ptr + request->head.query;
}

bool http_is_tls(const struct http_request *request)
{
	return request->conn->tls != NULL;
}

const char *http_peer(const struct http_request *request, char out[HTTP_PEER_SIZE])
{
	return conn_peer(request->conn, out);
}

/* Joins the values of a repeated field; the first is field number `first`. */
static const char *join_values(struct http_request *request, const char *name, size_t first)
{
	const char *text = request->text.ptr;
	const struct head *head = &request->head;
	size_t len = 0, at = 0;
	char *joined;

	for (size_t i = first; i < head->field_count; i++)
		if (strcmp(text + head->fields[i].name, name) == 0)
			len += strlen(text + head->fields[i].value) + 2;
	joined = arena_new(&request->arena, len + 1, 1);
	for (size_t i = first; i < head->field_count; i++)
		if (strcmp(text + head->fields[i].name, name) == 0)
			at += (size_t)snprintf(joined + at, len + 1 - at, "%s%s",
			                       at != 0 ? ", " : "", text + head->fields[i].value);
	return joined;
}

const char *http_get(struct http_request *request, const char *name)
{
	const char *text = request->text.ptr;
	const struct head *head = &request->head;
	size_t first = head->field_count;

	for (size_t i = 0; i < head->field_count; i++) {
		if (strcmp(text + head->fields[i].name, name) != 0)
			continue;
		if (first != head->field_count)
			return join_values(request, name, first);
		first = i;
	}
	return first != head->field_count ? text + head->fields[first].value : NULL;
}
