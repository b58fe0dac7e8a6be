#include "sandbox/porter/porter.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/text/utf8.h"
#include "sandbox/porter/internal.h"

enum { EXIT_SECONDS = 3 };

/* --- the list of directories ------------------------------------------------------- */

bool porter_has(const struct porter *porter, const char *path)
{
	for (size_t i = 0; i < porter->count; i++)
		if (strcmp(porter->directories[i], path) == 0)
			return true;
	return false;
}

/* Whether the list has the path for good or, given a root, for as long as that root. An entry that
 * another root brought does not count, because it is removed with that root. */
static bool has_entry(const struct porter *porter, const char *path, const char *root)
{
	for (size_t i = 0; i < porter->count; i++)
		if (strcmp(porter->directories[i], path) == 0 &&
		    (porter->roots[i] == NULL ||
		     (root != NULL && strcmp(porter->roots[i], root) == 0)))
			return true;
	return false;
}

static void remove_root(struct porter *porter, const char *path)
{
	size_t kept = 0;

	for (size_t i = 0; i < porter->count; i++)
		if (porter->roots[i] != NULL && strcmp(porter->roots[i], path) == 0) {
			free(porter->directories[i]);
			free(porter->roots[i]);
		} else {
			porter->directories[kept] = porter->directories[i];
			porter->roots[kept++] = porter->roots[i];
		}
	porter->count = kept;
}

static int add_entry(struct porter *porter, const char *path, const char *root, const char *state,
                     struct error *err)
{
	char normal[HOST_PATH_SIZE];

	if (host_path_normal(path, normal, err) < 0 || host_path_check(normal, state, err) < 0)
		return -1;
	if (has_entry(porter, normal, root))
		return 0;
	if (porter->count == (root != NULL ? PORTER_ENTRIES_MAX : PORTER_DIRECTORIES_MAX))
		return error_set(err, ERR_LIMIT, "at most %d directories can be allowed",
		                 PORTER_DIRECTORIES_MAX);
	porter->roots[porter->count] = root != NULL ? mem_dup(root) : NULL;
	porter->directories[porter->count++] = mem_dup(normal);
	return 0;
}

/* Adds the directory as it was named and as realpath(3) tells it: the server may use either. A path
 * with '..' in it, which host_path_normal() refuses, is added by its real path only. */
static int allow_directory(struct porter *porter, const char *path, bool is_root, const char *state,
                           struct error *err)
{
	char real[PATH_MAX], shown[256];
	const char *root = is_root ? path : NULL;
	struct error ignored;
	struct stat st;

	(void)utf8_escape(view_of(path), shown, sizeof shown);
	if (realpath(path, real) == NULL || stat(real, &st) < 0)
		return error_sys(err, "'%s'", shown);
	if (!S_ISDIR(st.st_mode))
		return error_set(err, ERR_INVALID, "'%s': is not a directory", shown);
	if (host_path_check(real, state, err) < 0)
		return -1;
	if (path[0] == '/' && strlen(path) < HOST_PATH_SIZE &&
	    host_path_normal(path, (char[HOST_PATH_SIZE]){ 0 }, &ignored) == 0 &&
	    add_entry(porter, path, root, state, err) < 0)
		return -1;
	return add_entry(porter, real, root, state, err);
}

static int allow_options(struct porter *porter, const struct porter_config *config,
                         struct error *err)
{
	AUTO_FREE char *copy = mem_dup(config->paths != NULL ? config->paths : "");
	char *save = NULL;

	for (char *path = strtok_r(copy, ":", &save); path != NULL;
	     path = strtok_r(NULL, ":", &save))
		if (allow_directory(porter, path, false, config->state, err) < 0)
			return error_wrap(err, "allow-path");
	return config->directory != NULL
	               ? allow_directory(porter, config->directory, false, config->state, err)
	               : 0;
}

/* --- the process ------------------------------------------------------------------- */

/* The porter outlives requests that take long: it must not hold open the server's output, whose
 * reader waits for end of file, nor the database, locks and channels of the server. */
static int close_server_descriptors(int socket)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct error err;

	if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0)
		return -1;
	return fd_close_others(&socket, 1, &err);
}

/* The server may have been taken over: only paths of the list are opened, compared byte by byte. */
static int open_listed(const struct porter *porter, const char *path, int *image,
                       struct porter_reply *reply, struct error *err)
{
	char shown[160];

	if (!porter_has(porter, path))
		return error_set(err, ERR_INVALID, "'%s' is not a directory that is allowed",
		                 utf8_escape(view_of(path), shown, sizeof shown));
	return porter_start_agent(porter, path, image, reply, err);
}

static int add_root(struct porter *porter, const char *path, const char *state, struct error *err)
{
	if (!porter->accepts_roots)
		return error_set(
		        err, ERR_INVALID,
		        "the client's roots are not allowed: belljar was started with --no-roots");
	if (allow_directory(porter, path, true, state, err) == 0)
		return 0;
	remove_root(porter, path); /* one of its two entries may have been added */
	return -1;
}

/* False: the server has closed its end. */
static bool send_reply(int socket, struct porter_reply *reply, int fd)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = { .bytes = { 0 } };
	struct iovec part = { reply, sizeof *reply };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
	ssize_t n;

	if (fd >= 0) {
		control.align.cmsg_level = SOL_SOCKET;
		control.align.cmsg_type = SCM_RIGHTS;
		control.align.cmsg_len = CMSG_LEN(sizeof fd);
		memcpy(CMSG_DATA(&control.align), &fd, sizeof fd);
		message.msg_control = &control;
		message.msg_controllen = sizeof control;
	}
	do
		n = sendmsg(socket, &message, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n >= 0;
}

/* Waits for the agents, which exit when the server closes their channels, so that no process is
 * left behind. An agent that hangs in a file system that does not reply is given EXIT_SECONDS. */
static NORETURN void exit_after_agents(void)
{
	(void)alarm(EXIT_SECONDS);
	while (wait(NULL) >= 0 || errno == EINTR)
		continue;
	_exit(0);
}

/* Handles one request of `len` bytes. Returns the descriptor for the reply, or -1. */
static int handle_request(struct porter *porter, const struct porter_request *request, size_t len,
                          const char *state, struct porter_reply *reply)
{
	static int image = -1;
	int fd = -1, r = 0;

	/* A path without a terminator would be read beyond the bytes that arrived. */
	if (memchr(request->path, '\0', len - offsetof(struct porter_request, path)) == NULL)
		r = error_set(&reply->err, ERR_INVALID, "the request has no path");
	else if (request->kind == PORTER_OPEN_DIRECTORY)
		r = fd = open_listed(porter, request->path, &image, reply, &reply->err);
	else if (request->kind == PORTER_REMOVE_ROOT)
		remove_root(porter, request->path);
	else
		r = add_root(porter, request->path, state, &reply->err);
	reply->failed = r < 0;
	return fd;
}

/* Returns only by exiting: when the server has closed its end, or sends no valid request. */
static NORETURN void serve_requests(struct porter *porter, int socket, const char *state)
{
	static struct porter_request request;
	static struct porter_reply reply;

	for (;;) {
		const ssize_t least = (ssize_t)offsetof(struct porter_request, path) + 1;
		/* MSG_TRUNC: the length that the packet had, so that a longer one is noticed. */
		ssize_t n = recv(socket, &request, sizeof request, MSG_TRUNC);
		AUTO_FD int fd = -1;

		if (n < 0 && errno == EINTR)
			continue;
		if (n < least || n > (ssize_t)sizeof request)
			exit_after_agents();
		reply = (struct porter_reply){ 0 };
		fd = handle_request(porter, &request, (size_t)n, state, &reply);
		if (!send_reply(socket, &reply, fd))
			exit_after_agents();
	}
}

static NORETURN void run_porter(struct porter *porter, int socket, const char *state)
{
	static const int ignored[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGTSTP };

	(void)prctl(PR_SET_NAME, "belljar-porter", 0, 0, 0);
	/* Not dumpable: a process of the same user, such as one of a sandbox with a single user id,
	 * can neither attach with ptrace() nor open /proc/PID/fd. */
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	/* Ctrl-C reaches the whole foreground group, but a copy under way is the server's to stop:
	 * the porter exits when the server closes the socket. */
	for (size_t i = 0; i < ARRAY_LEN(ignored); i++)
		(void)signal(ignored[i], SIG_IGN);
	(void)signal(SIGCHLD, SIG_IGN); /* the kernel reaps the agents */
	if (close_server_descriptors(socket) < 0)
		_exit(1);
	serve_requests(porter, socket, state);
}

static int fork_porter(struct porter *porter, const char *state, struct error *err)
{
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0)
		return error_sys(err, "create the socket of the porter");
	porter->pid = fork();
	if (porter->pid == 0)
		run_porter(porter, fds[1], state);
	(void)close(fds[1]);
	if (porter->pid < 0) {
		porter->pid = 0;
		(void)error_sys(err, "start the porter");
		(void)close(fds[0]);
		return -1;
	}
	porter->socket = fds[0];
	return 0;
}

int porter_start(const struct porter_config *config, struct porter *ret, struct error *err)
{
	struct porter porter = { .socket = -1, .accepts_roots = config->accepts_roots };

	if (allow_options(&porter, config, err) < 0 ||
	    ((porter.count != 0 || porter.accepts_roots) &&
	     fork_porter(&porter, config->state, err) < 0)) {
		porter_stop(&porter);
		return -1;
	}
	*ret = porter;
	return 0;
}

void porter_stop(struct porter *porter)
{
	cleanup_fd(&porter->socket);
	porter->socket = -1;
	while (porter->pid > 0 && waitpid(porter->pid, NULL, 0) < 0 && errno == EINTR)
		continue;
	porter->pid = 0;
	for (size_t i = 0; i < porter->count; i++) {
		free(porter->directories[i]);
		free(porter->roots[i]);
	}
	porter->count = 0;
}
