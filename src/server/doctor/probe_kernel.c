#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/error.h"
#include "base/rights/landlock.h"
#include "base/text/utf8.h"
#include "engine/filter/filter.h"
#include "server/doctor/probe.h"
#include "server/doctor/probe_child.h"

/* 5.13 is the first with Landlock, and has overlayfs in user namespaces (5.11),
 * close_range (5.9) and pidfds (5.3). */
enum { WISHED_MAJOR = 5, WISHED_MINOR = 13 };

struct version {
	unsigned long major, minor, patch;
};

/* Known holes let a program write to the page cache, which sandboxes share: CVE-2026-31431
 * (AF_ALG), -43284 (ESP), -43500 (RxRPC). The first version of each series without what was
 * known. The filter keeps sandboxes from all three; this is about the next way to the same
 * place. */
static const struct version mended[] = {
	{ 6, 6, 138 }, { 6, 12, 87 }, { 6, 18, 29 }, { 6, 19, 12 }, { 7, 0, 6 },
};
enum { MENDED_YEAR = 2026 };

/* The year in "#1 SMP PREEMPT_DYNAMIC Debian 6.1.148-1 (2025-08-26)"; 0: none. */
static unsigned long built_in(const char *text)
{
	for (const char *p = text; (p = strstr(p, "20")) != NULL; p += 2) {
		size_t digits = strspn(p, "0123456789");

		if (digits == 4 && (p == text || strchr(" (-", p[-1]) != NULL))
			return strtoul(p, NULL, 10);
	}
	return 0;
}

/* Distributions mend their kernels without a new number: where the number says nothing, a
 * kernel that was built before the holes were known has them. */
bool probe_kernel_has_holes(const char *release, const char *built)
{
	const struct version *last = &mended[ARRAY_LEN(mended) - 1];
	unsigned long year = built_in(built);
	struct version v = { 0 };
	char *at;

	v.major = strtoul(release, &at, 10);
	if (*at != '.')
		return false;
	v.minor = strtoul(at + 1, &at, 10);
	if (*at == '.')
		v.patch = strtoul(at + 1, NULL, 10);
	for (size_t i = 0; i < ARRAY_LEN(mended); i++)
		if (mended[i].major == v.major && mended[i].minor == v.minor)
			return v.patch != 0 && v.patch < mended[i].patch;
	if (v.major > last->major || (v.major == last->major && v.minor > last->minor))
		return false;
	return year != 0 && year < MENDED_YEAR;
}

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
	(void)utf8_escape(view_of(name.release), release, sizeof release);
	if (major < WISHED_MAJOR || (major == WISHED_MAJOR && minor < WISHED_MINOR)) {
		check_set(ret, CHECK_WEAKER, "Linux %s is older than %d.%d", release, WISHED_MAJOR,
		          WISHED_MINOR);
		check_fix(ret, "update the kernel to %d.%d or newer", WISHED_MAJOR, WISHED_MINOR);
	} else if (probe_kernel_has_holes(name.release, name.version)) {
		check_set(ret, CHECK_WEAKER,
		          "Linux %s, by its version with known ways to write to files of others "
		          "(CVE-2026-31431, -43284, -43500)",
		          release);
		check_fix(ret, "update the kernel. Until then:\n"
		               "  printf 'install %%s /bin/false\\n' algif_aead esp4 esp6 rxrpc |\n"
		               "    sudo tee /etc/modprobe.d/belljar.conf");
	} else
		check_set(ret, CHECK_ON, "Linux %s, %s", release, name.machine);
}

static bool action_available(unsigned action)
{
	return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

struct privileges_answer {
	int no_new_privileges, filter;
};

/* The very filter that programs get. */
static void try_filter(void *record)
{
	struct privileges_answer *answer = record;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		answer->no_new_privileges = errno;
	if (filter_load(filter_for_programs(SPEC_SYSCALLS_STANDARD)) < 0)
		answer->filter = errno;
}

static bool ask_child(struct privileges_answer *answer, struct check *ret)
{
	struct error err;

	if (probe_child_run(try_filter, answer, sizeof *answer, &err) == 0)
		return true;
	check_set(ret, CHECK_OFF, "could not be tried: %s", err.msg);
	check_fix(ret, "free processes or memory and ask again");
	return false;
}

void probe_seccomp(UNUSED const struct options *options, struct check *ret)
{
	struct privileges_answer answer = { 0 };

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
	if (!ask_child(&answer, ret))
		return;
	if (answer.filter != 0) {
		check_set(ret, CHECK_OFF, "tried: the filter of programs: %s",
		          strerror(answer.filter));
		check_fix(ret, "run belljar outside of what filters its own system calls");
		return;
	}
	check_set(ret, CHECK_ON, "tried: filters can refuse, kill%s",
	          action_available(SECCOMP_RET_USER_NOTIF) ? ", notify" : "");
}

void probe_no_new_privileges(UNUSED const struct options *options, struct check *ret)
{
	struct privileges_answer answer = { 0 };

	if (!ask_child(&answer, ret))
		return;
	if (answer.no_new_privileges != 0) {
		check_set(ret, CHECK_OFF, "tried: %s", strerror(answer.no_new_privileges));
		check_fix(ret, "update the kernel to 3.5 or newer");
	} else if (geteuid() != 0 && prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1) {
		check_set(ret, CHECK_WEAKER,
		          "belljar itself was started so: newuidmap can give it "
		          "no subordinate ids");
		check_fix(ret,
		          "start it without: NoNewPrivileges=no in its unit (RestrictNamespaces= "
		          "and ProtectKernelTunables= are in the way too), no "
		          "--security-opt no-new-privileges");
	} else
		check_set(ret, CHECK_ON, "tried: it can be set");
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
	{ 9, "sockets in the file system" },
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
	long abi = landlock_version();
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
