#include <fcntl.h>

#include "base/log.h"
#include "base/text/utf8.h"
#include "unit/test.h"

enum { TIME_LEN = 24 };

/* The line that one call writes, without its time. */
static const char *line_of(enum log_level level, const char *text, char *out, size_t size)
{
	struct stderr_capture c;

	stderr_capture_start(&c);
	log_line(level, "%s", text);
	(void)stderr_capture_end(&c, out, size);
	return out[0] == '\0' ? out : out + TIME_LEN;
}

static int reset_level(void **state)
{
	log_set_level(LOG_WARNING);
	return 0;
}

/* The first test: no level has been set. */
static void default_level_is_warning(void **state)
{
	char out[4096];

	assert_string_equal(line_of(LOG_ERROR, "x", out, sizeof out), " belljar error: x\n");
	assert_string_equal(line_of(LOG_WARNING, "x", out, sizeof out), " belljar warning: x\n");
	assert_string_equal(line_of(LOG_INFO, "x", out, sizeof out), "");
	assert_string_equal(line_of(LOG_DEBUG, "x", out, sizeof out), "");
}

static void level_selects_the_lines(void **state)
{
	static const char *const lines[LOG_LEVEL_COUNT] = {
		[LOG_ERROR] = " belljar error: x\n",
		[LOG_WARNING] = " belljar warning: x\n",
		[LOG_INFO] = " belljar info: x\n",
		[LOG_DEBUG] = " belljar debug: x\n",
	};

	for (unsigned most = 0; most < LOG_LEVEL_COUNT; most++) {
		log_set_level((enum log_level)most);
		for (unsigned level = 0; level < LOG_LEVEL_COUNT; level++) {
			char out[4096];

			assert_string_equal(line_of((enum log_level)level, "x", out, sizeof out),
			                    level <= most ? lines[level] : "");
		}
	}
}

static void macros_name_their_level(void **state)
{
	char out[4096];
	struct stderr_capture c;
	const char *at;

	log_set_level(LOG_DEBUG);
	stderr_capture_start(&c);
	log_error("%s %d", "a", 1);
	log_warning("%s", "b");
	log_info("%s", "c");
	log_debug("%s", "d");
	(void)stderr_capture_end(&c, out, sizeof out);
	assert_non_null(at = strstr(out, "Z belljar error: a 1\n"));
	assert_non_null(at = strstr(at, "Z belljar warning: b\n"));
	assert_non_null(at = strstr(at, "Z belljar info: c\n"));
	assert_non_null(strstr(at, "Z belljar debug: d\n"));
}

static void control_characters_are_escaped(void **state)
{
	char out[4096];

	assert_string_equal(line_of(LOG_ERROR, "a\n2026 belljar error: b\x1b[2J\xff", out, 4096),
	                    " belljar error: a\\n2026 belljar error: b\\x1b[2J\\xff\n");
}

static void long_line_is_cut_and_ends_with_lf(void **state)
{
	static const char *const fillers[] = { "x", "\n", "\x01", "\xff", "\xc3\xa9" };

	for (size_t i = 0; i < ARRAY_LEN(fillers); i++) {
		char text[4000] = "", out[8192];
		size_t n = strlen(fillers[i]);

		for (size_t len = 0; len + n < sizeof text; len += n)
			memcpy(text + len, fillers[i], n);
		(void)line_of(LOG_ERROR, text, out, sizeof out);
		assert_true(strlen(out) > 1000 && strlen(out) < 1536);
		assert_ptr_equal(strchr(out, '\n'), out + strlen(out) - 1);
		assert_true(utf8_is_valid(view_of(out)));
	}
}

/* A write() that blocks would end the test by SIGALRM, one to a closed pipe by SIGPIPE. */
static void full_or_closed_stderr_does_not_block(void **state)
{
	char out[4096];
	struct stderr_capture c;

	(void)alarm(20);
	stderr_capture_start(&c);
	assert_true(fcntl(c.reader, F_SETPIPE_SZ, 4096) > 0);
	for (int i = 0; i < 1000; i++)
		log_error("nobody reads this, number %d", i);
	(void)stderr_capture_end(&c, out, sizeof out);
	(void)alarm(0);
	assert_non_null(strstr(out, "number 0\n"));
	assert_null(strstr(out, "number 999\n"));

	stderr_capture_start(&c);
	(void)close(c.reader);
	log_error("nobody can read %s", "this");
	c.reader = open("/dev/null", O_RDONLY);
	assert_string_equal(stderr_capture_end(&c, out, sizeof out), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(default_level_is_warning),
		cmocka_unit_test_teardown(level_selects_the_lines, reset_level),
		cmocka_unit_test_teardown(macros_name_their_level, reset_level),
		TEST(control_characters_are_escaped),
		TEST(long_line_is_cut_and_ends_with_lf),
		TEST(full_or_closed_stderr_does_not_block),
	};

	return RUN_TESTS("base/log", tests);
}
