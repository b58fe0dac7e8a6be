#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/mem.h"
#include "cli/cli.h"

/* Every user of the machine can read the command line of a process: values of --secret are moved
 * away from it. */
static void hide_secrets(char **argv)
{
	static const char flag[] = "--secret";
	size_t len = sizeof flag - 1;

	for (; *argv != NULL; argv++) {
		char **value = argv, *given;

		if (strcmp(*argv, flag) == 0 && argv[1] != NULL)
			value = ++argv;
		else if (strncmp(*argv, flag, len) != 0 || (*argv)[len] != '=')
			continue;
		given = *value;
		*value = mem_dup(given);
		explicit_bzero(given, strlen(given));
	}
}

enum { STACK_LEAST_KIB = 512 };

/* The kernel kills a process whose stack exceeds the limit, without a message. The stack grows up
 * to the limit of the moment, so a low one can still be raised here. */
static bool has_stack(void)
{
	struct rlimit stack;

	if (getrlimit(RLIMIT_STACK, &stack) < 0 || stack.rlim_cur >= STACK_LEAST_KIB * 1024)
		return true;
	stack.rlim_cur = STACK_LEAST_KIB * 1024;
	if (stack.rlim_max < stack.rlim_cur)
		stack.rlim_max = stack.rlim_cur;
	return setrlimit(RLIMIT_STACK, &stack) == 0;
}

int main(int argc, char **argv)
{
	struct error err;

	(void)argc;
	if (!has_stack()) {
		(void)fprintf(stderr,
		              "belljar: the limit on the stack is too low: run 'ulimit -s %d', or "
		              "raise the hard limit to that\n",
		              STACK_LEAST_KIB);
		return 1;
	}
	/* With a umask that takes rights from the owner, belljar could not use its own files. */
	(void)umask(umask(0) & ~(mode_t)0700);
	if (fd_ensure_stdio(&err) < 0) {
		(void)fprintf(stderr, "belljar: %s\n", err.msg);
		return 1;
	}
	/* With a low RLIMIT_FSIZE a write to the database or to a disk image fails, and the error
	 * is reported, instead of killing the server or the spawner. */
	(void)signal(SIGXFSZ, SIG_IGN);
	hide_secrets(argv);
	return cli_run(argv, environ);
}
