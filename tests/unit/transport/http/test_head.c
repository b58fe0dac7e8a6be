/* Every form of a request head that programs split or route differently, and the verdict on it. */
#include "transport/http/head.h"
#include "unit/test.h"

enum { MAX_HEAD = 512, MAX_FIELDS = 8 };

static const char *const single_fields[] = { "mcp-session-id", "mcp-param-*", NULL };
static const struct head_rules rules = { MAX_FIELDS, single_fields };

static const struct head_case {
	struct view bytes;
	enum head_verdict want;
} cases[] = {
#define HEAD_CASE(want, bytes)                                                                     \
	{                                                                                          \
		VIEW_INIT(bytes), HEAD_##want                                                      \
	}
#define LINE(line)   line "\r\nHost: a\r\n\r\n"
#define FIELDS(text) "POST /mcp HTTP/1.1\r\nHost: a\r\n" text "\r\n"
#define HOST(value)  "GET / HTTP/1.1\r\nHost:" value "\r\n\r\n"
	/* Request lines. */
	HEAD_CASE(VALID, LINE("GET / HTTP/1.1")),
	HEAD_CASE(VALID, LINE("HEAD / HTTP/1.1")),
	HEAD_CASE(VALID, LINE("POST /mcp HTTP/1.1")),
	HEAD_CASE(VALID, LINE("DELETE /mcp HTTP/1.1")),
	HEAD_CASE(VALID, LINE("OPTIONS /mcp HTTP/1.1")),
	HEAD_CASE(VALID, LINE("OPTIONS * HTTP/1.1")),
	HEAD_CASE(VALID, LINE("PUT / HTTP/1.1")),
	HEAD_CASE(VALID, LINE("PATCH / HTTP/1.1")),
	HEAD_CASE(VALID, LINE("GET / HTTP/1.0")),
	HEAD_CASE(VALID, "GET / HTTP/1.0\r\n\r\n"), /* needs no Host */
	HEAD_CASE(VALID, "\r\n" LINE("GET / HTTP/1.1")),
	HEAD_CASE(BAD_FIRST_BYTE, "\r\n\r\n" LINE("GET / HTTP/1.1")),
	HEAD_CASE(BAD_FIRST_BYTE, "\n" LINE("GET / HTTP/1.1")),
	HEAD_CASE(BAD_FIRST_BYTE, " " LINE("GET / HTTP/1.1")),
	HEAD_CASE(BAD_FIRST_BYTE, "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"), /* TLS */
	HEAD_CASE(BAD_FIRST_BYTE, "\0" LINE("GET / HTTP/1.1")),
	HEAD_CASE(BAD_LINE, "\r" LINE("GET / HTTP/1.1")),
	HEAD_CASE(UNKNOWN_METHOD, LINE("get / HTTP/1.1")),
	HEAD_CASE(UNKNOWN_METHOD, LINE("GETT / HTTP/1.1")),
	HEAD_CASE(UNKNOWN_METHOD, LINE("CONNECT a:443 HTTP/1.1")),
	HEAD_CASE(UNKNOWN_METHOD, LINE("TRACE / HTTP/1.1")),
	HEAD_CASE(UNKNOWN_METHOD, LINE("PROPFIND / HTTP/1.1")),
	HEAD_CASE(BAD_LINE, LINE("G@T / HTTP/1.1")),
	HEAD_CASE(BAD_LINE, LINE("GET\t/ HTTP/1.1")),
	HEAD_CASE(BAD_LINE, LINE("GET  / HTTP/1.1")),
	HEAD_CASE(BAD_LINE, LINE("GET /  HTTP/1.1")),
	HEAD_CASE(BAD_LINE, LINE("GET / HTTP/1.1 ")),
	HEAD_CASE(BAD_LINE, LINE("GET / x HTTP/1.1")),
	HEAD_CASE(BAD_LINE, LINE("GET /\tHTTP/1.1")),
	HEAD_CASE(BAD_LINE, LINE("GET /")), /* HTTP/0.9 */
	HEAD_CASE(BAD_LINE, LINE("GET")),
	HEAD_CASE(BAD_LINE, LINE("GET / http/1.1")),
	HEAD_CASE(BAD_LINE, LINE("GET / HTTP/1")),
	HEAD_CASE(BAD_LINE, LINE("GET / HTTP/1.")),
	HEAD_CASE(BAD_LINE, LINE("GET / HTTP/1.10")),
	HEAD_CASE(BAD_LINE, LINE("GET / HTTP/01.1")),
	HEAD_CASE(BAD_LINE, LINE("GET / HTTP/1,1")),
	HEAD_CASE(BAD_LINE, LINE("GET / HTTPS/1.1")),
	HEAD_CASE(BAD_LINE, LINE("GET / ICE/1.0")),
	HEAD_CASE(BAD_LINE, LINE("GET / HTTP/1.1\r")),
	HEAD_CASE(OTHER_VERSION, LINE("GET / HTTP/1.2")),
	HEAD_CASE(OTHER_VERSION, LINE("GET / HTTP/0.9")),
	HEAD_CASE(OTHER_VERSION, LINE("GET / HTTP/2.0")),
	HEAD_CASE(OTHER_VERSION, "PRI * HTTP/2.0\r\n\r\n"),
	/* Targets. */
	HEAD_CASE(VALID, LINE("GET /a?b=c&d=%20 HTTP/1.1")),
	HEAD_CASE(VALID, LINE("GET /? HTTP/1.1")),
	HEAD_CASE(VALID, LINE("GET /a%20b HTTP/1.1")),
	HEAD_CASE(VALID, LINE("GET /%C3%A4 HTTP/1.1")),
	HEAD_CASE(VALID, LINE("GET /...%2e HTTP/1.1")),
	HEAD_CASE(BAD_TARGET, LINE("GET http://a/ HTTP/1.1")),
	HEAD_CASE(BAD_TARGET, LINE("GET * HTTP/1.1")),
	HEAD_CASE(BAD_TARGET, LINE("OPTIONS *x HTTP/1.1")),
	HEAD_CASE(BAD_TARGET, LINE("GET mcp HTTP/1.1")),
	HEAD_CASE(BAD_TARGET, LINE("GET a:80 HTTP/1.1")),
	HEAD_CASE(BAD_TARGET, LINE("GET ?a HTTP/1.1")),
	HEAD_CASE(BAD_TARGET, LINE("GET /a#b HTTP/1.1")),
	HEAD_CASE(BAD_TARGET, LINE("GET /a\\b HTTP/1.1")),
	HEAD_CASE(BAD_TARGET, LINE("GET /a\"b HTTP/1.1")),
	HEAD_CASE(BAD_TARGET, LINE("GET /\xc3\xa4 HTTP/1.1")),
	HEAD_CASE(BAD_TARGET, LINE("GET /a\0b HTTP/1.1")),
	HEAD_CASE(BAD_TARGET, LINE("GET /a\rb HTTP/1.1")),
	HEAD_CASE(BAD_TARGET, LINE("GET /a\x7f HTTP/1.1")),
	HEAD_CASE(BAD_PATH, LINE("GET /a%00 HTTP/1.1")),
	HEAD_CASE(BAD_PATH, LINE("GET /a%0d%0a HTTP/1.1")),
	HEAD_CASE(BAD_PATH, LINE("GET /a%2fb HTTP/1.1")),
	HEAD_CASE(BAD_PATH, LINE("GET /a%5cb HTTP/1.1")),
	HEAD_CASE(BAD_PATH, LINE("GET /a% HTTP/1.1")),
	HEAD_CASE(BAD_PATH, LINE("GET /a%2 HTTP/1.1")),
	HEAD_CASE(BAD_PATH, LINE("GET /a%zz HTTP/1.1")),
	HEAD_CASE(BAD_PATH, LINE("GET /a%u0041 HTTP/1.1")),
	HEAD_CASE(BAD_PATH, LINE("GET /%ff HTTP/1.1")),
	HEAD_CASE(BAD_PATH, LINE("GET /%c0%af HTTP/1.1")),
	HEAD_CASE(BAD_PATH, LINE("GET /../etc HTTP/1.1")),
	HEAD_CASE(BAD_PATH, LINE("GET /a/.. HTTP/1.1")),
	HEAD_CASE(BAD_PATH, LINE("GET /./a HTTP/1.1")),
	HEAD_CASE(BAD_PATH, LINE("GET /%2e%2e/etc HTTP/1.1")),
	/* Ends of lines. */
	HEAD_CASE(BARE_LF, "GET / HTTP/1.1\nHost: a\r\n\r\n"),
	HEAD_CASE(BARE_LF, "GET / HTTP/1.1\r\nHost: a\n\r\n"),
	HEAD_CASE(BARE_LF, "GET / HTTP/1.1\r\nHost: a\r\n\n"),
	HEAD_CASE(BARE_LF, "GET / HTTP/1.1\n\n"),
	HEAD_CASE(BARE_LF, FIELDS("x: y\nTransfer-Encoding: chunked\r\n")),
	HEAD_CASE(BARE_LF, FIELDS("x:\nTransfer-Encoding: chunked\r\n")),
	HEAD_CASE(BAD_VALUE, FIELDS("x: y\rTransfer-Encoding: chunked\r\n")),
	HEAD_CASE(BAD_VALUE, FIELDS("x:\rTransfer-Encoding: chunked\r\n")),
	HEAD_CASE(BAD_VALUE, FIELDS("x: y\r\r\n")),
	HEAD_CASE(BAD_NAME, FIELDS("\rZGET /evil: HTTP/1.1\r\n")),
	/* Fields. */
	HEAD_CASE(VALID, FIELDS("x: y\r\n")),
	HEAD_CASE(VALID, FIELDS("x:y\r\n")),
	HEAD_CASE(VALID, FIELDS("x: \t y \t \r\n")),
	HEAD_CASE(VALID, FIELDS("x:\r\n")),
	HEAD_CASE(VALID, FIELDS("x: a\tb \x80\xff\"<>\r\n")),
	HEAD_CASE(VALID, FIELDS("!#$%&'*+-.^_`|~09aZ: y\r\n")),
	HEAD_CASE(VALID, FIELDS("Accept: a\r\nAccept: b\r\n")),
	HEAD_CASE(FOLDED, FIELDS("x: y\r\n z: 1\r\n")),
	HEAD_CASE(FOLDED, FIELDS("x: y\r\n\tz\r\n")),
	HEAD_CASE(FOLDED, FIELDS(" x: y\r\n")),
	HEAD_CASE(FOLDED, FIELDS(" \r\n")),
	HEAD_CASE(BAD_NAME, FIELDS("x : y\r\n")),
	HEAD_CASE(BAD_NAME, FIELDS("x\t: y\r\n")),
	HEAD_CASE(BAD_NAME, FIELDS("Transfer-Encoding : chunked\r\n")),
	HEAD_CASE(BAD_NAME, FIELDS(": y\r\n")),
	HEAD_CASE(BAD_NAME, FIELDS("x\r\n")),
	HEAD_CASE(BAD_NAME, FIELDS("x y: z\r\n")),
	HEAD_CASE(BAD_NAME, FIELDS("x@: y\r\n")),
	HEAD_CASE(BAD_NAME, FIELDS("x(: y\r\n")),
	HEAD_CASE(BAD_NAME, FIELDS("x\0: y\r\n")),
	HEAD_CASE(BAD_NAME, FIELDS("\xc3\xa4: y\r\n")),
	HEAD_CASE(BAD_VALUE, FIELDS("x: a\0b\r\n")),
	HEAD_CASE(BAD_VALUE, FIELDS("x: a\x0b\r\n")),
	HEAD_CASE(BAD_VALUE, FIELDS("x: a\x7f\r\n")),
	HEAD_CASE(BAD_VALUE, FIELDS("x: \x1b[31m\r\n")),
	HEAD_CASE(MANY_FIELDS, FIELDS("a:\r\nb:\r\nc:\r\nd:\r\ne:\r\nf:\r\ng:\r\nh:\r\n")),
	/* Host. */
	HEAD_CASE(VALID, HOST(" localhost")),
	HEAD_CASE(VALID, HOST(" localhost:8000")),
	HEAD_CASE(VALID, HOST(" 127.0.0.1:8000")),
	HEAD_CASE(VALID, HOST(" [::1]:8000")),
	HEAD_CASE(VALID, HOST(" [::ffff:127.0.0.1]")),
	HEAD_CASE(VALID, HOST(" a_b.example.")),
	HEAD_CASE(NO_HOST, "GET / HTTP/1.1\r\n\r\n"),
	HEAD_CASE(REPEATED, HOST(" a\r\nHost: a")),
	HEAD_CASE(REPEATED, HOST(" a\r\nhOST: b")),
	HEAD_CASE(BAD_HOST, HOST("")),
	HEAD_CASE(BAD_HOST, HOST(" a, b")),
	HEAD_CASE(BAD_HOST, HOST(" a b")),
	HEAD_CASE(BAD_HOST, HOST(" a/b")),
	HEAD_CASE(BAD_HOST, HOST(" u@a")),
	HEAD_CASE(BAD_HOST, HOST(" a:")),
	HEAD_CASE(BAD_HOST, HOST(" a:b")),
	HEAD_CASE(BAD_HOST, HOST(" a:123456")),
	HEAD_CASE(BAD_HOST, HOST(" :80")),
	HEAD_CASE(BAD_HOST, HOST(" [::1")),
	HEAD_CASE(BAD_HOST, HOST(" []")),
	HEAD_CASE(BAD_HOST, HOST(" [::1]x")),
	HEAD_CASE(BAD_HOST, HOST(" [fe80::1%25eth0]")),
	/* Content-Length and Transfer-Encoding. */
	HEAD_CASE(VALID, FIELDS("Content-Length: 0\r\n")),
	HEAD_CASE(VALID, FIELDS("Content-Length: 5\r\n")),
	HEAD_CASE(VALID, FIELDS("Content-Length: 999999999999999999\r\n")),
	HEAD_CASE(BAD_LENGTH, FIELDS("Content-Length: 1000000000000000000\r\n")),
	HEAD_CASE(BAD_LENGTH, FIELDS("Content-Length: 18446744073709551617\r\n")),
	HEAD_CASE(BAD_LENGTH, FIELDS("Content-Length:\r\n")),
	HEAD_CASE(BAD_LENGTH, FIELDS("Content-Length: +5\r\n")),
	HEAD_CASE(BAD_LENGTH, FIELDS("Content-Length: -5\r\n")),
	HEAD_CASE(BAD_LENGTH, FIELDS("Content-Length: 5 5\r\n")),
	HEAD_CASE(BAD_LENGTH, FIELDS("Content-Length: 5,5\r\n")),
	HEAD_CASE(BAD_LENGTH, FIELDS("Content-Length: 5, 6\r\n")),
	HEAD_CASE(BAD_LENGTH, FIELDS("Content-Length: 0x5\r\n")),
	HEAD_CASE(BAD_LENGTH, FIELDS("Content-Length: 05\r\n")),
	HEAD_CASE(BAD_LENGTH, FIELDS("Content-Length: 5.0\r\n")),
	HEAD_CASE(BAD_LENGTH, FIELDS("Content-Length: 1e3\r\n")),
	HEAD_CASE(BAD_LENGTH, FIELDS("Content-Length: \"5\"\r\n")),
	HEAD_CASE(BAD_LENGTH, FIELDS("Content-Length: five\r\n")),
	HEAD_CASE(REPEATED, FIELDS("Content-Length: 5\r\nContent-Length: 5\r\n")),
	HEAD_CASE(REPEATED, FIELDS("Content-Length: 5\r\ncontent-length: 6\r\n")),
	HEAD_CASE(VALID, FIELDS("Transfer-Encoding: chunked\r\n")),
	HEAD_CASE(VALID, FIELDS("transfer-encoding:CHUNKED\r\n")),
	HEAD_CASE(LENGTH_AND_CODING, FIELDS("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n")),
	HEAD_CASE(LENGTH_AND_CODING, FIELDS("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n")),
	HEAD_CASE(REPEATED, FIELDS("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n")),
	HEAD_CASE(UNKNOWN_CODING, FIELDS("Transfer-Encoding:\r\n")),
	HEAD_CASE(UNKNOWN_CODING, FIELDS("Transfer-Encoding: identity\r\n")),
	HEAD_CASE(UNKNOWN_CODING, FIELDS("Transfer-Encoding: identity\r\nContent-Length: 5\r\n")),
	HEAD_CASE(UNKNOWN_CODING, FIELDS("Transfer-Encoding: gzip, chunked\r\n")),
	HEAD_CASE(UNKNOWN_CODING, FIELDS("Transfer-Encoding: chunked, chunked\r\n")),
	HEAD_CASE(UNKNOWN_CODING, FIELDS("Transfer-Encoding: chunked, identity\r\n")),
	HEAD_CASE(UNKNOWN_CODING, FIELDS("Transfer-Encoding: chunked;q=1\r\n")),
	HEAD_CASE(UNKNOWN_CODING, FIELDS("Transfer-Encoding: \"chunked\"\r\n")),
	HEAD_CASE(UNKNOWN_CODING, FIELDS("Transfer-Encoding: xchunked\r\n")),
	HEAD_CASE(UNKNOWN_CODING, FIELDS("Transfer-Encoding: ,chunked\r\n")),
	HEAD_CASE(BAD_VALUE, FIELDS("Transfer-Encoding: \x0b"
	                            "chunked\r\n")),
	HEAD_CASE(CODING_IN_1_0, "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"),
	/* Other fields that the parser reads. */
	HEAD_CASE(VALID, FIELDS("Expect: 100-continue\r\n")),
	HEAD_CASE(VALID, FIELDS("Expect: 100-Continue\r\n")),
	HEAD_CASE(UNKNOWN_EXPECTATION, FIELDS("Expect: 200-ok\r\n")),
	HEAD_CASE(UNKNOWN_EXPECTATION, FIELDS("Expect: 100-continue, x\r\n")),
	HEAD_CASE(REPEATED, FIELDS("Expect: 100-continue\r\nExpect: 100-continue\r\n")),
	HEAD_CASE(REPEATED, FIELDS("Authorization: a\r\nAuthorization: b\r\n")),
	HEAD_CASE(REPEATED, FIELDS("Origin: http://a\r\nOrigin: http://a\r\n")),
	HEAD_CASE(REPEATED, FIELDS("Content-Type: a/b\r\nContent-Type: a/b\r\n")),
	HEAD_CASE(REPEATED, FIELDS("Mcp-Session-Id: a\r\nMCP-Session-Id: b\r\n")),
	HEAD_CASE(REPEATED, FIELDS("Mcp-Param-X: a\r\nmcp-param-x: b\r\n")),
	HEAD_CASE(VALID, FIELDS("Mcp-Param-X: a\r\nMcp-Param-Y: b\r\n")),
};

struct parsed {
	char text[MAX_HEAD + 1];
	struct head_field fields[MAX_FIELDS];
	struct head head;
	struct view rest;
};

/* Scans the bytes in pieces and parses the head. */
static enum head_verdict parse_in_pieces(struct view bytes, size_t piece, struct parsed *ret)
{
	struct head_scan scan = { 0 };
	size_t len = 0;

	*ret = (struct parsed){ .head.fields = ret->fields, .rest = bytes };
	while (!scan.is_complete && ret->rest.len != 0) {
		struct view part = { ret->rest.ptr, piece < ret->rest.len ? piece : ret->rest.len };
		size_t before = part.len;
		enum head_verdict verdict;
		struct view head;

		verdict = head_scan(&scan, MAX_HEAD, &part, &head);
		if (verdict != HEAD_VALID)
			return verdict;
		memcpy(ret->text + len, head.ptr, head.len);
		len += head.len;
		ret->rest.ptr += before - part.len;
		ret->rest.len -= before - part.len;
	}
	assert_true(scan.is_complete);
	assert_true(scan.len == len);
	return head_parse(&rules, ret->text, len, &ret->head);
}

static void verdicts_do_not_depend_on_the_pieces(void **state)
{
	struct parsed parsed;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		for (size_t piece = 1; piece <= cases[i].bytes.len; piece++) {
			enum head_verdict got = parse_in_pieces(cases[i].bytes, piece, &parsed);

			if (got != cases[i].want)
				fail_msg("case %zu in pieces of %zu: \"%s\", not \"%s\": %.*s", i,
				         piece, head_verdict_text(got),
				         head_verdict_text(cases[i].want), (int)cases[i].bytes.len,
				         cases[i].bytes.ptr);
		}
	assert_true(ARRAY_LEN(cases) >= 90);
}

static const char *value_of(const struct parsed *parsed, const char *name)
{
	for (size_t i = 0; i < parsed->head.field_count; i++)
		if (strcmp(parsed->text + parsed->head.fields[i].name, name) == 0)
			return parsed->text + parsed->head.fields[i].value;
	return NULL;
}

static void head_is_split_into_its_parts(void **state)
{
	static const struct view bytes = VIEW_INIT(
	        "POST /a%20b%C3%A4/c?x=%41&y HTTP/1.1\r\nHOST: localhost:80\r\n"
	        "Content-LENGTH: 12\r\nExpect: 100-continue\r\nX-Y: \t a b \t\r\nEmpty:\r\n\r\nrest");
	struct parsed parsed;

	assert_int_equal(parse_in_pieces(bytes, bytes.len, &parsed), HEAD_VALID);
	assert_int_equal(parsed.head.method, HTTP_POST);
	assert_string_equal(parsed.text + parsed.head.method_text, "POST");
	assert_string_equal(parsed.text + parsed.head.path, "/a b\xc3\xa4/c");
	assert_string_equal(parsed.text + parsed.head.query, "x=%41&y");
	assert_int_equal(parsed.head.field_count, 5);
	assert_string_equal(value_of(&parsed, "host"), "localhost:80");
	assert_string_equal(value_of(&parsed, "x-y"), "a b");
	assert_string_equal(value_of(&parsed, "empty"), "");
	assert_null(value_of(&parsed, "Host"));
	assert_int_equal(parsed.head.length, 12);
	assert_true(parsed.head.expects_continue);
	assert_false(parsed.head.is_chunked);
	assert_false(parsed.head.wants_close);
	CHECK_VIEW(parsed.rest, "rest");
}

static const struct {
	const char *text;
	bool wants_close, wants_keep_alive;
} connections[] = {
	{ "GET / HTTP/1.1\r\nHost: a\r\n\r\n", false, false },
	{ "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", true, false },
	{ "GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade , CLOSE\r\n\r\n", true, false },
	{ "GET / HTTP/1.1\r\nHost: a\r\nConnection: x\r\nConnection: close\r\n\r\n", true, false },
	{ "GET / HTTP/1.1\r\nHost: a\r\nConnection: closed, xclose\r\n\r\n", false, false },
	{ "GET / HTTP/1.1\r\nHost: a\r\nConnection: ,,\r\n\r\n", false, false },
	{ "GET / HTTP/1.1\r\nHost: a\r\nConnection: keep-alive\r\n\r\n", false, false },
	{ "GET / HTTP/1.0\r\n\r\n", true, false },
	{ "GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", false, true },
	{ "GET / HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n", true, false },
};

static void connection_field_and_version_decide_about_keep_alive(void **state)
{
	struct parsed parsed;

	for (size_t i = 0; i < ARRAY_LEN(connections); i++) {
		assert_int_equal(parse_in_pieces(view_of(connections[i].text), 1, &parsed),
		                 HEAD_VALID);
		assert_int_equal(parsed.head.wants_close, connections[i].wants_close);
		assert_int_equal(parsed.head.wants_keep_alive, connections[i].wants_keep_alive);
	}
}

/* A head without an end is rejected as soon as it is too long, whatever the pieces. */
static void endless_heads_are_rejected(void **state)
{
	static const struct {
		const char *start;
		enum head_verdict want;
	} starts[] = {
		{ "GET /", HEAD_LONG_LINE },
		{ "GET / HTTP/1.1\r\nx: ", HEAD_LONG_HEAD },
		{ "GET / HTTP/1.1\r\nHost: a\r\ny", HEAD_LONG_HEAD },
	};

	for (size_t i = 0; i < ARRAY_LEN(starts); i++)
		for (size_t piece = 1; piece < 600; piece += 37) {
			struct head_scan scan = { 0 };
			enum head_verdict verdict;
			struct view bytes = view_of(starts[i].start), head;
			size_t sent = bytes.len;
			char filler[600];

			memset(filler, 'a', sizeof filler);
			verdict = head_scan(&scan, MAX_HEAD, &bytes, &head);
			while (verdict == HEAD_VALID) {
				bytes = (struct view){ filler, piece };
				verdict = head_scan(&scan, MAX_HEAD, &bytes, &head);
				sent += piece;
				assert_true(sent <= MAX_HEAD + piece);
			}
			assert_int_equal(verdict, starts[i].want);
		}
}

static void longest_head_is_valid(void **state)
{
	char bytes[MAX_HEAD + 1];
	struct parsed parsed;
	int len = snprintf(bytes, sizeof bytes, "GET / HTTP/1.1\r\nHost: a\r\nx: ");

	memset(bytes + len, 'y', sizeof bytes - (size_t)len);
	memcpy(bytes + MAX_HEAD - 4, "\r\n\r\n", 4);
	assert_int_equal(parse_in_pieces((struct view){ bytes, MAX_HEAD }, 100, &parsed),
	                 HEAD_VALID);
	memcpy(bytes + MAX_HEAD - 4, "y\r\n\r\n", 5);
	assert_int_equal(parse_in_pieces((struct view){ bytes, MAX_HEAD + 1 }, 100, &parsed),
	                 HEAD_LONG_HEAD);
}

static void every_verdict_has_a_status_and_a_text(void **state)
{
	for (int i = HEAD_VALID + 1; i < HEAD_VERDICT_COUNT; i++) {
		assert_in_range(head_verdict_status((enum head_verdict)i), 400, 505);
		assert_true(strlen(head_verdict_text((enum head_verdict)i)) > 10);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(verdicts_do_not_depend_on_the_pieces),
		TEST(head_is_split_into_its_parts),
		TEST(connection_field_and_version_decide_about_keep_alive),
		TEST(endless_heads_are_rejected),
		TEST(longest_head_is_valid),
		TEST(every_verdict_has_a_status_and_a_text),
	};

	return RUN_TESTS("http head", tests);
}
