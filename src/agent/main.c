/* main.c - the agent's event loop: reads the channel, handles frames, reaps children, until the
 * channel is closed. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/children.h"
#include "agent/direct.h"
#include "agent/dispatch.h"
#include "agent/files/export/export.h"
#include "agent/program/reach.h"
#include "agent/program/write_order.h"
#include "agent/setup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/num.h"

enum { EVENTS = 64, EXIT_AGENT = 70 };

static struct agent agent;

void agent_die(const char *why)
{
	static const char prefix[] = "belljar-agent: ";

	(void)!write(STDERR_FILENO, prefix, sizeof prefix - 1);
	(void)!write(STDERR_FILENO, why, strlen(why));
	(void)!write(STDERR_FILENO, "\n", 1);
	_exit(EXIT_AGENT);
}

/* --- the channel ------------------------------------------------------------------- */

/* Handles the whole frames that were read. True: frames are left, because there was no room for
 * replies. */
static bool handle_input(void)
{
	struct view rest = { agent.in_bytes + agent.in_start, agent.in_end - agent.in_start };
	struct error err;
	int r = dispatch_frames(&agent, &rest, &err);

	if (r < 0) {
		children_kill_all();
		agent_die(err.msg);
	}
	agent.in_start = (size_t)(rest.ptr - agent.in_bytes);
	if (rest.len == 0)
		agent.in_start = agent.in_end = 0;
	return r > 0;
}

/* False: the server has closed the channel. */
static bool read_input(void)
{
	ssize_t n;

	if (agent.in_start != 0) {
		memmove(agent.in_bytes, agent.in_bytes + agent.in_start,
		        agent.in_end - agent.in_start);
		agent.in_end -= agent.in_start;
		agent.in_start = 0;
	}
	n = read(agent.in.fd, agent.in_bytes + agent.in_end, sizeof agent.in_bytes - agent.in_end);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return true;
	if (n <= 0)
		return false;
	agent.in_end += (size_t)n;
	return true;
}

/* --- the loop ---------------------------------------------------------------------- */

static int poll_timeout(uint64_t now)
{
	uint64_t at = agent.next_due;

	if (agent.orphans.some && (at == 0 || agent.orphans.next < at))
		at = agent.orphans.next;
	if (at == 0)
		return -1;
	return at <= now ? 0 : (int)(at - now < 60000 ? at - now : 60000);
}

static void handle_sources(void)
{
	struct epoll_event events[EVENTS];
	int n = epoll_wait(agent.poller.inner, events, EVENTS, 0);

	for (int i = 0; i < n && outgoing_is_free(&agent.out); i++) {
		struct source *source = events[i].data.ptr;

		/* A handler called before in this loop may have closed this source. */
		if (source->fd >= 0 && source->ready != NULL)
			source->ready(source, events[i].events);
	}
}

/* One turn of the loop. False: the agent is to exit. */
static bool run_turn(void)
{
	struct epoll_event events[3];
	bool more, full, ended = false;
	int n;

	do {
		more = handle_input();
		outgoing_flush(&agent.out);
	} while (more && outgoing_is_free(&agent.out));
	if (outgoing_is_free(&agent.out)) {
		dispatch_due(&agent, clock_now_ms());
		children_sweep(&agent, clock_now_ms());
	}
	full = agent.in_end - agent.in_start == sizeof agent.in_bytes;
	source_want(&agent.in, full ? 0 : EPOLLIN);
	source_want(&agent.out_ready, agent.out.end != agent.out.start ? EPOLLOUT : 0);
	poller_enable_inner(&agent.poller, outgoing_is_free(&agent.out));
	/* While the outgoing buffer is full no deadline is handled, so only the channel may wake
	 * the loop: with a timeout it would spin. */
	n = epoll_wait(agent.poller.outer, events, 3,
	               outgoing_is_free(&agent.out) ? poll_timeout(clock_now_ms()) : -1);
	for (int i = 0; i < n; i++) {
		if (events[i].data.ptr == &agent.in)
			ended = !read_input();
		else if (events[i].data.ptr == NULL)
			handle_sources();
	}
	outgoing_flush(&agent.out);
	return !ended && !agent.out.broken && !(agent.refused && agent.out.end == 0);
}

static void on_signal(struct source *source, uint32_t events)
{
	struct signalfd_siginfo info;

	(void)events;
	while (read(source->fd, &info, sizeof info) > 0)
		continue;
	children_reap(&agent);
}

/* --- start ------------------------------------------------------------------------- */

/* Where an engine can connect only standard input and output, these are the channel, or the server
 * connects to the agent instead (wire/direct_socket.h). Programs must not inherit them, and the
 * agent must not write anything else to them: /dev/null takes their place. */
static int take_stdio(int *in, int *out, struct error *err)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), listener;

	*in = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	*out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (null < 0 || *in < 0 || *out < 0 || dup2(null, STDIN_FILENO) < 0 ||
	    dup2(null, STDOUT_FILENO) < 0)
		return error_sys(err, "take over standard input and output");
	(void)close(null);
	listener = direct_listen();
	dispatch_hello(&agent);
	agent.out.fd = *out;
	outgoing_flush(&agent.out);
	direct_accept(listener, *in, *out);
	return fd_set_nonblocking(*out, err);
}

static int add_sources(int channel, int out, struct error *err)
{
	sigset_t set;
	int signals;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGCHLD);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return error_sys(err, "block SIGCHLD");
	signals = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	if (signals < 0 || out < 0 || fcntl(channel, F_SETFD, FD_CLOEXEC) < 0 ||
	    fcntl(out, F_SETFD, FD_CLOEXEC) < 0)
		return error_sys(err, "prepare the descriptors of the channel and of SIGCHLD");
	agent.out.fd = out;
	write_order_init();
	if (fd_set_nonblocking(channel, err) < 0 || poller_init(&agent.poller, err) < 0 ||
	    source_add(&agent.in, agent.poller.outer, channel, EPOLLIN, NULL, err) < 0 ||
	    source_add(&agent.out_ready, agent.poller.outer, out, 0, NULL, err) < 0 ||
	    source_add(&agent.signals, agent.poller.inner, signals, EPOLLIN, on_signal, err) < 0)
		return -1;
	return 0;
}

int main(int argc, char **argv)
{
	uint64_t channel = 3, user = 0;
	bool is_stdio = argc >= 2 && strcmp(argv[1], "stdio") == 0;
	struct error err;
	int in, out;

	if (argc > 4 ||
	    (argc >= 2 && !is_stdio && num_parse_u64(argv[1], 0, 1 << 20, &channel, &err) < 0) ||
	    (argc >= 3 && num_parse_u64(argv[2], 0, UINT32_MAX - 1, &user, &err) < 0) ||
	    (argc == 4 && num_parse_u64(argv[3], 0, UINT64_MAX, &agent.allowed, &err) < 0))
		agent_die("usage: belljar-agent [DESCRIPTOR|stdio [USER [ALLOWED]]]");
	agent.on_host = argc == 4;
	if (agent.on_host && !export_has_rules())
		agent_die("this agent has no rules for copies to the host");
	agent.root = -1;
	wire_link_init(&agent.link, WIRE_AGENT);
	if (fd_ensure_stdio(&err) < 0 || setup_process(&agent, &err) < 0)
		agent_die(err.msg);
	in = (int)channel;
	out = is_stdio ? -1 : dup(in); /* epoll takes a descriptor only once per set */
	if ((is_stdio && take_stdio(&in, &out, &err) < 0) || add_sources(in, out, &err) < 0)
		agent_die(err.msg);
	if (!is_stdio)
		dispatch_hello(&agent);
	outgoing_flush(&agent.out); /* the server replies meanwhile */
	if (user != 0)
		reach_check_ahead((uint32_t)user);
	while (run_turn())
		continue;
	children_kill_all();
	return 0;
}
