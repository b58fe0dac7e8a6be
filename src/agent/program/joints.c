#include "agent/program/joints.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/agent.h"
#include "base/error.h"
#include "base/fd.h"

enum { PIPE_BYTES = 256 * 1024 };

static void close_all(const int *fds, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (fds[i] >= 0)
			(void)close(fds[i]);
}

void joints_close(const struct joints *j, bool ours)
{
	const int mine[] = { j->ours_in, j->ours_out, j->ours_err, j->ours_control,
		             j->ours_keeper };
	const int its[] = { j->program.in, j->program.out, j->program.err, j->program.control,
		            j->program.agent };

	close_all(its, ARRAY_LEN(its));
	if (ours)
		close_all(mine, ARRAY_LEN(mine));
}

static int make_pipe(int *reader, int *writer, struct error *err)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return error_sys(err, "pipe");
	/* The user's programs may open them again, as /dev/stderr and the like. */
	(void)fchmod(ends[0], 0666);
	*reader = ends[0];
	*writer = ends[1];
	return 0;
}

static int make_pair(int type, int *ours, int *its, struct error *err)
{
	int ends[2];

	if (socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends) < 0)
		return error_sys(err, "socketpair");
	*ours = ends[0];
	*its = ends[1];
	return 0;
}

/* The other side is asked for, not looked up by a name that could be somebody else's. It is
 * the user's, if we may give it away. */
static int make_terminal(struct joints *j, struct error *err)
{
	const struct wire_exec *exec = j->program.exec;
	struct winsize size = { .ws_row = exec->rows, .ws_col = exec->columns };
	uid_t uid = exec->uid != WIRE_SAME_ID ? exec->uid : j->program.user->uid;

	j->ours_in = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
	if (j->ours_in < 0)
		return error_sys(err, "/dev/ptmx");
	if (unlockpt(j->ours_in) < 0)
		return error_sys(err, "/dev/ptmx: unlock a terminal");
	j->program.in = ioctl(j->ours_in, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (j->program.in < 0)
		return error_sys(err, "the other side of a terminal");
	(void)ioctl(j->ours_in, TIOCSWINSZ, &size);
	(void)!fchown(j->program.in, uid, (gid_t)-1);
	j->ours_out = fcntl(j->ours_in, F_DUPFD_CLOEXEC, 0);
	j->program.out = fcntl(j->program.in, F_DUPFD_CLOEXEC, 0);
	j->program.err = fcntl(j->program.in, F_DUPFD_CLOEXEC, 0);
	if (j->ours_out < 0 || j->program.out < 0 || j->program.err < 0)
		return error_sys(err, "a terminal's descriptors");
	j->program.terminal = true;
	return 0;
}

static int make_pipes(struct joints *j, int null, struct error *err)
{
	const struct wire_exec *exec = j->program.exec;

	if (exec->flags & WIRE_EXEC_STDIN) {
		if (make_pipe(&j->program.in, &j->ours_in, err) < 0)
			return -1;
	} else {
		j->program.in = fcntl(null, F_DUPFD_CLOEXEC, 0);
		if (j->program.in < 0)
			return error_sys(err, "stdin");
	}
	if (make_pipe(&j->ours_out, &j->program.out, err) < 0)
		return -1;
	(void)fcntl(j->ours_out, F_SETPIPE_SZ, PIPE_BYTES);
	if (!(exec->flags & WIRE_EXEC_MERGE))
		return make_pipe(&j->ours_err, &j->program.err, err);
	j->program.err = fcntl(j->program.out, F_DUPFD_CLOEXEC, 0);
	return j->program.err < 0 ? error_sys(err, "stderr") : 0;
}

int joints_make(struct joints *j, int null, struct error *err)
{
	const int *ours[] = { &j->ours_in, &j->ours_out, &j->ours_err, &j->ours_control };
	uint8_t flags = j->program.exec->flags;
	int r;

	j->ours_in = j->ours_out = j->ours_err = j->ours_control = j->ours_keeper = -1;
	j->program.in = j->program.out = j->program.err = -1;
	j->program.control = j->program.agent = -1;
	r = flags & WIRE_EXEC_PTY ? make_terminal(j, err) : make_pipes(j, null, err);
	if (r < 0 || make_pair(SOCK_SEQPACKET, &j->ours_keeper, &j->program.agent, err) < 0)
		return -1;
	if ((flags & WIRE_EXEC_CONTROL) &&
	    make_pair(SOCK_STREAM, &j->ours_control, &j->program.control, err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(ours); i++)
		if (*ours[i] >= 0 && fd_set_nonblocking(*ours[i], err) < 0)
			return -1;
	return 0;
}
