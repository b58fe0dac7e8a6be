#include "base/buf.h"
#include "tools/catalogue.h"
#include "tools/manual.h"
#include "unit/test.h"

static void writes_a_manual_from_the_record(void **state)
{
	AUTO_BUF struct buf buf;
	struct error err;

	(void)state;
	buf_init(&buf, 10000);
	CHECK_OK(manual_write(&tool_wait, &buf, &err), err);
	assert_string_equal(
	        buf_text(&buf),
	        "# wait\n\n"
	        "Wait for a number of seconds without using a sandbox, reporting progress. "
	        "Use it between polls of something that takes long.\n\n"
	        "## Arguments\n\n"
	        "- `seconds` (a number from 0 to 300, required): How long to wait; "
	        "fractions are fine.\n\n"
	        "## Answer\n\n"
	        "- `waited_s`: Seconds waited.\n");
}

static void every_tool_has_a_manual_that_names_its_arguments(void **state)
{
	(void)state;
	for (size_t i = 0; catalogue_tools[i] != NULL; i++) {
		const struct mcp_tool *tool = catalogue_tools[i];
		AUTO_BUF struct buf buf;
		struct error err;

		buf_init(&buf, 100000);
		CHECK_OK(manual_write(tool, &buf, &err), err);
		for (const struct param *p = tool->params; p != NULL && p->type != PARAM_END; p++)
			assert_non_null(strstr(buf_text(&buf), p->name));
	}
}

static void a_manual_that_does_not_fit_is_an_error(void **state)
{
	AUTO_BUF struct buf buf;
	struct error err;

	(void)state;
	buf_init(&buf, 50);
	CHECK_ERROR(manual_write(&tool_wait, &buf, &err), err, ERR_LIMIT, "more than 50 bytes");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(writes_a_manual_from_the_record),
		TEST(every_tool_has_a_manual_that_names_its_arguments),
		TEST(a_manual_that_does_not_fit_is_an_error),
	};

	return RUN_TESTS("tools/manual", tests);
}
