/* nt_netlink - asks the kernel over netlink to change the network: an address, a route, an
 * interface of each kind, a queue, a rule, a neighbour; lo down. Each must fail with EPERM; reading
 * links works. */
#include <linux/if_link.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

static struct {
	struct nlmsghdr head;
	char body[256];
} message;

static int ask(int fd, int type, int flags, const void *body, size_t len, int attr,
               const char *value)
{
	char answer[8192];
	const struct nlmsghdr *head = (const struct nlmsghdr *)answer;

	memset(&message, 0, sizeof message);
	message.head.nlmsg_len = (unsigned)NLMSG_SPACE(len);
	message.head.nlmsg_type = (unsigned short)type;
	message.head.nlmsg_flags = (unsigned short)(NLM_F_REQUEST | flags);
	memcpy(message.body, body, len);
	if (value != NULL) { /* 4 bytes */
		struct rtattr *at = (struct rtattr *)((char *)&message + message.head.nlmsg_len);

		*at = (struct rtattr){ RTA_LENGTH(4), (unsigned short)attr };
		memcpy(RTA_DATA(at), value, 4);
		message.head.nlmsg_len += RTA_SPACE(4);
	}
	(void)!send(fd, &message, message.head.nlmsg_len, 0);
	if (recv(fd, answer, sizeof answer, 0) <= 0)
		return 999;
	return head->nlmsg_type == NLMSG_ERROR ? -((const struct nlmsgerr *)(head + 1))->error : 0;
}

int main(void)
{
	enum { NEW = NLM_F_CREATE | NLM_F_EXCL | NLM_F_ACK };
	int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
	struct ifaddrmsg address = { AF_INET, 24, 0, RT_SCOPE_UNIVERSE, 1 };
	struct rtmsg route = { .rtm_family = AF_INET,
		               .rtm_table = RT_TABLE_MAIN,
		               .rtm_scope = RT_SCOPE_LINK,
		               .rtm_protocol = RTPROT_BOOT,
		               .rtm_type = RTN_UNICAST };
	struct ifinfomsg link = { .ifi_family = AF_UNSPEC, .ifi_index = 1, .ifi_change = 1 },
	                 new = { 0 };
	struct tcmsg queue = { .tcm_ifindex = 1, .tcm_parent = TC_H_ROOT };
	char one[4] = { 1, 0, 0, 0 };

	printf("addr %d\n",
	       ask(fd, RTM_NEWADDR, NEW, &address, sizeof address, IFA_LOCAL, "\n\1\2\3"));
	printf("route %d\n", ask(fd, RTM_NEWROUTE, NEW, &route, sizeof route, RTA_OIF, one));
	printf("down %d\n", ask(fd, RTM_NEWLINK, NLM_F_ACK, &link, sizeof link, 0, NULL));
	printf("dummy %d\n", ask(fd, RTM_NEWLINK, NEW, &new, sizeof new, IFLA_IFNAME, "d0\0"));
	printf("queue %d\n", ask(fd, RTM_NEWQDISC, NEW, &queue, sizeof queue, 0, NULL));
	printf("dellink %d\n", ask(fd, RTM_DELLINK, NLM_F_ACK, &link, sizeof link, 0, NULL));
	printf("rule %d\n", ask(fd, RTM_NEWRULE, NEW, &route, sizeof route, 0, NULL));
	return printf("getlink %d\n", ask(fd, RTM_GETLINK, 0, &link, sizeof link, 0, NULL)) < 0;
}
