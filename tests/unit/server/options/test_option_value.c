#include <limits.h>
#include <pwd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "server/options/option_value.h"
#include "unit/test.h"

static void size_is_shown_in_the_largest_whole_unit(void **state)
{
	static const struct {
		uint64_t bytes;
		const char *want;
	} cases[] = {
		{ 0, "0" },           { 1, "1" },
		{ 1023, "1023" },     { 1024, "1K" },
		{ 1025, "1025" },     { 10485760, "10M" },
		{ 1073741824, "1G" }, { 1536, "1536" },
		{ 1572864, "1536K" }, { UINT64_C(1) << 40, "1024G" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char shown[24];

		assert_string_equal(option_size_text(cases[i].bytes, shown, sizeof shown),
		                    cases[i].want);
	}
}

static void flag_in_text_is_a_word(void **state)
{
	static const struct {
		const char *text;
		uint64_t want;
	} cases[] = { { "1", 1 }, { "true", 1 },  { "yes", 1 },
		      { "0", 0 }, { "false", 0 }, { "no", 0 } };
	const struct option_spec *spec = &option_specs[OPTION_JSON];
	struct option_value value;
	struct error err;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		CHECK_OK(option_value_read(spec, cases[i].text, &value, &err), err);
		assert_int_equal(value.number, cases[i].want);
	}
	CHECK_ERROR(option_value_read(spec, "maybe", &value, &err), err, ERR_INVALID,
	            "expected true or false, got 'maybe'");
}

static void flag_in_json_is_a_boolean(void **state)
{
	const struct option_spec *spec = &option_specs[OPTION_JSON];
	AUTO_JSON json_t *yes = json_true();
	AUTO_JSON json_t *word = json_str("yes");
	struct option_value value;
	struct error err;

	CHECK_OK(option_value_read_json(spec, yes, &value, &err), err);
	assert_true(value.given);
	assert_int_equal(value.number, 1);
	value.number = 7;
	CHECK_ERROR(option_value_read_json(spec, word, &value, &err), err, ERR_INVALID,
	            "expected true or false, got the string \"yes\"");
	assert_int_equal(value.number, 7);
}

static void text_is_copied_when_stored(void **state)
{
	char text[] = "abc";
	struct option_value value = { .given = true, .text = text };
	struct options options = { 0 };

	option_value_store(&option_specs[OPTION_NAME], &value, &options);
	text[0] = 'x';
	assert_string_equal(options.name, "abc");
	options_done(&options);
	assert_null(options.name);
}

static void home_is_expanded_in_paths(void **state)
{
	static const struct {
		enum option_id name;
		const char *text, *want;
	} cases[] = {
		{ OPTION_STATE_DIR, "~/a", "/home/u/a" },
		{ OPTION_STATE_DIR, "~", "/home/u" },
		{ OPTION_STATE_DIR, "~a/~", "~a/~" },
		{ OPTION_STATE_DIR, "/a:~", "/a:~" },
		{ OPTION_ALLOW_PATH, "~:/a~:~/b", "/home/u:/a~:/home/u/b" },
		{ OPTION_WITH, "/a:~/b", "/a:/home/u/b" },
		{ OPTION_CDI_DIRS, "~/a:/b", "/home/u/a:/b" },
		{ OPTION_MOUNTS, "~/a:/b,~/c:/d", "/home/u/a:/b,/home/u/c:/d" },
		{ OPTION_NAME, "~", "~" },
	};
	const char *old = getenv("HOME");
	AUTO_FREE char *home = old != NULL ? mem_dup(old) : NULL;

	assert_int_equal(setenv("HOME", "/home/u", 1), 0);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const struct option_spec *spec = &option_specs[cases[i].name];
		struct option_value value = { .given = true, .text = cases[i].text };
		struct options options = { 0 };
		const char *got;

		option_value_store(spec, &value, &options);
		memcpy(&got, (const char *)&options + spec->offset, sizeof got);
		assert_string_equal(got, cases[i].want);
		options_done(&options);
	}
	if (home != NULL)
		assert_int_equal(setenv("HOME", home, 1), 0);
}

/* As in a shell, the directory of the user's entry in passwd(5) stands in for HOME. */
static void home_is_that_of_the_user_without_a_variable(void **state)
{
	const struct option_spec *spec = &option_specs[OPTION_STATE_DIR];
	struct option_value value = { .given = true, .text = "~/a" };
	struct options options = { 0 };
	const char *old = getenv("HOME");
	AUTO_FREE char *home = old != NULL ? mem_dup(old) : NULL;
	const struct passwd *user = getpwuid(geteuid());
	char want[PATH_MAX];

	if (user == NULL || user->pw_dir[0] != '/')
		SKIP_TEST("this user has no entry in passwd(5)");
	(void)snprintf(want, sizeof want, "%s/a", user->pw_dir);
	assert_int_equal(unsetenv("HOME"), 0);
	option_value_store(spec, &value, &options);
	assert_string_equal(options.state_dir, want);
	options_done(&options);
	if (home != NULL)
		assert_int_equal(setenv("HOME", home, 1), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(size_is_shown_in_the_largest_whole_unit),
		TEST(flag_in_text_is_a_word),
		TEST(flag_in_json_is_a_boolean),
		TEST(text_is_copied_when_stored),
		TEST(home_is_expanded_in_paths),
		TEST(home_is_that_of_the_user_without_a_variable),
	};

	return RUN_TESTS("server/option_value", tests);
}
