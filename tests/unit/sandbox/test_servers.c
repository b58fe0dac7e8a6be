/* Two servers on one database: what one has in memory is not what the other left. */
#include "sandbox/internal.h"
#include "unit/sandbox/lifecycle.h"

static struct world two;

static int begin_two(void **state)
{
	struct manager_config config = { .instance = "fedcba9876543210",
		                         .servers = AT_FDCWD,
		                         .engine = &two.fake.engine };
	struct world *w;
	struct error err;

	assert_int_equal(begin(state), 0);
	w = *state;
	two = (struct world){ .loop = w->loop };
	two.fake.engine.ops = &fake_calls;
	config.database = w->database;
	CHECK_OK(manager_new(w->loop, &config, &two.manager, &err), err);
	return 0;
}

static int finish_two(void **state)
{
	(void)manager_free(two.manager);
	return finish(state);
}

static struct sandbox *find_in(struct manager *manager, const char *name)
{
	struct sandbox *sandbox;
	struct error err;

	CHECK_OK(sandbox_find(manager, "me", name, &sandbox, &err), err);
	return sandbox;
}

static void change_rows(struct world *w, const char *sql)
{
	sqlite3 *db = NULL;

	assert_int_equal(sqlite3_open(w->database, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* Ours was reset; the other one has used it since. */
static void what_another_made_anew_is_not_made_again(void **state)
{
	struct world *w = *state;
	struct sandbox *old = old_one(w), *theirs;
	struct heard heard[3] = { 0 };

	sandbox_reset(old, hear, &heard[0]);
	erased(w);
	check_heard(&heard[0], "");
	theirs = find_in(two.manager, "old");
	sandbox_wake(theirs, hear, &heard[1]);
	erased(&two);
	(void)close(agent_comes(&two));
	check_heard(&heard[1], "");
	sandbox_sleep(theirs, hear, &heard[2]);
	gone(&two, ENGINE_END_KILLED);
	check_heard(&heard[2], "");
	sandbox_wake(old, NULL, NULL);
	assert_int_equal(w->fake.makes, 2);
	assert_false(w->fake.made.fresh);
}

/* Ours sleeps in memory; the other one has reset it since. */
static void what_another_reset_is_made_anew(void **state)
{
	struct world *w = *state;
	struct sandbox *old = old_one(w);
	struct heard heard[2] = { 0 };

	sandbox_reset(find_in(two.manager, "old"), hear, &heard[0]);
	erased(&two);
	check_heard(&heard[0], "");
	sandbox_wake(old, hear, &heard[1]);
	erased(w);
	assert_true(w->fake.made.fresh);
	(void)close(agent_comes(w));
	check_heard(&heard[1], "");
	assert_false(row_of(w, "old").spec.fresh);
}

static void what_a_dead_server_had_can_be_reset_and_deleted(void **state)
{
	struct world *w = *state;
	struct sandbox *old = old_one(w);
	struct heard reset = { 0 }, deleted = { 0 };
	static const char dead[] = "UPDATE sandboxes SET state = 'awake', "
	                           "instance = 'aaaaaaaaaaaaaaaa' WHERE name = 'old'";

	change_rows(w, dead);
	sandbox_reset(old, hear, &reset);
	erased(w);
	check_heard(&reset, "");
	change_rows(w, dead);
	sandbox_delete(old, hear, &deleted);
	erased(w);
	check_heard(&deleted, "");
}

static void who_wakes_hears_that_old_files_cannot_be_removed(void **state)
{
	struct world *w = *state;
	struct heard woken = { 0 };
	struct sandbox *old = old_one(w);

	change_rows(w, "UPDATE sandboxes SET fresh = 1 WHERE name = 'old'");
	w->fake.is_lost = true;
	sandbox_wake(old, hear, &woken);
	turn(w);
	check_heard(&woken, "lost");
}

static void sleep_makes_room_only_if_that_is_enough(void **state)
{
	struct world *w = *state;
	struct sandbox_options wish = { .owner = "me", .name = "large", .spec = spec_default() };
	uint64_t one = wish.spec.limits.memory;
	struct sandbox *large;
	struct error err;
	int agent = agent_comes(w);

	w->manager->config.quota.memory = one + one / 2;
	wish.spec.limits.memory = 100 * one;
	assert_int_equal(sandbox_create(w->manager, &wish, &large, &err), -1);
	assert_int_equal(err.kind, ERR_LIMIT);
	assert_int_equal(w->fake.kills, 0);
	(void)close(agent);
}

#define IN_TWO(name) cmocka_unit_test_setup_teardown(name, begin_two, finish_two)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_TWO(what_another_made_anew_is_not_made_again),
		IN_TWO(what_another_reset_is_made_anew),
		IN_TWO(what_a_dead_server_had_can_be_reset_and_deleted),
		IN_TWO(who_wakes_hears_that_old_files_cannot_be_removed),
		IN_TWO(sleep_makes_room_only_if_that_is_enough),
	};

	return RUN_TESTS("sandbox/servers", tests);
}
