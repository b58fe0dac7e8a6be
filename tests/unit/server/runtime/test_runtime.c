/* State directories that are refused before anything is started. */
#include "server/runtime/runtime.h"

#include "server/options/options.h"
#include "unit/scratch.h"

static const char *path_below(const char *name)
{
	static char path[100];

	(void)snprintf(path, sizeof path, "%s/%s", scratch_path, name);
	return path;
}

static void relative_state_directory_starts_at_the_current_one(void **state)
{
	char long_name[PATH_MAX], path[PATH_MAX];
	struct options options = { .state_dir = "a/b" };
	struct error err;

	CHECK_OK(runtime_find_state_dir(&options, path, &err), err);
	assert_string_equal(path, path_below("a/b"));
	options.state_dir = "/a/b";
	CHECK_OK(runtime_find_state_dir(&options, path, &err), err);
	assert_string_equal(path, "/a/b");
	memset(long_name, 'x', sizeof long_name - 1);
	long_name[sizeof long_name - 1] = '\0';
	options.state_dir = long_name;
	CHECK_ERROR(runtime_find_state_dir(&options, path, &err), err, ERR_LIMIT,
	            "the state directory's path is too long: choose another with --state-dir DIR");
}

static void check_refused(const char *want)
{
	const struct options options = { .state_dir = "state", .no_cgroups = true };
	struct runtime_base base;
	struct error err;

	assert_int_equal(runtime_prepare(&options, &base, &err), -1);
	assert_string_equal(err.msg, want);
}

static void make_state(void)
{
	assert_int_equal(chmod(scratch_path, 0755), 0);
	assert_int_equal(mkdir("state", 0711), 0);
}

static void path_that_is_no_directory_is_named(void **state)
{
	char want[300];

	make_state();
	assert_int_equal(mkdir("elsewhere", 0755), 0);
	assert_int_equal(symlink("../elsewhere", "state/servers"), 0);
	(void)snprintf(want, sizeof want, "state directory: '%s': Not a directory",
	               path_below("state/servers"));
	check_refused(want);
}

static void sandboxes_without_their_database_are_kept(void **state)
{
	const char *id = "state/sandboxes/sb_aaaaaaaaaaaaaaaaaaaaaaaaaa";
	char want[400];

	make_state();
	assert_int_equal(mkdir("state/sandboxes", 0700), 0);
	assert_int_equal(mkdir(id, 0700), 0);
	(void)snprintf(want, sizeof want,
	               "state directory: there are sandboxes in '%s/state/sandboxes', but the "
	               "database that knows them is gone: put '%s/state/db/belljar.db' back; or "
	               "move the sandboxes away, and start without them",
	               scratch_path, scratch_path);
	check_refused(want);
	scratch_write("state/db/belljar.db", "");
	check_refused(want);
	assert_int_equal(access(id, F_OK), 0);
	assert_int_equal(access("state/servers", F_OK), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_SCRATCH(relative_state_directory_starts_at_the_current_one),
		IN_SCRATCH(path_that_is_no_directory_is_named),
		IN_SCRATCH(sandboxes_without_their_database_are_kept),
	};

	return RUN_TESTS("server/runtime/runtime", tests);
}
