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
#include "sandbox/porter/host_path.h"
#include "sandbox/porter/porter_internal.h"

enum { END_S = 3 };

/* --- the list ------------------------------------------------------------------------------- */

bool porter_has(const struct porter *porter, const char *path)
{
	for (size_t i = 0; i < porter->count; i++)
		if (strcmp(porter->directories[i], path) == 0)
			return true;
	return false;
}

/* For one of the options counts what they brought; for a root also what it brought itself. */
static bool has_for(const struct porter *porter, const char *path, const char *root)
{
	for (size_t i = 0; i < porter->count; i++)
		if (strcmp(porter->directories[i], path) == 0 &&
		    (porter->roots[i] == NULL ||
		     (root != NULL && strcmp(porter->roots[i], root) == 0)))
			return true;
	return false;
}

void porter_remove_root(struct porter *porter, const char *path)
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

static int add(struct porter *porter, const char *path, const char *root, const char *state,
               struct error *err)
{
	char normal[HOST_PATH_SIZE];

	if (host_path_normal(path, normal, err) < 0 || host_path_check(normal, state, err) < 0)
		return -1;
	if (has_for(porter, normal, root))
		return 0;
	if (porter->count == (root != NULL ? PORTER_ENTRIES_MAX : HOST_DIRECTORIES_MAX))
		return error_set(err, ERR_LIMIT, "at most %d directories can be allowed",
		                 HOST_DIRECTORIES_MAX);
	porter->roots[porter->count] = root != NULL ? mem_dup(root) : NULL;
	porter->directories[porter->count++] = mem_dup(normal);
	return 0;
}

/* A name with '..' in it is told by its real one only. */
int porter_allow(struct porter *porter, const char *path, bool is_root, const char *state,
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
	    add(porter, path, root, state, err) < 0)
		return -1;
	return add(porter, real, root, state, err);
}

static int allow_listed(struct porter *porter, const struct porter_config *config,
                        struct error *err)
{
	AUTO_FREE char *copy = mem_dup(config->paths != NULL ? config->paths : "");
	char *save = NULL;

	for (char *path = strtok_r(copy, ":", &save); path != NULL;
	     path = strtok_r(NULL, ":", &save))
		if (porter_allow(porter, path, false, config->state, err) < 0)
			return error_wrap(err, "allow-path");
	return config->directory != NULL
	               ? porter_allow(porter, config->directory, false, config->state, err)
	               : 0;
}

/* --- the process ---------------------------------------------------------------------------- */

static int close_others(int socket)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct error err;

	/* Whoever reads the server's output waits for its end, not for ours. */
	if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0)
		return -1;
	return fd_close_others(&socket, 1, &err);
}

static int answer_open(const struct porter *porter, const char *path, int *image,
                       struct host_answer *answer, struct error *err)
{
	char shown[160];

	if (!porter_has(porter, path))
		return error_set(err, ERR_INVALID, "'%s' is not a directory that is allowed",
		                 utf8_escape(view_of(path), shown, sizeof shown));
	return porter_start_agent(porter, path, image, answer, err);
}

static int answer_add(struct porter *porter, const char *path, const char *state, struct error *err)
{
	if (!porter->may_add)
		return error_set(err, ERR_INVALID,
		                 "the client's roots do not count here (--no-roots)");
	if (porter_allow(porter, path, true, state, err) == 0)
		return 0;
	porter_remove_root(porter, path);
	return -1;
}

/* False: the server is gone. */
static bool say(int socket, struct host_answer *answer, int fd)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = { .bytes = { 0 } };
	struct iovec part = { answer, sizeof *answer };
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

/* The channels are closed by now, or will be with the server: nobody is left behind for others to
 * bury. One that is stuck in a dead file system is. */
static NORETURN void leave(void)
{
	(void)alarm(END_S);
	while (wait(NULL) >= 0 || errno == EINTR)
		continue;
	_exit(0);
}

static NORETURN void serve(struct porter *porter, int socket, const char *state)
{
	static struct host_question question;
	static struct host_answer answer;
	int image = -1;

	for (;;) {
		ssize_t n = recv(socket, &question, sizeof question, MSG_TRUNC);
		const ssize_t least = (ssize_t)offsetof(struct host_question, path) + 1;
		AUTO_FD int fd = -1;

		if (n < 0 && errno == EINTR)
			continue;
		if (n < least || n > (ssize_t)sizeof question)
			leave();
		answer = (struct host_answer){ 0 };
		if (memchr(question.path, '\0', (size_t)(n - least) + 1) == NULL)
			answer.failed = error_set(&answer.err, ERR_INVALID, "no path") < 0;
		else if (question.kind == HOST_OPEN)
			fd = answer_open(porter, question.path, &image, &answer, &answer.err);
		else if (question.kind == HOST_REMOVE)
			porter_remove_root(porter, question.path);
		else
			answer.failed = answer_add(porter, question.path, state, &answer.err) < 0;
		answer.failed |= question.kind == HOST_OPEN && fd < 0;
		if (!say(socket, &answer, fd))
			leave();
	}
}

static NORETURN void run(struct porter *porter, int socket, const char *state)
{
	static const int ignored[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGTSTP };

	(void)prctl(PR_SET_NAME, "belljar-porter", 0, 0, 0);
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	/* The server's end tells us when to go, not a terminal. Nobody waits for the agents. */
	for (size_t i = 0; i < ARRAY_LEN(ignored); i++)
		(void)signal(ignored[i], SIG_IGN);
	(void)signal(SIGCHLD, SIG_IGN);
	if (close_others(socket) < 0)
		_exit(1);
	serve(porter, socket, state);
}

static int start(struct porter *porter, const char *state, struct error *err)
{
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0)
		return error_sys(err, "a socket for the porter");
	porter->pid = fork();
	if (porter->pid == 0)
		run(porter, fds[1], state);
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
	struct porter porter = { .socket = -1, .may_add = config->may_add };

	if (allow_listed(&porter, config, err) < 0 ||
	    ((porter.count != 0 || porter.may_add) && start(&porter, config->state, err) < 0)) {
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
