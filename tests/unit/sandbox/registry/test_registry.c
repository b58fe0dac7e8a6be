#include <errno.h>

#include "unit/sandbox/registry/registry_test.h"

static void a_row_comes_back_as_it_was(void **state)
{
	AUTO(store) struct store *store = open_it();
	struct sandbox_row row = make_row('a', "me", "first"), back;
	struct error err;
	uint64_t value = 5;

	(void)state;
	for (size_t i = 0; i < spec_limit_count; i++) {
		value = spec_limits[i].max - i;
		memcpy((char *)&row.spec.limits + spec_limits[i].offset, &value, sizeof value);
	}
	row.spec.syscalls = SPEC_SYSCALLS_DEBUG;
	row.spec.egress = true;
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
	assert_true(back.spec.egress && back.temporary);
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

static void what_is_added_is_checked(void **state)
{
	AUTO(store) struct store *store = open_it();
	struct sandbox_row row;
	struct error err;

	(void)state;
	row = make_row('a', "me", "");
	row.spec.limits.pids = 1;
	CHECK_ERROR(registry_add(store, &row, &err), err, ERR_INVALID,
	            "limit 'pids' (processes and threads) is 1; it may be 16 to 65536");
	row = make_row('a', "", "");
	CHECK_ERROR(registry_add(store, &row, &err), err, ERR_INVALID, "a sandbox has an owner");
	row = make_row('a', "me", "a/b");
	CHECK_ERROR(registry_add(store, &row, &err), err, ERR_INVALID,
	            "a name has at most 64 letters, digits and '._-', begins with a letter or "
	            "digit and is not an id");
	row = make_row('a', "me", "");
	row.instance[0] = '\0';
	assert_int_equal(registry_add(store, &row, &err), -1);
	row.state = SANDBOX_ASLEEP;
	CHECK_OK(registry_add(store, &row, &err), err);
	CHECK_ERROR(registry_add(store, &row, &err), err, ERR_INVALID,
	            "there is a sandbox 'sb_aaaaaaaaaaaaaaaaaaaaaaaaaa' already");
}

static void names_have_a_form(void **state)
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

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		if (registry_is_name(cases[i].text) != cases[i].is)
			fail_msg("'%s'", cases[i].text);
}

static void a_name_is_one_sandbox_of_its_owner(void **state)
{
	AUTO(store) struct store *store = open_it();
	struct sandbox_row row = make_row('b', "me", "box");
	struct error err;

	(void)state;
	add(store, 'a', "me", "box");
	CHECK_ERROR(registry_add(store, &row, &err), err, ERR_INVALID,
	            "there is a sandbox named 'box' already: use it, delete it or choose another "
	            "name");
	add(store, 'c', "you", "box");
	add(store, 'd', "me", "");
	add(store, 'e', "me", "");
	/* What is being deleted is not in the way. */
	CHECK_OK(registry_set_state(store, id_of('a'), SANDBOX_DELETING, SELF, &err), err);
	CHECK_ERROR(registry_find(store, "me", "box", &row, &err), err, ERR_NOT_FOUND,
	            "there is no sandbox 'box'");
	add(store, 'b', "me", "box");
	CHECK_OK(registry_find(store, "me", "box", &row, &err), err);
	assert_string_equal(row.spec.id, id_of('b'));
	check_state(store, 'a', SANDBOX_DELETING, SELF);
}

static void anothers_id_is_as_unknown_as_one_that_is_not(void **state)
{
	AUTO(store) struct store *store = open_it();
	struct sandbox_row row;
	struct error theirs, unknown;

	(void)state;
	add(store, 'a', "you", "theirs");
	CHECK_ERROR(registry_find(store, "me", id_of('a'), &row, &theirs), theirs, ERR_NOT_FOUND,
	            "there is no sandbox 'sb_aaaaaaaaaaaaaaaaaaaaaaaaaa'");
	alter("DELETE FROM sandboxes");
	assert_int_equal(registry_find(store, "me", id_of('a'), &row, &unknown), -1);
	assert_string_equal(theirs.msg, unknown.msg);
	assert_int_equal(theirs.kind, unknown.kind);
	assert_int_equal(theirs.errnum, unknown.errnum);
	add(store, 'a', "you", "theirs");
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

static void an_owners_sandboxes_are_listed_newest_first(void **state)
{
	AUTO(store) struct store *store = open_it();
	struct sandbox_row late = make_row('a', "me", "");
	struct list all = { 0 }, two = { .stop_after = 2 };
	struct error err;

	(void)state;
	late.created_s = 2000;
	CHECK_OK(registry_add(store, &late, &err), err);
	add(store, 'c', "me", "");
	add(store, 'b', "me", "");
	add(store, 'd', "you", "");
	CHECK_OK(registry_each(store, "me", on_listed, &all, &err), err);
	assert_string_equal(all.letters, "abc");
	CHECK_OK(registry_each(store, "me", on_listed, &two, &err), err);
	assert_string_equal(two.letters, "ab");
}

static void states_follow_each_other(void **state)
{
	AUTO(store) struct store *store = open_it();
	struct sandbox_row row = make_row('t', "me", "");
	struct error err;
	bool known;

	(void)state;
	add(store, 'a', "me", "");
	CHECK_OK(registry_set_state(store, id_of('a'), SANDBOX_AWAKE, SELF, &err), err);
	check_state(store, 'a', SANDBOX_AWAKE, SELF);
	CHECK_OK(registry_set_state(store, id_of('a'), SANDBOX_ASLEEP, SELF, &err), err);
	check_state(store, 'a', SANDBOX_ASLEEP, "");
	CHECK_OK(registry_claim(store, id_of('a'), OTHER, &err), err);
	check_state(store, 'a', SANDBOX_AWAKE, OTHER);
	CHECK_OK(registry_set_state(store, id_of('a'), SANDBOX_DELETING, "", &err), err);
	check_state(store, 'a', SANDBOX_DELETING, OTHER);
	CHECK_OK(registry_touch(store, id_of('a'), 77, &err), err);
	CHECK_OK(registry_find(store, "me", id_of('a'), &row, &err), err);
	assert_int_equal(row.used_s, 77);
	assert_int_equal(row.created_s, 1000);
	CHECK_OK(registry_has(store, id_of('a'), &known, &err), err);
	assert_true(known);
	CHECK_OK(registry_remove(store, id_of('a'), &err), err);
	CHECK_OK(registry_remove(store, id_of('a'), &err), err);
	CHECK_OK(registry_has(store, id_of('a'), &known, &err), err);
	assert_false(known);
	CHECK_ERROR(registry_set_state(store, id_of('a'), SANDBOX_AWAKE, SELF, &err), err,
	            ERR_NOT_FOUND, "there is no sandbox 'sb_aaaaaaaaaaaaaaaaaaaaaaaaaa'");
	CHECK_ERROR(registry_touch(store, id_of('a'), 1, &err), err, ERR_NOT_FOUND,
	            "there is no sandbox 'sb_aaaaaaaaaaaaaaaaaaaaaaaaaa'");
	/* A throw-away stays its server's. */
	row = make_row('t', "me", "");
	row.temporary = true;
	CHECK_OK(registry_add(store, &row, &err), err);
	CHECK_OK(registry_set_state(store, id_of('t'), SANDBOX_ASLEEP, "", &err), err);
	check_state(store, 't', SANDBOX_ASLEEP, SELF);
	assert_int_equal(registry_claim(store, id_of('t'), OTHER, &err), -1);
	CHECK_OK(registry_claim(store, id_of('t'), SELF, &err), err);
}

static void a_sandbox_is_claimed_once(void **state)
{
	AUTO(store) struct store *store = open_it();
	struct error err;

	(void)state;
	add(store, 'a', "me", "");
	CHECK_ERROR(registry_claim(store, id_of('a'), SELF, &err), err, ERR_INVALID,
	            "sandbox 'sb_aaaaaaaaaaaaaaaaaaaaaaaaaa' is being made by another server: end "
	            "that one, wait for it, or make another sandbox");
	assert_int_equal(err.errnum, EBUSY);
	CHECK_OK(registry_set_state(store, id_of('a'), SANDBOX_ASLEEP, "", &err), err);
	CHECK_OK(registry_claim(store, id_of('a'), OTHER, &err), err);
	CHECK_OK(registry_claim(store, id_of('a'), OTHER, &err), err); /* which is its own */
	CHECK_ERROR(registry_claim(store, id_of('a'), SELF, &err), err, ERR_INVALID,
	            "sandbox 'sb_aaaaaaaaaaaaaaaaaaaaaaaaaa' is in use by another server: end that "
	            "one, wait for it, or make another sandbox");
	assert_int_equal(err.errnum, EBUSY);
	check_state(store, 'a', SANDBOX_AWAKE, OTHER);
	CHECK_OK(registry_set_state(store, id_of('a'), SANDBOX_DELETING, OTHER, &err), err);
	CHECK_ERROR(registry_claim(store, id_of('a'), SELF, &err), err, ERR_INVALID,
	            "sandbox 'sb_aaaaaaaaaaaaaaaaaaaaaaaaaa' is being deleted");
	CHECK_ERROR(registry_claim(store, id_of('b'), SELF, &err), err, ERR_NOT_FOUND,
	            "there is no sandbox 'sb_bbbbbbbbbbbbbbbbbbbbbbbbbb'");
}

#define DAMAGED "the row of sandbox 'sb_bbbbbbbbbbbbbbbbbbbbbbbbbb' is damaged and not used: "

static void a_damaged_row_is_reported_and_not_used(void **state)
{
	static const struct {
		const char *set, *why;
	} cases[] = {
		{ "limit_memory = 5",
		  "limit 'memory' (memory of all its processes) is 5 bytes; it may be 16 MiB to "
		  "1048576 MiB" },
		{ "limit_cpu = -1",
		  "limit 'cpu' (processors it may keep busy) is 18446744073709551.615; it may be "
		  "0.01 to 1024" },
		{ "egress = 2", "'egress' is neither 0 nor 1" },
		{ "throw_away = -1", "'throw_away' is neither 0 nor 1" },
		{ "calls = 'all'", "'calls' is 'all', which is not known" },
		{ "engine = 'sixteen letters!'",
		  "'engine' is longer than 15 bytes or holds a zero" },
		{ "engine = 'a' || char(0) || 'b'",
		  "'engine' is longer than 15 bytes or holds a zero" },
		{ "instance = 'much too long for one'",
		  "'instance' is longer than 16 bytes or holds a zero" },
		{ "name = '../x'", "'name' is not a name" },
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
	AUTO(store) struct store *store = open_it();

	(void)state;
	add(store, 'a', "me", "");
	add(store, 'c', "me", "");
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct sandbox_row row;
		struct list list = { 0 };
		struct error err;
		char sql[300], want[480];

		add(store, 'b', "me", "");
		(void)snprintf(sql, sizeof sql, "UPDATE sandboxes SET %s WHERE id LIKE 'sb_b%%'",
		               cases[i].set);
		(void)snprintf(want, sizeof want, DAMAGED "%s", cases[i].why);
		alter(sql);
		CHECK_ERROR(registry_find(store, "me", id_of('b'), &row, &err), err, ERR_SYSTEM,
		            want);
		CHECK_ERROR(registry_each(store, "me", on_listed, &list, &err), err, ERR_SYSTEM,
		            want);
		assert_string_equal(list.letters, "ca");
		CHECK_OK(registry_remove(store, id_of('b'), &err), err);
	}
}

#define PLACED(name) cmocka_unit_test_setup_teardown(name, place_make, place_remove)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		PLACED(a_row_comes_back_as_it_was),
		PLACED(what_is_added_is_checked),
		TEST(names_have_a_form),
		PLACED(a_name_is_one_sandbox_of_its_owner),
		PLACED(anothers_id_is_as_unknown_as_one_that_is_not),
		PLACED(an_owners_sandboxes_are_listed_newest_first),
		PLACED(states_follow_each_other),
		PLACED(a_sandbox_is_claimed_once),
		PLACED(a_damaged_row_is_reported_and_not_used),
	};

	return RUN_TESTS("registry", tests);
}
