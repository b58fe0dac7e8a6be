/* Calls in a bad order: whoever waits hears exactly once how it went. */
#include "unit/sandbox/lifecycle.h"

#define ENDS "belljar is ending: no sandbox is made or woken any more"

/* --- tests ------------------------------------------------------------------------------ */

static void all_who_delete_hear_it_once(void **state)
{
	struct world *w = *state;
	struct heard first = { 0 }, second = { 0 }, third = { 0 };

	sandbox_delete(w->sandbox, hear, &first);
	sandbox_delete(w->sandbox, hear, &second);
	assert_int_equal(w->fake.box.kills, 1);
	turn(w);
	assert_int_equal(first.times, 0);
	gone(w, ENGINE_END_KILLED);
	sandbox_delete(w->sandbox, hear, &third); /* while its files go */
	assert_int_equal(w->fake.erases, 1);
	erased(w);
	check_heard(&first, "");
	check_heard(&second, "");
	check_heard(&third, "");
	assert_false(exists(w));
}

static void who_waits_for_one_that_is_deleted_hears_why(void **state)
{
	struct world *w = *state;
	struct heard ready = { 0 }, asleep = { 0 }, late = { 0 }, deleted = { 0 }, woken = { 0 };

	sandbox_wake(w->sandbox, hear, &ready);
	sandbox_sleep(w->sandbox, hear, &asleep);
	sandbox_delete(w->sandbox, hear, &deleted);
	sandbox_wake(w->sandbox, hear, &woken);
	gone(w, ENGINE_END_KILLED);
	check_heard(&ready, "the sandbox ended: why not");
	check_heard(&asleep, "the sandbox is being deleted");
	check_heard(&woken, "the sandbox is being deleted");
	sandbox_sleep(w->sandbox, hear, &late);
	erased(w);
	check_heard(&late, "the sandbox is being deleted");
	check_heard(&deleted, "");
}

static void what_was_never_made_is_deleted(void **state)
{
	struct world *w = *state;
	struct heard asleep = { 0 };
	struct error err;

	sandbox_sleep(w->sandbox, hear, &asleep);
	(void)error_set(&err, ERR_SYSTEM, "no room");
	w->fake.box.events->failed(w->fake.box.ctx, &err);
	turn(w);
	check_heard(&asleep, "the sandbox is being deleted");
	erased(w);
	assert_false(exists(w));
}

static void a_channel_that_comes_too_late_is_closed(void **state)
{
	struct world *w = *state;
	struct heard deleted = { 0 };
	int ends[2];
	char byte;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	sandbox_delete(w->sandbox, hear, &deleted);
	w->fake.box.events->started(w->fake.box.ctx, ends[0],
	                            &(struct engine_user){ 1000, 1000, false });
	assert_int_equal(read(ends[1], &byte, 1), 0);
	(void)close(ends[1]);
	assert_null(sandbox_channel(w->sandbox));
	gone(w, ENGINE_END_KILLED);
	erased(w);
	check_heard(&deleted, "");
}

static void nobody_waits_for_an_engine_that_is_lost(void **state)
{
	struct world *w = *state;
	struct heard deleted = { 0 }, ready = { 0 };
	struct error lost;

	sandbox_wake(w->sandbox, hear, &ready);
	sandbox_delete(w->sandbox, hear, &deleted);
	w->fake.is_lost = true;
	gone(w, ENGINE_END_ENGINE_LOST);
	check_heard(&ready, "the sandbox ended: why not");
	/* The engine gives up what it was asked to erase, too. */
	(void)error_set(&lost, ERR_SYSTEM, "lost");
	w->fake.erased(w->fake.erased_ctx, &lost);
	turn(w);
	check_heard(&deleted, "lost");
}

static void on_ended(void *ctx)
{
	++*(unsigned *)ctx;
}

static void the_end_waits_for_all_and_is_told_once(void **state)
{
	struct world *w = *state;
	unsigned times = 0;

	manager_stop(w->manager, on_ended, &times);
	turn(w);
	assert_int_equal(times, 0);
	gone(w, ENGINE_END_KILLED);
	assert_int_equal(times, 0); /* one that was never ready is removed */
	erased(w);
	assert_int_equal(times, 1);
}

static void the_end_is_told_to_all_who_asked(void **state)
{
	struct world *w = *state;
	unsigned first = 0, second = 0, late = 0;

	manager_stop(w->manager, on_ended, &first);
	manager_stop(w->manager, on_ended, &second);
	gone(w, ENGINE_END_KILLED);
	erased(w);
	assert_int_equal(first, 1);
	assert_int_equal(second, 1);
	manager_stop(w->manager, on_ended, &late);
	turn(w);
	assert_int_equal(late, 1);
	assert_int_equal(first, 1);
}

static void after_the_end_nothing_begins(void **state)
{
	struct world *w = *state;
	struct sandbox_options wish = { .owner = "me", .name = "new", .spec = spec_default() };
	struct sandbox *old = old_one(w), *made;
	struct heard woken = { 0 }, again = { 0 };
	unsigned times = 0;
	struct error err;

	manager_stop(w->manager, on_ended, &times);
	CHECK_ERROR(sandbox_create(w->manager, &wish, &made, &err), err, ERR_INVALID, ENDS);
	sandbox_wake(old, hear, &woken);
	sandbox_wake(w->sandbox, hear, &again); /* which is ending */
	turn(w);
	check_heard(&woken, ENDS);
	check_heard(&again, ENDS);
	assert_int_equal(w->fake.makes, 1);
	gone(w, ENGINE_END_KILLED);
	erased(w);
	assert_int_equal(times, 1);
}

static void what_is_erased_before_it_is_gone_is_heard_no_more(void **state)
{
	struct world *w = *state;
	struct heard deleted = { 0 }, ready = { 0 }, down = { 0 }, asleep = { 0 };
	struct error err;

	sandbox_wake(w->sandbox, hear, &ready);
	sandbox_notify_end(w->sandbox, hear, &down);
	sandbox_sleep(w->sandbox, hear, &asleep);
	sandbox_delete(w->sandbox, hear, &deleted);
	(void)error_set(&err, ERR_INVALID, "it is awake");
	erased_with(w, &err);
	assert_int_equal(w->fake.box.drops, 1);
	gone(w, ENGINE_END_AGENT_DIED);
	check_heard(&deleted, "it is awake");
	check_heard(&ready, "it is awake");
	check_heard(&down, "");
	check_heard(&asleep, "the sandbox is being deleted");
}

static void who_waits_hears_it_when_all_is_freed(void **state)
{
	struct world *w = *state;
	struct heard ready = { 0 }, down = { 0 }, asleep = { 0 }, deleted = { 0 };

	sandbox_wake(w->sandbox, hear, &ready);
	sandbox_notify_end(w->sandbox, hear, &down);
	sandbox_sleep(w->sandbox, hear, &asleep);
	sandbox_delete(w->sandbox, hear, &deleted);
	w->manager = manager_free(w->manager);
	check_heard(&ready, ENDS);
	check_heard(&down, ENDS);
	check_heard(&asleep, ENDS);
	check_heard(&deleted, ENDS);
}

static void nothing_is_told_of_a_manager_that_was_freed(void **state)
{
	struct world *w = *state;
	unsigned times = 0;

	sandbox_delete(w->sandbox, NULL, NULL);
	gone(w, ENGINE_END_KILLED);
	erased(w);
	manager_stop(w->manager, on_ended, &times);
	w->manager = manager_free(w->manager); /* before the loop had its turn */
	turn(w);
	assert_int_equal(times, 0);
}

static void two_owners_never_share_a_name_cut_short(void **state)
{
	struct world *w = *state;
	char owner[OWNER_MAX + 2];
	struct sandbox_options wish = { .owner = owner, .spec = spec_default() };
	struct sandbox *made;
	struct error err;

	memset(owner, 'o', sizeof owner - 1);
	owner[sizeof owner - 1] = '\0';
	CHECK_ERROR(sandbox_create(w->manager, &wish, &made, &err), err, ERR_LIMIT,
	            "owner: 256 bytes, at most 255 are allowed");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_WORLD(all_who_delete_hear_it_once),
		IN_WORLD(who_waits_for_one_that_is_deleted_hears_why),
		IN_WORLD(what_was_never_made_is_deleted),
		IN_WORLD(a_channel_that_comes_too_late_is_closed),
		IN_WORLD(nobody_waits_for_an_engine_that_is_lost),
		IN_WORLD(the_end_waits_for_all_and_is_told_once),
		IN_WORLD(the_end_is_told_to_all_who_asked),
		IN_WORLD(after_the_end_nothing_begins),
		IN_WORLD(what_is_erased_before_it_is_gone_is_heard_no_more),
		IN_WORLD(who_waits_hears_it_when_all_is_freed),
		IN_WORLD(nothing_is_told_of_a_manager_that_was_freed),
		IN_WORLD(two_owners_never_share_a_name_cut_short),
	};

	return RUN_TESTS("lifecycle", tests);
}
