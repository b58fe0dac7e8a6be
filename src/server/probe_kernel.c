#include <errno.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/utf8.h"
#include "server/probe.h"

/* 5.13 is the first with Landlock, and has overlayfs in user namespaces (5.11),
 * close_range (5.9) and pidfds (5.3). */
enum { WISHED_MAJOR = 5, WISHED_MINOR = 13 };

void probe_kernel(UNUSED const struct options *options, struct check *ret)
{
	struct utsname name;
	unsigned long major = 0, minor = 0;
	char release[96], *rest;

	if (uname(&name) == 0) {
		major = strtoul(name.release, &rest, 10);
		minor = *rest == '.' ? strtoul(rest + 1, NULL, 10) : 0;
	}
	if (major == 0) {
		check_set(ret, CHECK_WEAKER, "the kernel's version could not be read");
		check_fix(ret, "expected Linux %d.%d or newer", WISHED_MAJOR, WISHED_MINOR);
		return;
	}
	(void)utf8_show(view_of(name.release), release, sizeof release);
	if (major > WISHED_MAJOR || (major == WISHED_MAJOR && minor >= WISHED_MINOR)) {
		check_set(ret, CHECK_ON, "Linux %s, %s", release, name.machine);
		return;
	}
	check_set(ret, CHECK_WEAKER, "Linux %s is older than %d.%d", release, WISHED_MAJOR,
	          WISHED_MINOR);
	check_fix(ret, "update the kernel to %d.%d or newer", WISHED_MAJOR, WISHED_MINOR);
}

static bool action_available(unsigned action)
{
	return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

void probe_seccomp(UNUSED const struct options *options, struct check *ret)
{
	if (!action_available(SECCOMP_RET_ERRNO)) {
		check_set(ret, CHECK_OFF, "the kernel has no system call filters (%s)",
		          strerror(errno));
		check_fix(ret, "use a kernel built with CONFIG_SECCOMP_FILTER");
		return;
	}
	if (!action_available(SECCOMP_RET_KILL_PROCESS)) {
		check_set(ret, CHECK_WEAKER, "filters work, but cannot kill a whole process");
		check_fix(ret, "update the kernel to 4.14 or newer");
		return;
	}
	check_set(ret, CHECK_ON, "filters can refuse, kill%s",
	          action_available(SECCOMP_RET_USER_NOTIF) ? ", notify" : "");
}

/* What each ABI added, so that an older one can say what it lacks. */
static const struct landlock_step {
	long abi;
	const char *brings;
} landlock_steps[] = {
	{ 2, "moving files between directories" },
	{ 3, "truncation" },
	{ 4, "TCP ports" },
	{ 5, "device control" },
	{ 6, "signals and abstract sockets" },
};
enum { LANDLOCK_ENOUGH = 4 };

static void landlock_missing(struct check *ret)
{
	if (errno == EOPNOTSUPP) {
		check_set(ret, CHECK_OFF, "the kernel has Landlock, but it is not enabled");
		check_fix(ret, "add landlock to the lsm= list on the kernel command line");
		return;
	}
	check_set(ret, CHECK_OFF, "the kernel has no Landlock (%s)", strerror(errno));
	check_fix(ret, "update the kernel to 5.13 or newer, built with CONFIG_SECURITY_LANDLOCK");
}

void probe_landlock(UNUSED const struct options *options, struct check *ret)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	char lacking[200] = "";
	size_t used = 0;

	if (abi < 1) {
		landlock_missing(ret);
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(landlock_steps); i++)
		if (abi < landlock_steps[i].abi)
			used += (size_t)snprintf(lacking + used, sizeof lacking - used, "%s%s",
			                         used != 0 ? ", " : "; cannot restrict ",
			                         landlock_steps[i].brings);
	check_set(ret, abi >= LANDLOCK_ENOUGH ? CHECK_ON : CHECK_WEAKER, "ABI %ld%s", abi, lacking);
	if (abi < LANDLOCK_ENOUGH)
		check_fix(ret, "update the kernel to 6.7 or newer (ABI 4)");
}
