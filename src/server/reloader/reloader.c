#include "server/reloader/reloader.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/process/packet.h"
#include "loop/watch.h"
#include "server/reloader/internal.h"

static int wait_until_confined(int socket, struct error *err)
{
	struct reloader_hello hello = { 0 };

	if (!packet_receive(socket, &hello, sizeof hello))
		return error_set(err, ERR_SYSTEM, "start the reloader: the process has ended");
	if (!hello.failed)
		return 0;
	*err = hello.err;
	return error_wrap(err, "start the reloader");
}

int reloader_start(const char *const *paths, size_t count, struct reloader *ret, struct error *err)
{
	struct reloader reloader = { .socket = -1, .count = count };
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0)
		return error_sys(err, "create the socket of the reloader");
	reloader.socket = fds[0];
	reloader.pid = fork();
	if (reloader.pid == 0)
		reloader_serve(paths, count, fds[1]);
	(void)close(fds[1]);
	if (reloader.pid < 0) {
		reloader.pid = 0;
		(void)error_sys(err, "start the reloader");
	} else if (wait_until_confined(reloader.socket, err) == 0) {
		*ret = reloader;
		return 0;
	}
	reloader_stop(&reloader);
	return -1;
}

static void stop_watching(struct reloader *reloader)
{
	log_error("the reloader has ended: changes of tokens and certificates are not noticed any "
	          "more; start belljar again");
	reloader->watch = loop_watch_free(reloader->watch);
}

static void on_message(void *ctx)
{
	struct reloader *reloader = ctx;
	struct reloader_message body = { 0 };
	AUTO_FD int fd = -1;
	int r = packet_take(reloader->socket, &body, sizeof body, &fd);

	if (r == 0)
		return;
	if (r < 0 || body.index >= reloader->count) {
		stop_watching(reloader);
		return;
	}
	reloader->changed(reloader->ctx, body.index, fd, fd < 0 ? body.errnum : 0);
}

void reloader_watch(struct reloader *reloader, struct loop *loop, reloader_fn *changed, void *ctx)
{
	reloader->changed = changed;
	reloader->ctx = ctx;
	reloader->watch = loop_watch_new(loop, reloader->socket, on_message, reloader);
}

void reloader_stop(struct reloader *reloader)
{
	if (reloader->pid == 0)
		return;
	reloader->watch = loop_watch_free(reloader->watch);
	cleanup_fd(&reloader->socket);
	reloader->socket = -1;
	while (waitpid(reloader->pid, NULL, 0) < 0 && errno == EINTR)
		continue;
	reloader->pid = 0;
}
