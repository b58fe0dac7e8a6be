/* host_rules.h - lists of hosts and ports, as operators and callers write them.
 *
 *   example.org          the host, on ports 80 and 443
 *   *.example.org        every host below it, not itself
 *   example.org:8443     one port
 *   example.org:*        every port
 *   10.1.2.3, [fd00::1]  an address: the only way to reach one that is not public
 *   *                    every host; only in lists of the operator
 *
 * In a list of hosts to deny, a rule without a port is for every port. The struct is a plain value
 * that the caller owns; nothing is allocated. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "egress/net_host.h"

struct error;

enum { HOST_RULES_MAX = 64 };

struct host_rule {
	bool is_any;      /* "*" */
	bool is_below;    /* "*." before the name */
	bool is_any_port; /* ":*" */
	uint16_t port;    /* 0: the ports of the web, 80 and 443 */
	struct net_host host;
};

struct host_rules {
	size_t count;
	struct host_rule items[HOST_RULES_MAX];
};

enum host_rules_kind {
	HOST_RULES_CALLER, /* "*" and "*.com" are refused */
	HOST_RULES_OPERATOR,
	HOST_RULES_DENY, /* of the operator; every port unless one is given */
};

/* Reads one rule, and adds it to the list. */
MUST_CHECK int host_rules_add(struct host_rules *rules, struct view text, enum host_rules_kind kind,
                              struct error *err);
/* Adds the rules of a list with `separator` between them; a zero byte separates strings of which
 * an empty one ends the list. NULL: none. */
MUST_CHECK int host_rules_read(struct host_rules *rules, const char *list, char separator,
                               enum host_rules_kind kind, struct error *err);
bool host_rules_match(const struct host_rules *rules, const struct net_host *host, uint16_t port);
/* Whether everything that the rule allows is allowed by the list. */
bool host_rules_cover(const struct host_rules *rules, const struct host_rule *rule);
/* Whether the address itself stands in the list, for any port. */
bool host_rules_name_address(const struct host_rules *rules, const struct net_address *address,
                             uint16_t port);
