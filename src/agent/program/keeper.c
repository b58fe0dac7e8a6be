#include "agent/program/keeper.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent/confinement.h"
#include "agent/program/launch.h"
#include "agent/program/tree.h"
#include "base/clock.h"
#include "base/fd.h"

/* A helper process that exits because the program has exited gets LINGER_MS for that, so that it is
 * not reported as a process that the program left running. */
enum { END_MS = 5000, LINGER_MS = 20 };

struct keeper {
	int agent, signals;
	pid_t main; /* the program; 0: it was reaped */
	int status;
	uint64_t deadline, kill_at; /* 0: none */
	uint32_t grace_ms;
	bool timed_out;
	bool left; /* descendants were still running when the program exited */
	struct timespec started;
};

static void send_report(const struct keeper *keeper, const struct keeper_report *report)
{
	(void)!send(keeper->agent, report, sizeof *report, MSG_NOSIGNAL);
}

static void on_reaped(void *ctx, pid_t pid, int status)
{
	struct keeper *keeper = ctx;

	if (pid != keeper->main)
		return;
	keeper->main = 0;
	keeper->status = status;
}

/* --- starting ---------------------------------------------------------------------- */

/* The child shares the keeper's memory until it has executed the program, and the keeper waits for
 * that: no page of the keeper is copied, and a failure needs no pipe. The child has the user's id
 * before it executes the program, but it is not dumpable, so no process of the user can read or
 * change that memory. */
static pid_t fork_program(const struct launch *launch, struct error *err)
{
	pid_t pid = vfork();

	if (pid == 0)
		launch_run(launch, err);
	return pid;
}

/* False: *err says why the program could not be started. */
static bool start_program(struct keeper *keeper, const struct launch *launch, struct error *err)
{
	err->msg[0] = '\0';
	keeper->main = fork_program(launch, err);
	if (keeper->main < 0) /* EAGAIN: RLIMIT_NPROC or the cgroup's pids.max is reached */
		(void)error_sys(err, "no room for another process in the sandbox");
	/* The agent sees the end of a pipe only when every copy of its other end is closed. */
	(void)close(launch->in);
	(void)close(launch->out);
	/* The keeper keeps one descriptor of a terminal open: otherwise the agent's read() would
	 * fail with EIO as soon as the program closes its own descriptors, although the program
	 * still runs. */
	if (!launch->has_terminal)
		(void)close(launch->err);
	if (launch->control >= 0)
		(void)close(launch->control);
	return err->msg[0] == '\0';
}

/* --- watching ---------------------------------------------------------------------- */

/* A deadline that has passed is final: SIGTERM was sent. */
static void set_deadline(struct keeper *keeper, uint32_t deadline_ms, uint32_t grace_ms)
{
	if (keeper->timed_out)
		return;
	keeper->deadline = deadline_ms != 0 ? clock_now_ms() + deadline_ms : 0;
	keeper->grace_ms = grace_ms;
}

/* False: kill everything now. A closed socket means that the agent is gone. */
static bool handle_order(struct keeper *keeper)
{
	struct keeper_order order;
	ssize_t n = recv(keeper->agent, &order, sizeof order, MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return true;
	if (n != sizeof order || order.kind == KEEPER_KILL)
		return false;
	if (order.kind == KEEPER_SIGNAL)
		(void)tree_signal(order.number);
	else
		set_deadline(keeper, order.deadline_ms, order.grace_ms);
	return true;
}

/* Sends SIGTERM when the deadline has passed. False: the grace time is over, kill everything
 * now. */
static bool check_deadline(struct keeper *keeper)
{
	uint64_t now = clock_now_ms();

	if (keeper->kill_at != 0 && now >= keeper->kill_at)
		return false;
	if (keeper->deadline == 0 || now < keeper->deadline)
		return true;
	keeper->deadline = 0;
	keeper->timed_out = true;
	keeper->kill_at = now + keeper->grace_ms;
	if (keeper->grace_ms == 0)
		return false;
	(void)tree_signal(SIGTERM);
	(void)tree_signal(SIGCONT); /* a stopped process handles SIGTERM only after it continues */
	return true;
}

static int poll_timeout(const struct keeper *keeper)
{
	uint64_t at = keeper->kill_at != 0 ? keeper->kill_at : keeper->deadline;
	uint64_t now = clock_now_ms();

	if (at == 0)
		return -1;
	return at <= now ? 0 : (int)(at - now < 60000 ? at - now : 60000);
}

/* Returns when the program has exited, or when everything is to be killed. */
static void watch_program(struct keeper *keeper)
{
	struct pollfd fds[] = { { keeper->agent, POLLIN, 0 }, { keeper->signals, POLLIN, 0 } };
	struct signalfd_siginfo info;

	while (keeper->main != 0) {
		(void)poll(fds, ARRAY_LEN(fds), poll_timeout(keeper));
		if (fds[1].revents != 0) {
			(void)!read(keeper->signals, &info, sizeof info);
			(void)tree_reap(on_reaped, keeper);
		}
		if (fds[0].revents != 0 && !handle_order(keeper))
			return;
		if (!check_deadline(keeper))
			return;
	}
}

/* --- exit -------------------------------------------------------------------------- */

static uint64_t microseconds_of(struct timeval t)
{
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_usec;
}

static uint64_t us_since(const struct timespec *start)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)((now.tv_sec - start->tv_sec) * 1000000 +
	                  (now.tv_nsec - start->tv_nsec) / 1000);
}

/* Whether descendants still run LINGER_MS after the program has exited. Reaps those that exit
 * meanwhile. */
static bool has_running_descendants(struct keeper *keeper)
{
	uint64_t until = clock_now_ms() + LINGER_MS;

	if (keeper->main != 0)
		return false;
	while (tree_reap(on_reaped, keeper)) {
		if (clock_now_ms() >= until)
			return true;
		(void)poll(NULL, 0, 1);
	}
	return false;
}

static void report_exit(const struct keeper *keeper, bool remains, struct keeper_report *report)
{
	struct wire_exited *exited = &report->exited;
	struct rusage used = { 0 };

	/* RUSAGE_CHILDREN covers every descendant that the keeper has reaped, orphans included. */
	(void)getrusage(RUSAGE_CHILDREN, &used);
	exited->flags = (uint8_t)((keeper->timed_out ? WIRE_EXITED_TIMED_OUT : 0) |
	                          (keeper->left ? WIRE_EXITED_LEFT : 0) |
	                          (remains ? WIRE_EXITED_REMAINS : 0));
	if (WIFEXITED(keeper->status))
		exited->code = (uint8_t)WEXITSTATUS(keeper->status);
	else
		exited->signal = (uint8_t)WTERMSIG(keeper->status);
	exited->wall_us = us_since(&keeper->started);
	exited->user_us = microseconds_of(used.ru_utime);
	exited->system_us = microseconds_of(used.ru_stime);
	exited->max_rss_kib = (uint64_t)used.ru_maxrss;
	send_report(keeper, report);
}

void keeper_run(struct launch *launch)
{
	int *const kept[] = { &launch->agent,   &launch->in,
		              &launch->out,     &launch->err,
		              &launch->control, &launch->root,
		              &launch->proc,    &launch->confine->landlock.ruleset };
	struct keeper keeper = { .status = SIGKILL };
	struct keeper_report report = { .kind = KEEPER_STARTED };
	bool killed;
	sigset_t set;

	/* Every other descriptor is the agent's: the channel, and what belongs to other streams.
	 * Low numbers matter too: the program's limit of descriptors may be small, and launch_run()
	 * puts the control socket on descriptor 3. */
	if (fd_renumber(kept, ARRAY_LEN(kept), &report.err) < 0)
		_exit(1); /* the agent then reports the keeper as lost */
	tree_use(launch->proc);
	keeper.agent = launch->agent;
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGCHLD); /* blocked by the agent already */
	keeper.signals = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	(void)clock_gettime(CLOCK_MONOTONIC, &keeper.started);
	if (!start_program(&keeper, launch, &report.err)) {
		report.kind = KEEPER_FAILED;
		send_report(&keeper, &report);
		_exit(0);
	}
	report.pid = keeper.main;
	send_report(&keeper, &report);
	set_deadline(&keeper, launch->exec->deadline_ms, launch->exec->grace_ms);
	watch_program(&keeper);
	report = (struct keeper_report){ .kind = KEEPER_EXITED };
	keeper.left = has_running_descendants(&keeper);
	if (keeper.left)
		tree_describe(report.left, sizeof report.left);
	killed = tree_kill_all(END_MS, on_reaped, &keeper);
	report_exit(&keeper, !killed, &report);
	_exit(0);
}
