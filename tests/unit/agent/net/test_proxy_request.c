#include "agent/net/proxy_request.h"
#include "base/buf.h"
#include "unit/test.h"

enum { OUT_MAX = 32 * 1024 };

/* --- accepted ---------------------------------------------------------------------- */

struct accepted {
	const char *head;
	const char *host;
	uint16_t port;
	uint64_t length;
	const char *out; /* NULL: a tunnel */
};

static const struct accepted accepted[] = {
	{ "GET http://example.com/a/b?c=d HTTP/1.1\r\n\r\n", "example.com", 80, 0,
	  "GET /a/b?c=d HTTP/1.1\r\nHost: example.com\r\nConnection: close\r\n\r\n" },
	{ "GET http://example.com HTTP/1.1\r\n\r\n", "example.com", 80, 0,
	  "GET / HTTP/1.1\r\nHost: example.com\r\nConnection: close\r\n\r\n" },
	{ "GET http://example.com?q HTTP/1.0\r\n\r\n", "example.com", 80, 0,
	  "GET /?q HTTP/1.0\r\nHost: example.com\r\nConnection: close\r\n\r\n" },
	{ "GET HTTP://h:8080//x HTTP/1.1\r\n\r\n", "h", 8080, 0,
	  "GET //x HTTP/1.1\r\nHost: h:8080\r\nConnection: close\r\n\r\n" },
	{ "GET http://[::1]:81/ HTTP/1.1\r\n\r\n", "::1", 81, 0,
	  "GET / HTTP/1.1\r\nHost: [::1]:81\r\nConnection: close\r\n\r\n" },
	{ "GET http://[fe80::1]/ HTTP/1.1\r\n\r\n", "fe80::1", 80, 0,
	  "GET / HTTP/1.1\r\nHost: [fe80::1]\r\nConnection: close\r\n\r\n" },
	/* a name with an '@' behind the first slash is a path */
	{ "GET http://h/@x:y HTTP/1.1\r\n\r\n", "h", 80, 0,
	  "GET /@x:y HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n" },
	{ "GET http://h/\xc3\xa4 HTTP/1.1\r\n\r\n", "h", 80, 0,
	  "GET /\xc3\xa4 HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n" },
	/* the client's Host does not count, however often it is said */
	{ "GET http://real/ HTTP/1.1\r\nHost: other\r\nhOST: third\r\n\r\n", "real", 80, 0,
	  "GET / HTTP/1.1\r\nHost: real\r\nConnection: close\r\n\r\n" },
	/* what is meant for us or for one connection stays here */
	{ "GET http://h/ HTTP/1.1\r\nAccept:*/*\r\nProxy-Connection: keep-alive\r\n"
	  "Proxy-Authorization: Basic eDp5\r\nproxy-foo: 1\r\nKeep-Alive: 5\r\nTE: trailers\r\n"
	  "Trailer: x\r\nUpgrade: h2c\r\nConnection: keep-alive, X-One ,,x-two\r\n"
	  "x-ONE: 1\r\nX-Two: 2\r\nX-Three:  3\t \r\nConnection: X-Four\r\nX-Four: 4\r\n\r\n",
	  "h", 80, 0,
	  "GET / HTTP/1.1\r\nHost: h\r\nAccept: */*\r\nX-Three: 3\r\nConnection: close\r\n\r\n" },
	{ "GET http://h/ HTTP/1.1\r\nX:\r\nY: a\tb \xff\r\n\r\n", "h", 80, 0,
	  "GET / HTTP/1.1\r\nHost: h\r\nX: \r\nY: a\tb \xff\r\nConnection: close\r\n\r\n" },
	{ "POST http://h/ HTTP/1.1\r\nContent-Length: 5\r\ncontent-length:05\r\n\r\n", "h", 80, 5,
	  "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nConnection: close\r\n\r\n" },
	{ "POST http://h/ HTTP/1.1\r\nContent-Length: 9223372036854775807\r\n\r\n", "h", 80,
	  9223372036854775807,
	  "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 9223372036854775807\r\n"
	  "Connection: close\r\n\r\n" },
	{ "PUT http://h/ HTTP/1.1\r\nExpect: 200-ok\r\n\r\n", "h", 80, 0,
	  "PUT / HTTP/1.1\r\nHost: h\r\nExpect: 200-ok\r\nConnection: close\r\n\r\n" },
	/* tunnels */
	{ "CONNECT example.com:443 HTTP/1.1\r\nHost: other:1\r\n\r\n", "example.com", 443, 0,
	  NULL },
	{ "CONNECT [2001:db8::1]:65535 HTTP/1.0\r\n\r\n", "2001:db8::1", 65535, 0, NULL },
	{ "CONNECT a_b-c.d:1 HTTP/1.1\r\nContent-Length: 7\r\nTransfer-Encoding: chunked\r\n\r\n",
	  "a_b-c.d", 1, 0, NULL },
};

static void reads_what_a_client_wants_and_says_it_to_the_origin(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(accepted); i++) {
		const struct accepted *c = &accepted[i];
		struct proxy_refusal refusal = { 0, "" };
		struct proxy_request request;
		AUTO_BUF struct buf out;

		buf_init(&out, OUT_MAX);
		if (proxy_request_read(view_of(c->head), &request, &out, &refusal) < 0)
			fail_msg("%s: %u %s", c->head, refusal.status, refusal.why);
		CHECK_VIEW(request.host, c->host);
		assert_int_equal(request.port, c->port);
		assert_int_equal(request.length, c->length);
		assert_int_equal(request.tunnel, c->out == NULL);
		assert_string_equal(buf_text(&out), c->out != NULL ? c->out : "");
	}
}

static const struct {
	const char *head;
	bool expects;
} expecting[] = {
	{ "POST http://h/ HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n", true },
	{ "POST http://h/ HTTP/1.1\r\nexpect: 100-Continue\r\nContent-Length: 1\r\n\r\n", true },
	{ "POST http://h/ HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n", false },
	{ "POST http://h/ HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 0\r\n\r\n", false },
	{ "POST http://h/ HTTP/1.1\r\nContent-Length: 1\r\n\r\n", false },
	{ "CONNECT h:1 HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n", false },
};

static void a_client_that_expects_100_continue_is_known_and_the_origin_is_not_asked(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(expecting); i++) {
		struct proxy_refusal refusal = { 0, "" };
		struct proxy_request request;
		AUTO_BUF struct buf out;

		buf_init(&out, OUT_MAX);
		assert_int_equal(
		        proxy_request_read(view_of(expecting[i].head), &request, &out, &refusal),
		        0);
		assert_int_equal(request.expects, expecting[i].expects);
		assert_null(strstr(buf_text(&out), "100-"));
	}
}

/* --- refused ----------------------------------------------------------------------- */

#define NO_PROXY    "this is a proxy: ask for http://host/path, or use CONNECT"
#define BAD_LINE    "the request line must be METHOD, target and HTTP/1.1, with one space between"
#define BAD_METHOD  "the request's method is no word of 1 to 32 letters"
#define BAD_PORT    "the port must be a number from 1 to 65535"
#define BAD_NAME    "the host's name has a character that no such name has"
#define NO_NAME     "the host's name must have 1 to 255 characters"
#define BAD_IPV6    "the address in brackets is no IPv6 address"
#define USER        "the target must not contain a user (no '@')"
#define BAD_FIELD   "the name of a header field is no word"
#define NO_COLON    "a header field has no colon"
#define BARE_LF     "a line ends without a carriage return"
#define BARE_CR     "a carriage return within a line"
#define NOT_HTTP    "this is an HTTP proxy, and that was not HTTP"
#define NO_LENGTH   "Content-Length is no number"
#define BAD_NAMED   "Connection names what is no field of a connection"
#define GET         "GET http://h/ HTTP/1.1\r\n"
#define CONNECT(at) "CONNECT " at " HTTP/1.1\r\n\r\n"
#define TARGET(at)  "GET " at " HTTP/1.1\r\n\r\n"

static const struct {
	struct view head;
	unsigned status;
	const char *why;
} refused[] = {
	{ VIEW_INIT(TARGET("/index.html")), 400, NO_PROXY },
	{ VIEW_INIT("OPTIONS * HTTP/1.1\r\n\r\n"), 400, NO_PROXY },
	{ VIEW_INIT(TARGET("https://h/")), 400, "https goes through a tunnel: use CONNECT" },
	{ VIEW_INIT(TARGET("HTTPS://h/")), 400, "https goes through a tunnel: use CONNECT" },
	{ VIEW_INIT(TARGET("ftp://h/")), 400,
	  "the target must begin with http://, or use CONNECT" },
	{ VIEW_INIT(TARGET("h:80")), 400, "the target must begin with http://, or use CONNECT" },
	{ VIEW_INIT(TARGET("http:/h")), 400, "the target must begin with http://, or use CONNECT" },
	{ VIEW_INIT(TARGET("http://h/#f")), 400,
	  "the target must not contain a fragment (no '#')" },
	{ VIEW_INIT(TARGET("http://u:p@h/")), 400, USER },
	{ VIEW_INIT(TARGET("http://good@evil/")), 400, USER },
	{ VIEW_INIT(CONNECT("u@h:1")), 400, USER },
	{ VIEW_INIT(TARGET("http://good\\.evil/")), 400, BAD_NAME },
	{ VIEW_INIT(TARGET("http://a%2eb/")), 400, BAD_NAME },
	{ VIEW_INIT(TARGET("http://a,b/")), 400, BAD_NAME },
	{ VIEW_INIT(TARGET("http://\xc3\xa4/")), 400, BAD_NAME },
	{ VIEW_INIT(TARGET("http:///x")), 400, NO_NAME },
	{ VIEW_INIT(TARGET("http://:80/")), 400, NO_NAME },
	{ VIEW_INIT(TARGET("http://h:/")), 400, BAD_PORT },
	{ VIEW_INIT(TARGET("http://h:0/")), 400, BAD_PORT },
	{ VIEW_INIT(TARGET("http://h:65536/")), 400, BAD_PORT },
	{ VIEW_INIT(TARGET("http://h:+1/")), 400, BAD_PORT },
	{ VIEW_INIT(TARGET("http://h:000080/")), 400, BAD_PORT },
	{ VIEW_INIT(TARGET("http://h:1:2/")), 400, BAD_PORT },
	{ VIEW_INIT(TARGET("http://[::1/")), 400, BAD_IPV6 },
	{ VIEW_INIT(TARGET("http://[]/")), 400, BAD_IPV6 },
	{ VIEW_INIT(TARGET("http://[1.2.3.4]/")), 400, BAD_IPV6 },
	{ VIEW_INIT(TARGET("http://[fe80::1%25eth0]/")), 400, BAD_IPV6 },
	{ VIEW_INIT(TARGET("http://[0000:0000:0000:0000:0000:0000:0000:0000:0000:0000]/")), 400,
	  BAD_IPV6 },
	{ VIEW_INIT(TARGET("http://[::1]x/")), 400, BAD_PORT },
	{ VIEW_INIT(TARGET("http://::1/")), 400, NO_NAME },
	{ VIEW_INIT(CONNECT("h")), 400, "CONNECT needs a port: host:port" },
	{ VIEW_INIT(CONNECT("[::1]")), 400, "CONNECT needs a port: host:port" },
	{ VIEW_INIT(CONNECT("http://h:1/")), 400, BAD_PORT },
	{ VIEW_INIT(CONNECT("/")), 400, BAD_NAME },
	{ VIEW_INIT("connect h:1 HTTP/1.1\r\n\r\n"), 400,
	  "the target must begin with http://, or use CONNECT" },
	/* the request line */
	{ VIEW_INIT("\r\n\r\n"), 400, "the request line is empty" },
	{ VIEW_INIT("GET\r\n\r\n"), 400, BAD_LINE },
	{ VIEW_INIT("GET http://h/\r\n\r\n"), 400, BAD_LINE },
	{ VIEW_INIT("GET  http://h/ HTTP/1.1\r\n\r\n"), 400, BAD_LINE },
	{ VIEW_INIT("GET http://h/  HTTP/1.1\r\n\r\n"), 400, BAD_LINE },
	{ VIEW_INIT("GET http://h/ HTTP/1.1 \r\n\r\n"), 400, BAD_LINE },
	{ VIEW_INIT("GET http://h/ b HTTP/1.1\r\n\r\n"), 400, BAD_LINE },
	{ VIEW_INIT("GET http://h/ http/1.1\r\n\r\n"), 400, BAD_LINE },
	{ VIEW_INIT("GET http://h/ HTTP/1.10\r\n\r\n"), 400, BAD_LINE },
	{ VIEW_INIT("GET http://h/\tx HTTP/1.1\r\n\r\n"), 400,
	  "the target has a control character in it" },
	{ VIEW_INIT("GET http://h/ HTTP/2.0\r\n\r\n"), 505,
	  "this proxy speaks HTTP/1.0 and HTTP/1.1" },
	{ VIEW_INIT("GET http://h/ HTTP/1.2\r\n\r\n"), 505,
	  "this proxy speaks HTTP/1.0 and HTTP/1.1" },
	{ VIEW_INIT(" GET http://h/ HTTP/1.1\r\n\r\n"), 400, BAD_METHOD },
	{ VIEW_INIT("G(T http://h/ HTTP/1.1\r\n\r\n"), 400, BAD_METHOD },
	{ VIEW_INIT("ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEFG http://h/ HTTP/1.1\r\n\r\n"), 400,
	  BAD_METHOD },
	/* lines */
	{ VIEW_INIT("GET http://h/ HTTP/1.1\n\n"), 400, BARE_LF },
	{ VIEW_INIT(GET "A: b\nC: d\r\n\r\n"), 400, BARE_LF },
	{ VIEW_INIT(GET "A: b\r\n\n"), 400, BARE_LF },
	{ VIEW_INIT(GET "A: b\rC: d\r\n\r\n"), 400, BARE_CR },
	{ VIEW_INIT(GET "A: b\r\r\n\r\n"), 400, BARE_CR },
	{ VIEW_INIT(GET "A: b\0c\r\n\r\n"), 400, NOT_HTTP },
	{ VIEW_INIT(GET "A: b\x7f\r\n\r\n"), 400, NOT_HTTP },
	{ VIEW_INIT("\x16\x03\x01\x02\x00"), 400, NOT_HTTP },
	/* fields */
	{ VIEW_INIT(GET "A: b\r\n c\r\n\r\n"), 400, NO_COLON },
	{ VIEW_INIT(GET "A: b\r\n c: d\r\n\r\n"), 400, BAD_FIELD },
	{ VIEW_INIT(GET " A: b\r\n\r\n"), 400, BAD_FIELD },
	{ VIEW_INIT(GET "Content-Length : 5\r\n\r\n"), 400, BAD_FIELD },
	{ VIEW_INIT(GET "A\tB: c\r\n\r\n"), 400, BAD_FIELD },
	{ VIEW_INIT(GET ": c\r\n\r\n"), 400, BAD_FIELD },
	{ VIEW_INIT(GET "nothing\r\n\r\n"), 400, NO_COLON },
	/* what the body is */
	{ VIEW_INIT(GET "Content-Length: 5\r\nContent-Length: 6\r\n\r\n"), 400,
	  "two Content-Lengths that differ" },
	{ VIEW_INIT(GET "Content-Length: 5, 5\r\n\r\n"), 400, NO_LENGTH },
	{ VIEW_INIT(GET "Content-Length:\r\n\r\n"), 400, NO_LENGTH },
	{ VIEW_INIT(GET "Content-Length: -1\r\n\r\n"), 400, NO_LENGTH },
	{ VIEW_INIT(GET "Content-Length: 0x10\r\n\r\n"), 400, NO_LENGTH },
	{ VIEW_INIT(GET "Content-Length: 9223372036854775808\r\n\r\n"), 400, NO_LENGTH },
	{ VIEW_INIT(GET "Content-Length: 99999999999999999999999\r\n\r\n"), 400, NO_LENGTH },
	{ VIEW_INIT(GET "Transfer-Encoding: chunked\r\n\r\n"), 411,
	  "no chunked requests here: send a Content-Length" },
	{ VIEW_INIT(GET "transfer-encoding: identity\r\n\r\n"), 411,
	  "no chunked requests here: send a Content-Length" },
	{ VIEW_INIT(GET "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"), 400,
	  "both Content-Length and Transfer-Encoding" },
	{ VIEW_INIT(GET "Connection: content-length\r\nContent-Length: 5\r\n\r\n"), 400,
	  BAD_NAMED },
	{ VIEW_INIT(GET "Connection: Transfer-Encoding\r\n\r\n"), 400, BAD_NAMED },
	{ VIEW_INIT(GET "Connection: host\r\n\r\n"), 400, BAD_NAMED },
	{ VIEW_INIT(GET "Connection: a b\r\n\r\n"), 400, BAD_NAMED },
	/* no head, or more than one */
	{ VIEW_INIT(GET "A: b\r\n"), 400, "the request's head does not end" },
	{ VIEW_INIT(GET "\r\nGET"), 400, "the request's head does not end" },
};

static void refuses_what_could_be_read_in_two_ways(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
		struct proxy_refusal refusal = { 0, "" };
		struct proxy_request request;
		AUTO_BUF struct buf out;

		buf_init(&out, OUT_MAX);
		if (proxy_request_read(refused[i].head, &request, &out, &refusal) == 0)
			fail_msg("accepted: %s", refused[i].head.ptr);
		if (strcmp(refusal.why, refused[i].why) != 0 || refusal.status != refused[i].status)
			fail_msg("%s -> %u %s", refused[i].head.ptr, refusal.status, refusal.why);
	}
}

/* --- limits ------------------------------------------------------------------------ */

/* "GET http://h/ HTTP/1.1", `count` times `field`, then `last`. */
static int read_many(struct view field, size_t count, const char *last, struct buf *out,
                     struct proxy_refusal *refusal)
{
	struct proxy_request request;
	AUTO_BUF struct buf head;
	struct error err;

	buf_init(&head, 1 << 20);
	CHECK_OK(buf_add(&head, view_of(GET), &err), err);
	for (size_t i = 0; i < count; i++)
		CHECK_OK(buf_add(&head, field, &err), err);
	CHECK_OK(buf_add(&head, view_of(last), &err), err);
	return proxy_request_read(buf_view(&head), &request, out, refusal);
}

static void takes_a_hundred_fields_and_not_one_more(void **state)
{
	struct proxy_refusal refusal = { 0, "" };
	AUTO_BUF struct buf out;

	(void)state;
	buf_init(&out, OUT_MAX);
	assert_int_equal(read_many(VIEW("a:b\r\n"), PROXY_FIELDS_MAX, "\r\n", &out, &refusal), 0);
	assert_int_equal(out.len, strlen("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n") +
	                                  PROXY_FIELDS_MAX * strlen("a: b\r\n"));
	/* So much room the caller must have for what a head may grow by. */
	assert_true(out.len <= strlen(GET) + PROXY_FIELDS_MAX * 5 + 2 + PROXY_REWRITE_MAX);
	assert_int_equal(read_many(VIEW("a:b\r\n"), PROXY_FIELDS_MAX + 1, "\r\n", &out, &refusal),
	                 -1);
	assert_int_equal(refusal.status, 431);
	assert_string_equal(refusal.why, "more than 100 header fields");
}

static void takes_thirty_two_names_in_connection_and_not_one_more(void **state)
{
	struct proxy_refusal refusal = { 0, "" };
	AUTO_BUF struct buf out;

	(void)state;
	buf_init(&out, OUT_MAX);
	assert_int_equal(read_many(VIEW("Connection: x, \r\n"), PROXY_NAMED_MAX, "X: 1\r\n\r\n",
	                           &out, &refusal),
	                 0);
	assert_string_equal(buf_text(&out),
	                    "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
	assert_int_equal(
	        read_many(VIEW("Connection: x\r\n"), PROXY_NAMED_MAX + 1, "\r\n", &out, &refusal),
	        -1);
	assert_int_equal(refusal.status, 431);
	assert_string_equal(refusal.why, "Connection names more than 32 fields");
}

static void a_host_may_have_255_characters_and_not_one_more(void **state)
{
	char head[400];
	struct proxy_refusal refusal = { 0, "" };
	struct proxy_request request;
	AUTO_BUF struct buf out;
	char name[257];

	(void)state;
	buf_init(&out, OUT_MAX);
	memset(name, 'n', 256);
	name[256] = '\0';
	(void)snprintf(head, sizeof head, "CONNECT %s:1 HTTP/1.1\r\n\r\n", name + 1);
	assert_int_equal(proxy_request_read(view_of(head), &request, &out, &refusal), 0);
	assert_int_equal(request.host.len, PROXY_HOST_MAX);
	(void)snprintf(head, sizeof head, "CONNECT %s:1 HTTP/1.1\r\n\r\n", name);
	assert_int_equal(proxy_request_read(view_of(head), &request, &out, &refusal), -1);
	assert_string_equal(refusal.why, NO_NAME);
}

static void an_origin_head_without_room_is_refused(void **state)
{
	struct proxy_refusal refusal = { 0, "" };
	struct proxy_request request;
	AUTO_BUF struct buf out;

	(void)state;
	buf_init(&out, 20);
	assert_int_equal(proxy_request_read(VIEW(GET "\r\n"), &request, &out, &refusal), -1);
	assert_int_equal(refusal.status, 431);
	assert_string_equal(refusal.why, "the request's head is too long");
}

/* --- where a head ends ------------------------------------------------------------- */

static void finds_the_end_of_a_head_however_it_arrives(void **state)
{
	static const char bytes[] = GET "A: b\r\n\r\n\r\n\n\x01 body";
	const ssize_t want = (ssize_t)strlen(GET "A: b\r\n\r\n");
	struct proxy_refusal refusal = { 0, "" };

	(void)state;
	for (ssize_t len = 0; len < (ssize_t)sizeof bytes; len++)
		assert_int_equal(proxy_head_length((struct view){ bytes, (size_t)len }, &refusal),
		                 len < want ? 0 : want);
	for (size_t len = 1; len <= (size_t)want; len++)
		assert_int_equal(
		        proxy_head_length_from((struct view){ bytes, len }, len - 1, &refusal),
		        len < (size_t)want ? 0 : want);
	for (size_t seen = 0; seen < (size_t)want; seen++)
		assert_int_equal(proxy_head_length_from(view_of(bytes), seen, &refusal), want);
}

static void what_was_seen_of_a_head_is_not_looked_at_again(void **state)
{
	struct proxy_refusal refusal = { 0, "" };

	(void)state;
	assert_int_equal(proxy_head_length_from(VIEW("\x01 GET"), 1, &refusal), 0);
}

static void says_at_once_that_it_will_not_be_a_head(void **state)
{
	static const struct {
		struct view bytes;
		const char *why;
	} cases[] = {
		{ VIEW_INIT("\x16"), NOT_HTTP },
		{ VIEW_INIT("GET http://h/ HTTP/1.1\n"), BARE_LF },
		{ VIEW_INIT("\n"), BARE_LF },
		{ VIEW_INIT("\r\n"), "the request line is empty" },
		{ VIEW_INIT("GET\rx"), BARE_CR },
		{ VIEW_INIT("GET\r\x01"), BARE_CR },
		{ VIEW_INIT(GET "\r\r"), BARE_CR },
		{ VIEW_INIT(GET "\n"), BARE_LF },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		/* The last byte shows it, however many have come with it. */
		for (size_t seen = 0; seen < cases[i].bytes.len; seen++) {
			struct proxy_refusal refusal = { 0, "" };

			assert_int_equal(proxy_head_length_from(cases[i].bytes, seen, &refusal),
			                 -1);
			assert_int_equal(refusal.status, 400);
			assert_string_equal(refusal.why, cases[i].why);
		}
	}
}

/* --- answers ----------------------------------------------------------------------- */

static void an_answer_is_one_line_and_says_how_long_it_is(void **state)
{
	static const struct {
		unsigned status;
		struct view why;
		const char *want;
	} cases[] = {
		{ 403, VIEW_INIT("example.com:443 is not on the list"),
		  "HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain; charset=utf-8\r\n"
		  "Content-Length: 44\r\nConnection: close\r\n\r\n"
		  "belljar: example.com:443 is not on the list\n" },
		{ 502, VIEW_INIT("a\r\nb\x1b[1m\xff\xc3\xa4"),
		  "HTTP/1.1 502 Bad Gateway\r\nContent-Type: text/plain; charset=utf-8\r\n"
		  "Content-Length: 29\r\nConnection: close\r\n\r\n"
		  "belljar: a\\r\\nb\\x1b[1m\\xff\xc3\xa4\n" },
		{ 999, VIEW_INIT(""),
		  "HTTP/1.1 999 Error\r\nContent-Type: text/plain; charset=utf-8\r\n"
		  "Content-Length: 10\r\nConnection: close\r\n\r\nbelljar: \n" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO_BUF struct buf out;

		buf_init(&out, PROXY_ANSWER_MAX);
		proxy_answer(cases[i].status, cases[i].why, &out);
		assert_string_equal(buf_text(&out), cases[i].want);
	}
}

static void the_longest_reason_fits_into_an_answer(void **state)
{
	char why[2000];
	AUTO_BUF struct buf out;
	const char *body;
	size_t length;

	(void)state;
	memset(why, '\x01', sizeof why);
	buf_init(&out, PROXY_ANSWER_MAX);
	proxy_answer(431, (struct view){ why, sizeof why }, &out);
	body = strstr(buf_text(&out), "\r\n\r\n");
	assert_non_null(body);
	assert_int_equal(
	        sscanf(strstr(out.ptr, "Content-Length: "), "Content-Length: %zu", &length), 1);
	assert_int_equal(strlen(body + 4), length);
	assert_non_null(strstr(body, "...\n"));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(reads_what_a_client_wants_and_says_it_to_the_origin),
		TEST(a_client_that_expects_100_continue_is_known_and_the_origin_is_not_asked),
		TEST(refuses_what_could_be_read_in_two_ways),
		TEST(takes_a_hundred_fields_and_not_one_more),
		TEST(takes_thirty_two_names_in_connection_and_not_one_more),
		TEST(a_host_may_have_255_characters_and_not_one_more),
		TEST(an_origin_head_without_room_is_refused),
		TEST(finds_the_end_of_a_head_however_it_arrives),
		TEST(what_was_seen_of_a_head_is_not_looked_at_again),
		TEST(says_at_once_that_it_will_not_be_a_head),
		TEST(an_answer_is_one_line_and_says_how_long_it_is),
		TEST(the_longest_reason_fits_into_an_answer),
	};

	return RUN_TESTS("agent/proxy_request", tests);
}
