/* filter_calls.h - system calls with arguments, and the verdict that each filter must give. */
#pragma once
#include <errno.h>
#include <fcntl.h>
#include <linux/prctl.h>
#include <linux/sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "engine/filter/filter_table.h"

enum { OK = -1, NONE = -1 };

struct call_case {
	const char *what;
	int x86_64, aarch64; /* the call's number, or NONE */
	uint64_t args[3];
	int want[FILTER_SERVER]; /* OK or an errno, by each filter of a sandbox */
	bool has_pointer;        /* the third argument is a pointer, of which all 64 bits count */
};

#define EVERYBODY(e)                                                                               \
	{                                                                                          \
		e, e, e, e, EPERM                                                                  \
	}
#define PROGRAMS(e)                                                                                \
	{                                                                                          \
		e, e, e, OK, EPERM                                                                 \
	}
#define BUT_STRICT(e)                                                                              \
	{                                                                                          \
		OK, e, OK, OK, e                                                                   \
	}
#define TO_DEBUG                                                                                   \
	{                                                                                          \
		EPERM, EPERM, OK, OK, EPERM                                                        \
	}
#define ALL_AND_WORKERS(e)                                                                         \
	{                                                                                          \
		e, e, e, e, e                                                                      \
	}
#define SOCKET(what, family, type, protocol, e)                                                    \
	{                                                                                          \
		what, 41, 198, { family, type, protocol }, EVERYBODY(e), false                     \
	}
#define SETSOCKOPT(what, level, option, e)                                                         \
	{                                                                                          \
		what, 54, 208, { 3, level, option }, EVERYBODY(e), false                           \
	}
#define IOCTL(what, command, strict, e)                                                            \
	{                                                                                          \
		what, 16, 29, { 1, command, 0 }, { e, strict, e, e, EPERM }, false                 \
	}
#define RESERVE(what, command)                                                                     \
	{                                                                                          \
		what, 16, 29, { 3, command, 0 },                                                   \
		        { EOPNOTSUPP, EOPNOTSUPP, EOPNOTSUPP, OK, EPERM }, false                   \
	}
#define CLONE(what, flags, e)                                                                      \
	{                                                                                          \
		what, 56, 220, { flags, 0, 0 }, EVERYBODY(e), false                                \
	}
#define PRCTL(what, option, e)                                                                     \
	{                                                                                          \
		what, 157, 167, { option, 0, 0 }, EVERYBODY(e), false                              \
	}
#define MKNODAT(what, mode, e)                                                                     \
	{                                                                                          \
		what, 259, 33, { 3, 0, mode }, EVERYBODY(e), false                                 \
	}

/* Calls of the server that are allowed, or refused, by their arguments. */
static const struct server_call {
	const char *what;
	int x86_64, aarch64;
	uint64_t args[6];
	int want;
} server_calls[] = {
	{ "signal to itself", 234, 131, { FILTER_OWN_PID, 7, 0 }, OK },
	{ "signal to PID 7", 234, 131, { 7, 7, 0 }, EPERM },
	{ "tkill to itself", 200, 130, { FILTER_OWN_PID, 0 }, OK },
	{ "tkill to PID 7", 200, 130, { 7, 0 }, EPERM },
	{ "own limit", 302, 261, { 0, RLIMIT_NOFILE, 8 }, OK },
	{ "limit of PID 7", 302, 261, { 7, RLIMIT_NOFILE, 8 }, EPERM },
	{ "send", 44, 206, { 3, 8, 1, 0, 0, 0 }, OK },
	{ "send to an address", 44, 206, { 3, 8, 1, 0, 8, 16 }, EPERM },
	{ "send to an address far off", 44, 206, { 3, 8, 1, 0, 1ull << 40, 16 }, EPERM },
	{ "SO_OOBINLINE", 54, 208, { 3, SOL_SOCKET, SO_OOBINLINE }, OK },
	{ "SO_REUSEADDR", 54, 208, { 3, SOL_SOCKET, SO_REUSEADDR }, EPERM },
	{ "F_SETFL", 72, 25, { 3, 4, 0 }, OK },
	{ "F_SETOWN", 72, 25, { 3, 8, 7 }, EPERM },
	{ "F_SETSIG", 72, 25, { 3, 10, 7 }, EPERM },
	{ "F_SETOWN_EX", 72, 25, { 3, 15, 7 }, EPERM },
	{ "TCSETS", 16, 29, { 0, TCSETS, 8 }, OK },
	{ "TIOCGWINSZ", 16, 29, { 0, TIOCGWINSZ, 8 }, OK },
	{ "TIOCSTI", 16, 29, { 0, TIOCSTI, 8 }, EPERM },
	{ "SIOCGIFCONF", 16, 29, { 3, 0x8912, 8 }, EPERM },
	{ "memory", 9, 222, { 0, 4096, 3 }, OK },
	{ "code", 9, 222, { 0, 4096, 5 }, EPERM },
	{ "memory becomes code", 10, 226, { 0, 4096, 5 }, EPERM },
	{ "splice", 275, 76, { 0 }, EINVAL },
	{ "clone3", 435, 435, { 0 }, ENOSYS },
};

static const struct call_case calls[] = {
	{ "fallocate",
	  285,
	  47,
	  { 3, 0, 0 },
	  { EOPNOTSUPP, EOPNOTSUPP, EOPNOTSUPP, OK, EPERM },
	  false },
	{ "fallocate, keep size",
	  285,
	  47,
	  { 3, 1, 0 },
	  { EOPNOTSUPP, EOPNOTSUPP, EOPNOTSUPP, OK, EPERM },
	  false },
	{ "fallocate, punch a hole", 285, 47, { 3, 3, 0 }, { OK, OK, OK, OK, EPERM }, false },
	{ "read", 0, 63, { 0 }, ALL_AND_WORKERS(OK), false },
	{ "openat2", 437, 437, { 0 }, ALL_AND_WORKERS(OK), false },
	{ "fchmodat2", 452, 452, { 0 }, ALL_AND_WORKERS(OK), false },
	{ "renameat2", 316, 276, { 0 }, ALL_AND_WORKERS(OK), false },
	{ "execve", 59, 221, { 0 }, EVERYBODY(OK), false },
	{ "execveat", 322, 281, { 0 }, EVERYBODY(OK), false },
	{ "fork", 57, NONE, { 0 }, EVERYBODY(OK), false },
	{ "vfork", 58, NONE, { 0 }, EVERYBODY(OK), false },
	{ "connect", 42, 203, { 0 }, EVERYBODY(OK), false },
	{ "kill", 62, 129, { 0 }, EVERYBODY(OK), false },
	{ "rseq", 334, 293, { 0 }, EVERYBODY(OK), false },
	{ "set_robust_list", 273, 99, { 0 }, EVERYBODY(OK), false },
	{ "membarrier", 324, 283, { 0 }, EVERYBODY(OK), false },
	{ "getcpu", 309, 168, { 0 }, EVERYBODY(OK), false },
	{ "statx", 332, 291, { 0 }, ALL_AND_WORKERS(OK), false },
	{ "setgroups", 116, 159, { 0 }, EVERYBODY(OK), false },
	{ "setresuid", 117, 147, { 0 }, EVERYBODY(OK), false },
	{ "landlock_restrict_self", 446, 446, { 0 }, BUT_STRICT(EPERM), false },
	{ "map_shadow_stack", 453, 453, { 0 }, BUT_STRICT(EPERM), false },
	{ "capset", 126, 91, { 0 }, BUT_STRICT(EPERM), false },
	{ "mincore", 27, 232, { 0 }, BUT_STRICT(EPERM), false },
	{ "splice", 275, 76, { 0 }, BUT_STRICT(EINVAL), false },
	{ "tee", 276, 77, { 0 }, BUT_STRICT(EINVAL), false },
	{ "vmsplice", 278, 75, { 0 }, BUT_STRICT(EINVAL), false },
	{ "ptrace", 101, 117, { 0 }, TO_DEBUG, false },
	{ "process_vm_writev", 311, 271, { 0 }, TO_DEBUG, false },
	{ "sync", 162, 81, { 0 }, ALL_AND_WORKERS(0), false },
	{ "syncfs", 306, 267, { 0 }, ALL_AND_WORKERS(0), false },
	{ "clone3", 435, 435, { 0 }, ALL_AND_WORKERS(ENOSYS), false },
	{ "io_setup", 206, 0, { 0 }, ALL_AND_WORKERS(ENOSYS), false },
	{ "io_uring_setup", 425, 425, { 0 }, ALL_AND_WORKERS(ENOSYS), false },
	{ "keyctl", 250, 219, { 0 }, ALL_AND_WORKERS(ENOSYS), false },
	{ "userfaultfd", 323, 282, { 0 }, ALL_AND_WORKERS(ENOSYS), false },
	{ "cachestat", 451, 451, { 0 }, ALL_AND_WORKERS(ENOSYS), false },
	{ "mount", 165, 40, { 0 }, ALL_AND_WORKERS(EPERM), false },
	{ "umount2", 166, 39, { 0 }, ALL_AND_WORKERS(EPERM), false },
	{ "unshare", 272, 97, { 0 }, ALL_AND_WORKERS(EPERM), false },
	{ "setns", 308, 268, { 0 }, ALL_AND_WORKERS(EPERM), false },
	{ "fsopen", 430, 430, { 0 }, ALL_AND_WORKERS(EPERM), false },
	{ "open_tree_attr", 467, 467, { 0 }, ALL_AND_WORKERS(EPERM), false },
	{ "statmount", 457, 457, { 0 }, ALL_AND_WORKERS(EPERM), false },
	{ "file_setattr", 469, 469, { 0 }, ALL_AND_WORKERS(EPERM), false },
	{ "bpf", 321, 280, { 0 }, ALL_AND_WORKERS(EPERM), false },
	{ "perf_event_open", 298, 241, { 0 }, ALL_AND_WORKERS(EPERM), false },
	{ "pidfd_getfd", 438, 438, { 0 }, ALL_AND_WORKERS(EPERM), false },
	{ "open_by_handle_at", 304, 265, { 0 }, ALL_AND_WORKERS(EPERM), false },
	{ "chroot", 161, 51, { 0 }, ALL_AND_WORKERS(EPERM), false },

	SOCKET("a Unix socket", AF_UNIX, SOCK_SEQPACKET, 0, OK),
	SOCKET("TCP", AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0, OK),
	SOCKET("TCP, named", AF_INET6, SOCK_STREAM, 6, OK),
	SOCKET("UDP", AF_INET6, SOCK_DGRAM | SOCK_NONBLOCK, 17, OK),
	SOCKET("routes", AF_NETLINK, SOCK_RAW, 0, EAFNOSUPPORT),
	SOCKET("raw IP", AF_INET, SOCK_RAW, 1, EAFNOSUPPORT),
	SOCKET("ping", AF_INET, SOCK_DGRAM, 1, EAFNOSUPPORT),
	SOCKET("SCTP", AF_INET, SOCK_STREAM, 132, EAFNOSUPPORT),
	SOCKET("MPTCP", AF_INET, SOCK_STREAM, 262, EAFNOSUPPORT),
	SOCKET("netfilter", AF_NETLINK, SOCK_RAW, 12, EAFNOSUPPORT),
	SOCKET("AF_ALG", 38, SOCK_SEQPACKET, 0, EAFNOSUPPORT),
	SOCKET("AF_VSOCK", 40, SOCK_STREAM, 0, EAFNOSUPPORT),
	SOCKET("AF_PACKET", 17, SOCK_RAW, 0, EAFNOSUPPORT),
	SOCKET("AF_XDP", 44, SOCK_RAW, 0, EAFNOSUPPORT),
	{ "a Unix pair", 53, 199, { AF_UNIX, 1, 0 }, EVERYBODY(OK), false },
	{ "a TIPC pair", 53, 199, { 30, 1, 0 }, EVERYBODY(EAFNOSUPPORT), false },
	SETSOCKOPT("TCP_NODELAY", 6, 1, OK),
	SETSOCKOPT("SO_REUSEADDR", 1, 2, OK),
	SETSOCKOPT("TCP_ULP", 6, 31, EPERM),
	SETSOCKOPT("SO_RCVBUF", 1, 8, OK),
	SETSOCKOPT("SO_ATTACH_FILTER", 1, 26, EPERM),
	SETSOCKOPT("SO_ATTACH_BPF", 1, 50, EPERM),
	SETSOCKOPT("SO_ATTACH_REUSEPORT_CBPF", 1, 51, EPERM),
	SETSOCKOPT("SO_ATTACH_REUSEPORT_EBPF", 1, 52, EPERM),
	SETSOCKOPT("SOL_ALG", 279, 1, EPERM),
	SETSOCKOPT("IPT_SO_SET_REPLACE", 0, 64, EPERM),
	SETSOCKOPT("IPT_SO_SET_ADD_COUNTERS", 0, 65, EPERM),
	SETSOCKOPT("EBT_SO_SET_ENTRIES", 0, 128, EPERM),
	SETSOCKOPT("IP6T_SO_SET_REPLACE", 41, 64, EPERM),
	SETSOCKOPT("IPV6_V6ONLY", 41, 26, OK),
	SETSOCKOPT("TCP_MD5SIG", 6, 14, EPERM),
	SETSOCKOPT("TCP_MD5SIG_EXT", 6, 32, EPERM),
	SETSOCKOPT("TCP_AO_ADD_KEY", 6, 38, EPERM),
	SETSOCKOPT("IPV6_FLOWLABEL_MGR", 41, 32, EPERM),
	SETSOCKOPT("IPV6_2292PKTOPTIONS", 41, 6, EPERM),
	SETSOCKOPT("IP_ADD_MEMBERSHIP", 0, 35, ENODEV),
	SETSOCKOPT("IP_ADD_SOURCE_MEMBERSHIP", 0, 39, ENODEV),
	SETSOCKOPT("IP_MSFILTER", 0, 41, ENODEV),
	SETSOCKOPT("IP_MULTICAST_TTL", 0, 33, OK),
	SETSOCKOPT("MCAST_JOIN_GROUP", 0, 42, ENODEV),
	SETSOCKOPT("MCAST_JOIN_SOURCE_GROUP", 0, 46, ENODEV),
	SETSOCKOPT("MCAST_MSFILTER", 0, 48, ENODEV),
	SETSOCKOPT("IPV6_JOIN_GROUP", 41, 20, ENODEV),
	SETSOCKOPT("IPV6_JOIN_ANYCAST", 41, 27, ENODEV),
	SETSOCKOPT("MCAST_JOIN_GROUP of IPv6", 41, 42, ENODEV),
	SETSOCKOPT("MCAST_JOIN_SOURCE_GROUP of IPv6", 41, 46, ENODEV),
	SETSOCKOPT("MCAST_MSFILTER of IPv6", 41, 48, ENODEV),

	CLONE("a process", 17, OK),
	CLONE("a thread", 0x3d0f00, OK),
	CLONE("as vfork does", 0x4111, OK),
	CLONE("mounts", CLONE_NEWNS | 17, EPERM),
	CLONE("a user", CLONE_NEWUSER | 17, EPERM),
	CLONE("a network", CLONE_NEWNET | 17, EPERM),
	CLONE("processes", CLONE_NEWPID | 17, EPERM),
	CLONE("a control group", CLONE_NEWCGROUP | 17, EPERM),
	CLONE("a host name", CLONE_NEWUTS | 17, EPERM),
	CLONE("messages", CLONE_NEWIPC | 17, EPERM),

	IOCTL("TCGETS", TCGETS, OK, OK),
	RESERVE("FS_IOC_RESVSP", 0x40305828),
	RESERVE("FS_IOC_RESVSP64", 0x4030582a),
	RESERVE("FS_IOC_ZERO_RANGE", 0x40305839),
	IOCTL("FS_IOC_UNRESVSP64, which gives back", 0x4030582b, EPERM, OK),
	IOCTL("TIOCGWINSZ", TIOCGWINSZ, OK, OK),
	IOCTL("FIONREAD", FIONREAD, OK, OK),
	IOCTL("SIOCGIFCONF", 0x8912, OK, OK),
	IOCTL("SIOCGIFINDEX", 0x8933, OK, OK),
	IOCTL("SIOCETHTOOL", 0x8946, EPERM, OK),
	IOCTL("TIOCSTI", TIOCSTI, EPERM, EPERM),
	IOCTL("TIOCLINUX", TIOCLINUX, EPERM, EPERM),
	IOCTL("TIOCSETD", TIOCSETD, EPERM, EPERM),
	IOCTL("TIOCCONS", TIOCCONS, EPERM, EPERM),
	MKNODAT("a file", S_IFREG | 0644, OK),
	MKNODAT("a pipe", S_IFIFO | 0644, OK),
	MKNODAT("nothing said", 0644, OK),
	MKNODAT("a disk", S_IFBLK | 0644, EPERM),
	MKNODAT("a whiteout", S_IFCHR, EPERM),
	MKNODAT("a directory", S_IFDIR | 0755, EPERM),
	{ "mknod, a pipe", 133, NONE, { 0, S_IFIFO | 0600, 0 }, EVERYBODY(OK), false },
	{ "mknod, a device", 133, NONE, { 0, S_IFCHR | 0600, 0 }, EVERYBODY(EPERM), false },

	{ "own limit", 302, 261, { 0, RLIMIT_NOFILE, 8 }, EVERYBODY(OK), true },
	{ "limit of PID 1", 302, 261, { 1, RLIMIT_NOFILE, 8 }, PROGRAMS(EPERM), true },
	{ "limit of PID 10", 302, 261, { 10, RLIMIT_NOFILE, 8 }, EVERYBODY(OK), true },
	{ "core limit, read", 302, 261, { 0, RLIMIT_CORE, 0 }, EVERYBODY(OK), true },
	{ "core limit, set", 302, 261, { 0, RLIMIT_CORE, 8 }, PROGRAMS(0), true },
	{ "core limit, set, far", 302, 261, { 0, RLIMIT_CORE, 1ull << 40 }, PROGRAMS(0), true },
	{ "setrlimit", 160, 164, { RLIMIT_AS, 8, 0 }, EVERYBODY(OK), false },
	{ "setrlimit, core", 160, 164, { RLIMIT_CORE, 8, 0 }, PROGRAMS(0), false },
	{ "own processors", 203, 122, { 0, 8, 8 }, EVERYBODY(OK), false },
	{ "processors of a thread", 203, 122, { 7, 8, 8 }, EVERYBODY(OK), false },
	{ "processors of PID 1", 203, 122, { 1, 8, 8 }, PROGRAMS(EPERM), false },
	{ "scheduler of PID 1", 144, 119, { 1, 0, 8 }, PROGRAMS(EPERM), false },
	{ "sched_setattr of PID 1", 314, 274, { 1, 8, 0 }, PROGRAMS(EPERM), false },
	{ "sched_setparam of PID 1", 142, 118, { 1, 8, 0 }, PROGRAMS(EPERM), false },
	{ "be nice", 141, 140, { PRIO_PROCESS, 0, 5 }, EVERYBODY(OK), false },
	{ "make PID 1 nice", 141, 140, { PRIO_PROCESS, 1, 5 }, PROGRAMS(EPERM), false },
	{ "make all nice", 141, 140, { PRIO_USER, 0, 5 }, PROGRAMS(EPERM), false },
	{ "own I/O priority", 251, 30, { 1, 0, 0 }, EVERYBODY(OK), false },
	{ "I/O priority of PID 1", 251, 30, { 1, 1, 0 }, PROGRAMS(EPERM), false },
	{ "I/O priority of all", 251, 30, { 3, 0, 0 }, PROGRAMS(EPERM), false },

	{ "personality?", 135, 92, { 0xffffffff, 0, 0 }, EVERYBODY(OK), false },
	{ "PER_LINUX32", 135, 92, { 8, 0, 0 }, EVERYBODY(OK), false },
	{ "UNAME26", 135, 92, { 0x20000, 0, 0 }, EVERYBODY(OK), false },
	{ "ADDR_NO_RANDOMIZE", 135, 92, { 0x40000, 0, 0 }, TO_DEBUG, false },
	{ "READ_IMPLIES_EXEC", 135, 92, { 0x400000, 0, 0 }, EVERYBODY(EPERM), false },
	{ "a filter", 317, 277, { 1, 0, 0 }, EVERYBODY(OK), false },
	{ "a filter that asks", 317, 277, { 1, 8, 0 }, EVERYBODY(EPERM), false },
	{ "a filter that asks, too", 317, 277, { 1, 9, 0 }, EVERYBODY(EPERM), false },
	PRCTL("PR_SET_NAME", PR_SET_NAME, OK),
	PRCTL("PR_SET_MM", PR_SET_MM, EPERM),
	PRCTL("PR_SET_IO_FLUSHER", 57, EPERM),
	PRCTL("PR_SCHED_CORE", 62, EPERM),
	PRCTL("PR_SET_MEMORY_MERGE", 67, EPERM),
	PRCTL("PR_FUTEX_HASH", 78, EINVAL),
	{ "a record lock", 72, 25, { 3, F_SETLK, 0 }, ALL_AND_WORKERS(OK), false },
	{ "F_OFD_GETLK", 72, 25, { 3, F_OFD_GETLK, 0 }, ALL_AND_WORKERS(EINVAL), false },
	{ "F_OFD_SETLK", 72, 25, { 3, F_OFD_SETLK, 0 }, ALL_AND_WORKERS(EINVAL), false },
	{ "F_OFD_SETLKW", 72, 25, { 3, F_OFD_SETLKW, 0 }, ALL_AND_WORKERS(EINVAL), false },
	{ "a memfd", 319, 279, { 8, 3, 0 }, EVERYBODY(OK), false },
	{ "a memfd of huge pages", 319, 279, { 8, 4, 0 }, EVERYBODY(EPERM), false },
	{ "a segment of huge pages", 29, 194, { 0, 4096, 04600 }, EVERYBODY(EPERM), false },
	{ "memory", 9, 222, { 0, 4096, 3 }, ALL_AND_WORKERS(OK), false },
	{ "code", 9, 222, { 0, 4096, 5 }, { OK, OK, OK, OK, EPERM }, false },
	{ "memory becomes code", 10, 226, { 0, 4096, 5 }, { OK, OK, OK, OK, EPERM }, false },
};
