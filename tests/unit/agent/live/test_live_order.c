/* test_live_order.c - the order of what a program writes to stdout, stderr and descriptor 3, and what
 * is left of it without signals. */
#include <sys/resource.h>

#include "unit/agent/live/live_modes.h"

/* Waits for a file in the workspace, without the loop. */
static void wait_for_file(const struct live *live, const char *name)
{
	uint64_t end = clock_now_ms() + LIVE_MS;
	char path[300];

	(void)snprintf(path, sizeof path, "%s/%s", live->workspace, name);
	while (access(path, F_OK) < 0) {
		assert_true(clock_now_ms() < end);
		(void)usleep(1000);
	}
	assert_int_equal(unlink(path), 0);
}

static void make_file(const struct live *live, const char *name)
{
	char path[300];
	int fd;

	(void)snprintf(path, sizeof path, "%s/%s", live->workspace, name);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	assert_true(fd >= 0);
	assert_int_equal(close(fd), 0);
}

/* Runs the commands while the agent is stopped, so that all they write waits in the pipes. */
static struct live_stream *run_while_stopped(struct live *live, const char *commands)
{
	struct live_stream *s;
	char script[1024];

	(void)snprintf(script, sizeof script,
	               "until [ -e go ]; do sleep 0.01; done; rm go; %s\n: >gone", commands);
	s = live_start_sh(live, LIVE_RUN(.joins = true, .flags = WIRE_EXEC_CONTROL), script);
	assert_int_equal(kill(live->agent, SIGSTOP), 0);
	make_file(live, "go");
	wait_for_file(live, "gone");
	assert_int_equal(kill(live->agent, SIGCONT), 0);
	return live_exited(s);
}

static void writes_to_several_streams_keep_their_order(void **state)
{
	static const struct {
		const char *commands, *want;
	} cases[] = {
		{ "echo a; echo b >&2; echo c; /bin/echo d >&2", "a\nb\nc\nd\n" },
		{ "echo a >&2; echo b; echo c >&2", "a\nb\nc\n" },
		{ "echo a; echo b; echo c >&2; echo d", "a\nb\nc\nd\n" },
		/* each line in two writes, as unbuffered Python prints */
		{ "for i in 1 2 3; do printf o; echo $i; printf e >&2; echo $i >&2; done",
		  "o1\ne1\no2\ne2\no3\ne3\n" },
		/* two lines in each write */
		{ "for i in 1 2 3; do printf 'o\\n%s\\n' $i; printf 'e\\n%s\\n' $i >&2; done",
		  "o\n1\ne\n1\no\n2\ne\n2\no\n3\ne\n3\n" },
		{ "printf a; printf b >&2", "ab" },
		{ "exec 4>/dev/stdout; echo a >&4; echo b >&2; echo c; echo d >&2",
		  "a\nb\nc\nd\n" },
		{ "echo a; echo m >&3; echo b", "a\nm\nb\n" },
		{ "echo m >&3; echo a >&2; echo b", "m\na\nb\n" },
		{ "head -c 9000 /dev/zero | tr '\\0' x; echo e >&2; echo o", NULL },
	};
	struct live_stream *s;
	struct live live;

	live_begin(&live);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		s = run_while_stopped(&live, cases[i].commands);
		if (cases[i].want != NULL)
			assert_string_equal(buf_text(&s->joined), cases[i].want);
		assert_int_equal(s->joined.len, s->got[WIRE_OUT].len + s->got[WIRE_ERR].len +
		                                        s->got[WIRE_CONTROL_OUT].len);
	}
	live_finish(&live);
}

/* A descriptor's number is used again by the next program: the signals that waited for the former
 * one must not count. */
static void order_is_that_of_each_program(void **state)
{
	struct live_stream *s;
	struct live live;

	live_begin(&live);
	for (int i = 0; i < 20; i++) {
		s = live_exited(live_start_run(&live, LIVE_RUN(.joins = true), "sh", "-c",
		                               "echo a >&2; echo b; echo c >&2; echo d"));
		assert_string_equal(buf_text(&s->joined), "a\nb\nc\nd\n");
	}
	live_finish(&live);
}

/* More writes than signals are kept for, but no more bytes than there is credit for. */
static void output_of_a_flood_comes_before_the_error_that_follows(void **state)
{
	struct live_stream *s;
	struct live live;

	live_begin(&live);
	s = live_exited(
	        live_start_run(&live, LIVE_RUN(.joins = true), "sh", "-c",
	                       "i=0; while [ $i -lt 10000 ]; do echo $i; i=$((i + 1)); done; "
	                       "echo failed >&2"));
	assert_int_equal(s->got[WIRE_OUT].len, 48890);
	assert_non_null(strstr(buf_text(&s->joined), "\n9999\nfailed\n"));
	live_finish(&live);
}

static void changes_without_end_lose_no_output(void **state)
{
	struct live_stream *s;
	struct live live;

	live_begin(&live);
	s = live_sh(&live, "i=0; while [ $i -lt 9000 ]; do echo o; echo e >&2; i=$((i + 1)); done");
	assert_int_equal(s->got[WIRE_OUT].len, 18000);
	assert_int_equal(s->got[WIRE_ERR].len, 18000);
	live_finish(&live);
}

/* The user may have no room for signals: then only the order is not known. */
static void output_without_signals_is_complete(void **state)
{
	static const struct rlimit none = { 0, 0 };
	struct live_stream *s;
	struct live live;

	live_begin(&live);
	assert_int_equal(prlimit(live.agent, RLIMIT_SIGPENDING, &none, NULL), 0);
	s = live_start_run(&live, LIVE_RUN(.flags = WIRE_EXEC_CONTROL), "sh", "-c",
	                   "for i in 1 2 3; do echo o$i; echo m$i >&3; echo e$i >&2; done");
	CHECK_GOT(live_exited(s), WIRE_OUT, "o1\no2\no3\n");
	CHECK_GOT(s, WIRE_ERR, "e1\ne2\ne3\n");
	CHECK_GOT(s, WIRE_CONTROL_OUT, "m1\nm2\nm3\n");
	live_finish(&live);
}

/* A program that reads its own output back makes signals without bytes. */
static void program_that_reads_its_output_back_delays_no_other(void **state)
{
	struct live_stream *own, *s;
	struct live live;

	live_begin(&live);
	own = live_start_run(&live, LIVE_RUN(.counts_only = true, .holds_back = true), "sh", "-c",
	                     "exec 4<>/dev/stdout; while :; do echo x >&4; read -r y <&4; done");
	(void)live_started(own);
	for (int i = 0; i < 10; i++) {
		s = live_sh(&live, "echo a; echo b >&2");
		CHECK_GOT(s, WIRE_OUT, "a\n");
		CHECK_GOT(s, WIRE_ERR, "b\n");
	}
	channel_close(own->stream);
	(void)live_wait(own);
	live_finish(&live);
}

static void program_has_its_own_limit_of_signals(void **state)
{
	struct rlimit limit;
	char want[32];
	struct live live;

	live_begin(&live);
	assert_int_equal(getrlimit(RLIMIT_SIGPENDING, &limit), 0);
	(void)snprintf(want, sizeof want, "%llu\n", (unsigned long long)limit.rlim_max);
	CHECK_GOT(live_exec(&live, "bash", "-c", "ulimit -i"), WIRE_OUT, want);
	live_finish(&live);
}

int main(void)
{
	const struct CMUnitTest all[] = {
		TEST(writes_to_several_streams_keep_their_order),
		TEST(order_is_that_of_each_program),
		TEST(output_of_a_flood_comes_before_the_error_that_follows),
		TEST(changes_without_end_lose_no_output),
		TEST(output_without_signals_is_complete),
		TEST(program_that_reads_its_output_back_delays_no_other),
		TEST(program_has_its_own_limit_of_signals),
	};

	return LIVE_RUN_TWICE("order", all);
}
