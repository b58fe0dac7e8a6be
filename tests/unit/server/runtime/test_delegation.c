/* Requesting a cgroup: the cgroup file system, /proc/self/cgroup and busctl are faked, in the mount
 * namespace of a child that runs as an ordinary user. */
#include "server/runtime/delegation.h"

#include <sched.h>
#include <sys/mount.h>

#include "unit/scratch.h"

enum { USER = 65534, REFUSED = 10, GIVEN = 11, NOT_HERE = 77 };
#define TREE "/sys/fs/cgroup"

static void write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "we");

	if (file == NULL || fputs(text, file) < 0 || fclose(file) != 0 || chmod(path, 0777) < 0)
		_exit(NOT_HERE);
}

/* Two groups: /old, where the child is, belongs to root; /new is writable. */
static void fake_cgroups(void)
{
	char path[100];

	if (chmod(scratch_path, 0777) < 0 || unshare(CLONE_NEWNS) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("none", TREE, "tmpfs", 0, "mode=755") < 0 || mkdir(TREE "/old", 0755) < 0 ||
	    mkdir(TREE "/new", 0755) < 0)
		_exit(NOT_HERE);
	write_file(TREE "/cgroup.controllers", "memory pids\n");
	write_file(TREE "/new/cgroup.procs", "");
	write_file(TREE "/new/cgroup.subtree_control", "");
	write_file("group", "0::/old\n");
	(void)snprintf(path, sizeof path, "/proc/%d/cgroup", getpid());
	if (mount("group", path, NULL, MS_BIND, NULL) < 0)
		_exit(NOT_HERE);
}

static void become_user(void)
{
	if (setresgid(USER, USER, USER) < 0 || setresuid(USER, USER, USER) < 0)
		_exit(NOT_HERE);
}

/* Requests a cgroup. The fake busctl records its arguments and runs `script`; `bus` is the address
 * of the session bus, or NULL. */
static void check_request(const char *script, const char *bus, bool given)
{
	char busctl[100], text[300];
	int ended = -1;
	pid_t child;

	(void)snprintf(busctl, sizeof busctl, "%s/busctl", scratch_path);
	(void)snprintf(text, sizeof text, "#!/bin/sh\necho \"$*\" >%s/asked\n%s\n", scratch_path,
	               script);
	child = fork();
	if (child == 0) {
		fake_cgroups();
		write_file(busctl, text);
		(void)unsetenv("XDG_RUNTIME_DIR");
		(void)unsetenv("DBUS_SESSION_BUS_ADDRESS");
		if (bus != NULL)
			(void)setenv("DBUS_SESSION_BUS_ADDRESS", bus, 1);
		become_user();
		_exit(delegation_request(busctl) ? GIVEN : REFUSED);
	}
	assert_int_equal(waitpid(child, &ended, 0), child);
	assert_true(WIFEXITED(ended));
	if (WEXITSTATUS(ended) == NOT_HERE)
		SKIP_TEST("cgroups cannot be faked here");
	assert_int_equal(WEXITSTATUS(ended), given ? GIVEN : REFUSED);
	if (bus == NULL) {
		assert_int_equal(access("asked", F_OK), -1);
		return;
	}
	(void)snprintf(text, sizeof text,
	               "--user call org.freedesktop.systemd1 /org/freedesktop/systemd1 "
	               "org.freedesktop.systemd1.Manager StartTransientUnit ssa(sv)a(sa(sv)) "
	               "belljar-%d.scope fail 3 PIDs au 1 %d Delegate b true CollectMode s "
	               "inactive-or-failed 0\n",
	               child, child);
	assert_string_equal(scratch_read("asked"), text);
}

static void session_delegates_a_cgroup(void **state)
{
	char script[120];

	(void)snprintf(script, sizeof script, "(sleep 0.05; echo 0::/new >%s/group) &",
	               scratch_path);
	check_request(script, "unix:path=/none", true);
}

static void without_a_session_nothing_is_requested(void **state)
{
	check_request("exit 0", NULL, false);
}

static void refusal_of_the_session_is_accepted(void **state)
{
	char script[120];

	(void)snprintf(script, sizeof script, "echo 0::/new >%s/group; exit 1", scratch_path);
	check_request(script, "unix:path=/none", false);
	check_request("kill -9 $$", "unix:path=/none", false);
}

static void reply_without_a_move_is_a_failure(void **state)
{
	check_request("exit 0", "unix:path=/none", false);
}

static void root_requests_nothing(void **state)
{
	if (geteuid() != 0)
		SKIP_TEST("we are not root");
	scratch_write("busctl", "#!/bin/sh\ntouch asked\n");
	assert_int_equal(chmod("busctl", 0755), 0);
	assert_int_equal(setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/none", 1), 0);
	assert_false(delegation_request("./busctl"));
	assert_int_equal(unsetenv("DBUS_SESSION_BUS_ADDRESS"), 0);
	assert_int_equal(access("asked", F_OK), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_SCRATCH(session_delegates_a_cgroup),
		IN_SCRATCH(without_a_session_nothing_is_requested),
		IN_SCRATCH(refusal_of_the_session_is_accepted),
		IN_SCRATCH(reply_without_a_move_is_a_failure),
		IN_SCRATCH(root_requests_nothing),
	};

	return RUN_TESTS("server/runtime/delegation", tests);
}
