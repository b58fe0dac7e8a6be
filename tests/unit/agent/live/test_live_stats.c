/* test_live_stats.c - STATS, CHANGES, and workers that are killed, stopped or blocked. */
#include <sys/statvfs.h>

#include "base/clock.h"
#include "unit/agent/live/live_files.h"

static struct wire_stats_are ask(struct live *live)
{
	struct live_stream *s = LIVE_QUERY(live, .type = WIRE_STATS);

	return live_check(s)->stats;
}

/* Used space may change while other processes use the same disk, and so may the total, which leaves
 * out what the file system keeps for itself. */
static void stats_are_plausible(void **state)
{
	const uint8_t all = WIRE_STATS_MEMORY | WIRE_STATS_CPU | WIRE_STATS_PROCESSES |
	                    WIRE_STATS_DISK;
	struct wire_stats_are stats;
	struct statvfs disk;
	struct live live;

	files_begin(&live, state, (struct live_options){ 0 });
	stats = ask(&live);
	assert_int_equal(statvfs(live.made, &disk), 0);
	assert_int_equal(stats.known, all);
	assert_in_range(stats.disk_total, 1, disk.f_blocks * disk.f_frsize);
	assert_in_range(stats.disk_used, 1, stats.disk_total);
	assert_int_equal(stats.files_total, disk.f_files);
	assert_true(stats.files_used <= stats.files_total);
	assert_true(stats.processes >= 1);
	assert_true(stats.processes_limit == 0 || stats.processes <= stats.processes_limit);
	assert_true(stats.memory_bytes >= 64 * 1024);
	assert_true(stats.memory_limit == 0 || stats.memory_bytes <= stats.memory_limit);
	live_stop(&live);
}

static void stats_follow_processor_time_and_processes(void **state)
{
	enum { SLEEPERS = 10 };
	struct live_stream *sleepers[SLEEPERS], *s;
	struct wire_stats_are before, busy;
	struct live live;

	files_begin(&live, state, (struct live_options){ 0 });
	before = ask(&live);
	s = live_exec(&live, "sh", "-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done");
	assert_int_equal(s->exited.code, 0);
	for (unsigned i = 0; i < SLEEPERS; i++)
		sleepers[i] = live_started(live_start_run(&live, LIVE_RUN(0), "sleep", "100"));
	busy = ask(&live);
	assert_true(busy.cpu_us >= before.cpu_us);
	/* Without a PID namespace the agent also counts the other processes of the machine. */
	if (live.is_pid1)
		assert_true(busy.processes >= before.processes + SLEEPERS);
	for (unsigned i = 0; i < SLEEPERS; i++)
		live_signal(sleepers[i], SIGKILL);
	for (unsigned i = 0; i < SLEEPERS; i++)
		(void)live_exited(sleepers[i]);
	live_stop(&live);
}

/* STATS without a workspace fails, instead of returning numbers of another file system. */
static void stats_fail_without_the_workspace(void **state)
{
	struct live live;
	char message[512];

	files_begin(&live, state, (struct live_options){ 0 });
	assert_int_equal(rmdir(live.made), 0);
	(void)snprintf(message, sizeof message, "%s: No such file or directory", live.workspace);
	LIVE_CHECK_FAILED(LIVE_QUERY(&live, .type = WIRE_STATS), WIRE_FAILED_MISSING, message);
	live_stop(&live);
}

/* --- CHANGES --- */

static void check_changes(struct live *live, uint64_t since_ns, uint32_t limit, const char *want,
                          uint8_t flags)
{
	struct live_stream *s = live_check(LIVE_QUERY(
	        live, .type = WIRE_CHANGES, .changes = { .since_ns = since_ns, .limit = limit }));
	struct wire_entry entry;
	char got[256] = "";

	for (size_t i = 0; live_entry(s, i, &entry); i++) {
		size_t used = strlen(got);

		(void)snprintf(got + used, sizeof got - used, "%.*s ", (int)entry.path.len,
		               entry.path.ptr);
	}
	assert_string_equal(got, want);
	assert_int_equal(s->done.flags, flags);
}

static void changes_are_regular_files_of_the_workspace(void **state)
{
	uint64_t since;
	struct live live;

	files_begin(&live, state, (struct live_options){ 0 });
	files_put(&live, "old", VIEW("a"));
	live_run_ms(&live, 30);
	since = clock_file_ns();
	check_changes(&live, since, 10, "", 0);
	files_mkdir(&live, "d");
	files_mkdir(&live, "d/e");
	files_put(&live, "d/e/new", VIEW("a"));
	files_put(&live, ".hidden", VIEW("a"));
	files_mkdir(&live, "node_modules");
	files_put(&live, "node_modules/x", VIEW("a"));
	assert_int_equal(symlink("/etc", files_at(&live, "etc")), 0);
	assert_int_equal(symlink("d", files_at(&live, "link")), 0);
	check_changes(&live, since, 10, "d/e/new ", 0);
	assert_int_equal(chmod(files_at(&live, "old"), 0644), 0);
	check_changes(&live, since, 10, "old d/e/new ", 0);
	check_changes(&live, since, 1, "old ", WIRE_DONE_MORE);
	check_changes(&live, UINT64_MAX, 1, "", 0);
	live_stop(&live);
}

static void changes_stop_at_their_bounds(void **state)
{
	struct live_stream *s;
	struct live live;

	files_begin(&live, state, (struct live_options){ 0 });
	for (unsigned i = 0; i < 1100; i++) {
		char name[16];

		(void)snprintf(name, sizeof name, "f%u", i);
		files_put(&live, name, VIEW(""));
	}
	s = live_check(LIVE_QUERY(&live, .type = WIRE_CHANGES, .changes = { .limit = 10000 }));
	assert_in_range(s->done.count, 1, 1000);
	assert_int_equal(s->done.flags, WIRE_DONE_MORE);
	live_stop(&live);
}

/* --- workers that are killed --- */

enum { LARGE = 1024 * 1024 };

/* A read whose worker is blocked, because nothing is read from the stream. */
static struct live_stream *open_blocked_read(struct live *live)
{
	AUTO_FREE char *noise = files_noise(LARGE);
	struct live_stream *s;

	files_put(live, "large", (struct view){ noise, LARGE });
	s = files_open_read(live, "large");
	s->holds_back = true;
	LIVE_UNTIL(live, s->bytes[WIRE_OUT] > WIRE_WINDOW / 2, LIVE_MS);
	live_run_ms(live, 50);
	assert_in_range(s->bytes[WIRE_OUT], 1, WIRE_WINDOW);
	return s;
}

static void killed_worker_fails_the_stream_after_its_last_bytes(void **state)
{
	struct live_stream *s;
	struct live live;

	files_begin(&live, state, (struct live_options){ 0 });
	s = open_blocked_read(&live);
	assert_int_equal(kill(files_worker(&live), SIGKILL), 0);
	live_wait_no_descendants(&live, LIVE_MS);
	live_run_ms(&live, 20);
	assert_false(s->is_over);
	s->holds_back = false;
	channel_consumed(s->stream, WIRE_OUT, s->bytes[WIRE_OUT]);
	LIVE_CHECK_FAILED(s, WIRE_FAILED_LOST, "the worker process was killed");
	assert_in_range(s->bytes[WIRE_OUT], WIRE_WINDOW + 1, LARGE - 1);
	(void)live_check(live_read_file(&live, "large"));
	live_stop(&live);
}

static void stream_of_a_killed_worker_can_be_closed(void **state)
{
	struct live_stream *s;
	struct live live;

	files_begin(&live, state, (struct live_options){ 0 });
	s = open_blocked_read(&live);
	assert_int_equal(kill(files_worker(&live), SIGKILL), 0);
	live_wait_no_descendants(&live, LIVE_MS);
	channel_close(s->stream);
	LIVE_CHECK_FAILED(live_wait_ms(s, LIVE_MS), WIRE_FAILED_CLOSED, "closed");
	live_stop(&live);
}

static void agent_continues_a_stopped_worker(void **state)
{
	struct live_stream *s;
	struct live live;

	files_begin(&live, state, (struct live_options){ 0 });
	s = open_blocked_read(&live);
	assert_int_equal(kill(files_worker(&live), SIGSTOP), 0);
	s->holds_back = false;
	channel_consumed(s->stream, WIRE_OUT, s->bytes[WIRE_OUT]);
	assert_int_equal(live_check(s)->bytes[WIRE_OUT], LARGE);
	live_stop(&live);
}

/* Replies that wait for credit block only their own stream. */
static void blocked_streams_delay_no_other_stream(void **state)
{
	struct live_stream *blocked[32], *s;
	struct live live;

	files_begin(&live, state, (struct live_options){ 0 });
	blocked[0] = open_blocked_read(&live);
	for (unsigned i = 1; i < ARRAY_LEN(blocked); i++) {
		blocked[i] = files_open_read(&live, "large");
		blocked[i]->holds_back = true;
	}
	for (unsigned i = 0; i < ARRAY_LEN(blocked); i++)
		LIVE_UNTIL(&live, blocked[i]->bytes[WIRE_OUT] >= WIRE_WINDOW / 2, LIVE_MS);
	for (unsigned i = 0; i < 20; i++) {
		s = LIVE_QUERY(&live, .type = WIRE_STAT, .stat.path = VIEW("large"));
		(void)live_check(s);
	}
	for (unsigned i = 0; i < ARRAY_LEN(blocked); i++)
		channel_close(blocked[i]->stream);
	for (unsigned i = 0; i < ARRAY_LEN(blocked); i++)
		LIVE_CHECK_FAILED(blocked[i], WIRE_FAILED_CLOSED, "closed");
	live_wait_no_descendants(&live, LIVE_MS);
	live_stop(&live);
}

int main(void)
{
	const struct CMUnitTest all[] = {
		TWICE(stats_are_plausible),
		TWICE(stats_follow_processor_time_and_processes),
		TWICE(stats_fail_without_the_workspace),
		TWICE(changes_are_regular_files_of_the_workspace),
		TWICE(changes_stop_at_their_bounds),
		TWICE(killed_worker_fails_the_stream_after_its_last_bytes),
		TWICE(stream_of_a_killed_worker_can_be_closed),
		TWICE(agent_continues_a_stopped_worker),
		TWICE(blocked_streams_delay_no_other_stream),
	};

	return RUN_TESTS("live stats", all);
}
