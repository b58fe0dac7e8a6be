#include <stdio.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "cli/cli.h"

int main(int argc, char **argv)
{
	struct error err;

	(void)argc;
	if (fd_ensure_stdio(&err) < 0) {
		(void)fprintf(stderr, "belljar: %s\n", err.msg);
		return 1;
	}
	return cli_run(argv, environ);
}
