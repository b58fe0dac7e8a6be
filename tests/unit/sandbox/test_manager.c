/* What sandboxes go through over time: reset, idle, too old, too many, and those nobody names. */
#include "sandbox/registry/instances.h"
#include "unit/sandbox/lifecycle.h"

static struct sandbox *make(struct world *w, const struct sandbox_options *wish)
{
	struct sandbox *sandbox;
	struct error err;

	CHECK_OK(sandbox_create(w->manager, wish, &sandbox, &err), err);
	return sandbox;
}

/* Lets the loop run for so long. */
static void run_for(struct world *w, uint64_t ms)
{
	struct loop_timer *timer = loop_timer_new(w->loop, stop, w->loop);

	loop_timer_start(timer, ms);
	loop_run(w->loop);
	(void)loop_timer_free(timer);
}

/* The manager with other settings: what it had is still in the database. */
static void begin_again(struct world *w, const struct quota *quota, int servers)
{
	struct manager_config config = { .instance = "0123456789abcdef",
		                         .servers = servers,
		                         .engine = &w->fake.engine,
		                         .database = w->database,
		                         .quota = *quota };
	struct error err;

	w->manager = manager_free(w->manager);
	CHECK_OK(manager_new(w->loop, &config, &w->manager, &err), err);
}

/* --- reset ----------------------------------------------------------------------------------- */

static void a_reset_removes_the_files_and_makes_them_anew(void **state)
{
	struct world *w = *state;
	struct heard reset = { 0 }, woken = { 0 };
	char id[SPEC_ID_LEN + 1];
	int agent = agent_comes(w);

	memcpy(id, sandbox_row(w->sandbox)->spec.id, sizeof id);
	sandbox_reset(w->sandbox, hear, &reset);
	assert_int_equal(w->fake.box.kills, 1);
	assert_true(row_of(w, "it").spec.fresh);
	gone(w, ENGINE_END_KILLED);
	assert_int_equal(reset.times, 0);
	assert_int_equal(w->fake.erases, 1);
	erased(w);
	check_heard(&reset, "");
	assert_int_equal(row_of(w, "it").state, SANDBOX_ASLEEP);
	(void)close(agent);

	sandbox_wake(w->sandbox, hear, &woken);
	erased(w); /* another server may have been there since */
	assert_true(w->fake.made.fresh);
	assert_string_equal(w->fake.made.id, id);
	agent = agent_comes(w);
	check_heard(&woken, "");
	assert_false(row_of(w, "it").spec.fresh);
	(void)close(agent);
}

static void a_reset_of_one_that_sleeps_needs_no_waking(void **state)
{
	struct world *w = *state;
	struct sandbox *old = old_one(w);
	struct heard reset = { 0 };

	sandbox_reset(old, hear, &reset);
	assert_int_equal(w->fake.makes, 1);
	erased(w);
	check_heard(&reset, "");
	assert_true(row_of(w, "old").spec.fresh);
}

static void who_asks_during_a_reset_gets_the_new_one(void **state)
{
	struct world *w = *state;
	struct sandbox *old = old_one(w);
	struct heard reset = { 0 }, woken = { 0 };

	sandbox_reset(old, hear, &reset);
	sandbox_wake(old, hear, &woken);
	turn(w);
	assert_int_equal(woken.times, 0);
	erased(w);
	check_heard(&reset, "");
	assert_true(w->fake.made.fresh);
	(void)close(agent_comes(w));
	check_heard(&woken, "");
}

static void a_reset_that_was_cut_short_is_finished_before_it_wakes(void **state)
{
	struct world *w = *state;
	struct sandbox *old = old_one(w);
	struct heard woken = { 0 };
	AUTO(store) struct store *store = NULL;
	struct error err;

	CHECK_OK(store_open(w->database, registry_migrations, &store, &err), err);
	CHECK_OK(registry_set_fresh(store, sandbox_row(old)->spec.id, true, &err), err);
	begin_again(w, &(struct quota){ 0 }, AT_FDCWD);
	CHECK_OK(sandbox_find(w->manager, "me", "old", &old, &err), err);
	sandbox_wake(old, hear, &woken);
	assert_int_equal(w->fake.makes, 1);
	erased(w);
	assert_int_equal(w->fake.makes, 2);
	assert_true(w->fake.made.fresh);
	(void)close(agent_comes(w));
	check_heard(&woken, "");
}

static void one_deleted_during_its_reset_goes(void **state)
{
	struct world *w = *state;
	struct sandbox *old = old_one(w);
	struct heard reset = { 0 }, deleted = { 0 };
	struct sandbox *found;
	struct error err;

	sandbox_reset(old, hear, &reset);
	sandbox_delete(old, hear, &deleted);
	erased(w);
	erased(w);
	check_heard(&reset, "the sandbox is being deleted");
	check_heard(&deleted, "");
	assert_int_equal(sandbox_find(w->manager, "me", "old", &found, &err), -1);
}

/* --- idle and old ------------------------------------------------------------------------------ */

static void one_that_is_idle_sleeps(void **state)
{
	struct world *w = *state;
	const struct sandbox_options wish = {
		.owner = "me", .name = "lazy", .spec = spec_default(), .idle_s = 1
	};
	struct sandbox *lazy = make(w, &wish);
	int agent = agent_comes(w);

	sandbox_hold(lazy);
	run_for(w, 2200);
	assert_int_equal(w->fake.box.kills, 0); /* somebody works in it */
	assert_int_equal(sandbox_sleeps_in_s(lazy), 1);
	sandbox_release(lazy);
	for (int i = 0; i < 100 && w->fake.box.kills == 0; i++)
		run_for(w, 100);
	assert_int_equal(w->fake.box.kills, 1);
	gone(w, ENGINE_END_KILLED);
	assert_int_equal(row_of(w, "lazy").state, SANDBOX_ASLEEP);
	(void)close(agent);
}

static void one_whose_lifetime_is_over_is_deleted(void **state)
{
	struct world *w = *state;
	AUTO(store) struct store *store = NULL;
	struct sandbox_row row = { .spec = spec_default(),
		                   .owner = "another",
		                   .engine = "fake",
		                   .state = SANDBOX_ASLEEP,
		                   .created_s = 1000,
		                   .lifetime_s = 10 };
	struct error err;
	bool known = true;

	spec_new_id(row.spec.id);
	CHECK_OK(store_open(w->database, registry_migrations, &store, &err), err);
	CHECK_OK(registry_add(store, &row, &err), err);
	begin_again(w, &(struct quota){ 0 }, AT_FDCWD);
	for (int i = 0; i < 100 && w->fake.erased == NULL; i++)
		run_for(w, 100);
	erased(w);
	CHECK_OK(registry_has(store, row.spec.id, &known, &err), err);
	assert_false(known);
	assert_true(exists(w)); /* which has no lifetime */
}

static void one_that_is_held_stays_in_memory_when_it_is_deleted(void **state)
{
	struct world *w = *state;
	struct sandbox *old = old_one(w);
	struct heard deleted = { 0 };

	sandbox_hold(old);
	sandbox_delete(old, hear, &deleted);
	erased(w);
	check_heard(&deleted, "");
	turn(w);
	assert_null(sandbox_channel(old));
	assert_string_equal(sandbox_row(old)->name, "old");
	sandbox_release(old);
	turn(w);
}

/* --- how many ------------------------------------------------------------------------------------ */

static void an_owner_has_so_many_sandboxes_and_so_much_disk(void **state)
{
	struct world *w = *state;
	struct sandbox_options wish = { .owner = "me", .spec = spec_default() };
	struct sandbox *sandbox;
	struct error err;

	begin_again(w, &(struct quota){ .sandboxes = 2 }, AT_FDCWD);
	CHECK_OK(sandbox_create(w->manager, &wish, &sandbox, &err), err);
	CHECK_ERROR(
	        sandbox_create(w->manager, &wish, &sandbox, &err), err, ERR_LIMIT,
	        "owner-sandboxes: there are 2 sandboxes, and no more are allowed: delete one that "
	        "is no longer needed");
	wish.owner = "another";
	CHECK_OK(sandbox_create(w->manager, &wish, &sandbox, &err), err);
	begin_again(w, &(struct quota){ .disk = SPEC_MIB(5000) }, AT_FDCWD);
	wish.owner = "me";
	assert_int_equal(sandbox_create(w->manager, &wish, &sandbox, &err), -1);
	assert_int_equal(err.kind, ERR_LIMIT);
	assert_memory_equal(err.msg, "owner-disk: ", 12);
}

static void memory_is_made_by_putting_the_idlest_to_sleep(void **state)
{
	struct world *w = *state;
	struct sandbox_options wish = { .owner = "me", .spec = spec_default() };
	struct sandbox *old, *made;
	struct error err;
	int agent;

	begin_again(w, &(struct quota){ .memory = SPEC_MIB(3072) }, AT_FDCWD);
	old = old_one(w);
	sandbox_wake(old, NULL, NULL);
	agent = agent_comes(w);
	wish.spec.limits.memory = SPEC_MIB(1500);
	sandbox_hold(old);
	assert_int_equal(sandbox_create(w->manager, &wish, &made, &err), -1);
	assert_memory_equal(err.msg, "owner-memory: ", 14);
	sandbox_release(old);
	assert_int_equal(w->fake.box.kills, 0);
	CHECK_OK(sandbox_create(w->manager, &wish, &made, &err), err);
	assert_int_equal(w->fake.kills, 1);
	(void)close(agent);
}

/* --- those nobody names ---------------------------------------------------------------------------- */

static void the_default_one_is_made_once(void **state)
{
	struct world *w = *state;
	const struct sandbox_options wish = { .owner = "me", .spec = spec_default() };
	const struct sandbox_options other = { .owner = "another", .spec = spec_default() };
	struct sandbox *first, *second, *third;
	struct error err;

	CHECK_OK(sandbox_get_default(w->manager, &wish, false, &first, &err), err);
	CHECK_OK(sandbox_get_default(w->manager, &wish, false, &second, &err), err);
	assert_ptr_equal(first, second);
	assert_string_equal(sandbox_row(first)->name, "default");
	CHECK_OK(sandbox_get_default(w->manager, &other, false, &third, &err), err);
	assert_ptr_not_equal(first, third);
}

static void one_that_another_server_has_is_left_to_it(void **state)
{
	struct world *w = *state;
	const struct sandbox_options wish = { .owner = "me", .spec = spec_default() };
	AUTO_FD int servers = open(w->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	AUTO(store) struct store *store = NULL;
	struct sandbox_row row = { .spec = spec_default(),
		                   .owner = "me",
		                   .name = "default",
		                   .engine = "fake",
		                   .state = SANDBOX_AWAKE,
		                   .created_s = 1000 };
	struct sandbox *sandbox;
	struct error err;
	int lock = instance_add(servers, row.instance, &err);

	assert_true(lock >= 0);
	spec_new_id(row.spec.id);
	CHECK_OK(store_open(w->database, registry_migrations, &store, &err), err);
	CHECK_OK(registry_add(store, &row, &err), err);
	begin_again(w, &(struct quota){ 0 }, servers);
	CHECK_OK(sandbox_get_default(w->manager, &wish, false, &sandbox, &err), err);
	assert_string_equal(sandbox_row(sandbox)->name, "default"); /* it may be free soon */
	CHECK_OK(sandbox_get_default(w->manager, &wish, true, &sandbox, &err), err);
	assert_string_equal(sandbox_row(sandbox)->name, "default-2");
	CHECK_OK(sandbox_get_default(w->manager, &wish, false, &sandbox, &err), err);
	assert_string_equal(sandbox_row(sandbox)->name, "default-2"); /* we have it now */
	sandbox_delete(sandbox, NULL, NULL);
	(void)close(lock); /* the other one died */
	CHECK_OK(sandbox_get_default(w->manager, &wish, true, &sandbox, &err), err);
	assert_string_equal(sandbox_row(sandbox)->name, "default");
	sandbox_wake(sandbox, NULL, NULL);
	assert_string_equal(w->fake.made.id, row.spec.id);
}

static void its_maker_says_what_its_programs_find(void **state)
{
	struct world *w = *state;
	static const char env[SANDBOX_ENV_MAX] = "A=1\0B=two words\0";
	const struct sandbox_options wish = {
		.owner = "me", .name = "wordy", .spec = spec_default(), .env = env
	};
	const char *const *found = sandbox_env(make(w, &wish));

	assert_string_equal(found[0], "A=1");
	assert_string_equal(found[1], "B=two words");
	assert_null(found[2]);
	assert_memory_equal(row_of(w, "wordy").env, env, 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_WORLD(a_reset_removes_the_files_and_makes_them_anew),
		IN_WORLD(a_reset_of_one_that_sleeps_needs_no_waking),
		IN_WORLD(who_asks_during_a_reset_gets_the_new_one),
		IN_WORLD(a_reset_that_was_cut_short_is_finished_before_it_wakes),
		IN_WORLD(one_deleted_during_its_reset_goes),
		IN_WORLD(one_that_is_idle_sleeps),
		IN_WORLD(one_whose_lifetime_is_over_is_deleted),
		IN_WORLD(one_that_is_held_stays_in_memory_when_it_is_deleted),
		IN_WORLD(an_owner_has_so_many_sandboxes_and_so_much_disk),
		IN_WORLD(memory_is_made_by_putting_the_idlest_to_sleep),
		IN_WORLD(the_default_one_is_made_once),
		IN_WORLD(one_that_another_server_has_is_left_to_it),
		IN_WORLD(its_maker_says_what_its_programs_find),
	};

	return RUN_TESTS("sandbox/manager", tests);
}
