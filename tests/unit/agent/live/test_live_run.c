/* test_live_run.c - how programs are started, what they get, and how their end is reported. */
#include <sys/resource.h>

#include "unit/agent/live/live_modes.h"

enum { AT_ONCE = 32 };

static void agent_reports_every_exit_code(void **state)
{
	struct live_stream *s[AT_ONCE];
	struct live live;
	char code[16];

	live_begin(&live);
	for (int first = 0; first < 256; first += AT_ONCE) {
		for (int i = 0; i < AT_ONCE; i++) {
			(void)snprintf(code, sizeof code, "exit %d", first + i);
			s[i] = live_start_run(&live, LIVE_RUN(0), "sh", "-c", code);
		}
		for (int i = 0; i < AT_ONCE; i++) {
			assert_int_equal(live_exited(s[i])->exited.code, first + i);
			assert_int_equal(s[i]->exited.signal, 0);
			assert_int_equal(s[i]->exited.flags, 0);
		}
	}
	live_finish(&live);
}

static void agent_reports_the_signal_that_killed_the_program(void **state)
{
	static const int all[] = { SIGHUP,  SIGINT,  SIGQUIT, SIGILL,  SIGABRT, SIGBUS,
		                   SIGFPE,  SIGKILL, SIGUSR1, SIGSEGV, SIGPIPE, SIGALRM,
		                   SIGTERM, SIGXCPU, 34,      64 };
	struct live_stream *s;
	struct live live;
	char script[64];

	live_begin(&live);
	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		(void)snprintf(script, sizeof script, "ulimit -c 0; kill -%d $$; sleep 9", all[i]);
		s = live_sh(&live, script);
		assert_int_equal(s->exited.signal, all[i]);
		assert_int_equal(s->exited.code, 0);
	}
	live_finish(&live);
}

static void make_file(const struct live *live, const char *name, const char *text, mode_t mode)
{
	char path[512];
	int fd;

	(void)snprintf(path, sizeof path, "%s/%s", live->workspace, name);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
	assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	(void)close(fd);
}

static void failed_start_has_a_reason(void **state)
{
	static const char *const no_path[] = { "PATH=", NULL }, *const nothing[] = { NULL };
	static const struct {
		const char *program, *const *env;
		enum wire_failure failure;
		const char *message;
	} rows[] = {
		{ "no-such-program", NULL, WIRE_FAILED_MISSING,
		  "no-such-program: No such file or directory" },
		{ "/no/such", NULL, WIRE_FAILED_MISSING, "/no/such: No such file or directory" },
		{ "/etc/passwd/sh", NULL, WIRE_FAILED_MISSING, "/etc/passwd/sh: Not a directory" },
		{ "/etc/passwd", NULL, WIRE_FAILED_DENIED, "/etc/passwd: Permission denied" },
		{ "/tmp", NULL, WIRE_FAILED_DENIED, "/tmp: Permission denied" },
		{ "./plain", NULL, WIRE_FAILED_DENIED, "./plain: Permission denied" },
		{ "./dangling", NULL, WIRE_FAILED_MISSING,
		  "./dangling: No such file or directory" },
		{ "", NULL, WIRE_FAILED_INVALID, "argv: the program's name is empty" },
		{ "sh", no_path, WIRE_FAILED_MISSING, "sh: No such file or directory" },
		{ "no-such-program", nothing, WIRE_FAILED_MISSING,
		  "no-such-program: No such file or directory" },
	};
	struct live_stream *s;
	struct live live;

	live_begin(&live);
	make_file(&live, "plain", "#!/bin/sh\n", 0644);
	make_file(&live, "dangling", "#!/no/such/interpreter\n", 0755);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		s = live_start_run(&live, LIVE_RUN(.env = rows[i].env), rows[i].program);
		LIVE_CHECK_FAILED(s, rows[i].failure, rows[i].message);
		assert_false(s->is_started);
	}
	live_wait_no_descendants(&live, LIVE_MS);
	live_finish(&live);
}

/* The execvp() of glibc would run the file with a shell; musl's does not. */
static void file_without_a_header_is_not_executed(void **state)
{
	struct live live;

	if (getenv("BELLJAR_AGENT") != NULL)
		SKIP_TEST("the sanitized agent has another libc, which runs such a file with a "
		          "shell");
	live_begin(&live);
	make_file(&live, "script", "echo hi\n", 0755);
	make_file(&live, "empty", "", 0755);
	LIVE_CHECK_FAILED(live_start_run(&live, LIVE_RUN(0), "./script"), WIRE_FAILED_SYSTEM,
	                  "./script: Exec format error");
	LIVE_CHECK_FAILED(live_start_run(&live, LIVE_RUN(0), "./empty"), WIRE_FAILED_SYSTEM,
	                  "./empty: Exec format error");
	live_finish(&live);
}

static void program_gets_its_arguments_unchanged(void **state)
{
	struct live_stream *s;
	struct live live;

	live_begin(&live);
	s = live_exec(&live, "sh", "-c", "for a; do printf '<%s>' \"$a\"; done", "sh", "", "a b",
	              "\377\200\n*$(id)", "-", "");
	CHECK_GOT(s, WIRE_OUT, "<><a b><\377\200\n*$(id)><-><>");
	live_finish(&live);
}

static void program_gets_4096_arguments(void **state)
{
	const char *argv[WIRE_ARGS_MAX + 1] = { "sh", "-c", "echo $# ${4092}", "sh" };
	struct live live;

	for (size_t i = 4; i < WIRE_ARGS_MAX; i++)
		argv[i] = i == WIRE_ARGS_MAX - 1 ? "last" : "x";
	live_begin(&live);
	CHECK_GOT(live_exited(live_open_run(&live, LIVE_RUN(0), argv)), WIRE_OUT, "4092 last\n");
	live_finish(&live);
}

static void program_gets_exactly_the_given_environment(void **state)
{
	static const char *const env[] = { "A=1", "EMPTY=", "B=x y", "A=2", "odd", NULL };
	static const char *const nothing[] = { NULL };
	struct live_stream *s;
	struct live live;

	live_begin(&live);
	s = live_exited(live_start_run(&live, LIVE_RUN(.env = env), "/usr/bin/env"));
	CHECK_GOT(s, WIRE_OUT, "A=1\nEMPTY=\nB=x y\nA=2\nodd\n");
	s = live_exited(live_start_run(&live, LIVE_RUN(.env = nothing), "/usr/bin/env"));
	CHECK_GOT(s, WIRE_OUT, "");
	live_finish(&live);
}

static void check_cwd(struct live *live, const char *cwd, const char *path)
{
	struct live_stream *s = live_start_run(live, LIVE_RUN(.cwd = cwd), "sh", "-c", "pwd -P");
	char want[512];

	(void)snprintf(want, sizeof want, "%s\n", path);
	CHECK_GOT(live_exited(s), WIRE_OUT, want);
}

static void program_starts_in_the_requested_directory(void **state)
{
	struct live live;
	char path[512];

	live_begin(&live);
	(void)live_sh(&live, "mkdir sub; ln -s sub link; ln -s nowhere dangling; : >file");
	check_cwd(&live, NULL, live.workspace);
	check_cwd(&live, "/", "/");
	check_cwd(&live, "/usr/bin/../lib", "/usr/lib");
	(void)snprintf(path, sizeof path, "%s/sub", live.workspace);
	check_cwd(&live, "sub", path);
	check_cwd(&live, "link", path);
	check_cwd(&live, path, path);
	LIVE_CHECK_FAILED(live_start_run(&live, LIVE_RUN(.cwd = "none"), "true"),
	                  WIRE_FAILED_MISSING, "cwd none: No such file or directory");
	LIVE_CHECK_FAILED(live_start_run(&live, LIVE_RUN(.cwd = "dangling"), "true"),
	                  WIRE_FAILED_MISSING, "cwd dangling: No such file or directory");
	LIVE_CHECK_FAILED(live_start_run(&live, LIVE_RUN(.cwd = "file"), "true"),
	                  WIRE_FAILED_MISSING, "cwd file: Not a directory");
	live_finish(&live);
}

static void started_has_the_pid(void **state)
{
	struct live_stream *s;
	struct live live;
	char want[16];

	live_begin(&live);
	s = live_sh(&live, "echo $$");
	(void)snprintf(want, sizeof want, "%u\n", s->pid);
	CHECK_GOT(s, WIRE_OUT, want);
	live_finish(&live);
}

static void exited_has_the_resource_usage(void **state)
{
	struct live_stream *s;
	struct live live;

	live_begin(&live);
	s = live_sh(&live, "sleep 0.2");
	assert_in_range(s->exited.wall_us, 200000, LIVE_MS * 1000);
	assert_true(s->exited.user_us + s->exited.system_us < s->exited.wall_us);
	assert_in_range(s->exited.max_rss_kib, 100, 1000000);
	s = live_sh(&live, "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done");
	assert_in_range(s->exited.user_us, 10000, 60000000);
	/* The time of a child counts too, although its parent did not wait for it. */
	s = live_sh(&live, "(i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; : >burnt) & "
	                   "until [ -e burnt ]; do sleep 0.01; done; sleep 0.1");
	assert_in_range(s->exited.user_us, 10000, 60000000);
	live_finish(&live);
}

/* Output that was written before the exit is delivered before DONE. */
static void last_output_is_complete(void **state)
{
	struct live_stream *s[AT_ONCE];
	struct live live;
	char text[16];

	for (int n = 0; n < 2016; n += AT_ONCE) {
		if (n % (AT_ONCE * 9) == 0)
			live_begin(&live);
		for (int i = 0; i < AT_ONCE; i++) {
			(void)snprintf(text, sizeof text, "%d", n + i);
			s[i] = live_start_run(&live, LIVE_RUN(0), "echo", text);
		}
		for (int i = 0; i < AT_ONCE; i++) {
			(void)snprintf(text, sizeof text, "%d\n", n + i);
			CHECK_GOT(live_exited(s[i]), WIRE_OUT, text);
			assert_int_equal(s[i]->ended, 1u << WIRE_OUT | 1u << WIRE_ERR);
		}
		if (n % (AT_ONCE * 9) == AT_ONCE * 8)
			live_finish(&live);
	}
}

static void run_can_be_closed_before_it_has_started(void **state)
{
	struct live_stream *s;
	struct live live;

	live_begin(&live);
	for (int i = 0; i < 20; i++) {
		s = live_start_run(&live, LIVE_RUN(0), "sleep", "100");
		channel_close(s->stream);
		LIVE_CHECK_FAILED(s, WIRE_FAILED_CLOSED, "closed");
		assert_false(s->has_exited);
	}
	live_wait_no_descendants(&live, LIVE_MS);
	live_finish(&live);
}

static void agent_ends_100_closed_runs(void **state)
{
	struct live_stream *s[100];
	struct live live;
	size_t fds;

	live_begin(&live);
	(void)live_sh(&live, "true");
	fds = live_agent_fds(&live);
	for (int i = 0; i < 100; i++)
		s[i] = live_start_run(&live, LIVE_RUN(.counts_only = true), "sh", "-c",
		                      "trap '' TERM; yes & yes >&2 & wait");
	for (int i = 0; i < 100; i++)
		LIVE_UNTIL(&live, s[i]->bytes[WIRE_OUT] != 0, 300000);
	for (int i = 0; i < 100; i++)
		channel_close(s[i]->stream);
	for (int i = 0; i < 100; i++) {
		(void)live_wait_ms(s[i], 300000);
		assert_int_equal(s[i]->failure, WIRE_FAILED_CLOSED);
	}
	live_wait_no_descendants(&live, LIVE_MS);
	/* The agent closes a descriptor of an ended program after it has reaped the program. */
	LIVE_UNTIL(&live, live_agent_fds(&live) == fds, LIVE_MS);
	live_finish(&live);
}

static void server_refuses_the_257th_stream(void **state)
{
	static const struct channel_stream_events no_events;
	struct live_stream *s[WIRE_STREAMS_MAX];
	struct wire_message request = { .type = WIRE_STAT, .stat.path = VIEW(".") };
	struct channel_stream *one_more;
	struct live live;
	struct error err;

	live_begin(&live);
	for (int i = 0; i < WIRE_STREAMS_MAX; i++)
		s[i] = live_start_run(&live, LIVE_RUN(0), "sleep", "100");
	assert_int_equal(channel_open(live.channel, &request, &no_events, NULL, &one_more, &err),
	                 -1);
	assert_int_equal(err.kind, ERR_LIMIT);
	for (int i = 0; i < WIRE_STREAMS_MAX; i++)
		assert_true(live_started(s[i])->is_started);
	channel_close(s[7]->stream);
	LIVE_CHECK_FAILED(s[7], WIRE_FAILED_CLOSED, "closed");
	assert_false(LIVE_QUERY(&live, .type = WIRE_STAT, .stat.path = VIEW("."))->is_failed);
	live_finish(&live);
}

static void allow_fds(struct live *live, rlim_t soft)
{
	struct rlimit limit;

	assert_int_equal(prlimit(live->agent, RLIMIT_NOFILE, NULL, &limit), 0);
	limit.rlim_cur = soft < limit.rlim_max ? soft : limit.rlim_max;
	assert_int_equal(prlimit(live->agent, RLIMIT_NOFILE, &limit, NULL), 0);
}

/* Each request is answered, some with FAILED, and a failed request leaves no descriptor open. */
static void agent_survives_a_lack_of_descriptors(void **state)
{
	enum { LEAST = 3, MOST = 40 };
	size_t fds, failed = 0;
	struct live live;

	live_begin(&live);
	CHECK_GOT(live_sh(&live, "echo before"), WIRE_OUT, "before\n");
	fds = live_agent_fds(&live);
	for (rlim_t n = LEAST; n < MOST; n++) {
		struct live_stream *s[3];

		allow_fds(&live, n);
		s[0] = live_start_run(&live, LIVE_RUN(0), "true");
		s[1] = live_start_run(&live, LIVE_RUN(.flags = WIRE_EXEC_PTY), "true");
		s[2] = live_open(
		        &live, &(struct wire_message){ .type = WIRE_STAT, .stat.path = VIEW(".") });
		for (size_t i = 0; i < ARRAY_LEN(s); i++)
			failed += live_wait(s[i])->is_failed;
	}
	assert_in_range(failed, 3, (MOST - LEAST) * 3 - 1);
	allow_fds(&live, RLIM_INFINITY);
	CHECK_GOT(live_sh(&live, "echo after"), WIRE_OUT, "after\n");
	live_wait_no_descendants(&live, LIVE_MS);
	LIVE_UNTIL(&live, live_agent_fds(&live) == fds, LIVE_MS);
	live_finish(&live);
}

int main(void)
{
	const struct CMUnitTest all[] = {
		TEST(agent_reports_every_exit_code),
		TEST(agent_reports_the_signal_that_killed_the_program),
		TEST(failed_start_has_a_reason),
		TEST(file_without_a_header_is_not_executed),
		TEST(program_gets_its_arguments_unchanged),
		TEST(program_gets_4096_arguments),
		TEST(program_gets_exactly_the_given_environment),
		TEST(program_starts_in_the_requested_directory),
		TEST(started_has_the_pid),
		TEST(exited_has_the_resource_usage),
		TEST(last_output_is_complete),
		TEST(run_can_be_closed_before_it_has_started),
		TEST(agent_ends_100_closed_runs),
		TEST(server_refuses_the_257th_stream),
		TEST(agent_survives_a_lack_of_descriptors),
	};

	return LIVE_RUN_TWICE("programs", all);
}
