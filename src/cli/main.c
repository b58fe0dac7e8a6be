#include <signal.h>
#include <stdio.h>
#include <string.h>
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

int main(int argc, char **argv)
{
	struct error err;

	(void)argc;
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
