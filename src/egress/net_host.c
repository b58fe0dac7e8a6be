#include "egress/net_host.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/num.h"
#include "base/text/utf8.h"

static int refuse_host(struct view text, const char *why, struct error *err)
{
	return error_set(err, ERR_INVALID, "'%s' is not a host: %s", UTF8_ESCAPED(text, 80), why);
}

static bool is_name_byte(unsigned char c)
{
	return isalnum(c) || c == '-' || c == '_';
}

/* Copies the labels in lower case. NULL: the name is well-formed. */
static const char *copy_name(struct view text, char out[NET_NAME_MAX + 1])
{
	size_t label = 0;

	if (text.len > NET_NAME_MAX)
		return "it has more than 253 bytes";
	for (size_t i = 0; i < text.len; i++) {
		unsigned char c = (unsigned char)text.ptr[i];

		if (c >= 0x80)
			return "a name in another script must be written in its xn-- form";
		if (c == '.' ? label == 0 : !is_name_byte(c))
			return c == '.' ? "a label is empty" : "it has a character of no name";
		label = c == '.' ? 0 : label + 1;
		if (label > 63)
			return "a label has more than 63 bytes";
		out[i] = (char)tolower(c);
	}
	out[text.len] = '\0';
	return label == 0 ? "a label is empty" : NULL;
}

/* Resolvers treat a name whose last label is a number as an IPv4 address: such a name would pass
 * the rules for names and reach an address that the rules for addresses refuse. */
static bool ends_in_number(const char *name)
{
	const char *dot = strrchr(name, '.');
	const char *last = dot != NULL ? dot + 1 : name;

	return isdigit((unsigned char)last[0]) &&
	       (strspn(last, "0123456789") == strlen(last) || strncmp(last, "0x", 2) == 0);
}

/* Rules compare names as text and addresses as bytes, so a host gets one form here: a name is in
 * lower case, without the dot of the root at its end. */
int net_host_parse(struct view text, struct net_host *ret, struct error *err)
{
	struct net_host host = { 0 };
	struct view bare = text;
	const char *why;

	if (text.len == 0)
		return error_set(err, ERR_INVALID, "the host is empty");
	if (text.len > 2 && text.ptr[0] == '[' && text.ptr[text.len - 1] == ']')
		bare = (struct view){ text.ptr + 1, text.len - 2 };
	else if (text.len > 1 && text.ptr[text.len - 1] == '.')
		bare.len--;
	if (net_address_parse(bare, &host.address) &&
	    (bare.ptr == text.ptr || host.address.is_v6)) {
		host.is_address = true;
		(void)net_address_text(&host.address, host.name);
		*ret = host;
		return 0;
	}
	why = copy_name(bare, host.name);
	if (why == NULL && ends_in_number(host.name))
		why = "its last label is a number, and it is no address";
	if (why != NULL)
		return refuse_host(text, why, err);
	*ret = host;
	return 0;
}

/* The port begins behind the last colon, unless that is a part of an IPv6 address. */
static bool cut_port(struct view *text, struct view *ret)
{
	const char *colon = memrchr(text->ptr, ':', text->len);
	size_t before = colon != NULL ? (size_t)(colon - text->ptr) : 0;

	if (colon == NULL)
		return false;
	if (text->ptr[0] == '[' ? before == 0 || text->ptr[before - 1] != ']'
	                        : memchr(text->ptr, ':', before) != NULL)
		return false;
	*ret = (struct view){ colon + 1, text->len - before - 1 };
	text->len = before;
	return true;
}

int net_host_parse_port(struct view text, uint16_t port, struct net_host *ret, uint16_t *ret_port,
                        struct error *err)
{
	struct view number;
	char digits[6] = "";
	uint64_t value = port;

	if (text.len != 0 && cut_port(&text, &number)) {
		if (number.len >= sizeof digits)
			return error_set(err, ERR_INVALID, "the port has more than five digits");
		memcpy(digits, number.ptr, number.len);
		if (num_parse_u64(digits, 1, UINT16_MAX, &value, err) < 0)
			return error_wrap(err, "port");
	}
	if (value == 0)
		return error_set(err, ERR_INVALID, "the port is missing");
	if (net_host_parse(text, ret, err) < 0)
		return -1;
	*ret_port = (uint16_t)value;
	return 0;
}

bool net_host_is(const struct net_host *a, const struct net_host *b)
{
	if (a->is_address != b->is_address)
		return false;
	return a->is_address ? net_address_is(&a->address, &b->address)
	                     : strcmp(a->name, b->name) == 0;
}

const char *net_host_text(const struct net_host *host, uint16_t port, char out[NET_HOST_SIZE])
{
	bool brackets = host->is_address && host->address.is_v6;

	(void)snprintf(out, NET_HOST_SIZE, "%s%s%s:%u", brackets ? "[" : "", host->name,
	               brackets ? "]" : "", port);
	return out;
}
