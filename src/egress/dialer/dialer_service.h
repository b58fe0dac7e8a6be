/* dialer_service.h - a service of a dialer: what is at the other end of its connections instead of
 * a host outside. The mirror (egress/mirror) and the interceptor (egress/intercept) are services.
 *
 * The dialer's process calls prepare() once, then, in a child process for each request, open() and
 * serve(). The child may block. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "egress/dialer/dial.h"
#include "egress/net_host.h"

struct net_ceiling;
struct upstream;

struct dialer_request {
	uint32_t id;
	uint16_t port;
	bool is_http;
	char host[NET_NAME_MAX + 1];
};

/* The first reply has id 0 and says whether the dialer is confined. */
struct dialer_reply {
	uint32_t id;
	bool failed, is_refused, wants_url;
	char header[DIAL_HEADER_MAX];
	struct error err;
};

struct dialer_service {
	const char *name; /* of the process */
	const char *dir;  /* the only directory that the process may write; NULL: none */
	const char *uses; /* "connections are ..." in the error about too many of them */
	/* Prepares the process before it is confined. May be NULL. */
	int (*prepare)(const struct dialer_service *service, struct error *err);
	/* Connects to the host of the request, which is within the ceiling, before the server gets
	 * its end of the connection; -1 fails the request with what `reply` says. NULL: the service
	 * answers by itself, and the host is only a name. */
	int (*open)(const struct dialer_service *service, const struct upstream *upstream,
	            const struct net_host *host, const struct dialer_request *request,
	            struct dialer_reply *reply);
	/* Serves one connection with blocking calls. */
	void (*serve)(const struct dialer_service *service, const struct upstream *upstream,
	              int fd);
	void *ctx;
};

/* Connects to the host, if the ceiling allows its name and its address, directly or through a proxy
 * of the machine, and fills in the reply. Returns the descriptor, or -1. */
int dialer_connect(const struct net_ceiling *ceiling, const struct upstream *upstream,
                   const struct net_host *host, const struct dialer_request *request,
                   struct dialer_reply *reply);
