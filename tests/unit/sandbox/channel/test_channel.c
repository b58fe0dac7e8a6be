/* The handshake, agents that break rules, and the end of a channel. */
#include "unit/sandbox/channel/fake_agent.h"

static void check_refused(struct channel_rig *rig, const struct wire_message *request,
                          enum error_kind kind, const char *why)
{
	struct channel_stream *stream;
	struct error err;

	CHECK_ERROR(channel_open(rig->channel, request, &channel_rig_stream_events, NULL, &stream,
	                         &err),
	            err, kind, why);
}

/* --- handshake --- */

static void handshake_sends_the_welcome(void **state)
{
	struct wire_message welcome;
	struct channel_rig rig;

	channel_rig_open(&rig);
	agent_hello(&rig);
	welcome = agent_expect(&rig, WIRE_WELCOME, 0, 0);
	assert_int_equal(welcome.welcome.version, WIRE_VERSION);
	assert_int_equal(welcome.welcome.uid, 1000);
	CHECK_VIEW(welcome.welcome.root, "/");
	CHECK_VIEW(welcome.welcome.workspace, "/workspace");
	channel_rig_check(&rig, "");
	agent_ready(&rig);
	channel_rig_check(&rig, "ready()");
	agent_expect_nothing(&rig);
	channel_rig_close(&rig);
}

static void invalid_welcome_is_refused(void **state)
{
	struct wire_welcome welcome = { .root = VIEW("/"), .workspace = VIEW("") };
	struct channel *channel = NULL;
	struct loop *loop = NULL;
	struct error err;
	int ends[2];

	CHECK_OK(loop_new(&loop, &err), err);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	CHECK_ERROR(channel_new(loop, ends[0], &welcome, &channel_rig_events, NULL, &channel, &err),
	            err, ERR_INVALID, "WELCOME: workspace has 0 bytes, not 1 to 4095");
	assert_int_equal(fcntl(ends[0], F_GETFD), -1);
	(void)close(ends[1]);
	(void)loop_free(loop);
}

static void stream_cannot_be_opened_before_ready(void **state)
{
	AUTO_BUF struct buf args;
	struct wire_message exec = exec_message(&args);
	struct channel_rig rig;

	channel_rig_open(&rig);
	check_refused(&rig, &exec, ERR_INVALID, "the agent is not ready yet");
	channel_rig_close(&rig);
}

static void only_requests_open_a_stream(void **state)
{
	struct wire_message close = { .type = WIRE_CLOSE };
	struct channel_rig rig;

	channel_rig_open_ready(&rig);
	check_refused(&rig, &close, ERR_INVALID, "CLOSE does not open a stream of the server");
	channel_rig_close(&rig);
}

/* --- an agent that breaks the rules --- */

struct breach {
	const char *what;
	bool is_ready; /* then stream 1 is a run, 3 a read, 5 a list of 2 entries */
	struct view bytes;
	/* Follows "the agent broke the protocol: ", unless it begins with "the agent". */
	const char *why;
};

#define HELLO_OF(version) "\1\0\0\x06\0\0\0\0BJAR\0" version
static const struct breach breaches[] = {
	{ "garbage", false, VIEW_INIT("GE\0\0 / HTTP"), "message 0x47 is unknown" },
	{ "a frame too long", false, VIEW_INIT("\1\0\xff\xf9\0\0\0\0"),
	  "a frame with 65529 bytes of payload: at most 65528" },
	{ "another version", false, VIEW_INIT(HELLO_OF("\3")),
	  "the agent speaks version 3 of the protocol, this server 2: they must come from the same "
	  "build" },
	{ "a hello cut off", false, VIEW_INIT("\1\0\0\x05\0\0\0\0BJAR\0"),
	  "HELLO: version is cut off" },
	{ "another magic", false, VIEW_INIT("\1\0\0\x06\0\0\0\0BJAX\0\2"),
	  "HELLO: magic is 1112162648, not 1112162642" },
	{ "hello on a stream", false, VIEW_INIT("\1\0\0\x06\0\0\0\1BJAR\0\2"),
	  "HELLO on stream 1" },
	{ "ready first", false, VIEW_INIT("\3\0\0\3\0\0\0\0\0\0\0"),
	  "READY is out of phase (now: hello)" },
	{ "refused first", false, VIEW_INIT("\4\0\0\3\0\0\0\0\0\0\0"),
	  "REFUSED is out of phase (now: hello)" },
	{ "data first", false, VIEW_INIT("\x10\1\0\1\0\0\0\1x"),
	  "DATA on stream 1, which is not open" },
	{ "hello again", true, VIEW_INIT("\1\0\0\0\0\0\0\0"), "HELLO is out of phase (now: open)" },
	{ "ready again", true, VIEW_INIT("\3\0\0\3\0\0\0\0\0\0\0"),
	  "READY is out of phase (now: open)" },
	{ "the server's words", true, VIEW_INIT("\5\0\0\x08\0\0\0\0\0\0\0\0\0\0\0\1"),
	  "PING came from the wrong end" },
	{ "an answer to no ping", true, VIEW_INIT("\6\0\0\x08\0\0\0\0\0\0\0\0\0\0\0\1"),
	  "PONG 1, which answers no PING" },
	{ "no such type", true, VIEW_INIT("\x6f\0\0\0\0\0\0\1"), "message 0x6f is unknown" },
	{ "an unopened stream", true, VIEW_INIT("\x10\1\0\1\0\0\0\7x"),
	  "DATA on stream 7, which is not open" },
	{ "data on the channel", true, VIEW_INIT("\x10\1\0\1\0\0\0\0x"),
	  "DATA on stream 0, which is not open" },
	{ "data before it started", true, VIEW_INIT("\x10\1\0\1\0\0\0\1x"),
	  "DATA on stream 1 is out of phase (now: starting)" },
	{ "started twice", true,
	  VIEW_INIT("\x21\0\0\4\0\0\0\1\0\0\0\x08"
	            "\x21\0\0\4\0\0\0\1\0\0\0\x08"),
	  "STARTED on stream 1 is out of phase (now: running)" },
	{ "started what is no run", true, VIEW_INIT("\x21\0\0\4\0\0\0\3\0\0\0\x08"),
	  "STARTED on stream 3, which is a fetch" },
	{ "the opener's words", true, VIEW_INIT("\x13\0\0\0\0\0\0\3"),
	  "CLOSE on stream 3 comes from the wrong end" },
	{ "a channel that is not there", true, VIEW_INIT("\x10\2\0\1\0\0\0\3x"),
	  "DATA on stream 3 names channel 2" },
	{ "data the wrong way", true, VIEW_INIT("\x10\0\0\1\0\0\0\3x"),
	  "DATA on stream 3 names channel 0" },
	{ "data after its end", true, VIEW_INIT("\x11\1\0\0\0\0\0\3\x10\1\0\1\0\0\0\3x"),
	  "DATA on stream 3 after the end of channel 1" },
	{ "data after the end of it all", true,
	  VIEW_INIT("\x15\0\0\x09\0\0\0\3\6\0\0\0\0\0\1x\0"
	            "\x10\1\0\1\0\0\0\3x"),
	  "DATA on stream 3, which is not open" },
	{ "no data in data", true, VIEW_INIT("\x10\1\0\0\0\0\0\3"),
	  "DATA: bytes has 0 bytes, not 1 to 65528" },
	{ "credit for what we receive", true, VIEW_INIT("\x12\1\0\4\0\0\0\3\0\0\0\1"),
	  "CREDIT on stream 3 names channel 1" },
	{ "too much credit", true, VIEW_INIT("\x12\0\0\4\0\0\0\1\1\0\0\0"),
	  "CREDIT on stream 1: more than 16777216" },
	{ "matches for a list", true, VIEW_INIT("\x3a\1\0\1\0\0\0\5x"),
	  "MATCHES on stream 5, which asked for LIST" },
	{ "numbers for a list", true,
	  VIEW_INIT("\x51\0\0\x49\0\0\0\5\0"
	            "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
	            "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"),
	  "STATS_ARE on stream 5, which asked for LIST" },
	{ "a broken entry", true, VIEW_INIT("\x39\1\0\1\0\0\0\5\0"),
	  "ENTRIES on stream 5: perm is cut off" },
	{ "a request of the agent", true, VIEW_INIT("\x20\0\0\0\0\0\0\2"),
	  "EXEC came from the wrong end" },
};

static void check_breach(const struct breach *breach)
{
	bool is_whole = strncmp(breach->why, "the agent ", strlen("the agent ")) == 0;
	const char *before = is_whole ? "" : "the agent broke the protocol: ";
	char want[1024];
	struct channel_rig rig;

	if (breach->is_ready) {
		channel_rig_open_ready(&rig);
		(void)channel_rig_exec(&rig);
		(void)channel_rig_read(&rig);
		(void)channel_rig_list(&rig, 2);
	} else {
		channel_rig_open(&rig);
	}
	assert_int_equal(agent_send_bytes(&rig, breach->bytes), breach->bytes.len);
	channel_rig_run_turns(&rig);
	(void)snprintf(want, sizeof want, "failed(%s%s)", before, breach->why);
	if (rig.failures != 1 || strstr(buf_text(&rig.log), want) == NULL)
		fail_msg("%s: %s\nwanted: %s", breach->what, buf_text(&rig.log), want);
	for (unsigned i = 0; i < rig.opened; i++)
		assert_int_equal(rig.streams[i].ends, 1);
	channel_rig_close(&rig);
}

static void frame_that_breaks_a_rule_fails_the_channel(void **state)
{
	for (size_t i = 0; i < ARRAY_LEN(breaches); i++)
		check_breach(&breaches[i]);
}

static void reason_of_a_refusal_is_escaped(void **state)
{
	struct channel_rig rig;

	channel_rig_open(&rig);
	agent_hello(&rig);
	channel_rig_run_turns(&rig);
	AGENT_SEND(&rig, 0, 0, .type = WIRE_REFUSED,
	           .refused.reason = VIEW("no \033[31mroom\xff\n"));
	channel_rig_close_agent(&rig);
	channel_rig_check(&rig, "failed(the agent refused: no \\x1b[31mroom\\xff\\n)");
	channel_rig_close(&rig);
}

/* --- ends --- */

static void agent_that_exits_before_ready_is_reported(void **state)
{
	struct channel_rig rig;

	channel_rig_open(&rig);
	channel_rig_close_agent(&rig);
	channel_rig_check(&rig, "failed(the agent ended before it was ready)");
	channel_rig_close(&rig);
	channel_rig_open(&rig);
	agent_hello(&rig);
	channel_rig_run_turns(&rig); /* WELCOME stays unread, so the server reads ECONNRESET */
	channel_rig_close_agent(&rig);
	channel_rig_check(&rig, "failed(the agent ended before it was ready)");
	channel_rig_close(&rig);
}

static void end_fails_every_stream_once_then_the_channel(void **state)
{
	struct channel_rig rig;
	const char *owner;

	channel_rig_open_ready(&rig);
	for (int i = 0; i < 50; i++) {
		(void)channel_rig_exec(&rig);
		(void)channel_rig_read(&rig);
	}
	(void)agent_send_bytes(&rig, VIEW("\x10\1\0\x08\0\0\0\3x")); /* half a message */
	channel_rig_run_turns(&rig);
	channel_rig_close_agent(&rig);
	channel_rig_run_turns(&rig);
	assert_int_equal(rig.opened, 100);
	for (unsigned i = 0; i < rig.opened; i++)
		assert_int_equal(rig.streams[i].ends, 1);
	assert_int_equal(rig.failures, 1);
	owner = strstr(buf_text(&rig.log), " failed(the agent ended)");
	assert_non_null(owner);
	assert_string_equal(owner, " failed(the agent ended)");
	channel_rig_close(&rig);
}

static void stream_cannot_be_opened_after_the_end(void **state)
{
	AUTO_BUF struct buf args;
	struct wire_message exec = exec_message(&args);
	struct channel_rig rig;

	channel_rig_open_ready(&rig);
	channel_rig_close_agent(&rig);
	channel_rig_check(&rig, "failed(the agent ended)");
	check_refused(&rig, &exec, ERR_SYSTEM, "the agent ended");
	channel_rig_close(&rig);
}

static void broken_rule_closes_the_socket(void **state)
{
	struct channel_rig rig;
	char c;

	channel_rig_open_ready(&rig);
	(void)agent_send_bytes(&rig, VIEW("\x7f\0\0\0\0\0\0\0"));
	channel_rig_run_turns(&rig);
	assert_int_equal(recv(rig.fd, &c, 1, MSG_DONTWAIT), 0);
	channel_rig_close(&rig);
}

static void silent_agent_fails_the_channel(void **state)
{
	static const struct channel_times short_hello = { 20, 10 }, short_ping = { 10000, 10 };
	struct channel_rig rig;

	channel_rig_open_timed(&rig, &short_hello);
	channel_rig_run_until_failed(&rig);
	channel_rig_check(&rig, "failed(the agent did not say hello within 20 ms)");
	channel_rig_close(&rig);
	channel_rig_open_timed(&rig, &short_hello);
	agent_hello(&rig);
	channel_rig_run_until_failed(&rig);
	channel_rig_check(&rig, "failed(the agent said hello, but was not ready within 20 ms)");
	channel_rig_close(&rig);
	channel_rig_open_timed(&rig, &short_ping);
	agent_hello(&rig);
	channel_rig_run_turns(&rig);
	agent_ready(&rig);
	channel_rig_run_until_failed(&rig);
	channel_rig_check(&rig, "ready() "
	                        "failed(the agent does not answer (30 ms))");
	(void)agent_expect(&rig, WIRE_WELCOME, 0, 0);
	assert_int_equal(agent_expect(&rig, WIRE_PING, 0, 0).ping.token, 1);
	assert_int_equal(agent_expect(&rig, WIRE_PING, 0, 0).ping.token, 2);
	channel_rig_close(&rig);
}

static void whole_seconds_are_shown_as_seconds(void **state)
{
	static const struct channel_times times = { 1000, 5000 };
	struct channel_rig rig;

	channel_rig_open_timed(&rig, &times);
	channel_rig_run_until_failed(&rig);
	channel_rig_check(&rig, "failed(the agent did not say hello within 1 s)");
	channel_rig_close(&rig);
}

static void answering_agent_keeps_the_channel(void **state)
{
	static const struct channel_times times = { 10000, 20 };
	struct channel_rig rig;
	struct wire_frame frame;
	unsigned pings = 0;

	channel_rig_open_timed(&rig, &times);
	agent_hello(&rig);
	(void)agent_expect(&rig, WIRE_WELCOME, 0, 0);
	agent_ready(&rig);
	channel_rig_check(&rig, "ready()");
	for (int i = 0; i < 1000 && pings < 5; i++) {
		channel_rig_run_ms(&rig, 10);
		while (agent_receive(&rig, &frame)) {
			assert_int_equal(frame.type, WIRE_PING);
			pings++;
			AGENT_SEND(&rig, 0, 0, .type = WIRE_PONG, .ping.token = pings);
		}
	}
	assert_int_equal(rig.failures, 0);
	assert_true(pings >= 5);
	channel_rig_close(&rig);
}

/* The whole process is stopped for longer than the agent may be silent: one interval, not three. */
static void long_stop_of_the_server_counts_as_one_interval(void **state)
{
	static const struct channel_times times = { 10000, 200 };
	struct channel_rig rig;

	channel_rig_open_timed(&rig, &times);
	agent_hello(&rig);
	(void)agent_expect(&rig, WIRE_WELCOME, 0, 0);
	agent_ready(&rig);
	channel_rig_check(&rig, "ready()");
	(void)usleep(800000);
	channel_rig_run_turns(&rig);
	assert_int_equal(rig.failures, 0);
	channel_rig_close(&rig);
}

static void agent_that_stops_reading_fails_the_channel(void **state)
{
	struct channel_rig rig;

	channel_rig_open_ready(&rig);
	(void)channel_rig_exec(&rig);
	channel_rig_run_turns(&rig);
	assert_int_equal(shutdown(rig.fd, SHUT_RD), 0);
	for (int i = 0; i < 3; i++)
		channel_close(channel_rig_exec(&rig)->stream);
	channel_rig_run_until_failed(&rig);
	assert_int_equal(rig.failures, 1);
	assert_non_null(strstr(buf_text(&rig.log),
	                       " failed(the agent closed its reading end but still sends)"));
	channel_rig_close(&rig);
}

/* --- failures of one stream --- */

static void failure_of_a_stream_becomes_an_error(void **state)
{
	static const struct {
		enum wire_failure failure;
		enum error_kind kind;
	} rows[] = {
		{ WIRE_FAILED_INVALID, ERR_INVALID }, { WIRE_FAILED_MISSING, ERR_NOT_FOUND },
		{ WIRE_FAILED_DENIED, ERR_SYSTEM },   { WIRE_FAILED_LIMIT, ERR_LIMIT },
		{ WIRE_FAILED_CLOSED, ERR_SYSTEM },   { WIRE_FAILED_LOST, ERR_SYSTEM },
		{ WIRE_FAILED_SYSTEM, ERR_SYSTEM },
	};
	struct channel_rig rig;
	char want[200];

	channel_rig_open_ready(&rig);
	for (uint32_t i = 0; i < ARRAY_LEN(rows); i++) {
		(void)channel_rig_read(&rig);
		AGENT_SEND(&rig, 2 * i + 1, 0, .type = WIRE_FAILED,
		           .failed = { .why = (uint8_t)rows[i].failure,
		                       .errnum = ENOENT,
		                       .message = VIEW("a\tb\x80") });
		(void)snprintf(want, sizeof want, "s%u:failed%d(a\\tb\\x80)", 2 * i + 1,
		               (int)rows[i].failure);
		channel_rig_check(&rig, want);
	}
	assert_int_equal(rig.failures, 0);
	channel_rig_close(&rig);
}

static void last_error(void *ctx, enum wire_failure failure, const struct error *why)
{
	(void)failure;
	*(struct error *)ctx = *why;
}

static void failure_keeps_errno_and_kind(void **state)
{
	static const struct channel_stream_events events = { .failed = last_error };
	struct wire_message read = { .type = WIRE_READ, .read = { .path = VIEW("f") } };
	struct channel_stream *stream;
	struct error got = { 0 }, err;
	struct channel_rig rig;

	channel_rig_open_ready(&rig);
	CHECK_OK(channel_open(rig.channel, &read, &events, &got, &stream, &err), err);
	AGENT_SEND(
	        &rig, 1, 0, .type = WIRE_FAILED,
	        .failed = { .why = WIRE_FAILED_MISSING, .errnum = ENOENT, .message = VIEW("f") });
	channel_rig_run_turns(&rig);
	assert_int_equal(got.kind, ERR_NOT_FOUND);
	assert_int_equal(got.errnum, ENOENT);
	channel_rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest all[] = {
		TEST(handshake_sends_the_welcome),
		TEST(invalid_welcome_is_refused),
		TEST(stream_cannot_be_opened_before_ready),
		TEST(only_requests_open_a_stream),
		TEST(frame_that_breaks_a_rule_fails_the_channel),
		TEST(reason_of_a_refusal_is_escaped),
		TEST(agent_that_exits_before_ready_is_reported),
		TEST(end_fails_every_stream_once_then_the_channel),
		TEST(stream_cannot_be_opened_after_the_end),
		TEST(broken_rule_closes_the_socket),
		TEST(silent_agent_fails_the_channel),
		TEST(whole_seconds_are_shown_as_seconds),
		TEST(answering_agent_keeps_the_channel),
		TEST(long_stop_of_the_server_counts_as_one_interval),
		TEST(agent_that_stops_reading_fails_the_channel),
		TEST(failure_of_a_stream_becomes_an_error),
		TEST(failure_keeps_errno_and_kind),
	};

	return RUN_TESTS("channel", all);
}
