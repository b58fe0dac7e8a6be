#include <fcntl.h>
#include <signal.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "loop/loop.h"
#include "mcp/content.h"
#include "mcp/mcp_server.h"
#include "transport/stdio.h"
#include "unit/loop/run_loop.h"
#include "unit/test.h"

#define PING "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}"
#define PONG "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n"
#define CALL(name)                                                                                 \
	"{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"" name     \
	"\"}}\n"

struct connection {
	struct loop *loop;
	struct mcp_server *server;
	struct stdio *stdio;
	int in[2], out[2];
	int closed;
	char why[480];         /* empty: no error */
	struct mcp_call *held; /* by the tool "hold" */
	bool cancelled;        /* the held call */
};

static void on_closed(void *ctx, const struct error *why)
{
	struct connection *connection = ctx;

	connection->closed++;
	(void)snprintf(connection->why, sizeof connection->why, "%s", why != NULL ? why->msg : "");
	loop_stop(connection->loop);
}

static void on_cancel(struct mcp_call *call, void *ctx)
{
	struct connection *connection = ctx;

	assert_ptr_equal(call, connection->held);
	connection->cancelled = true;
}

static int hold(struct mcp_call *call, const void *args, struct error *err)
{
	struct connection *connection = mcp_call_app(call);

	(void)args, (void)err;
	connection->held = call;
	mcp_call_on_cancel(call, on_cancel, connection);
	return 0;
}

static int big(struct mcp_call *call, const void *args, struct error *err)
{
	AUTO_FREE char *text = mem_new(200 * 1024 + 1);
	json_t *content = json_list();

	(void)args, (void)err;
	memset(text, 'x', 200 * 1024);
	json_push(content, mcp_text("%s", text));
	mcp_respond_content(call, content, NULL);
	return 0;
}

static const struct mcp_tool hold_tool = { .name = "hold", .help = "Waits.", .call = hold };
static const struct mcp_tool big_tool = { .name = "big", .help = "Talks.", .call = big };
static const struct mcp_tool *const tools[] = { &hold_tool, &big_tool, NULL };

enum { SHORT_GRACE_MS = 50, LONG_GRACE_MS = 60 * 1000 };

/* in_fd -1: input from the pipe. */
static void open_connection_on(struct connection *connection, size_t max_queue, int in_fd,
                               uint64_t grace_ms)
{
	struct mcp_config config = { .name = "t",
		                     .version = "1",
		                     .tools = tools,
		                     .app = connection,
		                     .limits = mcp_default_limits };
	struct stdio_config pipes = { .owner = "me",
		                      .max_queue = max_queue,
		                      .grace_ms = grace_ms,
		                      .closed = on_closed,
		                      .ctx = connection };
	struct error err;

	(void)signal(SIGPIPE, SIG_IGN);
	*connection = (struct connection){ 0 };
	assert_int_equal(pipe2(connection->in, O_CLOEXEC), 0);
	assert_int_equal(pipe2(connection->out, O_CLOEXEC), 0);
	CHECK_OK(loop_new(&connection->loop, &err), err);
	connection->server = mcp_server_new(connection->loop, &config);
	pipes.in_fd = in_fd >= 0 ? in_fd : connection->in[0];
	pipes.out_fd = connection->out[1];
	CHECK_OK(stdio_new(connection->loop, connection->server, &pipes, &connection->stdio, &err),
	         err);
}

static void open_connection(struct connection *connection, size_t max_queue)
{
	open_connection_on(connection, max_queue, -1, SHORT_GRACE_MS);
}

static void close_connection(struct connection *connection)
{
	(void)stdio_free(connection->stdio);
	(void)mcp_server_free(connection->server);
	(void)loop_free(connection->loop);
	for (int i = 0; i < 2; i++) {
		(void)close(connection->in[i]);
		(void)close(connection->out[i]);
	}
}

static void send_text(struct connection *connection, const char *text)
{
	assert_int_equal(write(connection->in[1], text, strlen(text)), strlen(text));
}

static void close_input(struct connection *connection)
{
	(void)close(connection->in[1]);
	connection->in[1] = -1;
}

static void requests_are_answered_until_the_end_of_input(void **state)
{
	struct connection connection;
	char answer[200] = "";

	open_connection(&connection, 1 << 20);
	send_text(&connection, "\n\xef\xbb\xbf" PING "\r\n\r\n" PING); /* the last line has no LF */
	close_input(&connection);
	loop_run(connection.loop);
	assert_int_equal(connection.closed, 1);
	assert_true(read(connection.out[0], answer, sizeof answer - 1) > 0);
	assert_string_equal(answer, PONG PONG);
	close_connection(&connection);
}

static void close_waits_for_a_call_within_the_grace_period(void **state)
{
	struct connection connection;
	json_t *content = json_list();

	open_connection_on(&connection, 1 << 20, -1, LONG_GRACE_MS);
	send_text(&connection, CALL("hold"));
	close_input(&connection);
	while (!connection.cancelled)
		run_loop_for(connection.loop, 1);
	assert_int_equal(connection.closed, 0);
	mcp_respond_content(connection.held, content, NULL);
	assert_int_equal(connection.closed, 1);
	close_connection(&connection);
}

static void close_abandons_a_call_after_the_grace_period(void **state)
{
	struct connection connection;
	struct stderr_capture c;
	char log[400];

	open_connection(&connection, 1 << 20);
	send_text(&connection, CALL("hold"));
	close_input(&connection);
	stderr_capture_start(&c);
	loop_run(connection.loop);
	(void)stderr_capture_end(&c, log, sizeof log);
	assert_int_equal(connection.closed, 1);
	assert_non_null(strstr(
	        log, "calls did not stop within 50 ms (grace); closing the connection anyway"));
	connection.stdio = stdio_free(connection.stdio);
	connection.server = mcp_server_free(connection.server);
	mcp_respond_content(connection.held, json_list(),
	                    NULL); /* the response is discarded, the call freed */
	close_connection(&connection);
}

static void closed_reader_closes_the_connection(void **state)
{
	struct connection connection;

	open_connection(&connection, 1 << 20);
	(void)close(connection.out[0]);
	connection.out[0] = -1;
	send_text(&connection, PING "\n");
	loop_run(connection.loop);
	assert_int_equal(connection.closed, 1);
	close_connection(&connection);
}

static void closed_reader_cancels_a_call(void **state)
{
	struct connection connection;

	open_connection_on(&connection, 1 << 20, -1, LONG_GRACE_MS);
	send_text(&connection, CALL("hold"));
	while (connection.held == NULL)
		run_loop_for(connection.loop, 1);
	(void)close(connection.out[0]);
	connection.out[0] = -1;
	while (!connection.cancelled)
		run_loop_for(connection.loop, 1);
	mcp_respond_content(connection.held, json_list(), NULL);
	assert_int_equal(connection.closed, 1);
	assert_string_equal(connection.why, "");
	close_connection(&connection);
}

/* The answers to eight calls make the client count as slow, and the ninth stays in the pipe. */
static void end_of_input_is_noticed_while_reading_is_paused(void **state)
{
	struct connection connection;
	struct stderr_capture c;
	char log[800];

	open_connection(&connection, 16 << 20);
	for (int i = 0; i < 8; i++)
		send_text(&connection, CALL("big"));
	run_loop_for(connection.loop, 100);
	send_text(&connection, CALL("hold"));
	close_input(&connection);
	stderr_capture_start(&c);
	watchdog_start();
	loop_run(connection.loop);
	watchdog_stop();
	(void)stderr_capture_end(&c, log, sizeof log);
	assert_int_equal(connection.closed, 1);
	assert_string_equal(connection.why, "");
	assert_null(connection.held);
	assert_non_null(strstr(log, "the client closed its input and does not read"));
	close_connection(&connection);
}

static void slow_reader_gets_answers_to_requests_before_the_end_of_input(void **state)
{
	struct connection connection;
	size_t lines = 0;
	ssize_t n;

	open_connection_on(&connection, 16 << 20, -1, LONG_GRACE_MS);
	assert_int_equal(fcntl(connection.out[0], F_SETFL, O_NONBLOCK), 0);
	for (int i = 0; i < 16; i++)
		send_text(&connection, CALL("big"));
	close_input(&connection);
	watchdog_start();
	do {
		char chunk[16384];

		run_loop_for(connection.loop, 1);
		while ((n = read(connection.out[0], chunk, sizeof chunk)) > 0)
			for (ssize_t i = 0; i < n; i++)
				lines += chunk[i] == '\n';
	} while (connection.closed == 0);
	watchdog_stop();
	assert_int_equal(lines, 16);
	close_connection(&connection);
}

static void full_queue_closes_the_connection(void **state)
{
	struct connection connection;

	open_connection(&connection, 300 * 1024);
	for (int i = 0; i < 3; i++)
		send_text(&connection, CALL("big"));
	loop_run(connection.loop);
	assert_int_equal(connection.closed, 1);
	assert_string_equal(connection.why,
	                    "connection closed: the reader is too slow: more than 307200 "
	                    "bytes wait for it (max_queue)");
	close_connection(&connection);
}

static void unreadable_input_closes_with_the_error(void **state)
{
	struct connection connection;
	int directory = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	open_connection_on(&connection, 1 << 20, directory, SHORT_GRACE_MS);
	loop_run(connection.loop);
	assert_int_equal(connection.closed, 1);
	assert_non_null(strstr(connection.why, "Is a directory"));
	close_connection(&connection);
	(void)close(directory);
}

static void descriptor_flags_are_restored(void **state)
{
	struct connection connection;
	int before, during;

	open_connection(&connection, 1 << 20);
	during = fcntl(connection.out[1], F_GETFL);
	assert_true(during & O_NONBLOCK);
	close_input(&connection);
	loop_run(connection.loop);
	connection.stdio = stdio_free(connection.stdio);
	before = fcntl(connection.out[1], F_GETFL);
	assert_false(before & O_NONBLOCK);
	close_connection(&connection);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(requests_are_answered_until_the_end_of_input),
		TEST(close_waits_for_a_call_within_the_grace_period),
		TEST(close_abandons_a_call_after_the_grace_period),
		TEST(closed_reader_closes_the_connection),
		TEST(closed_reader_cancels_a_call),
		TEST(end_of_input_is_noticed_while_reading_is_paused),
		TEST(slow_reader_gets_answers_to_requests_before_the_end_of_input),
		TEST(full_queue_closes_the_connection),
		TEST(unreadable_input_closes_with_the_error),
		TEST(descriptor_flags_are_restored),
	};

	return RUN_TESTS("transport/stdio", tests);
}
