/* janitor.c - one process per piece of slow work. */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/tree/remove_tree.h"
#include "engine/native/usage/internal.h"
#include "wire/message.h"

enum {
	STOP_MS = 100, /* longest wait for writes that had begun when a sandbox became full */
	ROUND_MS = 10, /* between two measurings, which show whether such a write goes on */
	UNMOUNT_SECONDS = 60,
};

/* Another server that shares the state directory holds a lock on each directory it uses. A missing
 * directory counts as removed. */
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

/* The caller has closed its descriptor, so this close(2) unmounts the image, unless another new
 * process still has a copy. Until then the loop device holds a lock on the image
 * (root/disk_image.c). */
static void unmount_image(const struct janitor_job *job)
{
	AUTO_FD int file = -1;

	(void)close(job->image_fs);
	if (!job->is_kept)
		return;
	(void)alarm(UNMOUNT_SECONDS);
	file = openat(job->parent, "image", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (file >= 0)
		(void)flock(file, LOCK_EX);
}

/* Files with a name, then unlinked files that processes still hold: unlink(2) of a large open file
 * would otherwise hide it. */
static int measure_disk(const struct janitor_job *job, struct disk_usage *ret, struct error *err)
{
	struct unlinked_filter filter = { .type = OVERLAYFS_SUPER_MAGIC };
	struct disk_usage unlinked;
	struct stat st;

	if (disk_scan(job->parent, job->name, &job->limit, ret, err) < 0)
		return -1;
	if (ret->bytes > job->limit.bytes || ret->inodes > job->limit.inodes)
		return 0;
	if (fstat(job->parent, &st) < 0)
		return error_sys(err, "stat of the directory of sandboxes");
	filter.below = st.st_dev;
	unlinked = unlinked_files_usage(job->proc, job->pid, &filter);
	ret->bytes += unlinked.bytes;
	ret->inodes += unlinked.inodes;
	return 0;
}

/* The processes of the sandbox get EFBIG for every write to a file from now on; those that start
 * later, for writes beyond `first`. A write(2) that had begun goes on, and without a cgroup so does
 * a process that was forked while the others were listed: the sandbox must not be killed for these,
 * so *usage becomes what it uses when it grows no more. Writes of small files, which a `first` of 0
 * stops, do not go on for long. */
static int stop_writes(const struct janitor_job *job, uint64_t first, struct disk_usage *usage,
                       struct error *err)
{
	const struct file_limits limits = { .first = first };
	const struct timespec round = { .tv_nsec = ROUND_MS * 1000000L };
	uint64_t until = clock_now_ms() + STOP_MS, before;

	do {
		before = usage->bytes;
		process_tree_limit_files(job->proc, job->pid, &limits);
		(void)nanosleep(&round, NULL);
		if (measure_disk(job, usage, err) < 0)
			return -1;
	} while (first != 0 && usage->bytes > before && clock_now_ms() < until);
	return 0;
}

static enum disk_level find_level(const struct janitor_job *job, uint64_t bytes)
{
	if (bytes <= job->full_at)
		return DISK_HAS_ROOM;
	if (job->level == DISK_HAS_ROOM)
		return DISK_FULL;
	return bytes > job->closed_at ? DISK_CLOSED : job->level;
}

/* A program that has raised its limit loses it again with each measuring of a full sandbox. Code
 * that deletes files must be able to run there, so new programs may write small ones. */
static int limit_files(const struct janitor_job *job, struct janitor_result *result)
{
	struct file_limits limits = { .first = job->file_max, .others = job->file_max };
	uint64_t small;

	result->level = find_level(job, result->usage.bytes);
	small = result->level == DISK_FULL ? WIRE_FULL_FILE_MAX : 0;
	if (result->level > job->level)
		return stop_writes(job, small, &result->usage, &result->err);
	if (result->level != DISK_HAS_ROOM)
		limits = (struct file_limits){ .first = small, .kept = small };
	if (result->level != DISK_HAS_ROOM || job->level != DISK_HAS_ROOM || job->sets_files)
		process_tree_limit_files(job->proc, job->pid, &limits);
	return 0;
}

static uint64_t measure_memory(const struct janitor_job *job)
{
	bool all = job->kind == JANITOR_MEMORY;

	return (all ? process_tree_memory(job->proc, job->pid) : 0) +
	       socket_memory(job->proc, job->pid, all, job->limit.bytes);
}

static NORETURN void run_janitor(struct janitor_job job, int out)
{
	struct janitor_result result = { 0 };
	/* A sandbox's pipe that stayed open here would not reach its end when the sandbox ends. */
	const bool has_proc = job.kind != JANITOR_REMOVE && job.kind != JANITOR_UNMOUNT;
	const int kept[] = { job.parent, out, has_proc ? job.proc : -1,
		             job.kind == JANITOR_UNMOUNT ? job.image_fs : -1 };
	int r;

	/* Without the spawner no process reads the result or reaps this one. */
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	r = fd_close_others(kept, ARRAY_LEN(kept), &result.err);
	/* Sandboxes that are being started come first. A sandbox that fills the disk meanwhile may
	 * not: it could have as much processor time as this process. */
	if (job.kind != JANITOR_DISK)
		(void)setpriority(PRIO_PROCESS, 0, 5);
	if (r == 0 && job.kind == JANITOR_REMOVE)
		r = remove_unless_awake(job.parent, job.name, &result.err);
	else if (r == 0 && job.kind == JANITOR_UNMOUNT)
		unmount_image(&job);
	else if (r == 0 && job.kind == JANITOR_DISK) {
		r = measure_disk(&job, &result.usage, &result.err);
		if (r == 0)
			r = limit_files(&job, &result);
	} else if (r == 0) {
		if (job.kind != JANITOR_LOCKS)
			result.usage.bytes = measure_memory(&job);
		if (job.kind != JANITOR_SOCKETS)
			result.locks = process_tree_locks(job.proc, job.pid, SPEC_LOCKS_MAX);
	}
	result.failed = r < 0;
	(void)!write(out, &result, sizeof result);
	_exit(0);
}

/* fork(2) copies the job, so the caller's pointers need not outlive this call. */
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
		run_janitor(*job, fds[1]);
	(void)close(fds[1]);
	(void)snprintf(janitor->name, sizeof janitor->name, "%s", job->name);
	if (janitor->pid > 0)
		return 0;
	(void)error_sys(err, "fork");
	(void)close(fds[0]);
	janitor->pid = 0;
	return -1;
}

static uint64_t microseconds_of(const struct timeval *time)
{
	return (uint64_t)time->tv_sec * 1000000 + (uint64_t)time->tv_usec;
}

/* A missing result is a failure and never a usage of 0: a program that gets the janitor killed, by
 * using up the machine's memory, must not escape its limit. */
struct janitor_result janitor_finish(struct janitor *janitor, const struct rusage *used)
{
	struct janitor_result result;

	if (read(janitor->result, &result, sizeof result) != (ssize_t)sizeof result) {
		result = (struct janitor_result){ .failed = true };
		(void)error_set(&result.err, ERR_SYSTEM, "the janitor process was killed");
	}
	(void)close(janitor->result);
	janitor->pid = 0;
	result.kind = janitor->kind;
	result.cpu_us = microseconds_of(&used->ru_utime) + microseconds_of(&used->ru_stime);
	return result;
}
