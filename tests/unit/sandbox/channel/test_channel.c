/* test_channel.c - greeting, rules, ends: everything but the flow of bytes. */
#include "unit/sandbox/channel/fake_agent.h"

static void check_refused(struct rig *rig, const struct wire_message *request, enum error_kind kind,
                          const char *why)
{
	struct channel_stream *stream;
	struct error err;

	CHECK_ERROR(channel_open(rig->channel, request, &rig_stream_events, NULL, &stream, &err),
	            err, kind, why);
}

/* --- greeting --- */

static void greets_the_agent_and_says_what_it_is(void **state)
{
	struct wire_message welcome;
	struct rig rig;

	(void)state;
	rig_open(&rig);
	agent_hello(&rig);
	welcome = agent_expect(&rig, WIRE_WELCOME, 0, 0);
	assert_int_equal(welcome.welcome.version, WIRE_VERSION);
	assert_int_equal(welcome.welcome.uid, 1000);
	CHECK_VIEW(welcome.welcome.root, "/");
	CHECK_VIEW(welcome.welcome.workspace, "/workspace");
	rig_check(&rig, "");
	agent_ready(&rig);
	rig_check(&rig, "ready()");
	agent_expect_nothing(&rig);
	rig_close(&rig);
}

static void refuses_a_welcome_that_cannot_be_said(void **state)
{
	struct wire_welcome welcome = { .root = VIEW("/"), .workspace = VIEW("") };
	struct channel *channel = NULL;
	struct loop *loop = NULL;
	struct error err;
	int ends[2];

	(void)state;
	CHECK_OK(loop_new(&loop, &err), err);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	CHECK_ERROR(channel_new(loop, ends[0], &welcome, &rig_events, NULL, &channel, &err), err,
	            ERR_INVALID, "WELCOME: workspace has 0 bytes, not 1 to 4095");
	assert_int_equal(fcntl(ends[0], F_GETFD), -1);
	(void)close(ends[1]);
	(void)loop_free(loop);
}

static void opens_nothing_before_the_agent_is_ready(void **state)
{
	AUTO_BUF struct buf args;
	struct wire_message exec = exec_message(&args);
	struct rig rig;

	(void)state;
	rig_open(&rig);
	check_refused(&rig, &exec, ERR_INVALID, "the agent is not ready yet");
	rig_close(&rig);
}

static void opens_only_with_what_opens(void **state)
{
	struct wire_message close = { .type = WIRE_CLOSE };
	struct rig rig;

	(void)state;
	rig_greeted(&rig);
	check_refused(&rig, &close, ERR_INVALID, "CLOSE does not open a stream of the server");
	rig_close(&rig);
}

/* --- an agent that breaks the rules --- */

struct breach {
	const char *what;
	bool is_greeted; /* then a run is open as 1, a read as 3, a list of 2 as 5 */
	struct view bytes;
	const char *why; /* behind "the agent broke the protocol: " unless it tells of the agent */
};

#define HELLO_OF(version) "\1\0\0\x06\0\0\0\0BJAR\0" version
static const struct breach breaches[] = {
	{ "garbage", false, VIEW_INIT("GE\0\0 / HTTP"), "message 0x47 is unknown" },
	{ "a frame too long", false, VIEW_INIT("\1\0\xff\xf9\0\0\0\0"),
	  "a frame with 65529 bytes of payload: at most 65528" },
	{ "another version", false, VIEW_INIT(HELLO_OF("\2")),
	  "the agent speaks version 2 of the protocol, this server 1: they must come from the same "
	  "build" },
	{ "a hello cut off", false, VIEW_INIT("\1\0\0\x05\0\0\0\0BJAR\0"),
	  "HELLO: version is cut off" },
	{ "another magic", false, VIEW_INIT("\1\0\0\x06\0\0\0\0BJAX\0\2"),
	  "HELLO: magic is 1112162648, not 1112162642" },
	{ "hello on a stream", false, VIEW_INIT("\1\0\0\x06\0\0\0\1BJAR\0\1"),
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
	struct rig rig;

	if (breach->is_greeted) {
		rig_greeted(&rig);
		(void)rig_exec(&rig);
		(void)rig_read(&rig);
		(void)rig_list(&rig, 2);
	} else {
		rig_open(&rig);
	}
	assert_int_equal(agent_raw(&rig, breach->bytes), breach->bytes.len);
	rig_turn(&rig);
	(void)snprintf(want, sizeof want, "failed(%s%s)", before, breach->why);
	if (rig.failures != 1 || strstr(buf_text(&rig.log), want) == NULL)
		fail_msg("%s: %s\nwanted: %s", breach->what, buf_text(&rig.log), want);
	for (unsigned i = 0; i < rig.opened; i++)
		assert_int_equal(rig.streams[i].told, 1);
	rig_close(&rig);
}

static void gives_up_an_agent_that_breaks_the_rules(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(breaches); i++)
		check_breach(&breaches[i]);
}

static void says_why_the_agent_refused_without_its_control_characters(void **state)
{
	struct rig rig;

	(void)state;
	rig_open(&rig);
	agent_hello(&rig);
	rig_turn(&rig);
	AGENT_SAY(&rig, 0, 0, .type = WIRE_REFUSED,
	          .refused.reason = VIEW("no \033[31mroom\xff\n"));
	rig_hang_up(&rig);
	rig_check(&rig, "failed(the agent refused: no \\x1b[31mroom\\xff\\n)");
	rig_close(&rig);
}

/* --- ends --- */

static void tells_of_the_end_before_the_agent_is_ready(void **state)
{
	struct rig rig;

	(void)state;
	rig_open(&rig);
	rig_hang_up(&rig);
	rig_check(&rig, "failed(the agent ended before it was ready)");
	rig_close(&rig);
	rig_open(&rig);
	agent_hello(&rig);
	rig_turn(&rig); /* WELCOME stays unread: a reset, not an end */
	rig_hang_up(&rig);
	rig_check(&rig, "failed(the agent ended before it was ready)");
	rig_close(&rig);
}

static void tells_every_stream_once_and_then_the_owner(void **state)
{
	struct rig rig;
	const char *owner;

	(void)state;
	rig_greeted(&rig);
	for (int i = 0; i < 50; i++) {
		(void)rig_exec(&rig);
		(void)rig_read(&rig);
	}
	(void)agent_raw(&rig, VIEW("\x10\1\0\x08\0\0\0\3x")); /* half a message */
	rig_turn(&rig);
	rig_hang_up(&rig);
	rig_turn(&rig);
	assert_int_equal(rig.opened, 100);
	for (unsigned i = 0; i < rig.opened; i++)
		assert_int_equal(rig.streams[i].told, 1);
	assert_int_equal(rig.failures, 1);
	owner = strstr(buf_text(&rig.log), " failed(the agent ended)");
	assert_non_null(owner);
	assert_string_equal(owner, " failed(the agent ended)");
	rig_close(&rig);
}

static void opens_nothing_after_the_end_and_says_why(void **state)
{
	AUTO_BUF struct buf args;
	struct wire_message exec = exec_message(&args);
	struct rig rig;

	(void)state;
	rig_greeted(&rig);
	rig_hang_up(&rig);
	rig_check(&rig, "failed(the agent ended)");
	check_refused(&rig, &exec, ERR_SYSTEM, "the agent ended");
	rig_close(&rig);
}

static void closes_the_socket_of_an_agent_that_broke_the_rules(void **state)
{
	struct rig rig;
	char c;

	(void)state;
	rig_greeted(&rig);
	(void)agent_raw(&rig, VIEW("\x7f\0\0\0\0\0\0\0"));
	rig_turn(&rig);
	assert_int_equal(recv(rig.fd, &c, 1, MSG_DONTWAIT), 0);
	rig_close(&rig);
}

static void gives_up_an_agent_that_says_nothing(void **state)
{
	static const struct channel_times times = { 20, 10 };
	struct rig rig;

	(void)state;
	rig_open_timed(&rig, &times);
	rig_run_ms(&rig, 60);
	rig_check(&rig, "failed(the agent did not say hello within 20 ms)");
	rig_close(&rig);
	rig_open_timed(&rig, &times);
	agent_hello(&rig);
	rig_run_ms(&rig, 60);
	rig_check(&rig, "failed(the agent said hello, but was not ready within 20 ms)");
	rig_close(&rig);
	rig_open_timed(&rig, &times);
	agent_hello(&rig);
	rig_turn(&rig);
	agent_ready(&rig);
	rig_run_ms(&rig, 100);
	rig_check(&rig, "ready() "
	                "failed(the agent does not answer (30 ms))");
	(void)agent_expect(&rig, WIRE_WELCOME, 0, 0);
	assert_int_equal(agent_expect(&rig, WIRE_PING, 0, 0).ping.token, 1);
	assert_int_equal(agent_expect(&rig, WIRE_PING, 0, 0).ping.token, 2);
	rig_close(&rig);
}

static void says_seconds_where_they_are_whole(void **state)
{
	static const struct channel_times times = { 1000, 5000 };
	struct rig rig;

	(void)state;
	rig_open_timed(&rig, &times);
	rig_run_ms(&rig, 1100);
	rig_check(&rig, "failed(the agent did not say hello within 1 s)");
	rig_close(&rig);
}

static void keeps_an_agent_that_answers(void **state)
{
	static const struct channel_times times = { 1000, 20 };
	struct rig rig;
	struct wire_frame frame;
	unsigned pings = 0;

	(void)state;
	rig_open_timed(&rig, &times);
	agent_hello(&rig);
	(void)agent_expect(&rig, WIRE_WELCOME, 0, 0);
	agent_ready(&rig);
	rig_check(&rig, "ready()");
	for (int i = 0; i < 30; i++) {
		rig_run_ms(&rig, 10);
		while (agent_hear(&rig, &frame)) {
			assert_int_equal(frame.type, WIRE_PING);
			pings++;
			AGENT_SAY(&rig, 0, 0, .type = WIRE_PONG, .ping.token = pings);
		}
	}
	assert_int_equal(rig.failures, 0);
	assert_true(pings >= 3);
	rig_close(&rig);
}

/* The process is stopped as a whole for longer than the agent has: one tick, not three. */
static void counts_a_long_stop_of_its_own_as_one_tick(void **state)
{
	static const struct channel_times times = { 1000, 40 };
	struct rig rig;

	(void)state;
	rig_open_timed(&rig, &times);
	agent_hello(&rig);
	(void)agent_expect(&rig, WIRE_WELCOME, 0, 0);
	agent_ready(&rig);
	rig_check(&rig, "ready()");
	(void)usleep(400000);
	rig_turn(&rig);
	assert_int_equal(rig.failures, 0);
	rig_close(&rig);
}

static void gives_up_an_agent_that_shuts_its_ear(void **state)
{
	struct rig rig;

	(void)state;
	rig_greeted(&rig);
	(void)rig_exec(&rig);
	rig_turn(&rig);
	assert_int_equal(shutdown(rig.fd, SHUT_RD), 0);
	for (int i = 0; i < 3; i++)
		channel_close(rig_exec(&rig)->stream);
	rig_run_ms(&rig, 1200);
	assert_int_equal(rig.failures, 1);
	assert_non_null(strstr(buf_text(&rig.log),
	                       " failed(the agent has closed its ear but goes on talking)"));
	rig_close(&rig);
}

/* --- failures of one stream --- */

static void makes_an_error_of_what_the_agent_says_failed(void **state)
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
	struct rig rig;
	char want[200];

	(void)state;
	rig_greeted(&rig);
	for (uint32_t i = 0; i < ARRAY_LEN(rows); i++) {
		(void)rig_read(&rig);
		AGENT_SAY(&rig, 2 * i + 1, 0, .type = WIRE_FAILED,
		          .failed = { .why = (uint8_t)rows[i].failure,
		                      .errnum = ENOENT,
		                      .message = VIEW("a\tb\x80") });
		(void)snprintf(want, sizeof want, "s%u:failed%d(a\\tb\\x80)", 2 * i + 1,
		               (int)rows[i].failure);
		rig_check(&rig, want);
	}
	assert_int_equal(rig.failures, 0);
	rig_close(&rig);
}

static void last_error(void *ctx, enum wire_failure failure, const struct error *why)
{
	(void)failure;
	*(struct error *)ctx = *why;
}

static void keeps_errno_and_kind_of_a_failure(void **state)
{
	static const struct channel_stream_events events = { .failed = last_error };
	struct wire_message read = { .type = WIRE_READ, .read = { .path = VIEW("f") } };
	struct channel_stream *stream;
	struct error got = { 0 }, err;
	struct rig rig;

	(void)state;
	rig_greeted(&rig);
	CHECK_OK(channel_open(rig.channel, &read, &events, &got, &stream, &err), err);
	AGENT_SAY(&rig, 1, 0, .type = WIRE_FAILED,
	          .failed = { .why = WIRE_FAILED_MISSING, .errnum = ENOENT, .message = VIEW("f") });
	rig_turn(&rig);
	assert_int_equal(got.kind, ERR_NOT_FOUND);
	assert_int_equal(got.errnum, ENOENT);
	rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest all[] = {
		TEST(greets_the_agent_and_says_what_it_is),
		TEST(refuses_a_welcome_that_cannot_be_said),
		TEST(opens_nothing_before_the_agent_is_ready),
		TEST(opens_only_with_what_opens),
		TEST(gives_up_an_agent_that_breaks_the_rules),
		TEST(says_why_the_agent_refused_without_its_control_characters),
		TEST(tells_of_the_end_before_the_agent_is_ready),
		TEST(tells_every_stream_once_and_then_the_owner),
		TEST(opens_nothing_after_the_end_and_says_why),
		TEST(closes_the_socket_of_an_agent_that_broke_the_rules),
		TEST(gives_up_an_agent_that_says_nothing),
		TEST(says_seconds_where_they_are_whole),
		TEST(keeps_an_agent_that_answers),
		TEST(counts_a_long_stop_of_its_own_as_one_tick),
		TEST(gives_up_an_agent_that_shuts_its_ear),
		TEST(makes_an_error_of_what_the_agent_says_failed),
		TEST(keeps_errno_and_kind_of_a_failure),
	};

	return RUN_TESTS("channel", all);
}
