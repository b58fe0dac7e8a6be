/* Reset, idle time-out, lifetime, quotas, the default sandbox and the environment. */
#include "sandbox/internal.h"
#include "sandbox/registry/instances.h"
#include "unit/sandbox/lifecycle.h"

static struct sandbox *create_sandbox(struct world *w, const struct sandbox_options *options)
{
	struct sandbox *sandbox;
	struct error err;

	CHECK_OK(sandbox_create(w->manager, options, &sandbox, &err), err);
	return sandbox;
}

static void run_for(struct world *w, uint64_t ms)
{
	struct loop_timer *timer = loop_timer_new(w->loop, stop_loop, w->loop);

	loop_timer_start(timer, ms);
	loop_run(w->loop);
	(void)loop_timer_free(timer);
}

/* Makes a new manager with other settings over the same database. */
static void restart_manager(struct world *w, const struct quota *quota, int servers)
{
	struct manager_config config = { .instance = "0123456789abcdef",
		                         .limits_max = spec_largest_limits(),
		                         .gpus_max = UINT64_MAX,
		                         .servers = servers,
		                         .engine = &w->fake.engine,
		                         .database = w->database,
		                         .quota = *quota };
	struct error err;

	w->manager = manager_free(w->manager);
	CHECK_OK(manager_new(w->loop, &config, &w->manager, &err), err);
}

/* --- reset --- */

static void reset_removes_the_files(void **state)
{
	struct world *w = *state;
	struct result reset = { 0 }, woken = { 0 };
	char id[SPEC_ID_LEN + 1];
	int agent = connect_agent(w);

	memcpy(id, sandbox_row(w->sandbox)->spec.id, sizeof id);
	sandbox_reset(w->sandbox, on_result, &reset);
	assert_int_equal(w->fake.box.kills, 1);
	assert_true(read_row(w, "it").spec.fresh);
	report_ended(w, ENGINE_END_KILLED);
	assert_int_equal(reset.times, 0);
	assert_int_equal(w->fake.erases, 1);
	report_erased(w);
	assert_result(&reset, "");
	assert_int_equal(read_row(w, "it").state, SANDBOX_ASLEEP);
	(void)close(agent);

	sandbox_wake(w->sandbox, on_result, &woken);
	report_erased(w); /* removed again: another server may have left files since */
	assert_true(w->fake.made.fresh);
	assert_string_equal(w->fake.made.id, id);
	agent = connect_agent(w);
	assert_result(&woken, "");
	assert_false(read_row(w, "it").spec.fresh);
	(void)close(agent);
}

static void reset_of_sleeping_sandbox_does_not_wake_it(void **state)
{
	struct world *w = *state;
	struct sandbox *old = add_sleeping_sandbox(w);
	struct result reset = { 0 };

	sandbox_reset(old, on_result, &reset);
	assert_int_equal(w->fake.makes, 1);
	report_erased(w);
	assert_result(&reset, "");
	assert_true(read_row(w, "old").spec.fresh);
}

static void wake_during_reset_waits_for_new_files(void **state)
{
	struct world *w = *state;
	struct sandbox *old = add_sleeping_sandbox(w);
	struct result reset = { 0 }, woken = { 0 };

	sandbox_reset(old, on_result, &reset);
	sandbox_wake(old, on_result, &woken);
	run_turns(w);
	assert_int_equal(woken.times, 0);
	report_erased(w);
	assert_result(&reset, "");
	assert_true(w->fake.made.fresh);
	(void)close(connect_agent(w));
	assert_result(&woken, "");
}

static void interrupted_reset_is_finished_by_next_wake(void **state)
{
	struct world *w = *state;
	struct sandbox *old = add_sleeping_sandbox(w);
	struct result woken = { 0 };
	AUTO(store) struct store *store = NULL;
	struct error err;

	CHECK_OK(store_open(w->database, registry_migrations, &store, &err), err);
	CHECK_OK(registry_set_fresh(store, sandbox_row(old)->spec.id, true, &err), err);
	restart_manager(w, &(struct quota){ 0 }, AT_FDCWD);
	CHECK_OK(sandbox_find(w->manager, "me", "old", &old, &err), err);
	sandbox_wake(old, on_result, &woken);
	assert_int_equal(w->fake.makes, 1);
	report_erased(w);
	assert_int_equal(w->fake.makes, 2);
	assert_true(w->fake.made.fresh);
	(void)close(connect_agent(w));
	assert_result(&woken, "");
}

static void sandbox_deleted_during_reset_is_removed(void **state)
{
	struct world *w = *state;
	struct sandbox *old = add_sleeping_sandbox(w);
	struct result reset = { 0 }, deleted = { 0 };
	struct sandbox *found;
	struct error err;

	sandbox_reset(old, on_result, &reset);
	sandbox_delete(old, on_result, &deleted);
	report_erased(w);
	report_erased(w);
	assert_result(&reset, "the sandbox is being deleted");
	assert_result(&deleted, "");
	assert_int_equal(sandbox_find(w->manager, "me", "old", &found, &err), -1);
}

/* --- idle time-out and lifetime --- */

static void idle_sandbox_sleeps(void **state)
{
	struct world *w = *state;
	const struct sandbox_options options = {
		.owner = "me", .name = "lazy", .spec = spec_default(), .idle_s = 1
	};
	struct sandbox *lazy = create_sandbox(w, &options);
	int agent = connect_agent(w);

	sandbox_hold(lazy);
	run_for(w, 2200);
	assert_int_equal(w->fake.box.kills, 0); /* it is held */
	assert_int_equal(sandbox_sleeps_in_s(lazy), 1);
	sandbox_release(lazy);
	for (int i = 0; i < 100 && w->fake.box.kills == 0; i++)
		run_for(w, 100);
	assert_int_equal(w->fake.box.kills, 1);
	report_ended(w, ENGINE_END_KILLED);
	assert_int_equal(read_row(w, "lazy").state, SANDBOX_ASLEEP);
	(void)close(agent);
}

static void expired_sandbox_is_deleted(void **state)
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
	restart_manager(w, &(struct quota){ 0 }, AT_FDCWD);
	for (int i = 0; i < 100 && w->fake.erased == NULL; i++)
		run_for(w, 100);
	report_erased(w);
	CHECK_OK(registry_has(store, row.spec.id, &known, &err), err);
	assert_false(known);
	assert_true(sandbox_exists(w)); /* the other sandbox has no lifetime */
}

static void held_sandbox_stays_in_memory_when_deleted(void **state)
{
	struct world *w = *state;
	struct sandbox *old = add_sleeping_sandbox(w);
	struct result deleted = { 0 };

	sandbox_hold(old);
	sandbox_delete(old, on_result, &deleted);
	report_erased(w);
	assert_result(&deleted, "");
	run_turns(w);
	assert_null(sandbox_channel(old));
	assert_string_equal(sandbox_row(old)->name, "old");
	sandbox_release(old);
	run_turns(w);
}

static void new_sandbox_is_untouched_until_it_is_held_again(void **state)
{
	struct world *w = *state;
	struct sandbox_options options = { .owner = "me", .name = "a", .spec = spec_default() };
	struct sandbox *sandbox;
	struct error err;

	CHECK_OK(sandbox_create(w->manager, &options, &sandbox, &err), err);
	sandbox_hold(sandbox);
	assert_true(sandbox_is_untouched(sandbox));
	sandbox_release(sandbox);
	sandbox_hold(sandbox);
	assert_false(sandbox_is_untouched(sandbox));
	sandbox_release(sandbox);

	/* Another server may have used a sandbox that exists already. */
	sandbox = add_sleeping_sandbox(w);
	sandbox_hold(sandbox);
	assert_false(sandbox_is_untouched(sandbox));
	sandbox_release(sandbox);
}

/* --- quotas --- */

static void owner_quota_limits_sandboxes_and_disk(void **state)
{
	struct world *w = *state;
	struct sandbox_options options = { .owner = "me", .spec = spec_default() };
	struct sandbox *sandbox;
	struct error err;

	restart_manager(w, &(struct quota){ .sandboxes = 2 }, AT_FDCWD);
	CHECK_OK(sandbox_create(w->manager, &options, &sandbox, &err), err);
	CHECK_ERROR(
	        sandbox_create(w->manager, &options, &sandbox, &err), err, ERR_LIMIT,
	        "owner-sandboxes: there are 2 sandboxes, and no more are allowed: delete one that "
	        "is no longer needed");
	options.owner = "another";
	CHECK_OK(sandbox_create(w->manager, &options, &sandbox, &err), err);
	restart_manager(w, &(struct quota){ .disk = SPEC_MIB(5000) }, AT_FDCWD);
	options.owner = "me";
	assert_int_equal(sandbox_create(w->manager, &options, &sandbox, &err), -1);
	assert_int_equal(err.kind, ERR_LIMIT);
	assert_memory_equal(err.msg, "owner-disk: ", 12);
}

static void idlest_sandbox_sleeps_to_free_memory(void **state)
{
	struct world *w = *state;
	struct sandbox_options options = { .owner = "me", .spec = spec_default() };
	struct sandbox *old, *made;
	struct error err;
	int agent;

	restart_manager(w, &(struct quota){ .memory = SPEC_MIB(3072) }, AT_FDCWD);
	old = add_sleeping_sandbox(w);
	sandbox_wake(old, NULL, NULL);
	agent = connect_agent(w);
	options.spec.limits.memory = SPEC_MIB(1500);
	sandbox_hold(old);
	assert_int_equal(sandbox_create(w->manager, &options, &made, &err), -1);
	assert_memory_equal(err.msg, "owner-memory: ", 14);
	sandbox_release(old);
	assert_int_equal(w->fake.box.kills, 0);
	CHECK_OK(sandbox_create(w->manager, &options, &made, &err), err);
	assert_int_equal(w->fake.kills, 1);
	(void)close(agent);
}

/* --- ceilings --- */

static void sandbox_created_with_more_gets_the_ceiling(void **state)
{
	struct world *w = *state;
	struct sandbox *old;
	int agent;

	restart_manager(w, &(struct quota){ 0 }, AT_FDCWD);
	w->manager->config.limits_max.memory = SPEC_MIB(64);
	w->manager->config.limits_max.cpu = 500;
	old = add_sleeping_sandbox(w);
	assert_int_equal(sandbox_row(old)->spec.limits.memory, SPEC_MIB(64));
	assert_int_equal(sandbox_row(old)->spec.limits.cpu, 500);
	assert_int_equal(sandbox_row(old)->spec.limits.pids, 512);
	assert_string_equal(sandbox_lowered_limits(old),
	                    "memory: 64 MiB instead of 1024 MiB, cpu: 0.5 instead of 2");
	assert_int_equal(read_row(w, "old").spec.limits.memory, SPEC_MIB(1024));
	sandbox_wake(old, NULL, NULL);
	agent = connect_agent(w);
	assert_string_not_equal(sandbox_lowered_limits(old), "");
	(void)close(agent);
}

/* --- the default sandbox --- */

static void default_sandbox_is_created_once(void **state)
{
	struct world *w = *state;
	const struct sandbox_options options = { .owner = "me", .spec = spec_default() };
	const struct sandbox_options other = { .owner = "another", .spec = spec_default() };
	struct sandbox *first, *second, *third;
	struct error err;

	CHECK_OK(sandbox_get_default(w->manager, &options, false, &first, &err), err);
	CHECK_OK(sandbox_get_default(w->manager, &options, false, &second, &err), err);
	assert_ptr_equal(first, second);
	assert_string_equal(sandbox_row(first)->name, "default");
	CHECK_OK(sandbox_get_default(w->manager, &other, false, &third, &err), err);
	assert_ptr_not_equal(first, third);
}

static void default_sandbox_of_live_server_is_skipped(void **state)
{
	struct world *w = *state;
	const struct sandbox_options options = { .owner = "me", .spec = spec_default() };
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
	restart_manager(w, &(struct quota){ 0 }, servers);
	CHECK_OK(sandbox_get_default(w->manager, &options, false, &sandbox, &err), err);
	assert_string_equal(sandbox_row(sandbox)->name, "default"); /* with skip_busy false */
	CHECK_OK(sandbox_get_default(w->manager, &options, true, &sandbox, &err), err);
	assert_string_equal(sandbox_row(sandbox)->name, "default-2");
	CHECK_OK(sandbox_get_default(w->manager, &options, false, &sandbox, &err), err);
	assert_string_equal(sandbox_row(sandbox)->name, "default-2"); /* this server has it awake */
	sandbox_delete(sandbox, NULL, NULL);
	(void)close(lock); /* as if the other server had died */
	CHECK_OK(sandbox_get_default(w->manager, &options, true, &sandbox, &err), err);
	assert_string_equal(sandbox_row(sandbox)->name, "default");
	sandbox_wake(sandbox, NULL, NULL);
	assert_string_equal(w->fake.made.id, row.spec.id);
}

/* A server that ended while it created the default sandbox has left a row, and a call comes before
 * the recovery at the start of the next server. */
static void unfinished_default_sandbox_is_replaced(void **state)
{
	struct world *w = *state;
	const struct sandbox_options options = { .owner = "me", .spec = spec_default() };
	AUTO(store) struct store *store = NULL;
	struct sandbox_row row = { .spec = spec_default(),
		                   .owner = "me",
		                   .name = "default",
		                   .engine = "fake",
		                   .state = SANDBOX_CREATING,
		                   .instance = "aaaaaaaaaaaaaaaa",
		                   .created_s = 1000 };
	struct sandbox *sandbox;
	struct error err;

	spec_new_id(row.spec.id);
	CHECK_OK(store_open(w->database, registry_migrations, &store, &err), err);
	CHECK_OK(registry_add(store, &row, &err), err);
	CHECK_OK(sandbox_get_default(w->manager, &options, false, &sandbox, &err), err);
	assert_string_equal(sandbox_row(sandbox)->name, "default");
	assert_string_not_equal(sandbox_row(sandbox)->spec.id, row.spec.id);
}

static bool note_state(void *ctx, const struct sandbox_row *row)
{
	if (strcmp(row->name, "new") == 0)
		*(enum sandbox_state *)ctx = row->state;
	return true;
}

static enum sandbox_state listed_state(struct world *w)
{
	enum sandbox_state state = SANDBOX_STATE_COUNT;
	struct error err;

	CHECK_OK(manager_each(w->manager, "me", note_state, &state, &err), err);
	return state;
}

static void unfinished_sandbox_of_killed_server_is_listed_as_deleting(void **state)
{
	struct world *w = *state;
	AUTO_FD int servers = open(w->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	AUTO(store) struct store *store = NULL;
	struct sandbox_row row = { .spec = spec_default(),
		                   .owner = "me",
		                   .name = "new",
		                   .engine = "fake",
		                   .state = SANDBOX_CREATING,
		                   .created_s = 1000 };
	struct error err;
	int lock;

	restart_manager(w, &(struct quota){ 0 }, servers);
	lock = instance_add(servers, row.instance, &err);
	assert_true(lock >= 0);
	spec_new_id(row.spec.id);
	CHECK_OK(store_open(w->database, registry_migrations, &store, &err), err);
	CHECK_OK(registry_add(store, &row, &err), err);
	assert_int_equal(listed_state(w), SANDBOX_CREATING);
	(void)close(lock); /* as if the other server had died */
	assert_int_equal(listed_state(w), SANDBOX_DELETING);
}

static void creator_sets_environment(void **state)
{
	struct world *w = *state;
	static const char env[SANDBOX_ENV_MAX] = "A=1\0B=two words\0";
	const struct sandbox_options options = {
		.owner = "me", .name = "wordy", .spec = spec_default(), .env = env
	};
	const char *const *found = sandbox_env(create_sandbox(w, &options));

	assert_string_equal(found[0], "A=1");
	assert_string_equal(found[1], "B=two words");
	assert_null(found[2]);
	assert_memory_equal(read_row(w, "wordy").env, env, 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_WORLD(reset_removes_the_files),
		IN_WORLD(reset_of_sleeping_sandbox_does_not_wake_it),
		IN_WORLD(wake_during_reset_waits_for_new_files),
		IN_WORLD(interrupted_reset_is_finished_by_next_wake),
		IN_WORLD(sandbox_deleted_during_reset_is_removed),
		IN_WORLD(idle_sandbox_sleeps),
		IN_WORLD(expired_sandbox_is_deleted),
		IN_WORLD(held_sandbox_stays_in_memory_when_deleted),
		IN_WORLD(new_sandbox_is_untouched_until_it_is_held_again),
		IN_WORLD(owner_quota_limits_sandboxes_and_disk),
		IN_WORLD(idlest_sandbox_sleeps_to_free_memory),
		IN_WORLD(sandbox_created_with_more_gets_the_ceiling),
		IN_WORLD(default_sandbox_is_created_once),
		IN_WORLD(default_sandbox_of_live_server_is_skipped),
		IN_WORLD(unfinished_default_sandbox_is_replaced),
		IN_WORLD(unfinished_sandbox_of_killed_server_is_listed_as_deleting),
		IN_WORLD(creator_sets_environment),
	};

	return RUN_TESTS("sandbox/manager", tests);
}
