#include "server/access/token_file.h"

#include "mcp/caller.h"
#include "unit/test.h"

static struct error err;

/* SHA-256 of "bj_test". */
#define HASH  "f4ee73c8fbd5b2e8fd6c6c9b8cee2b8b7dd3d0a5d4a0e4d5b1d2c3b4a5968778"
#define HASH2 "a4ee73c8fbd5b2e8fd6c6c9b8cee2b8b7dd3d0a5d4a0e4d5b1d2c3b4a5968778"
#define TIMES " 2026-11-17T10:00:00Z never"
#define LINE  "tk_abcdefgh " HASH " alice run,files" TIMES

static void valid_file_is_read(void **state)
{
	struct token_list list;

	CHECK_OK(token_list_parse(VIEW("# comment\n\n" LINE "\n"
	                               "tk_22222222 " HASH2
	                               " bob@example.org admin 2026-11-17T10:00:00Z "
	                               "2027-01-01T00:00:00Z Bob's laptop\n"),
	                          &list, &err),
	         err);
	assert_int_equal(list.count, 2);
	assert_string_equal(list.at[0].id, "tk_abcdefgh");
	assert_string_equal(list.at[0].user, "alice");
	assert_int_equal(list.at[0].scopes, MCP_SCOPE_RUN | MCP_SCOPE_FILES);
	assert_int_equal(list.at[0].created, 1794909600);
	assert_int_equal(list.at[0].expires, 0);
	assert_string_equal(list.at[0].note, "");
	assert_int_equal(list.at[1].scopes, MCP_SCOPE_ADMIN);
	assert_int_equal(list.at[1].expires, 1798761600);
	assert_string_equal(list.at[1].note, "Bob's laptop");
	assert_false(token_is_expired(&list.at[0], INT64_MAX));
	assert_false(token_is_expired(&list.at[1], 1798761599));
	assert_true(token_is_expired(&list.at[1], 1798761600));
	token_list_done(&list);
}

static void malformed_line_is_rejected(void **state)
{
	static const struct {
		struct view text;
		const char *why;
	} cases[] = {
#define FORM                                                                                       \
	"expected id, hash, user, scopes, created, expires and perhaps a note, with one space "    \
	"between"
#define USER            "the user is not 1 to 64 letters, digits and . _ @ + -, a letter or digit first"
#define BAD(line, why_) { VIEW_INIT(line "\n"), "line 1: " why_ }
		BAD("x", FORM),
		BAD(" " LINE, FORM),
		BAD("tk_abcdefgh  " HASH " alice run" TIMES, FORM),
		BAD("tk_abcdefg1 " HASH " alice run" TIMES,
		    "the id is not tk_ and 8 letters or digits"),
		BAD("tk_abcdefghi " HASH " alice run" TIMES,
		    "the id is not tk_ and 8 letters or digits"),
		BAD("tk_abcd\0fgh " HASH " alice run" TIMES,
		    "the id is not tk_ and 8 letters or digits"),
		BAD("tk_abcdefgh F" HASH " alice run" TIMES,
		    "the hash is not 64 digits of 0-9 and a-f"),
		BAD("tk_abcdefgh abc alice run" TIMES, "the hash is not 64 digits of 0-9 and a-f"),
		BAD("tk_abcdefgh " HASH " .alice run" TIMES, USER),
		BAD("tk_abcdefgh " HASH " al/ice run" TIMES, USER),
		BAD("tk_abcdefgh " HASH " al\0ice run" TIMES, USER),
		BAD("tk_abcdefgh " HASH " alice root" TIMES,
		    "'root' is no scope; expected run, files or admin with commas between"),
		BAD("tk_abcdefgh " HASH " alice run," TIMES,
		    "'' is no scope; expected run, files or admin with commas between"),
		BAD("tk_abcdefgh " HASH " alice run,run" TIMES, "the scope run is given twice"),
		BAD("tk_abcdefgh " HASH " alice run 2026-11-17 never",
		    "created: '2026-11-17' is no time such as 2026-11-17T10:00:00Z"),
		BAD("tk_abcdefgh " HASH " alice run 2026-11-17T10:00:00Z 2026-02-30T10:00:00Z",
		    "expires: '2026-02-30T10:00:00Z' is no time such as 2026-11-17T10:00:00Z"),
		BAD("tk_abcdefgh " HASH " alice run 2026-11-17T10:00:00Z 1969-12-31T23:59:59Z",
		    "expires: '1969-12-31T23:59:59Z' is no time such as 2026-11-17T10:00:00Z"),
		BAD(LINE " ", "a space at the end of the line"),
		BAD(LINE " a\tb", "the note is not 1 to 100 bytes of printable text"),
		BAD(LINE " \xe2\x80\xae", "the note is not 1 to 100 bytes of printable text"),
		BAD(LINE "\r", "expires: 'never\\r' is no time such as 2026-11-17T10:00:00Z"),
		{ VIEW_INIT(LINE), "the last line has no line end: the file was not written "
		                   "completely" },
		{ VIEW_INIT(LINE "\n" LINE "\n"), "line 2: the id tk_abcdefgh is used twice" },
		{ VIEW_INIT(LINE "\ntk_bbbbbbbb " HASH " bob run" TIMES "\n"),
		  "line 2: the same hash as that of tk_abcdefgh" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct token_list list = { 0 };

		assert_int_equal(token_list_parse(cases[i].text, &list, &err), -1);
		assert_string_equal(err.msg, cases[i].why);
		assert_null(list.at);
	}
}

static void long_line_is_rejected(void **state)
{
	char text[1024];
	struct token_list list;

	(void)snprintf(text, sizeof text, LINE " %0600d\n", 1);
	CHECK_ERROR(token_list_parse(view_of(text), &list, &err), err, ERR_LIMIT,
	            "line 1: the line has more than 512 bytes");
}

static void too_many_tokens_are_rejected(void **state)
{
	struct token token = { .user = "u", .scopes = MCP_SCOPE_RUN, .created = 1 };
	AUTO_BUF struct buf text;
	struct token_list list;
	char secret[TOKEN_LEN + 1];

	buf_init(&text, TOKEN_FILE_MAX);
	for (size_t i = 0; i < TOKENS_MAX; i++) {
		token_generate(&token, secret);
		CHECK_OK(token_write(&token, &text, &err), err);
	}
	CHECK_OK(token_list_parse(buf_view(&text), &list, &err), err);
	assert_int_equal(list.count, TOKENS_MAX);
	token_list_done(&list);
	token_generate(&token, secret);
	CHECK_OK(token_write(&token, &text, &err), err);
	CHECK_ERROR(token_list_parse(buf_view(&text), &list, &err), err, ERR_LIMIT,
	            "line 2001: more than 2000 tokens");
}

static void token_is_found_by_its_secret_only(void **state)
{
	struct token token = { .user = "alice",
		               .scopes = MCP_SCOPE_ALL,
		               .created = 1,
		               .expires = 2,
		               .note = "a note" };
	char secret[TOKEN_LEN + 1], other[TOKEN_LEN + 1];
	struct token unused = { .id = "" };
	AUTO_BUF struct buf text;
	struct token_list list;

	buf_init(&text, TOKEN_FILE_MAX);
	token_generate(&token, secret);
	token_generate(&unused, other);
	assert_int_equal(strlen(secret), TOKEN_LEN);
	assert_memory_equal(secret, "bj_", 3);
	assert_string_not_equal(secret, other);
	CHECK_OK(token_write(&token, &text, &err), err);
	assert_null(strstr(buf_text(&text), secret));
	CHECK_OK(token_list_parse(buf_view(&text), &list, &err), err);
	assert_ptr_equal(token_list_find(&list, view_of(secret)), &list.at[0]);
	assert_memory_equal(&list.at[0], &token, sizeof token);
	assert_null(token_list_find(&list, view_of(other)));
	assert_null(token_list_find(&list, (struct view){ secret, TOKEN_LEN - 1 }));
	assert_null(token_list_find(&list, VIEW("")));
	token_list_done(&list);
}

static void expiry_of_a_person_is_read(void **state)
{
	static const struct {
		const char *text;
		int64_t want; /* -1: an error */
	} cases[] = {
		{ "never", 0 },
		{ "1d", 1000 + 86400 },
		{ "12h", 1000 + 43200 },
		{ "45m", 1000 + 2700 },
		{ "1970-01-02", 86400 },
		{ "1970-01-02T00:00:01Z", 86401 },
		{ "1970-01-01", -1 },
		{ "0d", -1 },
		{ "d", -1 },
		{ "1w", -1 },
		{ "-1d", -1 },
		{ "99999d", -1 },
		{ "1970-01-02 ", -1 },
		{ "1970-01-02T00:00:01Z0", -1 },
		{ "1970-01-02T00:00:01Z000000000000", -1 },
		{ "tomorrow", -1 },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		int64_t got = -1;
		int r = token_parse_expiry(cases[i].text, 1000, &got, &err);

		if (r != (cases[i].want < 0 ? -1 : 0) || got != cases[i].want)
			fail_msg("%s: %d, %lld", cases[i].text, r, (long long)got);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(valid_file_is_read),
		TEST(malformed_line_is_rejected),
		TEST(long_line_is_rejected),
		TEST(too_many_tokens_are_rejected),
		TEST(token_is_found_by_its_secret_only),
		TEST(expiry_of_a_person_is_read),
	};

	return RUN_TESTS("token_file", tests);
}
