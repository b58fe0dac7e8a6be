/* listen_address.h - the text of an address to listen on, as socket addresses. */
#pragma once
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/attr.h"
#include "transport/http/http_listen.h"

struct error;

union socket_address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
	struct sockaddr_un local;
};

struct listen_address {
	union socket_address address;
	socklen_t len;
	bool is_optional; /* the second address of a name: left out if the machine has no IPv6 */
};

/* Parses what http_listen_open() describes into one or two addresses. */
MUST_CHECK int listen_address_parse(const char *text,
                                    struct listen_address ret[HTTP_LISTEN_OPEN_MAX],
                                    size_t *ret_count, struct error *err);
/* A loopback address or a unix socket. */
bool listen_address_is_local(const union socket_address *address);
/* Writes the address as text. Returns out. */
const char *listen_address_name(const union socket_address *address, socklen_t len,
                                char out[HTTP_LISTEN_NAME_SIZE]);
