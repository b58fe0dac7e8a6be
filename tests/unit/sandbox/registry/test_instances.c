#include "sandbox/registry/instances.h"

#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <sys/file.h>

#include "base/cleanup.h"
#include "unit/scratch.h"

static int open_servers(void)
{
	int dir;

	(void)mkdir("servers", 0700);
	dir = open("servers", O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(dir >= 0);
	return dir;
}

static int add_instance(int dir, char name[INSTANCE_LEN + 1])
{
	struct error err = { .msg = "" };
	int fd = instance_add(dir, name, &err);

	if (fd < 0)
		fail_msg("no instance: %s", err.msg);
	return fd;
}

static bool file_exists(int dir, const char *name, const char *ending)
{
	char file[40];

	(void)snprintf(file, sizeof file, "%s%s", name, ending);
	return faccessat(dir, file, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static void create_file(int dir, const char *file)
{
	AUTO_FD int fd = openat(dir, file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
}

/* A process that holds an instance. With a spawner, the server itself is already killed, and `pid`
 * is its child, which shares the lock. */
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

		(void)alarm(60); /* should the test fail before it kills this process */
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

		assert_int_equal(read(said[0], &spawner, sizeof spawner), sizeof spawner);
		assert_int_equal(kill(server.pid, SIGKILL), 0);
		assert_int_equal(waitpid(server.pid, NULL, 0), server.pid);
		server.pid = spawner;
	}
	(void)close(said[0]);
	(void)close(said[1]);
	return server;
}

static void server_is_alive_until_its_lock_is_closed(void **state)
{
	AUTO_FD int dir = open_servers();
	char name[INSTANCE_LEN + 1];
	int fd = add_instance(dir, name);
	struct stat st;

	assert_int_equal(strlen(name), INSTANCE_LEN);
	assert_int_equal(strspn(name, "0123456789abcdef"), INSTANCE_LEN);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0644);
	assert_true(file_exists(dir, name, ".lock"));
	assert_false(file_exists(dir, name, ".new"));
	for (int i = 0; i < 3; i++)
		assert_true(instance_is_alive(dir, name));
	instance_remove_dead(dir);
	assert_true(file_exists(dir, name, ".lock"));
	(void)close(fd);
	for (int i = 0; i < 3; i++)
		assert_false(instance_is_alive(dir, name));
	assert_true(file_exists(dir, name, ".lock"));
	instance_remove_dead(dir);
	assert_false(file_exists(dir, name, ".lock"));
	assert_false(instance_is_alive(dir, name));
}

static void removed_instance_leaves_no_file(void **state)
{
	AUTO_FD int dir = open_servers();
	char name[INSTANCE_LEN + 1];
	AUTO_FD int fd = add_instance(dir, name);

	(void)fd;
	instance_remove(dir, name);
	assert_false(file_exists(dir, name, ".lock"));
	assert_false(instance_is_alive(dir, name));
}

static void killed_server_is_dead(void **state)
{
	AUTO_FD int dir = open_servers();
	struct server server = start_server(dir, false);

	assert_true(instance_is_alive(dir, server.name));
	instance_remove_dead(dir);
	assert_true(instance_is_alive(dir, server.name));
	assert_int_equal(kill(server.pid, SIGKILL), 0);
	assert_int_equal(waitpid(server.pid, NULL, 0), server.pid);
	assert_false(instance_is_alive(dir, server.name));
	instance_remove_dead(dir);
	assert_false(file_exists(dir, server.name, ".lock"));
}

static void server_is_alive_while_its_spawner_runs(void **state)
{
	AUTO_FD int dir = open_servers();
	struct server server = start_server(dir, true);

	assert_true(instance_is_alive(dir, server.name));
	instance_remove_dead(dir);
	assert_true(file_exists(dir, server.name, ".lock"));
	assert_int_equal(kill(server.pid, SIGKILL), 0);
	for (int i = 0; i < 10000 && instance_is_alive(dir, server.name); i++)
		(void)usleep(1000);
	assert_false(instance_is_alive(dir, server.name));
}

static void malformed_name_is_dead(void **state)
{
	static const char *const names[] = { "",
		                             "..",
		                             "../servers",
		                             "0123456789abcde",
		                             "0123456789abcdeF",
		                             "0123456789abcdef0",
		                             "/etc/passwd/abcd" };
	AUTO_FD int dir = open_servers();

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		assert_false(instance_is_alive(dir, names[i]));
		instance_remove(dir, names[i]);
	}
}

static void concurrent_checks_both_see_a_dead_server(void **state)
{
	AUTO_FD int dir = open_servers();
	AUTO_FD int checker = -1;
	const char *name = "0123456789abcdef";

	create_file(dir, "0123456789abcdef.lock");
	checker = openat(dir, "0123456789abcdef.lock", O_RDONLY | O_CLOEXEC);
	assert_int_equal(flock(checker, LOCK_SH | LOCK_NB), 0);
	assert_false(instance_is_alive(dir, name));
}

static void unreadable_lock_counts_as_alive(void **state)
{
	AUTO_FD int dir = open_servers();
	struct rlimit before, none;

	create_file(dir, "0123456789abcdef.lock");
	assert_int_equal(symlinkat("0123456789abcdef.lock", dir, "fedcba9876543210.lock"), 0);
	assert_true(instance_is_alive(dir, "fedcba9876543210"));
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = (struct rlimit){ .rlim_cur = 0, .rlim_max = before.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	assert_true(instance_is_alive(dir, "0123456789abcdef"));
	instance_remove_dead(dir);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_true(file_exists(dir, "0123456789abcdef", ".lock"));
}

static void only_lock_files_of_dead_servers_are_removed(void **state)
{
	static const char *const others[] = { "0123456789abcdef",
		                              "0123456789abcdef.lock.old",
		                              "0123456789abcde.lock",
		                              "readme",
		                              ".lock",
		                              "0123456789ABCDEF.lock" };
	AUTO_FD int dir = open_servers();

	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		create_file(dir, others[i]);
	create_file(dir, "00000000000000aa.lock");
	create_file(dir, "00000000000000bb.new");
	assert_int_equal(symlinkat("readme", dir, "00000000000000cc.lock"), 0);
	instance_remove_dead(dir);
	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		assert_true(file_exists(dir, others[i], ""));
	assert_false(file_exists(dir, "00000000000000aa", ".lock"));
	assert_false(file_exists(dir, "00000000000000bb", ".new"));
	assert_true(file_exists(dir, "00000000000000cc", ".lock"));
}

/* Whether a process can connect to the server: accept() is not needed for that. */
static bool can_connect(int dir, const char *name)
{
	struct error err;
	AUTO_FD int fd = instance_connect(dir, name, &err);

	return fd >= 0;
}

static void socket_lives_as_long_as_its_server(void **state)
{
	AUTO_FD int dir = open_servers();
	char name[INSTANCE_LEN + 1], before[PATH_MAX], after[PATH_MAX];
	char file[INSTANCE_LEN + sizeof ".sock"];
	struct stat st;
	struct error err;
	int lock = instance_add(dir, name, &err), listener;

	assert_true(lock >= 0);
	assert_false(can_connect(dir, name));
	assert_non_null(getcwd(before, sizeof before));
	listener = instance_listen(dir, name, &err);
	assert_true(listener >= 0);
	assert_true(can_connect(dir, name));
	assert_non_null(getcwd(after, sizeof after));
	assert_string_equal(before, after);
	assert_true(file_exists(dir, name, ".sock"));
	(void)snprintf(file, sizeof file, "%s.sock", name);
	assert_int_equal(fstatat(dir, file, &st, 0), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	instance_remove_dead(dir); /* the server lives */
	assert_true(can_connect(dir, name));
	(void)close(listener);
	(void)close(lock); /* as if it was killed */
	assert_false(can_connect(dir, name));
	instance_remove_dead(dir);
	assert_false(file_exists(dir, name, ".sock"));
}

static void only_names_of_servers_are_connected_to(void **state)
{
	static const char *const names[] = { "", "../db", "0123456789abcdeF", "0123456789abcdef0",
		                             "0123456789abcde/" };
	AUTO_FD int dir = open_servers();
	struct error err;

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		CHECK_ERROR(instance_connect(dir, names[i], &err), err, ERR_INVALID,
		            "not the name of a server");
}

static void missing_directory_is_an_error(void **state)
{
	AUTO_FD int dir = open_servers();
	char name[INSTANCE_LEN + 1];
	struct error err;

	assert_int_equal(rmdir("servers"), 0);
	CHECK_ERROR(instance_add(dir, name, &err), err, ERR_SYSTEM,
	            "cannot create a lock file in servers/: No such file or directory");
	instance_remove_dead(dir);
}

/* Two processes remove dead lock files as fast as they can while servers start: a server that has
 * started is alive until its end. */
static void starting_server_is_never_removed(void **state)
{
	AUTO_FD int dir = open_servers();
	pid_t removers[2];

	for (size_t i = 0; i < ARRAY_LEN(removers); i++) {
		removers[i] = fork();
		assert_true(removers[i] >= 0);
		if (removers[i] == 0) {
			(void)alarm(60);
			for (;;)
				instance_remove_dead(dir);
		}
	}
	for (int i = 0; i < 500; i++) {
		char name[INSTANCE_LEN + 1];
		AUTO_FD int fd = add_instance(dir, name);
		bool alive = instance_is_alive(dir, name);

		(void)sched_yield();
		if (!alive || !instance_is_alive(dir, name) || fd < 0) {
			for (size_t k = 0; k < ARRAY_LEN(removers); k++)
				(void)kill(removers[k], SIGKILL);
			fail_msg("round %d: started and yet dead", i);
		}
		if (i % 2 == 0)
			instance_remove(dir, name);
	}
	for (size_t i = 0; i < ARRAY_LEN(removers); i++) {
		assert_int_equal(kill(removers[i], SIGKILL), 0);
		assert_int_equal(waitpid(removers[i], NULL, 0), removers[i]);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		IN_SCRATCH(server_is_alive_until_its_lock_is_closed),
		IN_SCRATCH(removed_instance_leaves_no_file),
		IN_SCRATCH(killed_server_is_dead),
		IN_SCRATCH(server_is_alive_while_its_spawner_runs),
		IN_SCRATCH(malformed_name_is_dead),
		IN_SCRATCH(concurrent_checks_both_see_a_dead_server),
		IN_SCRATCH(unreadable_lock_counts_as_alive),
		IN_SCRATCH(only_lock_files_of_dead_servers_are_removed),
		IN_SCRATCH(socket_lives_as_long_as_its_server),
		IN_SCRATCH(only_names_of_servers_are_connected_to),
		IN_SCRATCH(missing_directory_is_an_error),
		IN_SCRATCH(starting_server_is_never_removed),
	};

	return RUN_TESTS("instances", tests);
}
