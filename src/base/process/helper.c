#include "base/process/helper.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"

int helper_begin(const char *name, const int *keep, size_t count, struct error *err)
{
	static const int ignored[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGTSTP };
	int null;

	(void)prctl(PR_SET_NAME, name, 0, 0, 0);
	for (size_t i = 0; i < ARRAY_LEN(ignored); i++)
		(void)signal(ignored[i], SIG_IGN);
	/* A program that starts belljar may have ignored SIGCHLD: wait(2) would then find no child
	 * that has exited. */
	(void)signal(SIGCHLD, SIG_DFL);
	if (fd_close_others(keep, count, err) < 0)
		return -1;
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0)
		return error_sys(err, "put /dev/null on descriptors 0 and 1");
	if (null > STDERR_FILENO)
		(void)close(null);
	return 0;
}
