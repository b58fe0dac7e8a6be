#include "mcp/header/header_value.h"
#include "unit/test.h"

static void value_stands_for_itself_or_for_its_base64(void **state)
{
	static const struct {
		const char *value, *text;
		bool want;
	} cases[] = {
		{ "greet", "greet", true },
		{ "greet", "Greet", false },
		{ "", "", true },
		{ "=?base64?SGVsbG8=?=", "Hello", true },
		{ "=?base64?SGVsbG8=?=", "hello", false },
		{ "=?base64?SGVsbG8?=", "Hello", false },  /* padding is missing */
		{ "=?base64?SGVsbG9=?=", "Hello", false }, /* bits behind the last byte */
		{ "=?base64?SGVs!G8=?=", "Hello", false }, /* alphabet */
		{ "=?base64?SGVs\r\nbG8=?=", "Hello", false },
		{ "=?base64?/w==?=", "\xff", false }, /* not UTF-8 */
		{ "=?base64?w6k=?=", "\xc3\xa9", true },
		{ "=?base64?AA==?=", "", false }, /* NUL */
		{ "=?base64?"
		  "?=",
		  "", true },
		{ "=?base64?SGVsbG8=", "Hello", false }, /* without suffix: itself */
		{ "=?base64?SGVsbG8=", "=?base64?SGVsbG8=", true },
		{ "SGVsbG8=?=", "SGVsbG8=?=", true },
		{ "=?BASE64?SGVsbG8=?=", "Hello", false },
		{ "=?base64?=", "=?base64?=", true },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		if (header_value_is_text(cases[i].value, cases[i].text) != cases[i].want)
			fail_msg("'%s' and '%s'", cases[i].value, cases[i].text);
}

static void numbers_and_booleans_are_compared_by_value(void **state)
{
	static const struct {
		const char *value, *json;
		bool want;
	} cases[] = {
		{ "42", "42", true },
		{ "42.0", "42", true },
		{ "42.000", "42", true },
		{ "42", "42.0", true },
		{ "042", "42", true },
		{ "42.5", "42", false },
		{ "42.", "42", false },
		{ ".0", "0", false },
		{ "", "0", false },
		{ "-", "0", false },
		{ "+42", "42", false },
		{ " 42", "42", false },
		{ "4e1", "40", false },
		{ "0x2a", "42", false },
		{ "-7", "-7", true },
		{ "7", "-7", false },
		{ "-0", "0", true },
		{ "9007199254740991", "9007199254740991", true },
		{ "99999999999999999999", "0", false },
		{ "true", "true", true },
		{ "True", "true", false },
		{ "false", "true", false },
		{ "false", "false", true },
		{ "1", "true", false },
		{ "a", "\"a\"", true },
		{ "=?base64?YQ==?=", "\"a\"", true },
		{ "a", "\"a\\u0000b\"", false },
		{ "null", "null", false },
		{ "[]", "[]", false },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		json_t *json = json_loads(cases[i].json, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);

		assert_non_null(json);
		if (header_value_is_json(cases[i].value, json) != cases[i].want)
			fail_msg("'%s' and %s", cases[i].value, cases[i].json);
		json_decref(json);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(value_stands_for_itself_or_for_its_base64),
		TEST(numbers_and_booleans_are_compared_by_value),
	};

	return RUN_TESTS("mcp/header/header_value", tests);
}
