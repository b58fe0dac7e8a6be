/* json_write() gives the text that Jansson gives, for every string. */
#include "base/cleanup.h"
#include "unit/test.h"
#include "json/json.h"

/* Takes over the value. */
static void check_same_as_jansson(json_t *value)
{
	AUTO_JSON json_t *owned = value;
	size_t len;
	AUTO_FREE char *ours = json_write(owned, &len);
	AUTO_FREE char *theirs = json_dumps(owned, JSON_COMPACT | JSON_ENCODE_ANY);

	assert_string_equal(ours, theirs);
	assert_int_equal(len, strlen(theirs));
}

static void each_byte_is_escaped_at_each_position(void **state)
{
	for (unsigned char c = 0; c < 0x80; c++) {
		for (size_t at = 0; at < 20; at++) {
			char text[20];

			memset(text, 'x', sizeof text);
			text[at] = (char)c;
			check_same_as_jansson(json_str_view((struct view){ text, sizeof text }));
		}
	}
}

static void characters_beyond_ascii_are_written_as_they_are(void **state)
{
	check_same_as_jansson(
	        json_str("h\xc3\xa9llo \xe2\x82\xac \xf0\x9f\x98\x80 \xc2\x80\xef\xbf\xbf"));
	check_same_as_jansson(json_str("\xc2\xa2\"\xc3\x9c\\\xc2\xa2"));
	check_same_as_jansson(json_str(""));
}

static void long_string_is_written_whole(void **state)
{
	AUTO_FREE char *text = malloc(1000001);

	for (size_t i = 0; i < 1000000; i++)
		text[i] = i % 997 == 0 ? '\n' : (char)('a' + i % 26);
	text[1000000] = '\0';
	check_same_as_jansson(json_str(text));
}

static void values_of_each_type_are_written(void **state)
{
	check_same_as_jansson(json_pack("{s:[i,f,b,b,n],s:{},s:[],s:s,s:{s:{s:I}}}", "a\n", -5, 0.5,
	                                1, 0, "empty", "list", "text", "\t\x01", "deep", "er", "n",
	                                (json_int_t)INT64_MIN));
}

static void each_real_has_as_few_digits_as_it_needs(void **state)
{
	AUTO_JSON json_t *list = json_pack("[f,f,f,f,f]", 0.1, 1.0 / 3, 1e300, 2.5e-7, 95.5);
	size_t len;
	AUTO_FREE char *text = json_write(list, &len);

	assert_string_equal(text, "[0.1,0.3333333333333333,1e300,2.5e-7,95.5]");
}

static void sorted_text_does_not_depend_on_the_order_of_members(void **state)
{
	AUTO_JSON json_t *one = json_pack("{s:i,s:{s:i,s:i}}", "b", 1, "a", "y", 2, "x", 3);
	AUTO_JSON json_t *two = json_pack("{s:{s:i,s:i},s:i}", "a", "x", 3, "y", 2, "b", 1);
	size_t len;
	AUTO_FREE char *first = json_write_sorted(one, &len);
	AUTO_FREE char *second = json_write_sorted(two, &len);

	assert_string_equal(first, "{\"a\":{\"x\":3,\"y\":2},\"b\":1}");
	assert_string_equal(first, second);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_byte_is_escaped_at_each_position),
		TEST(characters_beyond_ascii_are_written_as_they_are),
		TEST(long_string_is_written_whole),
		TEST(values_of_each_type_are_written),
		TEST(each_real_has_as_few_digits_as_it_needs),
		TEST(sorted_text_does_not_depend_on_the_order_of_members),
	};

	return RUN_TESTS("json/write", tests);
}
