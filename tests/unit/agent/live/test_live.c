/* test_live.c - one request of each kind to the real agent: the shortest test of the rig. */
#include "unit/agent/live/live.h"

static void check_everything_once(bool is_pid1)
{
	struct wire_entry entry;
	struct live_stream *s;
	struct live live;

	live_start(&live, &(struct live_options){ .is_pid1 = is_pid1 });
	s = live_exec(&live, "sh", "-c", "cut -d' ' -f4 /proc/$PPID/stat");
	assert_int_equal(strcmp(buf_text(&s->got[WIRE_OUT]), "1\n") == 0, is_pid1);
	s = live_exec(&live, "sh", "-c", "pwd; echo err >&2; exit 3");
	assert_int_equal(s->exited.code, 3);
	assert_int_equal(s->got[WIRE_OUT].len, strlen(live.workspace) + 1);
	CHECK_VIEW(buf_view(&s->got[WIRE_ERR]), "err\n");
	s = live_start_run(&live, LIVE_RUN(.flags = WIRE_EXEC_STDIN, .input = "hi"), "cat");
	CHECK_VIEW(buf_view(&live_exited(s)->got[WIRE_OUT]), "hi");
	(void)live_check(live_write_file(&live, "a/b", VIEW("text")));
	CHECK_VIEW(buf_view(&live_check(live_read_file(&live, "a/b"))->got[WIRE_OUT]), "text");
	s = LIVE_QUERY(&live, .type = WIRE_LIST,
	               .list = { .limit = 10, .path = VIEW("a"), .cursor = VIEW("") });
	assert_true(live_entry(live_check(s), 0, &entry));
	CHECK_VIEW(entry.path, "b");
	assert_false(live_entry(s, 1, &entry));
	s = LIVE_QUERY(&live, .type = WIRE_STAT, .stat.path = VIEW("none"));
	assert_true(s->is_failed && s->failure == WIRE_FAILED_MISSING);
	s = live_started(live_start_run(&live, LIVE_RUN(0), "sleep", "100"));
	assert_true(live_descendants(&live, NULL, 0) >= 1);
	live_signal(s, SIGKILL);
	assert_int_equal(live_exited(s)->exited.signal, SIGKILL);
	live_wait_no_descendants(&live, LIVE_MS);
	live_stop(&live);
	assert_true(WIFEXITED(live.status) && WEXITSTATUS(live.status) == 0);
}

static void agent_works_as_an_ordinary_process(void **state)
{
	check_everything_once(false);
}

static void agent_works_as_pid_1(void **state)
{
	if (!live_can_be_pid1())
		SKIP_TEST("no PID namespaces here");
	check_everything_once(true);
}

int main(void)
{
	const struct CMUnitTest all[] = {
		TEST(agent_works_as_an_ordinary_process),
		TEST(agent_works_as_pid_1),
	};

	return RUN_TESTS("live", all);
}
