/* Two servers on one database: what a server remembers of a sandbox may be out of date. */
#include "sandbox/internal.h"
#include "unit/sandbox/lifecycle.h"

static struct world two;

static int open_two_servers(void **state)
{
	struct manager_config config = { .instance = "fedcba9876543210",
		                         .limits_max = spec_largest_limits(),
		                         .gpus_max = UINT64_MAX,
		                         .servers = AT_FDCWD,
		                         .engine = &two.fake.engine };
	struct world *w;
	struct error err;

	assert_int_equal(open_world(state), 0);
	w = *state;
	two = (struct world){ .loop = w->loop };
	two.fake.engine.ops = &fake_ops;
	config.database = w->database;
	CHECK_OK(manager_new(w->loop, &config, &two.manager, &err), err);
	return 0;
}

static int close_two_servers(void **state)
{
	(void)manager_free(two.manager);
	return close_world(state);
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

/* This server reset the sandbox; the other one has woken it since. */
static void files_renewed_by_another_server_are_kept(void **state)
{
	struct world *w = *state;
	struct sandbox *old = add_sleeping_sandbox(w), *theirs;
	struct result result[3] = { 0 };

	sandbox_reset(old, on_result, &result[0]);
	report_erased(w);
	assert_result(&result[0], "");
	theirs = find_in(two.manager, "old");
	sandbox_wake(theirs, on_result, &result[1]);
	report_erased(&two);
	(void)close(connect_agent(&two));
	assert_result(&result[1], "");
	sandbox_sleep(theirs, on_result, &result[2]);
	report_ended(&two, ENGINE_END_KILLED);
	assert_result(&result[2], "");
	sandbox_wake(old, NULL, NULL);
	assert_int_equal(w->fake.makes, 2);
	assert_false(w->fake.made.fresh);
}

/* This server knows the sandbox as asleep; the other one has reset it since. */
static void reset_by_another_server_is_noticed(void **state)
{
	struct world *w = *state;
	struct sandbox *old = add_sleeping_sandbox(w);
	struct result result[2] = { 0 };

	sandbox_reset(find_in(two.manager, "old"), on_result, &result[0]);
	report_erased(&two);
	assert_result(&result[0], "");
	sandbox_wake(old, on_result, &result[1]);
	report_erased(w);
	assert_true(w->fake.made.fresh);
	(void)close(connect_agent(w));
	assert_result(&result[1], "");
	assert_false(read_row(w, "old").spec.fresh);
}

static void sandbox_of_dead_server_can_be_reset_and_deleted(void **state)
{
	struct world *w = *state;
	struct sandbox *old = add_sleeping_sandbox(w);
	struct result reset = { 0 }, deleted = { 0 };
	static const char dead[] = "UPDATE sandboxes SET state = 'awake', "
	                           "instance = 'aaaaaaaaaaaaaaaa' WHERE name = 'old'";

	change_rows(w, dead);
	sandbox_reset(old, on_result, &reset);
	report_erased(w);
	assert_result(&reset, "");
	change_rows(w, dead);
	sandbox_delete(old, on_result, &deleted);
	report_erased(w);
	assert_result(&deleted, "");
}

static void wake_fails_if_old_files_cannot_be_removed(void **state)
{
	struct world *w = *state;
	struct result woken = { 0 };
	struct sandbox *old = add_sleeping_sandbox(w);

	change_rows(w, "UPDATE sandboxes SET fresh = 1 WHERE name = 'old'");
	w->fake.is_lost = true;
	sandbox_wake(old, on_result, &woken);
	run_turns(w);
	assert_result(&woken, "lost");
}

static void no_sandbox_sleeps_if_memory_would_not_suffice(void **state)
{
	struct world *w = *state;
	struct sandbox_options options = { .owner = "me", .name = "large", .spec = spec_default() };
	uint64_t one = options.spec.limits.memory;
	struct sandbox *large;
	struct error err;
	int agent = connect_agent(w);

	w->manager->config.quota.memory = one + one / 2;
	options.spec.limits.memory = 100 * one;
	assert_int_equal(sandbox_create(w->manager, &options, &large, &err), -1);
	assert_int_equal(err.kind, ERR_LIMIT);
	assert_int_equal(w->fake.kills, 0);
	(void)close(agent);
}

#define IN_TWO(name) cmocka_unit_test_setup_teardown(name, open_two_servers, close_two_servers)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_TWO(files_renewed_by_another_server_are_kept),
		IN_TWO(reset_by_another_server_is_noticed),
		IN_TWO(sandbox_of_dead_server_can_be_reset_and_deleted),
		IN_TWO(wake_fails_if_old_files_cannot_be_removed),
		IN_TWO(no_sandbox_sleeps_if_memory_would_not_suffice),
	};

	return RUN_TESTS("sandbox/servers", tests);
}
