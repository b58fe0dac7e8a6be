/* ki_calls NUMBER:ARG,ARG,... ... - makes these system calls, each in a child of its own. An
 * argument is a number, "p" for a page of zeros, or "/text". Prints one line for each: the call as
 * given, and "errno 1", "ok 3", "signal 31" or "no end". */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

struct result {
	long done, error, value;
};

static void *page(int how)
{
	return mmap(NULL, 65536, PROT_READ | PROT_WRITE, how | MAP_ANONYMOUS, -1, 0);
}

static void make(char *text, struct result *result)
{
	long args[6] = { 0 };
	unsigned long number = strtoul(text, &text, 0);

	for (int i = 0; i < 6 && *text != '\0'; i++) {
		char *word = text + 1;

		text = word + strcspn(word, ",");
		if (*word == 'p')
			args[i] = (long)page(MAP_PRIVATE);
		else if (*word == '/')
			args[i] = (long)strndup(word, (size_t)(text - word));
		else
			args[i] = (long)strtoull(word, NULL, 0);
	}
	result->value = syscall((long)number, args[0], args[1], args[2], args[3], args[4], args[5]);
	result->error = result->value == -1 ? errno : 0;
	result->done = 1;
	_exit(0);
}

int main(int argc, char **argv)
{
	struct result *result = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
	                             -1, 0);

	for (int i = 1; i < argc; i++) {
		int status = 0, ticks = 0;
		pid_t child;

		memset(result, 0, sizeof *result);
		child = fork();
		if (child == 0)
			make(argv[i], result);
		while (waitpid(child, &status, WNOHANG) == 0 && ++ticks < 2000)
			usleep(1000);
		kill(child, SIGKILL);
		waitpid(child, &status, 0);
		printf("%s %s %ld\n", argv[i],
		       result->done && result->error ? "errno"
		       : result->done                ? "ok"
		       : ticks < 2000                ? "signal"
		                                     : "no end",
		       result->done          ? (result->error ? result->error : result->value)
		       : WIFSIGNALED(status) ? WTERMSIG(status)
		                             : -WEXITSTATUS(status));
	}
	return 0;
}
