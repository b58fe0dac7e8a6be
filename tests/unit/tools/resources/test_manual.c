#include "base/arena.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "tools/catalogue.h"
#include "tools/resources/internal.h"
#include "unit/test.h"

static void manual_is_written_from_the_record(void **state)
{
	AUTO_BUF struct buf buf;
	struct error err;

	buf_init(&buf, 10000);
	CHECK_OK(manual_write(&tool_delete_sandbox, NULL, &buf, &err), err);
	assert_string_equal(
	        buf_text(&buf),
	        "# delete_sandbox\n\nDelete a sandbox with all its processes and files. If it has files "
	        "and the client can ask its user, the user has to accept; if the user declines, "
	        "nothing is deleted, and the answer says so.\n\n"
	        "## Arguments\n\n- `sandbox` (a string of at most 64 bytes, required): "
	        "Id or name.\n\n## Answer\n\n- `id`: The sandbox's id.\n- "
	        "`message`: What was done.\n\n## Examples\n\nDelete a sandbox:\n\n    "
	        "{\"sandbox\": \"untrusted\"}\n");
}

static const struct mcp_tool *tool_of(const char *name)
{
	for (size_t i = 0; catalogue_tools[i] != NULL; i++)
		if (strcmp(catalogue_tools[i]->name, name) == 0)
			return catalogue_tools[i];
	fail_msg("there is no tool %s", name);
	return NULL;
}

static void tables_accept_the_examples(void **state)
{
	const struct json_limits limits = { .depth = 10, .values = 100 };

	for (const struct tool_example *e = tool_examples; e->tool != NULL; e++) {
		const struct mcp_tool *tool = tool_of(e->tool);
		AUTO_JSON json_t *arguments = NULL;
		AUTO_FREE void *decoded = mem_new(tool->args_size + 1);
		struct arena arena = { 0 };
		struct error err;

		CHECK_OK(json_read(view_of(e->arguments), &limits, &arguments, NULL, &err), err);
		CHECK_OK(param_decode(tool->params, arguments, &arena, decoded, &err), err);
		arena_done(&arena);
	}
}

static void every_tool_has_an_example(void **state)
{
	for (size_t i = 0; catalogue_tools[i] != NULL; i++) {
		const struct tool_example *e = tool_examples;

		while (e->tool != NULL && strcmp(e->tool, catalogue_tools[i]->name) != 0)
			e++;
		if (e->tool == NULL)
			fail_msg("%s has no example", catalogue_tools[i]->name);
	}
}

static void every_tool_has_a_manual_that_names_its_arguments(void **state)
{
	for (size_t i = 0; catalogue_tools[i] != NULL; i++) {
		const struct mcp_tool *tool = catalogue_tools[i];
		AUTO_BUF struct buf buf;
		struct error err;

		buf_init(&buf, 100000);
		CHECK_OK(manual_write(tool, NULL, &buf, &err), err);
		for (const struct param *p = tool->params; p != NULL && p->type != PARAM_END; p++)
			assert_non_null(strstr(buf_text(&buf), p->name));
	}
}

static void manual_that_does_not_fit_is_an_error(void **state)
{
	AUTO_BUF struct buf buf;
	struct error err;

	buf_init(&buf, 50);
	CHECK_ERROR(manual_write(&tool_delete_sandbox, NULL, &buf, &err), err, ERR_LIMIT,
	            "more than 50 bytes");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(manual_is_written_from_the_record),
		TEST(tables_accept_the_examples),
		TEST(every_tool_has_an_example),
		TEST(every_tool_has_a_manual_that_names_its_arguments),
		TEST(manual_that_does_not_fit_is_an_error),
	};

	return RUN_TESTS("tools/manual", tests);
}
