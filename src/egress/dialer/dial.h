/* dial.h - the server's end of the dialer: asks for connections, one callback for each.
 *
 *   dial_new -> dial_start -> done, once; or dial_cancel -> dial_free
 *
 * The dial owns its requests. A request is freed after `done` returned, or by dial_cancel(). */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/cleanup.h"
#include "egress/net_host.h"

struct dial;
struct dial_request;
struct error;
struct loop;

enum { DIAL_TIMEOUT_MS = 20000, DIAL_PENDING_MAX = 256, DIAL_HEADER_MAX = 700 };

struct dial_result {
	int fd; /* connected, non-blocking; the callee owns it; -1 on failure */
	/* A proxy of the host takes the request: it needs the whole URL and this header field. */
	bool wants_url;
	char header[DIAL_HEADER_MAX]; /* "Proxy-Authorization: ...\r\n" or "" */
};

/* `why`: NULL on success. is_refused: by the ceiling, not by the network. */
typedef void dial_fn(void *ctx, const struct dial_result *result, const struct error *why,
                     bool is_refused);

/* Takes over the socket of the dialer. */
struct dial *dial_new(struct loop *loop, int socket);
struct dial *dial_free(struct dial *dial); /* no callback is called any more */
DEFINE_CLEANUP(dial)
/* How long a connection may take, instead of DIAL_TIMEOUT_MS. */
void dial_set_timeout(struct dial *dial, uint64_t ms);

/* `is_http`: the connection carries one request of plain HTTP; otherwise it is a tunnel. */
MUST_CHECK int dial_start(struct dial *dial, const struct net_host *host, uint16_t port,
                          bool is_http, dial_fn *done, void *ctx, struct dial_request **ret,
                          struct error *err);
void dial_cancel(struct dial_request *request);
