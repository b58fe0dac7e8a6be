#include "base/cleanup.h"
#include "transport/mcp_http/internal.h"
#include "unit/test.h"

static void event_id_survives_a_round_trip(void **state)
{
	static const struct event_id cases[] = {
		{ 0, 0 }, { 1, 2 }, { 12345, 0 }, { 9999999999999999999U, 9999999999999999999U }
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char text[EVENT_ID_SIZE];
		struct event_id id;

		event_id_format(&cases[i], text);
		assert_true(event_id_parse(text, &id));
		assert_true(id.stream == cases[i].stream);
		assert_true(id.position == cases[i].position);
	}
}

static void malformed_event_id_is_unknown(void **state)
{
	static const char *const cases[] = {
		"",
		"-",
		"1",
		"1-",
		"-1",
		"1--2",
		"1-2-3",
		"01-2",
		"1-02",
		"+1-2",
		"1-+2",
		" 1-2",
		"1-2 ",
		"1-0x2",
		"a-b",
		"1_2",
		"1-2\n",
		"1\t-2",
		"00-1",
		"1-00",
		"1.0-2",
		"\xc2\xb9-2",
		"10000000000000000000-1",
		"1-10000000000000000000",
		"1-99999999999999999999999999999999999999999999999999",
	};
	struct event_id id;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		if (event_id_parse(cases[i], &id))
			fail_msg("'%s' was parsed", cases[i]);
	}
}

static void event_has_one_data_line(void **state)
{
	const struct event_id id = { 3, 14 };
	size_t len;
	AUTO_FREE char *with = event_format(&id, VIEW("{\"a\":1}"), &len);
	AUTO_FREE char *without = NULL;

	CHECK_VIEW(((struct view){ with, len }), "id: 3-14\nevent: message\ndata: {\"a\":1}\n\n");
	without = event_format(NULL, VIEW("[]"), &len);
	CHECK_VIEW(((struct view){ without, len }), "event: message\ndata: []\n\n");
}

int main(void)
{
	const struct CMUnitTest all[] = {
		TEST(event_id_survives_a_round_trip),
		TEST(malformed_event_id_is_unknown),
		TEST(event_has_one_data_line),
	};

	return RUN_TESTS("events", all);
}
