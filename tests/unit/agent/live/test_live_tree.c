/* test_live_tree.c - deadlines, descendants of programs, and keepers. */
#include "unit/agent/live/live_modes.h"

/* --- inside: what the shell cannot do --- */

/* Forks, exits and goes on in the child, again and again: a process found in /proc has already exited. */
static int fork_in_a_chain(bool leaves)
{
	(void)!write(STDOUT_FILENO, "up\n", 3);
	while (live_may_fork()) {
		pid_t pid = fork();

		if (pid > 0)
			_exit(0);
		if (pid == 0 && leaves)
			(void)setsid();
	}
	return 0;
}

/* The program exits, but leaves a daemon: a double fork, its own session, no descriptors. */
static int leave_a_daemon(void)
{
	if (fork() != 0)
		return 9;
	(void)setsid();
	if (fork() != 0)
		_exit(0);
	for (int fd = 0; fd < 64; fd++)
		(void)close(fd);
	(void)chdir("/");
	(void)signal(SIGTERM, SIG_IGN);
	(void)signal(SIGHUP, SIG_IGN);
	for (;;)
		(void)pause();
}

static int be_somebody(const char *what)
{
	if (strcmp(what, "--chain") == 0) {
		if (fork() != 0)
			for (;;)
				(void)pause();
		return fork_in_a_chain(false);
	}
	if (strcmp(what, "--leaving-chain") == 0) {
		if (fork() != 0)
			for (;;)
				(void)pause();
		return fork_in_a_chain(true);
	}
	if (strcmp(what, "--chain-left") == 0)
		return fork() != 0 ? 8 : fork_in_a_chain(true);
	if (strcmp(what, "--bomb") == 0) {
		(void)signal(SIGTERM, SIG_IGN);
		(void)!write(STDOUT_FILENO, "up\n", 3);
		while (live_may_fork() && fork() >= -1)
			continue;
	}
	if (strcmp(what, "--daemon") == 0)
		return leave_a_daemon();
	return 64;
}

/* --- deadlines --- */

static void keeper_ends_a_program_at_its_deadline(void **state)
{
	struct live_stream *s;
	struct live live;

	live_begin(&live);
	s = live_start_run(&live, LIVE_RUN(.deadline_ms = 200, .grace_ms = LIVE_MS), "sleep",
	                   "100");
	assert_int_equal(live_exited(s)->exited.signal, SIGTERM);
	assert_int_equal(s->exited.flags, WIRE_EXITED_TIMED_OUT);
	assert_in_range(s->exited.wall_us, 200000, LIVE_MS * 1000);
	s = live_start_run(&live, LIVE_RUN(.deadline_ms = 200, .grace_ms = 300), "sh", "-c",
	                   "trap '' TERM; while :; do sleep 1; done");
	assert_int_equal(live_exited(s)->exited.signal, SIGKILL);
	assert_int_equal(s->exited.flags, WIRE_EXITED_TIMED_OUT);
	assert_in_range(s->exited.wall_us, 500000, LIVE_MS * 1000);
	s = live_start_run(&live, LIVE_RUN(.deadline_ms = 200), "sleep", "100");
	assert_int_equal(live_exited(s)->exited.signal, SIGKILL);
	assert_int_equal(s->exited.flags, WIRE_EXITED_TIMED_OUT);
	/* A stopped program gets SIGTERM too. */
	s = live_start_run(&live, LIVE_RUN(.deadline_ms = 200, .grace_ms = LIVE_MS), "sh", "-c",
	                   "trap 'exit 5' TERM; kill -STOP $$; sleep 1");
	assert_int_equal(live_exited(s)->exited.code, 5);
	/* The program exits before its deadline. */
	s = live_start_run(&live, LIVE_RUN(.deadline_ms = LIVE_MS), "sleep", "0.1");
	assert_int_equal(live_exited(s)->exited.flags, 0);
	live_wait_no_descendants(&live, LIVE_MS);
	live_finish(&live);
}

static void set_deadline(struct live_stream *s, uint32_t deadline_ms)
{
	live_say(s, &(struct wire_message){
	                    .type = WIRE_DEADLINE,
	                    .deadline = { .deadline_ms = deadline_ms, .grace_ms = LIVE_MS } });
}

/* The keeper exits without reading the order: the reason must not get lost. */
static void deadline_behind_a_failed_start_hides_no_reason(void **state)
{
	struct live_stream *s;
	struct live live;

	live_begin(&live);
	for (int i = 0; i < 20; i++) {
		s = live_start_run(&live, LIVE_RUN(.deadline_ms = LIVE_MS), "no-such-program");
		set_deadline(s, LIVE_MS);
		LIVE_CHECK_FAILED(s, WIRE_FAILED_MISSING,
		                  "no-such-program: No such file or directory");
	}
	live_wait_no_descendants(&live, LIVE_MS);
	live_finish(&live);
}

static void deadline_can_be_changed(void **state)
{
	struct live_stream *s;
	struct live live;

	live_begin(&live);
	s = live_start_run(&live, LIVE_RUN(.deadline_ms = 4000), "sleep", "5");
	set_deadline(s, 0);
	assert_int_equal(live_exited(s)->exited.code, 0);
	assert_int_equal(s->exited.flags, 0);
	s = live_start_run(&live, LIVE_RUN(.deadline_ms = 4000), "sleep", "5");
	set_deadline(s, LIVE_MS);
	assert_int_equal(live_exited(s)->exited.flags, 0);
	s = live_start_run(&live, LIVE_RUN(.deadline_ms = 60000), "sleep", "100");
	set_deadline(s, 100);
	assert_int_equal(live_exited(s)->exited.flags, WIRE_EXITED_TIMED_OUT);
	assert_int_equal(s->exited.signal, SIGTERM);
	live_finish(&live);
}

/* --- what is left behind --- */

static void keeper_kills_descendants_that_are_left(void **state)
{
	static const char *const scripts[] = {
		"sleep 100 & exit 9",
		"trap '' TERM HUP; sleep 100 & exit 9",
		"(setsid sleep 100 >/dev/null 2>&1 </dev/null &) ; exit 9",
		"sleep 100 & kill -STOP $!; exit 9",
		"for i in 1 2 3 4 5 6 7 8 9; do (sleep 100 & sleep 100) & done; exit 9",
	};
	struct live_stream *s;
	struct live live;

	live_begin(&live);
	for (size_t i = 0; i < ARRAY_LEN(scripts); i++) {
		s = live_start_run(&live, LIVE_RUN(0), "sh", "-c", scripts[i]);
		(void)live_wait(s);
		assert_int_equal(live_exited(s)->exited.code, 9);
		assert_int_equal(s->exited.flags, WIRE_EXITED_LEFT);
		live_wait_no_descendants(&live, LIVE_MS);
	}
	s = live_exec(&live, live_self(), "--daemon");
	assert_int_equal(s->exited.code, 9);
	assert_int_equal(s->exited.flags, WIRE_EXITED_LEFT);
	live_wait_no_descendants(&live, LIVE_MS);
	live_finish(&live);
}

/* A process of another run has this one's stdout open, which Landlock would deny. */
static void output_held_open_by_another_run_delays_nothing(void **state)
{
	struct live_stream *s, *other;
	struct live live;
	char script[128];

	live_start(&live, &(struct live_options){ .is_pid1 = live_as_pid1, .is_free = true });
	s = live_start_run(&live, LIVE_RUN(0), "sh", "-c", "echo up; sleep 0.5; echo down");
	live_until_bytes(s, WIRE_OUT, 3);
	(void)snprintf(script, sizeof script, "exec 5>/proc/%u/fd/1; echo up; sleep 100", s->pid);
	other = live_start_run(&live, LIVE_RUN(0), "sh", "-c", script);
	live_until_bytes(other, WIRE_OUT, 3);
	(void)live_wait(s);
	CHECK_GOT(live_exited(s), WIRE_OUT, "up\ndown\n");
	assert_false(other->is_over);
	live_finish(&live);
}

/* On a busy machine the keeper may miss the deadline, and the agent kills it. */
static void check_ended_at_deadline(struct live_stream *s)
{
	if (live_wait(s)->is_failed)
		assert_int_equal(s->failure, WIRE_FAILED_LOST);
	else
		assert_int_equal(s->exited.flags & ~WIRE_EXITED_LEFT, WIRE_EXITED_TIMED_OUT);
}

static void keeper_kills_a_process_that_forks_and_exits_in_turn(void **state)
{
	static const char *const kinds[] = { "--chain", "--leaving-chain" };
	struct live_stream *s;
	struct live live;

	live_begin(&live);
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		s = live_start_run(&live, LIVE_RUN(.deadline_ms = 500), live_self(), kinds[i]);
		live_until_bytes(s, WIRE_OUT, 3);
		live_check_answers(&live);
		check_ended_at_deadline(s);
		live_wait_no_descendants(&live, LIVE_MS);
	}
	s = live_exec(&live, live_self(), "--chain-left");
	assert_int_equal(s->exited.code, 8);
	live_wait_no_descendants(&live, LIVE_MS);
	live_finish(&live);
}

static void agent_survives_a_fork_bomb(void **state)
{
	static const struct wire_limit few = { RLIMIT_NPROC, 200, 200 };
	struct live_stream *s;
	struct live live;

	live_begin_as_user(&live);
	s = live_start_run(&live,
	                   LIVE_RUN(.deadline_ms = 600000, .limits = &few, .limit_count = 1,
	                            .counts_only = true),
	                   live_self(), "--bomb");
	live_until_bytes(s, WIRE_OUT, 3);
	LIVE_UNTIL(&live, live_descendants(&live, NULL, 0) > 100, LIVE_MS);
	for (int i = 0; i < 10; i++)
		live_check_answers(&live);
	live_say(s, &(struct wire_message){ .type = WIRE_DEADLINE,
	                                    .deadline = { .deadline_ms = 1, .grace_ms = 1 } });
	check_ended_at_deadline(s);
	live_wait_no_descendants(&live, LIVE_MS);
	live_finish(&live);
}

static void keeper_reaps_10000_short_children(void **state)
{
	unsigned long before;
	struct live_stream *s;
	struct live live;

	live_begin(&live);
	(void)live_sh(&live, "true");
	before = live_status(live.agent, "VmRSS:");
	s = live_start_run(&live, LIVE_RUN(0), "sh", "-c",
	                   "i=0; while [ $i -lt 10000 ]; do (:) & i=$((i+1)); "
	                   "[ $((i % 100)) -ne 0 ] || wait; done; echo done");
	while (!s->is_over) {
		live_check_answers(&live);
		live_run_ms(&live, 200);
		assert_true(live.count < LIVE_STREAMS);
	}
	CHECK_GOT(live_exited(s), WIRE_OUT, "done\n");
	assert_int_equal(live_descendants(&live, NULL, 0), 0);
	assert_true(live_status(live.agent, "VmRSS:") <= before + 256);
	live_finish(&live);
}

/* --- the keeper itself --- */

/* The keeper of the only run, in the test's PID namespace. */
static pid_t keeper_of(struct live *live)
{
	pid_t pids[16];
	size_t n = live_descendants(live, pids, ARRAY_LEN(pids));

	for (size_t i = 0; i < n && i < ARRAY_LEN(pids); i++)
		if (live_parent(pids[i]) == live->agent)
			return pids[i];
	fail_msg("no keeper");
	return 0;
}

static void killed_keeper_fails_the_run_and_its_processes_are_killed(void **state)
{
	static const char *const scripts[] = {
		"trap '' TERM; sleep 100 & setsid sleep 100 & echo up; sleep 100",
		"sleep 100 & kill -STOP $!; echo up; sleep 100",
	};
	struct live_stream *s;
	struct live live;

	live_begin(&live);
	for (size_t i = 0; i < ARRAY_LEN(scripts); i++) {
		s = live_start_run(&live, LIVE_RUN(0), "sh", "-c", scripts[i]);
		live_until_bytes(s, WIRE_OUT, 3);
		assert_int_equal(kill(keeper_of(&live), SIGKILL), 0);
		LIVE_CHECK_FAILED(s, WIRE_FAILED_LOST, "the program's keeper was killed");
		live_wait_no_descendants(&live, LIVE_MS);
	}
	s = live_start_run(&live, LIVE_RUN(0), live_self(), "--leaving-chain");
	live_until_bytes(s, WIRE_OUT, 3);
	assert_int_equal(kill(keeper_of(&live), SIGKILL), 0);
	LIVE_CHECK_FAILED(s, WIRE_FAILED_LOST, "the program's keeper was killed");
	live_wait_no_descendants(&live, LIVE_MS);
	live_finish(&live);
}

static void agent_continues_a_stopped_keeper(void **state)
{
	struct live_stream *s;
	struct live live;

	live_begin(&live);
	s = live_start_sh(&live, LIVE_RUN(.deadline_ms = 600000), "echo up; sleep 100");
	live_until_bytes(s, WIRE_OUT, 3);
	for (int i = 0; i < 5; i++) {
		assert_int_equal(kill(keeper_of(&live), SIGSTOP), 0);
		live_run_ms(&live, 20);
	}
	set_deadline(s, 100);
	assert_true(live_exited(s)->exited.flags & WIRE_EXITED_TIMED_OUT);
	live_finish(&live);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest all[] = {
		TEST(keeper_ends_a_program_at_its_deadline),
		TEST(deadline_can_be_changed),
		TEST(deadline_behind_a_failed_start_hides_no_reason),
		TEST(keeper_kills_descendants_that_are_left),
		TEST(output_held_open_by_another_run_delays_nothing),
		TEST(keeper_kills_a_process_that_forks_and_exits_in_turn),
		TEST(agent_survives_a_fork_bomb),
		TEST(keeper_reaps_10000_short_children),
		TEST(killed_keeper_fails_the_run_and_its_processes_are_killed),
		TEST(agent_continues_a_stopped_keeper),
	};

	if (argc == 2)
		_exit(be_somebody(
		        argv[1])); /* looking for leaks is not among the calls it may make */
	return LIVE_RUN_TWICE("trees", all);
}
