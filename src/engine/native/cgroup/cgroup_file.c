#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "engine/native/cgroup/internal.h"

int cgroup_open_dir(int at, const char *path)
{
	/* Cgroup file systems have no links: a link means that the path is not what it seems. */
	return openat(at, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

int cgroup_create_dir(int at, const char *name)
{
	if (mkdirat(at, name, 0755) < 0 && errno != EEXIST)
		return -1;
	return cgroup_open_dir(at, name);
}

bool cgroup_remove_dir(int at, const char *name)
{
	return unlinkat(at, name, AT_REMOVEDIR) == 0 || errno == ENOENT;
}

bool cgroup_has_file(int dir, const char *name)
{
	return faccessat(dir, name, F_OK, 0) == 0;
}

bool cgroup_can_write(int dir, const char *name)
{
	return faccessat(dir, name, W_OK, AT_EACCESS) == 0;
}

const char *cgroup_read(int dir, const char *name, char *out, size_t size)
{
	AUTO_FD int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, out, size - 1) : -1;

	out[n > 0 ? n : 0] = '\0';
	return out;
}

int cgroup_write(int dir, const char *name, const char *text)
{
	AUTO_FD int fd = openat(dir, name, O_WRONLY | O_CLOEXEC);
	size_t len = strlen(text);
	ssize_t n;

	if (fd < 0)
		return -1;
	/* Retrying a partial write would make the kernel parse the rest as a new value. */
	n = write(fd, text, len);
	if (n >= 0 && (size_t)n != len)
		errno = EIO;
	return n >= 0 && (size_t)n == len ? 0 : -1;
}

int cgroup_write_number(int dir, const char *name, uint64_t number)
{
	char text[24];

	(void)snprintf(text, sizeof text, "%" PRIu64, number);
	return cgroup_write(dir, name, text);
}

void cgroup_reason_set(struct cgroup_reason *why, const char *fmt, ...)
{
	va_list args;

	if (why->text[0] != '\0')
		return;
	va_start(args, fmt);
	(void)vsnprintf(why->text, sizeof why->text, fmt, args);
	va_end(args);
}

/* --- the processes of a cgroup --- */

bool cgroup_each_pid(int dir, cgroup_pid_fn fn, void *ctx)
{
	AUTO_FD int fd = openat(dir, "cgroup.procs", O_RDONLY | O_CLOEXEC);
	char chunk[4096];
	pid_t pid = 0;
	bool digits = false;
	ssize_t n;

	while (fd >= 0 && (n = read(fd, chunk, sizeof chunk)) > 0)
		for (ssize_t i = 0; i < n; i++) {
			/* A number may be cut by the end of a chunk; pid keeps its first digits. */
			if (chunk[i] >= '0' && chunk[i] <= '9' && pid < 100000000) {
				pid = pid * 10 + (chunk[i] - '0');
				digits = true;
			} else {
				if (digits && !fn(ctx, pid))
					return false;
				pid = 0;
				digits = false;
			}
		}
	return true;
}

/* kill(0) would signal our own process group. The spawner and the server are never in a sandbox's
 * cgroup; the check keeps a mistake from killing them. */
static bool kill_process(void *ctx, pid_t pid)
{
	bool *any = ctx;

	if (pid > 1 && pid != getpid() && pid != getppid() && kill(pid, SIGKILL) == 0)
		*any = true;
	return true;
}

void cgroup_dir_freeze(int dir, bool frozen)
{
	if (cgroup_write(dir, "cgroup.freeze", frozen ? "1" : "0") < 0)
		(void)cgroup_write(dir, "freezer.state", frozen ? "FROZEN" : "THAWED");
}

static void sleep_1ms(void)
{
	(void)nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
}

/* Freezing is finished: "FROZEN" instead of "FREEZING" in version 1, an event in version 2. */
static bool is_frozen(int dir)
{
	char text[128];

	if (strncmp(cgroup_read(dir, "freezer.state", text, sizeof text), "FROZEN", 6) == 0)
		return true;
	return strstr(cgroup_read(dir, "cgroup.events", text, sizeof text), "frozen 1") != NULL;
}

/* A fork bomb can outrun a loop over cgroup.procs: a child forked after the list was read is not in
 * it. So freeze first, kill what is listed, then thaw: a task frozen by version 1 handles the
 * pending SIGKILL only when it is thawed. Freezing is not immediate (a task in an uninterruptible
 * system call enters the freezer when the call returns), so the rounds are repeated until the list
 * is empty. */
void cgroup_dir_kill_each(int dir)
{
	/* Bounded, because the spawner serves other sandboxes too. The sandbox's PID 1 is killed as
	 * well, whereupon the kernel kills every process of its pid namespace. */
	enum { ROUNDS = 8, NAPS = 20 };
	bool freezes = cgroup_has_file(dir, "cgroup.freeze") ||
	               cgroup_has_file(dir, "freezer.state");

	for (int round = 0; round < ROUNDS; round++) {
		bool any = false;

		cgroup_dir_freeze(dir, true);
		for (int i = 0; freezes && i < NAPS && !is_frozen(dir); i++)
			sleep_1ms();
		(void)cgroup_each_pid(dir, kill_process, &any);
		cgroup_dir_freeze(dir, false);
		if (!any)
			return;
	}
}

void cgroup_dir_kill(int dir)
{
	if (cgroup_write(dir, "cgroup.kill", "1") < 0)
		cgroup_dir_kill_each(dir);
	else
		/* Version 2 kills frozen tasks as well. Thaw all the same: no task that is about to
		 * exit shall wait for a freezer. */
		cgroup_dir_freeze(dir, false);
}
