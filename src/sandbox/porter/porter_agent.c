/* porter_agent.c - starts an agent that can do nothing but file operations below one directory.
 *
 * The agent is the same program as in a sandbox, but runs on the host with the user's rights. Its
 * requests come from the server, and the archives it unpacks come from sandboxes. Three mechanisms
 * confine it: its own path resolution (openat2 with RESOLVE_IN_ROOT), Landlock, which denies files
 * outside of the directory even if that resolution has a bug, and seccomp, which denies execve()
 * and everything that file operations do not need. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pwd.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/rights/landlock.h"
#include "base/text/utf8.h"
#include "engine/agent_image.h"
#include "engine/filter/filter.h"
#include "sandbox/porter/internal.h"

enum {
	/* Rights that no copy needs: running a file that a sandbox wrote, and creating devices,
	 * sockets and FIFOs, which another process of the host might open. */
	NEVER = LANDLOCK_EXECUTE | LANDLOCK_MAKE_CHAR | LANDLOCK_MAKE_BLOCK | LANDLOCK_MAKE_SOCK |
	        LANDLOCK_MAKE_FIFO | LANDLOCK_IOCTL_DEV,
	EMPTY_PATH = 0x1000, /* AT_EMPTY_PATH */
	NOBODY = 65534,
};

/* --- in the child ------------------------------------------------------------------ */

/* On a kernel without Landlock, or with version 1 of it, the agent's path resolution alone keeps it
 * below its root. */
static int confine_files(int directory, struct error *err)
{
	struct landlock landlock;
	int r;

	if (landlock_open(&landlock, err) < 0)
		return -1;
	r = landlock_allow(&landlock, directory, LANDLOCK_ALL & ~NEVER, err);
	/* The agent reads the state of its own processes, and opens the null device. */
	if (r == 0)
		r = landlock_allow_path(&landlock, "/proc", LANDLOCK_READ_FILE | LANDLOCK_READ_DIR,
		                        err);
	if (r == 0)
		r = landlock_allow_path(&landlock, "/dev/null",
		                        LANDLOCK_READ_FILE | LANDLOCK_WRITE_FILE, err);
	if (r == 0)
		r = landlock_enforce(&landlock, err);
	landlock_close(&landlock);
	return r;
}

#define AT(member) ((uint32_t)offsetof(struct seccomp_data, member))
#define LOW(n)     (AT(args[n]) + (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? 4 : 0))

/* Denies execve() and every execveat() but that of an open descriptor (AT_EMPTY_PATH), which is how
 * the agent itself is started in a moment. Later the agent has no descriptor of an executable file,
 * and it starts programs by name. System calls of another architecture, whose numbers differ, are
 * killed by filter_for_agent(). */
static int deny_exec(struct error *err)
{
	static struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, AT(nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_execve, 3, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_execveat, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, LOW(4)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, EMPTY_PATH, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct view bytes = { (const char *)code, sizeof code };

	if (filter_load(bytes) < 0 || filter_load(filter_for_agent()) < 0)
		return error_sys(err, "filter system calls");
	return 0;
}

static void become_agent(int directory, int image, int channel, unsigned user, struct error *err)
{
	(void)signal(SIGCHLD, SIG_DFL);
	(void)setsid(); /* a terminal's signals are for the server, not for a copy under way */
	if (fchdir(directory) < 0) {
		(void)error_sys(err, "enter the directory");
		return;
	}
	/* Landlock and seccomp require no_new_privs: otherwise a set-user-id program would run with
	 * a filter that its author did not expect. */
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) {
		(void)error_sys(err, "prctl");
		return;
	}
	if (confine_files(directory, err) < 0 || deny_exec(err) < 0)
		return;
	(void)agent_image_exec(image, channel, user, err);
}

/* --- in the porter ----------------------------------------------------------------- */

/* A path of the list may have become a link, or a directory above it may have been replaced, since
 * it was allowed. So the directory is opened first, and the path that the kernel tells for the
 * descriptor must be in the list too: after that no rename matters. */
static int open_directory(const struct porter *porter, const char *path, struct error *err)
{
	AUTO_FD int fd = -1;
	char link[32], real[PATH_MAX], shown[160], led[160];
	ssize_t n;

	(void)utf8_escape(view_of(path), shown, sizeof shown);
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return error_sys(err, "'%s'", shown);
	(void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	n = readlink(link, real, sizeof real - 1);
	if (n < 0)
		return error_sys(err, "'%s'", shown);
	real[n] = '\0';
	if (!porter_has(porter, real))
		return error_set(err, ERR_INVALID,
		                 "'%s' leads to '%s' now, which was not allowed: "
		                 "start belljar again to allow it",
		                 shown, utf8_escape(view_of(real), led, sizeof led));
	return TAKE_FD(fd);
}

/* The user's own group from the password file, never root's. The directory's group is no choice:
 * the user may not be a member of it. */
static gid_t group_of(uid_t uid)
{
	const struct passwd *entry = getpwuid(uid);
	gid_t gid = entry != NULL ? entry->pw_gid : (gid_t)uid;

	return gid != 0 && gid != (gid_t)-1 ? gid : NOBODY;
}

/* Fills in the user whose rights the agent's workers get. If belljar runs as root, that is the
 * directory's owner: files that a copy creates belong to that user, and a link planted by that user
 * is followed with the user's rights, not with root's. */
static int fill_user(int directory, struct porter_reply *reply, struct error *err)
{
	struct stat st;
	gid_t groups[PORTER_GROUPS_MAX];
	int count;

	reply->uid = getuid();
	reply->gid = getgid();
	if (geteuid() == 0) {
		if (fstat(directory, &st) < 0)
			return error_sys(err, "stat the directory");
		reply->uid = st.st_uid;
		reply->gid = st.st_uid == 0 ? st.st_gid : group_of(st.st_uid);
		return 0;
	}
	/* Without privileges the agent cannot change its groups, so the reply names the groups it
	 * has. */
	count = getgroups(PORTER_GROUPS_MAX, groups);
	if (count < 0)
		return error_sys(err, "read the process's groups (at most %d)", PORTER_GROUPS_MAX);
	for (int i = 0; i < count; i++)
		reply->groups[reply->group_count++] = groups[i];
	return 0;
}

/* Reads why the child failed. If it became the agent, exec closed the pipe: end of file. */
static int read_child_error(int pipe, struct error *err)
{
	struct error why;
	ssize_t n;

	do
		n = read(pipe, &why, sizeof why);
	while (n < 0 && errno == EINTR);
	if (n != (ssize_t)sizeof why)
		return 0;
	*err = why;
	return -1;
}

int porter_start_agent(const struct porter *porter, const char *path, int *image,
                       struct porter_reply *reply, struct error *err)
{
	AUTO_FD int directory = open_directory(porter, path, err);
	AUTO_FD int ours = -1, theirs = -1, error_read = -1, error_write = -1;
	int fds[2];
	pid_t pid;

	if (directory < 0 || fill_user(directory, reply, err) < 0)
		return -1;
	if (*image < 0)
		*image = agent_image_open(NULL, err);
	if (*image < 0)
		return -1;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
		return error_sys(err, "create the channel");
	ours = fds[0];
	theirs = fds[1];
	if (pipe2(fds, O_CLOEXEC) < 0)
		return error_sys(err, "create a pipe");
	error_read = fds[0];
	error_write = fds[1];
	pid = fork();
	if (pid == 0) {
		struct error why = { 0 };

		become_agent(directory, *image, theirs, reply->uid, &why);
		(void)!write(error_write, &why, sizeof why);
		_exit(1);
	}
	if (pid < 0)
		return error_sys(err, "fork");
	(void)close(TAKE_FD(error_write));
	if (read_child_error(error_read, err) < 0)
		return error_wrap(err, "start an agent in the directory");
	return TAKE_FD(ours);
}
