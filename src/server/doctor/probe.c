/* probe.c - filling a check, and trying something in a child process (see internal.h). */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text/utf8.h"
#include "server/doctor/internal.h"

PRINTF_LIKE(3, 0) static void format_text(char *out, size_t size, const char *fmt, va_list args)
{
	(void)vsnprintf(out, size, fmt, args);
	out[utf8_prefix(out, strlen(out), size - 1)] = '\0';
}

void check_set(struct check *check, enum check_status status, const char *fmt, ...)
{
	va_list args;

	check->status = status;
	va_start(args, fmt);
	format_text(check->detail, sizeof check->detail, fmt, args);
	va_end(args);
}

void check_fix(struct check *check, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	format_text(check->fix, sizeof check->fix, fmt, args);
	va_end(args);
}

const char *probe_read_line(const char *path, char *out, size_t size)
{
	AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t len = fd >= 0 ? read(fd, out, size - 1) : 0;

	out[len > 0 ? len : 0] = '\0';
	out[strcspn(out, "\n")] = '\0';
	return out;
}

void probe_list_add(char *list, size_t size, const char *word)
{
	size_t used = strlen(list);

	(void)snprintf(list + used, size - used, "%s%s", used != 0 ? ", " : "", word);
}

/* --- in a child --- */

struct task {
	probe_child_fn *fn;
	const void *record;
	size_t size;
	unsigned deadline_ms;
};

NORETURN static void run_child(pid_t parent, int out, const struct task *task)
{
	_Alignas(max_align_t) char record[PROBE_RECORD_MAX] = { 0 };
	sigset_t none;

	memcpy(record, task->record, task->size);
	/* The parent-death signal may be cleared by a change of credentials: the alarm is for that
	 * case. */
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	(void)signal(SIGALRM, SIG_DFL);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)alarm(task->deadline_ms / 1000 + 1);
	task->fn(record);
	_exit(write(out, record, task->size) == (ssize_t)task->size ? 0 : 1);
}

/* The record is smaller than the buffer of a pipe (64 KiB), so the child never waits. */
static int read_record(int in, void *record, size_t size, unsigned deadline_ms, struct error *err)
{
	uint64_t end = clock_now_ms() + deadline_ms;
	size_t used = 0;
	ssize_t n;

	for (;;) {
		struct pollfd wanted = { .fd = in, .events = POLLIN };
		uint64_t now = clock_now_ms();
		int r = poll(&wanted, 1, now < end ? (int)(end - now) : 0);

		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			return error_sys(err, "wait for the child");
		if (r == 0)
			return error_set(err, ERR_LIMIT, "no answer within %u seconds",
			                 deadline_ms / 1000);
		n = read(in, (char *)record + used, size - used);
		if (n <= 0)
			return error_set(err, ERR_SYSTEM, "the child exited without an answer");
		used += (size_t)n;
		if (used == size)
			return 0;
	}
}

int probe_child_run(probe_child_fn *fn, void *record, size_t size, unsigned deadline_ms,
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
	r = read_record(in, answer, size, deadline_ms, err);
	(void)kill(child, SIGKILL);
	while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
	if (r == 0)
		memcpy(record, answer, size);
	return r;
}
