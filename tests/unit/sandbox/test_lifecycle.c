/* Calls in unusual orders: every callback is called exactly once, with the right result. */
#include "unit/sandbox/lifecycle.h"

#define SHUTTING_DOWN "belljar is shutting down: no sandbox is created or woken any more"

static void every_delete_caller_is_notified_once(void **state)
{
	struct world *w = *state;
	struct result first = { 0 }, second = { 0 }, third = { 0 };

	sandbox_delete(w->sandbox, on_result, &first);
	sandbox_delete(w->sandbox, on_result, &second);
	assert_int_equal(w->fake.box.kills, 1);
	run_turns(w);
	assert_int_equal(first.times, 0);
	report_ended(w, ENGINE_END_KILLED);
	sandbox_delete(w->sandbox, on_result, &third); /* while its files are removed */
	assert_int_equal(w->fake.erases, 1);
	report_erased(w);
	assert_result(&first, "");
	assert_result(&second, "");
	assert_result(&third, "");
	assert_false(sandbox_exists(w));
}

static void deletion_fails_other_waiters(void **state)
{
	struct world *w = *state;
	struct result ready = { 0 }, asleep = { 0 }, late = { 0 }, deleted = { 0 }, woken = { 0 };

	sandbox_wake(w->sandbox, on_result, &ready);
	sandbox_sleep(w->sandbox, on_result, &asleep);
	sandbox_delete(w->sandbox, on_result, &deleted);
	sandbox_wake(w->sandbox, on_result, &woken);
	report_ended(w, ENGINE_END_KILLED);
	assert_result(&ready, "the sandbox was put to sleep, reset or deleted meanwhile");
	assert_result(&asleep, "the sandbox is being deleted");
	assert_result(&woken, "the sandbox is being deleted");
	sandbox_sleep(w->sandbox, on_result, &late);
	report_erased(w);
	assert_result(&late, "the sandbox is being deleted");
	assert_result(&deleted, "");
}

static void sandbox_that_failed_to_start_is_deleted(void **state)
{
	struct world *w = *state;
	struct result asleep = { 0 }, ready = { 0 };
	struct error err;

	sandbox_wake(w->sandbox, on_result, &ready);
	sandbox_sleep(w->sandbox, on_result, &asleep);
	(void)error_set(&err, ERR_SYSTEM, "killed half-way");
	w->fake.box.events->failed(w->fake.box.ctx, &err);
	run_turns(w);
	assert_result(&ready, "the sandbox was put to sleep, reset or deleted meanwhile");
	assert_result(&asleep, "the sandbox is being deleted");
	report_erased(w);
	assert_false(sandbox_exists(w));
}

static void channel_of_killed_sandbox_is_closed(void **state)
{
	struct world *w = *state;
	struct result deleted = { 0 };
	int ends[2];
	char byte;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	sandbox_delete(w->sandbox, on_result, &deleted);
	w->fake.box.events->started(w->fake.box.ctx, ends[0],
	                            &(struct engine_user){ 1000, 1000, false, false, "" });
	assert_int_equal(read(ends[1], &byte, 1), 0);
	(void)close(ends[1]);
	assert_null(sandbox_channel(w->sandbox));
	report_ended(w, ENGINE_END_KILLED);
	report_erased(w);
	assert_result(&deleted, "");
}

static void lost_engine_fails_all_waiters(void **state)
{
	struct world *w = *state;
	struct result deleted = { 0 }, ready = { 0 };
	struct error lost;

	sandbox_wake(w->sandbox, on_result, &ready);
	sandbox_delete(w->sandbox, on_result, &deleted);
	w->fake.is_lost = true;
	report_ended(w, ENGINE_END_ENGINE_LOST);
	assert_result(&ready, "the sandbox ended: why not");
	/* A lost engine also fails the pending erase. */
	(void)error_set(&lost, ERR_SYSTEM, "lost");
	w->fake.erased(w->fake.erased_ctx, &lost);
	run_turns(w);
	assert_result(&deleted, "lost");
}

static void on_ended(void *ctx)
{
	++*(unsigned *)ctx;
}

static void manager_stop_waits_for_all_sandboxes(void **state)
{
	struct world *w = *state;
	unsigned times = 0;

	manager_stop(w->manager, on_ended, &times);
	run_turns(w);
	assert_int_equal(times, 0);
	report_ended(w, ENGINE_END_KILLED);
	assert_int_equal(times, 0); /* one that was never ready is removed */
	report_erased(w);
	assert_int_equal(times, 1);
}

static void every_manager_stop_caller_is_notified(void **state)
{
	struct world *w = *state;
	unsigned first = 0, second = 0, late = 0;

	manager_stop(w->manager, on_ended, &first);
	manager_stop(w->manager, on_ended, &second);
	report_ended(w, ENGINE_END_KILLED);
	report_erased(w);
	assert_int_equal(first, 1);
	assert_int_equal(second, 1);
	manager_stop(w->manager, on_ended, &late);
	run_turns(w);
	assert_int_equal(late, 1);
	assert_int_equal(first, 1);
}

static void stopping_manager_refuses_create_and_wake(void **state)
{
	struct world *w = *state;
	struct sandbox_options options = { .owner = "me", .name = "new", .spec = spec_default() };
	struct sandbox *old = add_sleeping_sandbox(w), *made;
	struct result woken = { 0 }, again = { 0 };
	unsigned times = 0;
	struct error err;

	manager_stop(w->manager, on_ended, &times);
	CHECK_ERROR(sandbox_create(w->manager, &options, &made, &err), err, ERR_INVALID,
	            SHUTTING_DOWN);
	sandbox_wake(old, on_result, &woken);
	sandbox_wake(w->sandbox, on_result, &again); /* which is ending */
	run_turns(w);
	assert_result(&woken, SHUTTING_DOWN);
	assert_result(&again, SHUTTING_DOWN);
	assert_int_equal(w->fake.makes, 1);
	report_ended(w, ENGINE_END_KILLED);
	report_erased(w);
	assert_int_equal(times, 1);
}

static void box_erased_before_its_end_is_released(void **state)
{
	struct world *w = *state;
	struct result deleted = { 0 }, ready = { 0 }, down = { 0 }, asleep = { 0 };
	struct error err;

	sandbox_wake(w->sandbox, on_result, &ready);
	sandbox_notify_end(w->sandbox, on_result, &down);
	sandbox_sleep(w->sandbox, on_result, &asleep);
	sandbox_delete(w->sandbox, on_result, &deleted);
	(void)error_set(&err, ERR_INVALID, "it is awake");
	report_erase_result(w, &err);
	assert_int_equal(w->fake.box.releases, 1);
	report_ended(w, ENGINE_END_AGENT_DIED);
	assert_result(&deleted, "it is awake");
	assert_result(&ready, "it is awake");
	assert_result(&down, "");
	assert_result(&asleep, "the sandbox is being deleted");
}

static void manager_free_fails_all_waiters(void **state)
{
	struct world *w = *state;
	struct result ready = { 0 }, down = { 0 }, asleep = { 0 }, deleted = { 0 };

	sandbox_wake(w->sandbox, on_result, &ready);
	sandbox_notify_end(w->sandbox, on_result, &down);
	sandbox_sleep(w->sandbox, on_result, &asleep);
	sandbox_delete(w->sandbox, on_result, &deleted);
	w->manager = manager_free(w->manager);
	assert_result(&ready, SHUTTING_DOWN);
	assert_result(&down, SHUTTING_DOWN);
	assert_result(&asleep, SHUTTING_DOWN);
	assert_result(&deleted, SHUTTING_DOWN);
}

static void freed_manager_calls_no_stop_callback(void **state)
{
	struct world *w = *state;
	unsigned times = 0;

	sandbox_delete(w->sandbox, NULL, NULL);
	report_ended(w, ENGINE_END_KILLED);
	report_erased(w);
	manager_stop(w->manager, on_ended, &times);
	w->manager = manager_free(w->manager); /* before the loop had its run_turns */
	run_turns(w);
	assert_int_equal(times, 0);
}

static void agent_that_exits_before_it_has_the_trusted_file_was_never_ready(void **state)
{
	struct world *w = *state;
	struct result ready = { 0 };
	int fd;

	sandbox_wake(w->sandbox, on_result, &ready);
	fd = connect_agent(w);
	assert_int_equal(ready.times, 0);
	(void)close(fd);
	run_turns(w);
	assert_null(sandbox_channel(w->sandbox));
	report_ended(w, ENGINE_END_AGENT_DIED);
	assert_int_equal(ready.times, 1);
	assert_true(ready.failed);
	report_erased(w); /* a sandbox that never was ready is removed */
	assert_false(sandbox_exists(w));
}

static void overlong_owner_is_refused(void **state)
{
	struct world *w = *state;
	char owner[OWNER_MAX + 2];
	struct sandbox_options options = { .owner = owner, .spec = spec_default() };
	struct sandbox *made;
	struct error err;

	memset(owner, 'o', sizeof owner - 1);
	owner[sizeof owner - 1] = '\0';
	CHECK_ERROR(sandbox_create(w->manager, &options, &made, &err), err, ERR_LIMIT,
	            "owner: 256 bytes, at most 255 are allowed");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_WORLD(every_delete_caller_is_notified_once),
		IN_WORLD(deletion_fails_other_waiters),
		IN_WORLD(sandbox_that_failed_to_start_is_deleted),
		IN_WORLD(channel_of_killed_sandbox_is_closed),
		IN_WORLD(lost_engine_fails_all_waiters),
		IN_WORLD(manager_stop_waits_for_all_sandboxes),
		IN_WORLD(every_manager_stop_caller_is_notified),
		IN_WORLD(stopping_manager_refuses_create_and_wake),
		IN_WORLD(box_erased_before_its_end_is_released),
		IN_WORLD(manager_free_fails_all_waiters),
		IN_WORLD(freed_manager_calls_no_stop_callback),
		IN_WORLD(overlong_owner_is_refused),
		cmocka_unit_test_setup_teardown(
		        agent_that_exits_before_it_has_the_trusted_file_was_never_ready,
		        open_trusting_world, close_world),
	};

	return RUN_TESTS("lifecycle", tests);
}
