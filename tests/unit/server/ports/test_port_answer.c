#include <stdio.h>

#include "base/buf.h"
#include "base/error.h"
#include "server/ports/internal.h"
#include "unit/test.h"

/* The value of a field in the head for the client, or "" without it. */
static const char *answer_field(const char *name, const char *value, char out[256])
{
	const struct port_path path = { .port = 8000, .prefix = "/ports/s/8000", .rest = "/" };
	const struct port_answer_options options = { .path = &path,
		                                     .host = "127.0.0.1:8443",
		                                     .url = "https://Box.example/belljar" };
	AUTO_BUF struct buf head, answer;
	const char *found;
	struct error err;
	char begin[64];

	buf_init(&head, 4096);
	buf_init(&answer, 4096);
	CHECK_OK(buf_printf(&head, &err, "HTTP/1.1 302 Found\r\n%s: %s\r\n\r\n", name, value), err);
	assert_int_equal(port_answer_head(buf_view(&head), &options, &answer, &err), 302);
	(void)snprintf(begin, sizeof begin, "\r\n%s: ", name);
	found = strstr(buf_text(&answer), begin);
	out[0] = '\0';
	if (found != NULL)
		(void)snprintf(out, 256, "%.*s", (int)strcspn(found + strlen(begin), "\r"),
		               found + strlen(begin));
	return out;
}

static void redirect_stays_below_the_port_or_leaves_the_server(void **state)
{
	static const struct {
		const char *value, *passed;
	} cases[] = {
		{ "/a/b?c=/../d", "/ports/s/8000/a/b?c=/../d" },
		{ "/a..b/...", "/ports/s/8000/a..b/..." },
		{ "http://localhost:8000/c", "/ports/s/8000/c" },
		{ "d#/..", "d#/.." },
		{ "./d", "./d" },
		{ "https://other.example/x", "https://other.example/x" },
		{ "//other.example/x", "//other.example/x" },
		{ "/../../t/8000/", "" },
		{ "/a/..", "" },
		{ "/a/..?b", "" },
		{ "..", "" },
		{ "../t", "" },
		{ "a/%2e%2E/t", "" },
		{ "/.%2e/t", "" },
		{ "/x%2F..%2f../t", "" },
		{ "/a\\..\\t", "" },
		{ "/.\t./t", "" },
		{ "/\\127.0.0.1:8443/ports/t/8000/", "" },
		{ "http://localhost:8000/../../t", "" },
		{ "http://127.0.0.1:8443/ports/t/8000/", "" },
		{ "HTTP://127.1/ports/t/8000/", "" },
		{ "//u:p@127.0.0.1:8443", "" },
		{ "https://box.EXAMPLE.:443/ports/t/8000/", "" },
		{ "https://b%6fx.example/ports/t/8000/", "" },
		{ "https:/ports/t/8000/", "" },
		{ "https:///box.example/ports/t/8000/", "" },
	};
	char out[256];

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_string_equal(answer_field("location", cases[i].value, out), cases[i].passed);
}

static void documents_that_replace_each_other_are_a_download(void **state)
{
	char out[256];

	assert_string_equal(answer_field("content-type", "text/html; charset=utf-8", out),
	                    "text/html; charset=utf-8");
	assert_string_equal(
	        answer_field("content-type", "Multipart/X-Mixed-Replace; boundary=b", out),
	        "application/octet-stream");
	assert_string_equal(
	        answer_field("content-type", "text/html, multipart/x-mixed-replace", out),
	        "application/octet-stream");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(redirect_stays_below_the_port_or_leaves_the_server),
		cmocka_unit_test(documents_that_replace_each_other_are_a_download),
	};

	return RUN_TESTS("port_answer", tests);
}
