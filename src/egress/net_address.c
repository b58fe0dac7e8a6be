#include "egress/net_address.h"

#include <arpa/inet.h>
#include <string.h>

#include "base/attr.h"

/* --- reading --- */

static int digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : 16;
}

/* One part of an IPv4 address: decimal, octal with a leading 0, hexadecimal with 0x. getaddrinfo(3)
 * understands all of these, so a program could write 127.0.0.1 as 0x7f.1 to pass for a name. */
static bool cut_part(struct view *rest, uint32_t *ret)
{
	int base = 10, digits = 0;
	uint64_t value = 0;

	if (rest->len > 1 && rest->ptr[0] == '0') {
		base = (rest->ptr[1] | 0x20) == 'x' ? 16 : 8;
		rest->ptr += base == 16 ? 2 : 0;
		rest->len -= base == 16 ? 2 : 0;
	}
	for (; rest->len != 0 && digit_value(rest->ptr[0]) < base; digits++) {
		value = value * (unsigned)base + (unsigned)digit_value(rest->ptr[0]);
		if (value > UINT32_MAX)
			return false;
		rest->ptr++;
		rest->len--;
	}
	*ret = (uint32_t)value;
	return digits != 0;
}

/* The last part fills all bytes that are left: 127.1 is 127.0.0.1. */
static bool parse_v4(struct view text, struct net_address *ret)
{
	uint32_t parts[4], value = 0;
	unsigned count = 0;

	for (;;) {
		if (count == 4 || !cut_part(&text, &parts[count++]))
			return false;
		if (text.len == 0)
			break;
		if (text.ptr[0] != '.')
			return false;
		text.ptr++;
		text.len--;
	}
	for (unsigned i = 0; i + 1 < count; i++) {
		if (parts[i] > 255)
			return false;
		value |= parts[i] << (24 - 8 * i);
	}
	if (count > 1 && parts[count - 1] >> (8 * (5 - count)) != 0)
		return false;
	value |= parts[count - 1];
	*ret = (struct net_address){ .bytes = { (uint8_t)(value >> 24), (uint8_t)(value >> 16),
		                                (uint8_t)(value >> 8), (uint8_t)value } };
	return true;
}

bool net_address_parse(struct view text, struct net_address *ret)
{
	struct net_address v6 = { .is_v6 = true };
	char copy[NET_ADDRESS_SIZE];

	if (text.len == 0 || text.len >= sizeof copy || memchr(text.ptr, '\0', text.len) != NULL)
		return false;
	if (memchr(text.ptr, ':', text.len) == NULL)
		return parse_v4(text, ret);
	memcpy(copy, text.ptr, text.len);
	copy[text.len] = '\0';
	if (inet_pton(AF_INET6, copy, v6.bytes) != 1)
		return false;
	*ret = v6;
	return true;
}

bool net_address_is(const struct net_address *a, const struct net_address *b)
{
	return a->is_v6 == b->is_v6 && memcmp(a->bytes, b->bytes, sizeof a->bytes) == 0;
}

/* --- classes --- */

struct range {
	uint8_t bytes[16];
	unsigned bits;
	enum net_class class;
};

static const struct range v4_ranges[] = {
	{ { 0 }, 8, NET_RESERVED },
	{ { 10 }, 8, NET_PRIVATE },
	{ { 100, 100, 100, 200 }, 32, NET_METADATA },
	{ { 100, 64 }, 10, NET_PRIVATE }, /* between a provider and its customers */
	{ { 127 }, 8, NET_LOOPBACK },
	{ { 168, 63, 129, 16 }, 32, NET_METADATA },
	{ { 169, 254 }, 16, NET_LINK_LOCAL },
	{ { 172, 16 }, 12, NET_PRIVATE },
	{ { 192, 0, 0 }, 24, NET_RESERVED },
	{ { 192, 0, 2 }, 24, NET_RESERVED },
	{ { 192, 88, 99 }, 24, NET_RESERVED },
	{ { 192, 168 }, 16, NET_PRIVATE },
	{ { 198, 18 }, 15, NET_RESERVED },
	{ { 198, 51, 100 }, 24, NET_RESERVED },
	{ { 203, 0, 113 }, 24, NET_RESERVED },
	{ { 224 }, 3, NET_RESERVED }, /* multicast, future use and broadcast */
};

/* Only 2000::/3 is given to networks of the internet; everything else is local or reserved. */
static const struct range v6_ranges[] = {
	{ { [15] = 1 }, 128, NET_LOOPBACK },
	{ { 0xfc }, 7, NET_PRIVATE }, /* also the metadata services that have IPv6 */
	{ { 0xfe, 0x80 }, 10, NET_LINK_LOCAL },
	{ { 0xfe, 0xc0 }, 10, NET_PRIVATE },
	{ { 0x20, 0x01, 0x0d, 0xb8 }, 32, NET_RESERVED },
	{ { 0x20, 0x01 }, 23, NET_RESERVED }, /* Teredo and other protocols */
	{ { 0x3f, 0xff }, 20, NET_RESERVED },
	{ { 0x20 }, 3, NET_PUBLIC },
	{ { 0 }, 0, NET_RESERVED },
};

/* Where an IPv6 address has an IPv4 address in it. */
static const struct {
	uint8_t bytes[16];
	unsigned bits, at;
} embedded[] = {
	{ { [10] = 0xff, [11] = 0xff }, 96, 12 },           /* mapped */
	{ { [8] = 0xff, [9] = 0xff }, 96, 12 },             /* translated */
	{ { 0x00, 0x64, 0xff, 0x9b }, 96, 12 },             /* NAT64 */
	{ { 0x00, 0x64, 0xff, 0x9b, 0x00, 0x01 }, 48, 12 }, /* NAT64 of a local network */
	{ { 0x20, 0x02 }, 16, 2 },                          /* 6to4 */
};

static bool has_prefix(const uint8_t *bytes, const uint8_t *prefix, unsigned bits)
{
	uint8_t mask = (uint8_t)(0xff00 >> bits % 8);

	return memcmp(bytes, prefix, bits / 8) == 0 &&
	       (bits % 8 == 0 || ((bytes[bits / 8] ^ prefix[bits / 8]) & mask) == 0);
}

static enum net_class find_class(const uint8_t *bytes, const struct range *ranges, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (has_prefix(bytes, ranges[i].bytes, ranges[i].bits))
			return ranges[i].class;
	return NET_PUBLIC;
}

enum net_class net_address_class(const struct net_address *address)
{
	const uint8_t *bytes = address->bytes;

	if (!address->is_v6)
		return find_class(bytes, v4_ranges, ARRAY_LEN(v4_ranges));
	for (size_t i = 0; i < ARRAY_LEN(embedded); i++)
		if (has_prefix(bytes, embedded[i].bytes, embedded[i].bits))
			return find_class(bytes + embedded[i].at, v4_ranges, ARRAY_LEN(v4_ranges));
	return find_class(bytes, v6_ranges, ARRAY_LEN(v6_ranges));
}

const char *net_class_name(enum net_class class)
{
	static const char *const names[NET_CLASS_COUNT] = {
		[NET_PUBLIC] = "a public address",
		[NET_LOOPBACK] = "a loopback address",
		[NET_PRIVATE] = "an address of a private network",
		[NET_LINK_LOCAL] = "a link-local address",
		[NET_METADATA] = "the address of a metadata service",
		[NET_RESERVED] = "a reserved address",
	};

	return names[class];
}

/* --- conversion --- */

const char *net_address_text(const struct net_address *address, char out[NET_ADDRESS_SIZE])
{
	(void)inet_ntop(address->is_v6 ? AF_INET6 : AF_INET, address->bytes, out, NET_ADDRESS_SIZE);
	return out;
}

bool net_address_from(const struct sockaddr *from, struct net_address *ret)
{
	union {
		const struct sockaddr *any;
		const struct sockaddr_in *v4;
		const struct sockaddr_in6 *v6;
	} same = { from };

	*ret = (struct net_address){ .is_v6 = from->sa_family == AF_INET6 };
	if (from->sa_family == AF_INET)
		memcpy(ret->bytes, &same.v4->sin_addr, 4);
	else if (from->sa_family == AF_INET6)
		memcpy(ret->bytes, &same.v6->sin6_addr, 16);
	return from->sa_family == AF_INET || from->sa_family == AF_INET6;
}

socklen_t net_address_to(const struct net_address *address, uint16_t port,
                         struct sockaddr_storage *ret)
{
	struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_port = htons(port) };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6, .sin6_port = htons(port) };

	memset(ret, 0, sizeof *ret);
	if (address->is_v6) {
		memcpy(&v6.sin6_addr, address->bytes, 16);
		memcpy(ret, &v6, sizeof v6);
		return sizeof v6;
	}
	memcpy(&v4.sin_addr, address->bytes, 4);
	memcpy(ret, &v4, sizeof v4);
	return sizeof v4;
}
