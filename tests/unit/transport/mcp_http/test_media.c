#include "transport/mcp_http/internal.h"
#include "unit/test.h"

static void content_type_of_json_is_recognised(void **state)
{
	static const struct {
		const char *type;
		bool want;
	} cases[] = {
		{ "application/json", true },
		{ "Application/JSON", true },
		{ "application/json; charset=utf-8", true },
		{ "application/json ;charset=utf-8", true },
		{ NULL, false },
		{ "", false },
		{ "text/plain", false },
		{ "application/json5", false },
		{ "application/jsonp", false },
		{ "text/plain; a=application/json", false },
		{ "application/json, text/plain", false },
		{ "multipart/form-data", false },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_int_equal(media_is_json(cases[i].type), cases[i].want);
}

static void ranges_of_accept_include_types(void **state)
{
	static const struct {
		const char *accept;
		bool json, events;
	} cases[] = {
		{ NULL, true, true },
		{ "*/*", true, true },
		{ "application/json, text/event-stream", true, true },
		{ "text/event-stream,application/json", true, true },
		{ "application/*;q=0.5, text/*", true, true },
		{ "APPLICATION/JSON", true, false },
		{ "text/event-stream", false, true },
		{ "text/html, */*;q=0.1", true, true },
		{ "text/html", false, false },
		{ "", false, false },
		{ ",, ,", false, false },
		{ "*", false, false },
		{ "*/json", false, false },
		{ "application/json;q=0, text/event-stream;q=0.0", false, false },
		{ "application/json;q=0.01, text/event-stream; q=1", true, true },
		{ "application/json/x", false, false },
		{ "application/jsonx, xtext/event-stream", false, false },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		assert_int_equal(media_accepts(cases[i].accept, "application", "json"),
		                 cases[i].json);
		assert_int_equal(media_accepts(cases[i].accept, "text", "event-stream"),
		                 cases[i].events);
	}
}

int main(void)
{
	const struct CMUnitTest all[] = {
		TEST(content_type_of_json_is_recognised),
		TEST(ranges_of_accept_include_types),
	};

	return RUN_TESTS("media", all);
}
