/* share_call.c - one request of a guest to the holder, up to the answer. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "loop/loop.h"
#include "loop/watch.h"
#include "sandbox/share/share.h"

/* The holder may have to wake the sandbox first, or to remove many files. */
enum { ANSWER_MS = 60000 };

struct share_call {
	struct loop *loop;
	int fd;
	struct loop_watch *watch;
	struct loop_timer *deadline;
	struct share_answer answer;
	size_t received; /* bytes of the answer */
	bool keeps_connection;
	share_answer_fn *done;
	void *ctx;
};

struct share_call *share_call_free(struct share_call *call)
{
	if (call == NULL)
		return NULL;
	(void)loop_watch_free(call->watch);
	(void)loop_timer_free(call->deadline);
	cleanup_fd(&call->fd);
	loop_defer(call->loop, free, call);
	return NULL;
}

static void finish_call(struct share_call *call, const struct error *why)
{
	int fd = why == NULL && call->keeps_connection ? TAKE_FD(call->fd) : -1;
	share_answer_fn *done = call->done;
	void *ctx = call->ctx;

	(void)share_call_free(call);
	done(ctx, fd, why);
}

static void fail_call(struct share_call *call, const char *what)
{
	struct error err;

	(void)error_set(&err, ERR_SYSTEM, "the server that has the sandbox awake %s", what);
	finish_call(call, &err);
}

/* Reads no more than the answer: the frames behind the answer are read by the channel. */
static void on_readable(void *ctx)
{
	struct share_call *call = ctx;
	ssize_t n = recv(call->fd, (char *)&call->answer + call->received,
	                 sizeof call->answer - call->received, MSG_DONTWAIT);
	struct error err;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		fail_call(call, "has closed the connection");
		return;
	}
	call->received += (size_t)n;
	if (call->received < sizeof call->answer)
		return;
	if (call->answer.failed == 0) {
		finish_call(call, NULL);
		return;
	}
	(void)error_set(&err, ERR_SYSTEM, "%.*s", (int)sizeof call->answer.message - 1,
	                call->answer.message);
	finish_call(call, &err);
}

static void on_deadline(void *ctx)
{
	fail_call(ctx, "does not answer");
}

struct share_call *share_call_new(struct loop *loop, int fd, enum share_kind kind, const char *id,
                                  const struct share_changes *changes, share_answer_fn *done,
                                  void *ctx)
{
	struct share_call *call = mem_new(sizeof *call);
	struct share_request request = { .version = BELLJAR_VERSION, .kind = kind };

	(void)snprintf(request.id, sizeof request.id, "%s", id);
	*call = (struct share_call){ .loop = loop,
		                     .fd = fd,
		                     .keeps_connection = kind == SHARE_ATTACH,
		                     .done = done,
		                     .ctx = ctx };
	call->watch = loop_watch_new(loop, fd, on_readable, call);
	call->deadline = loop_timer_new(loop, on_deadline, call);
	loop_timer_start(call->deadline, ANSWER_MS);
	/* The empty send buffer of a new connection has room for a request. If the holder has
	 * closed the connection, on_readable() reports that. */
	(void)!send(fd, &request, sizeof request, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (changes != NULL)
		(void)!send(fd, changes, sizeof *changes, MSG_DONTWAIT | MSG_NOSIGNAL);
	return call;
}
