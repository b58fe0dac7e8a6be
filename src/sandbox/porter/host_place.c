#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text/utf8.h"
#include "engine/filter/filter.h"
#include "loop/loop.h"
#include "loop/watch.h"
#include "sandbox/channel/channel.h"
#include "sandbox/porter/host_internal.h"

enum { KEEP_MS = 30000 };

/* --- places -------------------------------------------------------------------------------- */

static void forget_questions(struct place *place)
{
	LIST_EACH (node, &place->host->questions) {
		struct question *question = container_of(node, struct question, node);

		if (question->place == place)
			question->place = NULL;
	}
}

void host_place_free(struct place *place)
{
	forget_questions(place);
	list_remove(&place->node);
	(void)channel_free(place->channel);
	(void)loop_timer_free(place->idle);
	free(place);
}

static void on_idle(void *ctx)
{
	struct place *place = ctx;

	place->channel = channel_free(place->channel);
	place->state = PLACE_CLOSED;
}

struct place *host_place_new(struct host *host, const char *path, bool is_root)
{
	struct place *place = mem_new(sizeof *place);

	place->host = host;
	place->is_root = is_root;
	memcpy(place->path, path, strlen(path) + 1);
	place->idle = loop_timer_new(host->loop, on_idle, place);
	list_init(&place->uses);
	list_add(&host->places, &place->node);
	return place;
}

void host_place_rest(struct place *place)
{
	if (place->is_busy || !list_is_empty(&place->uses))
		return;
	if (place->is_gone)
		host_place_free(place);
	else
		loop_timer_start(place->idle, KEEP_MS);
}

static struct host_handle *next_due(struct place *place)
{
	LIST_EACH (node, &place->uses) {
		struct host_handle *use = container_of(node, struct host_handle, node);

		if (use->is_due)
			return use;
	}
	return NULL;
}

/* Those who wait now hear it. Each may close itself, another, or open a new one. */
static void tell(struct place *place, const struct error *why)
{
	struct host_handle *use;

	LIST_EACH (node, &place->uses) {
		use = container_of(node, struct host_handle, node);
		use->is_due = use->fn != NULL && use->soon == NULL;
	}
	place->is_busy = true;
	while ((use = next_due(place)) != NULL) {
		host_opened_fn *fn = use->fn;

		use->is_due = false;
		use->fn = NULL;
		fn(use->ctx, why);
	}
	place->is_busy = false;
	host_place_rest(place);
}

/* --- the agent there ----------------------------------------------------------------------- */

static void on_ready(void *ctx, const struct wire_hello *hello, uint16_t proxy_port)
{
	struct place *place = ctx;

	(void)hello;
	(void)proxy_port;
	place->state = PLACE_OPEN;
	tell(place, NULL);
}

static void fail(struct place *place, const struct error *why)
{
	struct error err = *why;
	char shown[160];

	place->channel = channel_free(place->channel);
	place->state = PLACE_CLOSED;
	(void)error_wrap(&err, "'%s' cannot be reached",
	                 utf8_escape(view_of(place->path), shown, sizeof shown));
	tell(place, &err);
}

static void on_failed(void *ctx, const struct error *why)
{
	fail(ctx, why);
}

static const struct channel_events channel_events = { .ready = on_ready, .failed = on_failed };

/* Its root is the directory it was started in: no path is walked again. */
static int greet(struct place *place, const struct host_answer *answer, int fd, struct error *err)
{
	AUTO_BUF struct buf groups;
	struct wire_welcome welcome = {
		.version = WIRE_VERSION,
		.uid = answer->uid,
		.gid = answer->gid,
		.root = view_of("."),
		.workspace = view_of("/"),
		.programs = filter_for_workers(), /* which may not even be executed */
		.workers = filter_for_workers(),
	};

	buf_init(&groups, HOST_GROUPS_MAX * sizeof(uint32_t));
	for (uint32_t i = 0; i < answer->group_count && i < HOST_GROUPS_MAX; i++)
		if (wire_numbers_add(&welcome.groups, &groups, answer->groups[i], err) < 0) {
			(void)close(fd);
			return -1;
		}
	place->state = PLACE_GREETING;
	return channel_new(place->host->loop, fd, &welcome, &channel_events, place, &place->channel,
	                   err);
}

/* --- the porter ----------------------------------------------------------------------------- */

void host_question_free(struct question *question)
{
	list_remove(&question->node);
	free(question->path);
	free(question);
}

static bool send_question(const struct host *host, const struct question *question)
{
	struct host_question packet = { .kind = question->kind };
	size_t len = strlen(question->path) + 1;

	memcpy(packet.path, question->path, len);
	return send(host->socket, &packet, offsetof(struct host_question, path) + len,
	            MSG_NOSIGNAL | MSG_DONTWAIT) >= 0;
}

/* Those that find no room wait. That the porter is gone is found when its answers end. */
static void send_waiting(struct host *host)
{
	bool is_full = false;

	LIST_EACH (node, &host->questions) {
		struct question *question = container_of(node, struct question, node);

		if (question->is_sent)
			continue;
		question->is_sent = send_question(host, question);
		if (!question->is_sent) {
			is_full = errno == EAGAIN || errno == EINTR || errno == ENOBUFS;
			break;
		}
	}
	loop_watch_write(host->watch, is_full);
}

int host_ask(struct host *host, enum host_question_kind kind, struct place *place,
             struct error *err)
{
	struct question *question;

	if (host->socket < 0)
		return error_set(err, ERR_SYSTEM,
		                 "the process that opens directories of the host is gone: start "
		                 "belljar again");
	question = mem_new(sizeof *question);
	question->kind = kind;
	question->place = kind != HOST_REMOVE ? place : NULL;
	question->path = mem_dup(place->path);
	list_add(&host->questions, &question->node);
	send_waiting(host);
	return 0;
}

/* Those who use it now still may, until they are done. */
void host_drop_root(struct place *place)
{
	struct error it_is_gone;

	place->is_gone = true;
	(void)!host_ask(place->host, HOST_REMOVE, place, &it_is_gone);
	host_place_rest(place);
}

static void take_answer(struct host *host, const struct host_answer *answer, int fd)
{
	struct question *question;
	struct place *place;
	struct error err;

	if (list_is_empty(&host->questions)) {
		cleanup_fd(&fd);
		return;
	}
	question = container_of(host->questions.next, struct question, node);
	/* The analyser does not follow the links. NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
	place = question->place;
	list_remove(&question->node);
	if (place == NULL || question->kind != HOST_OPEN) {
		cleanup_fd(&fd);
		if (place != NULL && !place->is_gone && answer->failed) {
			log_warning("a root of the client cannot be used: %s", answer->err.msg);
			host_drop_root(place);
		}
	} else if (answer->failed || fd < 0) {
		cleanup_fd(&fd);
		(void)error_set(&err, ERR_SYSTEM, "no descriptor came");
		fail(place, answer->failed ? &answer->err : &err);
	} else if (greet(place, answer, fd, &err) < 0)
		fail(place, &err);
	host_question_free(question);
}

/* Nothing more will come: all who wait hear it. */
static void lose_porter(struct host *host)
{
	struct host_answer gone = { .failed = true };

	(void)error_set(&gone.err, ERR_SYSTEM,
	                "the process that opens directories of the host is gone: start belljar "
	                "again");
	host->watch = loop_watch_free(host->watch);
	cleanup_fd(&host->socket);
	host->socket = -1;
	while (!list_is_empty(&host->questions))
		take_answer(host, &gone, -1);
}

static int received_fd(struct msghdr *message)
{
	struct cmsghdr *part = CMSG_FIRSTHDR(message);
	int fd = -1;

	if (part != NULL && part->cmsg_level == SOL_SOCKET && part->cmsg_type == SCM_RIGHTS &&
	    part->cmsg_len == CMSG_LEN(sizeof fd))
		memcpy(&fd, CMSG_DATA(part), sizeof fd);
	return fd;
}

void host_on_ready(void *ctx)
{
	struct host *host = ctx;
	static struct host_answer answer;
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec part = { &answer, sizeof answer };
	struct msghdr message = { .msg_iov = &part,
		                  .msg_iovlen = 1,
		                  .msg_control = &control,
		                  .msg_controllen = sizeof control };
	ssize_t n;
	int fd;

	send_waiting(host);
	n = recvmsg(host->socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	fd = n > 0 ? received_fd(&message) : -1;
	if (n != (ssize_t)sizeof answer) {
		cleanup_fd(&fd);
		lose_porter(host);
		return;
	}
	answer.err.msg[sizeof answer.err.msg - 1] = '\0';
	take_answer(host, &answer, fd);
}
