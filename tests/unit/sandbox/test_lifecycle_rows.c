/* The rows of the registry while sandboxes change state, also when the database cannot be
 * written. */
#include "sandbox/channel/channel.h"
#include "sandbox/run/sandbox_run.h"
#include "unit/sandbox/lifecycle.h"

static void row_not_written_asleep_stays_claimed(void **state)
{
	struct world *w = *state;
	struct sandbox *old = add_sleeping_sandbox(w);
	struct result deleted = { 0 };
	sqlite3 *held;

	sandbox_wake(old, NULL, NULL);
	assert_int_equal(w->fake.makes, 2);
	held = lock_database(w);
	report_ended(w, ENGINE_END_AGENT_DIED);
	assert_int_equal(sqlite3_close(held), SQLITE_OK);
	assert_int_equal(read_row(w, "old").state, SANDBOX_AWAKE);
	sandbox_wake(old, NULL, NULL);
	assert_int_equal(w->fake.makes, 3);
	held = lock_database(w);
	report_ended(w, ENGINE_END_AGENT_DIED);
	assert_int_equal(sqlite3_close(held), SQLITE_OK);
	sandbox_delete(old, on_result, &deleted);
	report_erased(w);
	assert_result(&deleted, "");
}

static void ending_sandbox_wakes_after_its_end(void **state)
{
	struct world *w = *state;
	struct sandbox *old = add_sleeping_sandbox(w);
	struct result asleep = { 0 }, woken = { 0 }, first = { 0 };
	int agent;

	sandbox_wake(old, on_result, &first);
	(void)close(connect_agent(w));
	assert_result(&first, "");
	sandbox_sleep(old, on_result, &asleep);
	sandbox_wake(old, on_result, &woken);
	run_turns(w);
	assert_int_equal(woken.times, 0);
	report_ended(w, ENGINE_END_KILLED);
	assert_result(&asleep, "");
	assert_int_equal(w->fake.makes, 3);
	assert_int_equal(read_row(w, "old").state, SANDBOX_AWAKE);
	agent = connect_agent(w);
	assert_result(&woken, "");
	(void)close(agent);
}

static void failed_wake_after_end_is_reported(void **state)
{
	struct world *w = *state;
	struct sandbox *old = add_sleeping_sandbox(w);
	struct result woken = { 0 };

	sandbox_wake(old, NULL, NULL);
	sandbox_sleep(old, NULL, NULL);
	sandbox_wake(old, on_result, &woken);
	w->fake.is_lost = true;
	report_ended(w, ENGINE_END_KILLED);
	assert_result(&woken, "lost");
	assert_int_equal(read_row(w, "old").state, SANDBOX_ASLEEP);
}

static void sandbox_is_killed_if_its_row_cannot_be_written(void **state)
{
	struct world *w = *state;
	struct result ready = { 0 };
	sqlite3 *held = lock_database(w);
	int agent;

	sandbox_wake(w->sandbox, on_result, &ready);
	agent = connect_agent(w);
	assert_int_equal(sqlite3_close(held), SQLITE_OK);
	assert_int_equal(ready.times, 1);
	assert_non_null(strstr(ready.why, "the database is in use"));
	assert_int_equal(w->fake.box.kills, 1);
	report_ended(w, ENGINE_END_KILLED);
	report_erased(w);
	assert_int_equal(ready.times, 1);
	assert_false(sandbox_exists(w));
	(void)close(agent);
}

static void temporary_sandbox_row_is_awake(void **state)
{
	struct world *w = *state;
	struct sandbox_options options = {
		.owner = "me", .name = "short", .spec = spec_default(), .temporary = true
	};
	struct sandbox *made;
	struct error err;
	int agent;

	CHECK_OK(sandbox_create(w->manager, &options, &made, &err), err);
	agent = connect_agent(w);
	assert_int_equal(read_row(w, "short").state, SANDBOX_AWAKE);
	assert_string_equal(read_row(w, "short").instance, "0123456789abcdef");
	(void)close(agent);
}

static void on_output(void *ctx, bool is_stderr, struct view bytes)
{
	(void)ctx;
	(void)is_stderr;
	(void)bytes;
}

static void on_run_ended(void *ctx, const struct run_end *end)
{
	(void)end;
	++*(unsigned *)ctx;
}

static void on_run_failed(void *ctx, const struct error *why)
{
	(void)ctx;
	fail_msg("%s", why->msg);
}

static const struct run_events run_events = { .output = on_output,
	                                      .ended = on_run_ended,
	                                      .failed = on_run_failed };

static void wake_and_run_update_last_use(void **state)
{
	static const char *const argv[] = { "true", NULL };
	struct world *w = *state;
	struct sandbox *old = add_sleeping_sandbox(w);
	struct run_options options = { .argv = argv };
	unsigned ended = 0;
	struct run *run;
	struct channel_rig rig;
	struct error err;

	sandbox_wake(old, NULL, NULL);
	rig.fd = connect_agent(w);
	assert_true(read_row(w, "old").used_s > 1000);
	CHECK_OK(run_start(old, &options, &run_events, &ended, &run, &err), err);
	((struct sandbox_row *)(uintptr_t)sandbox_row(old))->used_s =
	        0; /* the registry is written at most every 10 s */
	agent_started(&rig, 1);
	AGENT_SEND(&rig, 1, 0, .type = WIRE_EXITED, .exited.code = 0);
	agent_done(&rig, 1);
	run_turns(w);
	assert_int_equal(ended, 1);
	assert_true(sandbox_row(old)->used_s > 1000);
	(void)close(rig.fd);
}

static void on_overdue(void *ctx, const struct run_end *end)
{
	assert_true(end->timed_out);
	assert_int_equal(end->signal, SIGKILL);
	++*(unsigned *)ctx;
}

/* The agent kills a keeper that does not finish after the deadline: that is a time-out, not an
 * error. */
static void keeper_killed_after_deadline_counts_as_timeout(void **state)
{
	static const struct run_events events = { .output = on_output,
		                                  .ended = on_overdue,
		                                  .failed = on_run_failed };
	static const char *const argv[] = { "bomb", NULL };
	struct run_options options = { .argv = argv, .deadline_ms = 1 };
	struct world *w = *state;
	struct sandbox *old = add_sleeping_sandbox(w);
	unsigned ended = 0;
	struct run *run;
	struct channel_rig rig;
	struct error err;

	sandbox_wake(old, NULL, NULL);
	rig.fd = connect_agent(w);
	CHECK_OK(run_start(old, &options, &events, &ended, &run, &err), err);
	agent_started(&rig, 1);
	(void)usleep(2000);
	AGENT_SEND(&rig, 1, 0, .type = WIRE_FAILED, .failed.why = WIRE_FAILED_LOST,
	           .failed.message = VIEW_INIT("the program's keeper was killed"));
	run_turns(w);
	AGENT_SEND(&rig, 3, 0, .type = WIRE_FAILED, .failed.why = WIRE_FAILED_INVALID,
	           .failed.message = VIEW_INIT("no"));
	run_turns(w);
	assert_int_equal(ended, 1);
	(void)close(rig.fd);
}

struct listener {
	struct sandbox *sandbox;
	unsigned times;
	struct result woken;
};

static void on_stream_failed(void *ctx, enum wire_failure failure, const struct error *why)
{
	struct listener *listener = ctx;

	(void)failure;
	(void)why;
	listener->times++;
	assert_null(sandbox_channel(listener->sandbox));
	sandbox_wake(listener->sandbox, on_result, &listener->woken);
}

static void failing_stream_may_wake_the_sandbox_again(void **state)
{
	static const struct channel_stream_events events = { .failed = on_stream_failed };
	static const struct wire_message stats = { .type = WIRE_STATS };
	struct world *w = *state;
	struct listener listener = { .sandbox = add_sleeping_sandbox(w) };
	struct channel_stream *stream;
	struct error err;
	int agent;

	sandbox_wake(listener.sandbox, NULL, NULL);
	agent = connect_agent(w);
	CHECK_OK(channel_open(sandbox_channel(listener.sandbox), &stats, &events, &listener,
	                      &stream, &err),
	         err);
	report_ended(w, ENGINE_END_AGENT_DIED);
	assert_int_equal(listener.times, 1);
	assert_int_equal(w->fake.makes, 3); /* the wake requested by on_stream_failed() */
	assert_int_equal(listener.woken.times, 0);
	(void)close(agent);
	(void)close(connect_agent(w));
	assert_result(&listener.woken, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_WORLD(row_not_written_asleep_stays_claimed),
		IN_WORLD(ending_sandbox_wakes_after_its_end),
		IN_WORLD(failed_wake_after_end_is_reported),
		IN_WORLD(sandbox_is_killed_if_its_row_cannot_be_written),
		IN_WORLD(temporary_sandbox_row_is_awake),
		IN_WORLD(wake_and_run_update_last_use),
		IN_WORLD(keeper_killed_after_deadline_counts_as_timeout),
		IN_WORLD(failing_stream_may_wake_the_sandbox_again),
	};

	return RUN_TESTS("lifecycle and rows", tests);
}
