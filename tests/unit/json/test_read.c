#include "base/cleanup.h"
#include "unit/test.h"
#include "json/json.h"

static const struct json_limits limits = { .depth = 4, .values = 8 };

static void json_is_read_and_written_back(void **state)
{
	static const char *const texts[] = {
		"null",
		"true",
		"-12",
		"1.5",
		"\"\"",
		"\"\\u0000\"",
		"\"\xc3\xa9\xf0\x9f\x94\x94\"",
		"[]",
		"{}",
		"{\"a\":[1,\"x\",null],\"b\":{\"c\":false}}",
		"[[[[]]]]",
		"9223372036854775807",
		"-9223372036854775808",
	};

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		AUTO_JSON json_t *value = NULL;
		AUTO_FREE char *again = NULL;
		struct error err;
		size_t len;

		CHECK_OK(json_read(view_of(texts[i]), &limits, &value, NULL, &err), err);
		again = json_write(value, &len);
		assert_string_equal(again, texts[i]);
		assert_int_equal(len, strlen(texts[i]));
	}
}

static void invalid_json_is_an_error_with_its_position(void **state)
{
	static const struct {
		struct view text;
		const char *why;
	} cases[] = {
		{ { NULL, 0 }, "empty text" },
		{ VIEW_INIT(""), "empty text" },
		{ VIEW_INIT(" "), "unexpected token near end of file at byte 1" },
		{ VIEW_INIT("{"), "string or '}' expected near end of file at byte 1" },
		{ VIEW_INIT("[1,]"), "unexpected token near ']' at byte 4" },
		{ VIEW_INIT("[1]x"), "end of file expected near 'x' at byte 4" },
		{ VIEW_INIT("1 2"), "end of file expected near '2' at byte 3" },
		{ VIEW_INIT("{'a':1}"), "string or '}' expected near ''' at byte 2" },
		{ VIEW_INIT("01"), "invalid token near '0' at byte 1" },
		{ VIEW_INIT("nul"), "invalid token near 'nul' at byte 3" },
		{ VIEW_INIT("\"\n\""), "unexpected newline near '\"' at byte 1" },
		{ VIEW_INIT("\xef\xbb\xbf{}"), "invalid token near '\\ufeff' at byte 3" },
		{ VIEW_INIT("[1\0]"), "NUL byte at byte 3" },
		{ VIEW_INIT("{}\0"), "NUL byte at byte 3" },
		{ VIEW_INIT("\0"), "NUL byte at byte 1" },
		{ VIEW_INIT("\"abc"), "premature end of input near '\"abc' at byte 4" },
		{ VIEW_INIT("\"\xff\""), "unable to decode byte 0xff near '\"' at byte 1" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		json_t marker, *value = &marker, *id = &marker;
		struct error err;

		CHECK_ERROR(json_read(cases[i].text, &limits, &value, &id, &err), err, ERR_SYNTAX,
		            cases[i].why);
		assert_ptr_equal(value, &marker); /* untouched */
		assert_null(id);
	}
}

/* Text that is JSON but above a limit or invalid: the error response can name the request. */
static void rejected_json_keeps_the_id(void **state)
{
	static const struct {
		const char *text;
		enum error_kind kind;
		const char *why, *id; /* the id as JSON; NULL: none */
	} cases[] = {
		{ "{\"id\":7,\"a\":[[[[]]]]}", ERR_LIMIT, "nested deeper than 4 levels (max_depth)",
		  "7" },
		{ "{\"id\":\"x\",\"a\":[1,2,3,4,5,6]}", ERR_LIMIT,
		  "more than 8 values (max_values)", "\"x\"" },
		{ "{\"id\":1.5,\"a\":1,\"a\":2}", ERR_INVALID, "duplicate object key near '\"a\"'",
		  "1.5" },
		{ "{\"id\":1,\"id\":2}", ERR_INVALID, "duplicate object key near '\"id\"'", NULL },
		{ "{\"id\":[1],\"a\":1,\"a\":2}", ERR_INVALID, "duplicate object key near '\"a\"'",
		  NULL },
		{ "{\"id\":{},\"a\":1,\"a\":2}", ERR_INVALID, "duplicate object key near '\"a\"'",
		  NULL },
		{ "{\"id\":true,\"a\":1e999}", ERR_INVALID, "real number overflow near '1e999'",
		  "true" },
		{ "{\"id\":3,\"a\":9223372036854775808}", ERR_INVALID,
		  "too big integer near '9223372036854775808'", "3" },
		{ "{\"id\":3,\"a\":-9223372036854775809}", ERR_INVALID,
		  "too big negative integer near '-9223372036854775809'", "3" },
		{ "{\"id\":9223372036854775808}", ERR_INVALID,
		  "too big integer near '9223372036854775808'", NULL },
		{ "{\"id\":4,\"a\\u0000\":1}", ERR_INVALID,
		  "NUL byte in object key not supported near '\"a\\u0000\"'", "4" },
		{ "{\"id\":5,\"a\":\"\\ud83d\"}", ERR_INVALID,
		  "invalid Unicode '\\uD83D' near '\"\\ud83d\"': it is half of a surrogate pair",
		  "5" },
		{ "{\"id\":5,\"a\":\"\\udc00\\ud800\"}", ERR_INVALID,
		  "invalid Unicode '\\uDC00' near '\"\\udc00\\ud800\"': it is half of a surrogate "
		  "pair",
		  "5" },
		{ "{\"a\":1,\"a\":2}", ERR_INVALID, "duplicate object key near '\"a\"'", NULL },
		{ "[[[[[]]]]]", ERR_LIMIT, "nested deeper than 4 levels (max_depth)", NULL },
		{ "{\"id\":\"a\\u0000b\",\"x\":[[[[]]]]}", ERR_LIMIT,
		  "nested deeper than 4 levels (max_depth)", NULL },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO_JSON json_t *id = NULL;
		AUTO_FREE char *shown = NULL;
		json_t *value = NULL;
		struct error err;
		size_t len;

		CHECK_ERROR(json_read(view_of(cases[i].text), &limits, &value, &id, &err), err,
		            cases[i].kind, cases[i].why);
		assert_null(value);
		if (cases[i].id == NULL) {
			assert_null(id);
		} else {
			assert_non_null(id);
			shown = json_write(id, &len);
			assert_string_equal(shown, cases[i].id);
		}
		assert_int_equal(json_read(view_of(cases[i].text), &limits, &value, NULL, &err),
		                 -1); /* without ret_id */
	}
}

static void error_escapes_control_characters(void **state)
{
	json_t *value = NULL;
	struct error err;

	assert_int_equal(json_read(VIEW("\x1b[2J"), &limits, &value, NULL, &err), -1);
	assert_string_equal(err.msg, "invalid token near '\\x1b' at byte 1");
}

/* The array itself counts as a value. */
static void limit_of_values_is_exact_for_arrays(void **state)
{
	const struct json_limits many = { .depth = 2, .values = 1000 };

	for (size_t elements = 998; elements <= 1000; elements++) {
		AUTO_JSON json_t *list = json_list(), *value = NULL;
		AUTO_FREE char *text = NULL;
		struct error err;
		size_t len;
		int r;

		for (size_t i = 0; i < elements; i++)
			json_push(list, json_int(1));
		text = json_write(list, &len);
		r = json_read((struct view){ text, len }, &many, &value, NULL, &err);
		assert_int_equal(r, elements <= 999 ? 0 : -1);
	}
}

static void getters_return_null_for_absent_and_other_types(void **state)
{
	AUTO_JSON json_t *object = NULL;
	const struct json_limits wide = { .depth = 8, .values = 100 };
	struct error err;

	CHECK_OK(json_read(view_of("{\"s\":\"text\",\"n\":1,\"o\":{},\"z\":null}"), &wide, &object,
	                   NULL, &err),
	         err);
	assert_string_equal(json_text(object, "s"), "text");
	assert_null(json_text(object, "n"));
	assert_null(json_text(object, "absent"));
	assert_null(json_text(NULL, "s"));
	assert_non_null(json_member(object, "o", JSON_OBJECT));
	assert_null(json_member(object, "o", JSON_ARRAY));
	assert_null(json_member(object, "absent", JSON_NULL));
	assert_null(json_member(NULL, "o", JSON_OBJECT));
	assert_true(json_has(object, "z"));
	assert_false(json_has(object, "absent"));
	assert_false(json_has(NULL, "z"));
}

static void reals_without_fraction_are_integers(void **state)
{
	static const struct {
		const char *text;
		bool is;
		json_int_t want;
	} cases[] = {
		{ "5", true, 5 },
		{ "-5.0", true, -5 },
		{ "1e3", true, 1000 },
		{ "0.5", false, 0 },
		{ "1e300", false, 0 },
		{ "-1e300", false, 0 },
		{ "4611686018427387904.0", true, INT64_C(1) << 62 },
		{ "9223372036854775808.0", false, 0 },
		{ "9223372036854775807", true, INT64_MAX },
		{ "\"5\"", false, 0 },
		{ "true", false, 0 },
		{ "null", false, 0 },
		{ "[5]", false, 0 },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO_JSON json_t *value = NULL;
		struct error err;
		json_int_t got = 77;

		CHECK_OK(json_read(view_of(cases[i].text), &limits, &value, NULL, &err), err);
		if (json_as_int(value, &got) != cases[i].is)
			fail_msg("%s: the other way round", cases[i].text);
		assert_true(got == (cases[i].is ? cases[i].want : 77));
	}
	assert_false(json_as_int(NULL, &(json_int_t){ 0 }));
}

static void every_type_is_described(void **state)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{ "\"abc\"", "the string \"abc\"" },
		{ "\"a\\nb\\u0000\\u001b\"", "the string \"a\\nb\\x00\\x1b\"" },
		{ "\"1234567890123456789012345678901234567890123456789012345\"",
		  "the string \"12345678901234567890123456789012345678901234...\"" },
		{ "5", "the number 5" },
		{ "-0.25", "the number -0.25" },
		{ "{}", "an object" },
		{ "[1]", "an array" },
		{ "true", "the boolean true" },
		{ "false", "the boolean false" },
		{ "null", "null" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO_JSON json_t *value = NULL;
		char out[80], little[8];
		struct error err;

		CHECK_OK(json_read(view_of(cases[i].text), &limits, &value, NULL, &err), err);
		assert_ptr_equal(json_describe(value, out, sizeof out), out);
		assert_string_equal(out, cases[i].want);
		assert_true(strlen(json_describe(value, little, sizeof little)) < sizeof little);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(json_is_read_and_written_back),
		TEST(invalid_json_is_an_error_with_its_position),
		TEST(rejected_json_keeps_the_id),
		TEST(error_escapes_control_characters),
		TEST(limit_of_values_is_exact_for_arrays),
		TEST(getters_return_null_for_absent_and_other_types),
		TEST(reals_without_fraction_are_integers),
		TEST(every_type_is_described),
	};

	return RUN_TESTS("json/read", tests);
}
