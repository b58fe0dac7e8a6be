/* internal.h - what the files of the dialer share.
 *
 *   dialer.c        starting and stopping the process
 *   dialer_serve.c  the process: confinement, requests, children
 *   dialer_child.c  one dial: resolving, checking, connecting
 *   upstream.c      the proxies of the host, which connections may have to go through
 *   dial.c          the server's end */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "egress/dialer/dialer_service.h"
#include "egress/host_rules.h"

struct dialer_config;

/* --- upstream.c --- */

struct upstream_proxy {
	bool is_set;
	struct net_host host;
	uint16_t port;
	char header[DIAL_HEADER_MAX]; /* "Proxy-Authorization: Basic ...\r\n" or "" */
};

struct upstream {
	struct upstream_proxy http, https;
	struct host_rules direct; /* NO_PROXY */
	bool all_direct;          /* NO_PROXY=* */
};

/* Reads the environment. A proxy that is no http:// URL is an error: connecting without it would
 * evade what the network's administrator wants. */
MUST_CHECK int upstream_read(struct upstream *ret, struct error *err);
/* The proxy for this connection; NULL: none. */
const struct upstream_proxy *upstream_find(const struct upstream *upstream,
                                           const struct net_host *host, bool is_http);

/* --- dialer_serve.c --- */

struct dialer_start {
	const struct dialer_config *config;
	const struct upstream *upstream;
};

/* The process; ctx is a struct dialer_start. */
NORETURN void dialer_serve(void *ctx, int socket);
