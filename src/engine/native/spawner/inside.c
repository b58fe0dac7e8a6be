#include "engine/native/spawner/inside.h"

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
#include <string.h>
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
#include "base/view.h"
#include "engine/agent_image.h"
#include "engine/filter/filter.h"

enum { AGENT_ID = 999, AGENT_FILES = 4096, STAND_BACK = 10 };

/* --- a life of its own -------------------------------------------------------------- */

static int wait_for_go(const struct inside *inside, struct error *err)
{
	char byte;

	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		return error_sys(err, "die with the spawner");
	/* If it was dead before, this ends too: it had the other end. */
	if (read(inside->go, &byte, 1) != 1)
		return error_set(err, ERR_SYSTEM, "the spawner is gone");
	/* Now that we are in our group, it is the root of all we see. */
	if (unshare(CLONE_NEWCGROUP) < 0)
		return error_sys(err, "a namespace of cgroups");
	return 0;
}

/* Keys are the kernel's, not a namespace's: a new ring holds none of the spawner's. */
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

static int become_agent(const struct inside *inside, struct error *err)
{
	unsigned id = inside->home->mode == HOME_ALONE ? SPEC_UID : AGENT_ID;

	if (inside->home->mode != HOME_ALONE && setgroups(0, NULL) < 0)
		return error_sys(err, "leave all groups");
	if (setresgid(id, id, id) < 0 || setresuid(id, id, id) < 0)
		return error_sys(err, "become user %u", id);
	/* It is forgotten when ids change. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		return error_sys(err, "die with the spawner");
	return 0;
}

/* --- the network and the names ------------------------------------------------------ */

/* Loopback only: nothing leads out of it. */
static int bring_up_loopback(struct error *err)
{
	AUTO_FD int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq lo = { .ifr_name = "lo" };

	if (fd < 0)
		return error_sys(err, "a socket");
	lo.ifr_flags = IFF_UP | IFF_RUNNING;
	if (ioctl(fd, SIOCSIFFLAGS, &lo) < 0)
		return error_sys(err, "bring up the loopback interface");
	return 0;
}

static int set_names(struct error *err)
{
	static const char name[] = "sandbox";

	if (sethostname(name, sizeof name - 1) < 0 || setdomainname("", 0) < 0)
		return error_sys(err, "set the host name");
	return 0;
}

/* --- limits ------------------------------------------------------------------------- */

static int limit(int resource, uint64_t soft, uint64_t hard, const char *name, struct error *err)
{
	struct rlimit now, want = { soft, hard };

	if (getrlimit((__rlimit_resource_t)resource, &now) < 0)
		return error_sys(err, "limit of %s", name);
	/* Who lowered it further meant it. */
	if (want.rlim_max > now.rlim_max)
		want.rlim_max = now.rlim_max;
	if (want.rlim_cur > want.rlim_max)
		want.rlim_cur = want.rlim_max;
	if (setrlimit((__rlimit_resource_t)resource, &want) < 0)
		return error_sys(err, "limit %s to %llu", name, (unsigned long long)want.rlim_cur);
	return 0;
}

/* Core 1, not 0: a handler of the host's is run for 0, and is not for 1. */
static int set_limits(const struct inside *inside, struct error *err)
{
	const struct spec_limits *l = &inside->spec->limits;
	uint64_t agent_files = l->files > AGENT_FILES ? l->files : AGENT_FILES;
	const struct {
		int resource;
		uint64_t soft, hard;
		const char *name;
	} all[] = {
		{ RLIMIT_CORE, 1, 1, "core files" },
		{ RLIMIT_NOFILE, l->files, agent_files, "open files" },
		{ RLIMIT_FSIZE, l->file_size, l->file_size, "file size" },
		{ RLIMIT_NPROC, l->pids, l->pids, "processes" },
		{ RLIMIT_MSGQUEUE, 819200, 819200, "message queues" },
		{ RLIMIT_SIGPENDING, 1024, 1024, "pending signals" },
		{ RLIMIT_MEMLOCK, 8 << 20, 8 << 20, "locked memory" },
		{ RLIMIT_RTPRIO, 0, 0, "real-time priority" },
		{ RLIMIT_NICE, 0, 0, "priority" },
		{ RLIMIT_DATA, inside->without_memory ? l->memory : RLIM_INFINITY,
		  inside->without_memory ? l->memory : RLIM_INFINITY, "memory" },
	};

	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		if (limit(all[i].resource, all[i].soft, all[i].hard, all[i].name, err) < 0)
			return -1;
	if (inside->without_cpu && setpriority(PRIO_PROCESS, 0, STAND_BACK) < 0)
		return error_sys(err, "stand back");
	return 0;
}

/* --- rights ------------------------------------------------------------------------- */

/* What the agent needs to start programs as their user and to end them. They stay with it
 * across exec by the ambient set, which nothing can add to afterwards. */
static const unsigned agent_capabilities[] = { CAP_SETUID, CAP_SETGID, CAP_KILL };

static int drop_capabilities(const struct inside *inside, struct error *err)
{
	const unsigned long locked = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED |
	                             SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED |
	                             SECBIT_NO_CAP_AMBIENT_RAISE |
	                             SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;
	bool alone = inside->home->mode == HOME_ALONE;
	uint64_t keep = 0;

	for (size_t i = 0; !alone && i < ARRAY_LEN(agent_capabilities); i++)
		keep |= CAPS_BIT(agent_capabilities[i]);
	/* What follows needs one more for a moment. */
	if (caps_set(keep | CAPS_BIT(CAP_SETPCAP), true, err) < 0 || caps_bound_none(err) < 0)
		return -1;
	for (size_t i = 0; !alone && i < ARRAY_LEN(agent_capabilities); i++)
		if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, agent_capabilities[i], 0, 0) < 0)
			return error_sys(err, "keep a capability for the agent");
	if (prctl(PR_SET_SECUREBITS, locked, 0, 0, 0) < 0)
		return error_sys(err, "lock capabilities");
	return caps_set(keep, true, err);
}

static int filter_calls(struct error *err)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return error_sys(err, "refuse new privileges");
	if (filter_load(filter_for_agent()) < 0)
		return error_sys(err, "filter system calls");
	return 0;
}

/* The plan names its files from here: nothing inside shows where they are. */
static int enter_directory(const struct inside *inside, struct error *err)
{
	char path[sizeof HOME_SANDBOXES + 1 + SPEC_ID_LEN];

	(void)snprintf(path, sizeof path, "%s/%s", HOME_SANDBOXES, inside->spec->id);
	return chdir(path) < 0 ? error_sys(err, "the sandbox's directory") : 0;
}

static int set_up(const struct inside *inside, struct error *err)
{
	if (wait_for_go(inside, err) < 0 || leave_session(err) < 0 || become_agent(inside, err) < 0)
		return -1;
	if (enter_directory(inside, err) < 0)
		return -1;
	if (bring_up_loopback(err) < 0 || set_names(err) < 0 ||
	    plan_carry_out(inside->plan, err) < 0)
		return -1;
	if (set_limits(inside, err) < 0 || drop_capabilities(inside, err) < 0)
		return -1;
	return filter_calls(err);
}

/* The server's is a file or a terminal of the host. */
static int no_stderr(struct error *err)
{
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	if (null < 0 || dup2(null, STDERR_FILENO) < 0)
		return error_sys(err, "put /dev/null on descriptor 2");
	return 0;
}

/* Closes the spawner's descriptors and those of other sandboxes that start now. The order puts the
 * channel and the image on the numbers that agent_image_exec() gives them, so that it overwrites
 * neither of the two others. */
static int keep_own(struct inside *inside, struct error *err)
{
	int *const own[] = { &inside->channel, &inside->image, &inside->go, &inside->report };

	return fd_renumber(own, ARRAY_LEN(own), err);
}

void inside_run(const struct inside *given)
{
	struct inside inside = *given;
	struct error err;

	if (cgroup_enter_self(inside.group, &err) == 0 && keep_own(&inside, &err) == 0 &&
	    set_up(&inside, &err) == 0 && no_stderr(&err) == 0)
		(void)agent_image_exec(inside.image, inside.channel,
		                       inside.spec->fresh ? SPEC_UID : 0, &err);
	(void)!write(inside.report, &err, sizeof err);
	_exit(127);
}
