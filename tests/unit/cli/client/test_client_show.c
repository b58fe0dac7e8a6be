#include "cli/client/client_show.h"

#include <unistd.h>

#include "cli/support/records.h"
#include "unit/cli/cli.h"

/* What was printed meanwhile. Static until the next call. */
static const char *printed(void (*show)(const json_t *value), const char *json)
{
	static const struct json_limits limits = { .depth = 8, .values = 100 };
	static char text[8192];
	AUTO_JSON json_t *value = NULL;
	FILE *file = tmpfile();
	struct error err;
	int saved;

	CHECK_OK(json_read(view_of(json), &limits, &value, NULL, &err), err);
	(void)fflush(stdout);
	saved = ran_redirect(STDOUT_FILENO, file);
	show(value);
	(void)fflush(stdout);
	ran_restore(STDOUT_FILENO, saved, file, text, sizeof text);
	return text;
}

static void show_blocks(const json_t *value)
{
	show_content(value, 2, 2);
}

static void show_tools(const json_t *value)
{
	show_list(value, "name");
}

static void show_block_prints_text_and_describes_the_rest(void **state)
{
	static const struct {
		const char *json, *want;
	} cases[] = {
		{ "[{\"type\":\"text\",\"text\":\"a\\nb\"}]", "  a\n  b\n" },
		{ "[{\"type\":\"text\",\"text\":\"a\\nb\\nc\"}]", "  a\n  b\n  (1 more line)\n" },
		{ "[{\"type\":\"text\",\"text\":\"\"}]", "" },
		{ "[{\"type\":\"image\",\"mimeType\":\"image/png\",\"data\":\"QUJDRA==\"}]",
		  "  [picture image/png, 4 bytes]\n" },
		{ "[{\"type\":\"image\",\"data\":\"==\"}]",
		  "  [picture of unknown kind, 0 bytes]\n" },
		{ "[{\"type\":\"audio\",\"mimeType\":\"a\\u001b\",\"data\":\"QUJD\"}]",
		  "  [sound a\\x1b, 3 bytes]\n" },
		{ "[{\"type\":\"resource\",\"resource\":{\"text\":\"t\"}}]", "  t\n" },
		{ "[{\"type\":\"resource\",\"resource\":{\"blob\":\"QUI=\",\"mimeType\":\"b\"}}]",
		  "  [file b, 2 bytes]\n" },
		{ "[{\"type\":\"resource_link\",\"uri\":\"sandbox://x/y\"}]",
		  "  [sandbox://x/y]\n" },
		{ "[{\"type\":\"new\"},{},5]", "  [new]\n  [nothing]\n  [nothing]\n" },
		{ "{}", "" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_string_equal(printed(show_blocks, cases[i].json), cases[i].want);
}

static void show_list_prints_the_first_sentence(void **state)
{
	assert_string_equal(
	        printed(show_tools,
	                "[{\"name\":\"wait\",\"title\":\"Wait\",\"description\":\"Waits for "
	                "1.5 s. Then more.\"},"
	                "{\"name\":\"a_name_longer_than_its_column\",\"description\":\"One"
	                " line\\nand another\"},{}]"),
	        "wait                Wait: Waits for 1.5 s.\n"
	        "a_name_longer_than_its_column\n"
	        "                    One line\n\n");
}

static void records_span_picks_a_unit(void **state)
{
	static const struct {
		int64_t seconds;
		const char *want;
	} cases[] = {
		{ -5, "0 s" },
		{ 119, "119 s" },
		{ 120, "2 min" },
		{ 7199, "119 min" },
		{ 7200, "2 h" },
		{ 172800, "2 days" },
		{ INT64_MAX - 1, "106751991167300 days" },
	};
	char text[RECORDS_TEXT_SIZE];

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_string_equal(records_span(cases[i].seconds, text), cases[i].want);
	assert_string_equal(records_when(0, text), "1970-01-01T00:00:00Z");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(show_block_prints_text_and_describes_the_rest),
		cmocka_unit_test(show_list_prints_the_first_sentence),
		cmocka_unit_test(records_span_picks_a_unit),
	};

	return cmocka_run_group_tests_name("client_show", tests, NULL, NULL);
}
