/* net_host.h - the host that a program wants to reach: a name or an address, in one canonical
 * form, so that no other spelling of a host evades a rule.
 *
 * Names are in lower case and without the dot of the root. Names in other scripts must be in their
 * "xn--" form: converting them differs between programs, and so would the decision. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/view.h"
#include "egress/net_address.h"

struct error;

enum { NET_NAME_MAX = 253 };

struct net_host {
	bool is_address;
	struct net_address address;
	char name[NET_NAME_MAX + 1]; /* the canonical name, or the usual spelling of the address */
};

/* A name, an IPv4 address in any spelling, or an IPv6 address with or without brackets. */
MUST_CHECK int net_host_parse(struct view text, struct net_host *ret, struct error *err);
/* "HOST:PORT" or "[ADDRESS]:PORT"; without a port it is `port`, and an error if that is 0. */
MUST_CHECK int net_host_parse_port(struct view text, uint16_t port, struct net_host *ret,
                                   uint16_t *ret_port, struct error *err);
bool net_host_is(const struct net_host *a, const struct net_host *b);

enum { NET_HOST_SIZE = NET_NAME_MAX + 16 };
/* "HOST:PORT", with brackets around an IPv6 address. Returns out. */
const char *net_host_text(const struct net_host *host, uint16_t port, char out[NET_HOST_SIZE]);
