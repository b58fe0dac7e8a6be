#include "mcp/rpc.h"

#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/view.h"

bool rpc_is_id(const json_t *value)
{
	if (json_is_string(value))
		return json_string_length(value) <= RPC_ID_MAX;
	return json_is_number(value);
}

/* The id of a message that consists of two parts; NULL: they are not one JSON object with an id. */
static json_t *read_id(struct view a, struct view b)
{
	static const struct json_limits limits = { .depth = 4, .values = 64 };
	AUTO_JSON json_t *message = NULL;
	AUTO_BUF struct buf text;
	struct error err;
	json_t *id;

	buf_init(&text, a.len + b.len + 1);
	if (buf_add(&text, a, &err) < 0 || buf_add(&text, b, &err) < 0 ||
	    json_read(buf_view(&text), &limits, &message, NULL, &err) < 0)
		return NULL;
	id = json_object_get(message, "id");
	return rpc_is_id(id) ? json_incref(id) : NULL;
}

/* From the text on, or with a NULL pointer if it is not there. */
static struct view find_text(struct view in, const char *text)
{
	const char *at = in.len != 0 ? memmem(in.ptr, in.len, text, strlen(text)) : NULL;

	return (struct view){ at, at != NULL ? (size_t)(in.ptr + in.len - at) : 0 };
}

/* The id of a response is one of the server's: an error with it would answer another request. */
static bool is_request(struct view first)
{
	struct view inner, method = find_text(first, "\"method\"");

	if (first.len == 0 || method.ptr == NULL)
		return false;
	inner = find_text((struct view){ first.ptr + 1, first.len - 1 }, "{");
	return inner.ptr == NULL || method.ptr < inner.ptr;
}

/* Clients write the id before the parameters or after them. "}" after the first members makes a
 * JSON object of them, and so does "{" before the last ones, unless the id is that of an inner
 * object, whose braces are then not balanced. */
json_t *rpc_find_id(struct view first, struct view last)
{
	struct view at = find_text(find_text(first, "\"id\""), ",");
	json_t *id = NULL;

	if (!is_request(first))
		return NULL;
	if (at.ptr != NULL)
		id = read_id((struct view){ first.ptr, first.len - at.len }, view_of("}"));
	for (at = find_text(last, "\"id\""); id == NULL && at.ptr != NULL;
	     at = find_text((struct view){ at.ptr + 1, at.len - 1 }, "\"id\""))
		id = read_id(view_of("{"), at);
	return id;
}

static int set_id_error(const json_t *id, struct error *err)
{
	char shown[80];

	if (json_is_string(id))
		return error_set(err, ERR_LIMIT, "'id' is longer than %d bytes", RPC_ID_MAX);
	return error_set(err, ERR_INVALID, "'id' must be a string or a number, got %s",
	                 json_describe(id, shown, sizeof shown));
}

static int decode_response(const json_t *value, struct rpc_message *ret, struct error *err)
{
	if (json_has(value, "result") == json_has(value, "error"))
		return error_set(err, ERR_INVALID, "'method' is missing or not a string");
	ret->kind = RPC_RESPONSE;
	ret->result = json_member(value, "result", JSON_OBJECT);
	ret->error = json_member(value, "error", JSON_OBJECT);
	return 0;
}

int rpc_decode(const json_t *value, struct rpc_message *ret, struct error *err)
{
	struct rpc_message msg = { .kind = RPC_REQUEST };
	const char *version = json_text(value, "jsonrpc");

	if (!json_is_object(value))
		return error_set(err, ERR_INVALID, "a message is a JSON object");
	if (version == NULL || strcmp(version, "2.0") != 0)
		return error_set(err, ERR_INVALID, "'jsonrpc' must be the string \"2.0\"");
	msg.id = json_object_get(value, "id");
	msg.method = json_text(value, "method");
	msg.params = json_object_get(value, "params");
	if (msg.method == NULL) {
		if (decode_response(value, &msg, err) < 0)
			return -1;
	} else if (msg.id == NULL) {
		msg.kind = RPC_NOTIFICATION;
	} else if (!rpc_is_id(msg.id)) {
		return set_id_error(msg.id, err);
	}
	if (!json_is_object(msg.params)) {
		msg.bad_params = msg.params != NULL && !json_is_null(msg.params);
		msg.params = NULL;
	}
	*ret = msg;
	return 0;
}

static json_t *new_message(void)
{
	return json_pair("jsonrpc", json_str("2.0"));
}

static void set_id(json_t *msg, json_t *id)
{
	json_set(msg, "id", id != NULL ? json_incref(id) : json_null());
}

json_t *rpc_result(json_t *id, json_t *result)
{
	json_t *msg = new_message();

	set_id(msg, id);
	json_set(msg, "result", result);
	return msg;
}

json_t *rpc_error(json_t *id, enum rpc_code code, const char *text, json_t *data)
{
	json_t *msg = new_message();
	json_t *error = json_obj();

	set_id(msg, id);
	json_set(error, "code", json_int(code));
	json_set(error, "message", json_str(text));
	if (data != NULL)
		json_set(error, "data", data);
	json_set(msg, "error", error);
	return msg;
}

json_t *rpc_notification(const char *method, json_t *params)
{
	json_t *msg = new_message();

	json_set(msg, "method", json_str(method));
	if (params != NULL)
		json_set(msg, "params", params);
	return msg;
}
