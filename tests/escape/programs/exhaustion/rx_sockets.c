/* rx_sockets KIND MIB SECONDS - fills the kernel's memory with what sockets hold, until a call is
 * refused or MIB are used, and then holds them for SECONDS. Prints how much it has after each MiB,
 * and "held" or "refused" with the reason.
 *
 * Kinds: netlink (replies that are not read), tcp and tcp6 (bytes that are not read), backlog (the
 * same on connections that are not accepted), udp, cork (datagrams that are not sent yet), stream
 * and dgram (Unix sockets), filter (SO_ATTACH_FILTER), groups (multicast), keys (TCP_MD5SIG),
 * options (IPv6 options that are sent with each packet). */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MIB = 1 << 20, BUFFER = 64 * MIB };
static char block[65536];

static int make_socket(int family, int type)
{
	int size = BUFFER, fd = socket(family, type | SOCK_NONBLOCK, 0);

	if (fd >= 0) {
		(void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
		(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
	}
	return fd;
}

/* Writes until the queue is full. Returns the number of bytes. */
static long fill(int fd, size_t piece)
{
	long done = 0;
	ssize_t n;

	while ((n = write(fd, block, piece)) > 0)
		done += n;
	return done;
}

/* One request makes replies of a few kilobytes, which count with the size of their buffers. */
static long take_netlink(void)
{
	struct {
		struct nlmsghdr head;
		struct ifinfomsg link;
	} ask = { { sizeof ask, RTM_GETLINK, NLM_F_REQUEST, 1, 0 }, { .ifi_index = 1 } };
	int fd = make_socket(AF_NETLINK, SOCK_RAW);
	long done = 0;

	if (fd < 0)
		return -1;
	for (int i = 0; i < 20000 && send(fd, &ask, sizeof ask, 0) > 0; i++)
		done += 2048;
	return done;
}

static int listen_on(int family, struct sockaddr_storage *where, socklen_t *len)
{
	struct sockaddr_in *four = (void *)where;
	struct sockaddr_in6 *six = (void *)where;
	int fd = make_socket(family, SOCK_STREAM);

	*where = (struct sockaddr_storage){ .ss_family = (sa_family_t)family };
	*len = family == AF_INET ? sizeof *four : sizeof *six;
	if (family == AF_INET)
		four->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	else
		six->sin6_addr = in6addr_loopback;
	if (fd < 0 || bind(fd, (void *)where, *len) < 0 || listen(fd, 65535) < 0 ||
	    getsockname(fd, (void *)where, len) < 0)
		return -1;
	return fd;
}

static long take_tcp(int family, int accepting)
{
	static int listener = -1, used;
	static struct sockaddr_storage where;
	static socklen_t len;
	int fd = make_socket(family, SOCK_STREAM);
	long done = 0;

	if (listener < 0 || ++used % 100 == 0)
		listener = listen_on(family, &where, &len);
	if (listener < 0 || fd < 0)
		return -1;
	if (connect(fd, (void *)&where, len) < 0 && errno != EINPROGRESS)
		return -1;
	if (accepting && accept4(listener, NULL, NULL, SOCK_NONBLOCK) < 0)
		return -1;
	for (int i = 0; i < 3; i++) {
		done += fill(fd, sizeof block);
		(void)usleep(200);
	}
	/* The peer's unread bytes stay after close(2). */
	if (!accepting)
		(void)close(fd);
	return done;
}

static long take_udp(void)
{
	struct sockaddr_in where = { .sin_family = AF_INET,
		                     .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof where;
	int from = make_socket(AF_INET, SOCK_DGRAM), to = make_socket(AF_INET, SOCK_DGRAM);
	unsigned info[16] = { 0 };
	socklen_t info_len = sizeof info;

	if (from < 0 || to < 0 || bind(to, (void *)&where, len) < 0 ||
	    getsockname(to, (void *)&where, &len) < 0 || connect(from, (void *)&where, len) < 0)
		return -1;
	/* The kernel drops datagrams that exceed the receive buffer, without an error, and counts
	 * them in SK_MEMINFO_DROPS. */
	while (info[SK_MEMINFO_DROPS] == 0 && write(from, block, 60000) > 0)
		if (getsockopt(to, SOL_SOCKET, SO_MEMINFO, info, &info_len) < 0)
			return -1;
	(void)close(from);
	return (long)info[SK_MEMINFO_RMEM_ALLOC];
}

static long take_unix(int type)
{
	int fds[2], size = BUFFER;

	if (socketpair(AF_UNIX, type | SOCK_NONBLOCK, 0, fds) < 0)
		return -1;
	(void)setsockopt(fds[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
	return fill(fds[0], type == SOCK_STREAM ? sizeof block : 32768);
}

static long take_filter(void)
{
	static struct sock_filter code[4096];
	struct sock_fprog program = { 4096, code };
	int fd = make_socket(AF_UNIX, SOCK_DGRAM);

	for (int i = 0; i < 4096; i++)
		code[i] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, 0);
	while (setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) < 0)
		if ((program.len /= 2) == 0)
			return -1;
	return program.len * 16;
}

/* Group memberships of one socket, each of which is also an entry in a list of the interface. */
static long take_groups(void)
{
	static unsigned number;
	struct ipv6_mreq group = { .ipv6mr_interface = 1 };
	int fd = make_socket(AF_INET6, SOCK_DGRAM);
	long done = 0;

	group.ipv6mr_multiaddr.s6_addr[0] = 0xff;
	group.ipv6mr_multiaddr.s6_addr[1] = 0x01;
	for (int i = 0; i < 500; i++) {
		number++;
		memcpy(group.ipv6mr_multiaddr.s6_addr + 12, &number, sizeof number);
		if (setsockopt(fd, IPPROTO_IPV6, IPV6_JOIN_GROUP, &group, sizeof group) < 0)
			break;
		done += 512;
	}
	return done > 0 ? done : -1;
}

static long take_keys(void)
{
	struct tcp_md5sig key = { .tcpm_keylen = 1, .tcpm_key = "k" };
	struct sockaddr_in *who = (void *)&key.tcpm_addr;
	int fd = make_socket(AF_INET, SOCK_STREAM);
	long done = 0;

	who->sin_family = AF_INET;
	for (unsigned i = 1; i < 100000; i++) {
		who->sin_addr.s_addr = htonl(0x0a000000 + i);
		if (setsockopt(fd, IPPROTO_TCP, TCP_MD5SIG, &key, sizeof key) < 0)
			break;
		done += 192;
	}
	return done > 0 ? done : -1;
}

/* Options that are sent along with every packet. An ancillary header of another level is ignored,
 * but kept. */
static long take_options(void)
{
	static char options[60000];
	struct cmsghdr *head = (void *)options;
	int fd = make_socket(AF_INET6, SOCK_DGRAM);
	socklen_t size = sizeof options;

	for (; size > 1024; size /= 2) {
		*head = (struct cmsghdr){ size, SOL_SOCKET, 0 };
		head->cmsg_level = 0xffff;
		if (setsockopt(fd, IPPROTO_IPV6, 6, options, size) == 0)
			return size;
	}
	return -1;
}

/* A datagram that is never completed. */
static long take_cork(void)
{
	struct sockaddr_in where = { .sin_family = AF_INET,
		                     .sin_port = htons(9),
		                     .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = make_socket(AF_INET, SOCK_DGRAM);

	return sendto(fd, block, 65000, MSG_MORE, (void *)&where, sizeof where);
}

static long take_one(const char *kind)
{
	if (strcmp(kind, "groups") == 0)
		return take_groups();
	if (strcmp(kind, "keys") == 0)
		return take_keys();
	if (strcmp(kind, "options") == 0)
		return take_options();
	if (strcmp(kind, "cork") == 0)
		return take_cork();

	if (strcmp(kind, "netlink") == 0)
		return take_netlink();
	if (strcmp(kind, "tcp") == 0)
		return take_tcp(AF_INET, 1);
	if (strcmp(kind, "tcp6") == 0)
		return take_tcp(AF_INET6, 1);
	if (strcmp(kind, "backlog") == 0)
		return take_tcp(AF_INET, 0);
	if (strcmp(kind, "udp") == 0)
		return take_udp();
	if (strcmp(kind, "stream") == 0)
		return take_unix(SOCK_STREAM);
	if (strcmp(kind, "dgram") == 0)
		return take_unix(SOCK_DGRAM);
	if (strcmp(kind, "filter") == 0)
		return take_filter();
	return -1;
}

int main(int argc, char **argv)
{
	long wanted = argc == 4 ? atol(argv[2]) * MIB : 0, done = 0, more;
	struct rlimit files;
	int why;

	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &files);
	}
	while (done < wanted && (more = take_one(argv[1])) > 0) {
		done += more;
		if (done / MIB != (done - more) / MIB) {
			(void)printf("%ld MiB\n", done / MIB);
			(void)fflush(stdout);
		}
	}
	why = errno;
	if (done >= wanted)
		(void)sleep(argc == 4 ? (unsigned)atoi(argv[3]) : 0);
	(void)printf("%s: %s\n", done < wanted ? "refused" : "held", strerror(why));
	return 0;
}
