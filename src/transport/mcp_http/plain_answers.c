/* plain_answers.c - responses without an MCP message: errors of the transport, refusals, health. */
#include <assert.h>
#include <stdlib.h>

#include "transport/mcp_http/internal.h"
#include "json/json.h"

void fields_add(struct fields *fields, const char *name, const char *value)
{
	assert(fields->count + 1 < FIELDS_MAX);
	fields->list[fields->count++] = (struct http_field){ name, value };
	fields->list[fields->count] = (struct http_field){ NULL, NULL };
}

void fields_init(struct fields *fields, const struct mcp_http *http, struct http_request *request)
{
	const char *origin = guard_cors_origin(&http->config, request);

	fields->count = 0;
	fields->list[0] = (struct http_field){ NULL, NULL };
	fields_add(fields, "X-Content-Type-Options", "nosniff");
	if (http->config.origins != NULL)
		fields_add(fields, "Vary", "Origin");
	if (origin != NULL) {
		fields_add(fields, "Access-Control-Allow-Origin", origin);
		fields_add(fields, "Access-Control-Expose-Headers",
		           "Mcp-Session-Id, WWW-Authenticate, MCP-Protocol-Version");
	}
}

static void answer_value(const struct mcp_http *http, struct http_request *request, int status,
                         json_t *body, const struct http_field *more)
{
	AUTO_JSON json_t *value = body;
	size_t len;
	AUTO_FREE char *text = json_write(value, &len);
	struct fields fields;

	fields_init(&fields, http, request);
	fields_add(&fields, "Content-Type", "application/json");
	fields_add(&fields, "Cache-Control", "no-store");
	if (more != NULL && more->value != NULL)
		fields_add(&fields, more->name, more->value);
	http_respond(request, status, fields.list, (struct view){ text, len });
}

void answer_json(const struct mcp_http *http, struct http_request *request, int status,
                 json_t *body)
{
	answer_value(http, request, status, body, NULL);
}

static json_t *make_error(enum answer_code code, const char *message)
{
	json_t *body = json_obj();
	json_t *error = json_obj();

	json_set(error, "code", json_int(code));
	json_set_text(error, "message", message);
	json_set_text(body, "jsonrpc", "2.0");
	json_set(body, "id", json_null());
	json_set(body, "error", error);
	return body;
}

void answer_error(const struct mcp_http *http, struct http_request *request, int status,
                  enum answer_code code, const char *message)
{
	const struct http_field retry = { "Retry-After", status == 503 ? "5" : NULL };

	answer_value(http, request, status, make_error(code, message), &retry);
}

void answer_not_allowed(const struct mcp_http *http, struct http_request *request,
                        const char *methods)
{
	const struct http_field allow = { "Allow", methods };
	json_t *body = make_error(ANSWER_TRANSPORT,
	                          "This path does not have the method: see Allow.");

	answer_value(http, request, 405, body, &allow);
}

void answer_empty(const struct mcp_http *http, struct http_request *request, int status)
{
	struct fields fields;

	fields_init(&fields, http, request);
	http_respond(request, status, fields.list, (struct view){ "", 0 });
}

/* The body is an OAuth error: clients take a 401 or 403 for a matter of tokens, not of MCP. */
void answer_refusal(const struct mcp_http *http, struct http_request *request,
                    const struct mcp_http_identity *identity)
{
	const struct http_field challenge = { "WWW-Authenticate", identity->challenge };
	json_t *body = json_obj();

	json_set_text(body, "error", identity->error != NULL ? identity->error : "invalid_request");
	json_set_text(body, "error_description", identity->description);
	answer_value(http, request, identity->refusal, body, &challenge);
}
