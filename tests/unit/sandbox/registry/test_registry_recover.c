#include "unit/sandbox/registry/registry_rig.h"

/* Runs attempt() in several processes that start at the same moment; returns how many succeeded. */
static int count_winners(bool (*attempt)(struct store *store, const char *instance))
{
	enum { RACERS = 6 };
	pid_t children[RACERS];
	int gate[2], won = 0;

	assert_int_equal(pipe(gate), 0);
	for (int i = 0; i < RACERS; i++) {
		children[i] = fork();
		assert_true(children[i] >= 0);
		if (children[i] == 0) {
			struct store *store = NULL;
			struct error err;
			char byte, instance[INSTANCE_LEN + 1];

			(void)close(gate[1]);
			(void)snprintf(instance, sizeof instance, "%016x", (unsigned)i + 1);
			if (store_open(registry_path, registry_migrations, &store, &err) < 0)
				_exit(2);
			(void)!read(gate[0], &byte, 1);
			won = attempt(store, instance);
			store_close(store);
			_exit(won);
		}
	}
	(void)close(gate[0]);
	(void)close(gate[1]);
	for (int i = 0; i < RACERS; i++) {
		int status = -1;

		assert_int_equal(waitpid(children[i], &status, 0), children[i]);
		assert_true(WIFEXITED(status) && WEXITSTATUS(status) <= 1);
		won += WEXITSTATUS(status);
	}
	return won;
}

static bool try_claim(struct store *store, const char *instance)
{
	struct error err;

	return registry_claim(store, id_for('a'), instance, &err) == 0;
}

static bool only_racers_are_alive(void *ctx, const char *instance)
{
	(void)ctx;
	return strncmp(instance, "000000000000000", 15) == 0; /* see count_winners() */
}

static void count_unfinished(void *ctx, const char *id)
{
	(void)id;
	++*(int *)ctx;
}

static bool try_recover(struct store *store, const char *instance)
{
	struct error err;
	int unfinished = 0;

	if (registry_recover(store, instance, only_racers_are_alive, count_unfinished, &unfinished,
	                     &err) < 0)
		_exit(3);
	return unfinished == 1;
}

static void one_of_several_servers_gets_a_row(void **state)
{
	for (int i = 0; i < 10; i++) {
		struct store *store = open_registry();
		struct error err;

		add_row(store, 'a', "me", "");
		CHECK_OK(registry_set_state(store, id_for('a'), SANDBOX_ASLEEP, "", &err), err);
		add_row(store, 'b', "me", ""); /* being created, by SELF */
		store_close(store);
		assert_int_equal(count_winners(try_claim), 1);
		assert_int_equal(count_winners(try_recover), 1);
		store = open_registry();
		CHECK_OK(registry_remove(store, id_for('a'), &err), err);
		CHECK_OK(registry_remove(store, id_for('b'), &err), err);
		store_close(store);
	}
}

struct recovery {
	struct store *store;
	char unfinished[20], asked[200];
};

static bool third_is_alive(void *ctx, const char *instance)
{
	struct recovery *recovery = ctx;
	size_t len = strlen(recovery->asked);

	(void)snprintf(recovery->asked + len, sizeof recovery->asked - len, "%s ", instance);
	return strcmp(instance, THIRD) == 0;
}

/* Called after the commit, so the store may be used. */
static void on_unfinished(void *ctx, const char *id)
{
	struct recovery *recovery = ctx;
	struct error err;

	recovery->unfinished[strlen(recovery->unfinished)] = id[3];
	CHECK_OK(registry_remove(recovery->store, id, &err), err);
}

static void rows_of_dead_servers_are_taken_over(void **state)
{
	static const struct {
		char letter;
		enum sandbox_state was;
		const char *instance;
		bool temporary;
		enum sandbox_state want;
		const char *want_instance; /* NULL: unfinished */
	} cases[] = {
		{ 'a', SANDBOX_CREATING, OTHER, false, SANDBOX_DELETING, NULL },
		{ 'b', SANDBOX_AWAKE, OTHER, false, SANDBOX_ASLEEP, "" },
		{ 'c', SANDBOX_AWAKE, OTHER, true, SANDBOX_DELETING, NULL },
		{ 'd', SANDBOX_ASLEEP, OTHER, true, SANDBOX_DELETING, NULL },
		{ 'e', SANDBOX_DELETING, OTHER, false, SANDBOX_DELETING, NULL },
		{ 'f', SANDBOX_ASLEEP, "", false, SANDBOX_ASLEEP, "" },
		{ 'g', SANDBOX_AWAKE, THIRD, false, SANDBOX_AWAKE, THIRD },
		{ 'h', SANDBOX_CREATING, THIRD, true, SANDBOX_CREATING, THIRD },
		{ 'i', SANDBOX_AWAKE, SELF, false, SANDBOX_AWAKE, SELF },
		{ 'j', SANDBOX_DELETING, SELF, true, SANDBOX_DELETING, SELF },
		{ 'k', SANDBOX_DELETING, "00000000000000dd", true, SANDBOX_DELETING, NULL },
	};
	AUTO(store) struct store *store = open_registry();
	struct recovery recovery = { .store = store }, again = { .store = store };
	struct error err;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct sandbox_row row = row_for(cases[i].letter, i % 2 ? "me" : "you", "");

		row.state = cases[i].was;
		row.temporary = cases[i].temporary;
		(void)snprintf(row.instance, sizeof row.instance, "%s", cases[i].instance);
		CHECK_OK(registry_add(store, &row, &err), err);
	}
	CHECK_OK(registry_recover(store, SELF, third_is_alive, on_unfinished, &recovery, &err),
	         err);
	assert_string_equal(recovery.unfinished, "acdek");
	assert_string_equal(recovery.asked, OTHER " " THIRD " 00000000000000dd ");
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct sandbox_row row;
		int r = registry_find(store, i % 2 ? "me" : "you", id_for(cases[i].letter), &row,
		                      &err);

		assert_int_equal(r, cases[i].want_instance != NULL ? 0 : -1);
		if (r < 0)
			continue;
		assert_int_equal(row.state, cases[i].want);
		assert_string_equal(row.instance, cases[i].want_instance);
	}
	CHECK_OK(registry_recover(store, SELF, third_is_alive, on_unfinished, &again, &err), err);
	assert_string_equal(again.unfinished, "");
}

static void ignore_unfinished(void *ctx, const char *id)
{
	(void)ctx;
	(void)id;
}

/* If this server is killed before it has removed the files, the next one finds the row again. */
static void unfinished_row_names_the_recovering_server(void **state)
{
	AUTO(store) struct store *store = open_registry();
	struct recovery recovery = { .store = store };
	struct error err;

	add_row(store, 'a', "me", "");
	CHECK_OK(registry_recover(store, OTHER, third_is_alive, ignore_unfinished, &recovery, &err),
	         err);
	assert_row_state(store, 'a', SANDBOX_DELETING, OTHER);
	CHECK_OK(registry_recover(store, THIRD, third_is_alive, on_unfinished, &recovery, &err),
	         err);
	assert_string_equal(recovery.unfinished, "a");
}

/* The engine removes the path that an id names. */
static void damaged_id_is_not_handed_out(void **state)
{
	static const char *const sets[] = {
		"id = '../../../etc'",
		"id = ''",
		"id = 'sb_aaaaaaaaaaaaaaaaaaaaaaaaaaa'",
		"id = 'sb_aaaaaaaaaaaaaaaaaaaaaaaaaa' || char(0)",
	};

	for (size_t i = 0; i < ARRAY_LEN(sets); i++) {
		AUTO(store) struct store *store = open_registry();
		struct recovery recovery = { .store = store };
		char sql[100];
		struct error err;

		run_sql("DELETE FROM sandboxes");
		add_row(store, 'b', "me", "");
		(void)snprintf(sql, sizeof sql, "UPDATE sandboxes SET %s", sets[i]);
		run_sql(sql);
		CHECK_OK(registry_recover(store, OTHER, third_is_alive, on_unfinished, &recovery,
		                          &err),
		         err);
		assert_string_equal(recovery.unfinished, "");
	}
}

static void add_and_be_killed(void)
{
	struct store *store = open_registry();
	struct error err;

	add_row(store, 'a', "me", "");
	CHECK_OK(store_begin(store, &err), err);
	add_row(store, 'b', "me", "");
	(void)raise(SIGKILL);
}

static void killed_server_loses_no_committed_row(void **state)
{
	AUTO(store) struct store *store = NULL;
	struct sandbox_row row;
	struct error err;
	int status = 0;
	pid_t child = fork(); /* before the connection is opened: a child must not inherit one */

	assert_true(child >= 0);
	if (child == 0) {
		add_and_be_killed();
		_exit(1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
	store = open_registry();
	assert_row_state(store, 'a', SANDBOX_CREATING, SELF);
	CHECK_ERROR(registry_find(store, "me", id_for('b'), &row, &err), err, ERR_NOT_FOUND,
	            "there is no sandbox 'sb_bbbbbbbbbbbbbbbbbbbbbbbbbb'");
	add_row(store, 'c', "me", ""); /* the write lock was released by the kernel */
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		IN_SCRATCH(one_of_several_servers_gets_a_row),
		IN_SCRATCH(rows_of_dead_servers_are_taken_over),
		IN_SCRATCH(unfinished_row_names_the_recovering_server),
		IN_SCRATCH(damaged_id_is_not_handed_out),
		IN_SCRATCH(killed_server_loses_no_committed_row),
	};

	return RUN_TESTS("registry_recover", tests);
}
