#include "engine/native/usage/janitor.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/tree/remove_tree.h"
#include "engine/native/usage/nameless.h"
#include "engine/native/usage/tree_memory.h"

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

/* Names, and files that have none any more. */
static int count(const struct janitor_job *job, struct disk_use *ret, struct error *err)
{
	struct nameless_where where = { .type = OVERLAYFS_SUPER_MAGIC };
	struct disk_use nameless;
	struct stat st;

	if (disk_scan(job->parent, job->name, &job->enough, ret, err) < 0)
		return -1;
	if (ret->bytes > job->enough.bytes || ret->inodes > job->enough.inodes)
		return 0;
	if (fstat(job->parent, &st) < 0)
		return error_sys(err, "look at the directory of sandboxes");
	where.below = st.st_dev;
	nameless = nameless_files(job->proc, job->pid, &where);
	ret->bytes += nameless.bytes;
	ret->inodes += nameless.inodes;
	return 0;
}

static NORETURN void work(struct janitor_job job, int out)
{
	struct janitor_result result = { 0 };
	/* A sandbox's pipe that stayed open here would not reach its end when the sandbox ends. */
	const int kept[] = { job.parent, out, job.kind == JANITOR_REMOVE ? -1 : job.proc };
	int r;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	r = fd_close_others(kept, ARRAY_LEN(kept), &result.err);
	(void)setpriority(PRIO_PROCESS, 0, 5);
	if (r == 0 && job.kind == JANITOR_REMOVE)
		r = remove_unless_awake(job.parent, job.name, &result.err);
	else if (r == 0 && job.kind == JANITOR_COUNT)
		r = count(&job, &result.use, &result.err);
	else if (r == 0)
		result.use.bytes = tree_memory(job.proc, job.pid);
	result.failed = r < 0;
	(void)!write(out, &result, sizeof result);
	_exit(0);
}

int janitor_start(struct janitor *janitor, const struct janitor_job *job, struct error *err)
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) < 0)
		return error_sys(err, "pipe");
	*janitor = (struct janitor){ .pid = fork(),
		                     .kind = job->kind,
		                     .number = job->number,
		                     .ids = job->ids,
		                     .result = fds[0] };
	if (janitor->pid == 0)
		work(*job, fds[1]);
	(void)close(fds[1]);
	(void)snprintf(janitor->name, sizeof janitor->name, "%s", job->name);
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
		(void)error_set(&result.err, ERR_SYSTEM, "the process that does the work died");
	}
	(void)close(janitor->result);
	janitor->pid = 0;
	result.kind = janitor->kind;
	return result;
}
