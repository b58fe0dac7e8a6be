#include "unit/sandbox/registry/registry_test.h"

/* Whether each of so many processes, which start together, gets it; the number that did. */
static int race(bool (*attempt)(struct store *store, const char *instance))
{
	enum { MANY = 6 };
	pid_t children[MANY];
	int go[2], won = 0;

	assert_int_equal(pipe(go), 0);
	for (int i = 0; i < MANY; i++) {
		children[i] = fork();
		assert_true(children[i] >= 0);
		if (children[i] == 0) {
			struct store *store = NULL;
			struct error err;
			char byte, instance[INSTANCE_LEN + 1];

			(void)close(go[1]);
			(void)snprintf(instance, sizeof instance, "%016x", (unsigned)i + 1);
			if (store_open(path, registry_migrations, &store, &err) < 0)
				_exit(2);
			(void)!read(go[0], &byte, 1);
			won = attempt(store, instance);
			store_close(store);
			_exit(won);
		}
	}
	(void)close(go[0]);
	(void)close(go[1]);
	for (int i = 0; i < MANY; i++) {
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

	return registry_claim(store, id_of('a'), instance, &err) == 0;
}

static bool nobody_but_racers(void *ctx, const char *instance)
{
	(void)ctx;
	return strncmp(instance, "000000000000000", 15) == 0; /* those of race() */
}

static void count_doomed(void *ctx, const char *id)
{
	(void)id;
	++*(int *)ctx;
}

static bool try_recover(struct store *store, const char *instance)
{
	struct error err;
	int doomed = 0;

	if (registry_recover(store, instance, nobody_but_racers, count_doomed, &doomed, &err) < 0)
		_exit(3);
	return doomed == 1;
}

static void of_several_servers_one_gets_it(void **state)
{
	(void)state;
	for (int i = 0; i < 10; i++) {
		struct store *store = open_it();
		struct error err;

		add(store, 'a', "me", "");
		CHECK_OK(registry_set_state(store, id_of('a'), SANDBOX_ASLEEP, "", &err), err);
		add(store, 'b', "me", ""); /* being made, by SELF */
		store_close(store);
		assert_int_equal(race(try_claim), 1);
		assert_int_equal(race(try_recover), 1);
		store = open_it();
		CHECK_OK(registry_remove(store, id_of('a'), &err), err);
		CHECK_OK(registry_remove(store, id_of('b'), &err), err);
		store_close(store);
	}
}

struct recovery {
	struct store *store;
	char doomed[20], asked[200];
};

static bool third_is_alive(void *ctx, const char *instance)
{
	struct recovery *recovery = ctx;
	size_t len = strlen(recovery->asked);

	(void)snprintf(recovery->asked + len, sizeof recovery->asked - len, "%s ", instance);
	return strcmp(instance, THIRD) == 0;
}

/* The store may be used: all is written already. */
static void on_doomed(void *ctx, const char *id)
{
	struct recovery *recovery = ctx;
	struct error err;

	recovery->doomed[strlen(recovery->doomed)] = id[3];
	CHECK_OK(registry_remove(recovery->store, id, &err), err);
}

static void what_dead_servers_left_is_taken_over(void **state)
{
	static const struct {
		char letter;
		enum sandbox_state was;
		const char *instance;
		bool temporary;
		enum sandbox_state want;
		const char *want_instance; /* NULL: doomed */
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
	AUTO(store) struct store *store = open_it();
	struct recovery recovery = { .store = store }, again = { .store = store };
	struct error err;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct sandbox_row row = make_row(cases[i].letter, i % 2 ? "me" : "you", "");

		row.state = cases[i].was;
		row.temporary = cases[i].temporary;
		(void)snprintf(row.instance, sizeof row.instance, "%s", cases[i].instance);
		CHECK_OK(registry_add(store, &row, &err), err);
	}
	CHECK_OK(registry_recover(store, SELF, third_is_alive, on_doomed, &recovery, &err), err);
	assert_string_equal(recovery.doomed, "acdek");
	assert_string_equal(recovery.asked, OTHER " " THIRD " 00000000000000dd ");
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct sandbox_row row;
		int r = registry_find(store, i % 2 ? "me" : "you", id_of(cases[i].letter), &row,
		                      &err);

		assert_int_equal(r, cases[i].want_instance != NULL ? 0 : -1);
		if (r < 0)
			continue;
		assert_int_equal(row.state, cases[i].want);
		assert_string_equal(row.instance, cases[i].want_instance);
	}
	CHECK_OK(registry_recover(store, SELF, third_is_alive, on_doomed, &again, &err), err);
	assert_string_equal(again.doomed, "");
}

static void ignore_doomed(void *ctx, const char *id)
{
	(void)ctx;
	(void)id;
}

/* Killed between taking them over and deleting them, the next one finds them again. */
static void what_is_doomed_is_this_servers_to_delete(void **state)
{
	AUTO(store) struct store *store = open_it();
	struct recovery recovery = { .store = store };
	struct error err;

	(void)state;
	add(store, 'a', "me", "");
	CHECK_OK(registry_recover(store, OTHER, third_is_alive, ignore_doomed, &recovery, &err),
	         err);
	check_state(store, 'a', SANDBOX_DELETING, OTHER);
	CHECK_OK(registry_recover(store, THIRD, third_is_alive, on_doomed, &recovery, &err), err);
	assert_string_equal(recovery.doomed, "a");
}

/* An id becomes a path of what is deleted. */
static void an_id_that_is_none_is_not_handed_out(void **state)
{
	static const char *const sets[] = {
		"id = '../../../etc'",
		"id = ''",
		"id = 'sb_aaaaaaaaaaaaaaaaaaaaaaaaaaa'",
		"id = 'sb_aaaaaaaaaaaaaaaaaaaaaaaaaa' || char(0)",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(sets); i++) {
		AUTO(store) struct store *store = open_it();
		struct recovery recovery = { .store = store };
		char sql[100];
		struct error err;

		alter("DELETE FROM sandboxes");
		add(store, 'b', "me", "");
		(void)snprintf(sql, sizeof sql, "UPDATE sandboxes SET %s", sets[i]);
		alter(sql);
		CHECK_OK(registry_recover(store, OTHER, third_is_alive, on_doomed, &recovery, &err),
		         err);
		assert_string_equal(recovery.doomed, "");
	}
}

static void add_and_be_killed(void)
{
	struct store *store = open_it();
	struct error err;

	add(store, 'a', "me", "");
	CHECK_OK(store_begin(store, &err), err);
	add(store, 'b', "me", "");
	(void)raise(SIGKILL);
}

static void a_server_that_is_killed_loses_no_row(void **state)
{
	AUTO(store) struct store *store = NULL;
	struct sandbox_row row;
	struct error err;
	int status = 0;
	pid_t child = fork(); /* before there is a connection, which no child may inherit */

	(void)state;
	assert_true(child >= 0);
	if (child == 0) {
		add_and_be_killed();
		_exit(1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
	store = open_it();
	check_state(store, 'a', SANDBOX_CREATING, SELF);
	CHECK_ERROR(registry_find(store, "me", id_of('b'), &row, &err), err, ERR_NOT_FOUND,
	            "there is no sandbox 'sb_bbbbbbbbbbbbbbbbbbbbbbbbbb'");
	add(store, 'c', "me", ""); /* the lock went with it */
}

#define PLACED(name) cmocka_unit_test_setup_teardown(name, place_make, place_remove)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		PLACED(of_several_servers_one_gets_it),
		PLACED(what_dead_servers_left_is_taken_over),
		PLACED(what_is_doomed_is_this_servers_to_delete),
		PLACED(an_id_that_is_none_is_not_handed_out),
		PLACED(a_server_that_is_killed_loses_no_row),
	};

	return RUN_TESTS("registry_recover", tests);
}
