#include "base/buf.h"
#include "tools/support/tree_draw.h"
#include "unit/test.h"

static void draws_lines_between_what_belongs_together(void **state)
{
	static const char *const paths[] = { "a", "a/x", "a/x/1", "a/y", "b", "c", "c/z" };
	struct tree_node nodes[ARRAY_LEN(paths)];
	struct tree_lines lines = { 0 };
	AUTO_BUF struct buf out;
	struct error err;

	(void)state;
	buf_init(&out, 1000);
	for (size_t i = 0; i < ARRAY_LEN(paths); i++)
		nodes[i].depth = tree_depth(view_of(paths[i]));
	tree_mark_last(nodes, ARRAY_LEN(nodes));
	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		char prefix[TREE_PREFIX_SIZE];

		CHECK_OK(buf_printf(&out, &err, "%s%s\n", tree_prefix(&lines, &nodes[i], prefix),
		                    paths[i]),
		         err);
	}
	assert_string_equal(buf_text(&out), "├── a\n"
	                                    "│   ├── a/x\n"
	                                    "│   │   └── a/x/1\n"
	                                    "│   └── a/y\n"
	                                    "├── b\n"
	                                    "└── c\n"
	                                    "    └── c/z\n");
}

static void the_deepest_tree_fits(void **state)
{
	struct tree_lines lines = { 0 };
	char prefix[TREE_PREFIX_SIZE], path[400];

	(void)state;
	memset(path, '/', sizeof path);
	for (unsigned i = 1; i <= TREE_DEPTH_MAX; i++) {
		const struct tree_node node = { .depth = i };

		(void)tree_prefix(&lines, &node, prefix);
	}
	assert_int_equal(tree_depth((struct view){ path, sizeof path }), TREE_DEPTH_MAX);
	assert_non_null(strstr(prefix, "├── "));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(draws_lines_between_what_belongs_together),
		TEST(the_deepest_tree_fits),
	};

	return RUN_TESTS("tools/tree_draw", tests);
}
