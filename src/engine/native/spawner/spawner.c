/* spawner.c - the spawner process: its start, its loop and its end. */
#include "engine/native/spawner/spawner.h"

#include <errno.h>
#include <linux/capability.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/process/helper.h"
#include "base/rights/caps.h"
#include "engine/agent_image.h"
#include "engine/filter/filter.h"
#include "engine/native/spawner/internal.h"

enum {
	BUSY_MS = 2,     /* between two attempts to remove a cgroup */
	STOP_MS = 10000, /* for the removals that are under way at the end */
	HELD_MS = 1000,  /* for the spare's set-up, which usually takes a few milliseconds */
	REQUESTS_AT_A_TIME = 64,
	POLL_SOCKET = 0,
	POLL_SIGNALS = 1,
	POLL_SANDBOXES = 2, /* from here on: set-up pipes */
};

extern char **environ;

/* --- the start ------------------------------------------------------------------------ */

/* Returns a signalfd for SIGCHLD, by which poll(2) reports the death of a sandbox. */
static int open_signals(struct error *err)
{
	sigset_t children;
	int fd;

	(void)sigemptyset(&children);
	(void)sigaddset(&children, SIGCHLD);
	if (sigprocmask(SIG_SETMASK, &children, NULL) < 0)
		return error_sys(err, "block SIGCHLD");
	fd = signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd >= 0 ? fd : error_sys(err, "signalfd");
}

/* Keeps the capabilities that the spawner needs as root of the host: to make namespaces and mounts,
 * to give files away, to kill processes of other ids and to read their /proc entries. In a
 * container some of these are missing from the start; the spawner then works with the rest. */
static int drop_capabilities(struct error *err)
{
	const uint64_t needed = CAPS_BIT(CAP_CHOWN) | CAPS_BIT(CAP_DAC_OVERRIDE) |
	                        CAPS_BIT(CAP_DAC_READ_SEARCH) | CAPS_BIT(CAP_FOWNER) |
	                        CAPS_BIT(CAP_FSETID) | CAPS_BIT(CAP_KILL) | CAPS_BIT(CAP_SETUID) |
	                        CAPS_BIT(CAP_SETGID) | CAPS_BIT(CAP_SETFCAP) |
	                        CAPS_BIT(CAP_SYS_ADMIN) | CAPS_BIT(CAP_SYS_PTRACE) |
	                        /* An oom_score_adj that was set with CAP_SYS_RESOURCE cannot be
	                         * lowered inside. */
	                        CAPS_BIT(CAP_SYS_RESOURCE);
	uint64_t have;

	if (caps_get(&have, err) < 0)
		return -1;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return error_sys(err, "set no_new_privs");
	if (caps_bound_none(err) < 0)
		return -1;
	return caps_set(needed & have, false, err);
}

/* In the other modes the spawner's capabilities are worth nothing outside its user namespace. The
 * spawner also stays dumpable there: children inherit the flag, a non-dumpable process's /proc
 * entry belongs to root, and an ordinary user could then not write their id maps. */
static int confine_spawner(const struct spawner *spawner, struct error *err)
{
	if (spawner->host.userns.mode != USERNS_ROOT)
		return 0;
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	return drop_capabilities(err);
}

static int set_up_spawner(struct spawner *spawner, const struct spawner_options *options,
                          struct error *err)
{
	const int keep[] = { spawner->socket, options->instance_lock, options->instances };

	if (helper_begin("belljar-spawner", keep, ARRAY_LEN(keep), err) < 0)
		return -1;
	/* The server's environment may hold tokens, and children inherit it. */
	environ = NULL;
	(void)umask(077);
	/* opendir(3) allocates 32 KiB for each directory of the skeleton: the heap keeps them. */
	(void)mallopt(M_TRIM_THRESHOLD, 1 << 20);
	/* Each running sandbox takes several descriptors here. */
	(void)fd_raise_limit();
	spawner->signals = open_signals(err);
	if (spawner->signals < 0 || host_resources_open(&spawner->host, options, err) < 0)
		return -1;
	return confine_spawner(spawner, err);
}

/* The server has no rights in the cgroup tree. The server gets open files to read the counters
 * from, not the directory: openat(2) of ".." would lead from there through the whole tree. */
void spawner_reply_started(struct replies *replies, const struct host_resources *host,
                           struct spawner_sandbox *sandbox)
{
	struct engine_reply reply = { .number = sandbox->number,
		                      .pid = (uint32_t)sandbox->pid,
		                      .user = { SPEC_UID, SPEC_GID,
		                                host->userns.mode == USERNS_SINGLE_ID,
		                                filter_is_inherited(sandbox->syscalls), "" },
		                      .cgroups = host->cgroups.kind };
	int counters[CGROUP_COUNTER_FILES];

	cgroup_open_counters(&sandbox->cgroup, counters);
	replies_add_started(replies, &reply, TAKE_FD(sandbox->channel), counters);
}

static void report_ready(struct spawner *spawner)
{
	const struct host_resources *host = &spawner->host;
	struct spawner_report found = { .mode = host->userns.mode,
		                        .cgroups = host->cgroups.kind,
		                        .cgroup_limits = host->cgroups.has,
		                        .disk = host->disk.kind,
		                        .usr_is_single_mount = host->tree.usr_is_single_mount,
		                        .taken_blocks = host->taken_blocks,
		                        .taken_why = host->taken_why };
	struct engine_report *report = mem_new(sizeof *report);

	memcpy(found.unlisted, host->unlisted, sizeof found.unlisted);
	(void)snprintf(found.mode_why, sizeof found.mode_why, "%s", host->userns.why);
	(void)snprintf(found.groups, sizeof found.groups, "%s", host->userns.groups);
	(void)snprintf(found.cgroups_why, sizeof found.cgroups_why, "%s", host->cgroups.why);
	(void)snprintf(found.disk_why, sizeof found.disk_why, "%s", host->disk.why);
	spawner_report_layers(&found, report);
	replies_add_report(&spawner->replies, report);
	free(report);
}

/* --- the loop ------------------------------------------------------------------------- */

/* Keeps the request for the next call while the spare for it is being set up. */
static bool hold_request(struct spawner *spawner, const struct engine_request *request)
{
	uint64_t now = clock_now_ms();

	if (spawner->held_until_ms == 0)
		spawner->held_until_ms = now + HELD_MS;
	if (now < spawner->held_until_ms && spare_is_coming(spawner, request))
		return true;
	spawner->held_until_ms = 0;
	return false;
}

/* With MSG_TRUNC, recv(2) returns the real length of a packet. A packet that does not have the
 * length of a request is ignored. False: the server has closed its end. */
static bool receive_requests(struct spawner *spawner)
{
	static struct engine_request request;

	/* A REQUEST_LIST has a reply for each sandbox, so the queue is checked before each request
	 * and not only before the first. */
	for (int i = 0; i < REQUESTS_AT_A_TIME && spawner->replies.count < REPLIES_MANY; i++) {
		ssize_t n = sizeof request;

		if (spawner->held_until_ms == 0)
			n = recv(spawner->socket, &request, sizeof request,
			         MSG_DONTWAIT | MSG_TRUNC);
		if (n < 0)
			return errno == EAGAIN || errno == EINTR;
		if (n == 0)
			return false;
		if (n != (ssize_t)sizeof request)
			continue;
		if (hold_request(spawner, &request))
			return true;
		spawner->last_request_ms = clock_now_ms();
		spawner_handle_request(spawner, &request);
	}
	return true;
}

static int poll_timeout_ms(const struct spawner *spawner, bool busy)
{
	const int timeouts[] = { limit_watch_timeout_ms(spawner), spare_timeout_ms(spawner),
		                 busy ? BUSY_MS : -1, spawner->held_until_ms != 0 ? HELD_MS : -1 };
	int least = -1;

	for (size_t i = 0; i < ARRAY_LEN(timeouts); i++)
		if (timeouts[i] >= 0 && (least < 0 || timeouts[i] < least))
			least = timeouts[i];
	return least;
}

static size_t fill_polled(struct spawner *spawner, struct pollfd *polled,
                          struct spawner_sandbox **sandboxes)
{
	size_t count = POLL_SANDBOXES;

	polled[POLL_SOCKET] = (struct pollfd){ spawner->socket, 0, 0 };
	if (spawner->replies.count < REPLIES_MANY && spawner->held_until_ms == 0)
		polled[POLL_SOCKET].events |= POLLIN;
	if (spawner->replies.count != 0)
		polled[POLL_SOCKET].events |= POLLOUT;
	polled[POLL_SIGNALS] = (struct pollfd){ spawner->signals, POLLIN, 0 };
	for (size_t i = 0; i < spawner->sandbox_top; i++) {
		struct spawner_sandbox *sandbox = &spawner->sandboxes[i];

		if (sandbox->number == 0 || sandbox->setup_pipe < 0)
			continue;
		sandboxes[count] = sandbox;
		polled[count++] = (struct pollfd){ sandbox->setup_pipe, POLLIN, 0 };
	}
	return count;
}

static void drain_signals(struct spawner *spawner)
{
	struct signalfd_siginfo info[8];

	while (read(spawner->signals, info, sizeof info) > 0)
		;
}

/* Copying the agent's program into a memfd takes longer than starting a sandbox, so the next copy
 * is made while no request waits. */
static void prepare_image(struct spawner *spawner)
{
	struct error err;

	if (spawner->next_image < 0)
		spawner->next_image = agent_image_open(AGENT_IN_SANDBOX, NULL, &err);
}

/* Returns when the server has closed its end. */
static void run_loop(struct spawner *spawner)
{
	static struct pollfd polled[POLL_SANDBOXES + SANDBOXES_MAX];
	static struct spawner_sandbox *sandboxes[POLL_SANDBOXES + SANDBOXES_MAX];
	bool busy = false;

	for (;;) {
		size_t count = fill_polled(spawner, polled, sandboxes);
		int n = poll(polled, count, poll_timeout_ms(spawner, busy));

		if (n < 0 && errno != EINTR)
			return;
		for (size_t i = POLL_SANDBOXES; n > 0 && i < count; i++)
			if (polled[i].revents != 0)
				spawner_check_started(spawner, sandboxes[i]);
		if (n > 0 && polled[POLL_SIGNALS].revents != 0)
			drain_signals(spawner);
		spawner_reap(spawner);
		if (((n > 0 && (polled[POLL_SOCKET].revents & ~POLLOUT) != 0) ||
		     spawner->held_until_ms != 0) &&
		    !receive_requests(spawner))
			return;
		busy = spawner_finish_dead(spawner);
		limit_watch_check(spawner);
		if (!replies_flush(&spawner->replies, spawner->socket))
			return;
		spare_update(spawner);
		prepare_image(spawner);
	}
}

/* --- the end -------------------------------------------------------------------------- */

static bool is_removing(const struct spawner *spawner)
{
	for (size_t i = 0; i < JANITORS_MAX; i++)
		if (spawner->janitors[i].pid != 0)
			return true;
	return spawner->removal_count != 0;
}

/* Kills all sandboxes and waits until their cgroups are empty and removals are done, STOP_MS at
 * most: the next start sweeps what is left. */
static void stop_sandboxes(struct spawner *spawner)
{
	uint64_t deadline = clock_now_ms() + STOP_MS;
	bool busy = true;

	for (size_t i = 0; i < spawner->sandbox_top; i++)
		if (spawner->sandboxes[i].number != 0)
			spawner_sandbox_kill(&spawner->sandboxes[i], ENGINE_END_KILLED);
	while (busy && clock_now_ms() < deadline) {
		spawner_reap(spawner);
		(void)spawner_finish_dead(spawner);
		busy = spawner->sandbox_top != 0 || is_removing(spawner);
		if (busy)
			(void)poll(&(struct pollfd){ spawner->signals, POLLIN, 0 }, 1, BUSY_MS);
		drain_signals(spawner);
	}
	host_resources_close(&spawner->host);
}

static NORETURN void run_spawner(void *ctx, int socket)
{
	const struct spawner_options *options = ctx;
	struct spawner *spawner = mem_new(sizeof *spawner);
	struct error err;

	spawner->socket = socket;
	spawner->next_image = -1;
	spawner->connect = options->connect;
	spawner->ctx = options->ctx;
	replies_init(&spawner->replies);
	if (set_up_spawner(spawner, options, &err) < 0) {
		replies_add_failure(&spawner->replies, REPLY_READY, 0, &err);
		(void)replies_flush(&spawner->replies, spawner->socket);
		_exit(1);
	}
	report_ready(spawner);
	(void)replies_flush(&spawner->replies, spawner->socket);
	spare_start_first(spawner, options->first);
	sandbox_dirs_sweep(spawner);
	prepare_image(spawner);
	run_loop(spawner);
	stop_sandboxes(spawner);
	_exit(0);
}

int spawner_start(struct spawner_options *options, pid_t *pid, int *socket, struct error *err)
{
	if (options->mount_count > BASE_TREE_MOUNTS_MAX)
		return error_set(err, ERR_LIMIT,
		                 "%zu directories of the host to mount: "
		                 "at most %d are possible",
		                 options->mount_count, BASE_TREE_MOUNTS_MAX);
	return helper_start("spawner", run_spawner, options, pid, socket, err);
}
