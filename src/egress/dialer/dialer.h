/* dialer.h - the process that resolves names and connects, for a server that can do neither.
 *
 * The dialer is forked before the server gives up its rights and before it reads a byte from its
 * client. The server sends requests (dial.h); for each the dialer checks the host against its own
 * copy of the operator's ceiling and forks a child, because getaddrinfo(3) blocks. The child
 * resolves the name once, checks every address, connects to one that was checked, and passes the
 * descriptor back. So a name that is resolved differently a moment later leads nowhere else.
 *
 * The server is not trusted. Before the dialer reads its first request it has no capabilities, as
 * root another user id, a seccomp filter, and Landlock leaves it reading below /etc and the
 * libraries.
 *
 *   dialer_start -> dialer_wait -> the socket goes to dial_new() -> dialer_stop
 *
 * The struct is the caller's; it owns the socket until dial_new() takes it over. */
#pragma once
#include <sys/types.h>

#include "base/attr.h"

struct dialer_service;
struct error;
struct net_ceiling;

struct dialer {
	pid_t pid;  /* 0: there is no process */
	int socket; /* the server's end, close-on-exec; -1: none, or taken over */
};

struct dialer_config {
	const struct net_ceiling *ceiling;
	uid_t id; /* that root changes to; 0: root stays root, without capabilities */
	const struct dialer_service *service; /* dialer_service.h; NULL: connections go to hosts */
};

/* Must be called before there is a loop or a thread. Reads the upstream proxies from HTTPS_PROXY,
 * HTTP_PROXY and NO_PROXY. */
MUST_CHECK int dialer_start(const struct dialer_config *config, struct dialer *ret,
                            struct error *err);
/* Returns when the dialer is confined. That takes a few milliseconds after dialer_start(), in which
 * the caller can do other work. Does nothing if there is no process. */
MUST_CHECK int dialer_wait(const struct dialer *dialer, struct error *err);
/* Closes the socket if it is still here, and waits for the process, which exits when the last copy
 * of the socket is closed. */
void dialer_stop(struct dialer *dialer);
