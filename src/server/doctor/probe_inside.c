/* probe_inside.c - what is tried within a user namespace: a network and a /proc of its own. */
#include <errno.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "server/doctor/probe.h"
#include "server/doctor/probe_child.h"

struct step_answer {
	int namespaces, step;
};

/* AppArmor's restriction shows here at the latest. */
static int raise_loopback(void)
{
	struct ifreq request = { .ifr_name = "lo" };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int failure = 0;

	if (fd < 0)
		return errno;
	if (ioctl(fd, SIOCGIFFLAGS, &request) < 0)
		failure = errno;
	request.ifr_flags |= IFF_UP;
	if (failure == 0 && ioctl(fd, SIOCSIFFLAGS, &request) < 0)
		failure = errno;
	(void)close(fd);
	return failure;
}

static void try_network(void *record)
{
	struct step_answer *answer = record;

	answer->namespaces = probe_become_root();
	if (answer->namespaces == 0 && unshare(CLONE_NEWNET) < 0)
		answer->namespaces = errno;
	if (answer->namespaces == 0)
		answer->step = raise_loopback();
}

/* Only a process of the new PID namespace may mount its /proc. */
static void try_proc(void *record)
{
	struct step_answer *answer = record;
	int status = 0;
	pid_t child;

	answer->namespaces = probe_become_root();
	if (answer->namespaces == 0 && unshare(CLONE_NEWPID | CLONE_NEWNS) < 0)
		answer->namespaces = errno;
	if (answer->namespaces != 0)
		return;
	child = fork();
	if (child == 0) {
		if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
		    mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0)
			_exit(errno);
		_exit(0);
	}
	if (child < 0 || waitpid(child, &status, 0) != child)
		answer->namespaces = errno;
	else
		answer->step = WIFEXITED(status) ? WEXITSTATUS(status) : EIO;
}

static bool ask(probe_child_fn *fn, struct step_answer *answer, struct check *ret)
{
	struct error err;

	if (probe_child_run(fn, answer, sizeof *answer, &err) < 0) {
		check_set(ret, CHECK_OFF, "could not be tried: %s", err.msg);
		check_fix(ret, "free processes or memory and ask again");
		return false;
	}
	if (answer->namespaces == 0)
		return true;
	check_set(ret, CHECK_OFF, "could not be tried: no namespace for it (%s)",
	          strerror(answer->namespaces));
	check_fix(ret, "see 'user-namespaces' and 'namespaces'");
	return false;
}

void probe_network(UNUSED const struct options *options, struct check *ret)
{
	struct step_answer answer = { 0 };

	if (!ask(try_network, &answer, ret))
		return;
	if (answer.step == 0) {
		check_set(ret, CHECK_ON, "tried: a network namespace with its own loopback");
		return;
	}
	check_set(ret, CHECK_OFF, "tried: set up the loopback of a network namespace: %s",
	          strerror(answer.step));
	check_fix(ret, "see 'user-namespaces': the new namespace has no rights");
}

void probe_proc(UNUSED const struct options *options, struct check *ret)
{
	struct step_answer answer = { 0 };

	if (!ask(try_proc, &answer, ret))
		return;
	if (answer.step == 0) {
		check_set(ret, CHECK_ON, "tried: mounted in a PID namespace");
		return;
	}
	check_set(ret, CHECK_OFF, "tried: mount it in a PID namespace: %s", strerror(answer.step));
	check_fix(ret, "something is mounted over parts of our own /proc, so that the kernel gives "
	               "no other. In Docker: --security-opt systempaths=unconfined; in Podman: "
	               "--security-opt unmask=ALL; in Kubernetes: procMount: Unmasked; with the "
	               "NVIDIA runtime: unmount /proc/driver/nvidia*");
}
