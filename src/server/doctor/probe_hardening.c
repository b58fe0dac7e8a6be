/* probe_hardening.c - settings of the host that make attacks from within harder. Sandboxes do
 * not rely on them: each would be the second fence. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/doctor/probe.h"

static const struct setting {
	const char *path; /* below /proc/sys */
	long least;       /* fine from here on */
	const char *set;  /* the line for sysctl */
} settings[] = {
	{ "dev/tty/legacy_tiocsti", 0, "dev.tty.legacy_tiocsti=0" },
	{ "kernel/io_uring_disabled", 1, "kernel.io_uring_disabled=2" },
	{ "kernel/unprivileged_bpf_disabled", 1, "kernel.unprivileged_bpf_disabled=1" },
	{ "kernel/perf_event_paranoid", 2, "kernel.perf_event_paranoid=2" },
	{ "kernel/kptr_restrict", 1, "kernel.kptr_restrict=1" },
	{ "kernel/dmesg_restrict", 1, "kernel.dmesg_restrict=1" },
	{ "kernel/yama/ptrace_scope", 1, "kernel.yama.ptrace_scope=1" },
	{ "fs/protected_symlinks", 1, "fs.protected_symlinks=1" },
	{ "fs/protected_hardlinks", 1, "fs.protected_hardlinks=1" },
	{ "fs/protected_regular", 1, "fs.protected_regular=2" },
	{ "fs/protected_fifos", 1, "fs.protected_fifos=2" },
};

/* What the kernel does not know cannot be wrong with it. */
static bool is_weak(const struct setting *setting)
{
	char path[96], value[32], *end;
	long number;

	(void)snprintf(path, sizeof path, "/proc/sys/%s", setting->path);
	if (*probe_read_line(path, value, sizeof value) == '\0')
		return false;
	number = strtol(value, &end, 10);
	if (*end != '\0')
		return false;
	/* This one is off when it is 0. */
	return setting->least == 0 ? number != 0 : number < setting->least;
}

void probe_hardening(UNUSED const struct options *options, struct check *ret)
{
	char found[320] = "", lines[400] = "", pattern[128];
	size_t weak = 0;

	for (size_t i = 0; i < ARRAY_LEN(settings); i++) {
		size_t used = strlen(lines);

		if (!is_weak(&settings[i]))
			continue;
		weak++;
		probe_list_add(found, sizeof found, strrchr(settings[i].path, '/') + 1);
		(void)snprintf(lines + used, sizeof lines - used, "\n  sudo sysctl -w %s",
		               settings[i].set);
	}
	/* Our sandboxes make no core dumps; this is for what else runs here. */
	if (*probe_read_line("/proc/sys/kernel/core_pattern", pattern, sizeof pattern) == '|') {
		size_t used = strlen(lines);

		weak++;
		probe_list_add(found, sizeof found, "core_pattern (a program of the host's)");
		(void)snprintf(lines + used, sizeof lines - used,
		               "\n  sudo sysctl -w kernel.core_pattern=core");
	}
	if (weak == 0) {
		check_set(ret, CHECK_ON, "what can be set is set");
		return;
	}
	check_set(ret, CHECK_WEAKER, "could be stricter: %s", found);
	check_fix(ret, "for good in /etc/sysctl.d/, until the next start with:%s", lines);
}

/* Every sandbox begins with a copy of our small tree; the spawner with one of all of this. */
enum { MANY_MOUNTS = 500 };

void probe_mounts(UNUSED const struct options *options, struct check *ret)
{
	FILE *file = fopen("/proc/self/mountinfo", "re");
	size_t count = 0;
	int c;

	if (file == NULL) {
		check_set(ret, CHECK_WEAKER, "/proc/self/mountinfo: %s", strerror(errno));
		check_fix(ret, "mount -t proc proc /proc");
		return;
	}
	while ((c = getc_unlocked(file)) != EOF)
		count += c == '\n';
	(void)fclose(file);
	check_set(ret, count > MANY_MOUNTS ? CHECK_WEAKER : CHECK_ON, "%zu%s", count,
	          count > MANY_MOUNTS ? ": belljar starts slowly with so many" : " on this host");
	if (count > MANY_MOUNTS)
		check_fix(ret, "unmount what is not needed, or run belljar in a mount namespace "
		               "with less: systemd-run -p PrivateMounts=yes");
}
