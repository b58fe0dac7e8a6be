#include "base/buf.h"
#include "transport/http/head.h"
#include "transport/http/http.h"
#include "unit/test.h"

enum { VALUE_MAX = 16 };

static const struct {
	const char *query;
	int want;
	const char *value;
} cases[] = {
	{ "", 0, "" },
	{ "session_id=abc", 1, "abc" },
	{ "a=1&session_id=abc&b=2", 1, "abc" },
	{ "session_id=", 1, "" },
	{ "session_id", 1, "" },
	{ "&&session_id=x&", 1, "x" },
	{ "session_id=a=b", 1, "a=b" },
	{ "session_id=a+b%20c%2B", 1, "a b c+" },
	{ "session_id=%c3%A4", 1, "\xc3\xa4" },
	{ "session%5fid=abc", 1, "abc" },
	{ "Session_id=abc", 0, "" },
	{ "session_i=abc", 0, "" },
	{ "session_id2=abc", 0, "" },
	{ "xsession_id=abc", 0, "" },
	{ "=session_id", 0, "" },
	{ "session_id%00=abc", 0, "" },
	{ "session_id%=abc", 0, "" },
	{ "other=%zz&session_id=abc", 1, "abc" },
	{ "session_id=0123456789abcdef", 1, "0123456789abcdef" },
	{ "session_id=0123456789abcdefg", -1, NULL },
	{ "session_id=a&session_id=a", -1, NULL },
	{ "session_id=a&session%5Fid=b", -1, NULL },
	{ "session_id=%", -1, NULL },
	{ "session_id=%2", -1, NULL },
	{ "session_id=%g0", -1, NULL },
	{ "session_id=%00", -1, NULL },
};

static void value_of_a_name_is_decoded(void **state)
{
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO_BUF struct buf got;
		int rc;

		buf_init(&got, VALUE_MAX);
		rc = http_query_get(cases[i].query, "session_id", &got);
		if (rc != cases[i].want)
			fail_msg("%s: %d, not %d", cases[i].query, rc, cases[i].want);
		if (rc >= 0)
			assert_string_equal(buf_text(&got), cases[i].value);
	}
}

static const struct {
	const char *path, *want; /* NULL: refused */
} paths[] = {
	{ "/", "/" },
	{ "/mcp", "/mcp" },
	{ "//mcp", "//mcp" },
	{ "/a/", "/a/" },
	{ "/%6d%63%70", "/mcp" },
	{ "/a%25b", "/a%b" },
	{ "/a%3Fb", "/a?b" },
	{ "/a.b/..c/d..", "/a.b/..c/d.." },
	{ "/.", NULL },
	{ "/..", NULL },
	{ "/a/./b", NULL },
	{ "/a/../b", NULL },
	{ "/a/.%2e", NULL },
	{ "/%2E", NULL },
	{ "/%", NULL },
	{ "/%4", NULL },
	{ "/%4x", NULL },
	{ "/%00", NULL },
	{ "/%1f", NULL },
	{ "/%7F", NULL },
	{ "/%2F", NULL },
	{ "/%5C", NULL },
	{ "/%80", NULL },
	{ "/%ed%a0%80", NULL },
};

static void path_is_decoded_or_refused(void **state)
{
	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		char path[64];
		int rc;

		(void)snprintf(path, sizeof path, "%s", paths[i].path);
		rc = target_decode_path(path);
		if ((rc == 0) != (paths[i].want != NULL))
			fail_msg("%s: %d", paths[i].path, rc);
		if (rc == 0)
			assert_string_equal(path, paths[i].want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(value_of_a_name_is_decoded),
		TEST(path_is_decoded_or_refused),
	};

	return RUN_TESTS("http target", tests);
}
