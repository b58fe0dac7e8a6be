#include "engine/filter/filter_table.h"

#include <asm/ioctls.h>
#include <errno.h>
#include <linux/fs.h>
#include <linux/prctl.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/attr.h"

enum {
	PROGRAMS = FOR_STANDARD | FOR_STRICT | FOR_DEBUG,
	LENIENT = FOR_STANDARD | FOR_DEBUG,
	/* Filters add up: what a program may the agent may. */
	ALL = PROGRAMS | FOR_AGENT,
	ALL_BUT_STRICT = LENIENT | FOR_AGENT,
	FILES_TOO = ALL | FOR_FILES,
};

const struct filter_class filter_classes[] = {
	/* memory, time, oneself */
	{ FILES_TOO, EPERM,
	  "brk mmap munmap mremap mprotect madvise clock_gettime clock_nanosleep gettimeofday "
	  "nanosleep getrandom futex sched_yield getpid gettid getuid geteuid getgid getegid "
	  "rt_sigaction rt_sigprocmask rt_sigreturn sigaltstack restart_syscall exit exit_group" },
	/* files */
	{ FILES_TOO, EPERM,
	  "open openat openat2 close read readv pread64 write writev pwrite64 lseek fstat "
	  "newfstatat "
	  "stat lstat statx statfs fstatfs getdents64 readlinkat faccessat faccessat2 fcntl fchmod "
	  "fchmodat fchmodat2=452 ftruncate fsync fdatasync linkat symlinkat mkdirat unlinkat "
	  "renameat renameat2 utimensat" },
	/* the way back to the agent */
	{ FILES_TOO, EPERM, "poll ppoll sendto sendmsg recvfrom recvmsg" },

	{ ALL, EPERM,
	  "access chdir close_range copy_file_range dup dup2 dup3 fadvise64 fallocate fchdir flock "
	  "getcwd link mkdir preadv pwritev readlink rename rmdir sendfile shutdown symlink "
	  "sysinfo "
	  "umask uname unlink" },
	{ ALL, EPERM,
	  "chmod chown creat fchown fchownat lchown getdents mknod mknodat truncate utimes "
	  "preadv2 pwritev2 fgetxattr flistxattr fremovexattr fsetxattr getxattr getxattrat=464 "
	  "lgetxattr listxattr listxattrat=465 llistxattr lremovexattr lsetxattr removexattr "
	  "removexattrat=466 setxattr setxattrat=463 inotify_add_watch inotify_init inotify_init1 "
	  "inotify_rm_watch pipe pipe2 ioctl memfd_create" },
	{ ALL, EPERM,
	  "clone fork vfork execve execveat wait4 waitid kill tkill tgkill rt_sigqueueinfo "
	  "rt_tgsigqueueinfo rt_sigpending rt_sigsuspend rt_sigtimedwait pause pidfd_open "
	  "pidfd_send_signal signalfd signalfd4 setsid getsid setpgid getpgid getpgrp getppid "
	  "set_tid_address set_robust_list get_robust_list rseq membarrier getcpu "
	  "futex_requeue=456 "
	  "futex_wait=455 futex_waitv=449 futex_wake=454 arch_prctl get_thread_area "
	  "set_thread_area" },
	{ ALL, EPERM,
	  "accept accept4 bind connect getpeername getsockname getsockopt listen recvmmsg sendmmsg "
	  "setsockopt socket socketpair epoll_create epoll_create1 epoll_ctl epoll_pwait "
	  "epoll_pwait2 epoll_wait eventfd eventfd2 pselect6 select" },
	{ ALL, EPERM,
	  "capget getgroups getresgid getresuid setgid setgroups setregid setresgid setresuid "
	  "setreuid setuid personality prctl seccomp getrlimit setrlimit prlimit64 getrusage times "
	  "getpriority setpriority ioprio_get ioprio_set sched_get_priority_max "
	  "sched_get_priority_min sched_getaffinity sched_getattr sched_getparam "
	  "sched_getscheduler sched_rr_get_interval sched_setaffinity sched_setattr "
	  "sched_setparam sched_setscheduler" },
	{ ALL, EPERM,
	  "mlock mlock2 mlockall munlock munlockall mseal=462 msync pkey_alloc pkey_free "
	  "pkey_mprotect clock_getres getitimer setitimer timer_create timer_delete "
	  "timer_getoverrun timer_gettime timer_settime timerfd_create timerfd_gettime "
	  "timerfd_settime" },

	{ ALL_BUT_STRICT, EPERM,
	  "alarm time utime futimesat capset setfsgid setfsuid io_cancel io_destroy io_getevents "
	  "io_pgetevents io_setup io_submit landlock_add_rule landlock_create_ruleset "
	  "landlock_restrict_self map_shadow_stack=453 mincore mq_getsetattr mq_notify mq_open "
	  "mq_timedreceive mq_timedsend mq_unlink msgctl msgget msgrcv msgsnd readahead semctl "
	  "semget semop semtimedop shmat shmctl shmdt shmget sync_file_range" },
	/* The way into the page cache. EINVAL: whoever copies this way does it another way then. */
	{ ALL_BUT_STRICT, EINVAL, "splice tee vmsplice" },
	{ FOR_DEBUG | FOR_AGENT, EPERM, "ptrace process_vm_readv process_vm_writev" },

	/* They are about the whole machine: nobody else's disk is to wait for it. */
	{ 0, 0, "sync syncfs" },
	/* Programs know kernels without these, and do it another way. What clone3 is asked for
	 * and what a ring does is in memory, where no filter can look. */
	{ 0, ENOSYS,
	  "clone3 io_uring_setup io_uring_enter io_uring_register keyctl add_key request_key "
	  "userfaultfd cachestat=451 rseq_slice_yield=471" },
	{ 0, EPERM,
	  "mount umount2 pivot_root chroot mount_setattr move_mount open_tree open_tree_attr=467 "
	  "fsopen fsconfig fsmount fspick listmount=458 statmount=457 setns unshare listns=470 "
	  "name_to_handle_at open_by_handle_at fanotify_init fanotify_mark file_getattr=468 "
	  "file_setattr=469 quotactl quotactl_fd swapon swapoff acct sysfs ustat" },
	{ 0, EPERM,
	  "bpf perf_event_open kcmp pidfd_getfd process_madvise process_mrelease memfd_secret "
	  "modify_ldt remap_file_pages get_mempolicy set_mempolicy set_mempolicy_home_node=450 "
	  "mbind migrate_pages move_pages lsm_get_self_attr=459 lsm_set_self_attr=460 "
	  "lsm_list_modules=461 uretprobe=335 uprobe=336" },
	{ 0, EPERM,
	  "_sysctl adjtimex clock_adjtime clock_settime settimeofday create_module delete_module "
	  "finit_module get_kernel_syms init_module query_module ioperm iopl kexec_file_load "
	  "kexec_load lookup_dcookie nfsservctl reboot setdomainname sethostname syslog uselib "
	  "vhangup epoll_ctl_old epoll_wait_old afs_syscall getpmsg putpmsg security tuxcall "
	  "vserver" },
};
const size_t filter_class_count = ARRAY_LEN(filter_classes);

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
#define ALLOW(call, who, ...)                                                                      \
	{                                                                                          \
		call, who, FILTER_ALLOW,                                                           \
		{                                                                                  \
			__VA_ARGS__                                                                \
		}                                                                                  \
	}
#define DENY(call, who, why, ...)                                                                  \
	{                                                                                          \
		call, who, why,                                                                    \
		{                                                                                  \
			__VA_ARGS__                                                                \
		}                                                                                  \
	}
#define NEVER(call, who, why)                                                                      \
	{                                                                                          \
		call, who, why,                                                                    \
		{                                                                                  \
			{                                                                          \
				0                                                                  \
			}                                                                          \
		}                                                                                  \
	}

/* The agent is PID 1. Where it has the same user as the programs, these would be hold of it. */
#define NOT_THE_AGENT(call) DENY(call, PROGRAMS, EPERM, IS(0, 1))

#define INTERNET(family, type)                                                                     \
	ALLOW("socket", ALL, IS(0, family), BITS(1, 0xf, type), IS(2, 0)),                         \
	        ALLOW("socket", ALL, IS(0, family), BITS(1, 0xf, type), IS(2, IPPROTO_TCP)),       \
	        ALLOW("socket", ALL, IS(0, family), BITS(1, 0xf, type), IS(2, IPPROTO_UDP))

#define NAMESPACES                                                                                 \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER |             \
	 CLONE_NEWPID | CLONE_NEWNET)

enum { EXECUTABLE = 4 }; /* PROT_EXEC */

/* Of netfilter: options 64, 96 and 128 of IP, 64 of IPv6, and the next one each. */
#define TABLES(level, option) DENY("setsockopt", ALL, EPERM, IS(1, level), BITS(2, ~1u, option))

/* What fallocate is for (see there), the way XFS has it and all have taken over. */
#define RESERVE(number) DENY("ioctl", PROGRAMS, EOPNOTSUPP, IS(1, 0x40305800 | (number)))

#define TERMINAL(command) ALLOW("ioctl", FOR_STRICT, IS(1, command))

const struct filter_rule filter_rules[] = {
	ALLOW("socket", ALL, IS(0, AF_UNIX)),
	INTERNET(AF_INET, SOCK_STREAM),
	INTERNET(AF_INET, SOCK_DGRAM),
	INTERNET(AF_INET6, SOCK_STREAM),
	INTERNET(AF_INET6, SOCK_DGRAM),
	ALLOW("socket", ALL, IS(0, AF_NETLINK), IS(2, 0)), /* routes: getifaddrs() */
	NEVER("socket", ALL, EAFNOSUPPORT),
	ALLOW("socketpair", ALL, IS(0, AF_UNIX)),
	NEVER("socketpair", ALL, EAFNOSUPPORT),

	DENY("setsockopt", ALL, EPERM, IS(1, IPPROTO_TCP), IS(2, 31)), /* TCP_ULP: loads modules */
	DENY("setsockopt", ALL, EPERM, IS(1, 279)),                    /* SOL_ALG */
	DENY("setsockopt", ALL, EPERM, IS(1, SOL_SOCKET), IS(2, SO_ATTACH_BPF)),
	DENY("setsockopt", ALL, EPERM, IS(1, SOL_SOCKET), IS(2, SO_ATTACH_REUSEPORT_EBPF)),
	TABLES(IPPROTO_IP, 64),
	TABLES(IPPROTO_IP, 96),
	TABLES(IPPROTO_IP, 128),
	TABLES(IPPROTO_IPV6, 64),

	ALLOW("clone", ALL, BITS(0, NAMESPACES, 0)),
	NEVER("clone", ALL, EPERM),

	/* Keys for somebody else's shell, and line disciplines that are modules. */
	DENY("ioctl", ALL, EPERM, IS(1, TIOCSTI)),
	DENY("ioctl", ALL, EPERM, IS(1, TIOCLINUX)),
	DENY("ioctl", ALL, EPERM, IS(1, TIOCSETD)),
	DENY("ioctl", ALL, EPERM, IS(1, TIOCCONS)),
	RESERVE(40),
	RESERVE(42),
	RESERVE(57),
	TERMINAL(TCGETS),
	TERMINAL(TCSETS),
	TERMINAL(TCSETSW),
	TERMINAL(TCSETSF),
	TERMINAL(0x802c542a), /* TCGETS2, and the three that set */
	TERMINAL(0x402c542b),
	TERMINAL(0x402c542c),
	TERMINAL(0x402c542d),
	TERMINAL(TCSBRK),
	TERMINAL(TCXONC),
	TERMINAL(TCFLSH),
	TERMINAL(TIOCGWINSZ),
	TERMINAL(TIOCSWINSZ),
	TERMINAL(TIOCGPGRP),
	TERMINAL(TIOCSPGRP),
	TERMINAL(TIOCGSID),
	TERMINAL(TIOCSCTTY),
	TERMINAL(TIOCNOTTY),
	TERMINAL(TIOCOUTQ),
	TERMINAL(TIOCGPTN),
	TERMINAL(TIOCSPTLCK),
	TERMINAL(TIOCGPTLCK),
	TERMINAL(TIOCGPTPEER),
	TERMINAL(FIONREAD),
	TERMINAL(FIONBIO),
	TERMINAL(FIOASYNC),
	TERMINAL(FIOCLEX),
	TERMINAL(FIONCLEX),
	TERMINAL(FIOQSIZE),
	TERMINAL(FICLONE),
	TERMINAL(FICLONERANGE),
	NEVER("ioctl", FOR_STRICT, EPERM),

	/* No devices, and no whiteouts of an overlay either. */
	ALLOW("mknod", ALL, BITS(1, S_IFMT, 0)),
	ALLOW("mknod", ALL, BITS(1, S_IFMT, S_IFREG)),
	ALLOW("mknod", ALL, BITS(1, S_IFMT, S_IFIFO)),
	ALLOW("mknod", ALL, BITS(1, S_IFMT, S_IFSOCK)),
	NEVER("mknod", ALL, EPERM),
	ALLOW("mknodat", ALL, BITS(2, S_IFMT, 0)),
	ALLOW("mknodat", ALL, BITS(2, S_IFMT, S_IFREG)),
	ALLOW("mknodat", ALL, BITS(2, S_IFMT, S_IFIFO)),
	ALLOW("mknodat", ALL, BITS(2, S_IFMT, S_IFSOCK)),
	NEVER("mknodat", ALL, EPERM),

	/* Reserving a whole disk takes a moment, and a limit that is watched may come too late;
	 * punching holes and collapsing give back. C libraries write zeros instead. */
	DENY("fallocate", PROGRAMS, EOPNOTSUPP, BITS(1, 0x0a, 0)),

	/* A limit of 1 keeps the host's handler of core dumps away; 0 would not. */
	NOT_THE_AGENT("prlimit64"),
	ALLOW("prlimit64", PROGRAMS, IS(1, RLIMIT_CORE), NULL_AT(2)),
	DENY("prlimit64", PROGRAMS, 0, IS(1, RLIMIT_CORE)),
	DENY("setrlimit", PROGRAMS, 0, IS(0, RLIMIT_CORE)),
	NOT_THE_AGENT("sched_setaffinity"),
	NOT_THE_AGENT("sched_setscheduler"),
	NOT_THE_AGENT("sched_setattr"),
	NOT_THE_AGENT("sched_setparam"),
	DENY("setpriority", PROGRAMS, EPERM, IS(0, PRIO_USER)),
	DENY("setpriority", PROGRAMS, EPERM, IS(1, 1)),
	DENY("ioprio_set", PROGRAMS, EPERM, IS(0, 3)), /* IOPRIO_WHO_USER */
	DENY("ioprio_set", PROGRAMS, EPERM, IS(1, 1)),

	ALLOW("personality", ALL, IS(0, PER_LINUX)),
	ALLOW("personality", ALL, IS(0, PER_LINUX32)),
	ALLOW("personality", ALL, IS(0, UNAME26)),
	ALLOW("personality", ALL, IS(0, PER_LINUX32 | UNAME26)),
	ALLOW("personality", ALL, IS(0, UINT32_MAX)), /* which one is it? */
	ALLOW("personality", FOR_DEBUG | FOR_AGENT, IS(0, ADDR_NO_RANDOMIZE)),
	NEVER("personality", ALL, EPERM),

	DENY("seccomp", ALL, EPERM,
	     BITS(1, SECCOMP_FILTER_FLAG_NEW_LISTENER, SECCOMP_FILTER_FLAG_NEW_LISTENER)),
	DENY("prctl", ALL, EPERM, IS(0, PR_SET_MM)),
	DENY("prctl", ALL, EPERM, IS(0, PR_SET_IO_FLUSHER)),
	DENY("prctl", ALL, EPERM, IS(0, PR_SCHED_CORE)),
	DENY("prctl", ALL, EPERM, IS(0, 67)), /* PR_SET_MEMORY_MERGE */

	DENY("mmap", FOR_FILES, EPERM, BITS(2, EXECUTABLE, EXECUTABLE)),
	DENY("mprotect", FOR_FILES, EPERM, BITS(2, EXECUTABLE, EXECUTABLE)),
};
const size_t filter_rule_count = ARRAY_LEN(filter_rules);
