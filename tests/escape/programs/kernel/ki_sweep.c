/* ki_sweep - makes every system call from 0 to 600, once with all arguments 0 and once with -1,
 * each in a child of its own. Prints a line for each: number, argument, "errno 1", "ok", "signal
 * 31", "no end". */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LAST = 600, BLOCKED_MS = 100, DEADLINE_MS = 30000 };

struct result {
	int started, done, error;
};

/* In static memory: the call may have unmapped the stack or changed the thread area. */
static void make(long number, long arg, volatile struct result *result)
{
	pid_t own = getpid();
	long value;

	setpgid(0, 0); /* kill(0, 0) signals only this child */
	result->started = 1;
	value = syscall(number, arg, arg, arg, arg, arg, arg);
	if (getpid() != own)
		_exit(0); /* the child of fork(2): it may come when the next call is tried */
	result->error = value == -1 ? errno : 0;
	result->done = 1;
	_exit(0);
}

/* True if the child sleeps in the kernel; on a busy machine it may also be runnable and waiting. */
static int is_blocked(pid_t child)
{
	char path[64], line[256] = "";
	const char *end;
	FILE *file;

	snprintf(path, sizeof path, "/proc/%d/stat", (int)child);
	file = fopen(path, "r");
	if (file == NULL || fgets(line, sizeof line, file) == NULL)
		line[0] = '\0';
	if (file != NULL)
		fclose(file);
	end = strrchr(line, ')');
	return end == NULL || end[1] == '\0' || end[2] != 'R';
}

static void try(long number, long arg, struct result *result)
{
	int status = 0, ms = 0;
	pid_t child;

	memset(result, 0, sizeof *result);
	child = fork();
	if (child == 0)
		make(number, arg, result);
	for (int ticks = 0; waitpid(child, &status, WNOHANG) == 0; usleep(500)) {
		ms = ++ticks / 2;
		if ((ms < BLOCKED_MS || !result->started || !is_blocked(child)) && ms < DEADLINE_MS)
			continue;
		if (kill(child, SIGKILL) == 0)
			waitpid(child, &status, 0);
		break;
	}
	if (result->done)
		printf("%ld %ld %s %d\n", number, arg, result->error ? "errno" : "ok",
		       result->error);
	else if (WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL)
		printf("%ld %ld signal %d\n", number, arg, WTERMSIG(status));
	else
		printf("%ld %ld no-end 0\n", number, arg);
}

int main(void)
{
	struct result *result = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
	                             -1, 0);

	for (long number = 0; number <= LAST; number++)
		for (long arg = 0; arg >= -1; arg--)
			try(number, arg, result);
	return 0;
}
