/* test_net_secrets.c - secrets: how they are written, their placeholders, requests and answers. */
#include <ctype.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/text/base64.h"
#include "egress/net_secrets.h"
#include "unit/test.h"

static struct net_secrets secrets;

static const struct net_secret *add(const char *text)
{
	struct error err;

	secrets = (struct net_secrets){ 0 };
	assert_int_equal(net_secrets_add(&secrets, view_of(text), &err), 0);
	return &secrets.items[0];
}

static void placeholder_looks_like_the_value(void **state)
{
	static const char *const values[] = { "ghp_Abcdefgh0123456789", "sk-ant-api03-AAbb00",
		                              "0123456789abcdef", "correct-Horse_9.battery",
		                              "a=b@c:d12345" };

	for (size_t i = 0; i < ARRAY_LEN(values); i++) {
		char text[256];
		const struct net_secret *secret;

		(void)snprintf(text, sizeof text, "NAME=%s@example.org", values[i]);
		secret = add(text);
		assert_string_equal(secret->name, "NAME");
		assert_string_equal(secret->value, values[i]);
		assert_int_equal(strlen(secret->placeholder), strlen(values[i]));
		assert_string_not_equal(secret->placeholder, values[i]);
		for (size_t j = 0; values[i][j] != '\0'; j++) {
			char a = values[i][j], b = secret->placeholder[j];

			assert_int_equal(isdigit(a) != 0, isdigit(b) != 0);
			assert_int_equal(islower(a) != 0, islower(b) != 0);
			assert_true(isalnum(a) || a == b);
		}
	}
	assert_int_equal(strncmp(add("N=ghp_Abcdefgh01@a.b")->placeholder, "ghp_", 4), 0);
	assert_int_equal(
	        add("N=0123456789abcdef@a.b")
	                ->placeholder[strspn(secrets.items[0].placeholder, "0123456789abcdef")],
	        '\0');
}

static void value_may_be_a_variable(void **state)
{
	struct error err;

	(void)setenv("TEST_SECRET", "from-the-environment", 1);
	assert_string_equal(add("TEST_SECRET@example.org")->value, "from-the-environment");
	(void)unsetenv("TEST_SECRET");
	CHECK_ERROR(net_secrets_add(&secrets, view_of("TEST_SECRET@example.org"), &err), err,
	            ERR_INVALID,
	            "the variable TEST_SECRET is not set: set it before belljar starts, or write "
	            "TEST_SECRET=VALUE@HOST");
}

static void malformed_secret_is_refused_without_its_value(void **state)
{
	static const char *const texts[] = {
		"",
		"NAME",
		"NAME=secretvalue",
		"=secretvalue@a.b",
		"1N=secretvalue@a.b",
		"N-M=secretvalue@a.b",
		"N=short@a.b",
		"N=secret value@a.b",
		"N=secretvalue@",
		"N=secretvalue@http://a.b/",
		"N=secretvalue@*",
		"N=--------@a.b",
		"N=secretvalu\xc3\xa9@a.b",
	};

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		struct error err;

		secrets = (struct net_secrets){ 0 };
		assert_int_equal(net_secrets_add(&secrets, view_of(texts[i]), &err), -1);
		assert_int_equal(secrets.count, 0);
		assert_null(strstr(err.msg, "secretval"));
	}
}

static void list_and_file_are_read(void **state)
{
	struct error err;

	secrets = (struct net_secrets){ 0 };
	assert_int_equal(
	        net_secrets_read(&secrets, "A=aaaaaaaa1@a.b,B=bbbbbbbb1@c.d:8080,", ',', &err), 0);
	assert_int_equal(
	        net_secrets_read(&secrets, "# a comment\n\nC=with,comma1@e.f\n", '\n', &err), 0);
	assert_int_equal(secrets.count, 3);
	assert_string_equal(secrets.items[0].value, "with,comma1"); /* the longest first */
	for (int i = 0; i < NET_SECRETS_MAX - 3; i++)
		assert_int_equal(net_secrets_add(&secrets, VIEW("D=dddddddd1@a.b"), &err), 0);
	CHECK_ERROR(net_secrets_add(&secrets, VIEW("E=eeeeeeee1@a.b"), &err), err, ERR_LIMIT,
	            "more than 16 secrets");
}

static const struct net_host *host(const char *name)
{
	static struct net_host parsed;
	struct error err;

	assert_int_equal(net_host_parse(view_of(name), &parsed, &err), 0);
	return &parsed;
}

static void values_are_inserted_for_their_host_only(void **state)
{
	const struct net_secret *secret = add("N=ghp_Abcdefgh0123@example.org:8080");
	AUTO_BUF struct buf head, out;
	struct net_secret_mask mask = { 0 };
	AUTO_FREE char *basic = NULL, *want = NULL;
	char text[4096];
	struct error err;

	assert_true(net_secrets_has(&secrets, host("example.org"), 8080));
	assert_false(net_secrets_has(&secrets, host("example.org"), 80));
	assert_false(net_secrets_has(&secrets, host("evil.example.org"), 8080));
	assert_false(net_secrets_has(NULL, host("example.org"), 8080));
	assert_true(net_secrets_has_tls(&secrets, host("example.org"), 8080));
	assert_false(net_secrets_has_tls(&secrets, host("example.org"), 443));
	assert_false(net_secrets_has_tls(NULL, host("example.org"), 8080));
	buf_init(&head, 4096);
	buf_init(&out, 4096);
	(void)snprintf(text, sizeof text, "me:%s", secret->placeholder);
	basic = base64_encode(view_of(text));
	(void)snprintf(text, sizeof text, "me:%s", secret->value);
	want = base64_encode(view_of(text));
	assert_int_equal(buf_printf(&head, &err,
	                            "GET /?q=%s HTTP/1.1\r\nHost: example.org\r\nUser-Agent: %s\r\n"
	                            "X-Amz-Meta-A: %s\r\nX-API-Key: a%s, %s\r\n"
	                            "Accept-Encoding: gzip\r\nRange: bytes=1-\r\n"
	                            "Accept-Charset: utf-16\r\nA-IM: gzip\r\n"
	                            "Authorization: Basic %s\r\n\r\n",
	                            secret->placeholder, secret->placeholder, secret->placeholder,
	                            secret->placeholder, secret->placeholder, basic),
	                 0);
	assert_int_equal(net_secrets_insert(&secrets, host("example.org"), 8080, buf_view(&head),
	                                    &mask, &out, &err),
	                 0);
	(void)snprintf(text, sizeof text, "GET /?q=%s HTTP/1.1\r\n", secret->placeholder);
	assert_true(view_starts(buf_view(&out), text));
	(void)snprintf(text, sizeof text,
	               "\r\nUser-Agent: %s\r\nX-Amz-Meta-A: %s\r\nX-API-Key: a%s, %s\r\n"
	               "Authorization: Basic ",
	               secret->placeholder, secret->placeholder, secret->value, secret->value);
	assert_non_null(strstr(buf_text(&out), text));
	assert_non_null(strstr(buf_text(&out), want));
	assert_null(strstr(buf_text(&out), "Accept-"));
	assert_null(strstr(buf_text(&out), "A-IM"));
	assert_null(strstr(buf_text(&out), "Range"));
	/* A host that repeats the credentials repeats those that the program gave. */
	buf_clear(&out);
	assert_int_equal(net_secrets_mask(&secrets, &mask, view_of(want), &out, &err), 0);
	assert_int_equal(net_secrets_mask(&secrets, &mask, VIEW(""), &out, &err), 0);
	assert_string_equal(buf_text(&out), basic);
}

/* Port 443 gets no plain HTTP, port 80 and the unnamed ones no TLS. */
static void ports_say_how_a_secret_is_used(void **state)
{
	static const struct {
		const char *secret;
		uint16_t port;
		bool plain, tls;
	} cases[] = {
		{ "N=abcdefgh1@a.b", 80, true, false },
		{ "N=abcdefgh1@a.b", 443, false, true },
		{ "N=abcdefgh1@a.b:443", 443, false, true },
		{ "N=abcdefgh1@a.b:443", 80, false, false },
		{ "N=abcdefgh1@a.b:80", 80, true, false },
		{ "N=abcdefgh1@a.b:*", 22, true, false },
		{ "N=abcdefgh1@a.b:*", 443, false, true },
		{ "N=abcdefgh1@a.b:99", 99, true, true },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		(void)add(cases[i].secret);
		assert_int_equal(net_secrets_has(&secrets, host("a.b"), cases[i].port),
		                 cases[i].plain);
		assert_int_equal(net_secrets_has_tls(&secrets, host("a.b"), cases[i].port),
		                 cases[i].tls);
	}
}

/* The answer comes in pieces of every size. */
static void values_in_answers_become_placeholders(void **state)
{
	static const char value[] = "ghp_Abcdefgh0123";
	const struct net_secret *secret = add("N=ghp_Abcdefgh0123@example.org");
	char text[256], want[2048];
	size_t len;

	len = (size_t)snprintf(text, sizeof text, "ghp_ghp_A %s%s ghp_Abc %s ghp_Abcdef", value,
	                       value, value);
	(void)snprintf(want, sizeof want, "ghp_ghp_A %s%s ghp_Abc %s ghp_Abcdef",
	               secret->placeholder, secret->placeholder, secret->placeholder);
	for (size_t step = 1; step <= len; step++) {
		struct net_secret_mask mask = { 0 };
		AUTO_BUF struct buf out;
		struct error err;

		buf_init(&out, 4096);
		for (size_t at = 0; at < len; at += step)
			assert_int_equal(
			        net_secrets_mask(&secrets, &mask,
			                         (struct view){ text + at,
			                                        step < len - at ? step : len - at },
			                         &out, &err),
			        0);
		assert_int_equal(net_secrets_mask(&secrets, &mask, VIEW(""), &out, &err), 0);
		assert_string_equal(buf_text(&out), want);
	}
}

/* Which bytes are late tells nothing about the value. */
static void held_bytes_do_not_depend_on_the_value(void **state)
{
	static const char *const answers[] = { "0123456789ghp_Abcdefgh", "0123456789abcdefghijkl",
		                               "ghp_Abcdefgh0123456789" };

	(void)add("N=ghp_Abcdefgh0123@example.org");
	for (size_t i = 0; i < ARRAY_LEN(answers); i++) {
		struct net_secret_mask mask = { 0 };
		AUTO_BUF struct buf out;
		struct error err;

		buf_init(&out, 4096);
		assert_int_equal(net_secrets_mask(&secrets, &mask, view_of(answers[i]), &out, &err),
		                 0);
		assert_int_equal(out.len, strlen(answers[i]) - (strlen("ghp_Abcdefgh0123") - 1));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(placeholder_looks_like_the_value),
		TEST(value_may_be_a_variable),
		TEST(malformed_secret_is_refused_without_its_value),
		TEST(list_and_file_are_read),
		TEST(values_are_inserted_for_their_host_only),
		TEST(ports_say_how_a_secret_is_used),
		TEST(values_in_answers_become_placeholders),
		TEST(held_bytes_do_not_depend_on_the_value),
	};

	return RUN_TESTS("egress/net_secrets", tests);
}
