#include <dirent.h>
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

/* --- reading and writing ----------------------------------------------------------- */

int cgroup_dir(int at, const char *path)
{
	return openat(at, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

int cgroup_make_dir(int at, const char *name)
{
	if (mkdirat(at, name, 0755) < 0 && errno != EEXIST)
		return -1;
	return cgroup_dir(at, name);
}

bool cgroup_drop_dir(int at, const char *name)
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

void cgroup_reason(struct cgroup_reason *why, const char *fmt, ...)
{
	va_list args;

	if (why->text[0] != '\0')
		return;
	va_start(args, fmt);
	(void)vsnprintf(why->text, sizeof why->text, fmt, args);
	va_end(args);
}

/* --- processes --------------------------------------------------------------------- */

bool cgroup_each_pid(int dir, cgroup_pid_fn fn, void *ctx)
{
	AUTO_FD int fd = openat(dir, "cgroup.procs", O_RDONLY | O_CLOEXEC);
	char chunk[4096];
	pid_t pid = 0;
	bool digits = false;
	ssize_t n;

	while (fd >= 0 && (n = read(fd, chunk, sizeof chunk)) > 0)
		for (ssize_t i = 0; i < n; i++) {
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

/* Neither us nor our parent ever is in a sandbox's group; 0 would be all of our own. */
static bool kill_one(void *ctx, pid_t pid)
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

static void nap(void)
{
	(void)nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
}

static bool is_frozen(int dir)
{
	char text[128];

	if (strncmp(cgroup_read(dir, "freezer.state", text, sizeof text), "FROZEN", 6) == 0)
		return true;
	return strstr(cgroup_read(dir, "cgroup.events", text, sizeof text), "frozen 1") != NULL;
}

/* Without cgroup.kill, which came with Linux 5.14: frozen, so that nobody forks between being
 * listed and being killed. A frozen process dies when it thaws. */
void cgroup_dir_kill_each(int dir)
{
	enum { ROUNDS = 8, NAPS = 20 };
	bool freezes = cgroup_has_file(dir, "cgroup.freeze") ||
	               cgroup_has_file(dir, "freezer.state");

	for (int round = 0; round < ROUNDS; round++) {
		bool any = false;

		cgroup_dir_freeze(dir, true);
		for (int i = 0; freezes && i < NAPS && !is_frozen(dir); i++)
			nap();
		(void)cgroup_each_pid(dir, kill_one, &any);
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
		cgroup_dir_freeze(dir, false);
}
