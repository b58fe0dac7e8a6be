/* child_setup.c - the first process of a sandbox, from clone3(2) to the agent.
 *
 * The order matters. Each step needs a right that a later one gives up: cgroup and descriptors
 * first, while the host's cgroup files are open; then ids; mounts, network and host name while the
 * process has CAP_SYS_ADMIN in its namespaces; then limits, capabilities, and the seccomp filter
 * last, because it forbids the system calls of all other steps. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/keyctl.h>
#include <linux/securebits.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/rights/caps.h"
#include "engine/agent_image.h"
#include "engine/filter/filter.h"
#include "engine/native/spawner/internal.h"

enum { AGENT_FILES = 4096, LOWER_PRIORITY = 10 };

/* --- descriptors, parent, session --------------------------------------------------- */

/* Closes the spawner's descriptors and those of other sandboxes that start at the same time: an
 * open directory of the host would lead out of every later root (CVE-2024-21626). The order puts
 * the channel and the image on the numbers that agent_image_exec() gives them, so that it
 * overwrites none of the others. */
static int close_inherited_fds(struct child_setup *setup, struct error *err)
{
	int *const own[] = { &setup->channel, &setup->image, &setup->maps_written,
		             &setup->setup_pipe, &setup->image_fs };
	const int kept[] = { setup->channel, setup->image, setup->maps_written, setup->setup_pipe,
		             setup->image_fs };

	/* fd_renumber() needs free descriptor numbers. At RLIMIT_NOFILE there are some only after
	 * the descriptors of other sandboxes are closed. */
	if (fd_close_others(kept, ARRAY_LEN(kept), err) < 0)
		return -1;
	return fd_renumber(own, ARRAY_LEN(own), err);
}

/* The sandbox must not outlive the spawner. If the spawner died before the prctl(2), no signal
 * comes, but then read(2) returns end of file: close_inherited_fds() has closed this process's copy
 * of the writing end. getppid(2) is no help: it returns 0 for a parent in another pid
 * namespace. */
static int wait_for_maps(const struct child_setup *setup, struct error *err)
{
	char byte;

	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		return error_sys(err, "set the parent-death signal");
	if (read(setup->maps_written, &byte, 1) != 1)
		return error_set(err, ERR_SYSTEM, "the spawner has exited");
	/* The cgroup this process is in now is the root of the new namespace, so /proc/self/cgroup
	 * inside shows "/" and not where the sandbox is on the host. */
	if (unshare(CLONE_NEWCGROUP) < 0)
		return error_sys(err, "make a cgroup namespace");
	return 0;
}

/* A controlling terminal would let a program type into it with TIOCSTI (CVE-2017-5226). Key rings
 * belong to no namespace: a new session key ring holds none of the spawner's keys. umask, signal
 * mask and personality are inherited across execve(2) and are set to their defaults. */
static int leave_session(struct error *err)
{
	sigset_t none;

	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	if (setsid() < 0 && errno != EPERM)
		return error_sys(err, "begin a session");
	if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) < 0 && errno != ENOSYS)
		return error_sys(err, "leave the key ring");
	(void)umask(022);
	(void)personality(PER_LINUX);
	return 0;
}

/* Capabilities in the sandbox's user namespace stay: the kernel clears them only on a change from
 * the namespace's id 0, and the spawner's own id is not mapped there. With a single id setgroups(2)
 * is denied, so the user's groups stay in force on files of the host. */
static int become_agent_user(const struct child_setup *setup, struct error *err)
{
	unsigned id = setup->mode == USERNS_SINGLE_ID ? SPEC_UID : SPEC_AGENT_ID;

	if (setup->mode != USERNS_SINGLE_ID && setgroups(0, NULL) < 0)
		return error_sys(err, "leave all groups");
	if (setresgid(id, id, id) < 0 || setresuid(id, id, id) < 0)
		return error_sys(err, "become user %u", id);
	/* The kernel clears the parent-death signal when credentials change. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		return error_sys(err, "set the parent-death signal");
	return 0;
}

/* --- network and host name ----------------------------------------------------------- */

/* The network namespace has only this interface and no route, so no packet leaves it. */
static int bring_up_loopback(struct error *err)
{
	AUTO_FD int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq lo = { .ifr_name = "lo" };

	if (fd < 0)
		return error_sys(err, "open a socket for the loopback interface");
	lo.ifr_flags = IFF_UP | IFF_RUNNING;
	if (ioctl(fd, SIOCSIFFLAGS, &lo) < 0)
		return error_sys(err, "bring up the loopback interface");
	return 0;
}

/* A new UTS namespace starts with the host's names, which programs inside should not learn. */
static int set_host_name(struct error *err)
{
	static const char name[] = "sandbox";

	if (sethostname(name, sizeof name - 1) < 0 || setdomainname("", 0) < 0)
		return error_sys(err, "set the host name");
	return 0;
}

/* --- limits -------------------------------------------------------------------------- */

/* A lower limit that belljar was started with stays: the operator set it on purpose. */
static int set_rlimit(int resource, uint64_t soft, uint64_t hard, const char *name,
                      struct error *err)
{
	struct rlimit now, want = { soft, hard };

	if (getrlimit((__rlimit_resource_t)resource, &now) < 0)
		return error_sys(err, "read the limit of %s", name);
	if (want.rlim_max > now.rlim_max)
		want.rlim_max = now.rlim_max;
	if (want.rlim_cur > want.rlim_max)
		want.rlim_cur = want.rlim_max;
	if (setrlimit((__rlimit_resource_t)resource, &want) < 0)
		return error_sys(err, "limit %s to %llu", name, (unsigned long long)want.rlim_cur);
	return 0;
}

static int set_rlimits(const struct child_setup *setup, struct error *err)
{
	const struct spec_limits *l = setup->limits;
	uint64_t agent_files = l->files > AGENT_FILES ? l->files : AGENT_FILES;
	uint64_t memory = setup->limit_memory ? l->memory : RLIM_INFINITY;
	const struct {
		int resource;
		uint64_t soft, hard;
		const char *name;
	} all[] = {
		/* With a pipe in core_pattern the kernel ignores a limit of 0 and starts the host's
		 * handler, as root, with the sandbox's memory. A limit of 1 stops that. */
		{ RLIMIT_CORE, 1, 1, "core files" },
		{ RLIMIT_NOFILE, l->files, agent_files, "open files" },
		/* The soft limit changes with the disk limit while the sandbox is awake, and only
		 * root of the host could raise a hard one. A program that raises its soft limit
		 * meets the watch of the disk instead. */
		{ RLIMIT_FSIZE, setup->file_max, l->file_size, "file size" },
		{ RLIMIT_NPROC, l->pids, l->pids, "processes" },
		{ RLIMIT_MSGQUEUE, 819200, 819200, "message queues" },
		{ RLIMIT_SIGPENDING, 1024, 1024, "pending signals" },
		{ RLIMIT_MEMLOCK, 8 << 20, 8 << 20, "locked memory" },
		/* A real-time or high-priority program would keep the host's programs waiting. */
		{ RLIMIT_RTPRIO, 0, 0, "real-time priority" },
		{ RLIMIT_NICE, 0, 0, "priority" },
		{ RLIMIT_DATA, memory, memory, "memory" },
	};

	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		if (set_rlimit(all[i].resource, all[i].soft, all[i].hard, all[i].name, err) < 0)
			return -1;
	/* A server that was started with an even lower priority (nice -n 15) has no right to raise
	 * it. */
	if (setup->lower_priority && getpriority(PRIO_PROCESS, 0) < LOWER_PRIORITY &&
	    setpriority(PRIO_PROCESS, 0, LOWER_PRIORITY) < 0)
		return error_sys(err, "lower the priority");
	return 0;
}

/* --- capabilities and system calls --------------------------------------------------- */

/* The agent starts programs under their own id and kills them. These three capabilities stay across
 * execve(2) in the ambient set; the securebits lock that set, so nothing can be added later. */
static const unsigned agent_capabilities[] = { CAP_SETUID, CAP_SETGID, CAP_KILL };

static int drop_capabilities(const struct child_setup *setup, struct error *err)
{
	const unsigned long locked = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED |
	                             SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED |
	                             SECBIT_NO_CAP_AMBIENT_RAISE |
	                             SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;
	size_t count = setup->mode == USERNS_SINGLE_ID ? 0 : ARRAY_LEN(agent_capabilities);
	uint64_t keep = 0;

	for (size_t i = 0; i < count; i++)
		keep |= CAPS_BIT(agent_capabilities[i]);
	/* Emptying the bounding set and setting securebits both need CAP_SETPCAP. A capability that
	 * is not in the bounding set cannot come back by execve(2) of any file. */
	if (caps_set(keep | CAPS_BIT(CAP_SETPCAP), true, err) < 0 || caps_bound_none(err) < 0)
		return -1;
	for (size_t i = 0; i < count; i++)
		if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, agent_capabilities[i], 0, 0) < 0)
			return error_sys(err, "keep a capability for the agent");
	/* NOROOT: id 0 inside has no capabilities by being 0. */
	if (prctl(PR_SET_SECUREBITS, locked, 0, 0, 0) < 0)
		return error_sys(err, "lock capabilities");
	return caps_set(keep, true, err);
}

/* Without CAP_SYS_ADMIN the kernel accepts a filter only with no_new_privs, which also makes setuid
 * programs harmless. */
static int install_filter(enum spec_syscalls calls, struct error *err)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return error_sys(err, "set no_new_privs");
	if (filter_load(filter_for_agent(calls)) < 0)
		return error_sys(err, "filter system calls");
	return 0;
}

/* --- all steps ------------------------------------------------------------------------ */

/* The mount plan names the upper layer relative to this directory, because mount options are
 * readable inside. An image covers the directory. */
static int enter_sandbox_dir(const struct child_setup *setup, struct error *err)
{
	char path[sizeof BASE_TREE_SANDBOXES + 1 + SPEC_ID_LEN];

	(void)snprintf(path, sizeof path, "%s/%s", BASE_TREE_SANDBOXES, setup->spec->id);
	if (setup->image_fs >= 0 && disk_image_attach(setup->image_fs, path, err) < 0)
		return -1;
	return chdir(path) < 0 ? error_sys(err, "enter the sandbox's directory") : 0;
}

/* Descriptor 2 is the server's: a terminal or a log file of the host. Replaces it by /dev/null of
 * the new root. */
static int replace_stderr(struct error *err)
{
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	if (null < 0 || dup2(null, STDERR_FILENO) < 0)
		return error_sys(err, "put /dev/null on descriptor 2");
	return 0;
}

static int set_up_sandbox(struct child_setup *setup, struct error *err)
{
	if (cgroup_enter_self(setup->cgroup, err) < 0 || close_inherited_fds(setup, err) < 0 ||
	    wait_for_maps(setup, err) < 0 || leave_session(err) < 0 ||
	    become_agent_user(setup, err) < 0)
		return -1;
	if (enter_sandbox_dir(setup, err) < 0 || bring_up_loopback(err) < 0 ||
	    set_host_name(err) < 0 || mount_plan_apply(setup->plan, err) < 0)
		return -1;
	if (set_rlimits(setup, err) < 0 || drop_capabilities(setup, err) < 0 ||
	    install_filter(setup->spec->syscalls, err) < 0)
		return -1;
	return replace_stderr(err);
}

void child_setup_run(const struct child_setup *given)
{
	struct child_setup setup = *given;
	struct error err;

	if (set_up_sandbox(&setup, &err) == 0)
		(void)agent_image_exec(setup.image, setup.channel, setup.spec->fresh ? SPEC_UID : 0,
		                       NULL, &err);
	(void)!write(setup.setup_pipe, &err, sizeof err);
	_exit(127);
}
