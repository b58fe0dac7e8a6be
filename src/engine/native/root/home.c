#include "engine/native/root/home.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/magic.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/fd.h"
#include "engine/native/ids/ids.h"

const char *const home_mode_names[HOME_MODE_COUNT] = {
	[HOME_ROOT] = "root",
	[HOME_MAPPED] = "mapped",
	[HOME_ALONE] = "alone",
};

enum {
	HOST_FIRST = 524288, /* the range systemd keeps for containers */
	HOST_LAST = 1879048191,
	HOST_BLOCK = 65536,
	NOBODY = 65534,
	MAPPED_BLOCK = 3, /* agent, user, nobody */
	MAPPED_LEAST = 64,
	HELPER_SECONDS = 5,
};

static int open_proc(struct error *err)
{
	int fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct statfs fs;

	if (fd < 0)
		return error_sys(err, "/proc");
	if (fstatfs(fd, &fs) < 0 || fs.f_type != PROC_SUPER_MAGIC) {
		(void)close(fd);
		return error_set(err, ERR_SYSTEM, "/proc is not what it should be");
	}
	return fd;
}

static int write_own(const char *name, const char *text, struct error *err)
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

static void take_ids(struct home *home, uint32_t files, uint32_t block, uint64_t end)
{
	home->ids.files = files;
	home->ids.block = block;
	home->ids.first = block == HOST_BLOCK ? files + block : files + 1;
	home->ids.count = (uint32_t)((end - home->ids.first) / block);
}

/* Of a container's ids, those that its own users hardly have. */
static void take_ids_of_container(struct home *home, uint64_t count)
{
	if (count > HOST_BLOCK + MAPPED_LEAST)
		take_ids(home, HOST_BLOCK, MAPPED_BLOCK, count);
	else
		take_ids(home, (uint32_t)count / 2, MAPPED_BLOCK, count < NOBODY ? count : NOBODY);
}

/* Root of the host, or of a container that has ids to give away. Never with its own id. */
static int enter_as_root(struct home *home, struct error *err)
{
	uint64_t count = idmap_count();

	if (count < 2 * MAPPED_LEAST)
		return error_set(err, ERR_UNSUPPORTED,
		                 "root of a container with %llu ids has none to give away: start "
		                 "belljar as another user there, or give the container more",
		                 (unsigned long long)count);
	if (unshare(CLONE_NEWNS) < 0 || setgroups(0, NULL) < 0)
		return error_sys(err, "make a mount namespace as root (a container needs "
		                      "CAP_SYS_ADMIN for it; an ordinary user does not)");
	if (count > HOST_LAST) {
		home->mode = HOME_ROOT;
		take_ids(home, HOST_FIRST, HOST_BLOCK, HOST_LAST);
		return 0;
	}
	home->mode = HOME_MAPPED;
	take_ids_of_container(home, count);
	(void)snprintf(home->why, sizeof home->why,
	               "root of a user namespace with %llu ids, not of the host",
	               (unsigned long long)count);
	return 0;
}

/* --- an ordinary user with subordinate ids ----------------------------------------- */

static int run_helper(const char *const paths[], pid_t target, uint32_t own,
                      const struct subids *range)
{
	char words[6][12];
	char *const empty[] = { NULL };
	char *argv[9];
	int status;
	pid_t pid = fork();

	if (pid != 0)
		return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0 ? 0 : -1;
	(void)alarm(HELPER_SECONDS);
	(void)snprintf(words[0], sizeof words[0], "%d", target);
	(void)snprintf(words[1], sizeof words[1], "%u", own);
	(void)snprintf(words[2], sizeof words[2], "%u", range->first);
	(void)snprintf(words[3], sizeof words[3], "%u", range->count);
	(void)snprintf(words[4], sizeof words[4], "0");
	(void)snprintf(words[5], sizeof words[5], "1");
	argv[1] = words[0];
	argv[2] = words[4];
	argv[3] = words[1];
	argv[4] = words[5];
	argv[5] = words[5];
	argv[6] = words[2];
	argv[7] = words[3];
	argv[8] = NULL;
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

/* A process that stays outside and has the maps written when we are in. */
static pid_t start_mapper(const int go[2], uid_t uid, gid_t gid, const struct subids *uids,
                          const struct subids *gids)
{
	static const char *const uid_helpers[] = { "/usr/bin/newuidmap", "/bin/newuidmap", NULL };
	static const char *const gid_helpers[] = { "/usr/bin/newgidmap", "/bin/newgidmap", NULL };
	pid_t target = getpid(), pid = fork();
	char byte;

	if (pid != 0)
		return pid;
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* If the spawner was dead before that, the pipe has an end: but not while we hold it. */
	(void)close(go[1]);
	if (read(go[0], &byte, 1) != 1)
		_exit(2);
	if (run_helper(uid_helpers, target, uid, uids) < 0)
		_exit(3);
	_exit(run_helper(gid_helpers, target, gid, gids) < 0 ? 4 : 0);
}

static int become_mapped(struct home *home, const struct subids *uids, const struct subids *gids,
                         struct error *err)
{
	int pipe_fds[2], status = 0;
	pid_t mapper;

	if (pipe2(pipe_fds, O_CLOEXEC) < 0)
		return error_sys(err, "pipe");
	mapper = start_mapper(pipe_fds, getuid(), getgid(), uids, gids);
	if (mapper < 0 || unshare(CLONE_NEWUSER) < 0) {
		(void)error_sys(err, "make a user namespace");
		(void)close(pipe_fds[0]);
		(void)close(pipe_fds[1]);
		if (mapper > 0)
			(void)waitpid(mapper, NULL, 0);
		return -1;
	}
	(void)!write(pipe_fds[1], "x", 1);
	(void)waitpid(mapper, &status, 0);
	(void)close(pipe_fds[0]);
	(void)close(pipe_fds[1]);
	if (status != 0)
		return error_set(
		        err, ERR_SYSTEM,
		        "%s refused the ids of /etc/sub%sid: mend that file, or start with "
		        "--one-id",
		        WEXITSTATUS(status) == 4 ? "newgidmap" : "newuidmap",
		        WEXITSTATUS(status) == 4 ? "g" : "u");
	if (setresgid(0, 0, 0) < 0 || setresuid(0, 0, 0) < 0 || setgroups(0, NULL) < 0)
		return error_sys(err, "become root of a user namespace");
	if (unshare(CLONE_NEWNS) < 0)
		return error_sys(err, "make a mount namespace");
	home->mode = HOME_MAPPED;
	take_ids(home, 1, MAPPED_BLOCK,
	         1 + (uint64_t)(uids->count < gids->count ? uids->count : gids->count));
	return 0;
}

/* --- an ordinary user with one id --------------------------------------------------- */

static int become_alone(struct home *home, struct error *err)
{
	char text[64];

	home->mode = HOME_ALONE;
	home->uid = geteuid();
	home->gid = getegid();
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
		return error_sys(err,
		                 "make a user namespace (belljar doctor tells what is in the way)");
	if (write_own("setgroups", "deny", err) < 0)
		return -1;
	(void)snprintf(text, sizeof text, "%u %u 1", home->uid, home->uid);
	if (write_own("uid_map", text, err) < 0)
		return error_wrap(err, "belljar doctor tells what is in the way");
	(void)snprintf(text, sizeof text, "%u %u 1", home->gid, home->gid);
	return write_own("gid_map", text, err);
}

static int enter(struct home *home, bool alone, struct error *err)
{
	struct subids uids, gids;

	if (alone && geteuid() == 0)
		return error_set(
		        err, ERR_INVALID,
		        "--one-id is for ordinary users: root's own id is never given to a "
		        "sandbox");
	if (geteuid() == 0)
		return enter_as_root(home, err);
	if (!alone &&
	    subids_find("/etc/subuid", getuid(), MAPPED_LEAST, &uids, home->why,
	                sizeof home->why) &&
	    subids_find("/etc/subgid", getuid(), MAPPED_LEAST, &gids, home->why,
	                sizeof home->why)) {
		home->why[0] = '\0';
		return become_mapped(home, &uids, &gids, err);
	}
	if (alone)
		(void)snprintf(home->why, sizeof home->why, "--one-id");
	return become_alone(home, err);
}

/* What was opened in another mount namespace cannot be shown in this one. */
int home_enter(struct home *home, bool alone, struct error *err)
{
	*home = (struct home){ .proc = -1 };
	if (enter(home, alone, err) < 0)
		return -1;
	home->proc = open_proc(err);
	return home->proc < 0 ? -1 : 0;
}
