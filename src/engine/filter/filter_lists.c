/* filter_lists.c - the processes of belljar on the host, whose system calls are named one by one
 * (see filter_table.h). */
#include "base/attr.h"
#include "engine/filter/filter_table.h"

/* The server runs on the host, beside all other processes of its user, and parses what clients and
 * agents send: its filter has the calls that the server makes, and no more. The server creates
 * neither processes nor sockets; it accepts connections on a socket that was made before the filter
 * was loaded. Rules below limit signals, limits and ioctls to the server itself; Landlock and the
 * user id limit which files it opens. Landlock limits neither modes, owners nor times, so the
 * server may change those of open files only. */
const struct filter_list filter_lists[] = {
	/* Memory, time and the process itself. */
	{ FOR_SERVER,
	  "brk mmap munmap mremap mprotect madvise clock_gettime clock_getres clock_nanosleep "
	  "gettimeofday nanosleep getrandom futex sched_yield sched_getaffinity sysinfo getpid "
	  "gettid getppid getuid geteuid getgid getegid getrlimit prlimit64 getrusage tkill tgkill "
	  "rt_sigaction rt_sigprocmask rt_sigreturn sigaltstack restart_syscall exit exit_group" },
	/* The database, the lock files of servers and the terminal. */
	{ FOR_SERVER,
	  "open openat openat2 close read readv pread64 write writev pwrite64 lseek fstat "
	  "newfstatat stat lstat statx statfs fstatfs getdents getdents64 readlink readlinkat "
	  "access faccessat faccessat2 fcntl flock fchmod fchown ftruncate fallocate fsync "
	  "fdatasync unlink unlinkat ioctl" },
	/* The event loop, its channels to agents, spawner and porter, the end of the last two, and
	 * connections from other processes of its user and from HTTP clients, which are shut down
	 * before they are closed so that no response is lost. */
	{ FOR_SERVER,
	  "poll ppoll select pselect6 epoll_ctl epoll_wait epoll_pwait epoll_pwait2 sendto sendmsg "
	  "recvfrom recvmsg setsockopt accept4 shutdown getsockopt wait4 waitid" },

	/* The porter runs on the host too, and its agents inherit its filter. Besides the calls of
	 * their workers: becoming the owner of a directory, confining a child and executing the
	 * agent in it, and the event loop and the worker processes of that agent. */
	{ FOR_PORTER,
	  "alarm arch_prctl capget capset clone close_range dup dup2 dup3 epoll_create1 epoll_ctl "
	  "epoll_pwait epoll_wait execveat fchdir fork getgroups getpriority getresgid getresuid "
	  "getrlimit kill landlock_add_rule landlock_create_ruleset landlock_restrict_self pause "
	  "pidfd_open pidfd_send_signal pipe2 prctl prlimit64 readlink rseq seccomp setgroups "
	  "setitimer setpriority setresgid setresuid setrlimit setsid set_robust_list "
	  "set_tid_address signalfd4 socketpair tgkill umask vfork wait4" },

	/* The dialer parses what resolvers and proxies send, so it has the calls of getaddrinfo(3),
	 * connect(2) and a child process, and no more. It reads files (Landlock says which), loads
	 * the resolver's modules, and neither writes, listens nor executes anything. */
	{ FOR_DIALER | FOR_MIRROR,
	  "brk mmap munmap mremap mprotect madvise clock_gettime clock_getres clock_nanosleep "
	  "gettimeofday nanosleep getrandom futex sched_yield sched_getaffinity sysinfo uname "
	  "getpid gettid getppid getuid geteuid getgid getegid getrlimit prlimit64 tgkill "
	  "rt_sigaction rt_sigprocmask rt_sigreturn sigaltstack restart_syscall exit exit_group" },
	{ FOR_DIALER | FOR_MIRROR,
	  "open openat close read readv pread64 write writev lseek fstat newfstatat stat lstat "
	  "statx statfs fstatfs getdents64 readlink readlinkat access faccessat faccessat2 "
	  "fcntl ioctl" },
	{ FOR_DIALER | FOR_MIRROR,
	  "socket connect bind getsockname getpeername getsockopt setsockopt sendto sendmsg "
	  "sendmmsg recvfrom recvmsg poll ppoll" },
	{ FOR_DIALER | FOR_MIRROR,
	  "clone fork vfork wait4 alarm setitimer set_robust_list set_tid_address rseq" },
	/* A dialer with a service is the other end of the connections that it gives to the
	 * server. libcurl wakes itself with a pair of sockets. */
	{ FOR_DIALER | FOR_MIRROR, "socketpair shutdown" },
	/* The mirror writes the cache (Landlock says where that is). */
	{ FOR_MIRROR, "renameat renameat2 unlinkat utimensat" },
};
const size_t filter_list_count = ARRAY_LEN(filter_lists);
