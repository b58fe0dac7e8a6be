#include "engine/filter/filter_table.h"

#include <asm/ioctls.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/prctl.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/attr.h"

enum {
	PROGRAMS = FOR_STANDARD | FOR_STRICT | FOR_DEBUG,
	NOT_STRICT = FOR_STANDARD | FOR_DEBUG,
	/* A program inherits the agent's filter, so the agent may do what any program may. */
	ALL = PROGRAMS | FOR_AGENT,
	ALL_BUT_STRICT = NOT_STRICT | FOR_AGENT,
	/* Processes that execute no program of a user, and so never need new executable memory. */
	NO_NEW_CODE = FOR_WORKERS | FOR_SERVER | FOR_PORTER,
	/* The agents that the porter starts on the host have workers as well. */
	WORKERS_TOO = ALL | FOR_WORKERS | FOR_PORTER,
};

const struct filter_class filter_classes[] = {
	/* Memory, time and the process itself: needed by every C program, also by workers, which
	 * parse archives from a sandbox and so may be taken over by their input. */
	{ WORKERS_TOO, EPERM,
	  "brk mmap munmap mremap mprotect madvise clock_gettime clock_nanosleep gettimeofday "
	  "nanosleep getrandom futex sched_yield getpid gettid getuid geteuid getgid getegid "
	  "rt_sigaction rt_sigprocmask rt_sigreturn sigaltstack restart_syscall exit exit_group" },
	/* Files, as far as the file operations of workers need them. */
	{ WORKERS_TOO, EPERM,
	  "open openat openat2 close read readv pread64 write writev pwrite64 lseek fstat "
	  "newfstatat stat lstat statx statfs fstatfs getdents64 readlinkat faccessat faccessat2 "
	  "fcntl fchmod fchmodat fchmodat2=452 ftruncate fsync fdatasync linkat symlinkat mkdirat "
	  "unlinkat renameat renameat2 utimensat" },
	/* Messages over the socket that a worker got from the agent. */
	{ WORKERS_TOO, EPERM, "poll ppoll sendto sendmsg recvfrom recvmsg" },

	/* Further file calls. Access is limited by the sandbox's mounts and ids, not here. */
	{ ALL, EPERM,
	  "access chdir close_range copy_file_range dup dup2 dup3 fadvise64 fallocate fchdir flock "
	  "getcwd link mkdir preadv pwritev readlink rename rmdir sendfile shutdown symlink "
	  "sysinfo umask uname unlink" },
	{ ALL, EPERM,
	  "chmod chown creat fchown fchownat lchown getdents mknod mknodat truncate utimes "
	  "preadv2 pwritev2 fgetxattr flistxattr fremovexattr fsetxattr getxattr getxattrat=464 "
	  "lgetxattr listxattr listxattrat=465 llistxattr lremovexattr lsetxattr removexattr "
	  "removexattrat=466 setxattr setxattrat=463 inotify_add_watch inotify_init inotify_init1 "
	  "inotify_rm_watch pipe pipe2 ioctl memfd_create" },
	/* Processes, threads and signals. The pid namespace limits which processes can be named;
	 * clone is restricted by a rule below, because its flags create namespaces. */
	{ ALL, EPERM,
	  "clone fork vfork execve execveat wait4 waitid kill tkill tgkill rt_sigqueueinfo "
	  "rt_tgsigqueueinfo rt_sigpending rt_sigsuspend rt_sigtimedwait pause pidfd_open "
	  "pidfd_send_signal signalfd signalfd4 setsid getsid setpgid getpgid getpgrp getppid "
	  "set_tid_address set_robust_list get_robust_list rseq membarrier getcpu "
	  "futex_requeue=456 futex_wait=455 futex_waitv=449 futex_wake=454 arch_prctl "
	  "get_thread_area set_thread_area" },
	/* Sockets and waiting for events. Address families and socket options are restricted by
	 * rules below: they lead to most of the kernel's network code. */
	{ ALL, EPERM,
	  "accept accept4 bind connect getpeername getsockname getsockopt listen recvmmsg sendmmsg "
	  "setsockopt socket socketpair epoll_create epoll_create1 epoll_ctl epoll_pwait "
	  "epoll_pwait2 epoll_wait eventfd eventfd2 pselect6 select" },
	/* Ids, limits and scheduling. The user namespace has no other ids to change to; rules below
	 * protect the agent's own limits and scheduling. */
	{ ALL, EPERM,
	  "capget getgroups getresgid getresuid setgid setgroups setregid setresgid setresuid "
	  "setreuid setuid personality prctl seccomp getrlimit setrlimit prlimit64 getrusage times "
	  "getpriority setpriority ioprio_get ioprio_set sched_get_priority_max "
	  "sched_get_priority_min sched_getaffinity sched_getattr sched_getparam "
	  "sched_getscheduler sched_rr_get_interval sched_setaffinity sched_setattr "
	  "sched_setparam sched_setscheduler" },
	/* Locked memory (limited by RLIMIT_MEMLOCK and the cgroup) and timers. */
	{ ALL, EPERM,
	  "mlock mlock2 mlockall munlock munlockall mseal=462 msync pkey_alloc pkey_free "
	  "pkey_mprotect clock_getres getitimer setitimer timer_create timer_delete "
	  "timer_getoverrun timer_gettime timer_settime timerfd_create timerfd_gettime "
	  "timerfd_settime" },

	/* Rarely needed by programs, and each with a history of kernel bugs: System V and POSIX
	 * message queues, Landlock. The filter "strict" does without them. */
	{ ALL_BUT_STRICT, EPERM,
	  "alarm time utime futimesat capset setfsgid setfsuid landlock_add_rule "
	  "landlock_create_ruleset landlock_restrict_self map_shadow_stack=453 mincore "
	  "mq_getsetattr mq_notify mq_open "
	  "mq_timedreceive mq_timedsend mq_unlink msgctl msgget msgrcv msgsnd readahead semctl "
	  "semget semop semtimedop shmat shmctl shmdt shmget sync_file_range" },
	/* Pipes that refer to pages of the page cache: "Dirty Pipe" (CVE-2022-0847) wrote through
	 * them into files that were open for reading only. On EINVAL, programs copy with read and
	 * write instead. */
	{ ALL_BUT_STRICT, EINVAL, "splice tee vmsplice" },
	/* Debugging: ptrace has had many races, and gives one process control of another. */
	{ FOR_DEBUG | FOR_AGENT, EPERM, "ptrace process_vm_readv process_vm_writev" },

	/* Both write out whole file systems, which stalls the disk for every process on the
	 * machine. The calls return success without doing anything. */
	{ 0, 0, "sync syncfs" },
	/* clone3 and io_uring take their arguments from memory, where a filter cannot see them and
	 * where another thread can change them after the check. Keyrings outlive processes and have
	 * a history of kernel bugs. userfaultfd lets a program stop the kernel in the middle of a
	 * copy, which turns races into reliable exploits. cachestat tells which pages of shared
	 * files others have read. The requests that io_setup reserves count against fs.aio-max-nr,
	 * one limit for the whole machine, which one sandbox could use up. ENOSYS: programs fall
	 * back to older calls, as on an older kernel. */
	{ 0, ENOSYS,
	  "clone3 io_uring_setup io_uring_enter io_uring_register io_setup io_submit io_cancel "
	  "io_destroy io_getevents io_pgetevents keyctl add_key request_key userfaultfd "
	  "cachestat=451 rseq_slice_yield=471" },
	/* Mounts and new roots: the way to hide or replace the sandbox's read-only mounts, and,
	 * with a user namespace, the largest attack surface for unprivileged code. */
	{ 0, EPERM,
	  "mount umount2 pivot_root chroot mount_setattr move_mount open_tree open_tree_attr=467 "
	  "fsopen fsconfig fsmount fspick listmount=458 statmount=457" },
	/* Entering or listing namespaces. A new user namespace would give full capabilities in it,
	 * and with them kernel code that otherwise only root reaches. */
	{ 0, EPERM, "setns unshare listns=470" },
	/* Files by handle instead of by path (the escape "shocker" of early containers), watches
	 * of whole mounts, attributes such as project ids (which the disk quota counts by), quotas,
	 * swap and accounting. */
	{ 0, EPERM,
	  "name_to_handle_at open_by_handle_at fanotify_init fanotify_mark file_getattr=468 "
	  "file_setattr=469 quotactl quotactl_fd swapon swapoff acct sysfs ustat" },
	/* Programs in the kernel (BPF) and its probes, performance counters (side channels), other
	 * processes' descriptors and memory, and memory that the cgroup cannot reclaim. */
	{ 0, EPERM,
	  "bpf perf_event_open kcmp pidfd_getfd process_madvise process_mrelease memfd_secret "
	  "uretprobe=335 uprobe=336" },
	/* Memory layout that only special programs use: segment descriptors, nonlinear mappings
	 * and placement on NUMA nodes, which would take memory of nodes others rely on. */
	{ 0, EPERM,
	  "modify_ldt remap_file_pages get_mempolicy set_mempolicy set_mempolicy_home_node=450 "
	  "mbind migrate_pages move_pages" },
	/* Security modules: attributes that could change the confinement of a process. */
	{ 0, EPERM, "lsm_get_self_attr=459 lsm_set_self_attr=460 lsm_list_modules=461" },
	/* The machine as a whole: clock, modules, ports, kexec, host name, log, reboot. The
	 * capabilities for these are gone as well. */
	{ 0, EPERM,
	  "_sysctl adjtimex clock_adjtime clock_settime settimeofday create_module delete_module "
	  "finit_module get_kernel_syms init_module query_module ioperm iopl kexec_file_load "
	  "kexec_load lookup_dcookie nfsservctl reboot setdomainname sethostname syslog uselib "
	  "vhangup" },
	/* Numbers of x86_64 that no kernel implements any more. */
	{ 0, EPERM,
	  "epoll_ctl_old epoll_wait_old afs_syscall getpmsg putpmsg security tuxcall vserver" },
};
const size_t filter_class_count = ARRAY_LEN(filter_classes);

/* Tests of an argument: its low half equals `value`, with or without a mask; a pointer is NULL. */
#define IS(arg, value)                                                                             \
	{                                                                                          \
		(arg), 0, UINT32_MAX, (value)                                                      \
	}
#define BITS(arg, mask, value)                                                                     \
	{                                                                                          \
		(arg), 0, (mask), (value)                                                          \
	}
#define NULL_AT(arg)                                                                               \
	IS(arg, 0),                                                                                \
	{                                                                                          \
		(arg), 1, UINT32_MAX, 0                                                            \
	}
/* Rules: with tests, or for all cases that no earlier rule has decided. */
#define ALLOW(call, callers, ...)                                                                  \
	{                                                                                          \
		call, callers, FILTER_ALLOW,                                                       \
		{                                                                                  \
			__VA_ARGS__                                                                \
		}                                                                                  \
	}
#define DENY(call, callers, why, ...)                                                              \
	{                                                                                          \
		call, callers, why,                                                                \
		{                                                                                  \
			__VA_ARGS__                                                                \
		}                                                                                  \
	}
#define DENY_REST(call, callers, why)                                                              \
	{                                                                                          \
		call, callers, why,                                                                \
		{                                                                                  \
			{                                                                          \
				0                                                                  \
			}                                                                          \
		}                                                                                  \
	}

/* Argument 0 is a process. The agent is PID 1, and in the mode with a single id it runs as the same
 * user as the programs, which could otherwise lower its limits or its priority. */
#define NOT_ON_AGENT(call) DENY(call, PROGRAMS, EPERM, IS(0, 1))

/* TCP and UDP, and no other protocol: SCTP, DCCP, MPTCP and the like load modules on demand. */
#define INTERNET(family, type)                                                                     \
	ALLOW("socket", ALL, IS(0, family), BITS(1, 0xf, type), IS(2, 0)),                         \
	        ALLOW("socket", ALL, IS(0, family), BITS(1, 0xf, type), IS(2, IPPROTO_TCP)),       \
	        ALLOW("socket", ALL, IS(0, family), BITS(1, 0xf, type), IS(2, IPPROTO_UDP))

#define NAMESPACES                                                                                 \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER |             \
	 CLONE_NEWPID | CLONE_NEWNET)

enum { EXECUTABLE = 4, OPEN_FILE = 0x1000 }; /* PROT_EXEC, AT_EMPTY_PATH */

/* Options that replace the tables of netfilter: IPT_SO_SET_REPLACE (64), ARPT_ (96), EBT_ (128) and
 * IP6T_ (64), and the number after each, which adds counters. The kernel parses complex structures
 * for these options, which led to CVE-2021-22555. */
#define NETFILTER(level, option) DENY("setsockopt", ALL, EPERM, IS(1, level), BITS(2, ~1u, option))

#define NO_MULTICAST(level, option) DENY("setsockopt", ALL, ENODEV, IS(1, level), IS(2, option))

/* The ioctls of XFS that reserve disk space, which all file systems understand: see fallocate
 * below. */
#define RESERVE(number) DENY("ioctl", PROGRAMS, EOPNOTSUPP, IS(1, 0x40305800 | (number)))

/* In the filter "strict" and the server's, only these ioctls are allowed: ioctl reaches every
 * driver. The server sets the mode of its terminal and reads its size. */
#define STRICT_IOCTL(command)   ALLOW("ioctl", FOR_STRICT, IS(1, command))
#define TERMINAL_IOCTL(command) ALLOW("ioctl", FOR_STRICT | FOR_SERVER, IS(1, command))

const struct filter_rule filter_rules[] = {
	/* Address families. Others (packet, vsock, Bluetooth, CAN, AF_ALG, ...) load modules on
	 * demand and have had many bugs; the sandbox has no use for them. Netlink is refused
	 * because no cgroup counts the replies that a program does not read. C libraries and
	 * language runtimes treat EAFNOSUPPORT as "there are no interfaces" or ask with
	 * ioctl(2). */
	ALLOW("socket", ALL, IS(0, AF_UNIX)),
	INTERNET(AF_INET, SOCK_STREAM),
	INTERNET(AF_INET, SOCK_DGRAM),
	INTERNET(AF_INET6, SOCK_STREAM),
	INTERNET(AF_INET6, SOCK_DGRAM),
	DENY_REST("socket", ALL, EAFNOSUPPORT),
	/* Resolvers are asked over UDP and TCP, or over a socket of the local machine; netlink
	 * (ROUTE is number 0) tells the addresses of this machine, which the dialer refuses. */
	ALLOW("socket", FOR_DIALER | FOR_MIRROR, IS(0, AF_UNIX)),
	ALLOW("socket", FOR_DIALER | FOR_MIRROR, IS(0, AF_NETLINK), IS(2, 0)),
	ALLOW("socket", FOR_DIALER | FOR_MIRROR, IS(0, AF_INET), BITS(1, 0xf, SOCK_STREAM)),
	ALLOW("socket", FOR_DIALER | FOR_MIRROR, IS(0, AF_INET), BITS(1, 0xf, SOCK_DGRAM)),
	ALLOW("socket", FOR_DIALER | FOR_MIRROR, IS(0, AF_INET6), BITS(1, 0xf, SOCK_STREAM)),
	ALLOW("socket", FOR_DIALER | FOR_MIRROR, IS(0, AF_INET6), BITS(1, 0xf, SOCK_DGRAM)),
	DENY_REST("socket", FOR_DIALER | FOR_MIRROR, EAFNOSUPPORT),
	/* One end of a datagram pair could be connected to a socket of another program by name. */
	DENY("socketpair", FOR_PORTER, EPERM, BITS(1, 0xf, SOCK_DGRAM)),
	ALLOW("socketpair", ALL | FOR_PORTER | FOR_DIALER | FOR_MIRROR, IS(0, AF_UNIX)),
	DENY_REST("socketpair", ALL | FOR_PORTER | FOR_DIALER | FOR_MIRROR, EAFNOSUPPORT),

	/* TCP_ULP and SOL_ALG load modules; NETFILTER() says why its options are refused. */
	DENY("setsockopt", ALL, EPERM, IS(1, IPPROTO_TCP), IS(2, 31)), /* TCP_ULP */
	DENY("setsockopt", ALL, EPERM, IS(1, 279)),                    /* SOL_ALG */
	NETFILTER(IPPROTO_IP, 64),
	NETFILTER(IPPROTO_IP, 96),
	NETFILTER(IPPROTO_IP, 128),
	NETFILTER(IPPROTO_IPV6, 64),
	/* Filters are programs that run in the kernel. Their compiled code counts against
	 * net.core.bpf_jit_limit, which the whole machine shares. */
	DENY("setsockopt", ALL, EPERM, IS(1, SOL_SOCKET), IS(2, SO_ATTACH_FILTER)),
	DENY("setsockopt", ALL, EPERM, IS(1, SOL_SOCKET), IS(2, SO_ATTACH_BPF)),
	DENY("setsockopt", ALL, EPERM, IS(1, SOL_SOCKET), IS(2, SO_ATTACH_REUSEPORT_CBPF)),
	DENY("setsockopt", ALL, EPERM, IS(1, SOL_SOCKET), IS(2, SO_ATTACH_REUSEPORT_EBPF)),
	/* Memory that no cgroup counts, per key, flow label or option: the machine has 4096 flow
	 * labels in all, and a socket can have thousands of keys. */
	DENY("setsockopt", ALL, EPERM, IS(1, IPPROTO_TCP), IS(2, TCP_MD5SIG)),
	DENY("setsockopt", ALL, EPERM, IS(1, IPPROTO_TCP), IS(2, TCP_MD5SIG_EXT)),
	DENY("setsockopt", ALL, EPERM, IS(1, IPPROTO_TCP), IS(2, 38)),  /* TCP_AO_ADD_KEY */
	DENY("setsockopt", ALL, EPERM, IS(1, IPPROTO_IPV6), IS(2, 32)), /* IPV6_FLOWLABEL_MGR */
	DENY("setsockopt", ALL, EPERM, IS(1, IPPROTO_IPV6), IS(2, IPV6_2292PKTOPTIONS)),
	/* Each multicast group is a list entry of the interface that no cgroup counts. ENODEV is
	 * what the kernel answers where no interface has multicast, as in the sandbox. */
	NO_MULTICAST(IPPROTO_IP, IP_ADD_MEMBERSHIP),
	NO_MULTICAST(IPPROTO_IP, IP_ADD_SOURCE_MEMBERSHIP),
	NO_MULTICAST(IPPROTO_IP, IP_MSFILTER),
	NO_MULTICAST(IPPROTO_IP, MCAST_JOIN_GROUP),
	NO_MULTICAST(IPPROTO_IP, MCAST_JOIN_SOURCE_GROUP),
	NO_MULTICAST(IPPROTO_IP, MCAST_MSFILTER),
	NO_MULTICAST(IPPROTO_IPV6, IPV6_JOIN_GROUP),
	NO_MULTICAST(IPPROTO_IPV6, IPV6_JOIN_ANYCAST),
	NO_MULTICAST(IPPROTO_IPV6, MCAST_JOIN_GROUP),
	NO_MULTICAST(IPPROTO_IPV6, MCAST_JOIN_SOURCE_GROUP),
	NO_MULTICAST(IPPROTO_IPV6, MCAST_MSFILTER),
	ALLOW("setsockopt", FOR_SERVER, IS(1, SOL_SOCKET), IS(2, SO_OOBINLINE)),
	DENY_REST("setsockopt", FOR_SERVER, EPERM),
	ALLOW("getsockopt", FOR_SERVER, IS(1, SOL_SOCKET), IS(2, SO_PEERCRED)),
	DENY_REST("getsockopt", FOR_SERVER, EPERM),
	/* The server's sockets are connected. An address would let a server that was taken over
	 * send to other programs' sockets. */
	ALLOW("sendto", FOR_SERVER, NULL_AT(4)),
	DENY_REST("sendto", FOR_SERVER, EPERM),

	/* A new user namespace would give all capabilities inside it. */
	ALLOW("clone", ALL | FOR_PORTER | FOR_DIALER | FOR_MIRROR, BITS(0, NAMESPACES, 0)),
	DENY_REST("clone", ALL | FOR_PORTER | FOR_DIALER | FOR_MIRROR, EPERM),

	/* TIOCSTI and TIOCLINUX type into a terminal, so that the shell of another process executes
	 * the text; TIOCSETD loads line disciplines; TIOCCONS takes over the console's output. */
	DENY("ioctl", ALL, EPERM, IS(1, TIOCSTI)),
	DENY("ioctl", ALL, EPERM, IS(1, TIOCLINUX)),
	DENY("ioctl", ALL, EPERM, IS(1, TIOCSETD)),
	DENY("ioctl", ALL, EPERM, IS(1, TIOCCONS)),
	/* XFS_IOC_RESVSP, RESVSP64 and ZERO_RANGE */
	RESERVE(40),
	RESERVE(42),
	RESERVE(57),
	/* The flags of a file: FS_SYNC_FL would make every write to it wait for the host's disk,
	 * and the project id is what the disk quota counts by. */
	DENY("ioctl", PROGRAMS, EOPNOTSUPP, IS(1, FS_IOC_SETFLAGS)),
	DENY("ioctl", PROGRAMS, EOPNOTSUPP, IS(1, FS_IOC_FSSETXATTR)),
	TERMINAL_IOCTL(TCGETS),
	TERMINAL_IOCTL(TCSETS),
	TERMINAL_IOCTL(TCSETSW),
	TERMINAL_IOCTL(TCSETSF),
	TERMINAL_IOCTL(0x802c542a), /* TCGETS2, TCSETS2, TCSETSW2, TCSETSF2 */
	TERMINAL_IOCTL(0x402c542b),
	TERMINAL_IOCTL(0x402c542c),
	TERMINAL_IOCTL(0x402c542d),
	STRICT_IOCTL(TCSBRK),
	STRICT_IOCTL(TCXONC),
	STRICT_IOCTL(TCFLSH),
	TERMINAL_IOCTL(TIOCGWINSZ),
	STRICT_IOCTL(TIOCSWINSZ),
	STRICT_IOCTL(TIOCGPGRP),
	STRICT_IOCTL(TIOCSPGRP),
	STRICT_IOCTL(TIOCGSID),
	STRICT_IOCTL(TIOCSCTTY),
	STRICT_IOCTL(TIOCNOTTY),
	STRICT_IOCTL(TIOCOUTQ),
	STRICT_IOCTL(TIOCGPTN),
	STRICT_IOCTL(TIOCSPTLCK),
	STRICT_IOCTL(TIOCGPTLCK),
	STRICT_IOCTL(TIOCGPTPEER),
	STRICT_IOCTL(FIONREAD),
	STRICT_IOCTL(FIONBIO),
	STRICT_IOCTL(FIOASYNC),
	STRICT_IOCTL(FIOCLEX),
	STRICT_IOCTL(FIONCLEX),
	STRICT_IOCTL(FIOQSIZE),
	STRICT_IOCTL(FICLONE),
	STRICT_IOCTL(FICLONERANGE),
	/* C libraries read the network interfaces with these where netlink is refused. */
	STRICT_IOCTL(SIOCGIFNAME),
	STRICT_IOCTL(SIOCGIFCONF),
	STRICT_IOCTL(SIOCGIFFLAGS),
	STRICT_IOCTL(SIOCGIFADDR),
	STRICT_IOCTL(SIOCGIFDSTADDR),
	STRICT_IOCTL(SIOCGIFBRDADDR),
	STRICT_IOCTL(SIOCGIFNETMASK),
	STRICT_IOCTL(SIOCGIFMTU),
	STRICT_IOCTL(SIOCGIFHWADDR),
	STRICT_IOCTL(SIOCGIFINDEX),
	/* The resolver asks how long an answer is. */
	ALLOW("ioctl", FOR_DIALER | FOR_MIRROR, IS(1, FIONREAD)),
	DENY_REST("ioctl", FOR_STRICT | FOR_SERVER | FOR_DIALER | FOR_MIRROR, EPERM),

	/* No device nodes. A character device 0:0 is a whiteout of an overlay: it would delete a
	 * file of a lower layer at the next mount. */
	ALLOW("mknod", ALL, BITS(1, S_IFMT, 0)),
	ALLOW("mknod", ALL, BITS(1, S_IFMT, S_IFREG)),
	ALLOW("mknod", ALL, BITS(1, S_IFMT, S_IFIFO)),
	ALLOW("mknod", ALL, BITS(1, S_IFMT, S_IFSOCK)),
	DENY_REST("mknod", ALL, EPERM),
	ALLOW("mknodat", ALL, BITS(2, S_IFMT, 0)),
	ALLOW("mknodat", ALL, BITS(2, S_IFMT, S_IFREG)),
	ALLOW("mknodat", ALL, BITS(2, S_IFMT, S_IFIFO)),
	ALLOW("mknodat", ALL, BITS(2, S_IFMT, S_IFSOCK)),
	DENY_REST("mknodat", ALL, EPERM),

	/* fallocate reserves a whole disk in a moment. Where the disk limit is measured instead of
	 * enforced by a quota, the measurement would come too late. Only punching holes and
	 * collapsing, which give space back, are allowed; posix_fallocate() falls back to writing
	 * zeros. */
	DENY("fallocate", PROGRAMS, EOPNOTSUPP, BITS(1, 0x0a, 0)),

	/* The root is an overlay mounted "volatile", on which fsync has no effect. But a mapping is
	 * one of the file below the overlay, and msync would commit the journal of the host's file
	 * system. MS_ASYNC does nothing in the kernel but check the addresses, which programs
	 * use. */
	DENY("msync", PROGRAMS, 0, BITS(2, MS_SYNC, MS_SYNC)),

	/* child_setup.c sets RLIMIT_CORE to 1: the kernel then starts no core dump handler of the
	 * host for the process, while with 0 a piped core_pattern is still executed. A program that
	 * sets the limit gets success without effect; reading it is allowed. */
	NOT_ON_AGENT("prlimit64"),
	ALLOW("prlimit64", PROGRAMS, IS(1, RLIMIT_CORE), NULL_AT(2)),
	DENY("prlimit64", PROGRAMS, 0, IS(1, RLIMIT_CORE)),
	DENY("setrlimit", PROGRAMS, 0, IS(0, RLIMIT_CORE)),
	NOT_ON_AGENT("sched_setaffinity"),
	NOT_ON_AGENT("sched_setscheduler"),
	NOT_ON_AGENT("sched_setattr"),
	NOT_ON_AGENT("sched_setparam"),
	/* PRIO_USER and IOPRIO_WHO_USER would reach the agent where it has the same user. */
	DENY("setpriority", PROGRAMS, EPERM, IS(0, PRIO_USER)),
	DENY("setpriority", PROGRAMS, EPERM, IS(1, 1)),
	DENY("ioprio_set", PROGRAMS, EPERM, IS(0, 3)), /* IOPRIO_WHO_USER */
	DENY("ioprio_set", PROGRAMS, EPERM, IS(1, 1)),

	/* Personalities change how the kernel treats a process: READ_IMPLIES_EXEC and
	 * MMAP_PAGE_ZERO undo protections, other systems' personalities are untested code.
	 * Debuggers switch off the randomization of addresses. */
	ALLOW("personality", ALL, IS(0, PER_LINUX)),
	ALLOW("personality", ALL, IS(0, PER_LINUX32)),
	ALLOW("personality", ALL, IS(0, UNAME26)),
	ALLOW("personality", ALL, IS(0, PER_LINUX32 | UNAME26)),
	ALLOW("personality", ALL, IS(0, UINT32_MAX)), /* reads the personality */
	ALLOW("personality", FOR_DEBUG | FOR_AGENT, IS(0, ADDR_NO_RANDOMIZE)),
	DENY_REST("personality", ALL, EPERM),

	/* A listener would let a program answer the system calls of another. */
	DENY("seccomp", ALL | FOR_PORTER, EPERM,
	     BITS(1, SECCOMP_FILTER_FLAG_NEW_LISTENER, SECCOMP_FILTER_FLAG_NEW_LISTENER)),
	/* PR_SET_MM falsifies what /proc shows of a process; PR_SET_IO_FLUSHER takes memory
	 * reserves; PR_SCHED_CORE keeps others off a processor core; merging memory (KSM) is a side
	 * channel. */
	DENY("prctl", ALL | FOR_PORTER, EPERM, IS(0, PR_SET_MM)),
	DENY("prctl", ALL | FOR_PORTER, EPERM, IS(0, PR_SET_IO_FLUSHER)),
	DENY("prctl", ALL | FOR_PORTER, EPERM, IS(0, PR_SCHED_CORE)),
	DENY("prctl", ALL | FOR_PORTER, EPERM, IS(0, 67)), /* PR_SET_MEMORY_MERGE */
	/* PR_FUTEX_HASH: one call makes a table of any size in kernel memory, which counts only
	 * where there is a memory cgroup. EINVAL, as before Linux 6.16. */
	DENY("prctl", ALL, EINVAL, IS(0, 78)),

	/* F_OFD_GETLK, F_OFD_SETLK and F_OFD_SETLKW. The kernel's memory for file locks counts in
	 * no cgroup, and /proc does not show these locks while their file is only mapped or in
	 * transit, so the spawner could not count them as it counts those of F_SETLK. EINVAL, as
	 * before Linux 3.15. */
	DENY("fcntl", WORKERS_TOO, EINVAL, IS(1, F_OFD_GETLK)),
	DENY("fcntl", WORKERS_TOO, EINVAL, IS(1, F_OFD_SETLK)),
	DENY("fcntl", WORKERS_TOO, EINVAL, IS(1, F_OFD_SETLKW)),

	/* Huge pages come from a pool of the host, which the memory cgroup does not count. The
	 * flags are MAP_HUGETLB, MFD_HUGETLB and SHM_HUGETLB; the errors are those of an empty pool
	 * and of a user without the right to use it. */
	DENY("mmap", WORKERS_TOO, ENOMEM, BITS(3, 0x40000, 0x40000)),
	DENY("memfd_create", ALL, EPERM, BITS(1, 4, 4)),
	DENY("shmget", ALL_BUT_STRICT, EPERM, BITS(2, 04000, 04000)),

	/* A worker, a server or a porter that was taken over cannot add code of its own. */
	DENY("mmap", NO_NEW_CODE, EPERM, BITS(2, EXECUTABLE, EXECUTABLE)),
	DENY("mprotect", NO_NEW_CODE, EPERM, BITS(2, EXECUTABLE, EXECUTABLE)),
	/* The porter executes nothing by name. Of the open files that execveat() can name, Landlock
	 * lets it execute the agent's program alone. */
	ALLOW("execveat", FOR_PORTER, IS(4, OPEN_FILE)),
	DENY_REST("execveat", FOR_PORTER, EPERM),

	/* raise() and abort() call tgkill, or tkill in other C libraries. F_SETOWN, F_SETSIG and
	 * F_SETOWN_EX would make the kernel send signals to another process. */
	ALLOW("tgkill", FOR_SERVER, IS(0, FILTER_OWN_PID)),
	DENY_REST("tgkill", FOR_SERVER, EPERM),
	ALLOW("tkill", FOR_SERVER, IS(0, FILTER_OWN_PID)),
	DENY_REST("tkill", FOR_SERVER, EPERM),
	DENY("fcntl", FOR_SERVER, EPERM, IS(1, F_SETOWN)),
	DENY("fcntl", FOR_SERVER, EPERM, IS(1, F_SETSIG)),
	DENY("fcntl", FOR_SERVER, EPERM, IS(1, F_SETOWN_EX)),
	ALLOW("prlimit64", FOR_SERVER, IS(0, 0)),
	DENY_REST("prlimit64", FOR_SERVER, EPERM),
};
const size_t filter_rule_count = ARRAY_LEN(filter_rules);
