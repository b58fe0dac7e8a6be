#include "egress/proxy_socks.h"

#include <string.h>

#include "base/error.h"

enum { VERSION = 5, PASSWORD_VERSION = 1, METHOD_NONE = 0, METHOD_PASSWORD = 2, NO_METHOD = 255 };
enum { COMMAND_CONNECT = 1, TYPE_V4 = 1, TYPE_NAME = 3, TYPE_V6 = 4 };

static uint8_t byte_at(struct view bytes, size_t i)
{
	return (uint8_t)bytes.ptr[i];
}

static void set_reply(struct proxy_socks_reply *reply, uint8_t first, uint8_t second)
{
	reply->bytes[0] = (char)first;
	reply->bytes[1] = (char)second;
	reply->len = 2;
}

static void skip_bytes(struct view *bytes, size_t len)
{
	bytes->ptr += len;
	bytes->len -= len;
}

void proxy_socks_answer(enum proxy_socks_status status, struct proxy_socks_reply *reply)
{
	*reply = (struct proxy_socks_reply){ .len = SOCKS_REPLY_MAX };
	reply->bytes[0] = VERSION;
	reply->bytes[1] = (char)status;
	reply->bytes[3] = TYPE_V4;
}

/* VERSION, number of methods, the methods. */
static int take_greeting(struct proxy_socks *socks, struct view *bytes,
                         struct proxy_socks_reply *reply, struct error *err)
{
	uint8_t method = socks->wants_password ? METHOD_PASSWORD : METHOD_NONE;
	size_t count;

	if (byte_at(*bytes, 0) != VERSION)
		return error_set(err, ERR_SYNTAX, "the version of SOCKS is not 5");
	if (bytes->len < 2)
		return 0;
	count = byte_at(*bytes, 1);
	if (bytes->len < 2 + count)
		return 0;
	if (memchr(bytes->ptr + 2, method, count) == NULL) {
		set_reply(reply, VERSION, NO_METHOD);
		return error_set(err, ERR_INVALID, "SOCKS: %s",
		                 socks->wants_password ? "a password is needed"
		                                       : "only connections without a password");
	}
	set_reply(reply, VERSION, method);
	socks->step = socks->wants_password ? SOCKS_PASSWORD : SOCKS_REQUEST;
	skip_bytes(bytes, 2 + count);
	return 1;
}

/* PASSWORD_VERSION, length and name, length and password. The caller compares the password when
 * the request is complete, as for HTTP. */
static int take_password(struct proxy_socks *socks, struct view *bytes,
                         struct proxy_socks_reply *reply, struct error *err)
{
	size_t name, password;

	if (byte_at(*bytes, 0) != PASSWORD_VERSION)
		return error_set(err, ERR_SYNTAX, "SOCKS: the password's message is malformed");
	if (bytes->len < 2)
		return 0;
	name = byte_at(*bytes, 1);
	if (bytes->len < 3 + name)
		return 0;
	password = byte_at(*bytes, 2 + name);
	if (bytes->len < 3 + name + password)
		return 0;
	if (password > PROXY_PASSWORD_MAX)
		return error_set(err, ERR_LIMIT, "SOCKS: the password is too long");
	memcpy(socks->password, bytes->ptr + 3 + name, password);
	set_reply(reply, PASSWORD_VERSION, 0);
	socks->step = SOCKS_REQUEST;
	skip_bytes(bytes, 3 + name + password);
	return 1;
}

/* An address has 4 or 16 bytes, by its type. A name may also be an address as text: then
 * net_host_parse() makes an address of it, which the rules for addresses apply to. */
static int read_host(struct proxy_socks *socks, uint8_t type, struct view bytes, struct error *err)
{
	struct net_host *host = &socks->host;

	if (type == TYPE_NAME)
		return net_host_parse(bytes, host, err);
	*host = (struct net_host){ .is_address = true, .address.is_v6 = type == TYPE_V6 };
	memcpy(host->address.bytes, bytes.ptr, bytes.len);
	(void)net_address_text(&host->address, host->name);
	return 0;
}

/* VERSION, command, 0, type of the address, address, port. */
static int take_request(struct proxy_socks *socks, struct view *bytes,
                        struct proxy_socks_reply *reply, struct error *err)
{
	size_t at = 4, len;
	uint8_t type;

	if (bytes->len < 5)
		return 0;
	type = byte_at(*bytes, 3);
	if (byte_at(*bytes, 0) != VERSION || byte_at(*bytes, 2) != 0 ||
	    (type != TYPE_V4 && type != TYPE_NAME && type != TYPE_V6))
		return error_set(err, ERR_SYNTAX, "SOCKS: the request is malformed");
	len = type == TYPE_V4 ? 4 : type == TYPE_V6 ? 16 : byte_at(*bytes, at++);
	if (bytes->len < at + len + 2)
		return 0;
	if (byte_at(*bytes, 1) != COMMAND_CONNECT) {
		proxy_socks_answer(SOCKS_NO_SUCH_COMMAND, reply);
		return error_set(err, ERR_UNSUPPORTED, "SOCKS: only CONNECT is served");
	}
	if (read_host(socks, type, (struct view){ bytes->ptr + at, len }, err) < 0) {
		proxy_socks_answer(SOCKS_NOT_ALLOWED, reply);
		return -1;
	}
	socks->port = (uint16_t)(byte_at(*bytes, at + len) << 8 | byte_at(*bytes, at + len + 1));
	if (socks->port == 0) {
		proxy_socks_answer(SOCKS_NOT_ALLOWED, reply);
		return error_set(err, ERR_INVALID, "SOCKS: the port is 0");
	}
	socks->step = SOCKS_COMPLETE;
	skip_bytes(bytes, at + len + 2);
	return 1;
}

int proxy_socks_take(struct proxy_socks *socks, struct view *bytes, struct proxy_socks_reply *reply,
                     struct error *err)
{
	reply->len = 0;
	if (bytes->len == 0)
		return 0;
	switch (socks->step) {
	case SOCKS_GREETING:
		return take_greeting(socks, bytes, reply, err);
	case SOCKS_PASSWORD:
		return take_password(socks, bytes, reply, err);
	case SOCKS_REQUEST:
		return take_request(socks, bytes, reply, err);
	case SOCKS_COMPLETE:
		break;
	}
	return 0;
}
