#include "engine/native/spawner/spawner.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/rights/caps.h"
#include "engine/native/spawner/spare.h"
#include "engine/native/spawner/spawner_internal.h"
#include "engine/native/usage/watch.h"

enum { BUSY_MS = 2, END_MS = 10000, FIRST_POLLED = 2, ANSWERS_MANY = 1024 };

extern char **environ;

/* --- becoming ----------------------------------------------------------------------- */

/* Only what is named stays open; above all not the server's end of the socket. */
static int close_others(const struct spawner_config *config, int socket, struct error *err)
{
	const int keep[] = { socket, config->keep_fd, config->servers };

	return fd_close_others(keep, ARRAY_LEN(keep), err);
}

/* Whoever reads the server's output waits for its end, not for ours. */
static int leave_standard_streams(struct error *err)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0)
		return error_sys(err, "/dev/null");
	if (null > STDERR_FILENO)
		(void)close(null);
	return 0;
}

/* The server's end tells us when to go, not a terminal. */
static int ignore_signals(struct error *err)
{
	static const int ignored[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGTSTP };
	sigset_t children;

	for (size_t i = 0; i < ARRAY_LEN(ignored); i++)
		(void)signal(ignored[i], SIG_IGN);
	(void)signal(SIGCHLD, SIG_DFL);
	(void)sigemptyset(&children);
	(void)sigaddset(&children, SIGCHLD);
	if (sigprocmask(SIG_SETMASK, &children, NULL) < 0)
		return error_sys(err, "block SIGCHLD");
	return signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* Keeps what the spawner needs as root of the host: to make namespaces and mounts, to give files
 * away, to kill processes of other ids and to read their /proc entries. In a container some of
 * these are missing from the start; the spawner then works with the rest. */
static int drop_rights(struct error *err)
{
	const uint64_t needed = CAPS_BIT(CAP_CHOWN) | CAPS_BIT(CAP_DAC_OVERRIDE) |
	                        CAPS_BIT(CAP_DAC_READ_SEARCH) | CAPS_BIT(CAP_FOWNER) |
	                        CAPS_BIT(CAP_FSETID) | CAPS_BIT(CAP_KILL) | CAPS_BIT(CAP_SETUID) |
	                        CAPS_BIT(CAP_SETGID) | CAPS_BIT(CAP_SETFCAP) |
	                        CAPS_BIT(CAP_SYS_ADMIN) | CAPS_BIT(CAP_SYS_PTRACE) |
	                        /* An oom_score_adj set with it cannot be lowered inside. */
	                        CAPS_BIT(CAP_SYS_RESOURCE);
	uint64_t have;

	if (caps_get(&have, err) < 0)
		return -1;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return error_sys(err, "refuse new privileges");
	if (caps_bound_none(err) < 0)
		return -1;
	return caps_set(needed & have, false, err);
}

static int become(struct spawner *spawner, const struct spawner_config *config, struct error *err)
{
	struct rlimit files;

	if (close_others(config, spawner->socket, err) < 0 || leave_standard_streams(err) < 0)
		return -1;
	environ = NULL;
	(void)umask(077);
	(void)prctl(PR_SET_NAME, "belljar-spawner", 0, 0, 0);
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &files);
	}
	spawner->signals = ignore_signals(err);
	if (spawner->signals < 0)
		return error_sys(err, "signalfd");
	if (workshop_open(&spawner->shop, config, err) < 0)
		return -1;
	if (spawner->shop.home.mode != HOME_ROOT)
		return 0; /* what we have is worth nothing outside our namespace */
	/* For an ordinary user this would hide our children's id maps from us. */
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	return drop_rights(err);
}

static void tell_ready(struct spawner *spawner)
{
	const struct workshop *shop = &spawner->shop;
	struct answer answer = { .kind = ANSWER_READY };
	struct native_report *report = &answer.report;

	report->mode = shop->home.mode;
	report->groups = shop->groups.kind;
	report->has = shop->groups.has;
	report->disk = shop->disk.kind;
	report->usr_is_whole = shop->home.usr_is_whole;
	(void)snprintf(report->mode_why, sizeof report->mode_why, "%s", shop->home.why);
	(void)snprintf(report->groups_why, sizeof report->groups_why, "%s", shop->groups.why);
	(void)snprintf(report->disk_why, sizeof report->disk_why, "%s", shop->disk.why);
	answers_add(&spawner->answers, &answer, NULL, 0);
}

/* --- the loop ----------------------------------------------------------------------- */

/* False: the server is gone. */
static bool take_requests(struct spawner *spawner)
{
	static struct request request;

	for (int i = 0; i < 64; i++) {
		ssize_t n = recv(spawner->socket, &request, sizeof request,
		                 MSG_DONTWAIT | MSG_TRUNC);

		if (n < 0)
			return errno == EAGAIN || errno == EINTR;
		if (n == 0)
			return false;
		if (n == (ssize_t)sizeof request) {
			spawner->asked = clock_now_ms();
			spawner_take(spawner, &request);
		}
	}
	return true;
}

static int time_out(const struct spawner *spawner, bool busy)
{
	const int wishes[] = { watch_interval(spawner), spare_interval(spawner),
		               busy ? BUSY_MS : -1 };
	int least = -1;

	for (size_t i = 0; i < ARRAY_LEN(wishes); i++)
		if (wishes[i] >= 0 && (least < 0 || wishes[i] < least))
			least = wishes[i];
	return least;
}

static size_t fill_polled(struct spawner *spawner, struct pollfd *polled, struct box **boxes)
{
	size_t count = FIRST_POLLED;

	polled[0] = (struct pollfd){ spawner->socket, 0, 0 };
	if (spawner->answers.count < ANSWERS_MANY)
		polled[0].events |= POLLIN;
	if (spawner->answers.count != 0)
		polled[0].events |= POLLOUT;
	polled[1] = (struct pollfd){ spawner->signals, POLLIN, 0 };
	for (size_t i = 0; i < spawner->box_top; i++)
		if (spawner->boxes[i].number != 0 && spawner->boxes[i].report >= 0) {
			boxes[count] = &spawner->boxes[i];
			polled[count++] = (struct pollfd){ spawner->boxes[i].report, POLLIN, 0 };
		}
	return count;
}

static void drain_signals(struct spawner *spawner)
{
	struct signalfd_siginfo info[8];

	while (read(spawner->signals, info, sizeof info) > 0)
		;
}

static void serve(struct spawner *spawner)
{
	static struct pollfd polled[FIRST_POLLED + BOXES_MAX];
	static struct box *boxes[FIRST_POLLED + BOXES_MAX];
	bool busy = false;

	for (;;) {
		size_t count = fill_polled(spawner, polled, boxes);
		int n = poll(polled, count, time_out(spawner, busy));

		if (n < 0 && errno != EINTR)
			return;
		for (size_t i = FIRST_POLLED; n > 0 && i < count; i++)
			if (polled[i].revents != 0)
				spawner_started(spawner, boxes[i]);
		if (n > 0 && polled[1].revents != 0)
			drain_signals(spawner);
		spawner_reap(spawner);
		if (n > 0 && (polled[0].revents & ~POLLOUT) != 0 && !take_requests(spawner))
			return;
		busy = spawner_bury(spawner);
		watch_look(spawner);
		if (!answers_flush(&spawner->answers))
			return;
		spare_tend(spawner);
		box_prepare(&spawner->image);
	}
}

static bool is_removing(const struct spawner *spawner)
{
	for (size_t i = 0; i < JANITORS_MAX; i++)
		if (spawner->janitors[i].pid != 0)
			return true;
	return spawner->erase_count != 0;
}

/* The server is gone. So is everything it asked for, and nothing is left half removed. */
static void end(struct spawner *spawner)
{
	uint64_t until = clock_now_ms() + END_MS;
	bool busy = true;

	for (size_t i = 0; i < spawner->box_top; i++)
		if (spawner->boxes[i].number != 0)
			box_kill(&spawner->boxes[i], ENGINE_END_KILLED);
	while (busy && clock_now_ms() < until) {
		spawner_reap(spawner);
		(void)spawner_bury(spawner);
		busy = spawner->box_top != 0 || is_removing(spawner);
		if (busy)
			(void)poll(&(struct pollfd){ spawner->signals, POLLIN, 0 }, 1, BUSY_MS);
		drain_signals(spawner);
	}
	workshop_close(&spawner->shop);
}

static NORETURN void run(const struct spawner_config *config, int socket)
{
	struct spawner *spawner = mem_new(sizeof *spawner);
	struct answer answer = { .kind = ANSWER_READY, .failed = true };

	spawner->socket = socket;
	spawner->image.fd = -1;
	answers_init(&spawner->answers, socket);
	if (become(spawner, config, &answer.err) < 0) {
		answers_add(&spawner->answers, &answer, NULL, 0);
		(void)answers_flush(&spawner->answers);
		_exit(1);
	}
	tell_ready(spawner);
	spare_sweep(spawner);
	box_prepare(&spawner->image);
	serve(spawner);
	end(spawner);
	_exit(0);
}

int spawner_start(const struct spawner_config *config, pid_t *pid, int *socket, struct error *err)
{
	int fds[2];

	if (config->mount_count > HOME_MOUNTS_MAX)
		return error_set(err, ERR_LIMIT, "%zu directories to mount: at most %d",
		                 config->mount_count, HOME_MOUNTS_MAX);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0)
		return error_sys(err, "a socket for the spawner");
	*pid = fork();
	if (*pid == 0)
		run(config, fds[1]);
	(void)close(fds[1]);
	if (*pid < 0) {
		(void)error_sys(err, "start the spawner");
		(void)close(fds[0]);
		return -1;
	}
	*socket = fds[0];
	return 0;
}
