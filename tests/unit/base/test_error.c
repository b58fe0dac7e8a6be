#include <errno.h>
#include <sys/resource.h>

#include "base/text/utf8.h"
#include "unit/test.h"

static void set_stores_kind_and_text_without_errno(void **state)
{
	struct error err = { .errnum = 99 };

	errno = ENOENT;
	assert_int_equal(error_set(&err, ERR_LIMIT, "more than %d things", 7), -1);
	assert_int_equal(err.kind, ERR_LIMIT);
	assert_int_equal(err.errnum, 0);
	assert_string_equal(err.msg, "more than 7 things");
}

static void sys_appends_the_text_of_errno(void **state)
{
	struct error err;

	errno = ENOENT;
	assert_int_equal(error_sys(&err, "open '%s'", "/x"), -1);
	assert_int_equal(err.kind, ERR_SYSTEM);
	assert_int_equal(err.errnum, ENOENT);
	assert_string_equal(err.msg, "open '/x': No such file or directory");
}

static void running_out_of_descriptors_names_the_limit(void **state)
{
	struct rlimit files;
	struct error err;
	char expected[200];

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
	(void)snprintf(expected, sizeof expected,
	               "pipe: Too many open files (the limit is %llu: raise it with ulimit -n or "
	               "LimitNOFILE=)",
	               (unsigned long long)files.rlim_cur);
	errno = EMFILE;
	(void)error_sys(&err, "pipe");
	assert_string_equal(err.msg, expected);
	assert_int_equal(err.errnum, EMFILE);
	errno = ENFILE;
	(void)error_sys(&err, "pipe");
	assert_string_equal(err.msg, "pipe: Too many open files in system (the limit of this "
	                             "machine: sysctl fs.file-max)");
}

static void wrap_prefixes_and_keeps_kind_and_errno(void **state)
{
	struct error err;

	errno = EACCES;
	(void)error_sys(&err, "inner");
	err.kind = ERR_NOT_FOUND;
	assert_int_equal(error_wrap(&err, "outer %d", 1), -1);
	assert_int_equal(err.kind, ERR_NOT_FOUND);
	assert_int_equal(err.errnum, EACCES);
	assert_string_equal(err.msg, "outer 1: inner: Permission denied");
}

/* The message has room for 479 bytes and is cut at the end of a character of any width. */
static void long_text_is_cut_between_characters(void **state)
{
	static const struct {
		const char *character;
		size_t pad, want; /* bytes before the characters; length of the message */
	} cases[] = {
		{ "x", 0, 479 },
		{ "\xc3\xa9", 0, 478 },
		{ "\xc3\xa9", 1, 479 },
		{ "\xe2\x82\xac", 0, 477 },
		{ "\xe2\x82\xac", 1, 478 },
		{ "\xe2\x82\xac", 2, 479 },
		{ "\xf0\x9f\x94\x94", 0, 476 },
		{ "\xf0\x9f\x94\x94", 3, 479 },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char text[2048] = "";
		struct error err;
		size_t len = cases[i].pad;

		memset(text, 'p', len);
		for (; len < 1000; len += strlen(cases[i].character))
			memcpy(text + len, cases[i].character, strlen(cases[i].character));
		(void)error_set(&err, ERR_INVALID, "%s", text);
		assert_int_equal(strlen(err.msg), cases[i].want);
		assert_true(utf8_is_valid(view_of(err.msg)));
		(void)error_wrap(&err, "%s", text);
		assert_int_equal(strlen(err.msg), cases[i].want);
		errno = EIO;
		(void)error_sys(&err, "%s", text);
		assert_int_equal(strlen(err.msg), cases[i].want);
	}
}

static void wrap_cuts_the_end_of_the_inner_text(void **state)
{
	char inner[400], outer[100];
	struct error err;

	memset(inner, 'i', sizeof inner - 1);
	inner[sizeof inner - 1] = '\0';
	memset(outer, 'o', sizeof outer - 1);
	outer[sizeof outer - 1] = '\0';
	(void)error_set(&err, ERR_INVALID, "%s", inner);
	(void)error_wrap(&err, "%s", outer);
	assert_int_equal(strlen(err.msg), 479);
	assert_memory_equal(err.msg + 97, "oo: iii", 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(set_stores_kind_and_text_without_errno),
		TEST(running_out_of_descriptors_names_the_limit),
		TEST(sys_appends_the_text_of_errno),
		TEST(wrap_prefixes_and_keeps_kind_and_errno),
		TEST(long_text_is_cut_between_characters),
		TEST(wrap_cuts_the_end_of_the_inner_text),
	};

	return RUN_TESTS("base/error", tests);
}
