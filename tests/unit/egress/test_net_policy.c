#include "egress/net_policy.h"

#include "unit/test.h"

static struct net_host host_of(const char *text)
{
	struct net_host host;
	struct error err;

	CHECK_OK(net_host_parse(view_of(text), &host, &err), err);
	return host;
}

static void rules_match_hosts_and_ports(void **state)
{
	static const struct {
		const char *rule, *host;
		uint16_t port;
		bool want;
	} cases[] = {
		{ "example.org", "example.org", 443, true },
		{ "example.org", "example.org", 80, true },
		{ "example.org", "example.org", 22, false },
		{ "Example.ORG.", "example.org.", 443, true },
		{ "example.org", "www.example.org", 443, false },
		{ "example.org", "notexample.org", 443, false },
		{ "*.example.org", "www.example.org", 443, true },
		{ "*.example.org", "a.b.example.org", 443, true },
		{ "*.example.org", "example.org", 443, false },
		{ "*.example.org", "notexample.org", 443, false },
		{ "*.example.org", "example.org.evil.net", 443, false },
		{ "example.org:8443", "example.org", 8443, true },
		{ "example.org:8443", "example.org", 443, false },
		{ "example.org:*", "example.org", 22, true },
		{ "*.example.org:22", "x.example.org", 22, true },
		{ "10.0.0.1", "10.0.0.1", 80, true },
		{ "10.0.0.1", "0xa.1", 80, true },
		{ "10.0.0.1", "10.0.0.2", 80, false },
		{ "[fd00::1]:8080", "fd00::1", 8080, true },
		{ "*.0.0.1.example", "10.0.0.1", 80, false },
		{ "*", "anything.example", 443, true },
		{ "*", "anything.example", 22, false },
		{ "*:*", "anything.example", 22, true },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		static struct host_rules rules;
		struct net_host host = host_of(cases[i].host);
		struct error err;

		rules.count = 0;
		CHECK_OK(host_rules_add(&rules, view_of(cases[i].rule), HOST_RULES_OPERATOR, &err),
		         err);
		if (host_rules_match(&rules, &host, cases[i].port) != cases[i].want)
			fail_msg("%s and %s:%u", cases[i].rule, cases[i].host, cases[i].port);
	}
}

static void rules_that_are_too_wide_are_refused_to_callers(void **state)
{
	static struct host_rules rules;
	struct error err;

	CHECK_ERROR(host_rules_add(&rules, VIEW("*.com"), HOST_RULES_CALLER, &err), err,
	            ERR_INVALID,
	            "'*.com': '*.com' is too wide: name the hosts, or *. and a domain");
	assert_int_equal(host_rules_add(&rules, VIEW("*"), HOST_RULES_CALLER, &err), -1);
	assert_int_equal(host_rules_add(&rules, VIEW("*.10.0.0.1"), HOST_RULES_OPERATOR, &err), -1);
	assert_int_equal(host_rules_add(&rules, VIEW("http://x.example"), HOST_RULES_CALLER, &err),
	                 -1);
	assert_int_equal(rules.count, 0);
	CHECK_OK(host_rules_read(&rules, "a.example, b.example,,", ',', HOST_RULES_CALLER, &err),
	         err);
	assert_int_equal(rules.count, 2);
	CHECK_OK(host_rules_read(&rules, "c.example\0d.example\0", '\0', HOST_RULES_CALLER, &err),
	         err);
	assert_int_equal(rules.count, 4);
}

static void ceiling_covers_what_it_allows(void **state)
{
	static const struct {
		const char *wide, *rule;
		bool want;
	} cases[] = {
		{ "example.org", "example.org", true },
		{ "example.org", "example.org:443", true },
		{ "example.org", "example.org:22", false },
		{ "example.org", "example.org:*", false },
		{ "example.org:*", "example.org:22", true },
		{ "*.example.org", "www.example.org", true },
		{ "*.example.org", "*.example.org", true },
		{ "*.example.org", "*.a.example.org", true },
		{ "*.a.example.org", "*.example.org", false },
		{ "*.example.org", "example.org", false },
		{ "example.org", "*.example.org", false },
		{ "*", "*.example.org", true },
		{ "*", "10.0.0.1",
		  true }, /* the dialer refuses it: it is not listed as an address */
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		static struct host_rules wide, rule;
		struct error err;

		wide.count = rule.count = 0;
		CHECK_OK(host_rules_add(&wide, view_of(cases[i].wide), HOST_RULES_OPERATOR, &err),
		         err);
		CHECK_OK(host_rules_add(&rule, view_of(cases[i].rule), HOST_RULES_CALLER, &err),
		         err);
		if (host_rules_cover(&wide, &rule.items[0]) != cases[i].want)
			fail_msg("%s and %s", cases[i].wide, cases[i].rule);
	}
}

static struct net_ceiling ceiling;
static struct net_policy policy;

static void setup(enum net_mode max, enum net_mode mode, const char *allow, const char *asked)
{
	struct error err;

	ceiling = (struct net_ceiling){ .max = max };
	policy = (struct net_policy){ .mode = mode, .has_tools = true };
	CHECK_OK(host_rules_read(&ceiling.allow, allow, ',', HOST_RULES_OPERATOR, &err), err);
	CHECK_OK(host_rules_read(&ceiling.deny, "bad.example,10.9.9.9", ',', HOST_RULES_DENY, &err),
	         err);
	CHECK_OK(host_rules_read(&ceiling.indexes, "index.example:443,127.0.0.1:4000", ',',
	                         HOST_RULES_OPERATOR, &err),
	         err);
	CHECK_OK(host_rules_read(&ceiling.own_indexes, "127.0.0.1:4000", ',', HOST_RULES_OPERATOR,
	                         &err),
	         err);
	CHECK_OK(host_rules_read(&ceiling.distributions, "deb.example", ',', HOST_RULES_OPERATOR,
	                         &err),
	         err);
	CHECK_OK(host_rules_read(&policy.allow, asked, ',', HOST_RULES_CALLER, &err), err);
}

static bool decides(const char *text, uint16_t port)
{
	struct net_host host = host_of(text);
	struct error err;

	return net_policy_decide(&policy, &ceiling, &host, port, &err) == 0;
}

static void policies_allow_their_hosts_only(void **state)
{
	setup(NET_MODE_OPEN, NET_MODE_NONE, NULL, NULL);
	assert_false(decides("index.example", 443));
	setup(NET_MODE_OPEN, NET_MODE_PACKAGES, NULL, NULL);
	assert_true(decides("index.example", 443));
	assert_true(decides("INDEX.example.", 443));
	assert_false(decides("index.example", 80));
	assert_false(decides("other.example", 443));
	setup(NET_MODE_OPEN, NET_MODE_ALLOW, NULL, "a.example");
	assert_true(decides("a.example", 443));
	assert_false(decides("index.example", 443));
	setup(NET_MODE_OPEN, NET_MODE_ALLOW, "bad.example", "bad.example");
	assert_false(decides("bad.example", 443));
	setup(NET_MODE_OPEN, NET_MODE_OPEN, NULL, NULL);
	assert_true(decides("any.example", 12345));
	assert_false(decides("bad.example", 12345));
	assert_false(decides("BAD.example.", 443));
}

static void refusal_says_how_to_get_the_host(void **state)
{
	struct net_host host = host_of("b.example");
	struct error err;

	setup(NET_MODE_ALLOW, NET_MODE_ALLOW, "*.example", "a.example");
	CHECK_ERROR(
	        net_policy_decide(&policy, &ceiling, &host, 443, &err), err, ERR_LIMIT,
	        "b.example:443 is not allowed: the network policy of this sandbox is 'allow'. To "
	        "allow it: update_sandbox {\"network\":\"allow\",\"network_allow\":"
	        "[\"b.example\"]}, with the hosts allowed so far.");
	policy.sandbox = "sb_a";
	CHECK_ERROR(
	        net_policy_decide(&policy, &ceiling, &host, 443, &err), err, ERR_LIMIT,
	        "b.example:443 is not allowed: the network policy of this sandbox is 'allow'. To "
	        "allow it: update_sandbox {\"network\":\"allow\",\"network_allow\":"
	        "[\"b.example\"],\"sandbox\":\"sb_a\"}, with the hosts allowed so far.");
	setup(NET_MODE_PACKAGES, NET_MODE_PACKAGES, NULL, NULL);
	CHECK_ERROR(net_policy_decide(&policy, &ceiling, &host, 8443, &err), err, ERR_LIMIT,
	            "b.example:8443 is not allowed: the network policy of this sandbox is "
	            "'packages', and this server allows no other hosts. Ask the administrator of "
	            "belljar: --network-max allow --allow-hosts b.example:8443");
	setup(NET_MODE_ALLOW, NET_MODE_ALLOW, "*.example", "a.example");
	policy.has_tools = false;
	CHECK_ERROR(net_policy_decide(&policy, &ceiling, &host, 443, &err), err, ERR_LIMIT,
	            "b.example:443 is not allowed: the network policy of this sandbox is 'allow'. "
	            "Ask the administrator of belljar: --network allow --allow-hosts b.example");
}

static void caller_cannot_ask_for_more_than_the_ceiling(void **state)
{
	struct error err;

	setup(NET_MODE_PACKAGES, NET_MODE_ALLOW, NULL, NULL);
	CHECK_ERROR(
	        net_ceiling_check(&ceiling, &policy, &err), err, ERR_LIMIT,
	        "network: this server allows at most 'packages': pass that, or have the operator "
	        "start it with --network-max allow");
	setup(NET_MODE_ALLOW, NET_MODE_ALLOW, "a.example", "b.example");
	CHECK_ERROR(
	        net_ceiling_check(&ceiling, &policy, &err), err, ERR_LIMIT,
	        "network_allow: b.example is not among the hosts that this server allows: leave "
	        "it out, or have the operator add it to --allow-hosts");
	setup(NET_MODE_ALLOW, NET_MODE_ALLOW, "a.example", "a.example");
	CHECK_OK(net_ceiling_check(&ceiling, &policy, &err), err);
	setup(NET_MODE_OPEN, NET_MODE_ALLOW, NULL, "b.example");
	CHECK_OK(net_ceiling_check(&ceiling, &policy, &err), err);
}

static void addresses_that_are_not_public_must_be_listed(void **state)
{
	static const struct {
		const char *allow, *host, *address;
		uint16_t port;
		bool is_own, want;
	} cases[] = {
		{ "*", "x.example", "1.1.1.1", 443, false, true },
		{ "*", "x.example", "1.1.1.1", 443, true, false },
		{ "*", "x.example", "127.0.0.1", 443, false, false },
		{ "*", "x.example", "10.0.0.1", 443, false, false },
		{ "*", "x.example", "169.254.169.254", 80, false, false },
		{ "*", "10.0.0.1", "10.0.0.1", 80, false, false },
		{ "10.0.0.1", "10.0.0.1", "10.0.0.1", 80, false, true },
		{ "10.0.0.1", "x.example", "10.0.0.1", 80, false, true },
		{ "10.0.0.1", "10.0.0.1", "10.0.0.1", 22, false, false },
		{ "x.example", "x.example", "10.0.0.1", 443, false, false },
		{ "10.9.9.9", "10.9.9.9", "10.9.9.9", 80, false, false }, /* denied */
		{ "*", "127.0.0.1", "127.0.0.1", 4000, true, true },      /* the operator's index */
		{ "*", "x.example", "127.0.0.1", 4001, true, false },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct net_host host = host_of(cases[i].host), address = host_of(cases[i].address);
		struct error err;

		setup(NET_MODE_OPEN, NET_MODE_OPEN, cases[i].allow, NULL);
		if ((net_ceiling_decide_address(&ceiling, &host, &address.address, cases[i].port,
		                                cases[i].is_own, &err) == 0) != cases[i].want)
			fail_msg("case %zu", i);
	}
}

static void dialer_has_the_ceiling_of_the_operator(void **state)
{
	struct net_host index = host_of("index.example"), allowed = host_of("a.example"),
	                other = host_of("c.example"), bad = host_of("bad.example"),
	                system = host_of("deb.example");
	struct error err;

	setup(NET_MODE_NONE, NET_MODE_NONE, NULL, NULL);
	assert_int_equal(net_ceiling_decide(&ceiling, &system, 80, &err), -1);
	/* Installers of images reach it; programs with the policy 'packages' do not. */
	setup(NET_MODE_PACKAGES, NET_MODE_PACKAGES, NULL, NULL);
	assert_int_equal(net_ceiling_decide(&ceiling, &system, 80, &err), 0);
	assert_false(decides("deb.example", 80));
	setup(NET_MODE_PACKAGES, NET_MODE_OPEN, "a.example", NULL);
	assert_int_equal(net_ceiling_decide(&ceiling, &index, 443, &err), 0);
	assert_int_equal(net_ceiling_decide(&ceiling, &allowed, 443, &err), -1);
	setup(NET_MODE_ALLOW, NET_MODE_OPEN, "a.example", NULL);
	assert_int_equal(net_ceiling_decide(&ceiling, &allowed, 443, &err), 0);
	assert_int_equal(net_ceiling_decide(&ceiling, &other, 443, &err), -1);
	setup(NET_MODE_OPEN, NET_MODE_OPEN, NULL, NULL);
	assert_int_equal(net_ceiling_decide(&ceiling, &other, 443, &err), 0);
	assert_int_equal(net_ceiling_decide(&ceiling, &bad, 443, &err), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(rules_match_hosts_and_ports),
		TEST(rules_that_are_too_wide_are_refused_to_callers),
		TEST(ceiling_covers_what_it_allows),
		TEST(policies_allow_their_hosts_only),
		TEST(refusal_says_how_to_get_the_host),
		TEST(caller_cannot_ask_for_more_than_the_ceiling),
		TEST(addresses_that_are_not_public_must_be_listed),
		TEST(dialer_has_the_ceiling_of_the_operator),
	};

	return RUN_TESTS("egress/net_policy", tests);
}
