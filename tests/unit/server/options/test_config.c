#include "server/options/config.h"

#include <errno.h>

#include "unit/scratch.h"

static struct error err;

static void missing_file_is_accepted(void **state)
{
	struct config config;

	CHECK_OK(config_load(&config, NULL, &err), err);
	assert_null(config.path);
	for (size_t i = 0; i < OPTION_COUNT; i++)
		assert_false(config.layer.values[i].given);
	config_done(&config);
}

static void file_may_set_every_type_of_value(void **state)
{
	struct config config;

	scratch_write("c.json",
	              "{\"log_level\": \"info\", \"max_line\": \"4K\", \"max_queue\": 1048576,"
	              " \"max_depth\": 9, \"grace\": 1e3}");
	CHECK_OK(config_load(&config, "c.json", &err), err);
	assert_string_equal(config.path, "c.json");
	assert_int_equal(config.layer.values[OPTION_LOG_LEVEL].number, LOG_INFO);
	assert_int_equal(config.layer.values[OPTION_MAX_LINE].number, 4096);
	assert_int_equal(config.layer.values[OPTION_MAX_QUEUE].number, 1048576);
	assert_int_equal(config.layer.values[OPTION_MAX_DEPTH].number, 9);
	assert_int_equal(config.layer.values[OPTION_GRACE].number, 1000);
	assert_false(config.layer.values[OPTION_MAX_CALLS].given);
	config_done(&config);
}

static void malformed_file_is_refused_with_the_reason(void **state)
{
	static const struct {
		const char *text;
		enum error_kind kind;
		const char *why;
	} cases[] = {
		{ "", ERR_SYNTAX, "empty text" },
		{ "[]", ERR_INVALID, "expected a JSON object, got an array" },
		{ "5", ERR_INVALID, "expected a JSON object, got the number 5" },
		{ "{,}", ERR_SYNTAX, "string or '}' expected near ',' at byte 2" },
		{ "{\"max_line\":2048,\"max_line\":2048}", ERR_INVALID,
		  "duplicate object key near '\"max_line\"'" },
		{ "{\"a\":[[[[[[[[0]]]]]]]]}", ERR_LIMIT,
		  "nested deeper than 8 levels (max_depth)" },
		{ "{\"max_lin\":1}", ERR_INVALID,
		  "unknown key 'max_lin'; did you mean 'max_line'?" },
		{ "{\"max-line\":1}", ERR_INVALID,
		  "unknown key 'max-line'; did you mean 'max_line'?" },
		{ "{\"config\":\"x\"}", ERR_INVALID,
		  "unknown key 'config'; 'belljar help serve' lists the options" },
		{ "{\"write\":true}", ERR_INVALID,
		  "unknown key 'write'; 'belljar help serve' lists the options" },
		{ "{\"x\\ny\":true}", ERR_INVALID,
		  "unknown key 'x\\ny'; 'belljar help serve' lists the options" },
		{ "{\"log_level\":5}", ERR_INVALID,
		  "log_level: expected one of error, warning, info, debug, got the number 5" },
		{ "{\"log_level\":\"warn\"}", ERR_INVALID,
		  "log_level: expected one of error, warning, info, debug, got the string "
		  "\"warn\"" },
		{ "{\"log_level\":\"info\\u0000x\"}", ERR_INVALID,
		  "log_level: expected one of error, warning, info, debug, got the string "
		  "\"info\\x00x\"" },
		{ "{\"max_depth\":\"9\"}", ERR_INVALID,
		  "max_depth: expected a whole number from 8 to 512, got the string \"9\"" },
		{ "{\"max_depth\":7}", ERR_INVALID,
		  "max_depth: expected a whole number from 8 to 512, got the number 7" },
		{ "{\"max_depth\":-9}", ERR_INVALID,
		  "max_depth: expected a whole number from 8 to 512, got the number -9" },
		{ "{\"max_depth\":9.5}", ERR_INVALID,
		  "max_depth: expected a whole number from 8 to 512, got the number 9.5" },
		{ "{\"max_depth\":null}", ERR_INVALID,
		  "max_depth: expected a whole number from 8 to 512, got null" },
		{ "{\"max_line\":true}", ERR_INVALID,
		  "max_line: expected a size in bytes (K, M or G may follow) from 1K to 64M, got "
		  "the boolean true" },
		{ "{\"max_line\":\"1\"}", ERR_INVALID,
		  "max_line: expected a size in bytes (K, M or G may follow) from 1K to 64M, got "
		  "the string \"1\"" },
		{ "{\"max_line\":68719476736}", ERR_INVALID,
		  "max_line: expected a size in bytes (K, M or G may follow) from 1K to 64M, got "
		  "the number 68719476736" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct config config = { .path = scratch_path };
		char why[300];

		scratch_write("c.json", cases[i].text);
		(void)snprintf(why, sizeof why, "configuration 'c.json': %s", cases[i].why);
		CHECK_ERROR(config_load(&config, "c.json", &err), err, cases[i].kind, why);
		assert_ptr_equal(config.path, scratch_path);
	}
}

static void named_file_must_exist(void **state)
{
	struct config config;

	CHECK_ERROR(config_load(&config, "missing.json", &err), err, ERR_NOT_FOUND,
	            "configuration: open 'missing.json': No such file or directory");
	CHECK_ERROR(config_load(&config, "/", &err), err, ERR_INVALID,
	            "configuration: '/' is not a regular file");
}

static void oversized_file_is_refused(void **state)
{
	struct config config;

	scratch_write("c.json", "{}");
	assert_int_equal(truncate("c.json", 1024 * 1024 + 1), 0);
	CHECK_ERROR(config_load(&config, "c.json", &err), err, ERR_LIMIT,
	            "configuration: 'c.json': more than 1048576 bytes");
}

static void default_paths_are_searched_in_order(void **state)
{
	char path[128];
	struct config config;

	assert_int_equal(mkdir("home", 0700) | mkdir("home/.config", 0700) |
	                         mkdir("home/.config/belljar", 0700) | mkdir("belljar", 0700),
	                 0);
	(void)snprintf(path, sizeof path, "%s/home", scratch_path);
	assert_int_equal(setenv("HOME", path, 1), 0);
	scratch_write("home/.config/belljar/belljar.json", "{\"max_calls\":1}");
	scratch_write("belljar/belljar.json", "{\"max_calls\":2}");

	CHECK_OK(config_load(&config, NULL, &err), err); /* XDG_CONFIG_HOME first */
	assert_int_equal(config.layer.values[OPTION_MAX_CALLS].number, 2);
	(void)snprintf(path, sizeof path, "%s/belljar/belljar.json", scratch_path);
	assert_string_equal(config.path, path);
	config_done(&config);

	assert_int_equal(setenv("XDG_CONFIG_HOME", "relative", 1), 0); /* to be ignored */
	CHECK_OK(config_load(&config, NULL, &err), err);
	assert_int_equal(config.layer.values[OPTION_MAX_CALLS].number, 1);
	config_done(&config);
}

static void malformed_default_file_is_not_skipped(void **state)
{
	struct config config;
	char why[160];

	assert_int_equal(mkdir("belljar", 0700), 0);
	scratch_write("belljar/belljar.json", "{");
	assert_int_equal(config_load(&config, NULL, &err), -1);
	(void)snprintf(why, sizeof why, "configuration '%s/belljar/belljar.json': ", scratch_path);
	assert_memory_equal(err.msg, why, strlen(why));
}

static void unreadable_default_file_is_refused(void **state)
{
	static const char *const variables[] = { "XDG_CONFIG_HOME", "HOME" };
	static const char *const paths[] = { "belljar/belljar.json",
		                             ".config/belljar/belljar.json" };

	assert_int_equal(mkdir("belljar", 0755) | mkdir(".config", 0755) |
	                         mkdir(".config/belljar", 0755),
	                 0);
	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		struct config config;
		char why[400];
		int r;

		scratch_write(paths[i], "{}");
		assert_int_equal(chmod(paths[i], 0), 0);
		if (scratch_drop_root() < 0)
			SKIP_TEST("root cannot become nobody here");
		r = config_load(&config, NULL, &err);
		scratch_regain_root();
		(void)snprintf(why, sizeof why,
		               "configuration: open '%s/%s': Permission denied (the path comes "
		               "from %s; --config FILE names another file)",
		               scratch_path, paths[i], variables[i]);
		assert_int_equal(r, -1);
		assert_string_equal(err.msg, why);
		assert_int_equal(err.errnum, EACCES);
		assert_int_equal(unsetenv("XDG_CONFIG_HOME"), 0);
	}
}

static void byte_order_mark_is_accepted(void **state)
{
	struct config config;

	scratch_write("c.json", "\xef\xbb\xbf{\"max_calls\":2}");
	CHECK_OK(config_load(&config, "c.json", &err), err);
	assert_int_equal(config.layer.values[OPTION_MAX_CALLS].number, 2);
	config_done(&config);
	scratch_write("c.json", "\xef\xbb\xbf{,}");
	CHECK_ERROR(config_load(&config, "c.json", &err), err, ERR_SYNTAX,
	            "configuration 'c.json': string or '}' expected near ',' at byte 5");
}

static void current_directory_is_not_searched(void **state)
{
	struct config config;

	scratch_write("belljar.json", "{\"max_calls\":1}");
	assert_int_equal(unsetenv("HOME") | unsetenv("XDG_CONFIG_HOME"), 0);
	CHECK_OK(config_load(&config, NULL, &err), err);
	assert_null(config.path);
	config_done(&config);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_SCRATCH(missing_file_is_accepted),
		IN_SCRATCH(file_may_set_every_type_of_value),
		IN_SCRATCH(malformed_file_is_refused_with_the_reason),
		IN_SCRATCH(named_file_must_exist),
		IN_SCRATCH(oversized_file_is_refused),
		IN_SCRATCH(default_paths_are_searched_in_order),
		IN_SCRATCH(malformed_default_file_is_not_skipped),
		IN_SCRATCH(unreadable_default_file_is_refused),
		IN_SCRATCH(byte_order_mark_is_accepted),
		IN_SCRATCH(current_directory_is_not_searched),
	};

	return RUN_TESTS("server/config", tests);
}
