/* fuzz_http_conn.c - a connection gets any bytes in pieces, with a handler that answers at once,
 * later, as a stream or not at all. The first byte chooses the size of the pieces, the second how
 * the client ends. Every response begins and ends as it must, and nothing is left behind. */
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "fuzz/fuzz.h"
#include "loop/loop.h"
#include "transport/http/http.h"
#include "transport/http/internal.h"

static struct loop *loop;
static struct http_request *held;
static size_t requests, finished;

static void on_closed(void *ctx)
{
	fuzz_check(held == ctx);
	held = NULL;
}

static void on_body(void *ctx, struct view body)
{
	fuzz_check(body.len <= http_default_limits.max_body);
	http_respond(ctx, 200, NULL, body);
}

static void on_request(void *ctx, struct http_request *request)
{
	const char *path = http_path(request);

	(void)ctx;
	requests++;
	fuzz_check(held == NULL); /* one after the other */
	switch (path[0] == '/' ? path[1] : '\0') {
	case 'h': /* answered after the next piece, or when the client closes */
	case 's':
		held = request;
		http_on_close(request, on_closed, request);
		if (path[1] == 's')
			http_stream_start(request, 200, NULL, ":\n");
		break;
	case 'b':
		http_read_body(request, on_body, request);
		break;
	default:
		http_respond(request, 404, NULL, (struct view){ "none", 4 });
	}
}

static void on_finished(void *ctx, const struct http_log *log)
{
	(void)ctx;
	(void)log;
	finished++;
}

static void stop_loop(void *ctx)
{
	loop_stop(ctx);
}

/* Lets all events that are due be handled. */
static void run_events(struct loop_timer *timer)
{
	for (int i = 0; i < 3; i++) {
		loop_timer_start(timer, 0);
		loop_run(loop);
	}
}

static void answer_held(void)
{
	struct http_request *request = held;

	held = NULL;
	if (request == NULL)
		return;
	if (request->response == RESPONSE_STREAM) {
		http_stream_write(request, (struct view){ "data", 4 });
		http_stream_end(request);
	} else {
		http_respond(request, 200, NULL, (struct view){ "late", 4 });
	}
}

static void drain(int fd)
{
	static char got[64 * 1024];

	while (recv(fd, got, sizeof got, MSG_DONTWAIT) > 0)
		fuzz_check(got[0] != '\0');
}

static void drive_client(struct loop_timer *timer, int fd, struct view bytes, size_t piece)
{
	bool answers = false;

	while (bytes.len != 0) {
		size_t len = piece < bytes.len ? piece : bytes.len;

		if (send(fd, bytes.ptr, len, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
			return; /* the server has closed, or does not read while it waits */
		bytes.ptr += len;
		bytes.len -= len;
		run_events(timer);
		drain(fd);
		if (answers)
			answer_held();
		answers = !answers;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct sockaddr peer = { .sa_family = AF_UNIX };
	struct http_config config = { .limits = http_default_limits,
		                      .request = on_request,
		                      .finished = on_finished };
	struct http_server *server;
	struct loop_timer *timer;
	struct error err;
	int pair[2];

	if (size < 2)
		return 0;
	fuzz_check(loop != NULL || loop_new(&loop, &err) == 0);
	fuzz_check(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) == 0);
	requests = finished = 0;
	timer = loop_timer_new(loop, stop_loop, loop);
	server = http_server_new(loop, &config);
	conn_new(server, pair[0], &(struct http_listener_options){ .tls = NULL }, &peer,
	         sizeof peer);
	drive_client(timer, pair[1], (struct view){ (const char *)data + 2, size - 2 },
	             (size_t)data[0] + 1);
	if (data[1] & 1)
		(void)shutdown(pair[1], SHUT_WR);
	if (data[1] & 2)
		(void)close(pair[1]);
	run_events(timer);
	if (data[1] & 4)
		answer_held();
	run_events(timer);
	(void)http_server_free(server);
	fuzz_check(held == NULL && finished >= requests);
	if (!(data[1] & 2))
		(void)close(pair[1]);
	(void)loop_timer_free(timer);
	return 0;
}
