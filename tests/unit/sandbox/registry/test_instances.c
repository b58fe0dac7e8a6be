#include "sandbox/registry/instances.h"

#include <sched.h>
#include <signal.h>
#include <sys/file.h>

#include "base/cleanup.h"
#include "unit/server/place.h"

static int servers(void)
{
	int dir;

	(void)mkdir("servers", 0700);
	dir = open("servers", O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(dir >= 0);
	return dir;
}

static int begin(int dir, char name[INSTANCE_LEN + 1])
{
	struct error err = { .msg = "" };
	int fd = instance_add(dir, name, &err);

	if (fd < 0)
		fail_msg("no instance: %s", err.msg);
	return fd;
}

static bool has(int dir, const char *name, const char *ending)
{
	char file[40];

	(void)snprintf(file, sizeof file, "%s%s", name, ending);
	return faccessat(dir, file, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static void leave(int dir, const char *file)
{
	AUTO_FD int fd = openat(dir, file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
}

/* A process that has an instance, and says its name. */
struct server {
	pid_t pid;
	char name[INSTANCE_LEN + 1];
};

static struct server start_server(int dir, bool with_spawner)
{
	struct server server = { 0 };
	int said[2];

	assert_int_equal(pipe(said), 0);
	server.pid = fork();
	assert_true(server.pid >= 0);
	if (server.pid == 0) {
		struct error err;
		pid_t spawner = 0;

		(void)alarm(60); /* if the test fails, nobody else ends it */
		if (instance_add(dir, server.name, &err) < 0)
			_exit(1);
		if (with_spawner) {
			spawner = fork();
			if (spawner == 0) {
				(void)alarm(60);
				for (;;)
					(void)pause();
			}
		}
		(void)!write(said[1], server.name, sizeof server.name);
		(void)!write(said[1], &spawner, sizeof spawner);
		for (;;)
			(void)pause();
	}
	assert_int_equal(read(said[0], server.name, sizeof server.name), sizeof server.name);
	if (with_spawner) {
		pid_t spawner;

		/* The spawner is what is left to be ended by the test. */
		assert_int_equal(read(said[0], &spawner, sizeof spawner), sizeof spawner);
		assert_int_equal(kill(server.pid, SIGKILL), 0);
		assert_int_equal(waitpid(server.pid, NULL, 0), server.pid);
		server.pid = spawner;
	}
	(void)close(said[0]);
	(void)close(said[1]);
	return server;
}

static void a_server_is_alive_until_its_file_is_closed(void **state)
{
	AUTO_FD int dir = servers();
	char name[INSTANCE_LEN + 1];
	int fd = begin(dir, name);
	struct stat st;

	(void)state;
	assert_int_equal(strlen(name), INSTANCE_LEN);
	assert_int_equal(strspn(name, "0123456789abcdef"), INSTANCE_LEN);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0644);
	assert_true(has(dir, name, ".lock"));
	assert_false(has(dir, name, ".new"));
	for (int i = 0; i < 3; i++)
		assert_true(instance_is_alive(dir, name));
	instance_remove_dead(dir);
	assert_true(has(dir, name, ".lock"));
	(void)close(fd);
	for (int i = 0; i < 3; i++)
		assert_false(instance_is_alive(dir, name));
	assert_true(has(dir, name, ".lock"));
	instance_remove_dead(dir);
	assert_false(has(dir, name, ".lock"));
	assert_false(instance_is_alive(dir, name));
}

static void a_server_that_ends_in_order_leaves_nothing(void **state)
{
	AUTO_FD int dir = servers();
	char name[INSTANCE_LEN + 1];
	AUTO_FD int fd = begin(dir, name);

	(void)state;
	(void)fd;
	instance_remove(dir, name);
	assert_false(has(dir, name, ".lock"));
	assert_false(instance_is_alive(dir, name));
}

static void a_killed_server_is_dead(void **state)
{
	AUTO_FD int dir = servers();
	struct server server = start_server(dir, false);

	(void)state;
	assert_true(instance_is_alive(dir, server.name));
	instance_remove_dead(dir);
	assert_true(instance_is_alive(dir, server.name));
	assert_int_equal(kill(server.pid, SIGKILL), 0);
	assert_int_equal(waitpid(server.pid, NULL, 0), server.pid);
	assert_false(instance_is_alive(dir, server.name));
	instance_remove_dead(dir);
	assert_false(has(dir, server.name, ".lock"));
}

static void a_server_lives_as_long_as_its_spawner(void **state)
{
	AUTO_FD int dir = servers();
	struct server server = start_server(dir, true);

	(void)state;
	assert_true(instance_is_alive(dir, server.name));
	instance_remove_dead(dir);
	assert_true(has(dir, server.name, ".lock"));
	assert_int_equal(kill(server.pid, SIGKILL), 0);
	for (int i = 0; i < 1000 && instance_is_alive(dir, server.name); i++)
		(void)usleep(1000);
	assert_false(instance_is_alive(dir, server.name));
}

static void names_that_nobody_can_have_are_dead(void **state)
{
	static const char *const names[] = { "",
		                             "..",
		                             "../servers",
		                             "0123456789abcde",
		                             "0123456789abcdeF",
		                             "0123456789abcdef0",
		                             "/etc/passwd/abcd" };
	AUTO_FD int dir = servers();

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		assert_false(instance_is_alive(dir, names[i]));
		instance_remove(dir, names[i]);
	}
}

/* Whoever looks does not stand in the way of others who look. */
static void two_that_look_at_once_both_see_a_dead_one(void **state)
{
	AUTO_FD int dir = servers();
	AUTO_FD int looker = -1;
	const char *name = "0123456789abcdef";

	(void)state;
	leave(dir, "0123456789abcdef.lock");
	looker = openat(dir, "0123456789abcdef.lock", O_RDONLY | O_CLOEXEC);
	assert_int_equal(flock(looker, LOCK_SH | LOCK_NB), 0);
	assert_false(instance_is_alive(dir, name));
}

static void when_in_doubt_it_is_alive(void **state)
{
	AUTO_FD int dir = servers();
	struct rlimit before, none;

	(void)state;
	leave(dir, "0123456789abcdef.lock");
	assert_int_equal(symlinkat("0123456789abcdef.lock", dir, "fedcba9876543210.lock"), 0);
	assert_true(instance_is_alive(dir, "fedcba9876543210"));
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = (struct rlimit){ .rlim_cur = 0, .rlim_max = before.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	assert_true(instance_is_alive(dir, "0123456789abcdef"));
	instance_remove_dead(dir);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_true(has(dir, "0123456789abcdef", ".lock"));
}

static void only_what_servers_leave_is_forgotten(void **state)
{
	static const char *const others[] = { "0123456789abcdef",
		                              "0123456789abcdef.lock.old",
		                              "0123456789abcde.lock",
		                              "readme",
		                              ".lock",
		                              "0123456789ABCDEF.lock" };
	AUTO_FD int dir = servers();

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		leave(dir, others[i]);
	leave(dir, "00000000000000aa.lock");
	leave(dir, "00000000000000bb.new");
	assert_int_equal(symlinkat("readme", dir, "00000000000000cc.lock"), 0);
	instance_remove_dead(dir);
	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		assert_true(has(dir, others[i], ""));
	assert_false(has(dir, "00000000000000aa", ".lock"));
	assert_false(has(dir, "00000000000000bb", ".new"));
	assert_true(has(dir, "00000000000000cc", ".lock"));
}

static void a_missing_directory_is_an_error(void **state)
{
	AUTO_FD int dir = servers();
	char name[INSTANCE_LEN + 1];
	struct error err;

	(void)state;
	assert_int_equal(rmdir("servers"), 0);
	CHECK_ERROR(instance_add(dir, name, &err), err, ERR_SYSTEM,
	            "cannot make a lock file among the servers': No such file or directory");
	instance_remove_dead(dir);
}

/* One process forgets the dead as fast as it can while others begin: whoever has begun is alive,
 * to everybody, until its end. */
static void forgetting_never_hits_one_that_is_beginning(void **state)
{
	AUTO_FD int dir = servers();
	pid_t forgetters[2];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(forgetters); i++) {
		forgetters[i] = fork();
		assert_true(forgetters[i] >= 0);
		if (forgetters[i] == 0) {
			(void)alarm(60);
			for (;;)
				instance_remove_dead(dir);
		}
	}
	for (int i = 0; i < 500; i++) {
		char name[INSTANCE_LEN + 1];
		AUTO_FD int fd = begin(dir, name);
		bool alive = instance_is_alive(dir, name);

		(void)sched_yield();
		if (!alive || !instance_is_alive(dir, name) || fd < 0) {
			for (size_t k = 0; k < ARRAY_LEN(forgetters); k++)
				(void)kill(forgetters[k], SIGKILL);
			fail_msg("round %d: begun and yet dead", i);
		}
		if (i % 2 == 0)
			instance_remove(dir, name);
	}
	for (size_t i = 0; i < ARRAY_LEN(forgetters); i++) {
		assert_int_equal(kill(forgetters[i], SIGKILL), 0);
		assert_int_equal(waitpid(forgetters[i], NULL, 0), forgetters[i]);
	}
}

#define PLACED(name) cmocka_unit_test_setup_teardown(name, place_make, place_remove)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		PLACED(a_server_is_alive_until_its_file_is_closed),
		PLACED(a_server_that_ends_in_order_leaves_nothing),
		PLACED(a_killed_server_is_dead),
		PLACED(a_server_lives_as_long_as_its_spawner),
		PLACED(names_that_nobody_can_have_are_dead),
		PLACED(two_that_look_at_once_both_see_a_dead_one),
		PLACED(when_in_doubt_it_is_alive),
		PLACED(only_what_servers_leave_is_forgotten),
		PLACED(a_missing_directory_is_an_error),
		PLACED(forgetting_never_hits_one_that_is_beginning),
	};

	return RUN_TESTS("instances", tests);
}
