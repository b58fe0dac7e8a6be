#include <errno.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "base/rights/landlock.h"
#include "unit/test.h"

/* In a child: allows `rights` below /dev and nothing anywhere else, then opens `path`. Returns 0,
 * the errno of open(), or 255. */
static int open_confined(uint64_t rights, const char *path, int flags)
{
	pid_t child = fork();
	int status;

	assert_true(child >= 0);
	if (child == 0) {
		struct landlock landlock;
		struct error err;

		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
		    landlock_open(&landlock, &err) < 0 ||
		    landlock_allow_path(&landlock, "/dev", rights, &err) < 0 ||
		    landlock_enforce(&landlock, &err) < 0)
			_exit(255);
		landlock_close(&landlock);
		_exit(open(path, flags | O_CLOEXEC) < 0 ? errno : 0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void ruleset_leaves_only_the_allowed_rights(void **state)
{
	static const struct {
		uint64_t rights;
		const char *path;
		int flags, expected;
	} cases[] = {
		{ LANDLOCK_READ_FILE, "/dev/null", O_RDONLY, 0 },
		{ LANDLOCK_READ_FILE, "/dev/null", O_WRONLY, EACCES },
		{ LANDLOCK_WRITE_FILE, "/dev/null", O_WRONLY, 0 },
		{ LANDLOCK_ALL, "/dev/null", O_RDWR, 0 },
		{ LANDLOCK_ALL, "/etc/passwd", O_RDONLY, EACCES },
		{ 0, "/dev/null", O_RDONLY, EACCES },
	};

	if (landlock_version() < 2)
		SKIP_TEST("this kernel has no Landlock, or version 1");
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_int_equal(open_confined(cases[i].rights, cases[i].path, cases[i].flags),
		                 cases[i].expected);
}

static void kernel_without_landlock_confines_nothing(void **state)
{
	const struct landlock none = { .ruleset = -1 };
	struct error err;

	CHECK_OK(landlock_allow_path(&none, "/no such file", LANDLOCK_ALL, &err), err);
	CHECK_OK(landlock_enforce(&none, &err), err);
}

static void missing_path_is_named(void **state)
{
	struct landlock landlock;
	struct error err;

	CHECK_OK(landlock_open(&landlock, &err), err);
	if (landlock.ruleset < 0)
		SKIP_TEST("this kernel has no Landlock, or version 1");
	assert_int_equal(landlock_allow_path(&landlock, "/no such file", LANDLOCK_ALL, &err), -1);
	assert_non_null(strstr(err.msg, "Landlock: open /no such file"));
	landlock_close(&landlock);
	assert_int_equal(landlock.ruleset, -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(ruleset_leaves_only_the_allowed_rights),
		TEST(kernel_without_landlock_confines_nothing),
		TEST(missing_path_is_named),
	};

	return RUN_TESTS("base/rights/landlock", tests);
}
