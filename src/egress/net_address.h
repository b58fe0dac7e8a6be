/* net_address.h - addresses of the internet protocols: reading every spelling of them, and telling
 * public ones from those that lead into the host's own networks.
 *
 * An IPv6 address that contains an IPv4 address (mapped, translated, 6to4) is judged by the IPv4
 * address, because the packet goes there. */
#pragma once
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/view.h"

struct net_address {
	bool is_v6;
	uint8_t bytes[16]; /* 4 or 16 of them, in network order; the rest is 0 */
};

enum net_class {
	NET_PUBLIC,
	NET_LOOPBACK,
	NET_PRIVATE,    /* of local networks, also those of providers */
	NET_LINK_LOCAL, /* also the address of most metadata services */
	NET_METADATA,   /* metadata services of cloud providers at other addresses */
	NET_RESERVED,   /* multicast, broadcast, unspecified, documentation, future use */
	NET_CLASS_COUNT
};

/* "192.0.2.1" and the spellings of inet_aton(3) ("127.1", "0x7f.1", "2130706433"), or an IPv6
 * address without brackets and without a zone. */
bool net_address_parse(struct view text, struct net_address *ret);
bool net_address_is(const struct net_address *a, const struct net_address *b);
enum net_class net_address_class(const struct net_address *address);
const char *net_class_name(enum net_class class); /* "a loopback address" */

enum { NET_ADDRESS_SIZE = INET6_ADDRSTRLEN };
/* The usual spelling. Returns out. */
const char *net_address_text(const struct net_address *address, char out[NET_ADDRESS_SIZE]);

/* False for other families. */
bool net_address_from(const struct sockaddr *from, struct net_address *ret);
/* Returns the length for connect(2). */
socklen_t net_address_to(const struct net_address *address, uint16_t port,
                         struct sockaddr_storage *ret);
