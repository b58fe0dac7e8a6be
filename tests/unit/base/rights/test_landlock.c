#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
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

/* In a child: binds a TCP socket, connects to an abstract socket of the parent, and signals the
 * parent. Returns a bit for each that Landlock refused. */
static int reach_parent(int (*open_ruleset)(struct landlock *ret, struct error *err),
                        const struct sockaddr_un *name)
{
	const struct sockaddr_in port = { .sin_family = AF_INET,
		                          .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	pid_t parent = getpid(), child = fork();
	int status, refused = 0;

	assert_true(child >= 0);
	if (child == 0) {
		int tcp = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		int local = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		struct landlock landlock;
		struct error err;

		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
		    open_ruleset(&landlock, &err) < 0 || landlock_enforce(&landlock, &err) < 0)
			_exit(255);
		if (bind(tcp, (const struct sockaddr *)&port, sizeof port) < 0 && errno == EACCES)
			refused |= 1;
		if (connect(local, (const struct sockaddr *)name, sizeof *name) < 0)
			refused |= 2;
		if (kill(parent, 0) < 0)
			refused |= 4;
		_exit(refused);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void isolated_ruleset_denies_other_processes(void **state)
{
	long version = landlock_version();
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	int listener = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	(void)snprintf(name.sun_path + 1, 64, "belljar-landlock-%d", getpid());
	assert_int_equal(bind(listener, (const struct sockaddr *)&name, sizeof name), 0);
	assert_int_equal(reach_parent(landlock_open, &name), 0);
	assert_int_equal(reach_parent(landlock_open_isolated, &name),
	                 (version >= 4 ? 1 : 0) | (version >= 6 ? 2 | 4 : 0));
	(void)close(listener);
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
		TEST(isolated_ruleset_denies_other_processes),
		TEST(kernel_without_landlock_confines_nothing),
		TEST(missing_path_is_named),
	};

	return RUN_TESTS("base/rights/landlock", tests);
}
