/* proxy_socks.h - SOCKS version 5 (RFC 1928), from programs in a sandbox: hostile input.
 *
 * Only CONNECT is served, with names, which the gate resolves, and with addresses. A client that
 * must give a password uses the method of RFC 1929. The struct is the caller's, zeroed. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/view.h"
#include "egress/net_host.h"
#include "egress/proxy_http.h"

struct error;

enum proxy_socks_step { SOCKS_GREETING, SOCKS_PASSWORD, SOCKS_REQUEST, SOCKS_COMPLETE };

struct proxy_socks {
	bool wants_password; /* set by the caller */
	enum proxy_socks_step step;
	char password[PROXY_PASSWORD_MAX + 1];
	struct net_host host;
	uint16_t port;
};

enum proxy_socks_status {
	SOCKS_SUCCEEDED = 0,
	SOCKS_FAILED = 1,
	SOCKS_NOT_ALLOWED = 2,
	SOCKS_UNREACHABLE = 4,
	SOCKS_NO_SUCH_COMMAND = 7,
};

enum { SOCKS_REPLY_MAX = 10 };
struct proxy_socks_reply {
	char bytes[SOCKS_REPLY_MAX];
	size_t len; /* 0: nothing is to be sent */
};

/* Takes one message from the front of *bytes. Returns 1 if there was a whole one, and 0 if not; -1:
 * the client is to be disconnected. `reply` is to be sent in every case. The request has no reply
 * yet: see proxy_socks_answer(). */
MUST_CHECK int proxy_socks_take(struct proxy_socks *socks, struct view *bytes,
                                struct proxy_socks_reply *reply, struct error *err);
void proxy_socks_answer(enum proxy_socks_status status, struct proxy_socks_reply *reply);
