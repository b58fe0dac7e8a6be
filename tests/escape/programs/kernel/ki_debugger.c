/* ki_debugger - does what a debugger does: traces a child, changes its memory, lets it continue. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile long secret = 1;

int main(void)
{
	long value = 7;
	struct iovec from = { &value, sizeof value }, to = { (void *)&secret, sizeof value };
	int status = 0;
	pid_t child = fork();

	if (child == 0) {
		if (ptrace(PTRACE_TRACEME, 0, 0, 0) < 0)
			_exit(errno == EPERM ? 1 : 2);
		raise(SIGSTOP);
		_exit(secret == 7 ? 42 : 3);
	}
	waitpid(child, &status, 0);
	if (WIFEXITED(status))
		return printf("%s\n", WEXITSTATUS(status) == 1 ? "EPERM" : "another error") < 0;
	if (!WIFSTOPPED(status) || process_vm_writev(child, &from, 1, &to, 1, 0) != sizeof value ||
	    ptrace(PTRACE_CONT, child, 0, 0) < 0)
		return 1;
	waitpid(child, &status, 0);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 42)
		puts("its child stopped, its memory was changed, it went on");
	return 0;
}
