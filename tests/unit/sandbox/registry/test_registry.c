#include <errno.h>

#include "unit/sandbox/registry/registry_rig.h"

static void row_is_read_as_it_was_written(void **state)
{
	AUTO(store) struct store *store = open_registry();
	struct sandbox_row row = row_for('a', "me", "first"), back;
	struct error err;
	uint64_t value = 5;

	for (size_t i = 0; i < spec_limit_count; i++) {
		value = spec_limits[i].max - i;
		memcpy((char *)&row.spec.limits + spec_limits[i].offset, &value, sizeof value);
	}
	row.spec.syscalls = SPEC_SYSCALLS_DEBUG;
	row.spec.gpus = UINT64_MAX - 1;
	row.spec.mount_count = SPEC_MOUNTS_MAX;
	for (unsigned i = 0; i < SPEC_MOUNTS_MAX; i++) {
		row.spec.mounts[i].source = (uint16_t)(UINT16_MAX - i);
		memset(row.spec.mounts[i].target, 'x', SPEC_TARGET_MAX);
		memcpy(row.spec.mounts[i].target, "/a b ", 5);
		row.spec.mounts[i].target[5] = (char)('a' + i);
	}
	memset(row.owner, 'o', OWNER_MAX);
	row.temporary = true;
	row.created_s = 5000000000;
	row.used_s = 5000000001;
	CHECK_OK(registry_add(store, &row, &err), err);
	CHECK_OK(registry_find(store, row.owner, "first", &back, &err), err);
	assert_memory_equal(&back.spec.limits, &row.spec.limits, sizeof row.spec.limits);
	assert_int_equal(back.spec.mount_count, SPEC_MOUNTS_MAX);
	for (unsigned i = 0; i < SPEC_MOUNTS_MAX; i++) {
		assert_int_equal(back.spec.mounts[i].source, row.spec.mounts[i].source);
		assert_string_equal(back.spec.mounts[i].target, row.spec.mounts[i].target);
	}
	assert_int_equal(back.spec.syscalls, SPEC_SYSCALLS_DEBUG);
	assert_true(back.temporary);
	assert_true(back.spec.gpus == UINT64_MAX - 1);
	assert_string_equal(back.spec.id, row.spec.id);
	assert_string_equal(back.owner, row.owner);
	assert_string_equal(back.name, "first");
	assert_string_equal(back.engine, "native");
	assert_string_equal(back.instance, SELF);
	assert_int_equal(back.state, SANDBOX_CREATING);
	assert_int_equal(back.created_s, 5000000000);
	assert_int_equal(back.used_s, 5000000001);
}

static void changed_limits_are_written(void **state)
{
	AUTO(store) struct store *store = open_registry();
	struct sandbox_row row = row_for('a', "me", "first"), back;
	struct registry_sums sums;
	struct error err;

	CHECK_OK(registry_add(store, &row, &err), err);
	row.spec.limits.memory *= 2;
	row.spec.limits.cpu *= 2;
	row.spec.limits.pids *= 2;
	row.spec.limits.disk *= 2;
	row.spec.limits.file_size = row.spec.limits.disk;
	CHECK_OK(registry_update(store, &row, SELF, &err), err);
	CHECK_OK(registry_find(store, "me", "first", &back, &err), err);
	assert_memory_equal(&back.spec.limits, &row.spec.limits, sizeof row.spec.limits);
	CHECK_OK(registry_sum(store, "me", &sums, &err), err);
	assert_int_equal(sums.disk, row.spec.limits.disk);
}

static void invalid_row_is_not_added(void **state)
{
	AUTO(store) struct store *store = open_registry();
	struct sandbox_row row;
	struct error err;

	row = row_for('a', "me", "");
	row.spec.limits.pids = 1;
	CHECK_ERROR(registry_add(store, &row, &err), err, ERR_INVALID,
	            "limit 'pids' (processes and threads) is 1; it may be 16 to 65536");
	row = row_for('a', "", "");
	CHECK_ERROR(registry_add(store, &row, &err), err, ERR_INVALID, "owner: must not be empty");
	row = row_for('a', "me", "a/b");
	CHECK_ERROR(registry_add(store, &row, &err), err, ERR_INVALID,
	            "name: at most 64 letters, digits and '._-', beginning with a letter or digit, "
	            "and not of the form of an id");
	row = row_for('a', "me", "");
	row.instance[0] = '\0';
	assert_int_equal(registry_add(store, &row, &err), -1);
	row.state = SANDBOX_ASLEEP;
	CHECK_OK(registry_add(store, &row, &err), err);
	CHECK_ERROR(registry_add(store, &row, &err), err, ERR_INVALID,
	            "a sandbox with the id 'sb_aaaaaaaaaaaaaaaaaaaaaaaaaa' exists already");
}

static void name_form_is_checked(void **state)
{
	static const struct {
		const char *text;
		bool is;
	} cases[] = {
		{ "a", true },
		{ "7-x_Y.z", true },
		{ "sb_abc", true },
		{ "", false },
		{ ".a", false },
		{ "-a", false },
		{ "_a", false },
		{ "a b", false },
		{ "a/b", false },
		{ "a\n", false },
		{ "\303\244", false },
		{ "0123456789012345678901234567890123456789012345678901234567890123", true },
		{ "01234567890123456789012345678901234567890123456789012345678901234", false },
		{ "sb_aaaaaaaaaaaaaaaaaaaaaaaaaa", false },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		if (registry_is_name(cases[i].text) != cases[i].is)
			fail_msg("'%s'", cases[i].text);
}

static void name_is_unique_per_owner(void **state)
{
	AUTO(store) struct store *store = open_registry();
	struct sandbox_row row = row_for('b', "me", "box");
	struct error err;

	add_row(store, 'a', "me", "box");
	CHECK_ERROR(registry_add(store, &row, &err), err, ERR_INVALID,
	            "there is a sandbox named 'box' already: use it, delete it or choose another "
	            "name");
	add_row(store, 'c', "you", "box");
	add_row(store, 'd', "me", "");
	add_row(store, 'e', "me", "");
	/* A sandbox that is being deleted does not keep its name. */
	CHECK_OK(registry_set_state(store, id_for('a'), SANDBOX_DELETING, SELF, &err), err);
	CHECK_ERROR(registry_find(store, "me", "box", &row, &err), err, ERR_NOT_FOUND,
	            "there is no sandbox 'box'");
	add_row(store, 'b', "me", "box");
	CHECK_OK(registry_find(store, "me", "box", &row, &err), err);
	assert_string_equal(row.spec.id, id_for('b'));
	assert_row_state(store, 'a', SANDBOX_DELETING, SELF);
}

static void id_of_another_owner_looks_unknown(void **state)
{
	AUTO(store) struct store *store = open_registry();
	struct sandbox_row row;
	struct error theirs, unknown;

	add_row(store, 'a', "you", "theirs");
	CHECK_ERROR(registry_find(store, "me", id_for('a'), &row, &theirs), theirs, ERR_NOT_FOUND,
	            "there is no sandbox 'sb_aaaaaaaaaaaaaaaaaaaaaaaaaa'");
	run_sql("DELETE FROM sandboxes");
	assert_int_equal(registry_find(store, "me", id_for('a'), &row, &unknown), -1);
	assert_string_equal(theirs.msg, unknown.msg);
	assert_int_equal(theirs.kind, unknown.kind);
	assert_int_equal(theirs.errnum, unknown.errnum);
	add_row(store, 'a', "you", "theirs");
	CHECK_ERROR(registry_find(store, "me", "theirs", &row, &theirs), theirs, ERR_NOT_FOUND,
	            "there is no sandbox 'theirs'");
	CHECK_ERROR(registry_find(store, "me", "' OR 1 --", &row, &theirs), theirs, ERR_NOT_FOUND,
	            "there is no such sandbox: an id is \"sb_\" and 26 characters of a-z and 2-7, "
	            "a name has at most 64 letters, digits and '._-'");
}

struct list {
	char letters[20];
	size_t count, stop_after;
};

static bool on_listed(void *ctx, const struct sandbox_row *row)
{
	struct list *list = ctx;

	list->letters[list->count++] = row->spec.id[3];
	return list->count != list->stop_after;
}

static void owners_sandboxes_are_listed_newest_first(void **state)
{
	AUTO(store) struct store *store = open_registry();
	struct sandbox_row late = row_for('a', "me", "");
	struct list all = { 0 }, two = { .stop_after = 2 };
	struct error err;

	late.created_s = 2000;
	CHECK_OK(registry_add(store, &late, &err), err);
	add_row(store, 'c', "me", "");
	add_row(store, 'b', "me", "");
	add_row(store, 'd', "you", "");
	CHECK_OK(registry_each(store, "me", on_listed, &all, &err), err);
	assert_string_equal(all.letters, "abc");
	CHECK_OK(registry_each(store, "me", on_listed, &two, &err), err);
	assert_string_equal(two.letters, "ab");
}

static void state_changes_are_written(void **state)
{
	AUTO(store) struct store *store = open_registry();
	struct sandbox_row row = row_for('t', "me", "");
	struct error err;
	bool found;

	add_row(store, 'a', "me", "");
	CHECK_OK(registry_set_state(store, id_for('a'), SANDBOX_AWAKE, SELF, &err), err);
	assert_row_state(store, 'a', SANDBOX_AWAKE, SELF);
	CHECK_OK(registry_set_state(store, id_for('a'), SANDBOX_ASLEEP, SELF, &err), err);
	assert_row_state(store, 'a', SANDBOX_ASLEEP, "");
	CHECK_OK(registry_claim(store, id_for('a'), OTHER, &err), err);
	assert_row_state(store, 'a', SANDBOX_AWAKE, OTHER);
	CHECK_OK(registry_set_state(store, id_for('a'), SANDBOX_DELETING, "", &err), err);
	assert_row_state(store, 'a', SANDBOX_DELETING, OTHER);
	CHECK_OK(registry_touch(store, id_for('a'), 77, &err), err);
	CHECK_OK(registry_find(store, "me", id_for('a'), &row, &err), err);
	assert_int_equal(row.used_s, 77);
	assert_int_equal(row.created_s, 1000);
	CHECK_OK(registry_has(store, id_for('a'), &found, &err), err);
	assert_true(found);
	CHECK_OK(registry_remove(store, id_for('a'), &err), err);
	CHECK_OK(registry_remove(store, id_for('a'), &err), err);
	CHECK_OK(registry_has(store, id_for('a'), &found, &err), err);
	assert_false(found);
	CHECK_ERROR(registry_set_state(store, id_for('a'), SANDBOX_AWAKE, SELF, &err), err,
	            ERR_NOT_FOUND, "there is no sandbox 'sb_aaaaaaaaaaaaaaaaaaaaaaaaaa'");
	CHECK_ERROR(registry_touch(store, id_for('a'), 1, &err), err, ERR_NOT_FOUND,
	            "there is no sandbox 'sb_aaaaaaaaaaaaaaaaaaaaaaaaaa'");
	/* A temporary sandbox keeps its instance when it sleeps. */
	row = row_for('t', "me", "");
	row.temporary = true;
	CHECK_OK(registry_add(store, &row, &err), err);
	CHECK_OK(registry_set_state(store, id_for('t'), SANDBOX_ASLEEP, "", &err), err);
	assert_row_state(store, 't', SANDBOX_ASLEEP, SELF);
	assert_int_equal(registry_claim(store, id_for('t'), OTHER, &err), -1);
	CHECK_OK(registry_claim(store, id_for('t'), SELF, &err), err);
}

static void sandbox_is_claimed_by_one_server(void **state)
{
	AUTO(store) struct store *store = open_registry();
	struct error err;

	add_row(store, 'a', "me", "");
	CHECK_ERROR(registry_claim(store, id_for('a'), SELF, &err), err, ERR_INVALID,
	            "sandbox 'sb_aaaaaaaaaaaaaaaaaaaaaaaaaa' is being created by another server: "
	            "stop that server, wait until it has finished, or create another sandbox");
	assert_int_equal(err.errnum, EBUSY);
	CHECK_OK(registry_set_state(store, id_for('a'), SANDBOX_ASLEEP, "", &err), err);
	CHECK_OK(registry_claim(store, id_for('a'), OTHER, &err), err);
	CHECK_OK(registry_claim(store, id_for('a'), OTHER, &err),
	         err); /* again, by the same server */
	CHECK_ERROR(registry_claim(store, id_for('a'), SELF, &err), err, ERR_INVALID,
	            "sandbox 'sb_aaaaaaaaaaaaaaaaaaaaaaaaaa' is in use by another server: stop "
	            "that server, wait until it has finished, or create another sandbox");
	assert_int_equal(err.errnum, EBUSY);
	assert_row_state(store, 'a', SANDBOX_AWAKE, OTHER);
	CHECK_OK(registry_set_state(store, id_for('a'), SANDBOX_DELETING, OTHER, &err), err);
	CHECK_ERROR(registry_claim(store, id_for('a'), SELF, &err), err, ERR_INVALID,
	            "sandbox 'sb_aaaaaaaaaaaaaaaaaaaaaaaaaa' is being deleted");
	CHECK_ERROR(registry_claim(store, id_for('b'), SELF, &err), err, ERR_NOT_FOUND,
	            "there is no sandbox 'sb_bbbbbbbbbbbbbbbbbbbbbbbbbb'");
}

#define ROW     "the row of sandbox 'sb_bbbbbbbbbbbbbbbbbbbbbbbbbb' "
#define DAMAGED ROW "in the database is damaged and not used: "

static void damaged_row_is_reported_and_not_used(void **state)
{
	static const struct {
		const char *set, *why;
	} cases[] = {
		{ "limit_memory = 5",
		  "limit 'memory' (memory of all processes) is 5 bytes; it may be 16 MiB to "
		  "1048576 MiB" },
		{ "limit_cpu = -1",
		  "limit 'cpu' (number of processors) is 18446744073709551.615; it may be "
		  "0.01 to 1024" },
		{ "throw_away = -1", "'throw_away' is neither 0 nor 1" },
		{ "calls = 'all'", "'calls' has the unknown value 'all'" },
		{ "engine = 'sixteen letters!'",
		  "'engine' is longer than 15 bytes or holds a zero" },
		{ "engine = 'a' || char(0) || 'b'",
		  "'engine' is longer than 15 bytes or holds a zero" },
		{ "instance = 'much too long for one'",
		  "'instance' is longer than 16 bytes or holds a zero" },
		{ "name = '../x'", "'name' is not a valid name" },
		{ "mounts = '0 /etc' || char(10)", "the target of mount 1, '/etc', belongs to "
		                                   "the sandbox itself; choose a directory "
		                                   "such as /workspace/data" },
		{ "mounts = '0 /data'", "mount 1 is not a number and a target" },
		{ "mounts = 'x'", "mount 1 is not a number and a target" },
		{ "mounts = '0 /a' || char(10) || '99999 /b' || char(10)",
		  "mount 2: expected a whole number from 0 to 65535, got '99999'" },
		{ "mounts = replace(hex(zeroblob(17)), '00', '0 /a' || char(10))",
		  "more than 16 mounts" },
	};
	AUTO(store) struct store *store = open_registry();

	add_row(store, 'a', "me", "");
	add_row(store, 'c', "me", "");
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct sandbox_row row;
		struct list list = { 0 };
		struct error err;
		char sql[300], want[480];

		add_row(store, 'b', "me", "");
		(void)snprintf(sql, sizeof sql, "UPDATE sandboxes SET %s WHERE id LIKE 'sb_b%%'",
		               cases[i].set);
		(void)snprintf(want, sizeof want, DAMAGED "%s", cases[i].why);
		run_sql(sql);
		CHECK_ERROR(registry_find(store, "me", id_for('b'), &row, &err), err, ERR_SYSTEM,
		            want);
		CHECK_ERROR(registry_each(store, "me", on_listed, &list, &err), err, ERR_SYSTEM,
		            want);
		assert_string_equal(list.letters, "ca");
		CHECK_OK(registry_remove(store, id_for('b'), &err), err);
	}
}

/* Without an index the end of a run would read the whole history, of up to 20,000 rows. */
static void start_of_a_run_is_found_by_an_index(void **state)
{
	AUTO(store) struct store *store = open_registry();
	sqlite3 *db = NULL;
	sqlite3_stmt *plan = NULL;

	(void)state;
	assert_int_equal(sqlite3_open(registry_path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db,
	                                    "EXPLAIN QUERY PLAN SELECT min(number) FROM runs WHERE"
	                                    " sandbox = ? AND started_s = ? AND what = ?"
	                                    " AND outcome = 'running'",
	                                    -1, &plan, NULL),
	                 SQLITE_OK);
	assert_int_equal(sqlite3_step(plan), SQLITE_ROW);
	assert_non_null(strstr((const char *)sqlite3_column_text(plan, 3),
	                       "runs_by_start (sandbox=? AND started_s=?)"));
	assert_int_equal(sqlite3_finalize(plan), SQLITE_OK);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		IN_SCRATCH(row_is_read_as_it_was_written),
		IN_SCRATCH(changed_limits_are_written),
		IN_SCRATCH(invalid_row_is_not_added),
		TEST(name_form_is_checked),
		IN_SCRATCH(name_is_unique_per_owner),
		IN_SCRATCH(id_of_another_owner_looks_unknown),
		IN_SCRATCH(owners_sandboxes_are_listed_newest_first),
		IN_SCRATCH(state_changes_are_written),
		IN_SCRATCH(sandbox_is_claimed_by_one_server),
		IN_SCRATCH(damaged_row_is_reported_and_not_used),
		IN_SCRATCH(start_of_a_run_is_found_by_an_index),
	};

	return RUN_TESTS("registry", tests);
}
