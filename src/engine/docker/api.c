/* api.c - one call of the daemon's API (see internal.h). */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "engine/docker/internal.h"

enum { ANSWER_MAX = 4 * 1024 * 1024, CALL_MS = 120000, UPLOAD_MS = 300000 };

struct call {
	api_fn *done;
	void *ctx;
};

static const struct json_limits limits = { .depth = 32, .values = 200000 };

void api_decode(int status, struct view body, const struct error *why, api_fn *done, void *ctx)
{
	const bool is_success = (status >= 200 && status < 300) || status == 304;
	AUTO_JSON json_t *json = NULL;
	struct api_answer answer = { .why = why };
	char message[300] = "";
	struct error err;

	if (why == NULL) {
		answer.status = status;
		if (body.len != 0 && json_read(body, &limits, &json, NULL, &err) < 0 &&
		    is_success) {
			(void)error_wrap(&err, "Docker's answer cannot be read");
			answer = (struct api_answer){ .why = &err };
		}
	}
	if (answer.why == NULL && !is_success) {
		answer_message(json, message, sizeof message);
		(void)error_set(&err, ERR_SYSTEM, "Docker refused (status %d)%s%s", status,
		                message[0] != '\0' ? ": " : "", message);
		answer.why = &err;
	}
	answer.json = json;
	done(ctx, &answer);
}

static void on_answer(void *ctx, int status, struct view body, const struct error *why)
{
	struct call *call = ctx;
	struct call copy = *call;

	free(call);
	api_decode(status, body, why, copy.done, copy.ctx);
}

static PRINTF_LIKE(3, 0) void send_request(struct broker *broker,
                                           const struct http_client_request *request,
                                           const char *fmt, va_list args)
{
	AUTO_FREE char *rest = mem_vformat(fmt, args);
	AUTO_FREE char *path = mem_format("%s%s", broker->prefix, rest);
	struct http_client_request whole = *request;

	whole.path = path;
	http_client_send(broker->http, &whole);
}

static PRINTF_LIKE(5, 0) void send_call(struct broker *broker, struct http_client_request *request,
                                        api_fn *done, void *ctx, const char *fmt, va_list args)
{
	struct call *call = mem_new(sizeof *call);

	*call = (struct call){ done, ctx };
	request->done = on_answer;
	request->ctx = call;
	request->max = ANSWER_MAX;
	send_request(broker, request, fmt, args);
}

void api_send(struct broker *broker, const char *method, json_t *body, api_fn *done, void *ctx,
              const char *fmt, ...)
{
	struct http_client_request request = { .method = method, .timeout_ms = CALL_MS };
	AUTO_FREE char *text = NULL;
	va_list args;

	if (body != NULL) {
		text = json_write(body, &request.body.len);
		request.body.ptr = text;
		request.type = "application/json";
		json_decref(body);
	}
	va_start(args, fmt);
	send_call(broker, &request, done, ctx, fmt, args);
	va_end(args);
}

void api_send_raw(struct broker *broker, const struct http_client_request *request, const char *fmt,
                  ...)
{
	va_list args;

	va_start(args, fmt);
	send_request(broker, request, fmt, args);
	va_end(args);
}

void api_remove_container(struct broker *broker, const char *container, api_fn *done, void *ctx)
{
	api_send(broker, "DELETE", NULL, done, ctx, "/containers/%s?force=1&v=1", container);
}

void api_upload(struct broker *broker, struct view archive, api_fn *done, void *ctx,
                const char *fmt, ...)
{
	struct http_client_request request = { .method = "PUT",
		                               .timeout_ms = UPLOAD_MS,
		                               .body = archive,
		                               .type = "application/x-tar" };
	va_list args;

	va_start(args, fmt);
	send_call(broker, &request, done, ctx, fmt, args);
	va_end(args);
}

char *api_encode(const char *text)
{
	static const char plain[] =
	        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.~";
	char *out = mem_new(3 * strlen(text) + 1), *to = out;

	for (; *text != '\0'; text++)
		if (strchr(plain, *text) != NULL)
			*to++ = *text;
		else
			to += snprintf(to, 4, "%%%02X", (unsigned char)*text);
	return out;
}

char *api_state_filter(const struct broker *broker)
{
	char *filter = mem_format("{\"label\":[\"" LABEL_STATE "=%s\"]}", broker->options->state);
	char *encoded = api_encode(filter);

	free(filter);
	return encoded;
}
