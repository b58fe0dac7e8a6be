#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "engine/agent_image.h"
#include "server/doctor/probe.h"
#include "wire/table.h"

/* The child ends with this and an errno if it could not become the agent. */
enum { START_DEADLINE_MS = 2000, STOP_DEADLINE_MS = 500, EXEC_FAILED = 128 };

struct agent_child {
	pid_t pid;
	int channel;
};

NORETURN static void become_agent(int image, int channel, pid_t parent)
{
	struct error err = { 0 };

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	(void)agent_image_exec(image, channel, 0, &err);
	_exit(EXEC_FAILED | (err.errnum & (EXEC_FAILED - 1)));
}

static int start(int image, struct agent_child *ret, struct error *err)
{
	pid_t parent = getpid();
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return error_sys(err, "create a socket pair");
	ret->channel = ends[0];
	ret->pid = fork();
	if (ret->pid == 0)
		become_agent(image, ends[1], parent);
	(void)close(ends[1]);
	if (ret->pid > 0)
		return 0;
	(void)close(ends[0]);
	return error_sys(err, "fork");
}

/* Closes the channel, which ends it. What is still there then is killed. Returns its status. */
static int stop(struct agent_child *agent)
{
	const struct timespec turn = { .tv_nsec = 1000 * 1000 };
	uint64_t end = clock_now_ms() + STOP_DEADLINE_MS;
	int status = 0;
	pid_t reaped;

	(void)close(agent->channel);
	while ((reaped = waitpid(agent->pid, &status, WNOHANG)) == 0 && clock_now_ms() < end)
		(void)nanosleep(&turn, NULL);
	if (reaped == 0) {
		(void)kill(agent->pid, SIGKILL);
		while (waitpid(agent->pid, &status, 0) < 0 && errno == EINTR)
			;
	}
	return status;
}

/* 1: more bytes; 0: it closed the channel. */
static int await_bytes(int channel, char *bytes, size_t room, uint64_t end, ssize_t *got,
                       struct error *err)
{
	for (;;) {
		struct pollfd wanted = { .fd = channel, .events = POLLIN };
		uint64_t now = clock_now_ms();
		int r = poll(&wanted, 1, now < end ? (int)(end - now) : 0);

		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			return error_sys(err, "wait for the agent");
		if (r == 0)
			return error_set(err, ERR_LIMIT, "no word from it within %d seconds",
			                 START_DEADLINE_MS / 1000);
		*got = read(channel, bytes, room);
		return *got > 0;
	}
}

static int check_hello(const struct wire_frame *frame, struct error *err)
{
	struct wire_message message;
	int version = frame->type == WIRE_HELLO ? wire_hello_version(frame->payload) : -1;

	if (version < 0)
		return error_set(err, ERR_SYNTAX, "its first word is not HELLO");
	if (version != WIRE_VERSION)
		return error_set(err, ERR_SYNTAX, "it speaks protocol %d, not %d", version,
		                 WIRE_VERSION);
	return wire_decode(frame, &message, err);
}

/* 1: it said HELLO; 0: it ended first. */
static int await_hello(int channel, struct error *err)
{
	char bytes[WIRE_FRAME_MAX];
	uint64_t end = clock_now_ms() + START_DEADLINE_MS;
	size_t len = 0;

	for (;;) {
		struct view rest = { bytes, len };
		struct wire_frame frame;
		ssize_t got = 0;
		int r = wire_frame_cut(&rest, &frame, err);

		if (r == 1)
			return check_hello(&frame, err) < 0 ? -1 : 1;
		if (r == 0)
			r = await_bytes(channel, bytes + len, sizeof bytes - len, end, &got, err);
		if (r <= 0)
			return r;
		len += (size_t)got;
	}
}

static void blame_end(int status, struct error *err)
{
	int code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;

	if (code > EXEC_FAILED) {
		errno = code & (EXEC_FAILED - 1);
		(void)error_sys(err, "it cannot be executed");
	} else if (WIFSIGNALED(status))
		(void)error_set(err, ERR_SYSTEM, "it was killed by signal %d", WTERMSIG(status));
	else
		(void)error_set(err, ERR_SYSTEM, "it ended with status %d", code);
}

static int try_agent(bool *sealed, struct error *err)
{
	AUTO_FD int image = agent_image_open(sealed, err);
	struct agent_child agent = { .pid = -1, .channel = -1 };
	int said, status;

	if (image < 0 || start(image, &agent, err) < 0)
		return -1;
	said = await_hello(agent.channel, err);
	status = stop(&agent);
	if (said == 0)
		blame_end(status, err);
	return said == 1 ? 0 : -1;
}

static const char *fix_for(const struct error *err)
{
	if (err->errnum == EACCES || err->errnum == EPERM)
		return "let belljar execute what it carries: sysctl -w vm.memfd_noexec=1, or a "
		       "$XDG_RUNTIME_DIR or /tmp that is not mounted noexec; see also the audit "
		       "log of SELinux or AppArmor";
	if (err->errnum == ENOSYS)
		return "update the kernel to 5.13 or newer";
	if (err->kind == ERR_UNSUPPORTED)
		return "mount /tmp or $XDG_RUNTIME_DIR without noexec, or sysctl -w "
		       "vm.memfd_noexec=1";
	if (err->kind == ERR_SYSTEM && err->errnum != 0)
		return "free processes, descriptors or memory and ask again";
	return "build belljar again: make clean all";
}

void probe_agent(UNUSED const struct options *options, struct check *ret)
{
	size_t kib = (agent_image().len + 1023) / 1024;
	bool sealed = false;
	struct error err;

	if (try_agent(&sealed, &err) < 0) {
		check_set(ret, CHECK_OFF, "%zu KiB, does not start: %s", kib, err.msg);
		check_fix(ret, "%s", fix_for(&err));
		return;
	}
	check_set(ret, sealed ? CHECK_ON : CHECK_WEAKER, "%zu KiB, starts from %s, protocol %d",
	          kib, sealed ? "a sealed memfd" : "an unlinked file", WIRE_VERSION);
	if (!sealed)
		check_fix(ret, "allow programs in memory: sysctl -w vm.memfd_noexec=1");
}
