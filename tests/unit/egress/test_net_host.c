#include "egress/net_host.h"

#include "unit/test.h"

static void every_spelling_of_a_host_is_one_host(void **state)
{
	static const struct {
		const char *text, *want;
		bool is_address;
	} cases[] = {
		{ "example.org", "example.org", false },
		{ "EXAMPLE.Org", "example.org", false },
		{ "example.org.", "example.org", false },
		{ "xn--bcher-kva.example", "xn--bcher-kva.example", false },
		{ "a_b-c.example", "a_b-c.example", false },
		{ "localhost", "localhost", false },
		{ "127.0.0.1", "127.0.0.1", true },
		{ "127.0.0.1.", "127.0.0.1", true },
		{ "127.1", "127.0.0.1", true },
		{ "0x7f.1", "127.0.0.1", true },
		{ "2130706433", "127.0.0.1", true },
		{ "0177.0.0.1", "127.0.0.1", true },
		{ "0x7f000001", "127.0.0.1", true },
		{ "0", "0.0.0.0", true },
		{ "::1", "::1", true },
		{ "[::1]", "::1", true },
		{ "[0:0:0:0:0:0:0:1]", "::1", true },
		{ "[::ffff:127.0.0.1]", "::ffff:127.0.0.1", true },
		{ "[FD00:EC2::254]", "fd00:ec2::254", true },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct net_host host;
		struct error err;

		CHECK_OK(net_host_parse(view_of(cases[i].text), &host, &err), err);
		assert_string_equal(host.name, cases[i].want);
		assert_int_equal(host.is_address, cases[i].is_address);
	}
}

static void text_that_is_no_host_is_refused(void **state)
{
	static const char *const cases[] = { "",
		                             ".",
		                             "..",
		                             "a..b",
		                             ".a",
		                             "a b",
		                             "a@b",
		                             "a/b",
		                             "a%2eb",
		                             "b\xc3\xbc"
		                             "cher.example",
		                             "\xe2\x91\xa0.example",
		                             "1.2.3.4.5",
		                             "256.1.1.1",
		                             "1.2.3.0x",
		                             "[::1",
		                             "[127.0.0.1]",
		                             "[::1%lo]",
		                             "a\nb",
		                             "a:b" };
	struct net_host host;
	struct error err;
	char longest[300];

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		if (net_host_parse(view_of(cases[i]), &host, &err) == 0)
			fail_msg("'%s' is %s", cases[i], host.name);
	assert_int_equal(net_host_parse(VIEW("a\0b"), &host, &err), -1);
	memset(longest, 'a', sizeof longest);
	assert_int_equal(net_host_parse((struct view){ longest, 64 }, &host, &err), -1);
	for (size_t i = 63; i < sizeof longest; i += 64)
		longest[i] = '.';
	assert_int_equal(net_host_parse((struct view){ longest, 253 }, &host, &err), 0);
	assert_int_equal(net_host_parse((struct view){ longest, 254 }, &host, &err), -1);
	CHECK_ERROR(net_host_parse(VIEW("b\xc3\xbc"
	                                "cher"),
	                           &host, &err),
	            err, ERR_INVALID,
	            "'b\xc3\xbc"
	            "cher' is not a host: a name in another script must be written "
	            "in its xn-- form");
}

static void port_is_read_behind_the_host(void **state)
{
	static const struct {
		const char *text;
		uint16_t otherwise;
		const char *want; /* NULL: refused */
	} cases[] = {
		{ "example.org:443", 0, "example.org:443" },
		{ "example.org", 80, "example.org:80" },
		{ "example.org", 0, NULL },
		{ "[::1]:8080", 0, "[::1]:8080" },
		{ "[::1]", 80, "[::1]:80" },
		{ "::1", 80, "[::1]:80" },
		{ "example.org:0", 80, NULL },
		{ "example.org:65536", 80, NULL },
		{ "example.org:", 80, NULL },
		{ "example.org:80:80", 80, NULL },
		{ "example.org:+80", 80, NULL },
		{ "user@example.org:80", 80, NULL },
		{ ":80", 80, NULL },
		{ "", 80, NULL },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct net_host host;
		struct error err;
		uint16_t port;
		char text[NET_HOST_SIZE];
		int r = net_host_parse_port(view_of(cases[i].text), cases[i].otherwise, &host,
		                            &port, &err);

		if ((r == 0) != (cases[i].want != NULL))
			fail_msg("'%s': %d", cases[i].text, r);
		if (r == 0)
			assert_string_equal(net_host_text(&host, port, text), cases[i].want);
	}
}

static void special_addresses_are_not_public(void **state)
{
	static const struct {
		const char *text;
		enum net_class want;
	} cases[] = {
		{ "1.1.1.1", NET_PUBLIC },
		{ "93.184.216.34", NET_PUBLIC },
		{ "2606:4700:4700::1111", NET_PUBLIC },
		{ "172.15.255.255", NET_PUBLIC },
		{ "172.32.0.0", NET_PUBLIC },
		{ "100.63.255.255", NET_PUBLIC },
		{ "0.0.0.0", NET_RESERVED },
		{ "10.1.2.3", NET_PRIVATE },
		{ "172.17.0.1", NET_PRIVATE },
		{ "192.168.0.1", NET_PRIVATE },
		{ "100.64.0.1", NET_PRIVATE },
		{ "100.100.100.200", NET_METADATA },
		{ "168.63.129.16", NET_METADATA },
		{ "169.254.169.254", NET_LINK_LOCAL },
		{ "127.0.0.1", NET_LOOPBACK },
		{ "127.255.255.254", NET_LOOPBACK },
		{ "224.0.0.1", NET_RESERVED },
		{ "255.255.255.255", NET_RESERVED },
		{ "198.18.0.1", NET_RESERVED },
		{ "192.0.0.192", NET_RESERVED },
		{ "::", NET_RESERVED },
		{ "::1", NET_LOOPBACK },
		{ "fe80::1", NET_LINK_LOCAL },
		{ "fd00:ec2::254", NET_PRIVATE },
		{ "ff02::1", NET_RESERVED },
		{ "2001:db8::1", NET_RESERVED },
		{ "::ffff:127.0.0.1", NET_LOOPBACK },
		{ "::ffff:1.1.1.1", NET_PUBLIC },
		{ "::ffff:0:10.0.0.1", NET_PRIVATE },
		{ "::127.0.0.1", NET_RESERVED },
		{ "64:ff9b::7f00:1", NET_LOOPBACK },
		{ "64:ff9b::a9fe:a9fe", NET_LINK_LOCAL },
		{ "2002:7f00:1::", NET_LOOPBACK },
		{ "2002:a9fe:a9fe::1", NET_LINK_LOCAL },
		{ "2002:101:101::1", NET_PUBLIC },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct net_address address;

		assert_true(net_address_parse(view_of(cases[i].text), &address));
		if (net_address_class(&address) != cases[i].want)
			fail_msg("%s is %s", cases[i].text,
			         net_class_name(net_address_class(&address)));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(every_spelling_of_a_host_is_one_host),
		TEST(text_that_is_no_host_is_refused),
		TEST(port_is_read_behind_the_host),
		TEST(special_addresses_are_not_public),
	};

	return RUN_TESTS("egress/net_host", tests);
}
