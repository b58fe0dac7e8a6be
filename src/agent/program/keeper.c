#include "agent/program/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/program/launch.h"
#include "agent/program/tree.h"
#include "base/clock.h"
#include "base/fd.h"

enum { END_MS = 2000 };

struct keeper {
	int agent, signals;
	pid_t main; /* 0: it has ended */
	int status;
	uint64_t deadline, kill_at; /* 0: none */
	uint32_t grace_ms;
	bool timed_out, left, has_terminal;
	struct timespec started;
};

static void tell(const struct keeper *keeper, const struct keeper_report *report)
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

/* True: the program runs. Otherwise why not, in *err. */
static bool wait_for_start(int report, struct error *err)
{
	ssize_t n;

	do
		n = read(report, err, sizeof *err);
	while (n < 0 && errno == EINTR);
	return n == 0;
}

static bool start(struct keeper *keeper, const struct program *program, struct error *err)
{
	int report[2];

	if (pipe2(report, O_CLOEXEC) < 0) {
		(void)error_sys(err, "pipe");
		return false;
	}
	keeper->main = fork();
	if (keeper->main < 0) {
		(void)error_sys(err, "no room for another process in the sandbox");
		return false;
	}
	if (keeper->main == 0)
		launch(program, report[1]);
	(void)close(report[1]);
	(void)close(program->in);
	(void)close(program->out);
	/* One end of a terminal stays open here: it is not at its end while the program runs. */
	keeper->has_terminal = program->terminal;
	if (!program->terminal)
		(void)close(program->err);
	if (program->control >= 0)
		(void)close(program->control);
	if (!wait_for_start(report[0], err))
		return false;
	(void)close(report[0]);
	return true;
}

/* --- watching ---------------------------------------------------------------------- */

/* One that has come cannot be taken back. */
static void set_deadline(struct keeper *keeper, uint32_t deadline_ms, uint32_t grace_ms)
{
	if (keeper->timed_out)
		return;
	keeper->deadline = deadline_ms != 0 ? clock_now_ms() + deadline_ms : 0;
	keeper->grace_ms = grace_ms;
}

static void send_signal(const struct keeper *keeper, const struct keeper_order *order)
{
	pid_t group;

	switch ((enum wire_target)order->target) {
	case WIRE_TARGET_MAIN:
		if (keeper->main != 0)
			(void)kill(keeper->main, order->number);
		return;
	case WIRE_TARGET_FOREGROUND:
		group = keeper->has_terminal ? order->group : keeper->main;
		if (group > 1)
			(void)kill(-group, order->number);
		return;
	case WIRE_TARGET_TREE:
	case WIRE_TARGET_COUNT:
		(void)tree_signal(order->number);
		return;
	}
}

/* False: everything is to end now. */
static bool take_order(struct keeper *keeper)
{
	struct keeper_order order;
	ssize_t n = recv(keeper->agent, &order, sizeof order, MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return true;
	if (n != sizeof order || order.kind == KEEPER_END)
		return false;
	if (order.kind == KEEPER_SIGNAL)
		send_signal(keeper, &order);
	else
		set_deadline(keeper, order.deadline_ms, order.grace_ms);
	return true;
}

/* False: everything is to end now. */
static bool check_time(struct keeper *keeper)
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
	(void)tree_signal(SIGCONT); /* the stopped hear it too */
	return true;
}

static int time_out(const struct keeper *keeper)
{
	uint64_t at = keeper->kill_at != 0 ? keeper->kill_at : keeper->deadline;
	uint64_t now = clock_now_ms();

	if (at == 0)
		return -1;
	return at <= now ? 0 : (int)(at - now < 60000 ? at - now : 60000);
}

/* Until the program has ended, or is to be ended. */
static void watch(struct keeper *keeper)
{
	struct pollfd fds[] = { { keeper->agent, POLLIN, 0 }, { keeper->signals, POLLIN, 0 } };
	struct signalfd_siginfo info;

	while (keeper->main != 0) {
		(void)poll(fds, ARRAY_LEN(fds), time_out(keeper));
		if (fds[1].revents != 0) {
			(void)!read(keeper->signals, &info, sizeof info);
			(void)tree_reap(on_reaped, keeper);
		}
		if (fds[0].revents != 0 && !take_order(keeper))
			return;
		if (!check_time(keeper))
			return;
	}
}

/* --- ending ------------------------------------------------------------------------ */

static uint64_t micros(struct timeval t)
{
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_usec;
}

static uint64_t since(const struct timespec *start)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)((now.tv_sec - start->tv_sec) * 1000000 +
	                  (now.tv_nsec - start->tv_nsec) / 1000);
}

static void tell_exit(const struct keeper *keeper, bool remains)
{
	struct keeper_report report = { .kind = KEEPER_EXITED };
	struct wire_exited *exited = &report.exited;
	struct rusage used = { 0 };

	(void)getrusage(RUSAGE_CHILDREN, &used);
	exited->flags = (uint8_t)((keeper->timed_out ? WIRE_EXITED_TIMED_OUT : 0) |
	                          (keeper->left ? WIRE_EXITED_LEFT : 0) |
	                          (remains ? WIRE_EXITED_REMAINS : 0));
	if (WIFEXITED(keeper->status))
		exited->code = (uint8_t)WEXITSTATUS(keeper->status);
	else
		exited->signal = (uint8_t)WTERMSIG(keeper->status);
	exited->wall_us = since(&keeper->started);
	exited->user_us = micros(used.ru_utime);
	exited->system_us = micros(used.ru_stime);
	exited->max_rss_kib = (uint64_t)used.ru_maxrss;
	tell(keeper, &report);
}

void keeper_main(struct program *program)
{
	int *const kept[] = { &program->agent,   &program->in,
		              &program->out,     &program->err,
		              &program->control, &program->root,
		              &program->proc,    &program->confine->landlock.ruleset };
	struct keeper keeper = { .status = SIGKILL };
	struct keeper_report report = { .kind = KEEPER_STARTED };
	bool ended;
	sigset_t set;

	/* Every other descriptor is the agent's: the channel, and what belongs to other streams. Low
	 * numbers matter too: the program's limit of descriptors may be small, and launch() puts the
	 * control socket on descriptor 3. */
	if (fd_renumber(kept, ARRAY_LEN(kept), &report.err) < 0)
		_exit(1); /* the agent then reports the keeper as lost */
	tree_use(program->proc);
	keeper.agent = program->agent;
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGCHLD);
	keeper.signals = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	(void)clock_gettime(CLOCK_MONOTONIC, &keeper.started);
	if (!start(&keeper, program, &report.err)) {
		report.kind = KEEPER_REFUSED;
		tell(&keeper, &report);
		_exit(0);
	}
	report.pid = keeper.main;
	tell(&keeper, &report);
	set_deadline(&keeper, program->exec->deadline_ms, program->exec->grace_ms);
	watch(&keeper);
	keeper.left = keeper.main == 0 && tree_reap(on_reaped, &keeper);
	ended = tree_end(END_MS, on_reaped, &keeper);
	tell_exit(&keeper, !ended);
	_exit(0);
}
