#include "egress/proxy_socks.h"

#include "unit/test.h"

/* Feeds the bytes in pieces of `step`. Returns the last result; the replies go to `out`. */
static int feed(struct proxy_socks *socks, struct view bytes, size_t step, char *out, size_t *len)
{
	struct view have = { bytes.ptr, 0 };
	struct error err;
	int r = 0;

	*len = 0;
	while (socks->step != SOCKS_COMPLETE && r >= 0) {
		struct proxy_socks_reply reply;
		const char *before = have.ptr;

		r = proxy_socks_take(socks, &have, &reply, &err);
		memcpy(out + *len, reply.bytes, reply.len);
		*len += reply.len;
		if (r != 0 || have.ptr != before)
			continue;
		if (have.ptr + have.len == bytes.ptr + bytes.len)
			return 0;
		have.len += step;
		if (have.ptr + have.len > bytes.ptr + bytes.len)
			have.len = (size_t)(bytes.ptr + bytes.len - have.ptr);
	}
	return r;
}

static void requests_name_hosts_and_addresses(void **state)
{
	static const struct {
		struct view bytes;
		const char *host;
		uint16_t port;
	} cases[] = {
		{ VIEW_INIT("\5\1\0\5\1\0\3\13example.org\1\273"), "example.org", 443 },
		{ VIEW_INIT("\5\2\2\0\5\1\0\1\12\0\0\1\0\120"), "10.0.0.1", 80 },
		{ VIEW_INIT("\5\1\0\5\1\0\4\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1\0\120"), "::1", 80 },
		{ VIEW_INIT("\5\1\0\5\1\0\3\0110x7f.0x1.\0\120"), "127.0.0.1", 80 },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		for (size_t step = 1; step < 32; step += 5) {
			struct proxy_socks socks = { 0 };
			char out[32];
			size_t len;

			assert_int_equal(feed(&socks, cases[i].bytes, step, out, &len), 1);
			assert_string_equal(socks.host.name, cases[i].host);
			assert_int_equal(socks.port, cases[i].port);
			assert_int_equal(len, 2);
			assert_memory_equal(out, "\5\0", 2);
		}
}

static void password_is_asked_for(void **state)
{
	struct proxy_socks socks = { .wants_password = true };
	char out[32];
	size_t len;

	assert_int_equal(feed(&socks, VIEW("\5\2\0\2\1\1u\6secret\5\1\0\3\13example.org\1\273"),
	                      100, out, &len),
	                 1);
	assert_string_equal(socks.password, "secret");
	assert_int_equal(len, 4);
	assert_memory_equal(out, "\5\2\1\0", 4);
	socks = (struct proxy_socks){ .wants_password = true };
	assert_int_equal(feed(&socks, VIEW("\5\1\0"), 100, out, &len), -1);
	assert_memory_equal(out, "\5\377", 2);
}

static void malformed_messages_are_refused(void **state)
{
	static const struct view cases[] = {
		VIEW_INIT("\4\1\0\120\12\0\0\1\0"),         /* SOCKS 4 */
		VIEW_INIT("\5\1\1"),                        /* GSSAPI only */
		VIEW_INIT("\5\0"),                          /* no method */
		VIEW_INIT("\5\1\0\5\2\0\1\12\0\0\1\0\120"), /* BIND */
		VIEW_INIT("\5\1\0\5\3\0\1\12\0\0\1\0\120"), /* UDP ASSOCIATE */
		VIEW_INIT("\5\1\0\5\1\1\1\12\0\0\1\0\120"), /* reserved byte */
		VIEW_INIT("\5\1\0\5\1\0\2\12\0\0\1\0\120"), /* type of address */
		VIEW_INIT("\5\1\0\5\1\0\1\12\0\0\1\0\0"),   /* port 0 */
		VIEW_INIT("\5\1\0\5\1\0\3\0\0\120"),        /* empty name */
		VIEW_INIT("\5\1\0\5\1\0\3\3a\0b\0\120"),    /* zero in a name */
		VIEW_INIT("\5\1\0\5\1\0\3\11evil@good\0\120"),
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct proxy_socks socks = { 0 };
		char out[32];
		size_t len;

		if (feed(&socks, cases[i], 100, out, &len) != -1)
			fail_msg("case %zu", i);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(requests_name_hosts_and_addresses),
		TEST(password_is_asked_for),
		TEST(malformed_messages_are_refused),
	};

	return RUN_TESTS("egress/proxy_socks", tests);
}
