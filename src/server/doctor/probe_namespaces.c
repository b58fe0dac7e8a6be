#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/rights/caps.h"
#include "server/confine.h"
#include "server/doctor/probe.h"
#include "server/doctor/probe_child.h"

static const struct kind {
	int flag;
	const char *name;
} kinds[] = {
	{ CLONE_NEWNS, "mount" }, { CLONE_NEWPID, "pid" }, { CLONE_NEWNET, "net" },
	{ CLONE_NEWIPC, "ipc" },  { CLONE_NEWUTS, "uts" }, { CLONE_NEWCGROUP, "cgroup" },
};

/* Settings that forbid user namespaces, and what to do about each; last the one that programs may
 * be exempt from. NULL: see apparmor_fix(). */
static const struct lock {
	const char *path, *value, *what, *fix;
} locks[] = {
	{ "/proc/sys/user/max_user_namespaces", "0", "user.max_user_namespaces is 0",
	  "for good in /etc/sysctl.d/, until the next start with:\n"
	  "  sudo sysctl -w user.max_user_namespaces=28633" },
	{ "/proc/sys/kernel/unprivileged_userns_clone", "0",
	  "kernel.unprivileged_userns_clone is 0",
	  "for good in /etc/sysctl.d/, until the next start with:\n"
	  "  sudo sysctl -w kernel.unprivileged_userns_clone=1" },
	{ "/sys/module/user_namespace/parameters/enable", "N",
	  "the kernel was started without user namespaces",
	  "sudo grubby --args=user_namespace.enable=1 --update-kernel=ALL, and start anew" },
	{ "/sys/fs/selinux/booleans/deny_userns", "1 1", "SELinux denies user namespaces",
	  "sudo setsebool -P deny_userns off" },
	{ "/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1",
	  "AppArmor restricts unprivileged user namespaces", NULL },
};

/* --- in the child --- */

static int write_once(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	size_t len = strlen(text);
	int failure = 0;

	if (fd < 0)
		return errno;
	if (write(fd, text, len) != (ssize_t)len)
		failure = errno != 0 ? errno : EIO;
	(void)close(fd);
	return failure;
}

/* Since 5.12 mapping the host's root takes it. */
static bool lacks_setfcap(void)
{
	struct error err;
	uint64_t have;

	return geteuid() == 0 && caps_get(&have, &err) == 0 && (have & CAPS_BIT(CAP_SETFCAP)) == 0;
}

/* A user namespace with us as its root. Each returns 0 or an errno. The engine never maps the
 * host's root into one, so what that would take is not asked for. */
static int enter_user_namespace(unsigned *uid, unsigned *gid)
{
	/* A change of ids hides our own maps from us until we say otherwise. */
	if (lacks_setfcap() && (setresgid(confine_id(), confine_id(), confine_id()) < 0 ||
	                        setresuid(confine_id(), confine_id(), confine_id()) < 0 ||
	                        prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0))
		return errno;
	*uid = geteuid();
	*gid = getegid();
	return unshare(CLONE_NEWUSER) < 0 ? errno : 0;
}

static int map_root(unsigned uid, unsigned gid)
{
	char line[48];
	int failure;

	(void)write_once("/proc/self/setgroups", "deny"); /* absent before 3.19 */
	(void)snprintf(line, sizeof line, "0 %u 1", uid);
	failure = write_once("/proc/self/uid_map", line);
	if (failure != 0)
		return failure;
	(void)snprintf(line, sizeof line, "0 %u 1", gid);
	return write_once("/proc/self/gid_map", line);
}

int probe_become_root(void)
{
	unsigned uid = 0, gid = 0;
	int failure = enter_user_namespace(&uid, &gid);

	return failure != 0 ? failure : map_root(uid, gid);
}

struct user_answer {
	int enter, map;
	int kinds[ARRAY_LEN(kinds)];
};

static void try_namespaces(void *record)
{
	struct user_answer *answer = record;
	unsigned uid = 0, gid = 0;

	answer->enter = enter_user_namespace(&uid, &gid);
	answer->map = answer->enter != 0 ? answer->enter : map_root(uid, gid);
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		answer->kinds[i] = unshare(kinds[i].flag) < 0 ? errno : 0;
}

struct overlay_answer {
	int namespaces, tmpfs, overlay;
};

/* On a tmpfs of our own, in a mount namespace of our own: nothing of it is seen outside
 * and all of it goes with the child. */
static void try_overlay(void *record)
{
	struct overlay_answer *answer = record;

	answer->namespaces = probe_become_root();
	if (answer->namespaces == 0 && unshare(CLONE_NEWNS) < 0)
		answer->namespaces = errno;
	if (answer->namespaces != 0)
		return;
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("tmpfs", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, "size=1m") < 0 ||
	    mkdir("/tmp/l", 0700) < 0 || mkdir("/tmp/u", 0700) < 0 || mkdir("/tmp/w", 0700) < 0 ||
	    mkdir("/tmp/m", 0700) < 0) {
		answer->tmpfs = errno;
		return;
	}
	if (mount("overlay", "/tmp/m", "overlay", MS_NOSUID | MS_NODEV,
	          "lowerdir=/tmp/l,upperdir=/tmp/u,workdir=/tmp/w,userxattr") < 0)
		answer->overlay = errno;
}

/* --- the probes --- */

/* A profile that allows nothing but what belljar had before the restriction. */
static void apparmor_fix(struct check *ret)
{
	char self[256];
	ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);

	self[len > 0 ? len : 0] = '\0';
	/* Anything else has a meaning in a profile, or in a shell. */
	if (len <= 0 ||
	    self[strspn(self,
	                "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-")] !=
	            '\0')
		(void)snprintf(self, sizeof self, "/PATH/TO/belljar");
	check_fix(ret,
	          "give belljar a profile that lets it make them:\n"
	          "  printf '%%s\\n' 'abi <abi/4.0>,' 'include <tunables/global>' \\\n"
	          "    'profile belljar %s flags=(unconfined) {' \\\n"
	          "    '  userns,' '}' | sudo tee /etc/apparmor.d/belljar\n"
	          "  sudo apparmor_parser -r /etc/apparmor.d/belljar\n"
	          "Weaker, for every program of the host:\n"
	          "  sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
	          self);
}

/* True if something known explains the refusal. */
static bool blame_setting(struct check *ret, enum check_status status)
{
	for (size_t i = 0; i < ARRAY_LEN(locks); i++) {
		char value[32];

		if (strcmp(probe_read_line(locks[i].path, value, sizeof value), locks[i].value) !=
		    0)
			continue;
		check_set(ret, status, "%s", locks[i].what);
		if (locks[i].fix != NULL)
			check_fix(ret, "%s", locks[i].fix);
		else
			apparmor_fix(ret);
		return true;
	}
	if (!lacks_setfcap())
		return false;
	check_set(ret, status, "root without CAP_SETFCAP, which mapping root takes");
	check_fix(ret,
	          "give belljar that capability (in a container: --cap-add SETFCAP), or run it "
	          "as an ordinary user");
	return true;
}

static bool is_filtered(void)
{
	char line[128];
	bool filtered = false;
	FILE *file = fopen("/proc/self/status", "re");

	if (file == NULL)
		return false;
	while (!filtered && fgets(line, sizeof line, file) != NULL)
		filtered = strcmp(line, "Seccomp:\t2\n") == 0;
	(void)fclose(file);
	return filtered;
}

static void suggest_way_out(struct check *ret, int failure)
{
	if (failure == EINVAL || failure == ENOSYS)
		check_fix(ret, "use a kernel built with CONFIG_USER_NS and CONFIG_NAMESPACES");
	else if (is_filtered())
		check_fix(ret, "this process runs under a system call filter (a container?): start "
		               "it with --security-opt seccomp=unconfined, or outside");
	else
		check_fix(ret,
		          "allow user namespaces for this user, or run belljar where they are");
}

void probe_user_namespaces(UNUSED const struct options *options, struct check *ret)
{
	struct user_answer answer = { 0 };
	struct error err;

	if (probe_child_run(try_namespaces, &answer, sizeof answer, &err) < 0) {
		check_set(ret, CHECK_OFF, "could not be tried: %s", err.msg);
		check_fix(ret, "free processes or memory and ask again");
		return;
	}
	/* AppArmor lets unshare() pass and takes the capabilities away: only the next step
	 * shows it. */
	if (answer.map == 0 && answer.kinds[0] == 0) {
		check_set(ret, CHECK_ON, "tried: made one and mapped user %u to its root",
		          (unsigned)geteuid());
		return;
	}
	if (blame_setting(ret, CHECK_OFF))
		return;
	check_set(ret, CHECK_OFF, "tried: %s: %s",
	          answer.enter != 0 ? "unshare"
	          : answer.map != 0 ? "map users"
	                            : "use the new capabilities",
	          strerror(answer.map != 0 ? answer.map : answer.kinds[0]));
	suggest_way_out(ret, answer.map != 0 ? answer.map : answer.kinds[0]);
}

void probe_namespaces(UNUSED const struct options *options, struct check *ret)
{
	struct user_answer answer = { 0 };
	struct error err;
	char made[80] = "", refused[80] = "";
	int failure = 0;

	if (probe_child_run(try_namespaces, &answer, sizeof answer, &err) < 0) {
		check_set(ret, CHECK_OFF, "could not be tried: %s", err.msg);
		check_fix(ret, "free processes or memory and ask again");
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		if (answer.kinds[i] == 0) {
			probe_list_add(made, sizeof made, kinds[i].name);
			continue;
		}
		probe_list_add(refused, sizeof refused, kinds[i].name);
		failure = answer.kinds[i];
	}
	if (refused[0] == '\0') {
		check_set(ret, CHECK_ON, "tried: %s", made);
		return;
	}
	check_set(ret, made[0] != '\0' ? CHECK_WEAKER : CHECK_OFF, "tried: refused %s (%s)%s%s",
	          refused, strerror(failure), made[0] != '\0' ? "; made " : "", made);
	if (answer.map != 0)
		check_fix(ret, "see 'user-namespaces': the others need one");
	else
		suggest_way_out(ret, failure);
}

void probe_overlayfs(UNUSED const struct options *options, struct check *ret)
{
	struct overlay_answer answer = { 0 };
	struct error err;

	if (probe_child_run(try_overlay, &answer, sizeof answer, &err) < 0) {
		check_set(ret, CHECK_OFF, "could not be tried: %s", err.msg);
		check_fix(ret, "free processes or memory and ask again");
	} else if (answer.namespaces != 0) {
		check_set(ret, CHECK_OFF, "could not be tried: no user namespace (%s)",
		          strerror(answer.namespaces));
		check_fix(ret, "see 'user-namespaces'");
	} else if (answer.tmpfs != 0) {
		check_set(ret, CHECK_OFF, "could not be tried: no tmpfs in a user namespace (%s)",
		          strerror(answer.tmpfs));
		check_fix(ret, "allow mounts in user namespaces (in a container: --security-opt "
		               "apparmor=unconfined)");
	} else if (answer.overlay != 0) {
		check_set(ret, CHECK_OFF, "tried: mount in a user namespace: %s",
		          strerror(answer.overlay));
		check_fix(ret, "modprobe overlay; or update the kernel to 5.11 or newer");
	} else
		check_set(ret, CHECK_ON, "tried: mounted in a user namespace, on tmpfs");
}
