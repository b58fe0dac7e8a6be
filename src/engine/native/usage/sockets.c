/* sockets.c - the memory of a sandbox's sockets, as the kernel reports it for a network namespace.
 *
 * No cgroup counts connections that wait in a listener's queue, nor datagrams that a program has
 * begun and not sent (MSG_MORE). */
#include <fcntl.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/num.h"
#include "engine/native/usage/internal.h"

enum {
	BUFFER_BYTES = 4 << 20, /* the largest buffer of tcp_rmem in a sandbox, see mount_plan.c */
	SOCKET_BYTES = 2048,    /* the kernel's own structures of one socket */
	UNKNOWN_BYTES = 64 * 1024, /* per socket, where the kernel cannot report its memory */
};

/* The number after `word`, at the beginning of a line of `text`; 0 if there is none. */
static uint64_t number_after(const char *text, const char *word)
{
	const char *found = strstr(text, word);

	return found != NULL ? strtoull(found + strlen(word), NULL, 10) : 0;
}

/* Counts all TCP and UDP sockets, also those that no descriptor refers to. */
static uint64_t count_sockets(int proc, pid_t pid)
{
	char text[1024];
	uint64_t count = 0;

	if (proc_read_file(proc, pid, "net/sockstat", text, sizeof text))
		count += number_after(text, "TCP: inuse ") + number_after(text, "UDP: inuse ");
	if (proc_read_file(proc, pid, "net/sockstat6", text, sizeof text))
		count += number_after(text, "TCP6: inuse ") + number_after(text, "UDP6: inuse ");
	return count;
}

/* A program can set the size of its receive buffer up to rmem_max, which the kernel doubles. */
bool sockets_could_exceed(int proc, pid_t pid, uint64_t limit)
{
	uint64_t rmem_max = fd_read_number(proc, "sys/net/core/rmem_max");
	uint64_t most = rmem_max <= UINT32_MAX ? 2 * rmem_max : 0;

	return count_sockets(proc, pid) > limit / num_max(most, BUFFER_BYTES);
}

/* --- one dump per kind of socket ------------------------------------------------------ */

static const struct dump {
	int family, protocol; /* protocol 0: Unix sockets */
	size_t head;          /* size of the fixed part of a reply */
	unsigned short meminfo;
} dumps[] = {
	{ AF_INET, IPPROTO_TCP, sizeof(struct inet_diag_msg), INET_DIAG_SKMEMINFO },
	{ AF_INET6, IPPROTO_TCP, sizeof(struct inet_diag_msg), INET_DIAG_SKMEMINFO },
	{ AF_INET, IPPROTO_UDP, sizeof(struct inet_diag_msg), INET_DIAG_SKMEMINFO },
	{ AF_INET6, IPPROTO_UDP, sizeof(struct inet_diag_msg), INET_DIAG_SKMEMINFO },
	{ AF_UNIX, 0, sizeof(struct unix_diag_msg), UNIX_DIAG_MEMINFO },
};

static bool send_request(int fd, const struct dump *dump)
{
	struct {
		struct nlmsghdr head;
		union {
			struct inet_diag_req_v2 inet;
			struct unix_diag_req local;
		} body;
	} request = { .head = { .nlmsg_len = sizeof request.head,
		                .nlmsg_type = SOCK_DIAG_BY_FAMILY,
		                .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP } };

	if (dump->family == AF_UNIX) {
		request.body.local = (struct unix_diag_req){ .sdiag_family = AF_UNIX,
			                                     .udiag_states = UINT32_MAX,
			                                     .udiag_show = UDIAG_SHOW_MEMINFO };
		request.head.nlmsg_len += sizeof request.body.local;
	} else {
		request.body.inet = (struct inet_diag_req_v2){
			.sdiag_family = (uint8_t)dump->family,
			.sdiag_protocol = (uint8_t)dump->protocol,
			.idiag_ext = 1 << (INET_DIAG_SKMEMINFO - 1),
			.idiag_states = UINT32_MAX,
		};
		request.head.nlmsg_len += sizeof request.body.inet;
	}
	return send(fd, &request, request.head.nlmsg_len, 0) > 0;
}

/* A connection in TIME-WAIT has no meminfo and counts with its structures only. TCP has its unsent
 * bytes in WMEM_QUEUED, other sockets theirs in WMEM_ALLOC. */
static uint64_t socket_bytes(const struct dump *dump, struct nlmsghdr *reply)
{
	struct rtattr *attr = (void *)((char *)NLMSG_DATA(reply) + dump->head);
	size_t len = reply->nlmsg_len < NLMSG_SPACE(dump->head)
	                     ? 0
	                     : reply->nlmsg_len - NLMSG_SPACE(dump->head);
	const uint32_t *info;

	for (; RTA_OK(attr, len); attr = RTA_NEXT(attr, len)) {
		if (attr->rta_type != dump->meminfo ||
		    RTA_PAYLOAD(attr) < (SK_MEMINFO_BACKLOG + 1) * sizeof *info)
			continue;
		info = RTA_DATA(attr);
		return (uint64_t)SOCKET_BYTES + info[SK_MEMINFO_RMEM_ALLOC] +
		       (info[SK_MEMINFO_WMEM_QUEUED] > info[SK_MEMINFO_WMEM_ALLOC]
		                ? info[SK_MEMINFO_WMEM_QUEUED]
		                : info[SK_MEMINFO_WMEM_ALLOC]) +
		       info[SK_MEMINFO_OPTMEM] + info[SK_MEMINFO_BACKLOG];
	}
	return SOCKET_BYTES;
}

/* Adds up the sockets of one kind until the sum exceeds `limit`. False: the kernel has no reports
 * of this kind. */
static bool add_dump(int fd, const struct dump *dump, uint64_t limit, uint64_t *sum)
{
	static _Alignas(struct nlmsghdr) char text[64 * 1024];

	if (!send_request(fd, dump))
		return false;
	while (*sum <= limit) {
		ssize_t n = recv(fd, text, sizeof text, 0);
		size_t len = n > 0 ? (size_t)n : 0;

		if (len == 0)
			return false;
		for (struct nlmsghdr *reply = (void *)text; NLMSG_OK(reply, len);
		     reply = NLMSG_NEXT(reply, len)) {
			if (reply->nlmsg_type == NLMSG_DONE || reply->nlmsg_type == NLMSG_ERROR)
				return reply->nlmsg_type == NLMSG_DONE;
			*sum += socket_bytes(dump, reply);
		}
	}
	return true;
}

/* A socket of its own for each dump: a dump that was not read to its end stays in the socket. */
static bool add_sockets(const struct dump *dump, uint64_t limit, uint64_t *sum)
{
	AUTO_FD int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);

	return fd >= 0 && add_dump(fd, dump, limit, sum);
}

uint64_t socket_memory(int proc, pid_t pid, bool with_unix, uint64_t limit)
{
	char path[32];
	AUTO_FD int ns = -1;
	uint64_t sum = 0;
	bool is_known = true;

	(void)snprintf(path, sizeof path, "%d/ns/net", pid);
	ns = openat(proc, path, O_RDONLY | O_CLOEXEC);
	if (ns < 0)
		return 0; /* the sandbox has ended */
	is_known = setns(ns, CLONE_NEWNET) == 0;
	for (size_t i = 0; is_known && i < ARRAY_LEN(dumps); i++)
		if (dumps[i].family != AF_UNIX)
			is_known = add_sockets(&dumps[i], limit, &sum);
		else if (with_unix)
			(void)add_sockets(&dumps[i], limit, &sum);
	return is_known ? sum : count_sockets(proc, pid) * UNKNOWN_BYTES;
}
