/* dialer_child.c - one dial, in a process of its own that may block (see internal.h). */
#include <errno.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "egress/dialer/internal.h"
#include "egress/net_policy.h"

enum { ADDRESSES_MAX = 8, CONNECT_MS = 8000, TUNNEL_MS = 10000, TUNNEL_HEAD_MAX = 8192 };

/* --- addresses --- */

/* Whether the address belongs to an interface of this machine: its services would take the
 * connection for a local one. Without the list every address counts as one of ours. */
static bool is_own_address(const struct net_address *address)
{
	struct ifaddrs *list = NULL;
	struct net_address own;
	bool found = false;

	if (getifaddrs(&list) < 0)
		return true;
	for (struct ifaddrs *at = list; at != NULL && !found; at = at->ifa_next)
		found = at->ifa_addr != NULL && net_address_from(at->ifa_addr, &own) &&
		        net_address_is(&own, address);
	freeifaddrs(list);
	return found;
}

/* A name can have hundreds of addresses, and each that does not answer takes CONNECT_MS. */
static size_t keep_addresses(const struct addrinfo *list, struct net_address *ret)
{
	size_t count = 0;

	for (; list != NULL && count < ADDRESSES_MAX; list = list->ai_next)
		count += net_address_from(list->ai_addr, &ret[count]);
	return count;
}

static int resolve_host(const struct net_host *host, struct net_address *ret, size_t *count,
                        struct error *err)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_family = AF_UNSPEC };
	struct addrinfo *list = NULL;
	int r;

	if (host->is_address) {
		ret[0] = host->address;
		*count = 1;
		return 0;
	}
	r = getaddrinfo(host->name, NULL, &hints, &list);
	if (r != 0)
		return error_set(err, ERR_NOT_FOUND, "%s: %s", host->name, gai_strerror(r));
	*count = keep_addresses(list, ret);
	freeaddrinfo(list);
	return *count != 0 ? 0 : error_set(err, ERR_NOT_FOUND, "%s has no address", host->name);
}

/* --- connecting --- */

static int wait_until_ready(int fd, short events, uint64_t end_ms)
{
	struct pollfd ready = { .fd = fd, .events = events };
	uint64_t now = clock_now_ms();

	return now < end_ms && poll(&ready, 1, (int)(end_ms - now)) == 1 ? 0 : -1;
}

/* Waits CONNECT_MS for one address, not the whole time of the request: the name may have others
 * that answer. */
static int connect_address(const struct net_address *address, uint16_t port, struct error *err)
{
	struct sockaddr_storage to;
	socklen_t len = net_address_to(address, port, &to), size = sizeof(int);
	AUTO_FD int fd = socket(address->is_v6 ? AF_INET6 : AF_INET,
	                        SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int failure = 0;

	if (fd < 0)
		return error_sys(err, "make a socket");
	if (connect(fd, (const struct sockaddr *)&to, len) < 0) {
		if (errno != EINPROGRESS)
			return error_sys(err, "connect");
		if (wait_until_ready(fd, POLLOUT, clock_now_ms() + CONNECT_MS) < 0)
			return error_set(err, ERR_SYSTEM, "connect: no answer within %d s",
			                 CONNECT_MS / 1000);
		if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &failure, &size) < 0 || failure != 0) {
			errno = failure;
			return error_sys(err, "connect");
		}
	}
	return TAKE_FD(fd);
}

/* Connects to the first address that is allowed and answers. connect(2) gets the same bytes that
 * were checked: a name that is resolved a second time may lead to another address (DNS rebinding).
 * A refused address is not tried, and if all are refused, the reason of the first one is
 * reported. */
static int connect_checked(const struct net_ceiling *ceiling, const struct net_host *host,
                           const struct dialer_request *request, struct dialer_reply *reply)
{
	struct net_address addresses[ADDRESSES_MAX];
	struct error refusal, failure;
	size_t count = 0, refused = 0;

	if (resolve_host(host, addresses, &count, &reply->err) < 0)
		return -1;
	for (size_t i = 0; i < count; i++) {
		bool is_own = is_own_address(&addresses[i]);
		int fd;

		if (net_ceiling_decide_address(ceiling, host, &addresses[i], request->port, is_own,
		                               refused == 0 ? &refusal : &failure) < 0) {
			refused++;
			continue;
		}
		fd = connect_address(&addresses[i], request->port, &failure);
		if (fd >= 0)
			return fd;
	}
	reply->is_refused = refused == count;
	reply->err = reply->is_refused ? refusal : failure;
	return reply->is_refused ? -1 : error_wrap(&reply->err, "%s:%u", host->name, request->port);
}

/* --- through a proxy of the host --- */

/* The operator has chosen the proxy, so its address is not checked. */
static int connect_proxy(const struct upstream_proxy *proxy, struct error *err)
{
	struct net_address addresses[ADDRESSES_MAX];
	size_t count = 0;

	if (resolve_host(&proxy->host, addresses, &count, err) < 0)
		return -1;
	for (size_t i = 0; i < count; i++) {
		int fd = connect_address(&addresses[i], proxy->port, err);

		if (fd >= 0)
			return fd;
	}
	return -1;
}

/* Reads the head of the answer byte by byte: what follows belongs to the tunnel. */
static int read_answer(int fd, char *head, size_t size, struct error *err)
{
	uint64_t end = clock_now_ms() + TUNNEL_MS;
	size_t len = 0;

	while (len + 1 < size && wait_until_ready(fd, POLLIN, end) == 0 &&
	       read(fd, head + len, 1) == 1) {
		head[++len] = '\0';
		if (len >= 4 && memcmp(head + len - 4, "\r\n\r\n", 4) == 0)
			return 0;
	}
	return error_set(err, ERR_SYSTEM, "no answer to CONNECT");
}

static int open_tunnel(int fd, const struct upstream_proxy *proxy, const struct net_host *host,
                       uint16_t port, struct error *err)
{
	char target[NET_HOST_SIZE], request[NET_HOST_SIZE * 2 + DIAL_HEADER_MAX + 64];
	char head[TUNNEL_HEAD_MAX];
	int len;

	(void)net_host_text(host, port, target);
	len = snprintf(request, sizeof request, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n%s\r\n", target,
	               target, proxy->header);
	if (write(fd, request, (size_t)len) != len || read_answer(fd, head, sizeof head, err) < 0)
		return error_set(err, ERR_SYSTEM, "the proxy of this machine does not answer");
	if (strncmp(head, "HTTP/1.", 7) != 0 || strncmp(head + 8, " 2", 2) != 0)
		return error_set(err, ERR_SYSTEM, "the proxy of this machine refuses: %.*s",
		                 (int)strcspn(head, "\r"), head);
	return 0;
}

static int connect_through(const struct upstream_proxy *proxy, const struct net_ceiling *ceiling,
                           const struct net_host *host, const struct dialer_request *request,
                           struct dialer_reply *reply)
{
	AUTO_FD int fd = -1;

	/* The proxy resolves names, so only an address in the request can be checked here. */
	if (host->is_address && net_ceiling_decide_address(ceiling, host, &host->address,
	                                                   request->port, false, &reply->err) < 0) {
		reply->is_refused = true;
		return -1;
	}
	fd = connect_proxy(proxy, &reply->err);
	if (fd < 0)
		return error_wrap(&reply->err, "the proxy of this machine");
	if (request->is_http) {
		reply->wants_url = true;
		memcpy(reply->header, proxy->header, sizeof reply->header);
	} else if (open_tunnel(fd, proxy, host, request->port, &reply->err) < 0)
		return -1;
	return TAKE_FD(fd);
}

int dialer_connect(const struct net_ceiling *ceiling, const struct upstream *upstream,
                   const struct net_host *host, const struct dialer_request *request,
                   struct dialer_reply *reply)
{
	const struct upstream_proxy *proxy = upstream_find(upstream, host, request->is_http);

	return proxy != NULL ? connect_through(proxy, ceiling, host, request, reply)
	                     : connect_checked(ceiling, host, request, reply);
}
