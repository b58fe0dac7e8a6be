/* doctor_host.c - layers of the machine that a trial of the engine does not show: the kernel's
 * version, Landlock, containers, the state directory, settings of the host (see internal.h). */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/rights/landlock.h"
#include "base/text/utf8.h"
#include "base/view.h"
#include "server/doctor/internal.h"
#include "server/options/options.h"
#include "server/runtime/runtime.h"

/* --- the kernel --- */

/* Linux 5.13 is the first version with Landlock; it also has overlayfs in user namespaces (5.11),
 * close_range() (5.9) and pidfds (5.3). */
enum { WANTED_MAJOR = 5, WANTED_MINOR = 13 };

struct version {
	unsigned long major, minor, patch;
};

/* The first version of each series without known bugs that let a program write to the page cache,
 * which all sandboxes share: CVE-2026-31431 (AF_ALG), -43284 (ESP), -43500 (RxRPC). The seccomp
 * filter refuses the calls that all three need; the check is for other ways to the same bugs. */
static const struct version fixed_versions[] = {
	{ 6, 6, 138 }, { 6, 12, 87 }, { 6, 18, 29 }, { 6, 19, 12 }, { 7, 0, 6 },
};
enum { FIXED_YEAR = 2026 };

/* The year in "#1 SMP PREEMPT_DYNAMIC Debian 6.1.148-1 (2025-08-26)"; 0: none. */
static unsigned long find_build_year(const char *text)
{
	for (const char *p = text; (p = strstr(p, "20")) != NULL; p += 2) {
		size_t digits = strspn(p, "0123456789");

		if (digits == 4 && (p == text || strchr(" (-", p[-1]) != NULL))
			return strtoul(p, NULL, 10);
	}
	return 0;
}

/* Distributions fix bugs without changing the version number. Where the number does not decide, a
 * kernel that was built before the bugs were known has them. */
bool probe_kernel_is_vulnerable(const char *release, const char *built)
{
	const struct version *last = &fixed_versions[ARRAY_LEN(fixed_versions) - 1];
	unsigned long year = find_build_year(built);
	struct version v = { 0 };
	char *at;

	v.major = strtoul(release, &at, 10);
	if (*at != '.')
		return false;
	v.minor = strtoul(at + 1, &at, 10);
	if (*at == '.')
		v.patch = strtoul(at + 1, NULL, 10);
	for (size_t i = 0; i < ARRAY_LEN(fixed_versions); i++)
		if (fixed_versions[i].major == v.major && fixed_versions[i].minor == v.minor)
			return v.patch != 0 && v.patch < fixed_versions[i].patch;
	if (v.major > last->major || (v.major == last->major && v.minor > last->minor))
		return false;
	return year != 0 && year < FIXED_YEAR;
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
		check_fix(ret, "expected Linux %d.%d or newer", WANTED_MAJOR, WANTED_MINOR);
		return;
	}
	(void)utf8_escape(view_of(name.release), release, sizeof release);
	if (major < WANTED_MAJOR || (major == WANTED_MAJOR && minor < WANTED_MINOR)) {
		check_set(ret, CHECK_WEAKER, "Linux %s is older than %d.%d", release, WANTED_MAJOR,
		          WANTED_MINOR);
		check_fix(ret, "update the kernel to %d.%d or newer", WANTED_MAJOR, WANTED_MINOR);
	} else if (probe_kernel_is_vulnerable(name.release, name.version)) {
		check_set(
		        ret, CHECK_WEAKER,
		        "Linux %s, by its version with known bugs that let programs write to files "
		        "of others (CVE-2026-31431, -43284, -43500)",
		        release);
		check_fix(ret, "update the kernel. Until then:\n"
		               "  printf 'install %%s /bin/false\\n' algif_aead esp4 esp6 rxrpc |\n"
		               "    sudo tee /etc/modprobe.d/belljar.conf");
	} else
		check_set(ret, CHECK_ON, "Linux %s, %s", release, name.machine);
}

/* The features that each ABI of Landlock added: an older ABI lacks them. */
static const struct landlock_feature {
	long abi;
	const char *what;
} landlock_features[] = {
	{ 2, "moving files between directories" },
	{ 3, "truncation" },
	{ 4, "TCP ports" },
	{ 5, "device control" },
	{ 6, "signals and abstract sockets" },
	{ 9, "sockets in the file system" },
};
enum { LANDLOCK_WANTED = 4 };

static void report_no_landlock(struct check *ret)
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
		report_no_landlock(ret);
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(landlock_features); i++)
		if (abi < landlock_features[i].abi)
			used += (size_t)snprintf(lacking + used, sizeof lacking - used, "%s%s",
			                         used != 0 ? ", " : "; cannot restrict ",
			                         landlock_features[i].what);
	check_set(ret, abi >= LANDLOCK_WANTED ? CHECK_ON : CHECK_WEAKER, "ABI %ld%s", abi, lacking);
	if (abi < LANDLOCK_WANTED)
		check_fix(ret, "update the kernel to 6.7 or newer (ABI 4)");
}

/* --- containers and virtual machines --- */

static bool is_wsl(void)
{
	char release[128];

	(void)probe_read_line("/proc/sys/kernel/osrelease", release, sizeof release);
	return strstr(release, "microsoft") != NULL || strstr(release, "Microsoft") != NULL;
}

static bool is_docker(void)
{
	return access("/.dockerenv", F_OK) == 0;
}

static bool is_podman(void)
{
	return access("/run/.containerenv", F_OK) == 0;
}

static bool is_kubernetes(void)
{
	return getenv("KUBERNETES_SERVICE_HOST") != NULL;
}

static bool is_other_container(void)
{
	return access("/run/systemd/container", F_OK) == 0;
}

/* The first environment that is found is reported. */
static const struct environment {
	bool (*is_present)(void);
	const char *what, *fix;
} environments[] = {
	{ is_kubernetes, "in a pod of Kubernetes: others share this kernel",
	  "if the sandbox below is off: securityContext with seccompProfile Unconfined, "
	  "procMount Unmasked and hostUsers false; or use the kubernetes engine" },
	{ is_docker, "in a container of Docker: others share this kernel",
	  "if the sandbox below is off, start the container with:\n"
	  "  --security-opt seccomp=unconfined --security-opt apparmor=unconfined\n"
	  "  --security-opt systempaths=unconfined --cgroupns=private\n"
	  "or use the docker engine; --privileged only in a disposable virtual machine" },
	{ is_podman, "in a container of Podman: others share this kernel",
	  "if the sandbox below is off, start the container with:\n"
	  "  --security-opt seccomp=unconfined --security-opt unmask=ALL\n"
	  "  --cgroupns=private\n"
	  "or use the docker engine" },
	{ is_other_container, "in a container: others share this kernel",
	  "if the sandbox below is off, allow nesting (LXC: security.nesting=true; nspawn: "
	  "--private-users=pick with SYSTEMD_NSPAWN_UNIFIED_HIERARCHY=1)" },
	{ is_wsl, "WSL2: Windows' drives below /mnt know neither owners nor attributes",
	  "in /etc/wsl.conf: [boot] systemd=true; in .wslconfig: kernelCommandLine="
	  "cgroup_no_v1=all; keep the state directory out of /mnt" },
};

void probe_host(UNUSED const struct options *options, struct check *ret)
{
	for (size_t i = 0; i < ARRAY_LEN(environments); i++) {
		if (!environments[i].is_present())
			continue;
		check_set(ret, CHECK_WEAKER, "%s", environments[i].what);
		check_fix(ret, "%s", environments[i].fix);
		return;
	}
	check_set(ret, CHECK_ON, "no known container");
}

/* --- the state directory --- */

/* File systems on which overlayfs may not work, by statfs.f_type. */
static const struct unsuited {
	unsigned long type;
	const char *name;
} unsuited[] = {
	{ OVERLAYFS_SUPER_MAGIC, "overlayfs" },
	{ NFS_SUPER_MAGIC, "NFS" },
	{ V9FS_MAGIC, "9p" },
	{ ECRYPTFS_SUPER_MAGIC, "eCryptfs" },
	{ MSDOS_SUPER_MAGIC, "FAT" },
	{ 0x2011BAB0, "exFAT" },
	{ 0x65735546, "FUSE" },
	{ 0xFF534D42, "CIFS" },
	{ 0xFE534D42, "SMB" },
};

static const char *unsuited_name(unsigned long type)
{
	for (size_t i = 0; i < ARRAY_LEN(unsuited); i++)
		if (unsuited[i].type == (type & 0xFFFFFFFF))
			return unsuited[i].name;
	return NULL;
}

/* Cuts the path down to its part that exists: a new directory will be on the same file system. */
static void find_existing(char *path)
{
	while (access(path, F_OK) < 0 && errno == ENOENT) {
		char *slash = strrchr(path, '/'); /* the path is absolute */

		slash[slash == path ? 1 : 0] = '\0';
	}
}

/* Why belljar could not use the directory; NULL if it could. */
static const char *find_problem(const char *exists, unsigned long type, bool is_state_dir,
                                char out[40])
{
	struct stat st;

	if (type == PROC_SUPER_MAGIC || type == SYSFS_MAGIC) /* access() as root succeeds here */
		return "no files can be created there";
	if (stat(exists, &st) < 0)
		return strerror(errno);
	if (!S_ISDIR(st.st_mode))
		return "not a directory";
	if (is_state_dir && st.st_uid != geteuid()) {
		(void)snprintf(out, 40, "it belongs to user %u", st.st_uid);
		return out;
	}
	if (is_state_dir && (st.st_mode & (S_IWGRP | S_IWOTH)) != 0)
		return "others may write to it";
	return faccessat(AT_FDCWD, exists, W_OK | X_OK, AT_EACCESS) < 0 ? strerror(errno) : NULL;
}

void probe_state_dir(const struct options *options, struct check *ret)
{
	char path[PATH_MAX], exists[PATH_MAX], shown[200], owner[40];
	struct statfs fs;
	struct statvfs flags;
	struct error err;
	const char *name, *why;

	if (runtime_find_state_dir(options, path, &err) < 0) {
		check_set(ret, CHECK_OFF, "%s", err.msg);
		check_fix(ret, "export HOME=/home/USER, or use --state-dir DIR");
		return;
	}
	(void)utf8_escape(view_of(path), shown, sizeof shown);
	memcpy(exists, path, sizeof exists);
	find_existing(exists);
	if (statfs(exists, &fs) < 0 || statvfs(exists, &flags) < 0) {
		check_set(ret, CHECK_OFF, "%s: %s", shown, strerror(errno));
		check_fix(ret, "create it, or name another with --state-dir");
		return;
	}
	name = unsuited_name((unsigned long)fs.f_type);
	why = find_problem(exists, (unsigned long)fs.f_type, strcmp(exists, path) == 0, owner);
	if ((flags.f_flag & ST_RDONLY) != 0) {
		check_set(ret, CHECK_OFF, "%s is on a file system mounted read-only", shown);
		check_fix(ret, "mount it read-write, or name another with --state-dir");
	} else if (why != NULL) {
		check_set(ret, CHECK_OFF, "%s: %s", shown, why);
		check_fix(ret, "name one of your own with --state-dir");
	} else if (name != NULL) {
		check_set(ret, CHECK_WEAKER, "%s is on %s, which may not carry overlayfs", shown,
		          name);
		check_fix(ret, "name one on ext4, xfs or btrfs with --state-dir");
	} else
		check_set(ret, CHECK_ON, "%s", shown);
}

/* --- settings --- */

/* Settings that make attacks from inside the host harder. Sandboxes do not depend on them: each is
 * a second line of defence. */
static const struct setting {
	const char *path; /* below /proc/sys */
	long min;         /* 0: must be 0; else at least this */
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

/* A setting that this kernel does not have is not weak. */
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
	return setting->min == 0 ? number != 0 : number < setting->min;
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
	/* Sandboxes write no core dumps; this is about other programs of the host. */
	if (*probe_read_line("/proc/sys/kernel/core_pattern", pattern, sizeof pattern) == '|') {
		size_t used = strlen(lines);

		weak++;
		probe_list_add(found, sizeof found, "core_pattern (a program of the host's)");
		(void)snprintf(lines + used, sizeof lines - used,
		               "\n  sudo sysctl -w kernel.core_pattern=core");
	}
	if (weak == 0) {
		check_set(ret, CHECK_ON, "all known settings are strict");
		return;
	}
	check_set(ret, CHECK_WEAKER, "could be stricter: %s", found);
	check_fix(ret, "permanently in /etc/sysctl.d/, or until the next boot with:%s", lines);
}

/* The spawner starts with a copy of the whole mount tree, once. */
enum { MOUNTS_MANY = 500 };

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
	check_set(ret, count > MOUNTS_MANY ? CHECK_WEAKER : CHECK_ON, "%zu%s", count,
	          count > MOUNTS_MANY ? ": belljar starts slowly with so many" : " on this host");
	if (count > MOUNTS_MANY)
		check_fix(ret,
		          "unmount what is not needed, or run belljar in a mount namespace with "
		          "less: systemd-run -p PrivateMounts=yes");
}
