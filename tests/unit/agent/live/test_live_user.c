/* test_live_user.c - the user, limits, signals and descriptors of a program. */
#include <sys/resource.h>

#include "unit/agent/live/live_modes.h"

/* The value of a line of /proc/self/status. */
static const char *status_line(struct live_stream *s, const char *key)
{
	static char line[256];
	const char *at = strstr(buf_text(&s->got[WIRE_OUT]), key);

	assert_non_null(at);
	at += strlen(key);
	at += strspn(at, "\t ");
	(void)snprintf(line, sizeof line, "%.*s", (int)strcspn(at, "\n"), at);
	return line;
}

static void check_powerless(struct live_stream *s)
{
	assert_string_equal(status_line(s, "CapInh:"), "0000000000000000");
	assert_string_equal(status_line(s, "CapPrm:"), "0000000000000000");
	assert_string_equal(status_line(s, "CapEff:"), "0000000000000000");
	assert_string_equal(status_line(s, "CapAmb:"), "0000000000000000");
	assert_string_equal(status_line(s, "NoNewPrivs:"), "1");
}

static void program_has_the_ids_of_its_user(void **state)
{
	struct live_stream *s;
	struct live live;
	char want[60];

	live_begin_as_user(&live);
	s = live_exec(&live, "cat", "/proc/self/status");
	(void)snprintf(want, sizeof want, "%1$u\t%1$u\t%1$u\t%1$u", live_user());
	assert_string_equal(status_line(s, "Uid:"), want);
	assert_string_equal(status_line(s, "Gid:"), want);
	assert_string_equal(status_line(s, "Groups:"), "");
	check_powerless(s);
	live_finish(&live);
}

static void program_has_the_supplementary_groups_of_its_user(void **state)
{
	struct live_stream *s;
	struct live live;

	if (geteuid() != 0)
		SKIP_TEST("only root can act for two users");
	live_start(&live, &(struct live_options){ .is_pid1 = live_as_pid1,
	                                          .uid = 12345,
	                                          .gid = 54321,
	                                          .groups = { 7, 8 } });
	s = live_exec(&live, "cat", "/proc/self/status");
	assert_string_equal(status_line(s, "Uid:"), "12345\t12345\t12345\t12345");
	assert_string_equal(status_line(s, "Gid:"), "54321\t54321\t54321\t54321");
	assert_string_equal(status_line(s, "Groups:"), "7 8 ");
	check_powerless(s);
	live_finish(&live);
}

/* Without a quota RLIMIT_FSIZE stands in for a full disk: writes are to fail, not to kill. */
static void program_starts_with_no_signal_blocked_and_only_sigxfsz_ignored(void **state)
{
	struct live_stream *s;
	struct live live;

	live_begin(&live);
	s = live_exec(&live, "cat", "/proc/self/status");
	assert_string_equal(status_line(s, "SigBlk:"), "0000000000000000");
	assert_string_equal(status_line(s, "SigIgn:"), "0000000001000000");
	assert_string_equal(status_line(s, "NoNewPrivs:"), "1");
	assert_string_equal(status_line(s, "Umask:"), "0022");
	live_finish(&live);
}

#define LIMITS(...)                                                                                \
	.limits = (const struct wire_limit[]){ __VA_ARGS__ },                                      \
	.limit_count = sizeof((const struct wire_limit[]){ __VA_ARGS__ }) /                        \
	               sizeof(struct wire_limit)

static void program_has_the_requested_limits(void **state)
{
	struct live_stream *s;
	struct live live;

	live_begin(&live);
	s = live_start_run(&live,
	                   LIVE_RUN(LIMITS({ RLIMIT_NOFILE, 64, 128 }, { RLIMIT_CORE, 0, 0 })),
	                   "sh", "-c", "ulimit -n; ulimit -Hn; ulimit -c");
	CHECK_GOT(live_exited(s), WIRE_OUT, "64\n128\n0\n");
	s = live_start_run(&live, LIVE_RUN(LIMITS({ RLIMIT_FSIZE, 1024, 1024 })), "dd",
	                   "if=/dev/zero", "of=big", "bs=4096", "count=1");
	(void)live_exited(s);
	s = live_start_run(&live, LIVE_RUN(LIMITS({ RLIMIT_FSIZE, 1024, 1024 })), "dd",
	                   "if=/dev/zero", "of=big", "bs=1024", "count=2");
	assert_int_equal(live_exited(s)->exited.code, 1);
	assert_non_null(strstr(buf_text(&s->got[WIRE_ERR]), "File too large"));
	s = live_start_run(&live, LIVE_RUN(LIMITS({ RLIMIT_CPU, 1, 2 })), "sh", "-c",
	                   "while :; do :; done");
	assert_int_equal(live_exited(s)->exited.signal, SIGXCPU);
	assert_in_range(s->exited.user_us + s->exited.system_us, 500000, 1900000);
	live_finish(&live);
}

/* The limit holds before execve(), while the process still needs some descriptors. */
static void program_starts_with_a_small_limit_of_descriptors(void **state)
{
	struct live_stream *s;
	struct live live;

	live_begin(&live);
	s = live_start_run(&live, LIVE_RUN(LIMITS({ RLIMIT_NOFILE, 4, 4 })), "cat",
	                   "/proc/self/limits");
	assert_int_equal(live_exited(s)->exited.code, 0);
	assert_non_null(strstr(buf_text(&s->got[WIRE_OUT]),
	                       "Max open files            4                    4 "));
	live_finish(&live);
}

static void limit_that_cannot_be_set_is_named(void **state)
{
	struct live_stream *s;
	struct live live;

	live_begin(&live);
	s = live_start_run(&live, LIVE_RUN(LIMITS({ RLIMIT_NOFILE, 20, 10 })), "true");
	LIVE_CHECK_FAILED(s, WIRE_FAILED_INVALID, "set resource limit 7 to 20: Invalid argument");
	s = live_start_run(&live, LIVE_RUN(LIMITS({ 99, 1, 1 })), "true");
	LIVE_CHECK_FAILED(s, WIRE_FAILED_INVALID, "set resource limit 99 to 1: Invalid argument");
	live_finish(&live);
}

/* The agent raises its own limit, and passes on the one from before. */
static void program_has_the_descriptor_limit_the_agent_was_given(void **state)
{
	struct rlimit files;
	struct live live;
	char want[32];

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
	(void)snprintf(want, sizeof want, "%lu\n", (unsigned long)files.rlim_cur);
	live_begin(&live);
	CHECK_GOT(live_sh(&live, "ulimit -n"), WIRE_OUT, want);
	live_finish(&live);
}

static void request_does_not_raise_a_hard_limit(void **state)
{
	const struct rlimit low = { 1000, 1000 };
	struct live_stream *s;
	struct live live;

	assert_int_equal(setrlimit(RLIMIT_MSGQUEUE, &low), 0);
	live_begin(&live);
	s = live_start_run(&live, LIVE_RUN(LIMITS({ RLIMIT_MSGQUEUE, 2000, RLIM_INFINITY })), "cat",
	                   "/proc/self/limits");
	assert_int_equal(live_exited(s)->exited.code, 0);
	assert_non_null(strstr(buf_text(&s->got[WIRE_OUT]),
	                       "Max msgqueue size         1000                 1000 "));
	live_finish(&live);
}

static void program_has_three_descriptors_or_four(void **state)
{
	/* The shell has /proc/$$/fd open only while it expands the pattern. */
	static const char list[] = "for f in /proc/$$/fd/*; do [ -e $f ] && echo ${f##*/}; done; :";
	static const struct {
		uint8_t flags;
		const char *want;
	} rows[] = {
		{ 0, "0\n1\n2\n" },
		{ WIRE_EXEC_STDIN, "0\n1\n2\n" },
		{ WIRE_EXEC_CONTROL, "0\n1\n2\n3\n" },
		{ WIRE_EXEC_CONTROL | WIRE_EXEC_STDIN, "0\n1\n2\n3\n" },
	};
	struct live live;

	live_begin(&live);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct live_stream *s = live_start_run(&live, LIVE_RUN(.flags = rows[i].flags),
		                                       "sh", "-c", list);

		CHECK_GOT(live_exited(s), WIRE_OUT, rows[i].want);
	}
	live_finish(&live);
}

static void program_cannot_access_agent_and_keeper(void **state)
{
	struct live_stream *s;
	struct live live;

	live_begin_as_user(&live);
	s = live_sh(&live, "ls /proc/$PPID/fd; kill -0 $PPID; kill -9 $PPID; echo on");
	CHECK_GOT(s, WIRE_OUT, "on\n");
	assert_int_equal(s->exited.code, 0);
	if (live_as_pid1) { /* elsewhere there may be strangers who are nobody too */
		s = live_start_run(&live, LIVE_RUN(0), "sleep", "100");
		(void)live_started(s);
		(void)live_sh(&live, "kill -KILL -1; :");
		assert_int_equal(live_exited(s)->exited.signal, SIGKILL);
	}
	live_check_answers(&live);
	live_finish(&live);
}

int main(void)
{
	const struct CMUnitTest all[] = {
		TEST(program_has_the_ids_of_its_user),
		TEST(program_has_the_supplementary_groups_of_its_user),
		TEST(program_starts_with_no_signal_blocked_and_only_sigxfsz_ignored),
		TEST(program_has_the_requested_limits),
		TEST(program_starts_with_a_small_limit_of_descriptors),
		TEST(limit_that_cannot_be_set_is_named),
		TEST(program_has_the_descriptor_limit_the_agent_was_given),
		TEST(request_does_not_raise_a_hard_limit),
		TEST(program_has_three_descriptors_or_four),
		TEST(program_cannot_access_agent_and_keeper),
	};

	return LIVE_RUN_TWICE("a program's rights", all);
}
