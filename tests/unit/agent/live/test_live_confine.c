/* test_live_confine.c - what seccomp filters, Landlock and missing capabilities deny to programs
 * and workers, and what they still allow. Every other live test runs under the same filters. */
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/sysmacros.h>

#include "unit/agent/live/live_modes.h"

/* --- inside --- */

static void tell(const char *what, long result)
{
	char line[128];
	int len = snprintf(line, sizeof line, "%s: %s\n", what,
	                   result < 0 ? strerrorname_np(errno) : "done");

	(void)!write(STDOUT_FILENO, line, (size_t)len);
}

static int make_calls(void)
{
	int pipes[4] = { -1, -1, -1, -1 };
	struct rlimit none = { 0, 0 };

	tell("mount", mount("none", "/tmp", "tmpfs", 0, NULL));
	tell("unshare", unshare(CLONE_NEWUSER));
	tell("io_uring_setup", syscall(425, 1, NULL));
	tell("keyctl", syscall(SYS_keyctl, 0, 0, 0, 0, 0));
	tell("no such call", syscall(600));
	tell("AF_ALG", socket(38, SOCK_SEQPACKET, 0));
	tell("TCP", socket(AF_INET, SOCK_STREAM, 0));
	tell("raw", socket(AF_INET, SOCK_RAW, 1));
	tell("TIOCSTI", syscall(SYS_ioctl, 0, 0x100000000UL | TIOCSTI, "x"));
	tell("limits of PID 1", prlimit(1, RLIMIT_NOFILE, &none, NULL));
	tell("no core", setrlimit(RLIMIT_CORE, &none));
	tell("sync", syncfs(0));
	if (pipe(pipes) == 0 && pipe(pipes + 2) == 0 && write(pipes[1], "x", 1) == 1)
		tell("splice", splice(pipes[0], NULL, pipes[3], NULL, 1, 0));
	tell("ptrace", ptrace(PTRACE_TRACEME, 0, NULL, NULL));
	return 0;
}

static int be_somebody(const char *what, const char *path)
{
	int fd;

	if (strcmp(what, "--calls") == 0)
		return make_calls();
	if (strcmp(what, "--foreign") == 0) {
#ifdef __x86_64__
		(void)syscall(0x40000000 + SYS_getpid);
#else
		(void)raise(SIGSYS);
#endif
		return 0;
	}
	if (strcmp(what, "--whiteout") == 0)
		tell("whiteout", mknod(path, S_IFCHR | 0600, makedev(0, 0)));
	if (strcmp(what, "--control") == 0) {
		fd = open(path, O_RDWR | O_CLOEXEC);
		tell("control", fd < 0 ? -1 : ioctl(fd, TCGETS, (char[256]){ 0 }));
	}
	return 0;
}

/* --- outside --- */

static void start_with(struct live *live, struct live_options options)
{
	options.is_pid1 = live_as_pid1;
	live_start(live, &options);
}

static void filter_denies_rare_system_calls(void **state)
{
	static const struct {
		enum spec_syscalls calls;
		const char *splice, *ptrace;
	} profiles[] = { { SPEC_SYSCALLS_STANDARD, "done", "EPERM" },
		         { SPEC_SYSCALLS_STRICT, "EINVAL", "EPERM" },
		         { SPEC_SYSCALLS_DEBUG, "done", "done" } };
	char want[512];
	struct live live;

	for (size_t i = 0; i < ARRAY_LEN(profiles); i++) {
		(void)snprintf(want, sizeof want,
		               "mount: EPERM\nunshare: EPERM\nio_uring_setup: ENOSYS\n"
		               "keyctl: ENOSYS\nno such call: ENOSYS\nAF_ALG: EAFNOSUPPORT\n"
		               "TCP: done\nraw: EAFNOSUPPORT\nTIOCSTI: EPERM\n"
		               "limits of PID 1: EPERM\nno core: done\nsync: done\n"
		               "splice: %s\nptrace: %s\n",
		               profiles[i].splice, profiles[i].ptrace);
		start_with(&live, (struct live_options){ .calls = profiles[i].calls });
		CHECK_GOT(live_exec(&live, live_self(), "--calls"), WIRE_OUT, want);
		live_finish(&live);
	}
}

static void filter_kills_calls_of_another_architecture(void **state)
{
	struct live live;

	live_begin(&live);
	assert_int_equal(live_exec(&live, live_self(), "--foreign")->exited.signal, SIGSYS);
	live_finish(&live);
}

#define PYTHON                                                                                     \
	"import subprocess, threading, socket, tempfile, os, multiprocessing as mp\n"              \
	"t = threading.Thread(target=lambda: None); t.start(); t.join()\n"                         \
	"assert subprocess.check_output(['echo', 'x']) == b'x\\n'\n"                               \
	"a, b = socket.socketpair(); a.send(b'x'); assert b.recv(1) == b'x'\n"                     \
	"s = socket.create_server(('127.0.0.1', 0)); socket.create_connection(s.getsockname())\n"  \
	"p = mp.get_context('fork').Process(target=int); p.start(); p.join()\n"                    \
	"assert p.exitcode == 0\n"                                                                 \
	"with tempfile.NamedTemporaryFile(dir='.') as f: f.write(b'x'); os.fsync(f.fileno())\n"

static void usual_programs_work_under_the_filter(void **state)
{
	static const struct {
		const char *program, *script;
	} programs[] = {
		{ "bash", "set -e; x=$(printf '3\\n1\\n' | sort | head -1); [[ $x = 1 ]]; "
		          "(ulimit -c 0; nice true; sync); cat <(echo y) >f; rm f" },
		{ "python3", "exec python3 -c \"$PROGRAM\"" },
		{ "gcc", "set -e; echo 'int main(void) { return 0; }' >a.c; gcc -o a a.c; ./a" },
		{ "git", "set -e; git init -q r; cd r; echo x >f; git add f; git -c user.name=n "
		         "-c user.email=e commit -qm m; git gc -q" },
	};
	static const char *const env[] = { "PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/nonexistent",
		                           "PROGRAM=" PYTHON, NULL };
	struct live_stream *s;
	struct live live;

	for (unsigned calls = 0; calls < SPEC_SYSCALLS_COUNT; calls++) {
		start_with(&live, (struct live_options){ .calls = (enum spec_syscalls)calls });
		for (size_t i = 0; i < ARRAY_LEN(programs); i++) {
			s = live_exec(&live, "sh", "-c", "command -v \"$0\"", programs[i].program);
			if (s->exited.code != 0) {
				print_message("# no %s here\n", programs[i].program);
				continue;
			}
			s = live_exited(live_start_run(&live, LIVE_RUN(.env = env), "bash", "-c",
			                               programs[i].script));
			CHECK_GOT(s, WIRE_ERR, "");
			assert_int_equal(s->exited.code, 0);
		}
		live_finish(&live);
	}
}

/* A worker that waits for more input, under its filter. */
static struct live_stream *start_worker(struct live *live, pid_t *ret)
{
	struct wire_message request = { .type = WIRE_WRITE,
		                        .write = { .perm = 0644, .max = 9, .path = VIEW("f") } };
	struct live_stream *s = live_open(live, &request);

	s->keeps_open = true;
	LIVE_UNTIL(live,
	           live_descendants(live, ret, 1) == 1 &&
	                   live_status(*ret, "Seccomp_filters:") == 2,
	           LIVE_MS);
	return s;
}

/* Programs inherit the agent's filter; "strict" is loaded for each of them. */
static void every_process_has_its_filter(void **state)
{
	static const enum spec_syscalls calls[] = { SPEC_SYSCALLS_STANDARD, SPEC_SYSCALLS_STRICT };
	for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
		struct live_stream *s;
		struct live live;
		pid_t worker;

		start_with(&live, (struct live_options){ .calls = calls[i] });
		assert_int_equal(live_status(live.agent, "Seccomp_filters:"), 1);
		s = live_exec(&live, "grep", "Seccomp_filters:", "/proc/self/status");
		CHECK_GOT(s, WIRE_OUT,
		          live_inherits_filter(calls[i]) ? "Seccomp_filters:\t1\n"
		                                         : "Seccomp_filters:\t2\n");
		s = start_worker(&live, &worker);
		live_end_input(s);
		(void)live_check(s);
		live_finish(&live);
	}
}

static void agent_refuses_a_filter_of_partial_instructions(void **state)
{
	struct live live;

	start_with(&live, (struct live_options){ .may_fail = true, .programs = VIEW("1234567") });
	LIVE_UNTIL(&live, live.has_failed, LIVE_MS);
	assert_non_null(
	        strstr(live.why.msg, "programs: the filter has 7 bytes, not a multiple of 8"));
	live_stop(&live);
}

static void invalid_filter_fails_the_program(void **state)
{
	struct live live;

	start_with(&live, (struct live_options){ .programs = VIEW("\xff\xff\0\0\0\0\0\0") });
	LIVE_CHECK_FAILED(live_start_run(&live, LIVE_RUN(0), "true"), WIRE_FAILED_INVALID,
	                  "load the seccomp filter: Invalid argument");
	live_finish(&live);
}

/* --- Landlock --- */

static bool has_landlock(void)
{
	return syscall(SYS_landlock_create_ruleset, NULL, 0, 1) >= 5;
}

static void landlock_denies_making_devices(void **state)
{
	struct live_stream *s;
	struct live live;

	if (!has_landlock())
		SKIP_TEST("this kernel has no Landlock that knows ioctl");
	for (int i = 0; i < 2; i++) {
		start_with(&live, (struct live_options){ .is_free = true, .has_landlock = i == 1 });
		s = live_exec(&live, live_self(), "--whiteout", "w");
		CHECK_GOT(s, WIRE_OUT, i == 0 ? "whiteout: done\n" : "whiteout: EACCES\n");
		live_finish(&live);
	}
}

static void landlock_denies_ioctl_outside_dev(void **state)
{
	struct live live;
	char path[512];

	if (!has_landlock() || geteuid() != 0)
		SKIP_TEST("needs Landlock, and root to make a device");
	live_begin(&live);
	(void)snprintf(path, sizeof path, "%s/null", live.made);
	assert_int_equal(mknod(path, S_IFCHR | 0666, makedev(1, 3)), 0);
	CHECK_GOT(live_exec(&live, live_self(), "--control", "/dev/null"), WIRE_OUT,
	          "control: ENOTTY\n");
	CHECK_GOT(live_exec(&live, live_self(), "--control", "null"), WIRE_OUT,
	          "control: EACCES\n");
	live_finish(&live);
}

static void landlock_allows_files_and_terminals(void **state)
{
	struct live_stream *s;
	struct live live;

	live_begin(&live);
	s = live_sh(&live, "set -e; mkdir a b; echo x >a/f; mv a/f b/f; ln b/f a/g; mkfifo p; "
	                   "ln -s p q; mv b c; : >c/f; truncate -s 5 c/f; echo >/dev/null; "
	                   "cp /bin/true t; ./t; rm -r a c p q t; ls");
	CHECK_GOT(s, WIRE_ERR, "");
	CHECK_GOT(s, WIRE_OUT, "");
	assert_int_equal(s->exited.code, 0);
	s = live_start_run(&live, LIVE_RUN(.flags = WIRE_EXEC_PTY, .rows = 7, .columns = 9), "sh",
	                   "-c", "stty size </dev/tty; stty -echo <\"$(tty)\"; echo up >/dev/tty");
	CHECK_GOT(live_exited(s), WIRE_OUT, "7 9\r\nup\r\n");
	live_finish(&live);
}

static void runs_can_signal_and_connect_to_each_other(void **state)
{
	struct live_stream *s;
	struct live live;
	char script[64];

	live_begin(&live);
	s = live_start_sh(&live, LIVE_RUN(0), "mkfifo p; read x <p; sleep 100");
	(void)snprintf(script, sizeof script, "until [ -p p ]; do :; done; echo >p; kill %u",
	               s->pid);
	assert_int_equal(live_sh(&live, script)->exited.code, 0);
	assert_int_equal(live_exited(s)->exited.signal, SIGTERM);
	live_finish(&live);
}

/* --- rights --- */

static void check_status(pid_t pid, const char *want)
{
	char path[64], text[8192];
	AUTO_FD int fd = -1;
	ssize_t n;

	(void)snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = read(fd, text, sizeof text - 1);
	assert_true(n > 0);
	text[n] = '\0';
	if (strstr(text, want) == NULL)
		fail_msg("%s", text);
}

/* An agent that is not root and has three capabilities to start programs as another user. */
static void agent_passes_no_capability_on(void **state)
{
	struct live_stream *s;
	struct live live;
	pid_t worker;
	char want[300];

	if (geteuid() != 0)
		SKIP_TEST("only root can act for two users");
	start_with(&live, (struct live_options){
	                          .agent_uid = 999, .uid = live_user(), .gid = live_user() });
	s = live_sh(&live, "grep -E '^(Cap|Uid)' /proc/self/status; cat /proc/self/oom_score_adj");
	(void)snprintf(want, sizeof want,
	               "Uid:\t%1$u\t%1$u\t%1$u\t%1$u\nCapInh:\t0000000000000000\n"
	               "CapPrm:\t0000000000000000\nCapEff:\t0000000000000000\n"
	               "CapBnd:\t0000000000000000\nCapAmb:\t0000000000000000\n1000\n",
	               live_user());
	CHECK_GOT(s, WIRE_OUT, want);
	check_status(live.agent, "CapInh:\t0000000000000000\nCapPrm:\t00000000000000e0\n"
	                         "CapEff:\t00000000000000e0\nCapBnd:\t0000000000000000\n"
	                         "CapAmb:\t0000000000000000\n");
	s = live_start_sh(&live, LIVE_RUN(.deadline_ms = 200), "setsid sleep 100 & sleep 100");
	assert_int_equal(live_exited(s)->exited.flags & WIRE_EXITED_TIMED_OUT,
	                 WIRE_EXITED_TIMED_OUT);
	live_wait_no_descendants(&live, LIVE_MS);
	s = start_worker(&live, &worker);
	check_status(worker, "CapInh:\t0000000000000000\nCapPrm:\t0000000000000000\n"
	                     "CapEff:\t0000000000000000\n");
	live_end_input(s);
	(void)live_check(s);
	(void)live_check(live_write_file(&live, "d/f", VIEW("text")));
	(void)live_check(live_read_file(&live, "d/f"));
	live_finish(&live);
}

static void program_of_root_has_no_capability(void **state)
{
	struct live_stream *s;
	struct live live;

	live_begin(&live);
	s = live_sh(
	        &live,
	        "grep -E '^Cap(Prm|Eff|Amb|Inh)' /proc/self/status | grep -v 0000000000000000$");
	CHECK_GOT(s, WIRE_OUT, "");
	live_finish(&live);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest all[] = {
		TEST(filter_denies_rare_system_calls),
		TEST(filter_kills_calls_of_another_architecture),
		TEST(usual_programs_work_under_the_filter),
		TEST(every_process_has_its_filter),
		TEST(agent_refuses_a_filter_of_partial_instructions),
		TEST(invalid_filter_fails_the_program),
		TEST(landlock_denies_making_devices),
		TEST(landlock_denies_ioctl_outside_dev),
		TEST(landlock_allows_files_and_terminals),
		TEST(runs_can_signal_and_connect_to_each_other),
		TEST(agent_passes_no_capability_on),
		TEST(program_of_root_has_no_capability),
	};

	if (argc > 1)
		_exit(be_somebody(argv[1], argc > 2 ? argv[2] : ""));
	return LIVE_RUN_TWICE("confinement", all);
}
