#include "egress/dialer/dial.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/list.h"
#include "base/mem.h"
#include "base/process/packet.h"
#include "egress/dialer/internal.h"
#include "loop/loop.h"
#include "loop/watch.h"

struct dial {
	struct loop *loop;
	int socket;
	struct loop_watch *watch;
	struct list requests;
	unsigned count;
	uint64_t timeout_ms;
	uint32_t next_id;
	bool is_broken;
};

struct dial_request {
	struct list node;
	struct dial *dial;
	uint32_t id;
	struct loop_timer *timer;
	dial_fn *done;
	void *ctx;
};

/* The callback of the request's timer may be on the stack, so the memory is freed later. */
void dial_cancel(struct dial_request *request)
{
	list_remove(&request->node);
	request->dial->count--;
	(void)loop_timer_free(request->timer);
	loop_defer(request->dial->loop, free, request);
}

static void finish_request(struct dial_request *request, const struct dial_result *result,
                           const struct error *why, bool is_refused)
{
	dial_fn *done = request->done;
	void *ctx = request->ctx;

	dial_cancel(request);
	done(ctx, result, why, is_refused);
}

static void fail_request(struct dial_request *request, const char *text)
{
	struct error err;

	(void)error_set(&err, ERR_SYSTEM, "%s", text);
	finish_request(request, NULL, &err, false);
}

static void on_late(void *ctx)
{
	struct dial_request *request = ctx;
	char text[96];

	(void)snprintf(text, sizeof text,
	               "no connection within %g s, which is the limit (--network-dial)",
	               (double)request->dial->timeout_ms / 1000);
	fail_request(request, text);
}

static struct dial_request *find_request(struct dial *dial, uint32_t id)
{
	LIST_EACH (node, &dial->requests) {
		struct dial_request *request = container_of(node, struct dial_request, node);

		if (request->id == id)
			return request;
	}
	return NULL;
}

static void handle_reply(struct dial *dial, const struct dialer_reply *reply, int fd)
{
	struct dial_request *request = find_request(dial, reply->id);
	struct dial_result result = { .fd = fd, .wants_url = reply->wants_url };

	if (request == NULL || reply->failed || fd < 0) {
		/* The request was cancelled, or its time is over: no caller owns the socket. */
		if (fd >= 0)
			(void)close(fd);
		if (request != NULL)
			finish_request(request, NULL, &reply->err, reply->is_refused);
		return;
	}
	memcpy(result.header, reply->header, sizeof result.header);
	finish_request(request, &result, NULL, false);
}

static void break_dial(struct dial *dial)
{
	dial->is_broken = true;
	dial->watch = loop_watch_free(dial->watch);
	while (!list_is_empty(&dial->requests))
		fail_request(container_of(dial->requests.next, struct dial_request, node),
		             "the dialer of this server has ended: start the server again");
}

static void on_readable(void *ctx)
{
	static struct dialer_reply reply; /* the program has one thread */
	struct dial *dial = ctx;
	int fd, r = packet_take(dial->socket, &reply, sizeof reply, &fd);

	if (r > 0)
		handle_reply(dial, &reply, fd);
	else if (r < 0)
		break_dial(dial);
}

struct dial *dial_new(struct loop *loop, int socket)
{
	struct dial *dial = mem_new(sizeof *dial);

	dial->loop = loop;
	dial->socket = socket;
	dial->timeout_ms = DIAL_TIMEOUT_MS;
	list_init(&dial->requests);
	dial->watch = loop_watch_new(loop, socket, on_readable, dial);
	return dial;
}

void dial_set_timeout(struct dial *dial, uint64_t ms)
{
	dial->timeout_ms = ms;
}

struct dial *dial_free(struct dial *dial)
{
	if (dial == NULL)
		return NULL;
	while (!list_is_empty(&dial->requests))
		dial_cancel(container_of(dial->requests.next, struct dial_request, node));
	(void)loop_watch_free(dial->watch);
	(void)close(dial->socket);
	loop_defer(dial->loop, free, dial);
	return NULL;
}

int dial_start(struct dial *dial, const struct net_host *host, uint16_t port, bool is_http,
               dial_fn *done, void *ctx, struct dial_request **ret, struct error *err)
{
	struct dialer_request message = { .port = port, .is_http = is_http };
	struct dial_request *request;

	if (dial->is_broken)
		return error_set(err, ERR_SYSTEM,
		                 "the dialer of this server has ended: start the server again");
	if (dial->count >= DIAL_PENDING_MAX)
		return error_set(err, ERR_LIMIT, "%u connections are being made: try again later",
		                 dial->count);
	message.id = ++dial->next_id != 0 ? dial->next_id : ++dial->next_id;
	(void)snprintf(message.host, sizeof message.host, "%s", host->name);
	/* A dialer that does not read must not block the server, which has one thread. */
	if (send(dial->socket, &message, sizeof message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		return error_sys(err, "ask the dialer for a connection");
	request = mem_new(sizeof *request);
	*request = (struct dial_request){
		.dial = dial, .id = message.id, .done = done, .ctx = ctx
	};
	request->timer = loop_timer_new(dial->loop, on_late, request);
	loop_timer_start(request->timer, dial->timeout_ms);
	list_add(&dial->requests, &request->node);
	dial->count++;
	*ret = request;
	return 0;
}
