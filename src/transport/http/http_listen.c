#include "transport/http/http_listen.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/num.h"
#include "transport/http/listen_address.h"

enum {
	BACKLOG = 1024,
	SYSTEMD_FIRST_FD = 3,
	/* A peer that is gone without a word is noticed after about two minutes. */
	PROBE_IDLE_S = 60,
	PROBE_INTERVAL_S = 20,
	PROBE_COUNT = 3,
};

static int set_option(int fd, int level, int option, int value, struct error *err)
{
	if (setsockopt(fd, level, option, &value, sizeof value) < 0)
		return error_sys(err, "set option %d of a listening socket", option);
	return 0;
}

/* Sockets that are accepted inherit these options. */
static int set_tcp_options(int fd, struct error *err)
{
	if (set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1, err) < 0 ||
	    set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1, err) < 0 ||
	    set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, PROBE_IDLE_S, err) < 0 ||
	    set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, PROBE_INTERVAL_S, err) < 0)
		return -1;
	return set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, PROBE_COUNT, err);
}

/* Fills *ret for a socket that listens; does not take fd over on failure. */
static int describe_socket(int fd, struct http_listen *ret, struct error *err)
{
	union socket_address address = { 0 };
	socklen_t len = sizeof address;

	if (getsockname(fd, &address.any, &len) < 0)
		return error_sys(err, "read the address of descriptor %d", fd);
	if (address.any.sa_family != AF_UNIX && set_tcp_options(fd, err) < 0)
		return -1;
	ret->is_local = listen_address_is_local(&address);
	ret->is_unix = address.any.sa_family == AF_UNIX;
	(void)listen_address_name(&address, len, ret->name);
	ret->fd = fd;
	return 0;
}

static int open_tcp(const struct listen_address *address, int *ret, struct error *err)
{
	AUTO_FD int fd = socket(address->address.any.sa_family,
	                        SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	char name[HTTP_LISTEN_NAME_SIZE];

	(void)listen_address_name(&address->address, address->len, name);
	if (fd < 0)
		return error_sys(err, "listen on %s", name);
	if (set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1, err) < 0)
		return -1;
	/* [::] takes connections of both kinds; any other address is for its kind only. */
	if (address->address.any.sa_family == AF_INET6 &&
	    set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY,
	               !IN6_IS_ADDR_UNSPECIFIED(&address->address.v6.sin6_addr), err) < 0)
		return -1;
	if (bind(fd, &address->address.any, address->len) < 0 || listen(fd, BACKLOG) < 0)
		return error_sys(err, "listen on %s", name);
	*ret = TAKE_FD(fd);
	return 0;
}

/* Opens and locks the directory of a socket, so that two servers which start at the same time do
 * not remove each other's new socket as an old one. */
static int lock_directory(const char *path, int *ret, struct error *err)
{
	const char *slash = strrchr(path, '/');
	AUTO_FREE char *directory = mem_dup_len(path, slash == path ? 1 : (size_t)(slash - path));
	AUTO_FD int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 || flock(fd, LOCK_EX) < 0)
		return error_sys(err, "open the directory of the socket %s", path);
	*ret = TAKE_FD(fd);
	return 0;
}

/* Removes the socket of a server that does not run any more. */
static int remove_stale_socket(const struct sockaddr_un *address, struct error *err)
{
	AUTO_FD int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	const char *path = address->sun_path;
	struct stat st;

	if (lstat(path, &st) < 0)
		return errno == ENOENT ? 0 : error_sys(err, "look at %s", path);
	if (!S_ISSOCK(st.st_mode))
		return error_set(err, ERR_INVALID, "%s exists and is not a socket", path);
	if (connect(probe, (const struct sockaddr *)address, sizeof *address) == 0 ||
	    errno == EAGAIN)
		return error_set(err, ERR_INVALID, "another process listens on unix:%s", path);
	if (errno != ECONNREFUSED)
		return error_sys(err, "look whether a process listens on unix:%s", path);
	if (unlink(path) < 0)
		return error_sys(err, "remove the old socket %s", path);
	return 0;
}

static int open_unix(const struct listen_address *address, int *ret, struct error *err)
{
	const char *path = address->address.local.sun_path;
	AUTO_FD int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	AUTO_FD int directory = -1;
	mode_t mask;
	int rc;

	if (fd < 0)
		return error_sys(err, "make a unix socket");
	if (lock_directory(path, &directory, err) < 0 ||
	    remove_stale_socket(&address->address.local, err) < 0)
		return -1;
	/* The process has one thread, so no other file gets this mask. */
	mask = umask(0177);
	rc = bind(fd, &address->address.any, address->len);
	(void)umask(mask);
	if (rc < 0 || listen(fd, BACKLOG) < 0)
		return error_sys(err, "listen on unix:%s", path);
	*ret = TAKE_FD(fd);
	return 0;
}

/* A machine without IPv6: the family is unknown, or no interface has an address. */
static bool lacks_v6(const struct error *err)
{
	return err->errnum == EAFNOSUPPORT || err->errnum == EADDRNOTAVAIL;
}

static int open_address(const struct listen_address *address, struct http_listen *ret,
                        struct error *err)
{
	AUTO_FD int fd = -1;

	if (address->address.any.sa_family == AF_UNIX ? open_unix(address, &fd, err) < 0
	                                              : open_tcp(address, &fd, err) < 0)
		return -1;
	if (describe_socket(fd, ret, err) < 0)
		return -1;
	(void)TAKE_FD(fd);
	return 0;
}

/* ":PORT" on a machine without IPv6. */
static bool replace_any(struct listen_address *address)
{
	in_port_t port = address->address.v6.sin6_port;

	if (address->address.any.sa_family != AF_INET6 ||
	    !IN6_IS_ADDR_UNSPECIFIED(&address->address.v6.sin6_addr))
		return false;
	*address = (struct listen_address){
		.address.v4 = { .sin_family = AF_INET, .sin_port = port },
		.len = sizeof(struct sockaddr_in),
	};
	return true;
}

static in_port_t port_of(int fd)
{
	union socket_address address = { 0 };
	socklen_t len = sizeof address;

	(void)getsockname(fd, &address.any, &len);
	return address.v4.sin_port;
}

int http_listen_open(const char *address, struct http_listen ret[HTTP_LISTEN_OPEN_MAX],
                     size_t *ret_count, struct error *err)
{
	struct listen_address addresses[HTTP_LISTEN_OPEN_MAX];
	size_t count, opened = 0;

	if (listen_address_parse(address, addresses, &count, err) < 0)
		return -1;
	for (size_t i = 0; i < count; i++) {
		int rc;

		/* The second socket of localhost:0 gets the port of the first. */
		if (i != 0)
			addresses[i].address.v6.sin6_port = port_of(ret[0].fd);
		rc = open_address(&addresses[i], &ret[opened], err);
		if (rc < 0 && lacks_v6(err) && address[0] == ':' && replace_any(&addresses[i]))
			rc = open_address(&addresses[i], &ret[opened], err);
		if (rc < 0 && addresses[i].is_optional && lacks_v6(err))
			continue;
		if (rc < 0) {
			while (opened != 0)
				(void)close(ret[--opened].fd);
			return -1;
		}
		opened++;
	}
	*ret_count = opened;
	return 0;
}

int http_listen_check(const char *address, bool *ret_local, struct error *err)
{
	struct listen_address addresses[HTTP_LISTEN_OPEN_MAX];
	size_t count;

	if (listen_address_parse(address, addresses, &count, err) < 0)
		return -1;
	*ret_local = listen_address_is_local(&addresses[0].address);
	return 0;
}

/* The number of sockets that systemd passes to this process. */
static int count_inherited(size_t max, size_t *ret, struct error *err)
{
	const char *pid = getenv("LISTEN_PID"), *count = getenv("LISTEN_FDS");
	uint64_t value;

	*ret = 0;
	if (pid == NULL || count == NULL)
		return 0;
	if (num_parse_u64(pid, 1, INT32_MAX, &value, err) < 0)
		return error_wrap(err, "LISTEN_PID");
	if (value != (uint64_t)getpid()) /* meant for another process */
		return 0;
	if (num_parse_u64(count, 0, max, &value, err) < 0)
		return error_wrap(err, "LISTEN_FDS");
	*ret = (size_t)value;
	return 0;
}

static int take_inherited(int fd, struct http_listen *ret, struct error *err)
{
	int is_listening = 0, type = 0;
	socklen_t len = sizeof type;

	if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) < 0 || type != SOCK_STREAM ||
	    getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &is_listening, &len) < 0 || !is_listening)
		return error_set(err, ERR_INVALID,
		                 "descriptor %d of LISTEN_FDS is not a stream socket that listens; "
		                 "use ListenStream= and Accept=no in the systemd unit",
		                 fd);
	if (fcntl(fd, F_SETFD, FD_CLOEXEC) < 0)
		return error_sys(err, "use descriptor %d of LISTEN_FDS", fd);
	if (fd_set_nonblocking(fd, err) < 0)
		return -1;
	return describe_socket(fd, ret, err);
}

int http_listen_inherited(struct http_listen *ret, size_t max, size_t *ret_count, struct error *err)
{
	size_t count;

	if (count_inherited(max, &count, err) < 0)
		return -1;
	(void)unsetenv("LISTEN_PID");
	(void)unsetenv("LISTEN_FDS");
	(void)unsetenv("LISTEN_FDNAMES");
	for (size_t i = 0; i < count; i++)
		if (take_inherited(SYSTEMD_FIRST_FD + (int)i, &ret[i], err) < 0)
			return -1;
	*ret_count = count;
	return 0;
}
