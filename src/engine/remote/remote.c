#include "engine/remote/remote.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/list.h"
#include "base/mem.h"
#include "engine/remote/messages.h"
#include "engine/remote/pending.h"
#include "engine/remote/request_queue.h"
#include "loop/watch.h"

enum { BUCKETS = 64, REPLIES_AT_A_TIME = 64 };

struct remote {
	struct engine engine;
	struct engine_ops ops; /* remote_ops with the words of this engine */
	int socket;
	struct loop_watch *watch;
	remote_ready_fn *ready;
	void *ready_ctx;
	uint64_t last_number;        /* of the latest request */
	struct list boxes[BUCKETS];  /* hash table by number */
	struct list pending;         /* requests about files and servers, without a reply */
	struct list queue;           /* requests that the socket has not taken yet */
	struct engine_report report; /* complete when `ready` is called */
	void (*lost)(void *ctx, const struct error *why);
	void *lost_ctx;
	bool is_ready_reported;
	bool is_lost;
	struct error why; /* set when lost */
};

struct engine_box {
	struct list node;
	struct remote *remote;
	uint64_t number;
	const struct engine_events *events; /* NULL: released */
	void *ctx;
	int counters[CGROUP_COUNTER_FILES];
	enum cgroup_kind cgroups; /* the format of the counters */
	bool is_started;
	void (*limits_set)(void *ctx, const struct error *err); /* of a change, or NULL */
	void *limits_set_ctx;
};

/* --- requests ------------------------------------------------------------------------- */

static void flush_requests(struct remote *remote)
{
	loop_watch_write(remote->watch, request_queue_send(&remote->queue, remote->socket));
}

static void send_request(struct remote *remote, enum engine_request_kind kind, uint64_t number,
                         const struct spec *spec, const char *argument)
{
	struct engine_request *request;

	if (remote->is_lost)
		return;
	request = request_queue_add(&remote->queue);
	request->kind = kind;
	request->number = number;
	if (spec != NULL)
		request->spec = *spec;
	if (argument != NULL)
		(void)snprintf(request->argument, sizeof request->argument, "%s", argument);
	flush_requests(remote);
}

/* Fails if the process that creates sandboxes has exited. */
static int check_remote(const struct remote *remote, struct error *err)
{
	if (!remote->is_lost)
		return 0;
	*err = remote->why;
	return -1;
}

/* --- boxes ---------------------------------------------------------------------------- */

static struct engine_box *find_box(struct remote *remote, uint64_t number)
{
	LIST_EACH (node, &remote->boxes[number % BUCKETS]) {
		struct engine_box *box = container_of(node, struct engine_box, node);

		if (box->number == number)
			return box;
	}
	return NULL;
}

static void free_box(struct engine_box *box)
{
	for (int i = 0; i < CGROUP_COUNTER_FILES; i++)
		if (box->counters[i] >= 0)
			(void)close(box->counters[i]);
	list_remove(&box->node);
	free(box);
}

static void report_limits_set(struct engine_box *box, const struct error *err)
{
	void (*done)(void *ctx, const struct error *err) = box->limits_set;

	box->limits_set = NULL;
	if (done != NULL && box->events != NULL)
		done(box->limits_set_ctx, err);
}

/* The box is freed before the event: the callback may start a sandbox or free the engine. */
static void report_end(struct engine_box *box, enum engine_end end, const struct error *err)
{
	static const char *const reasons[] = {
		[ENGINE_END_KILLED] = "it was killed on request",
		[ENGINE_END_AGENT_DIED] = "its agent exited",
		[ENGINE_END_OUT_OF_MEMORY] = "it reached its memory limit",
		[ENGINE_END_DISK_LIMIT] = "it wrote more than its disk limit",
		[ENGINE_END_INODE_LIMIT] = "it made more files than its limit",
		[ENGINE_END_LOCK_LIMIT] = "it held too many record locks",
		[ENGINE_END_ENGINE_LOST] = "its engine failed",
	};
	const struct engine_events *events = box->events;
	void *ctx = box->ctx;
	bool was_started = box->is_started;
	struct error ended;

	(void)error_set(&ended, ERR_SYSTEM, "the sandbox ended: %s", reasons[end]);
	report_limits_set(box, &ended);
	free_box(box);
	if (events == NULL)
		return;
	if (!was_started && err != NULL)
		events->failed(ctx, err);
	else
		events->ended(ctx, end, err != NULL ? err->msg : reasons[end]);
}

static int start_box(struct engine *engine, const struct spec *spec,
                     const struct engine_events *events, void *ctx, struct engine_box **ret,
                     struct error *err)
{
	struct remote *remote = container_of(engine, struct remote, engine);
	struct engine_box *box;

	if (check_remote(remote, err) < 0 || spec_check(spec, err) < 0)
		return -1;
	box = mem_new(sizeof *box);
	box->remote = remote;
	box->number = ++remote->last_number;
	box->events = events;
	box->ctx = ctx;
	for (int i = 0; i < CGROUP_COUNTER_FILES; i++)
		box->counters[i] = -1;
	list_add(&remote->boxes[box->number % BUCKETS], &box->node);
	send_request(remote, REQUEST_START, box->number, spec, NULL);
	*ret = box;
	return 0;
}

static void kill_box(struct engine_box *box)
{
	send_request(box->remote, REQUEST_KILL, box->number, NULL, NULL);
}

static int set_box_limits(struct engine_box *box, const struct spec_limits *limits,
                          void (*done)(void *ctx, const struct error *err), void *ctx,
                          struct error *err)
{
	struct spec spec = { .limits = *limits };

	if (check_remote(box->remote, err) < 0)
		return -1;
	if (!box->is_started || box->limits_set != NULL)
		return error_set(err, ERR_INVALID,
		                 "the limits of this sandbox are being changed already: try again");
	box->limits_set = done;
	box->limits_set_ctx = ctx;
	send_request(box->remote, REQUEST_LIMIT, box->number, &spec, NULL);
	return 0;
}

static void release_box(struct engine_box *box)
{
	box->events = NULL;
	kill_box(box);
}

static bool read_box_counters(struct engine_box *box, bool only_refusals,
                              struct engine_counters *ret)
{
	*ret = (struct engine_counters){ 0 };
	if (!box->is_started || box->cgroups == CGROUP_NONE)
		return false;
	(only_refusals ? cgroup_read_refusals : cgroup_read_counters)(box->counters, box->cgroups,
	                                                              ret);
	return true;
}

/* --- files, images, servers ----------------------------------------------------------- */

/* Sends a request whose reply goes to the callback of `what`. id NULL: it is about no sandbox. */
static int send_pending(struct remote *remote, enum engine_request_kind kind, const char *id,
                        const char *argument, const struct pending *what, struct error *err)
{
	struct spec spec = { 0 };

	if (check_remote(remote, err) < 0)
		return -1;
	if (id != NULL && !spec_is_id(id))
		return error_set(err, ERR_INVALID, "'%s' is not the id of a sandbox", id);
	if (id != NULL)
		memcpy(spec.id, id, sizeof spec.id);
	pending_add(&remote->pending, ++remote->last_number, what);
	send_request(remote, kind, remote->last_number, &spec, argument);
	return 0;
}

static int erase_files(struct engine *engine, const char *id,
                       void (*done)(void *ctx, const struct error *err), void *ctx,
                       struct error *err)
{
	return send_pending(container_of(engine, struct remote, engine), REQUEST_ERASE, id, NULL,
	                    &(struct pending){ .erased = done, .ctx = ctx }, err);
}

static int add_python(struct engine *engine, const char *id, const char *proxy,
                      engine_image_fn *done, void *ctx, struct error *err)
{
	return send_pending(container_of(engine, struct remote, engine), REQUEST_ADD_PYTHON, id,
	                    proxy, &(struct pending){ .made = done, .ctx = ctx }, err);
}

static void list_ids(struct engine *engine, void (*each)(void *ctx, const char *id), void *ctx)
{
	struct error lost;

	(void)!send_pending(container_of(engine, struct remote, engine), REQUEST_LIST, NULL, NULL,
	                    &(struct pending){ .each = each, .ctx = ctx }, &lost);
}

int remote_connect(struct engine *engine, const char *instance, remote_connected_fn *done,
                   void *ctx, struct error *err)
{
	return send_pending(container_of(engine, struct remote, engine), REQUEST_CONNECT, NULL,
	                    instance, &(struct pending){ .connected = done, .ctx = ctx }, err);
}

/* --- replies -------------------------------------------------------------------------- */

/* To be called when the reply had fewer descriptors than it names: at RLIMIT_NOFILE the kernel
 * delivers a message without them. */
static void fail_without_fds(struct engine_box *box)
{
	struct error err;

	errno = EMFILE;
	(void)error_sys(&err, "the server has no descriptors left for one more sandbox: delete "
	                      "sandboxes, or wait until some are asleep");
	kill_box(box);
	report_end(box, ENGINE_END_KILLED, &err);
}

/* Descriptors that are taken over become -1 in fds; receive_reply() closes the others. */
static void on_started(struct remote *remote, const struct engine_reply *reply, int *fds,
                       size_t count)
{
	struct engine_box *box = find_box(remote, reply->number);
	size_t used = 1;

	if (box == NULL || box->is_started)
		return;
	if (count != 1 + (size_t)__builtin_popcount(reply->counters)) {
		fail_without_fds(box);
		return;
	}
	for (int i = 0; i < CGROUP_COUNTER_FILES && used < count; i++)
		if ((reply->counters >> i & 1) != 0) {
			box->counters[i] = TAKE_FD(fds[used]);
			used++;
		}
	box->cgroups = reply->cgroups;
	box->is_started = true;
	if (box->events == NULL)
		return;
	box->events->started(box->ctx, TAKE_FD(fds[0]), &reply->user);
}

static void on_ended(struct remote *remote, const struct engine_reply *reply)
{
	struct engine_box *box = find_box(remote, reply->number);

	if (box != NULL)
		report_end(box, reply->end, reply->failed ? &reply->err : NULL);
}

static void on_limits_set(struct remote *remote, const struct engine_reply *reply)
{
	struct engine_box *box = find_box(remote, reply->number);

	if (box != NULL)
		report_limits_set(box, reply->failed ? &reply->err : NULL);
}

static void on_ready(struct remote *remote, const struct engine_reply *reply)
{
	remote->report.limits_memory = reply->limits_memory;
	if (reply->failed)
		remote->why = reply->err;
	remote->is_ready_reported = true;
	remote->ready(remote->ready_ctx, &remote->report, reply->failed ? &reply->err : NULL);
}

static void on_progress(struct remote *remote, const struct engine_reply *reply)
{
	struct engine_box *box = find_box(remote, reply->number);

	if (box != NULL && !box->is_started && box->events != NULL && box->events->progress != NULL)
		box->events->progress(box->ctx, &reply->progress);
}

static void handle_reply(struct remote *remote, const struct engine_reply *reply, int *fds,
                         size_t count)
{
	switch (reply->kind) {
	case REPLY_READY:
		on_ready(remote, reply);
		break;
	case REPLY_STARTED:
		on_started(remote, reply, fds, count);
		break;
	case REPLY_ENDED:
		on_ended(remote, reply);
		break;
	case REPLY_LIMITED:
		on_limits_set(remote, reply);
		break;
	case REPLY_LAYER:
		*report_add(&remote->report, reply->layer.name) = reply->layer;
		break;
	case REPLY_PROGRESS:
		on_progress(remote, reply);
		break;
	case REPLY_ERASED:
	case REPLY_LISTED:
	case REPLY_CONNECTED:
	case REPLY_PYTHON:
		pending_receive(&remote->pending, reply, fds, count);
		break;
	default:
		break;
	}
}

/* After the exit of the process every box ends, every pending request fails, and the lost callback
 * fires. */
static void fail_pending(struct remote *remote)
{
	remote->is_lost = true;
	remote->watch = loop_watch_free(remote->watch);
	if (remote->why.msg[0] == '\0')
		(void)error_set(&remote->why, ERR_SYSTEM,
		                "the process that starts sandboxes has exited: restart belljar");
	if (!remote->is_ready_reported) {
		remote->is_ready_reported = true;
		remote->ready(remote->ready_ctx, &remote->report, &remote->why);
	}
	for (int i = 0; i < BUCKETS; i++)
		while (!list_is_empty(&remote->boxes[i]))
			report_end(container_of(remote->boxes[i].next, struct engine_box, node),
			           ENGINE_END_ENGINE_LOST, &remote->why);
	pending_fail(&remote->pending, &remote->why);
	if (remote->lost != NULL)
		remote->lost(remote->lost_ctx, &remote->why);
}

void remote_on_lost(struct engine *engine, void (*fn)(void *ctx, const struct error *why),
                    void *ctx)
{
	struct remote *remote = container_of(engine, struct remote, engine);

	remote->lost = fn;
	remote->lost_ctx = ctx;
}

/* The control buffer has room for REPLY_FDS_MAX descriptors, so the kernel installs no more. */
static size_t take_fds(struct msghdr *message, int fds[REPLY_FDS_MAX])
{
	size_t count = 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c != NULL; c = CMSG_NXTHDR(message, c))
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS) {
			count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
			memcpy(fds, CMSG_DATA(c), count * sizeof(int));
		}
	return count;
}

/* True: there may be another reply. */
static bool receive_reply(struct remote *remote)
{
	struct engine_reply reply;
	struct iovec part = { &reply, sizeof reply };
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(REPLY_FDS_MAX * sizeof(int))];
	} control;
	struct msghdr message = { .msg_iov = &part,
		                  .msg_iovlen = 1,
		                  .msg_control = &control,
		                  .msg_controllen = sizeof control };
	ssize_t n = recvmsg(remote->socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	int fds[REPLY_FDS_MAX];
	size_t count;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	/* ECONNRESET means that the process has exited with requests unread. The kernel reports it
	 * once, before the replies that the process sent earlier, one of which may have the
	 * reason. */
	if (n < 0 && errno == ECONNRESET)
		return true;
	if (n != (ssize_t)sizeof reply) {
		fail_pending(remote);
		return false;
	}
	count = take_fds(&message, fds);
	handle_reply(remote, &reply, fds, count);
	for (size_t i = 0; i < count; i++)
		if (fds[i] >= 0)
			(void)close(fds[i]);
	return !remote->is_lost;
}

static void on_socket(void *ctx)
{
	struct remote *remote = ctx;

	flush_requests(remote);
	for (int i = 0; i < REPLIES_AT_A_TIME; i++)
		if (!receive_reply(remote))
			return;
}

/* --- life cycle ----------------------------------------------------------------------- */

/* The process at the other end of the socket kills all sandboxes and exits when the socket is
 * closed. */
static void free_remote(struct engine *engine)
{
	struct remote *remote = container_of(engine, struct remote, engine);

	for (int i = 0; i < BUCKETS; i++)
		while (!list_is_empty(&remote->boxes[i]))
			free_box(container_of(remote->boxes[i].next, struct engine_box, node));
	pending_done(&remote->pending);
	request_queue_done(&remote->queue);
	(void)loop_watch_free(remote->watch);
	(void)close(remote->socket);
	free(remote);
}

static const struct engine_ops remote_ops = {
	.start = start_box,
	.kill = kill_box,
	.read_counters = read_box_counters,
	.set_limits = set_box_limits,
	.release = release_box,
	.erase = erase_files,
	.add_python = add_python,
	.list = list_ids,
	.free = free_remote,
};

struct engine *remote_new(struct loop *loop, int socket, const struct remote_words *words,
                          remote_ready_fn *ready, void *ctx)
{
	struct remote *remote = mem_new(sizeof *remote);

	remote->ops = remote_ops;
	remote->ops.name = words->name;
	remote->ops.programs_place = words->programs_place;
	remote->engine.ops = &remote->ops;
	remote->socket = socket;
	remote->ready = ready;
	remote->ready_ctx = ctx;
	for (int i = 0; i < BUCKETS; i++)
		list_init(&remote->boxes[i]);
	list_init(&remote->pending);
	list_init(&remote->queue);
	remote->watch = loop_watch_new(loop, socket, on_socket, remote);
	return &remote->engine;
}
