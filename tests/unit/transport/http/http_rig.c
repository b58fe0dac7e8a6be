#include "unit/transport/http/http_rig.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "loop/input.h"
#include "loop/loop.h"
#include "transport/http/http_listen.h"
#include "unit/loop/run_loop.h"
#include "unit/test.h"

struct http_limits rig_limits(void)
{
	struct http_limits limits = http_default_limits;

	limits.head_ms = limits.body_ms = limits.idle_ms = limits.write_ms = 60 * 1000;
	limits.keep_alive_ms = 60 * 1000;
	return limits;
}

static void on_held_closed(void *ctx)
{
	struct http_rig *rig = ctx;

	rig->closed++;
	loop_stop(rig->loop);
}

/* closed() of one held request. */
struct held_slot {
	struct http_rig *rig;
	size_t index;
};
static struct held_slot slots[RIG_HELD_MAX];

static void on_slot_closed(void *ctx)
{
	struct held_slot *slot = ctx;

	slot->rig->held[slot->index] = NULL;
	on_held_closed(slot->rig);
}

static void hold_request(struct http_rig *rig, struct http_request *request)
{
	size_t index = rig->held_count++;

	assert_true(index < RIG_HELD_MAX);
	slots[index] = (struct held_slot){ rig, index };
	rig->held[index] = request;
	http_on_close(request, on_slot_closed, &slots[index]);
	loop_stop(rig->loop);
}

static void respond_text(struct http_request *request, int status, struct view body)
{
	static const struct http_field fields[] = { { "Content-Type", "text/plain" }, { NULL } };

	http_respond(request, status, fields, body);
}

static void on_echo_body(void *ctx, struct view body)
{
	respond_text(ctx, 200, body);
}

static void start_stream(struct http_rig *rig, struct http_request *request)
{
	static const struct http_field fields[] = { { "Content-Type", "text/event-stream" },
		                                    { NULL } };

	hold_request(rig, request);
	http_stream_start(request, 200, fields, ": k\n\n");
}

static void respond_big(struct http_request *request)
{
	char *big = malloc(BIG_BYTES);

	memset(big, 'x', BIG_BYTES);
	respond_text(request, 200, (struct view){ big, BIG_BYTES });
	free(big);
}

static void on_request(void *ctx, struct http_request *request)
{
	struct http_rig *rig = ctx;
	const char *path = http_path(request);
	const char *field = http_get(request, "x-test");

	rig->requests++;
	if (strcmp(path, "/hello") == 0)
		respond_text(request, 200, VIEW("hello"));
	else if (strcmp(path, "/echo") == 0)
		http_read_body(request, on_echo_body, request);
	else if (strcmp(path, "/method") == 0)
		respond_text(request, 200, view_of(http_method_text(request)));
	else if (strcmp(path, "/field") == 0)
		respond_text(request, 200, view_of(field != NULL ? field : "(none)"));
	else if (strcmp(path, "/query") == 0)
		respond_text(request, 200, view_of(http_query(request)));
	else if (strcmp(path, "/unread") == 0)
		respond_text(request, 200, VIEW("unread"));
	else if (strcmp(path, "/big") == 0)
		respond_big(request);
	else if (strcmp(path, "/hold") == 0)
		hold_request(rig, request);
	else if (strcmp(path, "/stream") == 0)
		start_stream(rig, request);
	else
		respond_text(request, 404, VIEW("nothing here"));
}

static void on_finished(void *ctx, const struct http_log *log)
{
	struct http_rig *rig = ctx;
	struct error err;

	CHECK_OK(buf_printf(&rig->log, &err, "%s %s %d %llu%s\n", log->method, log->path,
	                    log->status, (unsigned long long)log->sent_bytes,
	                    log->is_complete ? "" : " cut"),
	         err);
	assert_true(strlen(log->peer) >= 4);
}

void rig_open(struct http_rig *rig, const struct http_limits *limits)
{
	static const char *const single_fields[] = { "x-single", NULL };
	struct http_config config = { .limits = *limits,
		                      .single_fields = single_fields,
		                      .request = on_request,
		                      .finished = on_finished,
		                      .ctx = rig };
	struct error err;

	watchdog_start();
	*rig = (struct http_rig){ 0 };
	buf_init(&rig->body, 1 << 24);
	buf_init(&rig->log, 1 << 20);
	CHECK_OK(loop_new(&rig->loop, &err), err);
	rig->server = http_server_new(rig->loop, &config);
}

void rig_listen(struct http_rig *rig, const char *address, struct http_tls *tls)
{
	struct http_listen sockets[HTTP_LISTEN_OPEN_MAX];
	struct error err;
	size_t count;

	CHECK_OK(http_listen_open(address, sockets, &count, &err), err);
	assert_int_equal(count, 1);
	http_server_listen(rig->server, sockets[0].fd, &(struct http_listener_options){ tls });
	if (sockets[0].is_unix)
		rig->path = strdup(sockets[0].name + 5);
	else
		rig->port = atoi(strrchr(sockets[0].name, ':') + 1);
}

void rig_close(struct http_rig *rig)
{
	rig->server = http_server_free(rig->server);
	rig->loop = loop_free(rig->loop);
	buf_done(&rig->body);
	buf_done(&rig->log);
	free(rig->path);
	watchdog_stop();
}

void rig_step(struct http_rig *rig)
{
	run_loop_for(rig->loop, 2);
}

struct http_request *rig_await_request(struct http_rig *rig, size_t index)
{
	while (rig->held_count <= index)
		rig_step(rig);
	return rig->held[index];
}

void rig_await_closed(struct http_rig *rig, size_t count)
{
	while (rig->closed < count)
		rig_step(rig);
}

void rig_await_connections(struct http_rig *rig, size_t count)
{
	while (http_server_connections(rig->server) != count)
		rig_step(rig);
}

void rig_respond(struct http_rig *rig, size_t index, const char *body)
{
	struct http_request *request = rig->held[index];

	rig->held[index] = NULL;
	respond_text(request, 200, view_of(body));
}

static void on_held_body(void *ctx, struct view body)
{
	struct http_rig *rig = ctx;
	struct error err;

	buf_clear(&rig->body);
	CHECK_OK(buf_add(&rig->body, body, &err), err);
	loop_stop(rig->loop);
}

void rig_read_body(struct http_rig *rig, size_t index)
{
	http_read_body(rig->held[index], on_held_body, rig);
}

static void on_client_bytes(void *ctx, struct view bytes)
{
	struct client *client = ctx;
	struct error err;

	CHECK_OK(buf_add(&client->got, bytes, &err), err);
	loop_stop(client->rig->loop);
}

static void on_client_end(void *ctx, const struct error *why)
{
	struct client *client = ctx;

	client->has_ended = true;
	client->errnum = why != NULL ? why->errnum : 0;
	loop_stop(client->rig->loop);
}

static const struct input_events client_events = { on_client_bytes, on_client_end, NULL };

static int connect_client(const struct http_rig *rig)
{
	struct sockaddr_in v4 = { .sin_family = AF_INET,
		                  .sin_port = htons((uint16_t)rig->port),
		                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_un local = { .sun_family = AF_UNIX };
	int fd = socket(rig->port != 0 ? AF_INET : AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	if (rig->path != NULL)
		(void)snprintf(local.sun_path, sizeof local.sun_path, "%s", rig->path);
	assert_int_equal(rig->port != 0
	                         ? connect(fd, (const struct sockaddr *)&v4, sizeof v4)
	                         : connect(fd, (const struct sockaddr *)&local, sizeof local),
	                 0);
	assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	return fd;
}

void client_open(struct client *client, struct http_rig *rig)
{
	*client = (struct client){ .rig = rig, .fd = connect_client(rig) };
	buf_init(&client->got, 1 << 24);
	client->input = input_new(rig->loop, client->fd, &client_events, client);
}

void client_close(struct client *client)
{
	client->input = input_free(client->input);
	if (client->fd >= 0)
		(void)close(client->fd);
	client->fd = -1;
	buf_done(&client->got);
}

void client_stop_reading(struct client *client)
{
	input_pause(client->input);
}

void client_read_again(struct client *client)
{
	input_resume(client->input);
}

void client_send_bytes(struct client *client, struct view bytes)
{
	while (bytes.len != 0 && !client->has_ended) {
		ssize_t n = send(client->fd, bytes.ptr, client->sends_single_bytes ? 1 : bytes.len,
		                 MSG_NOSIGNAL);

		if (client->sends_single_bytes)
			run_loop_for(client->rig->loop, 0);
		if (n < 0 && errno == EAGAIN) {
			rig_step(client->rig);
			continue;
		}
		if (n < 0)
			return; /* the server has closed; the test sees what it sent before */
		bytes.ptr += n;
		bytes.len -= (size_t)n;
	}
}

void client_send(struct client *client, const char *text)
{
	client_send_bytes(client, view_of(text));
}

void client_await(struct client *client, const char *text)
{
	const char *found;
	size_t skip;

	if (text[0] == '\0')
		return;
	while ((found = memmem(buf_text(&client->got), client->got.len, text, strlen(text))) ==
	       NULL) {
		if (client->has_ended)
			fail_msg("the connection ended (%d) before \"%s\": %s", client->errnum,
			         text, buf_text(&client->got));
		loop_run(client->rig->loop);
	}
	skip = (size_t)(found - client->got.ptr) + strlen(text);
	memmove(client->got.ptr, client->got.ptr + skip, client->got.len - skip);
	buf_truncate(&client->got, client->got.len - skip);
}

void client_await_end(struct client *client)
{
	while (!client->has_ended)
		loop_run(client->rig->loop);
}

void client_ask(struct client *client, const char *text, int status, const char *body)
{
	char start[32];

	client_send(client, text);
	(void)snprintf(start, sizeof start, "HTTP/1.1 %d ", status);
	client_await(client, start);
	client_await(client, "\r\n\r\n");
	client_await(client, body);
	assert_int_equal(client->got.len, 0);
}
