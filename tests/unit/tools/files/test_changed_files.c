/* What answers say about the files that a run has changed. */
#include "base/buf.h"
#include "base/mem.h"
#include "tools/files/changed_files.h"
#include "unit/test.h"

static void check_report(const char *path, const char *expected)
{
	struct changed_files files = { .paths = { mem_dup(path) }, .count = 1 };
	AUTO_BUF struct buf text;
	json_t *list = json_list();

	buf_init(&text, 4096);
	changed_files_report(&files, &text, list);
	assert_string_equal(buf_text(&text), expected);
	assert_string_equal(json_as_text(json_array_get(list, 0)), path);
	json_decref(list);
	changed_files_done(&files);
}

static void files_are_named_below_the_workspace(void **state)
{
	check_report("/workspace/a/b.txt", "a/b.txt");
}

/* The agent is asked for files only, and may name the workspace itself all the same. */
static void workspace_itself_keeps_its_path(void **state)
{
	check_report("/workspace", "/workspace");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(files_are_named_below_the_workspace),
		TEST(workspace_itself_keeps_its_path),
	};

	return RUN_TESTS("changed_files", tests);
}
