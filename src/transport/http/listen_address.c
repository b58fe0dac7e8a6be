#include "transport/http/listen_address.h"

#include <arpa/inet.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/num.h"
#include "base/view.h"

static struct listen_address make_v4(in_addr_t host, uint16_t port)
{
	return (struct listen_address){
		.address.v4 = { .sin_family = AF_INET,
		                .sin_port = htons(port),
		                .sin_addr.s_addr = host },
		.len = sizeof(struct sockaddr_in),
	};
}

static struct listen_address make_v6(struct in6_addr host, uint16_t port)
{
	return (struct listen_address){
		.address.v6 = { .sin6_family = AF_INET6,
		                .sin6_port = htons(port),
		                .sin6_addr = host },
		.len = sizeof(struct sockaddr_in6),
	};
}

static int parse_unix(const char *path, struct listen_address *ret, struct error *err)
{
	struct sockaddr_un *local = &ret->address.local;
	size_t len = strlen(path);

	if (path[0] != '/')
		return error_set(err, ERR_INVALID,
		                 "unix:%s: the path of a socket must begin with /", path);
	if (len >= sizeof local->sun_path)
		return error_set(err, ERR_LIMIT, "the path of a socket has more than %zu bytes: %s",
		                 sizeof local->sun_path - 1, path);
	*ret = (struct listen_address){ .address.local = { .sun_family = AF_UNIX },
		                        .len = sizeof *local };
	memcpy(local->sun_path, path, len + 1);
	return 0;
}

/* Splits HOST:PORT, where HOST may be empty, and [HOST]:PORT. */
static int split_port(const char *text, char *host, size_t size, uint16_t *ret_port,
                      struct error *err)
{
	const char *colon = strrchr(text, ':');
	struct view name;
	uint64_t port;

	if (colon == NULL)
		return error_set(err, ERR_INVALID,
		                 "%s: an address is HOST:PORT, [IPV6]:PORT, :PORT or unix:PATH",
		                 text);
	name = (struct view){ text, (size_t)(colon - text) };
	if (num_parse_u64(colon + 1, 0, UINT16_MAX, &port, err) < 0)
		return error_wrap(err, "%s: the port", text);
	if (name.len >= size)
		return error_set(err, ERR_INVALID, "%s: the host is too long", text);
	if (name.len >= 2 && name.ptr[0] == '[' && name.ptr[name.len - 1] == ']') {
		name.ptr++;
		name.len -= 2;
	} else if (memchr(name.ptr, ':', name.len) != NULL) {
		return error_set(err, ERR_INVALID,
		                 "%s: an IPv6 address stands in brackets: [::1]:8000", text);
	}
	memcpy(host, name.ptr, name.len);
	host[name.len] = '\0';
	*ret_port = (uint16_t)port;
	return 0;
}

int listen_address_parse(const char *text, struct listen_address ret[HTTP_LISTEN_OPEN_MAX],
                         size_t *ret_count, struct error *err)
{
	char host[INET6_ADDRSTRLEN] = "";
	struct in_addr v4;
	struct in6_addr v6;
	uint16_t port = 0;

	*ret_count = 1;
	if (strncmp(text, "unix:", 5) == 0)
		return parse_unix(text + 5, ret, err);
	if (split_port(text, host, sizeof host, &port, err) < 0)
		return -1;
	if (host[0] == '\0' && text[0] == ':') {
		ret[0] = make_v6(in6addr_any, port);
	} else if (text[0] == '[' && inet_pton(AF_INET6, host, &v6) == 1) {
		ret[0] = make_v6(v6, port);
	} else if (text[0] != '[' && inet_pton(AF_INET, host, &v4) == 1) {
		ret[0] = make_v4(v4.s_addr, port);
	} else if (strcmp(host, "localhost") == 0 && text[0] != '[') {
		ret[0] = make_v4(htonl(INADDR_LOOPBACK), port);
		ret[1] = make_v6(in6addr_loopback, port);
		ret[1].is_optional = true;
		*ret_count = 2;
	} else {
		return error_set(err, ERR_INVALID,
		                 "%s: the host is neither an IP address nor localhost; use an "
		                 "address of this machine, or :%u for all of them",
		                 text, (unsigned)port);
	}
	return 0;
}

bool listen_address_is_local(const union socket_address *address)
{
	switch (address->any.sa_family) {
	case AF_UNIX:
		return true;
	case AF_INET:
		return ntohl(address->v4.sin_addr.s_addr) >> 24 == 127;
	case AF_INET6:
		return IN6_IS_ADDR_LOOPBACK(&address->v6.sin6_addr) != 0;
	default:
		return false;
	}
}

const char *listen_address_name(const union socket_address *address, socklen_t len,
                                char out[HTTP_LISTEN_NAME_SIZE])
{
	char host[INET6_ADDRSTRLEN] = "";

	(void)snprintf(out, HTTP_LISTEN_NAME_SIZE, "unix:");
	if (address->any.sa_family == AF_INET) {
		(void)inet_ntop(AF_INET, &address->v4.sin_addr, host, sizeof host);
		(void)snprintf(out, HTTP_LISTEN_NAME_SIZE, "%s:%u", host,
		               (unsigned)ntohs(address->v4.sin_port));
	} else if (address->any.sa_family == AF_INET6) {
		(void)inet_ntop(AF_INET6, &address->v6.sin6_addr, host, sizeof host);
		(void)snprintf(out, HTTP_LISTEN_NAME_SIZE, "[%s]:%u", host,
		               (unsigned)ntohs(address->v6.sin6_port));
	} else if (len > offsetof(struct sockaddr_un, sun_path)) {
		(void)snprintf(out, HTTP_LISTEN_NAME_SIZE, "unix:%.*s",
		               (int)(len - offsetof(struct sockaddr_un, sun_path)),
		               address->local.sun_path);
	}
	return out;
}
