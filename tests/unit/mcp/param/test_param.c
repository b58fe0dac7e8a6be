#include "base/cleanup.h"
#include "mcp/param/param.h"
#include "unit/test.h"

struct edit {
	const char *old;
	bool all;
};

struct args {
	const char *text, *colour;
	struct view raw;
	int64_t count;
	double ratio;
	bool flag;
	struct param_strings names;
	struct param_map env;
	struct edit edit;
	struct param_records edits;
	json_t *any;
};

static const char green[] = "green"; /* not the literal of the fallback */
static const char *const colours[] = { "red", green, NULL };

static const struct param edit_fields[] = {
	{ .name = "old",
	  .type = PARAM_STRING,
	  .required = true,
	  .max = 4,
	  .offset = offsetof(struct edit, old),
	  .help = "o" },
	{ .name = "all", .type = PARAM_BOOL, .offset = offsetof(struct edit, all), .help = "a" },
	{ 0 },
};

static const struct param params[] = {
	{ .name = "text",
	  .type = PARAM_STRING,
	  .required = true,
	  .min = 1,
	  .max = 5,
	  .offset = offsetof(struct args, text),
	  .help = "t" },
	{ .name = "raw",
	  .type = PARAM_TEXT,
	  .max = 3,
	  .offset = offsetof(struct args, raw),
	  .help = "r" },
	{ .name = "colour",
	  .type = PARAM_ENUM,
	  .values = colours,
	  .fallback.text = "green",
	  .offset = offsetof(struct args, colour),
	  .help = "c" },
	{ .name = "count",
	  .type = PARAM_INT,
	  .min = 1,
	  .max = 600,
	  .fallback.integer = 30,
	  .offset = offsetof(struct args, count),
	  .help = "n" },
	{ .name = "ratio",
	  .type = PARAM_NUMBER,
	  .min = 0,
	  .max = 1,
	  .fallback.number = 0.25,
	  .offset = offsetof(struct args, ratio),
	  .help = "q" },
	{ .name = "flag",
	  .type = PARAM_BOOL,
	  .fallback.boolean = true,
	  .offset = offsetof(struct args, flag),
	  .help = "f" },
	{ .name = "names",
	  .type = PARAM_STRINGS,
	  .max = 2,
	  .item_max = 3,
	  .offset = offsetof(struct args, names),
	  .help = "s" },
	{ .name = "env",
	  .type = PARAM_MAP,
	  .max = 2,
	  .item_max = 4,
	  .offset = offsetof(struct args, env),
	  .help = "e" },
	{ .name = "edit",
	  .type = PARAM_RECORD,
	  .fields = edit_fields,
	  .offset = offsetof(struct args, edit),
	  .help = "d" },
	{ .name = "edits",
	  .type = PARAM_RECORDS,
	  .fields = edit_fields,
	  .record_size = sizeof(struct edit),
	  .max = 2,
	  .offset = offsetof(struct args, edits),
	  .help = "l" },
	{ .name = "any", .type = PARAM_JSON, .offset = offsetof(struct args, any), .help = "j" },
	{ 0 },
};

static json_t *parse(const char *text)
{
	json_t *value = json_loads(text, JSON_ALLOW_NUL, NULL);

	assert_non_null(value);
	return value;
}

static void every_type_is_decoded(void **state)
{
	AUTO_JSON json_t *given = parse(
	        "{\"text\":\"hi\",\"raw\":\"a\\u0000b\",\"colour\":\"red\",\"count\":5.0,\"ratio\":"
	        "1,"
	        "\"flag\":false,\"names\":[\"a\",\"b\"],\"env\":{\"K\":\"v\"},\"edit\":{\"old\":"
	        "\"x\"},"
	        "\"edits\":[{\"old\":\"1\"},{\"old\":\"2\",\"all\":true}],\"any\":null}");
	struct arena arena = { 0 };
	struct args a = { 0 };
	const struct edit *edits;
	struct error err;

	CHECK_OK(param_decode(params, given, &arena, &a, &err), err);
	assert_string_equal(a.text, "hi");
	assert_int_equal(a.raw.len, 3);
	assert_memory_equal(a.raw.ptr, "a\0b", 3);
	assert_ptr_equal(a.colour, colours[0]);
	assert_int_equal(a.count, 5);
	assert_true(a.ratio == 1.0);
	assert_false(a.flag);
	assert_int_equal(a.names.count, 2);
	assert_string_equal(a.names.items[1], "b");
	assert_null(a.names.items[2]); /* usable as an argument vector */
	assert_int_equal(a.env.count, 1);
	assert_string_equal(a.env.items[0].name, "K");
	assert_string_equal(a.env.items[0].value, "v");
	assert_string_equal(a.edit.old, "x");
	assert_int_equal(a.edits.count, 2);
	edits = a.edits.items;
	assert_string_equal(edits[1].old, "2");
	assert_true(edits[1].all && !edits[0].all);
	assert_true(json_is_null(a.any));
	arena_done(&arena);
}

static void absent_and_null_give_the_default(void **state)
{
	AUTO_JSON json_t *given = parse("{\"text\":\"x\",\"count\":null,\"names\":null}");
	struct arena arena = { 0 };
	struct args a = { 0 };
	struct error err;

	CHECK_OK(param_decode(params, given, &arena, &a, &err), err);
	assert_ptr_equal(a.colour, colours[1]);
	assert_int_equal(a.count, 30);
	assert_true(a.ratio == 0.25);
	assert_true(a.flag);
	assert_int_equal(a.names.count, 0);
	assert_null(a.any);
	arena_done(&arena);
}

#define NAMES "text, raw, colour, count, ratio, flag, names, env, edit, edits, any"

static void error_names_argument_expectation_and_value(void **state)
{
	static const struct {
		const char *given;
		enum error_kind kind;
		const char *why;
	} cases[] = {
		{ "{}", ERR_INVALID,
		  "argument 'text' is missing: expected a string of 1 to 5 bytes" },
		{ "{\"text\":null}", ERR_INVALID,
		  "argument 'text' is missing: expected a string of 1 to 5 bytes" },
		{ "{\"text\":7}", ERR_INVALID,
		  "argument 'text': expected a string of 1 to 5 bytes, got the number 7" },
		{ "{\"text\":\"\"}", ERR_LIMIT,
		  "argument 'text': expected a string of 1 to 5 bytes, got 0" },
		{ "{\"text\":\"123456\"}", ERR_LIMIT,
		  "argument 'text': expected a string of at most 5 bytes, got 6 bytes" },
		{ "{\"text\":\"a\\u0000b\"}", ERR_INVALID,
		  "argument 'text': contains a NUL character" },
		{ "{\"text\":\"a\",\"raw\":\"1234\"}", ERR_LIMIT,
		  "argument 'raw': expected a string of at most 3 bytes, got 4" },
		{ "{\"text\":\"a\",\"colour\":\"blue\"}", ERR_INVALID,
		  "argument 'colour': expected one of \"red\", \"green\", got the string "
		  "\"blue\"" },
		{ "{\"text\":\"a\",\"colour\":\"red\\u0000\"}", ERR_INVALID,
		  "argument 'colour': expected one of \"red\", \"green\", got the string "
		  "\"red\\x00\"" },
		{ "{\"text\":\"a\",\"count\":\"5s\"}", ERR_INVALID,
		  "argument 'count': expected an integer from 1 to 600, got the string \"5s\"" },
		{ "{\"text\":\"a\",\"count\":\"601\"}", ERR_INVALID,
		  "argument 'count': expected an integer from 1 to 600, got the number 601" },
		{ "{\"text\":\"a\",\"count\":0}", ERR_INVALID,
		  "argument 'count': expected an integer from 1 to 600, got the number 0" },
		{ "{\"text\":\"a\",\"count\":601}", ERR_INVALID,
		  "argument 'count': expected an integer from 1 to 600, got the number 601" },
		{ "{\"text\":\"a\",\"count\":1.5}", ERR_INVALID,
		  "argument 'count': expected an integer from 1 to 600, got the number 1.5" },
		{ "{\"text\":\"a\",\"count\":1e300}", ERR_INVALID,
		  "argument 'count': expected an integer from 1 to 600, got the number 1e+300" },
		{ "{\"text\":\"a\",\"ratio\":1.01}", ERR_INVALID,
		  "argument 'ratio': expected a number from 0 to 1, got the number 1.01" },
		{ "{\"text\":\"a\",\"flag\":\"yes\"}", ERR_INVALID,
		  "argument 'flag': expected true or false, got the string \"yes\"" },
		{ "{\"text\":\"a\",\"names\":\"b c\"}", ERR_INVALID,
		  "argument 'names': expected an array of strings with at most 2 entries, got the "
		  "string \"b c\"" },
		{ "{\"text\":\"a\",\"names\":\"[1, 2\"}", ERR_INVALID,
		  "argument 'names': expected an array of strings with at most 2 entries, got the "
		  "string \"[1, 2\"" },
		{ "{\"text\":\"a\",\"names\":\"[1,2,3]\"}", ERR_LIMIT,
		  "argument 'names': expected an array of strings with at most 2 entries, got 3" },
		{ "{\"text\":\"a\",\"names\":[\"1\",\"2\",\"3\"]}", ERR_LIMIT,
		  "argument 'names': expected an array of strings with at most 2 entries, got 3" },
		{ "{\"text\":\"a\",\"names\":[\"1\",{}]}", ERR_INVALID,
		  "argument 'names[1]': expected a string, got an object" },
		{ "{\"text\":\"a\",\"names\":[1234]}", ERR_LIMIT,
		  "argument 'names[0]': expected a string of at most 3 bytes, got 4 bytes" },
		{ "{\"text\":\"a\",\"names\":[\"1234\"]}", ERR_LIMIT,
		  "argument 'names[0]': expected a string of at most 3 bytes, got 4 bytes" },
		{ "{\"text\":\"a\",\"env\":{\"K\":[]}}", ERR_INVALID,
		  "argument 'env.K': expected a string, got an array" },
		{ "{\"text\":\"a\",\"edits\":\"[{'old': 1}]\"}", ERR_INVALID,
		  "argument 'edits': expected an array of objects with at most 2 entries, got the "
		  "string \"[{'old': 1}]\"; an object has: old, all" },
		{ "{\"text\":\"a\",\"env\":{\"LONGER\":\"\"}}", ERR_LIMIT,
		  "argument 'env.LONGER': its name is longer than 4 bytes" },
		{ "{\"text\":\"a\",\"edit\":{}}", ERR_INVALID,
		  "argument 'edit.old' is missing: expected a string of at most 4 bytes" },
		{ "{\"text\":\"a\",\"edits\":[{\"old\":\"1\"},{\"odl\":\"2\"}]}", ERR_INVALID,
		  "argument 'edits[1].odl' is not known; did you mean 'old'? There are: old, all" },
		{ "{\"text\":\"a\",\"edits\":[7]}", ERR_INVALID,
		  "argument 'edits[0]': expected an object, got the number 7; an object has: old, all" },
		{ "{\"text\":\"a\",\"conut\":5}", ERR_INVALID,
		  "argument 'conut' is not known; did you mean 'count'? There are: " NAMES },
		{ "{\"text\":\"a\",\"zzzzzz\":5}", ERR_INVALID,
		  "argument 'zzzzzz' is not known; there are: " NAMES },
		{ "{\"text\":\"a\",\"\\u001b[2J\":5}", ERR_INVALID,
		  "argument '\\x1b[2J' is not known; there are: " NAMES },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO_JSON json_t *given = parse(cases[i].given);
		struct arena arena = { 0 };
		struct args a = { 0 };
		struct error err;

		CHECK_ERROR(param_decode(params, given, &arena, &a, &err), err, cases[i].kind,
		            cases[i].why);
		arena_done(&arena);
	}
}

static void value_of_another_type_with_one_meaning_is_understood(void **state)
{
	AUTO_JSON json_t *given = parse(
	        "{\"text\":\"x\",\"colour\":\" RE-D\",\"count\":\"30\",\"ratio\":\"0.5\","
	        "\"flag\":\"False\",\"names\":\"[\\\"a\\\", 7]\",\"env\":{\"N\":1.5,\"Y\":true},"
	        "\"edit\":\"{\\\"old\\\":\\\"x\\\",\\\"all\\\":\\\"true\\\"}\","
	        "\"edits\":\"[{\\\"old\\\":\\\"1\\\"}]\"}");
	AUTO_JSON json_t *before = json_deep_copy(given);
	AUTO_JSON json_t *one = parse("{\"text\":\"x\",\"names\":\"b\",\"env\":\"{\\\"K\\\":1}\","
	                              "\"edits\":{\"old\":\"2\"}}");
	struct arena arena = { 0 };
	struct args a = { 0 }, b = { 0 };
	struct error err;

	CHECK_OK(param_decode(params, given, &arena, &a, &err), err);
	assert_ptr_equal(a.colour, colours[0]);
	assert_int_equal(a.count, 30);
	assert_true(a.ratio == 0.5);
	assert_false(a.flag);
	assert_int_equal(a.names.count, 2);
	assert_string_equal(a.names.items[0], "a");
	assert_string_equal(a.names.items[1], "7");
	assert_string_equal(a.env.items[0].value, "1.5");
	assert_string_equal(a.env.items[1].value, "true");
	assert_string_equal(a.edit.old, "x");
	assert_true(a.edit.all);
	assert_int_equal(a.edits.count, 1);
	assert_string_equal(((const struct edit *)a.edits.items)->old, "1");
	/* A question's answer is bound to the arguments, so that they must stay as they came. */
	assert_true(json_equal(given, before));

	CHECK_OK(param_decode(params, one, &arena, &b, &err), err);
	assert_int_equal(b.names.count, 1);
	assert_string_equal(b.names.items[0], "b");
	assert_string_equal(b.env.items[0].value, "1");
	assert_string_equal(((const struct edit *)b.edits.items)->old, "2");
	arena_done(&arena);
}

static void null_table_accepts_no_arguments(void **state)
{
	AUTO_JSON json_t *empty = parse("{}");
	AUTO_JSON json_t *one = parse("{\"x\":1}");
	struct arena arena = { 0 };
	struct error err;
	char nothing = 0;

	CHECK_OK(param_decode(NULL, NULL, &arena, &nothing, &err), err);
	CHECK_OK(param_decode(NULL, empty, &arena, &nothing, &err), err);
	CHECK_ERROR(param_decode(NULL, one, &arena, &nothing, &err), err, ERR_INVALID,
	            "argument 'x' is not known, and there are no others: leave it out");
	arena_done(&arena);
}

static void check_schema(const struct param *table, bool is_input, const char *want)
{
	AUTO_JSON json_t *schema = param_schema(table, is_input);
	size_t len;
	AUTO_FREE char *text = json_write(schema, &len);

	assert_string_equal(text, want);
}

static void input_schema_has_what_a_caller_needs(void **state)
{
	check_schema(NULL, true, "{\"type\":\"object\",\"properties\":{}}");
	check_schema(params, true,
	             "{\"type\":\"object\",\"properties\":{"
	             "\"text\":{\"type\":\"string\",\"description\":\"t\"},"
	             "\"raw\":{\"type\":\"string\",\"description\":\"r\"},"
	             "\"colour\":{\"type\":\"string\",\"enum\":[\"red\",\"green\"],\"default\":"
	             "\"green\",\"description\":\"c\"},"
	             "\"count\":{\"type\":\"integer\",\"maximum\":600,\"default\":30,"
	             "\"description\":\"n\"},"
	             "\"ratio\":{\"type\":\"number\",\"maximum\":1,\"default\":0.25,"
	             "\"description\":\"q\"},"
	             "\"flag\":{\"type\":\"boolean\",\"default\":true,\"description\":\"f\"},"
	             "\"names\":{\"type\":\"array\",\"items\":{\"type\":\"string\"},"
	             "\"description\":\"s\"},"
	             "\"env\":{\"type\":\"object\",\"description\":\"e\"},"
	             "\"edit\":{\"type\":\"object\",\"properties\":{\"old\":{\"type\":\"string\","
	             "\"description\":\"o\"},\"all\":{\"type\":\"boolean\",\"description\":\"a\"}},"
	             "\"required\":[\"old\"],\"description\":\"d\"},"
	             "\"edits\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{"
	             "\"old\":{\"type\":\"string\",\"description\":\"o\"},\"all\":{\"type\":"
	             "\"boolean\",\"description\":\"a\"}},\"required\":[\"old\"]},"
	             "\"description\":\"l\"},"
	             "\"any\":{\"description\":\"j\"}},"
	             "\"required\":[\"text\"]}");
}

static void output_schema_has_only_required_members(void **state)
{
	static const struct param output[] = {
		{ .name = "n", .type = PARAM_INT, .required = true, .help = "h" },
		{ .name = "s", .type = PARAM_STRING, .help = "t" },
		{ 0 },
	};

	check_schema(output, false,
	             "{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\"}},"
	             "\"required\":[\"n\"]}");
}

static const struct param named[] = {
	{ .name = "text",
	  .type = PARAM_STRING,
	  .required = true,
	  .max = 5,
	  .also = PARAM_ALSO("txt", "string"),
	  .help = "",
	  .offset = offsetof(struct args, text) },
	{ .name = "names",
	  .type = PARAM_STRINGS,
	  .max = 2,
	  .item_max = 3,
	  .also = PARAM_ALSO("text"),
	  .help = "",
	  .offset = offsetof(struct args, names) },
	{ .name = "flag",
	  .type = PARAM_BOOL,
	  .hidden = true,
	  .offset = offsetof(struct args, flag) },
	{ 0 },
};

static void other_names_of_an_argument_are_understood(void **state)
{
	AUTO_JSON json_t *other = parse("{\"string\":\"a\",\"txt\":null,\"flag\":true}");
	AUTO_JSON json_t *twice = parse("{\"text\":\"a\",\"txt\":\"b\"}");
	AUTO_JSON json_t *unknown = parse("{\"zzzzzz\":1}");
	AUTO_JSON json_t *near = parse("{\"sting\":1}");
	struct arena arena = { 0 };
	struct args a = { 0 };
	struct error err;

	CHECK_OK(param_decode(named, other, &arena, &a, &err), err);
	assert_string_equal(a.text, "a");
	assert_true(a.flag);
	CHECK_ERROR(param_decode(named, twice, &arena, &a, &err), err, ERR_INVALID,
	            "arguments 'text' and 'txt' are the same: give only one of them");
	CHECK_ERROR(param_decode(named, unknown, &arena, &a, &err), err, ERR_INVALID,
	            "argument 'zzzzzz' is not known; there are: text, names");
	CHECK_ERROR(param_decode(named, near, &arena, &a, &err), err, ERR_INVALID,
	            "argument 'sting' is not known; did you mean 'text'? There are: text, names");
	check_schema(named, true,
	             "{\"type\":\"object\",\"properties\":{\"text\":{\"type\":\"string\"},"
	             "\"names\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}}},"
	             "\"required\":[\"text\"]}");
	arena_done(&arena);
}

static void array_is_for_the_list_of_the_same_name(void **state)
{
	struct param both[] = { named[0], named[1], { 0 } };
	AUTO_JSON json_t *array = parse("{\"text\":[\"a\"]}");
	AUTO_JSON json_t *text = parse("{\"text\":\"[\\\"b\\\"]\"}");
	AUTO_JSON json_t *word = parse("{\"text\":\"[ a\"}");
	struct arena arena = { 0 };
	struct args a = { 0 }, b = { 0 }, c = { 0 };
	struct error err;

	both[0].required = false;
	CHECK_OK(param_decode(both, array, &arena, &a, &err), err);
	assert_null(a.text);
	assert_string_equal(a.names.items[0], "a");
	CHECK_OK(param_decode(both, text, &arena, &b, &err), err);
	assert_null(b.text);
	assert_string_equal(b.names.items[0], "b");
	CHECK_OK(param_decode(both, word, &arena, &c, &err), err);
	assert_string_equal(c.text, "[ a");
	assert_int_equal(c.names.count, 0);
	arena_done(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(every_type_is_decoded),
		TEST(absent_and_null_give_the_default),
		TEST(error_names_argument_expectation_and_value),
		TEST(null_table_accepts_no_arguments),
		TEST(input_schema_has_what_a_caller_needs),
		TEST(output_schema_has_only_required_members),
		TEST(other_names_of_an_argument_are_understood),
		TEST(value_of_another_type_with_one_meaning_is_understood),
		TEST(array_is_for_the_list_of_the_same_name),
	};

	return RUN_TESTS("mcp/param", tests);
}
