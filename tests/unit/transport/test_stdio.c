#include <fcntl.h>
#include <signal.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "loop/loop.h"
#include "mcp/content.h"
#include "mcp/server.h"
#include "transport/stdio.h"
#include "unit/test.h"

#define PING "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}"
#define PONG "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n"
#define CALL(name)                                                                                 \
	"{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"" name     \
	"\"}}\n"

struct wire {
	struct loop *loop;
	struct mcp_server *server;
	struct stdio *stdio;
	int in[2], out[2];
	int ended;
	char why[480]; /* empty: in good order */
	struct mcp_call *held;
};

static void on_closed(void *ctx, const struct error *why)
{
	struct wire *wire = ctx;

	wire->ended++;
	(void)snprintf(wire->why, sizeof wire->why, "%s", why != NULL ? why->msg : "");
	loop_stop(wire->loop);
}

static int hold(struct mcp_call *call, const void *args, struct error *err)
{
	(void)args, (void)err;
	((struct wire *)mcp_call_app(call))->held = call;
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

static const struct mcp_tool holder = { .name = "hold", .help = "Waits.", .call = hold };
static const struct mcp_tool talker = { .name = "big", .help = "Talks.", .call = big };
static const struct mcp_tool *const tools[] = { &holder, &talker, NULL };

/* in_fd -1: the pipe. */
static void wire_begin_on(struct wire *wire, size_t max_queue, int in_fd)
{
	struct mcp_config config = { .name = "t",
		                     .version = "1",
		                     .tools = tools,
		                     .app = wire,
		                     .limits = mcp_default_limits };
	struct stdio_config pipes = {
		.max_queue = max_queue, .grace_ms = 50, .closed = on_closed, .ctx = wire
	};
	struct error err;

	(void)signal(SIGPIPE, SIG_IGN);
	*wire = (struct wire){ 0 };
	assert_int_equal(pipe2(wire->in, O_CLOEXEC), 0);
	assert_int_equal(pipe2(wire->out, O_CLOEXEC), 0);
	CHECK_OK(loop_new(&wire->loop, &err), err);
	wire->server = mcp_server_new(wire->loop, &config);
	pipes.in_fd = in_fd >= 0 ? in_fd : wire->in[0];
	pipes.out_fd = wire->out[1];
	CHECK_OK(stdio_new(wire->loop, wire->server, &pipes, &wire->stdio, &err), err);
}

static void wire_begin(struct wire *wire, size_t max_queue)
{
	wire_begin_on(wire, max_queue, -1);
}

static void wire_end(struct wire *wire)
{
	(void)stdio_free(wire->stdio);
	(void)mcp_server_free(wire->server);
	(void)loop_free(wire->loop);
	for (int i = 0; i < 2; i++) {
		(void)close(wire->in[i]);
		(void)close(wire->out[i]);
	}
}

static void say(struct wire *wire, const char *text)
{
	assert_int_equal(write(wire->in[1], text, strlen(text)), strlen(text));
}

static void hang_up(struct wire *wire)
{
	(void)close(wire->in[1]);
	wire->in[1] = -1;
}

/* Lets the loop turn for a moment. */
static void turn(struct wire *wire)
{
	struct loop_timer *soon = loop_timer_new(wire->loop, (loop_fn *)loop_stop, wire->loop);

	loop_timer_start(soon, 1);
	loop_run(wire->loop);
	(void)loop_timer_free(soon);
}

static void answers_and_ends_with_the_input(void **state)
{
	struct wire wire;
	char answer[200] = "";

	(void)state;
	wire_begin(&wire, 1 << 20);
	say(&wire, "\n\xef\xbb\xbf" PING "\r\n\r\n" PING); /* the last line has no end */
	hang_up(&wire);
	loop_run(wire.loop);
	assert_int_equal(wire.ended, 1);
	assert_true(read(wire.out[0], answer, sizeof answer - 1) > 0);
	assert_string_equal(answer, PONG PONG);
	wire_end(&wire);
}

static void waits_for_a_call_that_stops_in_time(void **state)
{
	struct wire wire;
	json_t *content = json_list();

	(void)state;
	wire_begin(&wire, 1 << 20);
	say(&wire, CALL("hold"));
	hang_up(&wire);
	while (wire.held == NULL || !mcp_call_is_cancelled(wire.held))
		turn(&wire);
	assert_int_equal(wire.ended, 0);
	mcp_respond_content(wire.held, content, NULL);
	assert_int_equal(wire.ended, 1);
	wire_end(&wire);
}

static void leaves_a_call_that_does_not_stop(void **state)
{
	struct wire wire;
	struct stderr_capture c;
	char log[400];

	(void)state;
	wire_begin(&wire, 1 << 20);
	say(&wire, CALL("hold"));
	hang_up(&wire);
	stderr_capture_start(&c);
	loop_run(wire.loop);
	(void)stderr_capture_end(&c, log, sizeof log);
	assert_int_equal(wire.ended, 1);
	assert_non_null(strstr(
	        log, "calls did not stop within 50 ms (grace); closing the connection anyway"));
	wire.stdio = stdio_free(wire.stdio);
	wire.server = mcp_server_free(wire.server);
	mcp_respond_content(wire.held, json_list(),
	                    NULL); /* too late for anybody, but not for memory */
	wire_end(&wire);
}

static void ends_when_nobody_reads_any_more(void **state)
{
	struct wire wire;

	(void)state;
	wire_begin(&wire, 1 << 20);
	(void)close(wire.out[0]);
	wire.out[0] = -1;
	say(&wire, PING "\n");
	loop_run(wire.loop);
	assert_int_equal(wire.ended, 1);
	wire_end(&wire);
}

/* Nothing is being written: the departure itself is noticed, and the work stopped. */
static void ends_when_the_reader_leaves_a_running_call(void **state)
{
	struct wire wire;

	(void)state;
	wire_begin(&wire, 1 << 20);
	say(&wire, CALL("hold"));
	while (wire.held == NULL)
		turn(&wire);
	(void)close(wire.out[0]);
	wire.out[0] = -1;
	while (!mcp_call_is_cancelled(wire.held))
		turn(&wire);
	mcp_respond_content(wire.held, json_list(), NULL);
	assert_int_equal(wire.ended, 1);
	assert_string_equal(wire.why, "");
	wire_end(&wire);
}

static void gives_up_a_client_that_lets_answers_pile_up(void **state)
{
	struct wire wire;

	(void)state;
	wire_begin(&wire, 300 * 1024);
	for (int i = 0; i < 3; i++)
		say(&wire, CALL("big"));
	loop_run(wire.loop);
	assert_int_equal(wire.ended, 1);
	assert_string_equal(wire.why, "connection closed: the reader is too slow: more than 307200 "
	                              "bytes wait for it (max_queue)");
	wire_end(&wire);
}

static void tells_why_its_input_cannot_be_read(void **state)
{
	struct wire wire;
	int directory = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	(void)state;
	wire_begin_on(&wire, 1 << 20, directory);
	loop_run(wire.loop);
	assert_int_equal(wire.ended, 1);
	assert_non_null(strstr(wire.why, "Is a directory"));
	wire_end(&wire);
	(void)close(directory);
}

static void leaves_the_descriptors_as_they_were(void **state)
{
	struct wire wire;
	int before, during;

	(void)state;
	wire_begin(&wire, 1 << 20);
	during = fcntl(wire.out[1], F_GETFL);
	assert_true(during & O_NONBLOCK);
	hang_up(&wire);
	loop_run(wire.loop);
	wire.stdio = stdio_free(wire.stdio);
	before = fcntl(wire.out[1], F_GETFL);
	assert_false(before & O_NONBLOCK);
	wire_end(&wire);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(answers_and_ends_with_the_input),
		TEST(waits_for_a_call_that_stops_in_time),
		TEST(leaves_a_call_that_does_not_stop),
		TEST(ends_when_nobody_reads_any_more),
		TEST(ends_when_the_reader_leaves_a_running_call),
		TEST(gives_up_a_client_that_lets_answers_pile_up),
		TEST(tells_why_its_input_cannot_be_read),
		TEST(leaves_the_descriptors_as_they_were),
	};

	return RUN_TESTS("transport/stdio", tests);
}
