/* Asking for a group: the kernel's tree, our place in it and busctl are made up, in a mount
 * namespace of a child that is an ordinary user. */
#include "server/delegation.h"

#include <sched.h>
#include <sys/mount.h>

#include "unit/scratch.h"

enum { USER = 65534, REFUSED = 10, GIVEN = 11, NOT_HERE = 77 };
#define TREE "/sys/fs/cgroup"

static void put(const char *path, const char *text)
{
	FILE *file = fopen(path, "we");

	if (file == NULL || fputs(text, file) < 0 || fclose(file) != 0 || chmod(path, 0777) < 0)
		_exit(NOT_HERE);
}

/* Groups /old, which is not ours, and /new, which is; we are in /old. */
static void make_world(void)
{
	char path[100];

	if (chmod(scratch_path, 0777) < 0 || unshare(CLONE_NEWNS) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("none", TREE, "tmpfs", 0, "mode=755") < 0 || mkdir(TREE "/old", 0755) < 0 ||
	    mkdir(TREE "/new", 0755) < 0)
		_exit(NOT_HERE);
	put(TREE "/cgroup.controllers", "memory pids\n");
	put(TREE "/new/cgroup.procs", "");
	put(TREE "/new/cgroup.subtree_control", "");
	put("group", "0::/old\n");
	(void)snprintf(path, sizeof path, "/proc/%d/cgroup", getpid());
	if (mount("group", path, NULL, MS_BIND, NULL) < 0)
		_exit(NOT_HERE);
}

static void be_user(void)
{
	if (setresgid(USER, USER, USER) < 0 || setresuid(USER, USER, USER) < 0)
		_exit(NOT_HERE);
}

/* What busctl does, besides noting what it was told; and what is in the environment. */
static void check(const char *script, const char *bus, bool given)
{
	char busctl[100], text[300];
	int ended = -1;
	pid_t child;

	(void)snprintf(busctl, sizeof busctl, "%s/busctl", scratch_path);
	(void)snprintf(text, sizeof text, "#!/bin/sh\necho \"$*\" >%s/asked\n%s\n", scratch_path,
	               script);
	child = fork();
	if (child == 0) {
		make_world();
		put(busctl, text);
		(void)unsetenv("XDG_RUNTIME_DIR");
		(void)unsetenv("DBUS_SESSION_BUS_ADDRESS");
		if (bus != NULL)
			(void)setenv("DBUS_SESSION_BUS_ADDRESS", bus, 1);
		be_user();
		_exit(delegation_ask(busctl) ? GIVEN : REFUSED);
	}
	assert_int_equal(waitpid(child, &ended, 0), child);
	assert_true(WIFEXITED(ended));
	if (WEXITSTATUS(ended) == NOT_HERE)
		SKIP_TEST("no tree of groups can be made up here");
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

static void a_session_gives_a_group(void **state)
{
	char script[120];

	(void)state;
	(void)snprintf(script, sizeof script, "(sleep 0.05; echo 0::/new >%s/group) &",
	               scratch_path);
	check(script, "unix:path=/none", true);
}

static void without_a_session_nobody_is_asked(void **state)
{
	(void)state;
	check("exit 0", NULL, false);
}

static void a_session_that_refuses_is_no_harm(void **state)
{
	char script[120];

	(void)state;
	(void)snprintf(script, sizeof script, "echo 0::/new >%s/group; exit 1", scratch_path);
	check(script, "unix:path=/none", false);
	check("kill -9 $$", "unix:path=/none", false);
}

static void an_answer_without_a_group_is_not_believed(void **state)
{
	(void)state;
	check("exit 0", "unix:path=/none", false);
}

static void root_asks_nobody(void **state)
{
	(void)state;
	if (geteuid() != 0)
		SKIP_TEST("we are not root");
	scratch_write("busctl", "#!/bin/sh\ntouch asked\n");
	assert_int_equal(chmod("busctl", 0755), 0);
	assert_int_equal(setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/none", 1), 0);
	assert_false(delegation_ask("./busctl"));
	assert_int_equal(unsetenv("DBUS_SESSION_BUS_ADDRESS"), 0);
	assert_int_equal(access("asked", F_OK), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_SCRATCH(a_session_gives_a_group),
		IN_SCRATCH(without_a_session_nobody_is_asked),
		IN_SCRATCH(a_session_that_refuses_is_no_harm),
		IN_SCRATCH(an_answer_without_a_group_is_not_believed),
		IN_SCRATCH(root_asks_nobody),
	};

	return RUN_TESTS("server/delegation", tests);
}
