/* userns.c - the spawner's user and mount namespace, and the ids it can give to sandboxes. */
#include <fcntl.h>
#include <grp.h>
#include <linux/magic.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "engine/native/ids/ids.h"
#include "engine/native/root/root.h"

enum {
	HOST_BLOCK = 65536,
	NOBODY = 65534,
	MAPPED_BLOCK = 3, /* agent, user, nobody */
	MAPPED_LEAST = 64,
	HELPER_SECONDS = 60,
	GROUPS_MAX = 256,
};

/* Id maps are written and sandboxes are checked through this descriptor. A process that could put
 * another file system at /proc could fake both, so its type is checked once and the path is not
 * resolved again. */
static int open_proc(struct error *err)
{
	int fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct statfs fs;

	if (fd < 0)
		return error_sys(err, "/proc");
	if (fstatfs(fd, &fs) < 0 || fs.f_type != PROC_SUPER_MAGIC) {
		(void)close(fd);
		return error_set(err, ERR_SYSTEM, "/proc is not a proc file system: mount one");
	}
	return fd;
}

/* The kernel accepts only one write(2) to a map, so the whole text is written at once. */
static int write_own_proc(const char *name, const char *text, struct error *err)
{
	char path[64];
	AUTO_FD int fd = -1;

	(void)snprintf(path, sizeof path, "/proc/self/%s", name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		return error_sys(err, "write '%s' to %s", text, path);
	return 0;
}

/* --- root -------------------------------------------------------------------------- */

static void set_id_range(struct userns *userns, uint32_t files, uint32_t block, uint64_t end)
{
	userns->ids.files = files;
	userns->ids.block = block;
	userns->ids.first = block == HOST_BLOCK ? files + block : files + 1;
	userns->ids.count = (uint32_t)((end - userns->ids.first) / block);
}

/* Low ids belong to the container's own users and services, so sandboxes get the upper part. If the
 * id for files belongs to a user, the last id takes its place: no block has that. */
static int set_container_id_range(struct userns *userns, uint64_t count,
                                  const struct ids_taken *taken, struct error *err)
{
	bool has_many = count > HOST_BLOCK + MAPPED_LEAST;
	uint32_t last = (uint32_t)(has_many || count < NOBODY ? count : NOBODY) - 1;

	set_id_range(userns, has_many ? HOST_BLOCK : (uint32_t)count / 2, MAPPED_BLOCK, last);
	if (ids_taken_find(taken, userns->ids.files, userns->ids.files) == NULL)
		return 0;
	if (ids_taken_find(taken, last, last) != NULL)
		return error_set(err, ERR_UNSUPPORTED,
		                 "no id is left for the files of sandboxes: %u and %u belong to "
		                 "users of this container: give these users other ids",
		                 userns->ids.files, last);
	userns->ids.files = last;
	return 0;
}

/* The numbers of blocks do not depend on the ids of the server and of files, so a sandbox keeps its
 * block when those change. */
static void set_host_id_range(struct userns *userns, uid_t server)
{
	set_id_range(userns, IDS_HOST_FIRST, HOST_BLOCK, IDS_HOST_LAST_BLOCK);
	if (server != 0)
		userns->ids.files = server - 1;
}

/* Root needs no user namespace of its own: id 0 is never mapped into a sandbox, so a program that
 * breaks out has an id that owns nothing on the host. */
static int enter_as_root(struct userns *userns, const struct userns_wanted *wanted,
                         struct error *err)
{
	uint64_t count = idmap_count();

	if (count < 2 * MAPPED_LEAST)
		return error_set(err, ERR_UNSUPPORTED,
		                 "root of a container with %llu ids has none to give away: start "
		                 "belljar as another user there, or give the container more",
		                 (unsigned long long)count);
	/* Every process that is cloned from the spawner inherits its supplementary groups, and with
	 * them access to files of the host. */
	if (unshare(CLONE_NEWNS) < 0 || setgroups(0, NULL) < 0)
		return error_sys(err, "make a mount namespace as root (a container needs "
		                      "CAP_SYS_ADMIN for it; an ordinary user does not)");
	if (count > IDS_HOST_LAST) {
		userns->mode = USERNS_ROOT;
		set_host_id_range(userns, wanted->server);
		return 0;
	}
	userns->mode = USERNS_MAPPED;
	if (set_container_id_range(userns, count, wanted->taken, err) < 0)
		return -1;
	(void)snprintf(userns->why, sizeof userns->why,
	               "root of a user namespace with %llu ids, not of the host",
	               (unsigned long long)count);
	return 0;
}

/* --- an ordinary user with subordinate ids ----------------------------------------- */

/* newuidmap is a setuid program. The helper is started by absolute path and with an empty
 * environment, so neither PATH nor a loader variable chooses what runs; alarm(2) survives execve(2)
 * and bounds it. */
static int run_map_helper(const char *const paths[], pid_t target, uint32_t own,
                          const struct subids *range)
{
	char pid_text[12], own_text[12], first_text[12], count_text[12];
	char zero[] = "0", one[] = "1";
	char *const empty[] = { NULL };
	char *argv[] = { NULL, pid_text, zero, own_text, one, one, first_text, count_text, NULL };
	int status;
	pid_t pid = fork();

	if (pid != 0)
		return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0 ? 0 : -1;
	(void)alarm(HELPER_SECONDS);
	(void)snprintf(pid_text, sizeof pid_text, "%d", target);
	(void)snprintf(own_text, sizeof own_text, "%u", own);
	(void)snprintf(first_text, sizeof first_text, "%u", range->first);
	(void)snprintf(count_text, sizeof count_text, "%u", range->count);
	for (size_t i = 0; paths[i] != NULL; i++) {
		union {
			const char *in;
			char *out;
		} same = { paths[i] };

		argv[0] = same.out;
		(void)execve(paths[i], argv, empty);
	}
	_exit(127);
}

/* Forks a process that stays in the old user namespace: only there does the helper have the right
 * to map subordinate ids. The new process waits for a byte on the pipe, which says that unshare(2)
 * is done. */
static pid_t start_mapper(const int unshared[2], uid_t uid, gid_t gid, const struct subids *uids,
                          const struct subids *gids)
{
	static const char *const uid_helpers[] = { "/usr/bin/newuidmap", "/bin/newuidmap", NULL };
	static const char *const gid_helpers[] = { "/usr/bin/newgidmap", "/bin/newgidmap", NULL };
	pid_t target = getpid(), pid = fork();
	char byte;

	if (pid != 0)
		return pid;
	/* If the spawner died before this prctl(2), no signal comes. Then read(2) returns end of
	 * file, but only if this process does not hold the writing end itself. */
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)close(unshared[1]);
	if (read(unshared[0], &byte, 1) != 1)
		_exit(2);
	if (run_map_helper(uid_helpers, target, uid, uids) < 0)
		_exit(3);
	_exit(run_map_helper(gid_helpers, target, gid, gids) < 0 ? 4 : 0);
}

static int wait_mapper(pid_t mapper, struct error *err)
{
	int status = 0;

	(void)waitpid(mapper, &status, 0);
	if (status == 0)
		return 0;
	return error_set(
	        err, ERR_SYSTEM,
	        "%s refused the ids of /etc/sub%sid: correct that file, or start belljar with "
	        "--one-id",
	        WEXITSTATUS(status) == 4 ? "newgidmap" : "newuidmap",
	        WEXITSTATUS(status) == 4 ? "g" : "u");
}

static int enter_mapped(struct userns *userns, const struct subids *uids, const struct subids *gids,
                        struct error *err)
{
	int unshared[2];
	pid_t mapper;

	if (pipe2(unshared, O_CLOEXEC) < 0)
		return error_sys(err, "pipe");
	mapper = start_mapper(unshared, getuid(), getgid(), uids, gids);
	if (mapper < 0 || unshare(CLONE_NEWUSER) < 0) {
		(void)error_sys(err, "make a user namespace");
		(void)close(unshared[0]);
		(void)close(unshared[1]);
		if (mapper > 0)
			(void)waitpid(mapper, NULL, 0);
		return -1;
	}
	(void)!write(unshared[1], "x", 1);
	(void)close(unshared[0]);
	(void)close(unshared[1]);
	if (wait_mapper(mapper, err) < 0)
		return -1;
	/* The user's supplementary groups (docker, disk ...) would stay effective on the host's
	 * files. setgroups(2) is possible here because newgidmap does not deny it. */
	if (setresgid(0, 0, 0) < 0 || setresuid(0, 0, 0) < 0 || setgroups(0, NULL) < 0)
		return error_sys(err, "become root of a user namespace");
	if (unshare(CLONE_NEWNS) < 0)
		return error_sys(err, "make a mount namespace");
	userns->mode = USERNS_MAPPED;
	set_id_range(userns, 1, MAPPED_BLOCK,
	             1 + (uint64_t)(uids->count < gids->count ? uids->count : gids->count));
	return 0;
}

/* --- an ordinary user with one id --------------------------------------------------- */

/* Members of these groups can become root, or read and write what belongs to root. */
static const char *const dangerous_groups[] = {
	"root", "disk",  "docker", "kmem", "kvm",   "libvirt",
	"lxd",  "incus", "shadow", "sudo", "wheel",
};

static bool is_among(gid_t gid, const gid_t *gids, int count)
{
	for (int i = 0; i < count; i++)
		if (gids[i] == gid)
			return true;
	return false;
}

/* Found by the spawner, because the server can no longer read the group database when it reports
 * them. */
static void find_dangerous_groups(char *out, size_t size)
{
	gid_t gids[GROUPS_MAX];
	int count = getgroups(GROUPS_MAX, gids);
	size_t used = 0;

	if (count < 0)
		(void)snprintf(out, size, "more than can be read");
	for (size_t i = 0; count > 0 && i < ARRAY_LEN(dangerous_groups) && used < size; i++) {
		/* cppcheck-suppress getgrnamCalled */
		const struct group *group = getgrnam(dangerous_groups[i]);

		if (group != NULL && is_among(group->gr_gid, gids, count))
			used += (size_t)snprintf(out + used, size - used, "%s%s",
			                         used != 0 ? ", " : "", dangerous_groups[i]);
	}
}

/* "deny" has to be in /proc/self/setgroups before an unprivileged process may write gid_map:
 * otherwise the process could leave a group that a file's mode excludes (CVE-2014-8989). */
static int enter_single_id(struct userns *userns, struct error *err)
{
	char text[64];

	userns->mode = USERNS_SINGLE_ID;
	userns->uid = geteuid();
	userns->gid = getegid();
	find_dangerous_groups(userns->groups, sizeof userns->groups);
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
		return error_sys(err, "make a user namespace (run 'belljar doctor' for the cause)");
	if (write_own_proc("setgroups", "deny", err) < 0)
		return -1;
	/* The id is mapped to itself and not to 0: no process inside is root. */
	(void)snprintf(text, sizeof text, "%u %u 1", userns->uid, userns->uid);
	if (write_own_proc("uid_map", text, err) < 0)
		return error_wrap(err, "run 'belljar doctor' for the cause");
	(void)snprintf(text, sizeof text, "%u %u 1", userns->gid, userns->gid);
	return write_own_proc("gid_map", text, err);
}

/* Root never falls back to a single id: root's own id in a sandbox would be the host's root to
 * every file that the sandbox reaches. */
static int enter_best_mode(struct userns *userns, const struct userns_wanted *wanted,
                           struct error *err)
{
	bool single_id = wanted->single_id;
	struct subids uids, gids;

	if (single_id && geteuid() == 0)
		return error_set(
		        err, ERR_INVALID,
		        "--one-id is for ordinary users: root's own id is never given to a "
		        "sandbox");
	if (geteuid() == 0)
		return enter_as_root(userns, wanted, err);
	if (!single_id &&
	    subids_find("/etc/subuid", getuid(), MAPPED_LEAST, &uids, userns->why,
	                sizeof userns->why) &&
	    subids_find("/etc/subgid", getuid(), MAPPED_LEAST, &gids, userns->why,
	                sizeof userns->why)) {
		userns->why[0] = '\0';
		return enter_mapped(userns, &uids, &gids, err);
	}
	if (single_id)
		(void)snprintf(userns->why, sizeof userns->why, "--one-id");
	return enter_single_id(userns, err);
}

/* /proc is opened last: open_tree(2) refuses to clone a mount of another mount namespace. */
int userns_enter(struct userns *userns, const struct userns_wanted *wanted, struct error *err)
{
	bool is_root = geteuid() == 0; /* root enters no user namespace of its own */

	*userns = (struct userns){ .proc = -1 };
	if (enter_best_mode(userns, wanted, err) < 0)
		return -1;
	userns->proc = open_proc(err);
	if (userns->proc < 0)
		return -1;
	if (!is_root)
		kernel_shares_keep_half(userns->proc);
	return 0;
}
