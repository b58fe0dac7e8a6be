#include "agent/program/program_io.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/program/write_order.h"
#include "agent/user.h"
#include "base/error.h"
#include "base/fd.h"

enum { PIPE_BYTES = 256 * 1024 };

static void close_fds(const int *fds, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (fds[i] >= 0)
			(void)close(fds[i]);
}

void program_io_close(const struct program_io *io, bool all)
{
	const struct launch *launch = io->launch;
	const int agents[] = { io->in, io->out, io->err, io->control, io->keeper };
	const int programs[] = { launch->in, launch->out, launch->err, launch->control,
		                 launch->agent };

	close_fds(programs, ARRAY_LEN(programs));
	if (all)
		close_fds(agents, ARRAY_LEN(agents));
}

static int make_pipe(int *reader, int *writer, struct error *err)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return error_sys(err, "pipe");
	/* The pipe belongs to the agent's user; a program that opens /dev/stderr opens it again, by
	 * name, with its own rights. */
	(void)fchmod(ends[0], 0666);
	*reader = ends[0];
	*writer = ends[1];
	return 0;
}

static int make_socket_pair(int type, int *agents, int *programs, struct error *err)
{
	int ends[2];

	if (socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends) < 0)
		return error_sys(err, "socketpair");
	*agents = ends[0];
	*programs = ends[1];
	return 0;
}

/* TIOCGPTPEER opens the other side of this very terminal. Opening /dev/pts/N by name could open
 * something that a program has mounted there. The terminal is given to the user if the agent may
 * change owners. */
static int make_terminal(struct program_io *io, struct error *err)
{
	struct launch *launch = io->launch;
	struct winsize size = { .ws_row = launch->exec->rows, .ws_col = launch->exec->columns };

	io->in = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
	if (io->in < 0)
		return error_sys(err, "/dev/ptmx");
	if (unlockpt(io->in) < 0)
		return error_sys(err, "/dev/ptmx: unlock the terminal");
	launch->in = ioctl(io->in, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (launch->in < 0)
		return error_sys(err, "open the terminal");
	(void)ioctl(io->in, TIOCSWINSZ, &size);
	(void)!fchown(launch->in, launch->user->uid, (gid_t)-1);
	io->out = fcntl(io->in, F_DUPFD_CLOEXEC, 0);
	launch->out = fcntl(launch->in, F_DUPFD_CLOEXEC, 0);
	launch->err = fcntl(launch->in, F_DUPFD_CLOEXEC, 0);
	if (io->out < 0 || launch->out < 0 || launch->err < 0)
		return error_sys(err, "duplicate the terminal's descriptors");
	launch->has_terminal = true;
	return 0;
}

static int make_pipes(struct program_io *io, int null, struct error *err)
{
	struct launch *launch = io->launch;

	if (launch->exec->flags & WIRE_EXEC_STDIN) {
		if (make_pipe(&launch->in, &io->in, err) < 0)
			return -1;
	} else {
		launch->in = fcntl(null, F_DUPFD_CLOEXEC, 0);
		if (launch->in < 0)
			return error_sys(err, "stdin");
	}
	if (make_pipe(&io->out, &launch->out, err) < 0)
		return -1;
	(void)fcntl(io->out, F_SETPIPE_SZ, PIPE_BYTES);
	return make_pipe(&io->err, &launch->err, err);
}

int program_io_open(struct program_io *io, struct launch *launch, int null, struct error *err)
{
	const int *ends[] = { &io->in, &io->out, &io->err, &io->control };
	uint8_t flags = launch->exec->flags;
	int r;

	*io = (struct program_io){ -1, -1, -1, -1, -1, launch };
	launch->in = launch->out = launch->err = launch->control = launch->agent = -1;
	r = flags & WIRE_EXEC_PTY ? make_terminal(io, err) : make_pipes(io, null, err);
	if (r < 0 || make_socket_pair(SOCK_SEQPACKET, &io->keeper, &launch->agent, err) < 0)
		return -1;
	if ((flags & WIRE_EXEC_CONTROL) &&
	    make_socket_pair(SOCK_STREAM, &io->control, &launch->control, err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(ends); i++)
		if (*ends[i] >= 0 && fd_set_nonblocking(*ends[i], err) < 0)
			return -1;
	for (size_t i = 1; i < ARRAY_LEN(ends); i++)
		if (*ends[i] >= 0 && !launch->has_terminal)
			write_order_watch(*ends[i]);
	return 0;
}
