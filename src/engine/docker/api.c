/* api.c - one call of the daemon's API (see internal.h). */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
	AUTO_JSON json_t *answer = NULL;
	char message[300] = "";
	struct error err;
	bool is_json;

	if (why != NULL) {
		done(ctx, 0, NULL, why);
		return;
	}
	is_json = body.len == 0 || json_read(body, &limits, &answer, NULL, &err) == 0;
	if ((status >= 200 && status < 300) || status == 304) {
		if (!is_json)
			(void)error_wrap(&err, "Docker's answer cannot be read");
		done(ctx, is_json ? status : 0, answer, is_json ? NULL : &err);
		return;
	}
	answer_message(answer, message, sizeof message);
	(void)error_set(&err, ERR_SYSTEM, "Docker refused (status %d)%s%s", status,
	                message[0] != '\0' ? ": " : "", message);
	done(ctx, status, answer, &err);
}

static void on_answer(void *ctx, int status, struct view body, const struct error *why)
{
	struct call *call = ctx;
	struct call copy = *call;

	free(call);
	api_decode(status, body, why, copy.done, copy.ctx);
}

static void send_call(struct broker *broker, const struct http_client_request *request,
                      api_fn *done, void *ctx)
{
	struct call *call = mem_new(sizeof *call);
	struct http_client_request whole = *request;

	*call = (struct call){ done, ctx };
	whole.done = on_answer;
	whole.ctx = call;
	whole.max = ANSWER_MAX;
	http_client_send(broker->http, &whole);
}

static PRINTF_LIKE(2, 0) char *make_path(const struct broker *broker, const char *fmt, va_list args)
{
	char *rest = mem_vformat(fmt, args);
	char *path = mem_format("%s%s", broker->prefix, rest);

	free(rest);
	return path;
}

void api_send(struct broker *broker, const char *method, json_t *body, api_fn *done, void *ctx,
              const char *fmt, ...)
{
	struct http_client_request request = { .method = method, .timeout_ms = CALL_MS };
	char *text = NULL, *path;
	va_list args;

	va_start(args, fmt);
	path = make_path(broker, fmt, args);
	va_end(args);
	request.path = path;
	if (body != NULL) {
		text = json_write(body, &request.body.len);
		request.body.ptr = text;
		request.type = "application/json";
		json_decref(body);
	}
	send_call(broker, &request, done, ctx);
	free(text);
	free(path);
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
	char *path;
	va_list args;

	va_start(args, fmt);
	path = make_path(broker, fmt, args);
	va_end(args);
	request.path = path;
	send_call(broker, &request, done, ctx);
	free(path);
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
