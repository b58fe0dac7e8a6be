#include "engine/native/native.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/list.h"
#include "base/mem.h"
#include "loop/loop.h"
#include "loop/watch.h"

enum { BUCKETS = 64, TURN = 64 /* answers at a time */ };

struct native {
	struct engine engine; /* first */
	struct loop *loop;
	int socket;
	struct loop_watch *watch;
	native_ready_fn *ready;
	void *ready_ctx;
	uint64_t last; /* number of the latest request */
	struct list boxes[BUCKETS], erasing, listing;
	struct list outgoing; /* what the spawner has not read yet */
	enum cgroup_kind groups;
	void (*lost)(void *ctx, const struct error *why);
	void *lost_ctx;
	bool is_told; /* whether it is ready */
	bool is_lost;
	struct error why;
};

struct engine_box {
	struct list node;
	struct native *native;
	uint64_t number;
	const struct engine_events *events; /* NULL: nobody wants to hear */
	void *ctx;
	pid_t pid;
	int counts[CGROUP_COUNTER_FILES];
	bool is_made;
};

struct erasing {
	struct list node;
	uint64_t number;
	void (*done)(void *ctx, const struct error *err);
	void *ctx;
};

struct listing {
	struct list node;
	uint64_t number;
	void (*each)(void *ctx, const char *id);
	void *ctx;
};

struct outgoing {
	struct list node;
	struct request request;
};

/* --- to the spawner ------------------------------------------------------------------ */

static void flush(struct native *native)
{
	while (!list_is_empty(&native->outgoing)) {
		struct outgoing *first = container_of(native->outgoing.next, struct outgoing, node);

		if (send(native->socket, &first->request, sizeof first->request,
		         MSG_DONTWAIT | MSG_NOSIGNAL) < 0 &&
		    (errno == EAGAIN || errno == EINTR || errno == ENOBUFS))
			break;
		/* Any other failure is the end, which is read too. */
		list_remove(&first->node);
		free(first);
	}
	loop_watch_write(native->watch, !list_is_empty(&native->outgoing));
}

static void ask(struct native *native, enum request_kind kind, uint64_t number,
                const struct spec *spec)
{
	struct outgoing *outgoing;

	if (native->is_lost)
		return;
	outgoing = mem_new(sizeof *outgoing);
	outgoing->request.kind = kind;
	outgoing->request.number = number;
	if (spec != NULL)
		outgoing->request.spec = *spec;
	list_add(&native->outgoing, &outgoing->node);
	flush(native);
}

/* --- boxes --------------------------------------------------------------------------- */

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
		if (box->counts[i] >= 0)
			(void)close(box->counts[i]);
	list_remove(&box->node);
	free(box);
}

static void tell_end(struct engine_box *box, enum engine_end end, const struct error *err)
{
	const struct engine_events *events = box->events;
	void *ctx = box->ctx;
	bool was_made = box->is_made;
	static const char *const words[] = {
		[ENGINE_END_KILLED] = "it was told to end",
		[ENGINE_END_AGENT_DIED] = "its agent ended",
		[ENGINE_END_OUT_OF_MEMORY] = "it had no memory left",
		[ENGINE_END_DISK_LIMIT] = "it wrote more than its disk limit",
		[ENGINE_END_ENGINE_LOST] = "the spawner is gone",
	};

	free_box(box);
	if (events == NULL)
		return;
	if (!was_made && err != NULL)
		events->failed(ctx, err);
	else
		events->ended(ctx, end, err != NULL ? err->msg : words[end]);
}

static int make(struct engine *engine, const struct spec *spec, const struct engine_events *events,
                void *ctx, struct engine_box **ret, struct error *err)
{
	struct native *native = container_of(engine, struct native, engine);
	struct engine_box *box;

	if (native->is_lost) {
		*err = native->why;
		return -1;
	}
	if (spec_check(spec, err) < 0)
		return -1;
	box = mem_new(sizeof *box);
	box->native = native;
	box->number = ++native->last;
	box->events = events;
	box->ctx = ctx;
	for (int i = 0; i < CGROUP_COUNTER_FILES; i++)
		box->counts[i] = -1;
	list_add(&native->boxes[box->number % BUCKETS], &box->node);
	ask(native, REQUEST_MAKE, box->number, spec);
	*ret = box;
	return 0;
}

static void kill_box(struct engine_box *box)
{
	ask(box->native, REQUEST_KILL, box->number, NULL);
}

static void drop(struct engine_box *box)
{
	box->events = NULL;
	kill_box(box);
}

static bool count(struct engine_box *box, struct engine_counters *ret)
{
	*ret = (struct engine_counters){ 0 };
	if (!box->is_made || box->native->groups == CGROUP_NONE)
		return false;
	cgroup_read_counters(box->counts, box->native->groups, ret);
	return true;
}

pid_t native_pid(const struct engine_box *box)
{
	return box->pid;
}

/* --- files --------------------------------------------------------------------------- */

static int erase(struct engine *engine, const char *id,
                 void (*done)(void *ctx, const struct error *err), void *ctx, struct error *err)
{
	struct native *native = container_of(engine, struct native, engine);
	struct spec spec = { 0 };
	struct erasing *erasing;

	if (native->is_lost) {
		*err = native->why;
		return -1;
	}
	if (!spec_is_id(id))
		return error_set(err, ERR_INVALID, "'%s' is not the id of a sandbox", id);
	memcpy(spec.id, id, sizeof spec.id);
	erasing = mem_new(sizeof *erasing);
	*erasing = (struct erasing){ .number = ++native->last, .done = done, .ctx = ctx };
	list_add(&native->erasing, &erasing->node);
	ask(native, REQUEST_ERASE, erasing->number, &spec);
	return 0;
}

static void list_ids(struct engine *engine, void (*each)(void *ctx, const char *id), void *ctx)
{
	struct native *native = container_of(engine, struct native, engine);
	struct listing *listing = mem_new(sizeof *listing);

	*listing = (struct listing){ .number = ++native->last, .each = each, .ctx = ctx };
	list_add(&native->listing, &listing->node);
	ask(native, REQUEST_LIST, listing->number, NULL);
}

/* --- from the spawner ---------------------------------------------------------------- */

static void on_made(struct native *native, const struct answer *answer, int *fds, size_t count)
{
	struct engine_box *box = find_box(native, answer->number);
	size_t used = 1;

	if (box == NULL || box->is_made || count == 0)
		return;
	for (int i = 0; i < CGROUP_COUNTER_FILES && used < count; i++)
		if ((answer->counts >> i & 1) != 0) {
			box->counts[i] = fds[used];
			fds[used++] = -1;
		}
	box->is_made = true;
	box->pid = (pid_t)answer->pid;
	if (box->events == NULL)
		return;
	box->events->started(box->ctx, TAKE_FD(fds[0]), &answer->user);
}

static void on_gone(struct native *native, const struct answer *answer)
{
	struct engine_box *box = find_box(native, answer->number);

	if (box != NULL)
		tell_end(box, answer->end, answer->failed ? &answer->err : NULL);
}

static void on_erased(struct native *native, const struct answer *answer)
{
	LIST_EACH (node, &native->erasing) {
		struct erasing *erasing = container_of(node, struct erasing, node);

		if (erasing->number != answer->number)
			continue;
		list_remove(node);
		erasing->done(erasing->ctx, answer->failed ? &answer->err : NULL);
		free(erasing);
		return;
	}
}

static void on_listed(struct native *native, const struct answer *answer)
{
	LIST_EACH (node, &native->listing) {
		struct listing *listing = container_of(node, struct listing, node);
		bool is_last = answer->id[0] == '\0';

		if (listing->number != answer->number)
			continue;
		if (is_last)
			list_remove(node);
		listing->each(listing->ctx, is_last ? NULL : answer->id);
		if (is_last)
			free(listing);
		return;
	}
}

static void on_answer(struct native *native, const struct answer *answer, int *fds, size_t count)
{
	switch (answer->kind) {
	case ANSWER_READY:
		native->groups = answer->report.groups;
		if (answer->failed)
			native->why = answer->err;
		native->is_told = true;
		native->ready(native->ready_ctx, &answer->report,
		              answer->failed ? &answer->err : NULL);
		break;
	case ANSWER_MADE:
		on_made(native, answer, fds, count);
		break;
	case ANSWER_GONE:
		on_gone(native, answer);
		break;
	case ANSWER_ERASED:
		on_erased(native, answer);
		break;
	case ANSWER_LISTED:
		on_listed(native, answer);
		break;
	default:
		break;
	}
}

/* Everything that waits for an answer gets this one. */
static void lose(struct native *native)
{
	native->is_lost = true;
	native->watch = loop_watch_free(native->watch);
	if (native->why.msg[0] == '\0')
		(void)error_set(&native->why, ERR_SYSTEM,
		                "the process that makes sandboxes is gone: restart belljar");
	if (!native->is_told) {
		native->is_told = true;
		native->ready(native->ready_ctx, &(struct native_report){ 0 }, &native->why);
	}
	for (int i = 0; i < BUCKETS; i++)
		while (!list_is_empty(&native->boxes[i]))
			tell_end(container_of(native->boxes[i].next, struct engine_box, node),
			         ENGINE_END_ENGINE_LOST, &native->why);
	while (!list_is_empty(&native->erasing)) {
		struct erasing *erasing = container_of(native->erasing.next, struct erasing, node);

		list_remove(&erasing->node);
		erasing->done(erasing->ctx, &native->why);
		free(erasing);
	}
	if (native->lost != NULL)
		native->lost(native->lost_ctx, &native->why);
}

void native_when_lost(struct engine *engine, void (*fn)(void *ctx, const struct error *why),
                      void *ctx)
{
	struct native *native = (struct native *)engine;

	native->lost = fn;
	native->lost_ctx = ctx;
}

static size_t take_fds(struct msghdr *message, int fds[ANSWER_FDS_MAX])
{
	size_t count = 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c != NULL; c = CMSG_NXTHDR(message, c))
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS) {
			count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
			memcpy(fds, CMSG_DATA(c), count * sizeof(int));
		}
	return count;
}

/* True: there may be more. */
static bool receive(struct native *native)
{
	struct answer answer;
	struct iovec part = { &answer, sizeof answer };
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(ANSWER_FDS_MAX * sizeof(int))];
	} control;
	struct msghdr message = { .msg_iov = &part,
		                  .msg_iovlen = 1,
		                  .msg_control = &control,
		                  .msg_controllen = sizeof control };
	ssize_t n = recvmsg(native->socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	int fds[ANSWER_FDS_MAX];
	size_t count;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n != (ssize_t)sizeof answer) {
		lose(native);
		return false;
	}
	count = take_fds(&message, fds);
	on_answer(native, &answer, fds, count);
	for (size_t i = 0; i < count; i++)
		if (fds[i] >= 0)
			(void)close(fds[i]);
	return !native->is_lost;
}

static void on_socket(void *ctx)
{
	struct native *native = ctx;

	flush(native);
	for (int i = 0; i < TURN; i++)
		if (!receive(native))
			return;
}

/* --- life ---------------------------------------------------------------------------- */

static void free_list(struct list *list)
{
	while (!list_is_empty(list)) {
		struct list *node = list->next; /* the first member of each */

		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
		list_remove(node);
		free(node);
	}
}

/* The spawner sees the end of its socket and ends everything. */
static void free_native(struct engine *engine)
{
	struct native *native = container_of(engine, struct native, engine);

	for (int i = 0; i < BUCKETS; i++)
		while (!list_is_empty(&native->boxes[i]))
			free_box(container_of(native->boxes[i].next, struct engine_box, node));
	free_list(&native->erasing);
	free_list(&native->listing);
	free_list(&native->outgoing);
	(void)loop_watch_free(native->watch);
	(void)close(native->socket);
	free(native);
}

static const struct engine_ops calls = {
	.name = "native",
	.start = make,
	.kill = kill_box,
	.read_counters = count,
	.release = drop,
	.erase = erase,
	.list = list_ids,
	.free = free_native,
};

struct engine *native_new(struct loop *loop, int socket, native_ready_fn *ready, void *ctx)
{
	struct native *native = mem_new(sizeof *native);

	native->engine.ops = &calls;
	native->loop = loop;
	native->socket = socket;
	native->ready = ready;
	native->ready_ctx = ctx;
	for (int i = 0; i < BUCKETS; i++)
		list_init(&native->boxes[i]);
	list_init(&native->erasing);
	list_init(&native->listing);
	list_init(&native->outgoing);
	native->watch = loop_watch_new(loop, socket, on_socket, native);
	return &native->engine;
}
