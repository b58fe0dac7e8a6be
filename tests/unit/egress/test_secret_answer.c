/* test_secret_answer.c - answers to requests that carried a secret: framing, masking, refusals. */
#include "egress/secret_answer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "unit/test.h"

static struct net_secrets secrets;

static const char *placeholder(void)
{
	struct error err;

	if (secrets.count == 0)
		assert_int_equal(net_secrets_add(&secrets, VIEW("N=Sesame-0123456@a.b"), &err), 0);
	return secrets.items[0].placeholder;
}

/* Takes the text in pieces of `step` bytes, and then the end of the connection. */
static int take(const char *text, size_t step, bool is_to_head, struct buf *out, bool *ret_has_head,
                struct error *err)
{
	struct secret_answer answer;
	size_t len = strlen(text);
	int r = 0;

	(void)placeholder();
	secret_answer_init(&answer, &secrets);
	answer.is_to_head = is_to_head;
	for (size_t at = 0; at < len && r == 0 && !answer.is_done; at += step)
		r = secret_answer_take(
		        &answer, (struct view){ text + at, step < len - at ? step : len - at }, out,
		        err);
	if (r == 0)
		r = secret_answer_end(&answer, out, err);
	*ret_has_head = answer.has_head;
	secret_answer_done(&answer);
	return r;
}

/* The body of `out`, with its chunks decoded. */
static void read_body(const struct buf *out, char *ret)
{
	const char *at = strstr(buf_text(out), "\r\n\r\n");
	bool is_chunked = strcasestr(buf_text(out), "Transfer-Encoding: chunked") != NULL;

	assert_non_null(at);
	at += 4;
	*ret = '\0';
	while (is_chunked && *at != '\0') {
		char *end;
		unsigned long size = strtoul(at, &end, 16);

		assert_memory_equal(end, "\r\n", 2);
		(void)strncat(ret, end + 2, size);
		at = end + 2 + size + 2;
	}
	if (!is_chunked)
		(void)strcpy(ret, at);
}

static void value_is_masked_however_the_body_is_framed(void **state)
{
	static const struct {
		const char *answer;
		const char *head, *before, *after; /* of the placeholder in the body */
	} cases[] = {
		{ "HTTP/1.1 200 OK\r\nContent-Length: 18\r\n\r\n[Sesame-0123456].\nnot of it",
		  "HTTP/1.1 200 OK\r\nContent-Length: 18\r\nConnection: close\r\n\r\n", "[",
		  "].\n" },
		{ "HTTP/1.0 200 OK\r\nKeep-Alive: 5\r\nX:1\r\n\r\nSesame-0123456 to the end",
		  "HTTP/1.1 200 OK\r\nX: 1\r\nConnection: close\r\n\r\n", "", " to the end" },
		{ "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nContent-Length: 9\r\n\r\n"
		  "HTTP/1.1 200\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n<Se\r\n5;x=y\r\nsame-\r\n"
		  "8 \r\n0123456>\r\n0\r\nTrailer: 1\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
		  "HTTP/1.1 200\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n", "<",
		  ">" },
		{ "HTTP/1.1 200 OK\r\ntransfer-encoding: Chunked\r\n\r\n1\r\nS\r\n1\r\ne\r\n"
		  "1\r\ns\r\nB\r\name-0123456\r\n000\r\n\r\n",
		  NULL, "", "" },
		/* cut off: what has come is passed on */
		{ "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\nSesame-0123456 and",
		  NULL, "", " and" },
		{ "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nSesame-0123456 and", NULL, "",
		  " and" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		for (size_t step = 1; step < 200; step++) {
			char body[512], want[512];
			AUTO_BUF struct buf out;
			struct error err;
			bool has_head;

			buf_init(&out, 8192);
			assert_int_equal(take(cases[i].answer, step, false, &out, &has_head, &err),
			                 0);
			assert_null(strstr(buf_text(&out), "Sesame-0123456"));
			if (cases[i].head != NULL)
				assert_true(view_starts(buf_view(&out), cases[i].head));
			read_body(&out, body);
			(void)snprintf(want, sizeof want, "%s%s%s", cases[i].before, placeholder(),
			               cases[i].after);
			assert_string_equal(body, want);
		}
	}
}

static void answer_to_head_has_no_body(void **state)
{
	static const struct {
		const char *answer;
		bool is_to_head;
	} cases[] = {
		{ "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n", true },
		{ "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nrest", true },
		{ "HTTP/1.1 204 No\r\nContent-Length: 10\r\n\r\nrest", false },
		{ "HTTP/1.1 304 No\r\n\r\nrest", false },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO_BUF struct buf out;
		struct error err;
		bool has_head;

		buf_init(&out, 8192);
		assert_int_equal(
		        take(cases[i].answer, 1000, cases[i].is_to_head, &out, &has_head, &err), 0);
		assert_true(view_ends(buf_view(&out), "Connection: close\r\n\r\n"));
	}
}

static void value_in_the_head_is_masked(void **state)
{
	AUTO_BUF struct buf out;
	struct error err;
	bool has_head;

	buf_init(&out, 8192);
	assert_int_equal(take("HTTP/1.1 302 Sesame-0123456\r\nLocation: /Sesame-0123456\r\n\r\n", 7,
	                      false, &out, &has_head, &err),
	                 0);
	assert_null(strstr(buf_text(&out), "Sesame-0123456"));
	assert_non_null(strstr(buf_text(&out), placeholder()));
}

#define MALFORMED "the head of the host's answer is malformed"
#define LENGTHS   "the host's answer has two lengths, or a malformed one"
#define CODING(name)                                                                               \
	"the host's answer has " name ", which the request did not ask for and in which belljar "  \
	"cannot find the secret: the answer was not passed on; ask for this without the secret"
#define CHUNK "a chunk of the host's answer is malformed"

static void ambiguous_answer_is_refused(void **state)
{
	static const struct {
		const char *answer, *want;
		bool has_head;
	} cases[] = {
		{ "", "the host has closed the connection without an answer", false },
		{ "HTTP/1.1 200 OK\r\nX: 1\r\n",
		  "the host has closed the connection without an answer", false },
		{ "\r\n\r\n", MALFORMED, false },
		{ "Sesame-0123456\r\n\r\n", MALFORMED, false },
		{ "HTTP/2 200 OK\r\n\r\n", MALFORMED, false },
		{ "HTTP/1.1 20 OK\r\n\r\n", MALFORMED, false },
		{ "HTTP/1.1 099 OK\r\n\r\n", MALFORMED, false },
		{ "HTTP/1.1 2000\r\n\r\n", MALFORMED, false },
		{ "HTTP/1.1 200 OK\r\nno colon\r\n\r\n", MALFORMED, false },
		{ "HTTP/1.1 200 OK\r\n: 1\r\n\r\n", MALFORMED, false },
		{ "HTTP/1.1 200 OK\nTransfer-Encoding: chunked\r\n\r\n", MALFORMED, false },
		{ "HTTP/1.1 200 OK\r\nX: 1\rTransfer-Encoding: chunked\r\n\r\n", MALFORMED, false },
		{ "HTTP/1.1 200 OK\r\nX: 1\r\n Transfer-Encoding: chunked\r\n\r\n", MALFORMED,
		  false },
		{ "HTTP/1.1 200 OK\r\nTransfer-Encoding : chunked\r\n\r\n", MALFORMED, false },
		{ "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", LENGTHS,
		  false },
		{ "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n",
		  LENGTHS, false },
		{ "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", MALFORMED, false },
		{ "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
		  CODING("Transfer-Encoding 'gzip, chunked'"), false },
		{ "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: "
		  "chunked\r\n\r\n",
		  CODING("Transfer-Encoding 'chunked'"), false },
		{ "HTTP/1.1 200 OK\r\nContent-Encoding: br\r\n\r\n",
		  CODING("Content-Encoding 'br'"), false },
		{ "HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\n\r\n",
		  "the host switches to another protocol, in which belljar cannot find the secret",
		  false },
		{ "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\r\n", CHUNK, true },
		{ "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n", CHUNK, true },
		{ "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nSes", CHUNK, true },
		{ "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\nS\n", CHUNK, true },
		{ "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1111111111111\r\n", CHUNK,
		  true },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO_BUF struct buf out;
		struct error err;
		bool has_head;

		buf_init(&out, 8192);
		assert_int_equal(take(cases[i].answer, 11, false, &out, &has_head, &err), -1);
		assert_string_equal(err.msg, cases[i].want);
		assert_int_equal(has_head, cases[i].has_head);
		assert_true(has_head || out.len == 0);
	}
}

/* The bytes that are left out are bounded in each chunk, not in the whole answer. */
static void padded_sizes_are_taken_in_any_number(void **state)
{
	struct secret_answer answer;
	AUTO_BUF struct buf out;
	struct error err;
	int r = 0;

	(void)placeholder();
	buf_init(&out, (size_t)1024 * 1024);
	secret_answer_init(&answer, &secrets);
	assert_int_equal(secret_answer_take(&answer,
	                                    VIEW("HTTP/1.1 200 OK\r\n"
	                                         "Transfer-Encoding: chunked\r\n\r\n"),
	                                    &out, &err),
	                 0);
	for (int i = 0; i < 20000; i++)
		assert_int_equal(secret_answer_take(&answer, VIEW("1     \r\nx\r\n"), &out, &err),
		                 0);
	assert_int_equal(secret_answer_take(&answer, VIEW("1;"), &out, &err), 0);
	for (int i = 0; i < 20000 && r == 0; i++)
		r = secret_answer_take(&answer, VIEW("x"), &out, &err);
	assert_int_equal(r, -1);
	secret_answer_done(&answer);
}

static void endless_heads_are_refused(void **state)
{
	struct secret_answer answer;
	AUTO_BUF struct buf out;
	struct error err;
	int r = 0;

	(void)placeholder();
	buf_init(&out, 8192);
	secret_answer_init(&answer, &secrets);
	for (int i = 0; i < 100 && r == 0; i++)
		r = secret_answer_take(&answer, VIEW("HTTP/1.1 102 Wait\r\n\r\n"), &out, &err);
	assert_int_equal(r, -1);
	assert_string_equal(err.msg, "the host sends more than 16 answers");
	secret_answer_done(&answer);

	secret_answer_init(&answer, &secrets);
	r = 0;
	for (int i = 0; i < 10000 && r == 0; i++)
		r = secret_answer_take(&answer, VIEW("HTTP/1.1 200 Wait "), &out, &err);
	assert_int_equal(r, -1);
	assert_string_equal(err.msg, "the head of the host's answer has more than 32768 bytes");
	secret_answer_done(&answer);
	assert_int_equal(out.len, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(value_is_masked_however_the_body_is_framed),
		TEST(answer_to_head_has_no_body),
		TEST(value_in_the_head_is_masked),
		TEST(ambiguous_answer_is_refused),
		TEST(padded_sizes_are_taken_in_any_number),
		TEST(endless_heads_are_refused),
	};

	return RUN_TESTS("egress/secret_answer", tests);
}
