#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/num.h"
#include "loop/loop.h"
#include "loop/watch.h"
#include "transport/http/internal.h"

enum {
	ACCEPT_MAX = 16,      /* connections that one event accepts */
	HEAD_MAX = 64 * 1024, /* of a response */
	SWEEP_MS_MAX = 1000,
};

const struct http_limits http_default_limits = {
	.max_head = 16 * 1024,
	.max_fields = 100,
	.max_body = 4 * 1024 * 1024,
	.max_bodies = 256 * 1024 * 1024,
	.max_connections = 10000,
	.max_queue = 8 * 1024 * 1024,
	.head_ms = 30 * 1000,
	.body_ms = 60 * 1000,
	.idle_ms = 75 * 1000,
	.write_ms = 60 * 1000,
	.keep_alive_ms = 15 * 1000,
};

static const struct view no_bytes = { "", 0 };

void server_wake(struct http_server *server)
{
	if (server->is_waking)
		return;
	server->is_waking = true;
	loop_timer_start(server->wake_timer, 0);
}

void server_start_sweep(struct http_server *server)
{
	if (server->conn_count == 1)
		loop_timer_start(server->sweep_timer, server->sweep_ms);
}

/* The descriptors or connections are used up: the kernel keeps new connections until some are
 * closed. An event that accepts nothing would fire again at once. */
static void pause_accept(struct http_server *server)
{
	server->is_accept_paused = true;
	LIST_EACH (node, &server->listeners) {
		struct listener *listener = container_of(node, struct listener, node);

		listener->watch = loop_watch_free(listener->watch);
	}
	loop_timer_start(server->sweep_timer, server->sweep_ms);
}

/* Makes room for a new connection by closing the one that is idle for the longest time. */
static bool close_idle_conn(struct http_server *server)
{
	if (list_is_empty(&server->idle))
		return false;
	conn_close(container_of(server->idle.next, struct conn, idle));
	return true;
}

static bool is_full(const struct http_server *server)
{
	return server->conn_count >= server->config.limits.max_connections;
}

/* False: no more connections can be accepted now. */
static bool accept_conn(struct listener *listener)
{
	struct http_server *server = listener->server;
	struct sockaddr_storage peer = { 0 };
	socklen_t len = sizeof peer;
	int fd;

	if (is_full(server) && list_is_empty(&server->idle)) {
		pause_accept(server);
		return false;
	}
	fd = accept4(listener->fd, (struct sockaddr *)&peer, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (fd >= 0) {
		server->is_warned = false;
		if (is_full(server))
			(void)close_idle_conn(server);
		conn_new(server, fd, &listener->options, (const struct sockaddr *)&peer, len);
		return true;
	}
	if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
		if (!server->is_warned)
			log_warning("cannot accept connections for now: %s", strerror(errno));
		server->is_warned = true;
		pause_accept(server);
		return false;
	}
	/* Any other error but EAGAIN belongs to one connection that is gone already. */
	return errno != EAGAIN;
}

static void on_connection(void *ctx)
{
	struct listener *listener = ctx;

	for (int i = 0; i < ACCEPT_MAX && listener->watch != NULL; i++)
		if (!accept_conn(listener))
			return;
}

static void resume_accept(struct http_server *server)
{
	server->is_accept_paused = false;
	LIST_EACH (node, &server->listeners) {
		struct listener *listener = container_of(node, struct listener, node);

		if (listener->watch == NULL)
			listener->watch = loop_watch_new(server->loop, listener->fd, on_connection,
			                                 listener);
	}
}

static void free_closed_conns(struct http_server *server)
{
	while (!list_is_empty(&server->closed)) {
		struct list *node = server->closed.next;

		/* clang's analyser loses track of list links and reports a use after free here.
		 * NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
		list_remove(node);
		free(container_of(node, struct conn, node));
	}
}

static void report_idle(struct http_server *server)
{
	void (*on_idle)(void *ctx) = server->on_idle;

	if (!server->is_stopping || server->conn_count != 0 || on_idle == NULL)
		return;
	server->on_idle = NULL;
	on_idle(server->idle_ctx);
}

static void run_ready_conns(struct http_server *server)
{
	size_t count = 0;

	/* Connections that become ready meanwhile wait for the next iteration of the loop. */
	LIST_EACH (node, &server->ready)
		count++;
	for (; count != 0 && !list_is_empty(&server->ready); count--)
		conn_run(container_of(server->ready.next, struct conn, ready), no_bytes);
	if (!list_is_empty(&server->ready))
		server_wake(server);
}

static void on_wake(void *ctx)
{
	struct http_server *server = ctx;

	server->is_waking = false;
	run_ready_conns(server);
	while (server->is_stopping && close_idle_conn(server))
		continue;
	free_closed_conns(server);
	if (server->is_accept_paused)
		resume_accept(server);
	report_idle(server);
}

static void on_sweep(void *ctx)
{
	struct http_server *server = ctx;
	uint64_t now_ms = clock_now_ms();

	for (struct list *node = server->conns.next, *next; node != &server->conns; node = next) {
		next = node->next;
		conn_check_times(container_of(node, struct conn, node), now_ms);
	}
	if (server->is_accept_paused)
		resume_accept(server);
	if (server->conn_count != 0 || server->is_accept_paused)
		loop_timer_start(server->sweep_timer, server->sweep_ms);
}

/* Often enough that no limit is exceeded by more than a quarter. */
static uint64_t choose_sweep_ms(const struct http_limits *limits)
{
	uint64_t least = num_min(num_min(limits->head_ms, limits->body_ms),
	                         num_min(limits->idle_ms, limits->write_ms));

	least = num_min(least, limits->keep_alive_ms);
	return num_max(1, num_min(least / 4, SWEEP_MS_MAX));
}

struct http_server *http_server_new(struct loop *loop, const struct http_config *config)
{
	struct http_server *server = mem_new(sizeof *server);

	server->loop = loop;
	server->config = *config;
	list_init(&server->listeners);
	list_init(&server->conns);
	list_init(&server->idle);
	list_init(&server->ready);
	list_init(&server->closed);
	list_init(&server->spare_requests);
	buf_init(&server->cork, CORK_BYTES);
	buf_init(&server->head, HEAD_MAX);
	server->wake_timer = loop_timer_new(loop, on_wake, server);
	server->sweep_timer = loop_timer_new(loop, on_sweep, server);
	server->sweep_ms = choose_sweep_ms(&config->limits);
	return server;
}

void http_server_listen(struct http_server *server, int fd,
                        const struct http_listener_options *options)
{
	struct listener *listener = mem_new(sizeof *listener);

	listener->server = server;
	listener->fd = fd;
	listener->options = *options;
	listener->watch = loop_watch_new(server->loop, fd, on_connection, listener);
	list_add(&server->listeners, &listener->node);
}

static void close_listeners(struct http_server *server)
{
	while (!list_is_empty(&server->listeners)) {
		struct listener *listener = container_of(server->listeners.next, struct listener,
		                                         node);

		list_remove(&listener->node);
		(void)loop_watch_free(listener->watch);
		(void)close(listener->fd);
		free(listener);
	}
}

void http_server_stop(struct http_server *server)
{
	server->is_stopping = true;
	close_listeners(server);
	server_wake(server);
}

void http_server_on_idle(struct http_server *server, void (*fn)(void *ctx), void *ctx)
{
	server->on_idle = fn;
	server->idle_ctx = ctx;
	server_wake(server);
}

size_t http_server_connections(const struct http_server *server)
{
	return server->conn_count;
}

static void free_spare_requests(struct http_server *server)
{
	while (!list_is_empty(&server->spare_requests)) {
		struct list *node = server->spare_requests.next;
		struct http_request *request = container_of(node, struct http_request, node);

		/* clang's analyser loses track of list links and reports a use after free here.
		 * NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
		list_remove(node);
		buf_done(&request->text);
		free(request->head.fields);
		free(request);
	}
}

struct http_server *http_server_free(struct http_server *server)
{
	if (server == NULL)
		return NULL;
	server->is_stopping = true;
	close_listeners(server);
	while (!list_is_empty(&server->conns))
		conn_close(container_of(server->conns.next, struct conn, node));
	free_closed_conns(server);
	free_spare_requests(server);
	(void)loop_timer_free(server->wake_timer);
	(void)loop_timer_free(server->sweep_timer);
	buf_done(&server->cork);
	buf_done(&server->head);
	free(server->plain);
	free(server);
	return NULL;
}
