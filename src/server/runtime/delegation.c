#include "server/runtime/delegation.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/attr.h"
#include "base/clock.h"

#define CGROUP_ROOT "/sys/fs/cgroup"

enum { CALL_SECONDS = 2, MOVE_TIMEOUT_MS = 500, POLL_NS = 2000000 };

bool delegation_find_group(const char *root, char out[PATH_MAX])
{
	FILE *file = fopen("/proc/self/cgroup", "re");
	char line[PATH_MAX];
	bool found = false;

	while (!found && file != NULL && fgets(line, sizeof line, file) != NULL) {
		line[strcspn(line, "\n")] = '\0';
		found = strncmp(line, "0::/", 4) == 0;
	}
	if (file != NULL)
		(void)fclose(file);
	return found && snprintf(out, PATH_MAX, "%s%s", root, line + 3) < PATH_MAX;
}

/* Whether the cgroup is already delegated: this user may create groups below it. */
static bool is_delegated(const char *group)
{
	static const char *const files[] = { "cgroup.procs", "cgroup.subtree_control" };
	char path[PATH_MAX + 32];

	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		(void)snprintf(path, sizeof path, "%s/%s", group, files[i]);
		if (access(path, W_OK) < 0)
			return false;
	}
	return true;
}

static bool has_session(void)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	char path[PATH_MAX];

	if (getenv("DBUS_SESSION_BUS_ADDRESS") != NULL)
		return true;
	if (runtime == NULL || snprintf(path, sizeof path, "%s/bus", runtime) >= (int)sizeof path)
		return false;
	return access(path, F_OK) == 0;
}

/* Runs in a child. busctl is used so that belljar needs no D-Bus library. */
static NORETURN void call_systemd(const char *busctl, pid_t self)
{
	char unit[64], pid[16];
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	(void)snprintf(unit, sizeof unit, "belljar-%d.scope", self);
	(void)snprintf(pid, sizeof pid, "%d", self);
	for (int fd = 0; null >= 0 && fd <= STDERR_FILENO; fd++)
		(void)dup2(null, fd); /* stdin and stdout carry the MCP protocol */
	(void)alarm(CALL_SECONDS);
	(void)execl(busctl, "busctl", "--user", "call", "org.freedesktop.systemd1",
	            "/org/freedesktop/systemd1", "org.freedesktop.systemd1.Manager",
	            "StartTransientUnit", "ssa(sv)a(sa(sv))", unit, "fail", "3", "PIDs", "au", "1",
	            pid, "Delegate", "b", "true", "CollectMode", "s", "inactive-or-failed", "0",
	            (char *)NULL);
	_exit(127);
}

/* systemd replies before it has moved the process: wait until the cgroup changes. */
static bool wait_for_move(const char *before)
{
	uint64_t until = clock_now_ms() + MOVE_TIMEOUT_MS;
	char now[PATH_MAX];

	while (clock_now_ms() < until) {
		if (delegation_find_group(CGROUP_ROOT, now) && strcmp(now, before) != 0 &&
		    is_delegated(now))
			return true;
		(void)nanosleep(&(struct timespec){ .tv_nsec = POLL_NS }, NULL);
	}
	return false;
}

bool delegation_request(const char *busctl)
{
	const char *program = busctl != NULL ? busctl : "/usr/bin/busctl";
	char group[PATH_MAX];
	int status = -1;
	pid_t self = getpid(), pid;

	if (geteuid() == 0 || access(CGROUP_ROOT "/cgroup.controllers", F_OK) < 0 ||
	    !delegation_find_group(CGROUP_ROOT, group) || is_delegated(group) || !has_session() ||
	    access(program, X_OK) < 0)
		return false;
	pid = fork();
	if (pid == 0)
		call_systemd(program, self);
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
		return false;
	return wait_for_move(group);
}
