/* doctor_isolation.c - the layers that every sandbox has: namespaces, mounts, filters, the agent
 * (see internal.h).
 *
 * A sandbox in which a program ran proves them all, so nothing is tried a second time. Only if the
 * trial failed are its steps tried one by one, in one child, to find out which layer is missing and
 * which setting of the host is the reason. */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/rights/caps.h"
#include "engine/agent_image.h"
#include "engine/filter/filter.h"
#include "server/confine.h"
#include "server/doctor/internal.h"
#include "wire/table.h"

enum { KIND_MOUNT, KIND_PID, KIND_NET, KIND_IPC, KIND_UTS, KIND_CGROUP };

static const struct kind {
	int flag;
	const char *name;
} kinds[] = {
	[KIND_MOUNT] = { CLONE_NEWNS, "mount" }, [KIND_PID] = { CLONE_NEWPID, "pid" },
	[KIND_NET] = { CLONE_NEWNET, "net" },    [KIND_IPC] = { CLONE_NEWIPC, "ipc" },
	[KIND_UTS] = { CLONE_NEWUTS, "uts" },    [KIND_CGROUP] = { CLONE_NEWCGROUP, "cgroup" },
};
_Static_assert(ARRAY_LEN(kinds) == NAMESPACE_KINDS, "a result for each kind");

/* --- the steps, in a child --- */

static int write_file(const char *path, const char *text)
{
	AUTO_FD int fd = open(path, O_WRONLY | O_CLOEXEC);
	size_t len = strlen(text);

	if (fd < 0)
		return errno;
	return write(fd, text, len) == (ssize_t)len ? 0 : errno != 0 ? errno : EIO;
}

/* Since Linux 5.12 mapping the host's root into a user namespace requires CAP_SETFCAP. */
static bool lacks_setfcap(void)
{
	struct error err;
	uint64_t have;

	return geteuid() == 0 && caps_get(&have, &err) == 0 && (have & CAPS_BIT(CAP_SETFCAP)) == 0;
}

static int enter_user_namespace(unsigned *uid, unsigned *gid)
{
	/* The engine never maps the host's root, so a missing CAP_SETFCAP must not fail this step.
	 * After a change of ids the process is not dumpable, and its own /proc/self/uid_map belongs
	 * to root: become dumpable again. */
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

	(void)write_file("/proc/self/setgroups", "deny"); /* absent before Linux 3.19 */
	(void)snprintf(line, sizeof line, "0 %u 1", uid);
	failure = write_file("/proc/self/uid_map", line);
	if (failure != 0)
		return failure;
	(void)snprintf(line, sizeof line, "0 %u 1", gid);
	return write_file("/proc/self/gid_map", line);
}

static int raise_loopback(void)
{
	struct ifreq request = { .ifr_name = "lo" };
	AUTO_FD int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || ioctl(fd, SIOCGIFFLAGS, &request) < 0)
		return errno;
	request.ifr_flags |= IFF_UP;
	return ioctl(fd, SIOCSIFFLAGS, &request) < 0 ? errno : 0;
}

/* A tmpfs in a mount namespace of this child: nothing of it is seen outside. */
static int prepare_mounts(void)
{
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("tmpfs", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, "size=1m") < 0 ||
	    mkdir("/tmp/l", 0700) < 0 || mkdir("/tmp/u", 0700) < 0 || mkdir("/tmp/w", 0700) < 0 ||
	    mkdir("/tmp/m", 0700) < 0)
		return errno;
	return 0;
}

static int mount_overlay(void)
{
	return mount("overlay", "/tmp/m", "overlay", MS_NOSUID | MS_NODEV,
	             "lowerdir=/tmp/l,upperdir=/tmp/u,workdir=/tmp/w,userxattr") < 0
	               ? errno
	               : 0;
}

/* Only a process of the new PID namespace may mount its /proc, and unshare() affects only the
 * children of its caller. */
static int mount_proc(void)
{
	int status = 0;
	pid_t child = fork();

	if (child == 0)
		_exit(mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0
		              ? errno
		              : 0);
	if (child < 0 || waitpid(child, &status, 0) != child)
		return errno;
	return WIFEXITED(status) ? WEXITSTATUS(status) : EIO;
}

static void try_steps(void *record)
{
	struct isolation_steps *steps = record;
	unsigned uid = 0, gid = 0;

	steps->user_namespace = enter_user_namespace(&uid, &gid);
	steps->map_user = steps->user_namespace != 0 ? steps->user_namespace : map_root(uid, gid);
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		steps->kinds[i] = unshare(kinds[i].flag) < 0 ? errno : 0;
	/* Each of these changes the host itself if its namespace was not made: root would mount
	 * over the host's /tmp and /proc. */
	if (steps->map_user == 0 && steps->kinds[KIND_NET] == 0)
		steps->loopback = raise_loopback();
	if (steps->map_user == 0 && steps->kinds[KIND_MOUNT] == 0) {
		steps->mounts = prepare_mounts();
		if (steps->mounts == 0)
			steps->overlay = mount_overlay();
		if (steps->mounts == 0 && steps->kinds[KIND_PID] == 0)
			steps->proc = mount_proc();
	}
	/* Last, because the filter refuses the calls above. */
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		steps->no_new_privileges = errno;
	if (filter_load(filter_for_programs(SPEC_SYSCALLS_STANDARD)) < 0)
		steps->filter = errno;
}

void isolation_try_steps(struct trial *trial)
{
	trial->steps_failed = probe_child_run(try_steps, &trial->steps, sizeof trial->steps,
	                                      PROBE_DEADLINE_MS, &trial->steps_why) < 0;
}

bool doctor_native_works(void)
{
	static const struct isolation_steps none;
	struct trial trial = { .is_ready = false };
	struct error err;
	uint64_t caps;

	/* The spawner of root makes namespaces with its own rights: see PV-21 in tests/escape. */
	if (geteuid() == 0 && (caps_get(&caps, &err) < 0 || (caps & CAPS_BIT(CAP_SYS_ADMIN)) == 0))
		return false;
	isolation_try_steps(&trial);
	return !trial.steps_failed && memcmp(&trial.steps, &none, sizeof none) == 0;
}

/* --- the reason of a refusal --- */

/* Settings that forbid user namespaces. AppArmor's is last, because single programs may be exempt
 * from it. fix NULL: see fix_apparmor(). */
static const struct setting {
	const char *path, *value, *what, *fix;
} settings[] = {
	{ "/proc/sys/user/max_user_namespaces", "0", "user.max_user_namespaces is 0",
	  "permanently in /etc/sysctl.d/, or until the next boot with:\n"
	  "  sudo sysctl -w user.max_user_namespaces=28633" },
	{ "/proc/sys/kernel/unprivileged_userns_clone", "0",
	  "kernel.unprivileged_userns_clone is 0",
	  "permanently in /etc/sysctl.d/, or until the next boot with:\n"
	  "  sudo sysctl -w kernel.unprivileged_userns_clone=1" },
	{ "/sys/module/user_namespace/parameters/enable", "N",
	  "the kernel was started without user namespaces",
	  "sudo grubby --args=user_namespace.enable=1 --update-kernel=ALL, and restart" },
	{ "/sys/fs/selinux/booleans/deny_userns", "1 1", "SELinux denies user namespaces",
	  "sudo setsebool -P deny_userns off" },
	{ "/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1",
	  "AppArmor restricts unprivileged user namespaces", NULL },
};

/* Suggests a profile that allows only what belljar could do before AppArmor's restriction. */
static void fix_apparmor(struct check *ret)
{
	char self[256];
	ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);

	self[len > 0 ? len : 0] = '\0';
	/* Other characters have a meaning in a profile or in a shell. */
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

/* True if a known setting explains the refusal. */
static bool find_setting(struct check *ret)
{
	for (size_t i = 0; i < ARRAY_LEN(settings); i++) {
		char value[32];

		if (strcmp(probe_read_line(settings[i].path, value, sizeof value),
		           settings[i].value) != 0)
			continue;
		check_set(ret, CHECK_OFF, "%s", settings[i].what);
		if (settings[i].fix != NULL)
			check_fix(ret, "%s", settings[i].fix);
		else
			fix_apparmor(ret);
		return true;
	}
	if (!lacks_setfcap())
		return false;
	check_set(ret, CHECK_OFF, "root without CAP_SETFCAP, which mapping root requires");
	check_fix(ret,
	          "give belljar that capability (in a container: --cap-add SETFCAP), or run it "
	          "as an ordinary user");
	return true;
}

static bool is_filtered(void)
{
	return prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == SECCOMP_MODE_FILTER;
}

static void suggest_fix(struct check *ret, int failure)
{
	if (failure == EINVAL || failure == ENOSYS)
		check_fix(ret, "use a kernel built with CONFIG_USER_NS and CONFIG_NAMESPACES");
	else if (is_filtered())
		check_fix(ret, "this process runs under a system call filter (a container?): start "
		               "it with --security-opt seccomp=unconfined, or outside");
	else
		check_fix(ret, "allow user namespaces for this user, or run belljar where they are "
		               "allowed");
}

/* --- the layers --- */

/* False: the check says why the steps could not be tried. */
static bool has_steps(const struct trial *trial, struct check *ret)
{
	if (!trial->steps_failed)
		return true;
	check_set(ret, CHECK_OFF, "could not be tried: %s", trial->steps_why.msg);
	check_fix(ret, "free processes or memory and ask again");
	return false;
}

void isolation_user_namespaces(const struct trial *trial, struct check *ret)
{
	const struct isolation_steps *steps = &trial->steps;
	int failure = steps->map_user != 0 ? steps->map_user : steps->kinds[KIND_MOUNT];

	if (!has_steps(trial, ret))
		return;
	/* AppArmor lets unshare() succeed and removes the capabilities: only the next step
	 * fails. */
	if (failure == 0) {
		check_set(ret, CHECK_ON, "tried: made one and mapped users into it");
		return;
	}
	if (find_setting(ret))
		return;
	check_set(ret, CHECK_OFF, "tried: %s: %s",
	          steps->user_namespace != 0 ? "unshare"
	          : steps->map_user != 0     ? "map users"
	                                     : "use the new capabilities",
	          strerror(failure));
	suggest_fix(ret, failure);
}

void isolation_namespaces(const struct trial *trial, struct check *ret)
{
	char made[80] = "", refused[80] = "";
	int failure = 0;

	if (!has_steps(trial, ret))
		return;
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (trial->steps.kinds[i] == 0) {
			probe_list_add(made, sizeof made, kinds[i].name);
		} else {
			probe_list_add(refused, sizeof refused, kinds[i].name);
			failure = trial->steps.kinds[i];
		}
	if (failure == 0) {
		check_set(ret, CHECK_ON, "tried: %s", made);
		return;
	}
	check_set(ret, made[0] != '\0' ? CHECK_WEAKER : CHECK_OFF, "tried: refused %s (%s)%s%s",
	          refused, strerror(failure), made[0] != '\0' ? "; made " : "", made);
	if (trial->steps.map_user != 0)
		check_fix(ret, "see 'user-namespaces': the others need one");
	else
		suggest_fix(ret, failure);
}

/* Reports one step inside the namespaces. `needs` is the errno of the namespace that the step
 * needs. */
static void report_step(const struct trial *trial, int needs, int failure, const char *success,
                        const char *what, const char *fix, struct check *ret)
{
	if (!has_steps(trial, ret))
		return;
	if (trial->steps.map_user != 0)
		needs = trial->steps.map_user;
	if (needs != 0) {
		check_set(ret, CHECK_OFF, "could not be tried: no namespace for it (%s)",
		          strerror(needs));
		check_fix(ret, "see 'user-namespaces' and 'namespaces'");
	} else if (failure != 0) {
		check_set(ret, CHECK_OFF, "tried: %s: %s", what, strerror(failure));
		check_fix(ret, "%s", fix);
	} else {
		check_set(ret, CHECK_ON, "tried: %s", success);
	}
}

void isolation_network(const struct trial *trial, struct check *ret)
{
	report_step(trial, trial->steps.kinds[KIND_NET], trial->steps.loopback,
	            "a network namespace with its own loopback",
	            "set up the loopback of a network namespace",
	            "see 'user-namespaces': the new namespace has no rights", ret);
}

void isolation_proc(const struct trial *trial, struct check *ret)
{
	const struct isolation_steps *steps = &trial->steps;
	int needs = steps->kinds[KIND_PID] != 0 ? steps->kinds[KIND_PID] : steps->mounts;

	report_step(
	        trial, needs != 0 ? needs : steps->kinds[KIND_MOUNT], steps->proc,
	        "mounted in a PID namespace", "mount it in a PID namespace",
	        "something is mounted over parts of this process's /proc, so the kernel allows "
	        "no other. In Docker: --security-opt systempaths=unconfined; in Podman: "
	        "--security-opt unmask=ALL; in Kubernetes: procMount: Unmasked; with the NVIDIA "
	        "runtime: unmount /proc/driver/nvidia*",
	        ret);
}

void isolation_overlayfs(const struct trial *trial, struct check *ret)
{
	if (trial->steps.mounts != 0)
		report_step(trial, trial->steps.kinds[KIND_MOUNT], trial->steps.mounts, "",
		            "mount a tmpfs in a user namespace",
		            "allow mounts in user namespaces (in a container: --security-opt "
		            "apparmor=unconfined)",
		            ret);
	else
		report_step(trial, trial->steps.kinds[KIND_MOUNT], trial->steps.overlay,
		            "mounted in a user namespace", "mount in a user namespace",
		            "modprobe overlay; or update the kernel to 5.11 or newer", ret);
}

static bool has_action(unsigned action)
{
	return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

void isolation_seccomp(const struct trial *trial, struct check *ret)
{
	if (!has_action(SECCOMP_RET_ERRNO)) {
		check_set(ret, CHECK_OFF, "the kernel has no system call filters (%s)",
		          strerror(errno));
		check_fix(ret, "use a kernel built with CONFIG_SECCOMP_FILTER");
	} else if (!has_action(SECCOMP_RET_KILL_PROCESS)) {
		check_set(ret, CHECK_WEAKER, "filters work, but cannot kill a whole process");
		check_fix(ret, "update the kernel to 4.14 or newer");
	} else if (has_steps(trial, ret) && trial->steps.filter != 0) {
		check_set(ret, CHECK_OFF, "tried: the filter of programs: %s",
		          strerror(trial->steps.filter));
		check_fix(ret, "run belljar where no filter restricts its own system calls, "
		               "outside of the container or service");
	} else if (!trial->steps_failed) {
		check_set(ret, CHECK_ON, "tried: filters can refuse, kill%s",
		          has_action(SECCOMP_RET_USER_NOTIF) ? ", notify" : "");
	}
}

void isolation_no_new_privileges(const struct trial *trial, struct check *ret)
{
	if (!has_steps(trial, ret))
		return;
	if (trial->steps.no_new_privileges != 0) {
		check_set(ret, CHECK_OFF, "tried: %s", strerror(trial->steps.no_new_privileges));
		check_fix(ret, "update the kernel to 3.5 or newer");
	} else if (geteuid() != 0 && prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1) {
		check_set(ret, CHECK_WEAKER,
		          "belljar itself was started with it: newuidmap can give it no "
		          "subordinate ids");
		check_fix(
		        ret,
		        "start it without: NoNewPrivileges=no in its unit (RestrictNamespaces= and "
		        "ProtectKernelTunables= are in the way too), no --security-opt "
		        "no-new-privileges");
	} else {
		check_set(ret, CHECK_ON, "tried: it can be set");
	}
}

static const char *fix_for_agent(const struct error *err)
{
	if (err->errnum == EACCES || err->errnum == EPERM)
		return "let belljar execute its agent: sysctl -w vm.memfd_noexec=1, "
		       "or a $XDG_RUNTIME_DIR or /tmp that is not mounted noexec; see also the "
		       "audit log of SELinux or AppArmor";
	if (err->errnum == ENOSYS)
		return "update the kernel to 5.13 or newer";
	if (err->kind == ERR_UNSUPPORTED)
		return "mount /tmp or $XDG_RUNTIME_DIR without noexec, or sysctl -w "
		       "vm.memfd_noexec=1";
	if (err->kind == ERR_SYSTEM && err->errnum != 0)
		return "free processes, descriptors or memory and ask again";
	return "build belljar again: make clean all";
}

void isolation_agent(const struct trial *trial, struct check *ret)
{
	size_t kib = (agent_image(AGENT_IN_SANDBOX).len + 1023) / 1024;
	bool is_sealed = false;
	struct error err;
	AUTO_FD int image = agent_image_open(AGENT_IN_SANDBOX, &is_sealed, &err);

	/* The engine's reasons name the agent if the agent's program could not be executed, or did
	 * not answer. */
	if (image >= 0 && trial->is_ready && !trial->has_run &&
	    strstr(trial->why.msg, "agent") != NULL) {
		err = trial->why;
		(void)close(TAKE_FD(image));
	}
	if (image < 0) {
		check_set(ret, CHECK_OFF, "%zu KiB, does not start: %s", kib, err.msg);
		check_fix(ret, "%s", fix_for_agent(&err));
		return;
	}
	check_set(ret, is_sealed ? CHECK_ON : CHECK_WEAKER, "%zu KiB, starts from %s, protocol %d",
	          kib, is_sealed ? "a sealed memfd" : "an unlinked file", WIRE_VERSION);
	if (!is_sealed)
		check_fix(ret, "allow programs in memory: sysctl -w vm.memfd_noexec=1");
}
