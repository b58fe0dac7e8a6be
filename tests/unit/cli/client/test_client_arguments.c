/* Arguments as a person types them. */
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "cli/client/client_arguments.h"
#include "unit/test.h"

static const char schema_text[] =
        "{\"properties\":{\"path\":{\"type\":\"string\"},\"n\":{\"type\":\"integer\"},"
        "\"list\":{\"type\":\"array\"}}}";

static void words_become_an_object(void **state)
{
	static const struct {
		const char *text, *json; /* NULL: an error, with `why` */
		const char *why;
	} cases[] = {
		{ "", "{}", NULL },
		{ "  {\"a\": 1}", "{\"a\":1}", NULL },
		{ "path=a.txt", "{\"path\":\"a.txt\"}", NULL },
		{ "path=5 n=5", "{\"path\":\"5\",\"n\":5}", NULL },
		{ "path='a b' n=5", "{\"path\":\"a b\",\"n\":5}", NULL },
		{ "path=\"a \\\"b\\\"\\n\" ", "{\"path\":\"a \\\"b\\\"\\n\"}", NULL },
		{ "path=a\\ b", "{\"path\":\"a b\"}", NULL },
		{ "path='\\n'", "{\"path\":\"\\\\n\"}", NULL },
		{ "path=", "{\"path\":\"\"}", NULL },
		{ "path=a=b", "{\"path\":\"a=b\"}", NULL },
		{ "list='[1, \"x\"]'", "{\"list\":[1,\"x\"]}", NULL },
		{ "other=true more=text", "{\"other\":true,\"more\":\"text\"}", NULL },
		{ "path", NULL, "arguments: expected name=value or a JSON object, found 'path'" },
		{ "=x", NULL, "arguments: expected name=value or a JSON object, found ''" },
		{ "path='a", NULL, "a quote (') is not closed" },
		{ "{\"a\":", NULL, NULL },
	};
	static const struct json_limits limits = { .depth = 8, .values = 100 };
	AUTO_JSON json_t *schema = NULL;
	struct error err;

	(void)state;
	assert_int_equal(json_read(view_of(schema_text), &limits, &schema, NULL, &err), 0);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO_JSON json_t *arguments = NULL;
		AUTO_FREE char *text = NULL;
		size_t len;
		int r = client_arguments(cases[i].text, schema, &arguments, &err);

		assert_int_equal(r, cases[i].json != NULL ? 0 : -1);
		if (cases[i].why != NULL)
			assert_string_equal(err.msg, cases[i].why);
		if (r < 0)
			continue;
		text = json_write(arguments, &len);
		assert_string_equal(text, cases[i].json);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(words_become_an_object) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
