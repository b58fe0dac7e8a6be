#include "base/cleanup.h"
#include "mcp/rpc.h"
#include "unit/test.h"

static json_t *parse(const char *text)
{
	json_t *value = json_loads(text, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);

	assert_non_null(value);
	return value;
}

static void requests_notifications_and_responses_are_decoded(void **state)
{
	static const struct {
		const char *text;
		enum rpc_kind kind;
		const char *method;
		bool has_params, bad_params;
	} cases[] = {
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\"}", RPC_REQUEST, "m", false,
		  false },
		{ "{\"jsonrpc\":\"2.0\",\"id\":\"\",\"method\":\"m\",\"params\":{}}", RPC_REQUEST,
		  "m", true, false },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"m\",\"params\":null}", RPC_REQUEST,
		  "m", false, false },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":[]}", RPC_REQUEST, "m",
		  false, true },
		{ "{\"jsonrpc\":\"2.0\",\"method\":\"n\"}", RPC_NOTIFICATION, "n", false, false },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}", RPC_RESPONSE, NULL, false,
		  false },
		{ "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{}}", RPC_RESPONSE, NULL, false,
		  false },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO_JSON json_t *value = parse(cases[i].text);
		struct rpc_message rpc;
		struct error err;

		CHECK_OK(rpc_decode(value, &rpc, &err), err);
		assert_int_equal(rpc.kind, cases[i].kind);
		if (cases[i].method != NULL)
			assert_string_equal(rpc.method, cases[i].method);
		else
			assert_null(rpc.method);
		assert_int_equal(rpc.params != NULL, cases[i].has_params);
		assert_int_equal(rpc.bad_params, cases[i].bad_params);
	}
}

static void invalid_message_is_an_error_with_the_reason(void **state)
{
	static const struct {
		const char *text, *why;
	} cases[] = {
		{ "5", "a message is a JSON object" },
		{ "[]", "a message is a JSON object" },
		{ "{}", "'jsonrpc' must be the string \"2.0\"" },
		{ "{\"jsonrpc\":2.0,\"id\":1,\"method\":\"m\"}",
		  "'jsonrpc' must be the string \"2.0\"" },
		{ "{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"m\"}",
		  "'jsonrpc' must be the string \"2.0\"" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1}", "'method' is missing or not a string" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":5}",
		  "'method' is missing or not a string" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\\u0000b\"}",
		  "'method' is missing or not a string" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":1,\"error\":2}",
		  "'method' is missing or not a string" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"m\"}",
		  "'id' must be a string or a number, got null" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":true,\"method\":\"m\"}",
		  "'id' must be a string or a number, got the boolean true" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":[1],\"method\":\"m\"}",
		  "'id' must be a string or a number, got an array" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"m\"}",
		  "'id' must be a string or a number, got an object" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO_JSON json_t *value = parse(cases[i].text);
		struct rpc_message rpc = { .method = "untouched" };
		struct error err;

		CHECK_ERROR(rpc_decode(value, &rpc, &err), err, ERR_INVALID, cases[i].why);
		assert_string_equal(rpc.method, "untouched");
	}
}

static void long_id_is_rejected(void **state)
{
	char text[RPC_ID_MAX + 2] = "";
	struct rpc_message rpc;
	struct error err;

	memset(text, 'i', RPC_ID_MAX);
	for (int extra = 0; extra < 2; extra++) {
		AUTO_JSON json_t *value = rpc_notification("m", NULL);

		text[RPC_ID_MAX] = extra ? 'i' : '\0';
		json_set(value, "id", json_str(text));
		if (extra)
			CHECK_ERROR(rpc_decode(value, &rpc, &err), err, ERR_LIMIT,
			            "'id' is longer than 1024 bytes");
		else
			CHECK_OK(rpc_decode(value, &rpc, &err), err);
	}
}

static void responses_repeat_the_id(void **state)
{
	AUTO_JSON json_t *id = json_str("a");
	AUTO_JSON json_t *result = rpc_result(id, json_obj());
	AUTO_JSON json_t *error = rpc_error(NULL, RPC_PARSE_ERROR, "no", json_int(3));
	size_t len;
	AUTO_FREE char *result_text = json_write(result, &len);
	AUTO_FREE char *error_text = json_write(error, &len);

	assert_string_equal(result_text, "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"result\":{}}");
	assert_string_equal(error_text,
	                    "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,"
	                    "\"message\":\"no\",\"data\":3}}");
}

static void id_is_found_at_either_end_of_a_request(void **state)
{
	static const struct {
		const char *first, *last, *id;
	} cases[] = {
		{ "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"x\",\"params\":{", "}}", "5" },
		{ "{\"method\":\"x\",\"params\":{\"id\":3,",
		  "\"},\"jsonrpc\":\"2.0\",\"id\":\"a\"}", "\"a\"" },
		{ "{\"method\":\"x\",\"params\":{", "\"id\":4}, \"id\" : -6 }", "-6" },
		{ "{\"method\":\"x\",\"params\":{", "\"id\":4}}", NULL },
		{ "{\"method\":\"x\",\"params\":{", "x\\\"id\\\":4\"}", NULL },
		{ "{\"method\":\"x\",\"params\":{", "},\"id\":null}", NULL },
		{ "{\"method\":\"x\",\"params\":{", "},\"id\":7}]", NULL },
		{ "{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{\"method\":", "}}", NULL },
		{ "{\"result\":{\"method\":", "},\"id\":5}", NULL },
		{ "", "\"id\":5}", NULL },
		{ "xxxx", "xxxx", NULL },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO_JSON json_t *id = rpc_find_id(view_of(cases[i].first), view_of(cases[i].last));
		size_t len;
		AUTO_FREE char *text = id != NULL ? json_write(id, &len) : NULL;

		if (cases[i].id == NULL)
			assert_null(id);
		else
			assert_string_equal(text, cases[i].id);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(requests_notifications_and_responses_are_decoded),
		TEST(invalid_message_is_an_error_with_the_reason),
		TEST(long_id_is_rejected),
		TEST(responses_repeat_the_id),
		TEST(id_is_found_at_either_end_of_a_request),
	};

	return RUN_TESTS("mcp/rpc", tests);
}
