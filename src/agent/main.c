/* main.c - the agent: reads the channel, serves it, reaps, until the channel ends. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/children.h"
#include "agent/die.h"
#include "agent/net/reach.h"
#include "agent/session.h"
#include "agent/setup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/num.h"

enum { EVENTS = 64, END_MS = 2000 };

static struct agent agent;

/* The kernel ends everything with PID 1; otherwise it is ours to do. */
static NORETURN void fail(const char *why)
{
	children_end(END_MS);
	die(why);
}

/* --- the channel ------------------------------------------------------------------- */

/* True: it stopped because there was no room to answer. */
static bool serve_input(void)
{
	struct view rest = { agent.in_bytes + agent.in_start, agent.in_end - agent.in_start };
	struct error err;
	int r = session_take(&agent, &rest, &err);

	if (r < 0)
		fail(err.msg);
	agent.in_start = (size_t)(rest.ptr - agent.in_bytes);
	if (rest.len == 0)
		agent.in_start = agent.in_end = 0;
	return r > 0;
}

/* False: the channel has ended. */
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

static int time_out(uint64_t now)
{
	uint64_t at = agent.next_due;
	uint64_t proxy = agent.proxy.next_due;

	if (proxy != 0 && (at == 0 || proxy < at))
		at = proxy;
	if (agent.orphans.some && (at == 0 || agent.orphans.next < at))
		at = agent.orphans.next;
	if (at == 0)
		return -1;
	return at <= now ? 0 : (int)(at - now < 60000 ? at - now : 60000);
}

static void serve_sources(void)
{
	struct epoll_event events[EVENTS];
	int n = epoll_wait(agent.poller.inner, events, EVENTS, 0);

	for (int i = 0; i < n && out_is_free(&agent.out); i++) {
		struct source *source = events[i].data.ptr;

		if (source->fd >= 0 && source->ready != NULL)
			source->ready(source, events[i].events);
	}
}

static void serve_time(uint64_t now)
{
	session_due(&agent, now);
	proxy_due(&agent, now);
	children_sweep(&agent, now);
}

/* One round. False: the channel has ended. */
static bool turn(void)
{
	struct epoll_event events[3];
	bool more, full, ended = false;
	int n;

	do {
		more = serve_input();
		out_flush(&agent.out);
	} while (more && out_is_free(&agent.out));
	if (out_is_free(&agent.out))
		serve_time(clock_now_ms());
	full = agent.in_end - agent.in_start == sizeof agent.in_bytes;
	source_want(&agent.in, full ? 0 : EPOLLIN);
	source_want(&agent.out_ready, agent.out.end != agent.out.start ? EPOLLOUT : 0);
	poller_let_produce(&agent.poller, out_is_free(&agent.out));
	/* Nothing is done in time while nothing may be said: then only the server can wake us. */
	n = epoll_wait(agent.poller.outer, events, 3,
	               out_is_free(&agent.out) ? time_out(clock_now_ms()) : -1);
	for (int i = 0; i < n; i++) {
		if (events[i].data.ptr == &agent.in)
			ended = !read_input();
		else if (events[i].data.ptr == NULL)
			serve_sources();
	}
	out_flush(&agent.out);
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

/* --- beginning and end ------------------------------------------------------------- */

static int watch(int channel, struct error *err)
{
	sigset_t set;
	int out = dup(channel);
	int signals;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGCHLD);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return error_sys(err, "block SIGCHLD");
	signals = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	if (signals < 0 || out < 0 || fcntl(channel, F_SETFD, FD_CLOEXEC) < 0 ||
	    fcntl(out, F_SETFD, FD_CLOEXEC) < 0)
		return error_sys(err, "descriptors");
	agent.out.fd = out;
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
	struct error err;

	if (argc > 3 || (argc >= 2 && num_parse_u64(argv[1], 0, 1 << 20, &channel, &err) < 0) ||
	    (argc == 3 && num_parse_u64(argv[2], 1, UINT32_MAX - 1, &user, &err) < 0))
		die("usage: belljar-agent [DESCRIPTOR [USER]]");
	agent.root = agent.proxy.listener.fd = -1;
	wire_link_init(&agent.link, WIRE_AGENT);
	if (fd_ensure_stdio(&err) < 0 || setup_process(&agent, &err) < 0 ||
	    watch((int)channel, &err) < 0)
		die(err.msg);
	if (user != 0)
		reach_ahead((uint32_t)user);
	session_hello(&agent);
	while (turn())
		continue;
	children_end(END_MS);
	return 0;
}
