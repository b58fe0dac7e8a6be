/* fake_http_impl.h - the functions of fake_http.h and of transport/http/http.h that replace the real
 * ones. Included by the file of each test program that uses them: in the archive of all rigs they
 * would replace the real ones in every other test, too. */
#pragma once
#include "unit/transport/mcp_http/fake_http.h"

#include <strings.h>

#include "base/buf.h"
#include "base/mem.h"
#include "transport/mcp_http/mcp_http.h"
#include "unit/test.h"

struct fake_field_in {
	char name[64], value[1024];
};

struct http_request {
	enum http_method method;
	char method_text[16], path[1024], query[1024], peer[HTTP_PEER_SIZE];
	struct fake_field_in fields[24];
	size_t field_count, queued;
	const char *body;
	void (*on_body)(void *ctx, struct view body);
	void *body_ctx;
	void (*closed)(void *ctx);
	void *closed_ctx;
	struct fake_response response;
};

static enum http_method find_method(const char *text)
{
	static const char *const names[] = { "GET", "HEAD", "POST", "DELETE", "OPTIONS" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (strcmp(names[i], text) == 0)
			return (enum http_method)i;
	}
	return HTTP_OTHER;
}

struct http_request *fake_request(const char *head, const char *body)
{
	struct http_request *request = mem_new(sizeof *request);
	struct view rest = view_of(head), line;
	char target[1024] = "";
	char *query;

	assert_true(view_next_line(&rest, &line));
	assert_int_equal(sscanf(line.ptr, "%15s %1023s", request->method_text, target), 2);
	request->method = find_method(request->method_text);
	query = strchr(target, '?');
	if (query != NULL)
		*query++ = '\0';
	(void)snprintf(request->path, sizeof request->path, "%s", target);
	(void)snprintf(request->query, sizeof request->query, "%s", query != NULL ? query : "");
	(void)snprintf(request->peer, sizeof request->peer, "127.0.0.1:40000");
	while (view_next_line(&rest, &line)) {
		struct fake_field_in *field = &request->fields[request->field_count++];

		assert_true(request->field_count <= ARRAY_LEN(request->fields));
		assert_true(sscanf(line.ptr, "%63[^:\n]: %1023[^\n]", field->name, field->value) >=
		            1);
	}
	request->body = body;
	return request;
}

void fake_send(void *mcp_http, struct http_request *request)
{
	mcp_http_request(mcp_http, request);
	if (request->on_body != NULL && !request->response.is_ended)
		request->on_body(request->body_ctx,
		                 view_of(request->body != NULL ? request->body : ""));
}

void fake_close(struct http_request *request)
{
	assert_false(request->response.is_ended);
	request->response.is_ended = true;
	assert_non_null(request->closed);
	request->closed(request->closed_ctx);
}

void fake_set_queued(struct http_request *request, size_t bytes)
{
	request->queued = bytes;
}

void fake_set_peer(struct http_request *request, const char *peer)
{
	(void)snprintf(request->peer, sizeof request->peer, "%s", peer);
}

struct fake_response *fake_response(struct http_request *request)
{
	return &request->response;
}

void fake_clear_body(struct http_request *request)
{
	request->response.body[0] = '\0';
	request->response.len = 0;
}

const char *fake_field(struct http_request *request, const char *name)
{
	static char value[2048];
	struct view rest = view_of(request->response.fields), line;
	size_t len = strlen(name);

	while (view_next_line(&rest, &line)) {
		if (line.len > len + 1 && strncasecmp(line.ptr, name, len) == 0 &&
		    line.ptr[len] == ':') {
			(void)snprintf(value, sizeof value, "%.*s", (int)(line.len - len - 2),
			               line.ptr + len + 2);
			return value;
		}
	}
	return NULL;
}

void fake_free(struct http_request *request)
{
	free(request);
}

/* --- transport/http/http.h --- */

enum http_method http_method(const struct http_request *request)
{
	return request->method;
}

const char *http_method_text(const struct http_request *request)
{
	return request->method_text;
}

const char *http_path(const struct http_request *request)
{
	return request->path;
}

const char *http_query(const struct http_request *request)
{
	return request->query;
}

const char *http_get(struct http_request *request, const char *name)
{
	assert_false(request->response.is_ended);
	for (size_t i = 0; i < request->field_count; i++) {
		if (strcasecmp(request->fields[i].name, name) == 0)
			return request->fields[i].value;
	}
	return NULL;
}

bool http_is_tls(const struct http_request *request)
{
	(void)request;
	return false;
}

const char *http_peer(const struct http_request *request, char out[HTTP_PEER_SIZE])
{
	(void)snprintf(out, HTTP_PEER_SIZE, "%s", request->peer);
	return out;
}

void http_read_body(struct http_request *request, void (*body)(void *ctx, struct view body),
                    void *ctx)
{
	request->on_body = body;
	request->body_ctx = ctx;
}

void http_on_close(struct http_request *request, void (*closed)(void *ctx), void *ctx)
{
	assert_false(request->response.is_ended);
	request->closed = closed;
	request->closed_ctx = ctx;
}

static void add_fields(struct http_request *request, int status, const struct http_field *fields)
{
	struct fake_response *response = &request->response;
	struct buf text = buf_fixed(response->fields, sizeof response->fields);
	struct error err;

	assert_false(response->is_ended);
	assert_int_equal(response->status, 0);
	response->status = status;
	for (; fields->name != NULL; fields++)
		assert_int_equal(buf_printf(&text, &err, "%s: %s\n", fields->name, fields->value),
		                 0);
}

static void add_body(struct fake_response *response, struct view bytes)
{
	if (response->len + bytes.len < sizeof response->body) {
		memcpy(response->body + response->len, bytes.ptr, bytes.len);
		response->body[response->len + bytes.len] = '\0';
	}
	response->len += bytes.len;
}

void http_respond(struct http_request *request, int status, const struct http_field *fields,
                  struct view body)
{
	add_fields(request, status, fields);
	add_body(&request->response, body);
	request->response.is_ended = true;
}

void http_stream_start(struct http_request *request, int status, const struct http_field *fields,
                       const char *keep_alive)
{
	assert_string_equal(keep_alive, ": keep-alive\n\n");
	add_fields(request, status, fields);
	request->response.is_stream = true;
}

void http_stream_write(struct http_request *request, struct view bytes)
{
	assert_true(request->response.is_stream && !request->response.is_ended);
	add_body(&request->response, bytes);
}

void http_stream_end(struct http_request *request)
{
	assert_true(request->response.is_stream && !request->response.is_ended);
	request->response.is_ended = true;
}

size_t http_queued(const struct http_request *request)
{
	return request->queued;
}
