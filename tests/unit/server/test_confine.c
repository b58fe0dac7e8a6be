/* A server that was taken over: a child process confines itself as the server does, then tries to
 * reach other files, processes and the network. */
#include "server/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include "base/cleanup.h"
#include "base/rights/landlock.h"
#include "unit/scratch.h"

enum { SUCCESS = 0, NOT_CONFINED = 250 };

static char state_dir[80];
static pid_t victim; /* the test's own process */
static int open_socket, listener;
static struct sockaddr_un listener_name; /* in the abstract namespace */

static const char *in_state(const char *name)
{
	static char path[160];

	(void)snprintf(path, sizeof path, "%s/%s", state_dir, name);
	return path;
}

static long open_path(const char *path, int flags)
{
	return open(path, flags | O_CLOEXEC, 0600);
}

/* --- files --- */

static long read_passwd(void)
{
	return open_path("/etc/passwd", O_RDONLY);
}

static long list_root(void)
{
	return open_path("/", O_RDONLY | O_DIRECTORY);
}

static long write_own_memory(void)
{
	return open_path("/proc/self/mem", O_RDWR);
}

static long open_terminal(void)
{
	return open_path("/dev/tty", O_RDWR);
}

static long read_sandboxes(void)
{
	return open_path(in_state("sandboxes/file"), O_RDONLY);
}

static long list_sandboxes(void)
{
	return open_path(in_state("sandboxes"), O_RDONLY | O_DIRECTORY);
}

static long create_in_state(void)
{
	return open_path(in_state("new"), O_WRONLY | O_CREAT);
}

static long create_lock(void)
{
	return open_path(in_state("servers/new"), O_WRONLY | O_CREAT);
}

static long follow_link_out(void)
{
	return open_path(in_state("db/link"), O_RDONLY);
}

static long leave_by_dots(void)
{
	return open_path(in_state("db/../sandboxes/file"), O_RDONLY);
}

static long remove_sandbox_file(void)
{
	return unlink(in_state("sandboxes/file"));
}

static long change_mode(void)
{
	return chmod(in_state("sandboxes/file"), 0777);
}

static long change_mode_at(void)
{
	return syscall(SYS_fchmodat, AT_FDCWD, in_state("sandboxes/file"), 0777);
}

static long change_owner(void)
{
	return chown(in_state("sandboxes/file"), geteuid(), getegid());
}

static long change_times(void)
{
	return utimensat(AT_FDCWD, in_state("sandboxes/file"), NULL, 0);
}

static long cut_file(void)
{
	return truncate(in_state("sandboxes/file"), 0);
}

static long rename_file(void)
{
	return rename(in_state("db/file"), in_state("db/other"));
}

static long link_file(void)
{
	return linkat(AT_FDCWD, in_state("sandboxes/file"), AT_FDCWD, in_state("db/other"), 0);
}

static long make_link(void)
{
	return symlink("/etc/passwd", in_state("db/other"));
}

static long make_directory(void)
{
	return mkdir(in_state("db/other"), 0700);
}

static long open_by_handle(void)
{
	return syscall(SYS_open_by_handle_at, AT_FDCWD, NULL, 0);
}

static long mount_something(void)
{
	return syscall(SYS_mount, "none", "/tmp", "tmpfs", 0, NULL);
}

/* --- programs, processes and code --- */

static long execute(void)
{
	char *const none[] = { NULL };

	return execve("/bin/true", none, none);
}

static long execute_at(void)
{
	return syscall(SYS_execveat, AT_FDCWD, "/bin/true", NULL, NULL, 0);
}

static long clone_process(void)
{
	long pid = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);

	if (pid == 0)
		_exit(0);
	return pid;
}

static long clone_process_3(void)
{
	struct clone_args args = { .exit_signal = SIGCHLD };
	long pid = syscall(SYS_clone3, &args, sizeof args);

	if (pid == 0)
		_exit(0);
	return pid;
}

static long map_code(void)
{
	return (long)mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static long turn_memory_into_code(void)
{
	static _Alignas(4096) char page[4096];

	return mprotect(page, sizeof page, PROT_READ | PROT_EXEC);
}

static long make_memory_file(void)
{
	return memfd_create("x", 0);
}

static long make_namespace(void)
{
	return syscall(SYS_unshare, CLONE_NEWUSER);
}

static long enter_namespace(void)
{
	return syscall(SYS_setns, 0, 0);
}

/* --- other processes --- */

static long signal_parent(void)
{
	return kill(victim, 0);
}

static long signal_everything(void)
{
	return kill(-1, 0);
}

static long signal_thread_of_parent(void)
{
	return syscall(SYS_tgkill, victim, victim, 0);
}

static long signal_by_thread_id(void)
{
	return syscall(SYS_tkill, victim, 0);
}

static long signal_itself(void)
{
	return syscall(SYS_tgkill, getpid(), getpid(), 0);
}

static long queue_signal(void)
{
	return syscall(SYS_rt_sigqueueinfo, victim, 0, NULL);
}

static long open_parent(void)
{
	return syscall(SYS_pidfd_open, victim, 0);
}

static long signal_when_readable(void)
{
	return fcntl(open_socket, F_SETOWN, victim);
}

static long attach_to_parent(void)
{
	return ptrace(PTRACE_ATTACH, victim, NULL, NULL);
}

static long read_memory_of_parent(void)
{
	return syscall(SYS_process_vm_readv, victim, NULL, 0, NULL, 0, 0);
}

static long limit_parent(void)
{
	return syscall(SYS_prlimit64, victim, RLIMIT_CORE, NULL, &(struct rlimit){ 0 });
}

static long limit_itself(void)
{
	return syscall(SYS_prlimit64, 0, RLIMIT_CORE, NULL, &(struct rlimit){ 0 });
}

static long type_into_terminal(void)
{
	return ioctl(0, TIOCSTI, "x");
}

static long become_dumpable(void)
{
	return prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
}

/* --- sockets --- */

static long make_unix_socket(void)
{
	return socket(AF_UNIX, SOCK_STREAM, 0);
}

static long make_tcp_socket(void)
{
	return socket(AF_INET, SOCK_STREAM, 0);
}

static long make_netlink_socket(void)
{
	return socket(AF_NETLINK, SOCK_RAW, 0);
}

static long make_socket_pair(void)
{
	int pair[2];

	return socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
}

/* The socket was made before: the server has such ones to the spawner and the porter. */
static long connect_socket(void)
{
	return connect(open_socket, (const struct sockaddr *)&listener_name, sizeof listener_name);
}

static long send_to_listener(void)
{
	return sendto(open_socket, "x", 1, 0, (const struct sockaddr *)&listener_name,
	              sizeof listener_name);
}

static long send_message_to_listener(void)
{
	const struct msghdr message = { .msg_name = &listener_name,
		                        .msg_namelen = sizeof listener_name };

	return sendmsg(open_socket, &message, 0);
}

/* --- large parts of the kernel --- */

static long load_bpf(void)
{
	return syscall(SYS_bpf, 0, NULL, 0);
}

static long count_events(void)
{
	return syscall(SYS_perf_event_open, NULL, 0, 0, 0, 0);
}

static long set_up_io_uring(void)
{
	return syscall(SYS_io_uring_setup, 1, NULL);
}

static long use_keyring(void)
{
	return syscall(SYS_keyctl, 0, 0, 0, 0, 0);
}

static long handle_faults(void)
{
	return syscall(SYS_userfaultfd, 0);
}

/* --- what the server needs --- */

static long write_database(void)
{
	AUTO_FD int fd = open(in_state("db/new"), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	AUTO_FD int dir = open(in_state("db"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 || dir < 0 || write(fd, "x", 1) != 1 || ftruncate(fd, 0) < 0 ||
	    fchmod(fd, 0600) < 0 || fsync(dir) < 0)
		return -1;
	return unlink(in_state("db/new"));
}

static long remove_dead_lock(void)
{
	AUTO_FD int fd = open(in_state("servers/dead.lock"), O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -1 : unlink(in_state("servers/dead.lock"));
}

static long read_randomness(void)
{
	return open_path("/dev/urandom", O_RDONLY);
}

/* --- the test --- */

/* The least version of Landlock that an act needs to be refused. */
enum { ANY_KERNEL, LANDLOCK = 2, LANDLOCK_SCOPES = 6 };

static const struct act {
	const char *name;
	long (*fn)(void);
	int want; /* an errno; SUCCESS: the act is allowed */
	int landlock;
} acts[] = {
#define ACT(fn, want, landlock)                                                                    \
	{                                                                                          \
#fn, fn, want, landlock                                                            \
	}
	ACT(read_passwd, EACCES, LANDLOCK),
	ACT(list_root, EACCES, LANDLOCK),
	ACT(write_own_memory, EACCES, LANDLOCK),
	ACT(open_terminal, EACCES, LANDLOCK),
	ACT(read_sandboxes, EACCES, LANDLOCK),
	ACT(list_sandboxes, EACCES, LANDLOCK),
	ACT(create_in_state, EACCES, LANDLOCK),
	ACT(create_lock, EACCES, LANDLOCK),
	ACT(follow_link_out, EACCES, LANDLOCK),
	ACT(leave_by_dots, EACCES, LANDLOCK),
	ACT(remove_sandbox_file, EACCES, LANDLOCK),
	ACT(change_mode, EPERM, ANY_KERNEL),
	ACT(change_mode_at, EPERM, ANY_KERNEL),
	ACT(change_owner, EPERM, ANY_KERNEL),
	ACT(change_times, EPERM, ANY_KERNEL),
	ACT(cut_file, EPERM, ANY_KERNEL),
	ACT(rename_file, EPERM, ANY_KERNEL),
	ACT(link_file, EPERM, ANY_KERNEL),
	ACT(make_link, EPERM, ANY_KERNEL),
	ACT(make_directory, EPERM, ANY_KERNEL),
	ACT(open_by_handle, EPERM, ANY_KERNEL),
	ACT(mount_something, EPERM, ANY_KERNEL),
	ACT(execute, EPERM, ANY_KERNEL),
	ACT(execute_at, EPERM, ANY_KERNEL),
	ACT(clone_process, EPERM, ANY_KERNEL),
	ACT(clone_process_3, ENOSYS, ANY_KERNEL),
	ACT(map_code, EPERM, ANY_KERNEL),
	ACT(turn_memory_into_code, EPERM, ANY_KERNEL),
	ACT(make_memory_file, EPERM, ANY_KERNEL),
	ACT(make_namespace, EPERM, ANY_KERNEL),
	ACT(enter_namespace, EPERM, ANY_KERNEL),
	ACT(signal_parent, EPERM, ANY_KERNEL),
	ACT(signal_everything, EPERM, ANY_KERNEL),
	ACT(signal_thread_of_parent, EPERM, ANY_KERNEL),
	ACT(signal_by_thread_id, EPERM, ANY_KERNEL),
	ACT(signal_itself, SUCCESS, ANY_KERNEL),
	ACT(queue_signal, EPERM, ANY_KERNEL),
	ACT(open_parent, EPERM, ANY_KERNEL),
	ACT(signal_when_readable, EPERM, ANY_KERNEL),
	ACT(attach_to_parent, EPERM, ANY_KERNEL),
	ACT(read_memory_of_parent, EPERM, ANY_KERNEL),
	ACT(limit_parent, EPERM, ANY_KERNEL),
	ACT(limit_itself, SUCCESS, ANY_KERNEL),
	ACT(type_into_terminal, EPERM, ANY_KERNEL),
	ACT(become_dumpable, EPERM, ANY_KERNEL),
	ACT(make_unix_socket, EPERM, ANY_KERNEL),
	ACT(make_tcp_socket, EPERM, ANY_KERNEL),
	ACT(make_netlink_socket, EPERM, ANY_KERNEL),
	ACT(make_socket_pair, EPERM, ANY_KERNEL),
	ACT(connect_socket, EPERM, ANY_KERNEL),
	ACT(send_to_listener, EPERM, ANY_KERNEL),
	ACT(send_message_to_listener, EPERM, LANDLOCK_SCOPES),
	ACT(load_bpf, EPERM, ANY_KERNEL),
	ACT(count_events, EPERM, ANY_KERNEL),
	ACT(set_up_io_uring, ENOSYS, ANY_KERNEL),
	ACT(use_keyring, ENOSYS, ANY_KERNEL),
	ACT(handle_faults, ENOSYS, ANY_KERNEL),
	ACT(write_database, SUCCESS, ANY_KERNEL),
	ACT(remove_dead_lock, SUCCESS, ANY_KERNEL),
	ACT(read_randomness, SUCCESS, ANY_KERNEL),
};

static void make_state(void)
{
	static const char *const dirs[] = { "state", "state/db", "state/servers",
		                            "state/sandboxes" };

	(void)snprintf(state_dir, sizeof state_dir, "%s/state", scratch_path);
	for (size_t i = 0; i < ARRAY_LEN(dirs); i++)
		assert_int_equal(mkdir(dirs[i], 0700), 0);
	scratch_write("state/db/file", "");
	scratch_write("state/sandboxes/file", "secret");
	scratch_write("state/servers/dead.lock", "");
	assert_int_equal(symlink("../sandboxes/file", "state/db/link"), 0);
	victim = getpid();
	open_socket = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	listener = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	listener_name.sun_family = AF_UNIX;
	(void)snprintf(listener_name.sun_path + 1, 64, "belljar-test-%d", victim);
	assert_int_equal(
	        bind(listener, (const struct sockaddr *)&listener_name, sizeof listener_name), 0);
}

static void close_sockets(void)
{
	(void)close(open_socket);
	(void)close(listener);
}

static void confine_child(void)
{
	struct error err;

	if (confine_process(&(struct confine_needs){ state_dir }, &err) < 0)
		_exit(NOT_CONFINED);
}

/* Returns SUCCESS or the errno of the act in a confined process. */
static int try_act(const struct act *act)
{
	int status = -1;
	pid_t child = fork();

	if (child == 0) {
		confine_child();
		errno = 0;
		_exit(act->fn() >= 0 ? SUCCESS : errno);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	if (!WIFEXITED(status))
		fail_msg("%s: killed by signal %d", act->name, WTERMSIG(status));
	assert_int_not_equal(WEXITSTATUS(status), NOT_CONFINED);
	return WEXITSTATUS(status);
}

static void confined_process_reaches_its_own_files_only(void **state)
{
	long version = landlock_version();

	make_state();
	for (size_t i = 0; i < ARRAY_LEN(acts); i++) {
		int got;

		if (version < acts[i].landlock)
			continue;
		got = try_act(&acts[i]);
		if (got != acts[i].want)
			fail_msg("%s: %s, not: %s", acts[i].name, strerror(got),
			         strerror(acts[i].want));
	}
	assert_string_equal(scratch_read("state/sandboxes/file"), "secret");
	close_sockets();
}

static void check_status_line(const char *status, const char *line)
{
	if (strstr(status, line) == NULL)
		fail_msg("'%s' is missing in: %s", line, status);
}

static void confined_process_has_no_capability(void **state)
{
	static const char *const lines[] = { "CapPrm:\t0000000000000000\n",
		                             "CapEff:\t0000000000000000\n",
		                             "CapAmb:\t0000000000000000\n", "NoNewPrivs:\t1\n",
		                             "Seccomp:\t2\n" };
	int ready[2], done[2], status = -1;
	char byte, path[64];
	const char *text;
	pid_t child;

	make_state();
	assert_int_equal(pipe(ready), 0);
	assert_int_equal(pipe(done), 0);
	child = fork();
	if (child == 0) {
		confine_child();
		(void)!write(ready[1], "x", 1);
		_exit(read(done[0], &byte, 1) == 1 ? 0 : 1);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	(void)snprintf(path, sizeof path, "/proc/%d/status", child);
	text = scratch_read(path);
	for (size_t i = 0; i < ARRAY_LEN(lines); i++)
		check_status_line(text, lines[i]);
	assert_int_equal(write(done[1], "x", 1), 1);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	for (int i = 0; i < 2; i++) {
		(void)close(ready[i]);
		(void)close(done[i]);
	}
	close_sockets();
}

/* Without a state directory, or with one that does not exist yet, confinement succeeds. */
static void missing_state_directory_is_left_out(void **state)
{
	static const char *const states[] = { NULL, "/no such directory" };

	for (size_t i = 0; i < ARRAY_LEN(states); i++) {
		int status = -1;
		pid_t child = fork();

		if (child == 0) {
			struct error err;

			_exit(confine_process(&(struct confine_needs){ states[i] }, &err) < 0);
		}
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_int_equal(status, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_SCRATCH(confined_process_reaches_its_own_files_only),
		IN_SCRATCH(confined_process_has_no_capability),
		TEST(missing_state_directory_is_left_out),
	};

	return RUN_TESTS("server/confine", tests);
}
