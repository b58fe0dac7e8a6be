#include "server/doctor/probe_child.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"

/* The alarm is the second net: a change of credentials may clear the death signal. */
static void prepare_child(pid_t parent, unsigned deadline_ms)
{
	sigset_t none;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	(void)signal(SIGALRM, SIG_DFL);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)alarm(deadline_ms / 1000 + 1);
}

struct task {
	probe_child_fn *fn;
	const void *record;
	size_t size;
	unsigned deadline_ms;
};

NORETURN static void run_child(pid_t parent, int out, const struct task *task)
{
	_Alignas(max_align_t) char record[PROBE_RECORD_MAX] = { 0 };
	size_t size = task->size;

	memcpy(record, task->record, size);
	prepare_child(parent, task->deadline_ms);
	task->fn(record);
	_exit(write(out, record, size) == (ssize_t)size ? 0 : 1);
}

/* 0: the whole record came. The child writes it in one piece (less than PIPE_BUF). */
static int await_record(int in, void *record, size_t size, unsigned deadline_ms, struct error *err)
{
	uint64_t end = clock_now_ms() + deadline_ms;

	for (;;) {
		struct pollfd wanted = { .fd = in, .events = POLLIN };
		uint64_t now = clock_now_ms();
		ssize_t n;
		int r = poll(&wanted, 1, now < end ? (int)(end - now) : 0);

		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			return error_sys(err, "wait for the child");
		if (r == 0)
			return error_set(err, ERR_LIMIT, "no answer within %u seconds",
			                 deadline_ms / 1000);
		n = read(in, record, size);
		if (n == (ssize_t)size)
			return 0;
		return error_set(err, ERR_SYSTEM, "the child ended without an answer");
	}
}

int probe_child_run(probe_child_fn *fn, void *record, size_t size, struct error *err)
{
	return probe_child_run_for(fn, record, size, PROBE_DEADLINE_MS, err);
}

int probe_child_run_for(probe_child_fn *fn, void *record, size_t size, unsigned deadline_ms,
                        struct error *err)
{
	const struct task task = { fn, record, size, deadline_ms };
	char answer[PROBE_RECORD_MAX];
	AUTO_FD int in = -1;
	AUTO_FD int out = -1;
	pid_t parent = getpid();
	pid_t child;
	int ends[2], r;

	assert(size <= PROBE_RECORD_MAX);
	if (pipe2(ends, O_CLOEXEC) < 0)
		return error_sys(err, "create a pipe");
	in = ends[0];
	out = ends[1];
	child = fork();
	if (child < 0)
		return error_sys(err, "fork");
	if (child == 0)
		run_child(parent, out, &task);
	(void)close(TAKE_FD(out));
	r = await_record(in, answer, size, deadline_ms, err);
	(void)kill(child, SIGKILL);
	while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
	if (r == 0)
		memcpy(record, answer, size);
	return r;
}
