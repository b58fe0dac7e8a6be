#include "engine/native/janitor.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/remove_tree.h"

/* Another server may have it. Gone already is as good as removed. */
static int remove_unless_awake(int parent, const char *name, struct error *err)
{
	uint64_t count;
	AUTO_FD int dir = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (dir < 0 && errno == ENOENT)
		return 0;
	if (dir >= 0 && flock(dir, LOCK_EX | LOCK_NB) < 0)
		return error_set(err, ERR_INVALID, "sandbox %s is awake in another server", name);
	return remove_tree(parent, name, view_of(name), &count, err);
}

/* Sandboxes must not have to wait for us because we hold their ends of something. */
static void keep_two(int *parent, int *out)
{
	enum { FIRST = 3, SECOND, REST };
	int high_parent = fcntl(*parent, F_DUPFD_CLOEXEC, REST);
	int high_out = fcntl(*out, F_DUPFD_CLOEXEC, REST);

	*parent = dup2(high_parent, FIRST);
	*out = dup2(high_out, SECOND);
	(void)syscall(SYS_close_range, (unsigned)REST, ~0U, 0);
}

static NORETURN void work(enum janitor_kind kind, int parent, const char *name,
                          const struct disk_use *enough, int out)
{
	struct janitor_result result = { 0 };
	int r;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	keep_two(&parent, &out);
	(void)setpriority(PRIO_PROCESS, 0, 5);
	if (kind == JANITOR_REMOVE)
		r = remove_unless_awake(parent, name, &result.err);
	else
		r = disk_scan(parent, name, enough, &result.use, &result.err);
	result.failed = r < 0;
	(void)!write(out, &result, sizeof result);
	_exit(0);
}

int janitor_start(struct janitor *janitor, enum janitor_kind kind, uint64_t number, int parent,
                  const char *name, const struct disk_use *enough, struct error *err)
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) < 0)
		return error_sys(err, "pipe");
	*janitor = (struct janitor){
		.kind = kind, .number = number, .pid = fork(), .result = fds[0]
	};
	if (janitor->pid == 0)
		work(kind, parent, name, enough, fds[1]);
	(void)close(fds[1]);
	if (janitor->pid > 0)
		return 0;
	(void)error_sys(err, "fork");
	(void)close(fds[0]);
	janitor->pid = 0;
	return -1;
}

struct janitor_result janitor_end(struct janitor *janitor)
{
	struct janitor_result result;

	if (read(janitor->result, &result, sizeof result) != (ssize_t)sizeof result) {
		result = (struct janitor_result){ .failed = true };
		(void)error_set(&result.err, ERR_SYSTEM, "the process that works on files died");
	}
	(void)close(janitor->result);
	janitor->pid = 0;
	return result;
}
