#include "mcp/level.h"
#include "mcp/revision.h"
#include "unit/test.h"

static void five_revisions_are_found_by_name(void **state)
{
	static const char *const names[] = { "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25",
		                             "2026-07-28" };

	assert_int_equal(ARRAY_LEN(names), MCP_REVISION_COUNT);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		enum mcp_revision found;

		assert_true(mcp_revision_find(names[i], &found));
		assert_int_equal(found, i);
		assert_string_equal(mcp_revision_name(found), names[i]);
	}
}

static void unknown_name_does_not_change_the_output(void **state)
{
	static const char *const names[] = { "", "2024-10-07", "2025-06-1", "2025-06-180",
		                             "latest" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		enum mcp_revision found = MCP_2025_06_18;

		assert_false(mcp_revision_find(names[i], &found));
		assert_int_equal(found, MCP_2025_06_18);
	}
}

static void features_belong_to_their_revisions(void **state)
{
	static const struct {
		enum mcp_feature feature;
		bool in[MCP_REVISION_COUNT];
	} cases[] = {
		{ MCP_BATCHES, { true, true, false, false, false } },
		{ MCP_ANNOTATIONS, { false, true, true, true, true } },
		{ MCP_TITLES, { false, false, true, true, true } },
		{ MCP_ICONS, { false, false, false, true, true } },
		{ MCP_STATELESS, { false, false, false, false, true } },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		for (int r = 0; r < MCP_REVISION_COUNT; r++)
			assert_int_equal(mcp_revision_has((enum mcp_revision)r, cases[i].feature),
			                 cases[i].in[r]);
}

static void later_dates_and_other_text_count_as_stateless(void **state)
{
	assert_true(mcp_revision_is_stateless("2026-07-28"));
	assert_true(mcp_revision_is_stateless("2027-01-01"));
	assert_true(mcp_revision_is_stateless("v999.0.0"));
	assert_false(mcp_revision_is_stateless("2025-11-25"));
	assert_false(mcp_revision_is_stateless(""));
}

static void levels_are_in_order_of_severity(void **state)
{
	enum mcp_level level = MCP_LEVEL_NONE;

	assert_true(MCP_LEVEL_DEBUG < MCP_LEVEL_WARNING && MCP_LEVEL_EMERGENCY < MCP_LEVEL_NONE);
	assert_true(mcp_level_find("critical", &level));
	assert_int_equal(level, MCP_LEVEL_CRITICAL);
	assert_string_equal(mcp_level_name(level), "critical");
	assert_false(mcp_level_find("loud", &level));
	assert_false(mcp_level_find("Debug", &level));
	assert_int_equal(level, MCP_LEVEL_CRITICAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(five_revisions_are_found_by_name),
		TEST(unknown_name_does_not_change_the_output),
		TEST(features_belong_to_their_revisions),
		TEST(later_dates_and_other_text_count_as_stateless),
		TEST(levels_are_in_order_of_severity),
	};

	return RUN_TESTS("mcp/revision", tests);
}
