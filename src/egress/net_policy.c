#include "egress/net_policy.h"

#include <stdio.h>

#include "base/error.h"

const char *const net_mode_names[NET_MODE_COUNT + 1] = { "none", "packages", "allow", "open",
	                                                 NULL };

/* --- the policy of a caller --- */

static int check_rule(const struct net_ceiling *ceiling, const struct host_rule *rule,
                      struct error *err)
{
	if (ceiling->max == NET_MODE_OPEN || host_rules_cover(&ceiling->allow, rule))
		return 0;
	return error_set(
	        err, ERR_LIMIT,
	        "network_allow: %s%s is not among the hosts that this server allows: leave "
	        "it out, or have the operator add it to --allow-hosts",
	        rule->is_below ? "*." : "", rule->host.name);
}

int net_ceiling_check(const struct net_ceiling *ceiling, const struct net_policy *policy,
                      struct error *err)
{
	if (policy->mode > ceiling->max)
		return error_set(err, ERR_LIMIT,
		                 "network: this server allows at most '%s': pass that, or have the "
		                 "operator start it with --network-max %s",
		                 net_mode_names[ceiling->max], net_mode_names[policy->mode]);
	if (policy->mode != NET_MODE_ALLOW && policy->allow.count != 0)
		return error_set(err, ERR_INVALID,
		                 "network_allow: needs \"network\": \"allow\" beside it");
	for (size_t i = 0; i < policy->allow.count; i++)
		if (check_rule(ceiling, &policy->allow.items[i], err) < 0)
			return -1;
	return 0;
}

/* --- connections --- */

/* Says how a model gets the host; only the operator can add one that the ceiling lacks. */
static int refuse_host(const struct net_policy *policy, const struct net_ceiling *ceiling,
                       const struct net_host *host, uint16_t port, struct error *why)
{
	struct host_rule rule = { .port = port, .host = *host };
	bool is_web = port == 80 || port == 443;
	char shown[NET_HOST_SIZE], wanted[NET_HOST_SIZE], argument[64] = "";

	if (policy->sandbox != NULL)
		(void)snprintf(argument, sizeof argument, ",\"sandbox\":\"%s\"", policy->sandbox);
	(void)net_host_text(host, port, shown);
	(void)snprintf(wanted, sizeof wanted, "%s", is_web ? host->name : shown);
	if (is_web)
		rule.port = 0;
	if (!policy->has_tools)
		return error_set(
		        why, ERR_LIMIT,
		        "%s is not allowed: the network policy of this sandbox is '%s'. Ask the "
		        "administrator of belljar: --network allow --allow-hosts %s",
		        shown, net_mode_names[policy->mode], wanted);
	if (ceiling->max == NET_MODE_OPEN ||
	    (ceiling->max == NET_MODE_ALLOW && host_rules_cover(&ceiling->allow, &rule)))
		return error_set(
		        why, ERR_LIMIT,
		        "%s is not allowed: the network policy of this sandbox is '%s'. To "
		        "allow it: update_sandbox {\"network\":\"allow\","
		        "\"network_allow\":[\"%s\"]%s}, with the hosts allowed so far.",
		        shown, net_mode_names[policy->mode], wanted, argument);
	if (ceiling->max == NET_MODE_ALLOW && host_rules_cover(&ceiling->ask, &rule))
		return error_set(
		        why, ERR_LIMIT,
		        "%s is not allowed: the network policy of this sandbox is '%s'. To "
		        "ask the user for it: request_network {\"hosts\":[\"%s\"],"
		        "\"why\":\"...\"%s}",
		        shown, net_mode_names[policy->mode], wanted, argument);
	return error_set(why, ERR_LIMIT,
	                 "%s is not allowed: the network policy of this sandbox is '%s', and this "
	                 "server allows no other hosts. Ask the administrator of belljar: "
	                 "--network-max allow --allow-hosts %s",
	                 shown, net_mode_names[policy->mode], wanted);
}

static int refuse_denied(const struct net_host *host, uint16_t port, struct error *why)
{
	char shown[NET_HOST_SIZE];

	return error_set(why, ERR_LIMIT,
	                 "%s is not allowed: the administrator of belljar has denied it "
	                 "(--deny-hosts).",
	                 net_host_text(host, port, shown));
}

int net_policy_decide(const struct net_policy *policy, const struct net_ceiling *ceiling,
                      const struct net_host *host, uint16_t port, struct error *why)
{
	bool allowed = false;

	/* --deny-hosts holds for every policy, also for a host that --allow-hosts names. */
	if (host_rules_match(&ceiling->deny, host, port))
		return refuse_denied(host, port, why);
	switch (policy->mode) {
	case NET_MODE_PACKAGES:
		allowed = host_rules_match(&ceiling->indexes, host, port);
		break;
	case NET_MODE_ALLOW:
		allowed = host_rules_match(&policy->allow, host, port);
		break;
	case NET_MODE_OPEN:
		allowed = true;
		break;
	case NET_MODE_NONE:
	case NET_MODE_COUNT:
		break;
	}
	return allowed ? 0 : refuse_host(policy, ceiling, host, port, why);
}

/* --- the dialer --- */

/* The dialer does not know which sandbox asks, and could not trust the server about it. So it
 * allows what the operator allows for any sandbox, by whatever policy. */
int net_ceiling_decide(const struct net_ceiling *ceiling, const struct net_host *host,
                       uint16_t port, struct error *why)
{
	char shown[NET_HOST_SIZE];

	if (host_rules_match(&ceiling->deny, host, port))
		return refuse_denied(host, port, why);
	if (ceiling->max == NET_MODE_OPEN ||
	    (ceiling->max >= NET_MODE_ALLOW && host_rules_match(&ceiling->ask, host, port)) ||
	    (ceiling->max >= NET_MODE_PACKAGES &&
	     (host_rules_match(&ceiling->indexes, host, port) ||
	      host_rules_match(&ceiling->distributions, host, port))) ||
	    (ceiling->max >= NET_MODE_ALLOW && host_rules_match(&ceiling->allow, host, port)))
		return 0;
	return error_set(why, ERR_LIMIT,
	                 "%s is not allowed on this server. Ask the administrator of belljar: "
	                 "--network-max, --allow-hosts",
	                 net_host_text(host, port, shown));
}

int net_ceiling_decide_address(const struct net_ceiling *ceiling, const struct net_host *host,
                               const struct net_address *address, uint16_t port, bool is_own,
                               struct error *why)
{
	const struct net_host resolved = { .is_address = true, .address = *address };
	enum net_class class = net_address_class(address);

	/* A denied address is denied under every name, and an operator who lists an address means
	 * it, whatever its class. */
	if (host_rules_match(&ceiling->deny, &resolved, port))
		return refuse_denied(host, port, why);
	if (host_rules_name_address(&ceiling->allow, address, port) ||
	    host_rules_name_address(&ceiling->ask, address, port) ||
	    host_rules_name_address(&ceiling->own_indexes, address, port))
		return 0;
	/* An index that the operator names may have a private address. A link-local address or that
	 * of a metadata service is refused all the same, because no index is there. */
	if (class != NET_LINK_LOCAL && class != NET_METADATA &&
	    host_rules_match(&ceiling->own_indexes, host, port))
		return 0;
	if (class == NET_PUBLIC && !is_own)
		return 0;
	/* The text names the class and not the address: a sandbox must not learn the addresses of
	 * the host's networks. */
	return error_set(why, ERR_LIMIT,
	                 "%s is not allowed: its name leads to %s. Only the administrator of "
	                 "belljar can allow such an address, by listing it in --allow-hosts.",
	                 host->name, is_own ? "this machine" : net_class_name(class));
}
