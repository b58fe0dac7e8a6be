#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/tree/make_parents.h"
#include "unit/test.h"

static void missing_directories_are_made_and_others_kept(void **state)
{
	char top[] = "/tmp/belljar-parents-XXXXXX", path[80], made[80];
	struct error err;
	struct stat st;

	(void)state;
	assert_non_null(mkdtemp(top));
	(void)snprintf(path, sizeof path, "%s/a//b/file", top);
	(void)snprintf(made, sizeof made, "%s/a/b", top);
	for (int i = 0; i < 2; i++)
		assert_int_equal(make_parents(path, 0700, &err), 0);
	assert_int_equal(stat(made, &st), 0);
	assert_true(S_ISDIR(st.st_mode));
	assert_int_equal(st.st_mode & 0777, 0700);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(rmdir(made), 0);
	(void)snprintf(made, sizeof made, "%s/a", top);
	assert_int_equal(rmdir(made), 0);
	assert_int_equal(rmdir(top), 0);
}

static void path_without_a_slash_needs_no_directory(void **state)
{
	struct error err;

	(void)state;
	assert_int_equal(make_parents("file", 0700, &err), 0);
	assert_int_equal(make_parents("/file", 0700, &err), 0);
}

static void file_in_the_way_is_named(void **state)
{
	struct error err;

	(void)state;
	assert_int_equal(make_parents("/dev/null/a/file", 0700, &err), -1);
	assert_non_null(strstr(err.msg, "create directory '/dev/null/a'"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(missing_directories_are_made_and_others_kept),
		TEST(path_without_a_slash_needs_no_directory),
		TEST(file_in_the_way_is_named),
	};

	return RUN_TESTS("base/tree/make_parents", tests);
}
