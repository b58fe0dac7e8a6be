/* spawner_sandbox.c - one sandbox from clone3(2) to its last process. */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "engine/agent_image.h"
#include "engine/native/spawner/internal.h"

/* CLONE_NEWCGROUP is missing: the root of a cgroup namespace is the cgroup the process is in when
 * it is created, and for cgroups of version 1 the process moves itself only later. */
enum {
	NAMESPACES = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC |
	             CLONE_NEWUTS,
};

/* If the whole machine runs out of memory, the kernel kills sandboxes before programs of the
 * host. */
#define OOM_SCORE "500"

/* --- the parent's half of the set-up ------------------------------------------------- */

/* Writes through the descriptor of the host's /proc that userns_enter() has checked. The pid cannot
 * have been reused: the child is not reaped yet. */
static int write_proc(const struct host_resources *host, const struct spawner_sandbox *sandbox,
                      const char *file, const char *text, struct error *err)
{
	char path[64];
	AUTO_FD int fd = -1;

	(void)snprintf(path, sizeof path, "%d/%s", sandbox->pid, file);
	fd = openat(host->userns.proc, path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		return error_sys(err, "write %s", file);
	return 0;
}

static int write_id_map(const struct host_resources *host, const struct spawner_sandbox *sandbox,
                        const char *file, bool gids, struct error *err)
{
	char text[IDS_MAP_SIZE];

	ids_map(&host->userns, &sandbox->ids, gids, text);
	return write_proc(host, sandbox, file, text, err);
}

/* The kernel lets any process of a user namespace write its projid_map once, without a capability.
 * Written here, it maps only the sandbox's own project: a program inside can name no other, whose
 * quota is another sandbox's. In the other modes the spawner's own namespace has no project mapped,
 * so none can be mapped below it. */
static int write_project_map(const struct host_resources *host,
                             const struct spawner_sandbox *sandbox, struct error *err)
{
	char text[32];

	if (host->userns.mode != USERNS_ROOT)
		return 0;
	(void)snprintf(text, sizeof text, "0 %u 1", sandbox->ids.number);
	return write_proc(host, sandbox, "projid_map", text, err);
}

static int write_maps(const struct host_resources *host, const struct spawner_sandbox *sandbox,
                      int maps_written, struct error *err)
{
	if (write_proc(host, sandbox, "oom_score_adj", OOM_SCORE, err) < 0 ||
	    write_id_map(host, sandbox, "uid_map", false, err) < 0 ||
	    write_id_map(host, sandbox, "gid_map", true, err) < 0 ||
	    write_project_map(host, sandbox, err) < 0)
		return -1;
	return write(maps_written, "x", 1) == 1 ? 0 : error_sys(err, "start the sandbox");
}

/* CLONE_INTO_CGROUP: the process is in its cgroup from its first instruction on, so there is no
 * moment in which it could fork outside the limits. */
static pid_t clone_child(const struct cgroup *cgroup)
{
	struct clone_args args = { .flags = (uint64_t)NAMESPACES | (uint64_t)CLONE_CLEAR_SIGHAND,
		                   .exit_signal = SIGCHLD };

	if (cgroup->unified >= 0) {
		args.flags |= (uint64_t)CLONE_INTO_CGROUP;
		args.cgroup = (unsigned)cgroup->unified;
	}
	return (pid_t)syscall(SYS_clone3, &args, sizeof args);
}

/* A sandbox keeps at most 10 of them; the others are closed after its set-up. */
enum { DESCRIPTORS_NEEDED = 24 };

struct setup_fds {
	int channel[2], maps_written[2], setup_pipe[2];
};

static void close_setup_fds(const struct setup_fds *fds)
{
	const int all[] = { fds->channel[0],      fds->channel[1],    fds->maps_written[0],
		            fds->maps_written[1], fds->setup_pipe[0], fds->setup_pipe[1] };

	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		if (all[i] >= 0)
			(void)close(all[i]);
}

static int open_setup_fds(struct setup_fds *fds, struct error *err)
{
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds->channel) < 0)
		return error_sys(err, "make a socket for the channel");
	if (pipe2(fds->maps_written, O_CLOEXEC) < 0 || pipe2(fds->setup_pipe, O_CLOEXEC) < 0)
		return error_sys(err, "make the pipes of the set-up");
	return 0;
}

/* Without this check the error would name the step of the set-up at which the descriptors ran out.
 * RLIMIT_NOFILE bounds the numbers, which the kernel gives out from the lowest on. */
static int check_descriptors(int any, struct error *err)
{
	int fds[DESCRIPTORS_NEEDED];
	size_t count = 0;
	bool is_enough;

	while (count < ARRAY_LEN(fds) && (fds[count] = fcntl(any, F_DUPFD_CLOEXEC, 0)) >= 0)
		count++;
	is_enough = count == ARRAY_LEN(fds);
	while (count > 0)
		(void)close(fds[--count]);
	errno = EMFILE;
	return is_enough ? 0
	                 : error_sys(err, "the spawner has no descriptors left for one more "
	                                  "sandbox: delete sandboxes, or wait until some are "
	                                  "asleep");
}

static int start_child(const struct host_resources *host, struct spawner_sandbox *sandbox,
                       struct child_setup *setup, struct error *err)
{
	struct setup_fds fds = { { -1, -1 }, { -1, -1 }, { -1, -1 } };
	int r = open_setup_fds(&fds, err);

	if (r == 0) {
		setup->channel = fds.channel[1];
		setup->maps_written = fds.maps_written[0];
		setup->setup_pipe = fds.setup_pipe[1];
		sandbox->pid = clone_child(&sandbox->cgroup);
		if (sandbox->pid == 0)
			child_setup_run(setup);
		sandbox->channel = TAKE_FD(fds.channel[0]);
		sandbox->setup_pipe = TAKE_FD(fds.setup_pipe[0]);
		r = sandbox->pid < 0 ? error_sys(err, "clone a process into new namespaces")
		                     : write_maps(host, sandbox, fds.maps_written[1], err);
	}
	close_setup_fds(&fds);
	return r;
}

/* Every sandbox has a copy of the agent's program of its own: a program that finds a way to write
 * to PID 1's file (CVE-2019-5736) reaches neither the host's nor another sandbox's. */
static int take_image(int *ahead, struct error *err)
{
	int image = TAKE_FD(*ahead);

	return image >= 0 ? image : agent_image_open(AGENT_IN_SANDBOX, NULL, err);
}

int spawner_sandbox_start(struct host_resources *host, int *image,
                          const struct engine_request *request, struct spawner_sandbox *sandbox,
                          struct error *err)
{
	static struct mount_plan plan;
	AUTO_FD int own_image = -1;
	struct child_setup setup = {
		.mode = host->userns.mode,
		.plan = &plan,
		.spec = &request->spec,
		.limits = &sandbox->limits,
		.limit_memory = (host->cgroups.has & CGROUP_HAS_MEMORY) == 0,
		.lower_priority = (host->cgroups.has & CGROUP_HAS_CPU) == 0,
		.cgroup = &sandbox->cgroup,
	};

	*sandbox = (struct spawner_sandbox){ .number = request->number,
		                             .pid = -1,
		                             .setup_pipe = -1,
		                             .channel = -1,
		                             .dir = -1,
		                             .image_fs = -1,
		                             .is_fresh = request->spec.fresh,
		                             .limits = request->spec.limits,
		                             .syscalls = request->spec.syscalls,
		                             .end = ENGINE_END_AGENT_DIED };
	memcpy(sandbox->id, request->spec.id, sizeof sandbox->id);
	sandbox->cgroup.unified = -1;
	for (int i = 0; i < V1_COUNT; i++)
		sandbox->cgroup.v1[i] = -1;
	if (check_descriptors(host->userns.proc, err) < 0 ||
	    kernel_shares_fit(&host->shares, &sandbox->limits, err) < 0 ||
	    mount_plan_make(host->userns.mode, &host->tree, &host->skeleton, &host->shares,
	                    host->gpus, &request->spec, &plan, err) < 0)
		return -1;
	if ((sandbox->is_fresh ? sandbox_dir_create : sandbox_dir_wake)(host, sandbox, err) < 0)
		return -1;
	/* All limits are in force before the first process exists. */
	if (cgroup_create(&host->cgroups, sandbox->id, &sandbox->limits, &sandbox->cgroup, err) < 0)
		return -1;
	own_image = take_image(image, err);
	if (own_image < 0)
		return -1;
	setup.file_max = limit_watch_is_needed(host, sandbox) ? spec_file_max(&sandbox->limits)
	                                                      : sandbox->limits.file_size;
	setup.image = own_image;
	setup.image_fs = sandbox->image_fs;
	return start_child(host, sandbox, &setup, err);
}

/* --- the check from outside ----------------------------------------------------------- */

enum { AGENT_CAPS = 1 << CAP_SETUID | 1 << CAP_SETGID | 1 << CAP_KILL };

/* Lines of /proc/PID/status. With `is_upper_bound` the value may have fewer bits: the agent gives
 * capabilities up itself as soon as it runs, and in the mode USERNS_SINGLE_ID it has none. */
static const struct status_line {
	const char *name;
	int base;
	bool is_upper_bound;
	unsigned long long value;
} status_lines[] = {
	{ "\nCapInh:\t", 16, true, AGENT_CAPS }, { "\nCapPrm:\t", 16, true, AGENT_CAPS },
	{ "\nCapEff:\t", 16, true, AGENT_CAPS }, { "\nCapBnd:\t", 16, false, 0 },
	{ "\nNoNewPrivs:\t", 10, false, 1 },     { "\nSeccomp:\t", 10, false, 2 },
};

static bool is_status_as_expected(const struct status_line *line, unsigned long long value,
                                  bool single_id)
{
	if (!line->is_upper_bound)
		return value == line->value;
	return (value & ~(single_id ? 0ULL : line->value)) == 0;
}

/* Whether the new process is confined is asked from the kernel and not from the process: an error
 * in the set-up that goes unnoticed must not hand an open sandbox to the server. */
static int check_confinement(const struct userns *userns, pid_t pid, struct error *err)
{
	char path[32], text[8192];
	AUTO_FD int fd = -1;
	ssize_t n;

	(void)snprintf(path, sizeof path, "%d/status", pid);
	fd = openat(userns->proc, path, O_RDONLY | O_CLOEXEC);
	n = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
	if (n <= 0)
		return error_sys(err, "read the status of the new sandbox");
	text[n] = '\0';
	for (size_t i = 0; i < ARRAY_LEN(status_lines); i++) {
		const struct status_line *line = &status_lines[i];
		const char *found = strstr(text, line->name);
		unsigned long long value = found != NULL ? strtoull(found + strlen(line->name),
		                                                    NULL, line->base)
		                                         : ~0ULL;

		if (!is_status_as_expected(line, value, userns->mode == USERNS_SINGLE_ID))
			return error_set(err, ERR_SYSTEM,
			                 "the new sandbox is not confined: %.*s is %llx",
			                 (int)strlen(line->name) - 3, line->name + 1, value);
	}
	return 0;
}

/* The child's end of the pipe is close-on-exec: end of file means that execve(2) of the agent
 * succeeded. */
int spawner_sandbox_check_started(const struct host_resources *host,
                                  struct spawner_sandbox *sandbox, struct error *err)
{
	ssize_t n = read(sandbox->setup_pipe, err, sizeof *err);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	(void)close(sandbox->setup_pipe);
	sandbox->setup_pipe = -1;
	if (n == (ssize_t)sizeof *err) {
		err->msg[sizeof err->msg - 1] = '\0';
		return -1;
	}
	if (n != 0)
		return error_set(err, ERR_SYSTEM, "the sandbox ended while it was set up");
	return check_confinement(&host->userns, sandbox->pid, err) < 0 ? -1 : 1;
}

/* --- the end -------------------------------------------------------------------------- */

/* A frozen task cannot handle SIGKILL, so the cgroup is thawed. The first process is PID 1 of its
 * namespace: with it the kernel kills all others, also where there is no cgroup to kill. */
void spawner_sandbox_kill(struct spawner_sandbox *sandbox, enum engine_end end)
{
	if (sandbox->is_dead)
		return;
	sandbox->is_killed = true;
	if (sandbox->end == ENGINE_END_AGENT_DIED)
		sandbox->end = end;
	cgroup_freeze(&sandbox->cgroup, false);
	if (sandbox->pid > 0)
		(void)kill(sandbox->pid, SIGKILL);
	cgroup_kill(&sandbox->cgroup);
}

/* The first failure is the cause; later ones follow from it. */
void spawner_sandbox_fail(struct spawner_sandbox *sandbox, const struct error *why)
{
	if (!sandbox->failed)
		sandbox->why = *why;
	sandbox->failed = true;
	if (sandbox->pid > 0)
		spawner_sandbox_kill(sandbox, ENGINE_END_AGENT_DIED);
	else
		sandbox->is_dead = true;
}

bool spawner_sandbox_finish(struct spawner *spawner, struct spawner_sandbox *sandbox)
{
	if (!cgroup_remove(&sandbox->cgroup) || !sandbox_dir_unmount(spawner, sandbox))
		return false;
	if (sandbox->setup_pipe >= 0)
		(void)close(sandbox->setup_pipe);
	if (sandbox->channel >= 0)
		(void)close(sandbox->channel);
	sandbox->setup_pipe = sandbox->channel = -1;
	sandbox_dir_close(sandbox);
	return true;
}
