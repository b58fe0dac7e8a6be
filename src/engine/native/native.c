#include "engine/native/native.h"

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
#include "engine/native/pending.h"
#include "engine/native/request_queue.h"
#include "engine/native/spawner/spawner.h"
#include "loop/loop.h"
#include "loop/watch.h"

enum { BUCKETS = 64, REPLIES_AT_A_TIME = 64 };

struct native {
	struct engine engine; /* first */
	int socket;
	struct loop_watch *watch;
	native_ready_fn *ready;
	void *ready_ctx;
	uint64_t last_number;       /* of the latest request */
	struct list boxes[BUCKETS]; /* hash table by number */
	struct list pending;        /* requests about files and servers, without a reply */
	struct list queue;          /* requests that the socket has not taken yet */
	enum cgroup_kind cgroups;
	void (*lost)(void *ctx, const struct error *why);
	void *lost_ctx;
	bool is_ready_reported;
	bool is_lost;
	struct error why; /* set when lost */
};

struct engine_box {
	struct list node;
	struct native *native;
	uint64_t number;
	const struct engine_events *events; /* NULL: released */
	void *ctx;
	int counters[CGROUP_COUNTER_FILES];
	bool is_started;
	void (*limits_set)(void *ctx, const struct error *err); /* of a change, or NULL */
	void *limits_set_ctx;
};

/* --- requests ------------------------------------------------------------------------- */

static void flush_requests(struct native *native)
{
	loop_watch_write(native->watch, request_queue_send(&native->queue, native->socket));
}

static void send_request(struct native *native, enum spawner_request_kind kind, uint64_t number,
                         const struct spec *spec, const char *instance)
{
	struct spawner_request *request;

	if (native->is_lost)
		return;
	request = request_queue_add(&native->queue);
	request->kind = kind;
	request->number = number;
	if (spec != NULL)
		request->spec = *spec;
	if (instance != NULL)
		(void)snprintf(request->instance, sizeof request->instance, "%s", instance);
	flush_requests(native);
}

/* Fails if the spawner has exited. */
static int check_spawner(const struct native *native, struct error *err)
{
	if (!native->is_lost)
		return 0;
	*err = native->why;
	return -1;
}

/* --- boxes ---------------------------------------------------------------------------- */

static struct engine_box *find_box(struct native *native, uint64_t number)
{
	LIST_EACH (node, &native->boxes[number % BUCKETS]) {
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
		[ENGINE_END_LOCK_LIMIT] = "it held too many record locks",
		[ENGINE_END_ENGINE_LOST] = "the spawner exited",
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
	struct native *native = container_of(engine, struct native, engine);
	struct engine_box *box;

	if (check_spawner(native, err) < 0 || spec_check(spec, err) < 0)
		return -1;
	box = mem_new(sizeof *box);
	box->native = native;
	box->number = ++native->last_number;
	box->events = events;
	box->ctx = ctx;
	for (int i = 0; i < CGROUP_COUNTER_FILES; i++)
		box->counters[i] = -1;
	list_add(&native->boxes[box->number % BUCKETS], &box->node);
	send_request(native, REQUEST_START, box->number, spec, NULL);
	*ret = box;
	return 0;
}

static void kill_box(struct engine_box *box)
{
	send_request(box->native, REQUEST_KILL, box->number, NULL, NULL);
}

static int set_box_limits(struct engine_box *box, const struct spec_limits *limits,
                          void (*done)(void *ctx, const struct error *err), void *ctx,
                          struct error *err)
{
	struct spec spec = { .limits = *limits };

	if (check_spawner(box->native, err) < 0)
		return -1;
	if (!box->is_started || box->limits_set != NULL)
		return error_set(err, ERR_INVALID,
		                 "the limits of this sandbox are being changed already: try again");
	box->limits_set = done;
	box->limits_set_ctx = ctx;
	send_request(box->native, REQUEST_LIMIT, box->number, &spec, NULL);
	return 0;
}

static void release_box(struct engine_box *box)
{
	box->events = NULL;
	kill_box(box);
}

static bool read_box_counters(struct engine_box *box, struct engine_counters *ret)
{
	*ret = (struct engine_counters){ 0 };
	if (!box->is_started || box->native->cgroups == CGROUP_NONE)
		return false;
	cgroup_read_counters(box->counters, box->native->cgroups, ret);
	return true;
}

/* --- files ---------------------------------------------------------------------------- */

static int erase_files(struct engine *engine, const char *id,
                       void (*done)(void *ctx, const struct error *err), void *ctx,
                       struct error *err)
{
	struct native *native = container_of(engine, struct native, engine);
	struct spec spec = { 0 };
	struct pending *erase;

	if (check_spawner(native, err) < 0)
		return -1;
	if (!spec_is_id(id))
		return error_set(err, ERR_INVALID, "'%s' is not the id of a sandbox", id);
	memcpy(spec.id, id, sizeof spec.id);
	erase = pending_add(&native->pending, ++native->last_number, ctx);
	erase->erased = done;
	send_request(native, REQUEST_ERASE, erase->number, &spec, NULL);
	return 0;
}

static void list_ids(struct engine *engine, void (*each)(void *ctx, const char *id), void *ctx)
{
	struct native *native = container_of(engine, struct native, engine);
	struct pending *list = pending_add(&native->pending, ++native->last_number, ctx);

	list->each = each;
	send_request(native, REQUEST_LIST, list->number, NULL, NULL);
}

int native_connect(struct engine *engine, const char *instance, native_connected_fn *done,
                   void *ctx, struct error *err)
{
	struct native *native = container_of(engine, struct native, engine);
	struct pending *connect;

	if (check_spawner(native, err) < 0)
		return -1;
	connect = pending_add(&native->pending, ++native->last_number, ctx);
	connect->connected = done;
	send_request(native, REQUEST_CONNECT, connect->number, NULL, instance);
	return 0;
}

/* --- replies -------------------------------------------------------------------------- */

/* At RLIMIT_NOFILE the kernel drops the descriptors of a message, and delivers the message. */
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
static void on_started(struct native *native, const struct spawner_reply *reply, int *fds,
                       size_t count)
{
	struct engine_box *box = find_box(native, reply->number);
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
	box->is_started = true;
	if (box->events == NULL)
		return;
	box->events->started(box->ctx, TAKE_FD(fds[0]), &reply->user);
}

static void on_ended(struct native *native, const struct spawner_reply *reply)
{
	struct engine_box *box = find_box(native, reply->number);

	if (box != NULL)
		report_end(box, reply->end, reply->failed ? &reply->err : NULL);
}

static void on_limits_set(struct native *native, const struct spawner_reply *reply)
{
	struct engine_box *box = find_box(native, reply->number);

	if (box != NULL)
		report_limits_set(box, reply->failed ? &reply->err : NULL);
}

static void on_ready(struct native *native, const struct spawner_reply *reply)
{
	native->cgroups = reply->report.cgroups;
	if (reply->failed)
		native->why = reply->err;
	native->is_ready_reported = true;
	native->ready(native->ready_ctx, &reply->report, reply->failed ? &reply->err : NULL);
}

static void handle_reply(struct native *native, const struct spawner_reply *reply, int *fds,
                         size_t count)
{
	switch (reply->kind) {
	case REPLY_READY:
		on_ready(native, reply);
		break;
	case REPLY_STARTED:
		on_started(native, reply, fds, count);
		break;
	case REPLY_ENDED:
		on_ended(native, reply);
		break;
	case REPLY_LIMITED:
		on_limits_set(native, reply);
		break;
	case REPLY_ERASED:
	case REPLY_LISTED:
	case REPLY_CONNECTED:
		pending_receive(&native->pending, reply, fds, count);
		break;
	default:
		break;
	}
}

/* After the exit of the spawner every box ends, every pending request fails, and the lost callback
 * fires. */
static void fail_all(struct native *native)
{
	native->is_lost = true;
	native->watch = loop_watch_free(native->watch);
	if (native->why.msg[0] == '\0')
		(void)error_set(&native->why, ERR_SYSTEM,
		                "the process that starts sandboxes has exited: restart belljar");
	if (!native->is_ready_reported) {
		native->is_ready_reported = true;
		native->ready(native->ready_ctx, &(struct spawner_report){ 0 }, &native->why);
	}
	for (int i = 0; i < BUCKETS; i++)
		while (!list_is_empty(&native->boxes[i]))
			report_end(container_of(native->boxes[i].next, struct engine_box, node),
			           ENGINE_END_ENGINE_LOST, &native->why);
	pending_fail(&native->pending, &native->why);
	if (native->lost != NULL)
		native->lost(native->lost_ctx, &native->why);
}

void native_on_lost(struct engine *engine, void (*fn)(void *ctx, const struct error *why),
                    void *ctx)
{
	struct native *native = container_of(engine, struct native, engine);

	native->lost = fn;
	native->lost_ctx = ctx;
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
static bool receive_reply(struct native *native)
{
	struct spawner_reply reply;
	struct iovec part = { &reply, sizeof reply };
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(REPLY_FDS_MAX * sizeof(int))];
	} control;
	struct msghdr message = { .msg_iov = &part,
		                  .msg_iovlen = 1,
		                  .msg_control = &control,
		                  .msg_controllen = sizeof control };
	ssize_t n = recvmsg(native->socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	int fds[REPLY_FDS_MAX];
	size_t count;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n != (ssize_t)sizeof reply) {
		fail_all(native);
		return false;
	}
	count = take_fds(&message, fds);
	handle_reply(native, &reply, fds, count);
	for (size_t i = 0; i < count; i++)
		if (fds[i] >= 0)
			(void)close(fds[i]);
	return !native->is_lost;
}

static void on_socket(void *ctx)
{
	struct native *native = ctx;

	flush_requests(native);
	for (int i = 0; i < REPLIES_AT_A_TIME; i++)
		if (!receive_reply(native))
			return;
}

/* --- life cycle ----------------------------------------------------------------------- */

/* Closing the socket makes the spawner kill all sandboxes and exit. */
static void free_native(struct engine *engine)
{
	struct native *native = container_of(engine, struct native, engine);

	for (int i = 0; i < BUCKETS; i++)
		while (!list_is_empty(&native->boxes[i]))
			free_box(container_of(native->boxes[i].next, struct engine_box, node));
	pending_done(&native->pending);
	request_queue_done(&native->queue);
	(void)loop_watch_free(native->watch);
	(void)close(native->socket);
	free(native);
}

static const struct engine_ops native_ops = {
	.name = "native",
	.start = start_box,
	.kill = kill_box,
	.read_counters = read_box_counters,
	.set_limits = set_box_limits,
	.release = release_box,
	.erase = erase_files,
	.list = list_ids,
	.free = free_native,
};

struct engine *native_new(struct loop *loop, int socket, native_ready_fn *ready, void *ctx)
{
	struct native *native = mem_new(sizeof *native);

	native->engine.ops = &native_ops;
	native->socket = socket;
	native->ready = ready;
	native->ready_ctx = ctx;
	for (int i = 0; i < BUCKETS; i++)
		list_init(&native->boxes[i]);
	list_init(&native->pending);
	list_init(&native->queue);
	native->watch = loop_watch_new(loop, socket, on_socket, native);
	return &native->engine;
}
