#include "base/text/braces.h"

#include "base/buf.h"
#include "unit/test.h"

static const struct {
	const char *pattern, *want;
} rows[] = {
	{ "*.c", "*.c" },
	{ "*.{c,h}", "*.c\n*.h" },
	{ "{a,b}/{c,d}", "a/c\na/d\nb/c\nb/d" },
	{ "**/{*.jsx,*.tsx}", "**/*.jsx\n**/*.tsx" },
	{ "a{b,c{d,e}f}g", "abg\nacdfg\nacefg" },
	{ "a{,.bak}", "a\na.bak" },
	{ "{x,}", "x\n" },
	/* not alternatives */
	{ "", "" },
	{ "a{b}c", "a{b}c" },
	{ "{b}{c,d}", "{b}c\n{b}d" },
	{ "{a{b,c}}", "{ab}\n{ac}" },
	{ "{a,b", "{a,b" },
	{ "a,b}", "a,b}" },
	{ "{{a,b}", "{a\n{b" },
	{ "\\{a,b}", "\\{a,b}" },
	{ "{a\\,b}", "{a\\,b}" },
	{ "{a,b\\}", "{a,b\\}" },
	{ "[{]a,b}", "[{]a,b}" },
	{ "{a,[,}]}", "a\n[,}]" },
	{ "{a,[b}", "a\n[b" },
	{ "{a,b}[]}]", "a[]}]\nb[]}]" },
	{ "\\", "\\" },
	{ "[", "[" },
	{ "[!", "[!" },
};

static void pattern_is_written_out(void **state)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		AUTO_BUF struct buf out;
		struct error err;

		buf_init(&out, 1024);
		CHECK_OK(braces_expand(view_of(rows[i].pattern), &out, &err), err);
		assert_string_equal(buf_text(&out), rows[i].want);
	}
}

static void pattern_for_too_many_is_refused(void **state)
{
	AUTO_BUF struct buf out;
	struct error err;

	buf_init(&out, 64);
	assert_int_equal(braces_expand(VIEW("{a,b}{a,b}{a,b}{a,b}{a,b}"), &out, &err), -1);
	assert_int_equal(err.kind, ERR_LIMIT);
	buf_clear(&out);
	CHECK_ERROR(braces_expand(VIEW("{{{{{{{{{{{{{{{{{"), &out, &err), err, ERR_LIMIT,
	            "a pattern with 17 braces: at most 16");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(pattern_is_written_out),
		TEST(pattern_for_too_many_is_refused),
	};

	return RUN_TESTS("braces", tests);
}
