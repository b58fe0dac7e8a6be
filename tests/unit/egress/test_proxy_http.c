#include "egress/proxy_http.h"

#include "base/buf.h"
#include "unit/test.h"

/* Reads a head; "HOST:PORT" and the head for the server, or the reason. */
static int read_head(const char *text, struct proxy_request *request, struct buf *out,
                     struct error *err)
{
	struct view bytes = view_of(text);
	size_t len;

	buf_init(out, PROXY_HEAD_MAX * 2);
	if (proxy_head_length(bytes, &len, err) < 0)
		return -1;
	assert_int_equal(len, bytes.len);
	return proxy_request_read(bytes, false, "", request, out, err);
}

static void requests_are_written_for_the_server(void **state)
{
	static const struct {
		const char *text, *host;
		uint16_t port;
		const char *want;
	} cases[] = {
		{ "CONNECT example.org:443 HTTP/1.1\r\nHost: example.org:443\r\n\r\n",
		  "example.org", 443, "" },
		{ "CONNECT Example.ORG.:22 HTTP/1.1\r\n\r\n", "example.org", 22, "" },
		{ "CONNECT [::1]:443 HTTP/1.1\r\nHost: [::1]\r\n\r\n", "::1", 443, "" },
		{ "GET http://example.org/a?b#c HTTP/1.1\r\nHost: example.org\r\nAccept: */*\r\n"
		  "Proxy-Authorization: Basic eDp5\r\nproxy-connection: keep-alive\r\n"
		  "Connection: keep-alive\r\nTE: trailers\r\nUpgrade: h2c\r\n\r\n",
		  "example.org", 80,
		  "GET /a?b HTTP/1.1\r\nHost: example.org\r\nAccept: */*\r\nConnection: close\r\n\r\n" },
		{ "POST HTTP://EXAMPLE.org:8080?q HTTP/1.0\r\nContent-Length: 3\r\n\r\n",
		  "example.org", 8080,
		  "POST /?q HTTP/1.1\r\nHost: example.org:8080\r\nContent-Length: 3\r\n"
		  "Connection: close\r\n\r\n" },
		{ "PUT http://example.org HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
		  "example.org", 80,
		  "PUT / HTTP/1.1\r\nHost: example.org\r\nTransfer-Encoding: chunked\r\n"
		  "Connection: close\r\n\r\n" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct proxy_request request;
		AUTO_BUF struct buf out;
		struct error err;

		CHECK_OK(read_head(cases[i].text, &request, &out, &err), err);
		assert_string_equal(request.host.name, cases[i].host);
		assert_int_equal(request.port, cases[i].port);
		assert_string_equal(buf_text(&out), cases[i].want);
	}
}

static void request_in_tls_is_for_the_host_of_its_connection(void **state)
{
	static const struct {
		const char *text;
		uint16_t port;
		const char *want; /* or the reason of the refusal */
	} cases[] = {
		{ "GET /a?b#c HTTP/1.1\r\nHost: A.example\r\nX: 1\r\n\r\n", 443,
		  "GET /a?b HTTP/1.1\r\nHost: a.example\r\nX: 1\r\nConnection: close\r\n\r\n" },
		{ "HEAD / HTTP/1.0\r\n\r\n", 8443,
		  "HEAD / HTTP/1.1\r\nHost: a.example:8443\r\nConnection: close\r\n\r\n" },
		{ "GET / HTTP/1.1\r\nHost: a.example\r\n\r\n", 8443,
		  "Host names another host than the request" },
		{ "GET / HTTP/1.1\r\nHost: b.example\r\n\r\n", 443,
		  "Host names another host than the request" },
		{ "GET https://a.example/ HTTP/1.1\r\n\r\n", 443,
		  "the target of the request is no path that begins with /" },
		{ "CONNECT /a HTTP/1.1\r\n\r\n", 443,
		  "the target of the request is no path that begins with /" },
		{ "OPTIONS * HTTP/1.1\r\n\r\n", 443,
		  "the target of the request is no path that begins with /" },
	};
	struct net_host host;
	struct error err;

	CHECK_OK(net_host_parse(VIEW("a.example"), &host, &err), err);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct proxy_request request;
		AUTO_BUF struct buf out;
		int r;

		buf_init(&out, PROXY_HEAD_MAX * 2);
		r = proxy_origin_read(view_of(cases[i].text), &host, cases[i].port, &request, &out,
		                      &err);
		assert_string_equal(r == 0 ? buf_text(&out) : err.msg, cases[i].want);
	}
}

static void head_for_a_proxy_has_the_url(void **state)
{
	const struct view head = VIEW("GET http://example.org/a HTTP/1.1\r\n\r\n");
	struct proxy_request request;
	AUTO_BUF struct buf out;
	struct error err;

	buf_init(&out, PROXY_HEAD_MAX);
	CHECK_OK(proxy_request_read(head, true, "X: y\r\n", &request, &out, &err), err);
	assert_string_equal(buf_text(&out),
	                    "GET http://example.org/a HTTP/1.1\r\n"
	                    "Host: example.org\r\nX: y\r\nConnection: close\r\n\r\n");
}

static void requests_that_could_be_read_differently_are_refused(void **state)
{
	static const struct {
		const char *text, *why;
	} cases[] = {
		{ "GET / HTTP/1.1\r\nHost: example.org\r\n\r\n",
		  "the request has no http:// URL: this is a proxy, which a program reaches through "
		  "HTTP_PROXY; for https:// it must send CONNECT" },
		{ "GET http://example.org/ HTTP/1.1\nHost: example.org\n\n",
		  "a line of the request ends with LF alone" },
		{ "GET http://example.org/ HTTP/2\r\n\r\n",
		  "the version is neither HTTP/1.1 nor HTTP/1.0" },
		{ "GET http://example.org/ a HTTP/1.1\r\n\r\n",
		  "the version is neither HTTP/1.1 nor HTTP/1.0" },
		{ "GET  http://example.org/ HTTP/1.1\r\n\r\n",
		  "the first line is not a request of HTTP" },
		{ "\r\n\r\n", "the first line is not a request of HTTP" },
		{ "GET http://example.org/ HTTP/1.1\r\nHost: evil.example\r\n\r\n",
		  "Host names another host than the request" },
		{ "GET http://example.org/ HTTP/1.1\r\nHost: example.org:81\r\n\r\n",
		  "Host names another host than the request" },
		{ "GET http://example.org/ HTTP/1.1\r\nHost: example.org\r\nHost: x\r\n\r\n",
		  "Host is given twice" },
		{ "CONNECT example.org:443 HTTP/1.1\r\nHost: evil.example\r\n\r\n",
		  "Host names another host than the request" },
		{ "GET http://example.org/ HTTP/1.1\r\nA: b\r\n c\r\n\r\n",
		  "a header field is malformed" },
		{ "GET http://example.org/ HTTP/1.1\r\nHost : example.org\r\n\r\n",
		  "a header field is malformed" },
		{ "GET http://example.org/ HTTP/1.1\r\nA: b\nX: y\r\n\r\n",
		  "a header field is malformed" },
		{ "POST http://example.org/ HTTP/1.1\r\nContent-Length: 1\r\n"
		  "Transfer-Encoding: chunked\r\n\r\n",
		  "both Content-Length and Transfer-Encoding are given" },
		{ "TRACE http://example.org/ HTTP/1.1\r\n\r\n",
		  "this proxy forwards no TRACE: use GET or HEAD instead" },
		{ "POST http://example.org/ HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
		  "Transfer-Encoding is not 'chunked', once" },
		{ "POST http://example.org/ HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n",
		  "Content-Length is given twice or is too long" },
		{ "POST http://example.org/ HTTP/1.1\r\nContent-Length: +1\r\n\r\n",
		  "Content-Length is not a number" },
		{ "GET http://user@example.org/ HTTP/1.1\r\n\r\n",
		  "'user@example.org' is not a host: it has a character of no name" },
		{ "CONNECT example.org HTTP/1.1\r\n\r\n", "the port is missing" },
		{ "CONNECT example.org:443/x HTTP/1.1\r\n\r\n",
		  "port: expected a whole number from 1 to 65535, got '443/x'" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct proxy_request request;
		AUTO_BUF struct buf out;
		struct error err = { .msg = "" };

		if (read_head(cases[i].text, &request, &out, &err) == 0)
			fail_msg("case %zu was accepted", i);
		assert_string_equal(err.msg, cases[i].why);
	}
}

static void head_has_a_maximum(void **state)
{
	static char text[PROXY_HEAD_MAX + 8];
	struct error err;
	size_t len;

	memset(text, 'a', sizeof text);
	CHECK_OK(proxy_head_length((struct view){ text, PROXY_HEAD_MAX - 1 }, &len, &err), err);
	assert_int_equal(len, 0);
	CHECK_ERROR(proxy_head_length((struct view){ text, PROXY_HEAD_MAX }, &len, &err), err,
	            ERR_LIMIT, "the head of the request has more than 16384 bytes");
	memcpy(text + PROXY_HEAD_MAX - 4, "\r\n\r\n", 4);
	CHECK_OK(proxy_head_length((struct view){ text, sizeof text }, &len, &err), err);
	assert_int_equal(len, PROXY_HEAD_MAX);
}

static void password_is_read(void **state)
{
	struct proxy_request request;
	AUTO_BUF struct buf out;
	struct error err;

	CHECK_OK(read_head("CONNECT a.example:443 HTTP/1.1\r\n"
	                   "Proxy-Authorization: Basic YmVsbGphcjpzZWNyZXQ=\r\n\r\n",
	                   &request, &out, &err),
	         err);
	assert_string_equal(request.password, "secret");
}

static void body_ends_where_its_length_says(void **state)
{
	static const struct {
		struct proxy_body body;
		const char *text;
		size_t want;
		bool is_done, fails;
	} cases[] = {
		{ { .kind = PROXY_BODY_LENGTH, .left = 3 }, "abcGET", 3, true, false },
		{ { .kind = PROXY_BODY_LENGTH, .left = 9 }, "abc", 3, false, false },
		{ { .is_done = true }, "GET", 0, true, false },
		{ { .kind = PROXY_BODY_CHUNKED }, "3\r\nabc\r\n0\r\n\r\nGET", 13, true, false },
		{ { .kind = PROXY_BODY_CHUNKED }, "A\r\n0123456789\r\n1\r", 17, false, false },
		{ { .kind = PROXY_BODY_CHUNKED }, "3;x=y\r\nabc", 0, false, true },
		{ { .kind = PROXY_BODY_CHUNKED }, "3\nabc", 0, false, true },
		{ { .kind = PROXY_BODY_CHUNKED }, "\r\nabc", 0, false, true },
		{ { .kind = PROXY_BODY_CHUNKED }, "3\r\nabcd\r\n", 0, false, true },
		{ { .kind = PROXY_BODY_CHUNKED }, "-3\r\n", 0, false, true },
		{ { .kind = PROXY_BODY_CHUNKED }, "0x3\r\n", 0, false, true },
		{ { .kind = PROXY_BODY_CHUNKED }, "fffffffffffff\r\n", 0, false, true },
		{ { .kind = PROXY_BODY_CHUNKED }, "0\r\nTrailer: x\r\n\r\n", 0, false, true },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		for (size_t step = 1; step < 40; step += 7) {
			struct proxy_body body = cases[i].body;
			struct view rest = view_of(cases[i].text);
			size_t total = 0, used = 0;
			struct error err;
			int r = 0;

			for (; rest.len != 0 && r == 0 && !body.is_done; total += used) {
				struct view part = { rest.ptr, rest.len < step ? rest.len : step };

				used = 0;
				r = proxy_body_take(&body, part, &used, &err);
				rest = (struct view){ rest.ptr + used, rest.len - used };
			}
			assert_int_equal(r < 0, cases[i].fails);
			if (r == 0) {
				assert_int_equal(total, cases[i].want);
				assert_int_equal(body.is_done, cases[i].is_done);
			}
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(requests_are_written_for_the_server),
		TEST(request_in_tls_is_for_the_host_of_its_connection),
		TEST(head_for_a_proxy_has_the_url),
		TEST(requests_that_could_be_read_differently_are_refused),
		TEST(head_has_a_maximum),
		TEST(password_is_read),
		TEST(body_ends_where_its_length_says),
	};

	return RUN_TESTS("egress/proxy_http", tests);
}
