/* What the rows say while sandboxes come and go, also when they cannot be written. */
#include "sandbox/channel/channel.h"
#include "sandbox/run/sandbox_run.h"
#include "unit/sandbox/lifecycle.h"

static void a_row_that_could_not_be_put_to_sleep_is_ours_still(void **state)
{
	struct world *w = *state;
	struct sandbox *old = old_one(w);
	struct heard deleted = { 0 };
	sqlite3 *held;

	sandbox_wake(old, NULL, NULL);
	assert_int_equal(w->fake.makes, 2);
	held = hold_database(w);
	gone(w, ENGINE_END_AGENT_DIED);
	assert_int_equal(sqlite3_close(held), SQLITE_OK);
	assert_int_equal(row_of(w, "old").state, SANDBOX_AWAKE);
	sandbox_wake(old, NULL, NULL);
	assert_int_equal(w->fake.makes, 3);
	held = hold_database(w);
	gone(w, ENGINE_END_AGENT_DIED);
	assert_int_equal(sqlite3_close(held), SQLITE_OK);
	sandbox_delete(old, hear, &deleted);
	erased(w);
	check_heard(&deleted, "");
}

static void one_that_is_ending_wakes_afterwards(void **state)
{
	struct world *w = *state;
	struct sandbox *old = old_one(w);
	struct heard asleep = { 0 }, woken = { 0 }, first = { 0 };
	int agent;

	sandbox_wake(old, hear, &first);
	(void)close(agent_comes(w));
	check_heard(&first, "");
	sandbox_sleep(old, hear, &asleep);
	sandbox_wake(old, hear, &woken);
	turn(w);
	assert_int_equal(woken.times, 0);
	gone(w, ENGINE_END_KILLED);
	check_heard(&asleep, "");
	assert_int_equal(w->fake.makes, 3);
	assert_int_equal(row_of(w, "old").state, SANDBOX_AWAKE);
	agent = agent_comes(w);
	check_heard(&woken, "");
	(void)close(agent);
}

static void one_that_is_ending_and_cannot_wake_says_so(void **state)
{
	struct world *w = *state;
	struct sandbox *old = old_one(w);
	struct heard woken = { 0 };

	sandbox_wake(old, NULL, NULL);
	sandbox_sleep(old, NULL, NULL);
	sandbox_wake(old, hear, &woken);
	w->fake.is_lost = true;
	gone(w, ENGINE_END_KILLED);
	check_heard(&woken, "lost");
	assert_int_equal(row_of(w, "old").state, SANDBOX_ASLEEP);
}

static void one_that_cannot_be_written_as_awake_is_not_made(void **state)
{
	struct world *w = *state;
	struct heard ready = { 0 };
	sqlite3 *held = hold_database(w);
	int agent;

	sandbox_wake(w->sandbox, hear, &ready);
	agent = agent_comes(w);
	assert_int_equal(sqlite3_close(held), SQLITE_OK);
	assert_int_equal(ready.times, 1);
	assert_non_null(strstr(ready.why, "the database is in use"));
	assert_int_equal(w->fake.box.kills, 1);
	gone(w, ENGINE_END_KILLED);
	erased(w);
	assert_int_equal(ready.times, 1);
	assert_false(exists(w));
	(void)close(agent);
}

static void a_throw_away_is_awake_while_it_runs(void **state)
{
	struct world *w = *state;
	struct sandbox_options wish = {
		.owner = "me", .name = "short", .spec = spec_default(), .temporary = true
	};
	struct sandbox *made;
	struct error err;
	int agent;

	CHECK_OK(sandbox_create(w->manager, &wish, &made, &err), err);
	agent = agent_comes(w);
	assert_int_equal(row_of(w, "short").state, SANDBOX_AWAKE);
	assert_string_equal(row_of(w, "short").instance, "0123456789abcdef");
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

static void waking_and_running_are_use(void **state)
{
	static const char *const argv[] = { "true", NULL };
	struct world *w = *state;
	struct sandbox *old = old_one(w);
	struct run_options wish = { .argv = argv };
	unsigned ended = 0;
	struct run *run;
	struct rig rig;
	struct error err;

	sandbox_wake(old, NULL, NULL);
	rig.fd = agent_comes(w);
	assert_true(row_of(w, "old").used_s > 1000);
	CHECK_OK(run_start(old, &wish, &run_events, &ended, &run, &err), err);
	((struct sandbox_row *)(uintptr_t)sandbox_row(old))->used_s =
	        0; /* the row is written rarely */
	agent_started(&rig, 1);
	AGENT_SAY(&rig, 1, 0, .type = WIRE_EXITED, .exited.code = 0);
	agent_done(&rig, 1);
	turn(w);
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

/* Its keeper had to be killed because it did not get done: that is the deadline's doing. */
static void who_is_lost_after_the_deadline_was_ended_by_it(void **state)
{
	static const struct run_events events = { .output = on_output,
		                                  .ended = on_overdue,
		                                  .failed = on_run_failed };
	static const char *const argv[] = { "bomb", NULL };
	struct run_options wish = { .argv = argv, .deadline_ms = 1 };
	struct world *w = *state;
	struct sandbox *old = old_one(w);
	unsigned ended = 0;
	struct run *run;
	struct rig rig;
	struct error err;

	sandbox_wake(old, NULL, NULL);
	rig.fd = agent_comes(w);
	CHECK_OK(run_start(old, &wish, &events, &ended, &run, &err), err);
	agent_started(&rig, 1);
	(void)usleep(2000);
	AGENT_SAY(&rig, 1, 0, .type = WIRE_FAILED, .failed.why = WIRE_FAILED_LOST,
	          .failed.message = VIEW_INIT("the program's keeper was killed"));
	turn(w);
	AGENT_SAY(&rig, 3, 0, .type = WIRE_FAILED, .failed.why = WIRE_FAILED_INVALID,
	          .failed.message = VIEW_INIT("no"));
	turn(w);
	assert_int_equal(ended, 1);
	(void)close(rig.fd);
}

struct listener {
	struct sandbox *sandbox;
	unsigned times;
	struct heard woken;
};

static void on_stream_failed(void *ctx, enum wire_failure failure, const struct error *why)
{
	struct listener *listener = ctx;

	(void)failure;
	(void)why;
	listener->times++;
	assert_null(sandbox_channel(listener->sandbox));
	sandbox_wake(listener->sandbox, hear, &listener->woken);
}

static void streams_that_fail_find_it_down(void **state)
{
	static const struct channel_stream_events events = { .failed = on_stream_failed };
	static const struct wire_message stats = { .type = WIRE_STATS };
	struct world *w = *state;
	struct listener listener = { .sandbox = old_one(w) };
	struct channel_stream *stream;
	struct error err;
	int agent;

	sandbox_wake(listener.sandbox, NULL, NULL);
	agent = agent_comes(w);
	CHECK_OK(channel_open(sandbox_channel(listener.sandbox), &stats, &events, &listener,
	                      &stream, &err),
	         err);
	gone(w, ENGINE_END_AGENT_DIED);
	assert_int_equal(listener.times, 1);
	assert_int_equal(w->fake.makes, 3); /* who asked in the middle of it is heard */
	assert_int_equal(listener.woken.times, 0);
	(void)close(agent);
	(void)close(agent_comes(w));
	check_heard(&listener.woken, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_WORLD(a_row_that_could_not_be_put_to_sleep_is_ours_still),
		IN_WORLD(one_that_is_ending_wakes_afterwards),
		IN_WORLD(one_that_is_ending_and_cannot_wake_says_so),
		IN_WORLD(one_that_cannot_be_written_as_awake_is_not_made),
		IN_WORLD(a_throw_away_is_awake_while_it_runs),
		IN_WORLD(waking_and_running_are_use),
		IN_WORLD(who_is_lost_after_the_deadline_was_ended_by_it),
		IN_WORLD(streams_that_fail_find_it_down),
	};

	return RUN_TESTS("lifecycle and rows", tests);
}
