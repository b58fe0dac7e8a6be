/* probe_host.c - what belljar runs in, and where it keeps its files. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/error.h"
#include "base/text/utf8.h"
#include "base/view.h"
#include "server/doctor/probe.h"
#include "server/options/options.h"
#include "server/runtime.h"

/* --- what is around us --- */

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

/* The first that is so is told. */
static const struct around {
	bool (*is_so)(void);
	const char *what, *fix;
} arounds[] = {
	{ is_kubernetes, "in a pod of Kubernetes: others share this kernel",
	  "if the sandbox below is off: securityContext with seccompProfile Unconfined, "
	  "procMount Unmasked and hostUsers false; or use the kubernetes engine" },
	{ is_docker, "in a container of Docker: others share this kernel",
	  "if the sandbox below is off, start the container with:\n"
	  "  --security-opt seccomp=unconfined --security-opt apparmor=unconfined\n"
	  "  --security-opt systempaths=unconfined --cgroupns=private\n"
	  "or use the docker engine; --privileged only in a machine to throw away" },
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
	for (size_t i = 0; i < ARRAY_LEN(arounds); i++) {
		if (!arounds[i].is_so())
			continue;
		check_set(ret, CHECK_WEAKER, "%s", arounds[i].what);
		check_fix(ret, "%s", arounds[i].fix);
		return;
	}
	check_set(ret, CHECK_ON, "no container around us that is known");
}

/* --- the state directory --- */

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

/* What is not there yet will be on the file system of what is. */
static void find_existing(char *path)
{
	while (access(path, F_OK) < 0 && errno == ENOENT) {
		char *slash = strrchr(path, '/'); /* there is one: it is absolute */

		slash[slash == path ? 1 : 0] = '\0';
	}
}

/* What belljar will say when it starts; NULL if it will not complain. */
static const char *complaint(const char *exists, unsigned long type, bool is_it, char out[40])
{
	struct stat st;

	if (type == PROC_SUPER_MAGIC || type == SYSFS_MAGIC) /* where root seems to have rights */
		return "no files can be made there";
	if (stat(exists, &st) < 0)
		return strerror(errno);
	if (!S_ISDIR(st.st_mode))
		return "not a directory";
	if (is_it && st.st_uid != geteuid()) {
		(void)snprintf(out, 40, "it belongs to user %u", st.st_uid);
		return out;
	}
	if (is_it && (st.st_mode & (S_IWGRP | S_IWOTH)) != 0)
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
		check_fix(ret, "export HOME=/home/USER, or say --state-dir DIR");
		return;
	}
	(void)utf8_escape(view_of(path), shown, sizeof shown);
	memcpy(exists, path, sizeof exists);
	find_existing(exists);
	if (statfs(exists, &fs) < 0 || statvfs(exists, &flags) < 0) {
		check_set(ret, CHECK_OFF, "%s: %s", shown, strerror(errno));
		check_fix(ret, "make it, or name another with --state-dir");
		return;
	}
	name = unsuited_name((unsigned long)fs.f_type);
	why = complaint(exists, (unsigned long)fs.f_type, strcmp(exists, path) == 0, owner);
	if ((flags.f_flag & ST_RDONLY) != 0) {
		check_set(ret, CHECK_OFF, "%s is on a file system mounted read-only", shown);
		check_fix(ret, "mount it without, or name another with --state-dir");
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
