/* test_live_flow.c - what a program reads and writes: whole, in order, and never in the way. */
#include "unit/agent/live/live_modes.h"

static void carries_8_mib_through_cat(void **state)
{
	static char pattern[65521];
	struct live_stream *s;
	struct live live;

	(void)state;
	for (size_t i = 0; i < sizeof pattern; i++)
		pattern[i] = (char)(i * 31 + i / 251);
	live_begin(&live);
	s = live_start_run(&live,
	                   LIVE_RUN(.flags = WIRE_EXEC_STDIN, .keeps_open = true, .hashes = true),
	                   "cat");
	live_feed(s, (struct view){ pattern, sizeof pattern }, 8 * 1024 * 1024);
	live_end_input(s);
	(void)live_wait_ms(s, 60000);
	assert_int_equal(live_exited(s)->exited.code, 0);
	assert_int_equal(s->got[WIRE_OUT].len, 8 * 1024 * 1024);
	for (size_t i = 0; i < s->got[WIRE_OUT].len; i++)
		if (s->got[WIRE_OUT].ptr[i] != pattern[i % sizeof pattern])
			fail_msg("byte %zu is another", i);
	live_finish(&live);
}

static void does_not_wait_for_a_program_that_never_reads(void **state)
{
	struct live_stream *s;
	struct live live;

	(void)state;
	live_begin(&live);
	s = live_start_run(&live, LIVE_RUN(.flags = WIRE_EXEC_STDIN, .keeps_open = true), "sh",
	                   "-c", "echo up; sleep 0.3; exit 4");
	live_feed(s, VIEW("0123456789abcdef"), 4 * 1024 * 1024);
	live_until_bytes(s, WIRE_OUT, 3);
	assert_true(live_latency(&live) < 2000);
	assert_int_equal(live_exited(s)->exited.code, 4);
	assert_true(s->sent < 1024 * 1024);
	live_finish(&live);
}

/* What nobody reads any more is swallowed: the sender does not hang. */
static void takes_all_input_of_a_program_that_closed_its_stdin(void **state)
{
	struct live_stream *s;
	struct live live;

	(void)state;
	live_begin(&live);
	s = live_start_run(&live, LIVE_RUN(.flags = WIRE_EXEC_STDIN, .keeps_open = true), "sh",
	                   "-c", "exec <&-; echo up; sleep 100");
	live_until_bytes(s, WIRE_OUT, 3);
	live_feed(s, VIEW("0123456789abcdef"), 4 * 1024 * 1024);
	LIVE_UNTIL(&live, s->sent == 4 * 1024 * 1024, LIVE_MS);
	live_end_input(s);
	live_signal(s, SIGKILL);
	assert_int_equal(live_exited(s)->exited.signal, SIGKILL);
	live_finish(&live);
}

static void gives_an_end_of_input(void **state)
{
	struct live_stream *s;
	struct live live;

	(void)state;
	live_begin(&live);
	CHECK_GOT(live_exec(&live, "cat"), WIRE_OUT, ""); /* no stdin: an empty one */
	s = live_start_run(&live, LIVE_RUN(.flags = WIRE_EXEC_STDIN), "sh", "-c", "cat; echo end");
	CHECK_GOT(live_exited(s), WIRE_OUT, "end\n");
	s = live_start_run(&live, LIVE_RUN(.flags = WIRE_EXEC_STDIN, .input = "one\ntwo\nthree"),
	                   "sh", "-c", "read a; echo \"$a\"; cat");
	CHECK_GOT(live_exited(s), WIRE_OUT, "one\ntwo\nthree");
	live_finish(&live);
}

static void keeps_output_and_errors_apart_and_in_order(void **state)
{
	struct live_stream *s;
	struct live live;

	(void)state;
	live_begin(&live);
	s = live_sh(&live, "for i in 1 2 3 4 5; do echo o$i; echo e$i >&2; done");
	CHECK_GOT(s, WIRE_OUT, "o1\no2\no3\no4\no5\n");
	CHECK_GOT(s, WIRE_ERR, "e1\ne2\ne3\ne4\ne5\n");
	live_finish(&live);
}

static void lets_a_program_close_its_output_and_go_on(void **state)
{
	static const char *const closings[] = { "exec >&-", "exec 2>&-", "exec >&- 2>&-",
		                                "exec <&- >&- 2>&-" };
	struct live_stream *s;
	struct live live;
	char script[128];

	(void)state;
	live_begin(&live);
	for (size_t i = 0; i < ARRAY_LEN(closings); i++) {
		(void)snprintf(script, sizeof script, "echo first; %s; sleep 0.2; exit 5",
		               closings[i]);
		s = live_start_run(&live, LIVE_RUN(.flags = WIRE_EXEC_STDIN, .keeps_open = true),
		                   "sh", "-c", script);
		live_until_bytes(s, WIRE_OUT, 6);
		LIVE_UNTIL(&live, s->ended != 0, LIVE_MS);
		assert_false(s->has_exited);
		assert_int_equal(live_exited(s)->exited.code, 5);
		assert_true(s->exited.wall_us >= 200000);
	}
	live_finish(&live);
}

static void carries_a_fourth_descriptor_both_ways(void **state)
{
	struct live_stream *s;
	struct live live;

	(void)state;
	live_begin(&live);
	s = live_start_run(&live, LIVE_RUN(.flags = WIRE_EXEC_CONTROL, .keeps_open = true), "sh",
	                   "-c", "read a <&3; echo \"got $a\" >&3; echo out; cat <&3 >&3; exit 6");
	s->sends_on = WIRE_CONTROL_IN;
	live_feed_text(s, "hello\n");
	live_until_bytes(s, WIRE_CONTROL_OUT, 10);
	live_feed_text(s, "more");
	live_end_input(s);
	assert_int_equal(live_exited(s)->exited.code, 6);
	CHECK_GOT(s, WIRE_CONTROL_OUT, "got hello\nmore");
	CHECK_GOT(s, WIRE_OUT, "out\n");
	live_finish(&live);
}

/* It ends with the fourth descriptor as the last one open, and no credit for it. */
static void ends_a_run_whose_control_channel_is_full(void **state)
{
	struct live_stream *s;
	struct live live;

	(void)state;
	live_begin(&live);
	s = live_start_run(&live, LIVE_RUN(.flags = WIRE_EXEC_CONTROL, .holds_back = true), "sh",
	                   "-c", "exec >&- 2>&-; head -c 65536 /dev/zero >&3; sleep 0.2");
	assert_int_equal(live_exited(s)->exited.code, 0);
	assert_int_equal(s->bytes[WIRE_CONTROL_OUT], 65536);
	live_finish(&live);
}

/* Nothing is lost that waits in a pipe when a program ends, though it is read much later. */
static void delivers_what_waited_for_credit(void **state)
{
	struct live_stream *s;
	struct live live;

	(void)state;
	live_begin(&live);
	s = live_start_run(&live, LIVE_RUN(.holds_back = true, .counts_only = true), "sh", "-c",
	                   "head -c 200000 /dev/zero; head -c 100000 /dev/zero >&2");
	LIVE_UNTIL(&live, s->has_exited, LIVE_MS);
	live_run_ms(&live, 300);
	assert_false(s->is_over);
	assert_int_equal(s->bytes[WIRE_OUT], 65536);
	s->holds_back = false;
	channel_consumed(s->stream, WIRE_OUT, 65536);
	channel_consumed(s->stream, WIRE_ERR, 65536);
	(void)live_exited(s);
	assert_int_equal(s->bytes[WIRE_OUT], 200000);
	assert_int_equal(s->bytes[WIRE_ERR], 100000);
	live_finish(&live);
}

/* 2 GiB that nobody takes: it waits in the program, not in us. */
static void does_not_grow_when_nobody_reads(void **state)
{
	unsigned long agent, server;
	struct live_stream *s;
	struct live live;

	(void)state;
	live_begin(&live);
	s = live_start_run(&live, LIVE_RUN(.holds_back = true, .counts_only = true), "sh", "-c",
	                   "head -c 2147483648 /dev/zero & head -c 2147483648 /dev/zero >&2; wait");
	live_until_bytes(s, WIRE_OUT, 65536);
	live_until_bytes(s, WIRE_ERR, 65536);
	(void)live_latency(&live);
	agent = live_status(live.agent, "VmRSS:");
	server = live_status(getpid(), "VmRSS:");
	for (int i = 0; i < 20; i++) {
		live_run_ms(&live, 25);
		assert_true(live_latency(&live) < 2000);
	}
	assert_int_equal(s->bytes[WIRE_OUT] + s->bytes[WIRE_ERR], 2 * 65536);
	assert_true(live_status(live.agent, "VmRSS:") <= agent + 256);
	assert_true(live_status(getpid(), "VmRSS:") <= server + 8192);
	channel_close(s->stream);
	LIVE_CHECK_FAILED(s, WIRE_FAILED_CLOSED, "closed");
	live_wait_no_descendants(&live, LIVE_MS);
	live_finish(&live);
}

/* The same, read by somebody: nothing piles up on the way. */
static void does_not_grow_when_much_is_read(void **state)
{
	struct live_stream *s;
	unsigned long agent;
	struct live live;

	(void)state;
	live_begin(&live);
	(void)live_sh(&live, "head -c 1000000 /dev/zero");
	agent = live_status(live.agent, "VmRSS:");
	s = live_start_run(&live, LIVE_RUN(.counts_only = true), "head", "-c", "268435456",
	                   "/dev/zero");
	(void)live_wait_ms(s, 60000);
	assert_int_equal(live_exited(s)->bytes[WIRE_OUT], 268435456);
	assert_true(live_status(live.agent, "VmRSS:") <= agent + 512);
	live_finish(&live);
}

int main(void)
{
	const struct CMUnitTest all[] = {
		TEST(carries_8_mib_through_cat),
		TEST(does_not_wait_for_a_program_that_never_reads),
		TEST(takes_all_input_of_a_program_that_closed_its_stdin),
		TEST(gives_an_end_of_input),
		TEST(keeps_output_and_errors_apart_and_in_order),
		TEST(lets_a_program_close_its_output_and_go_on),
		TEST(carries_a_fourth_descriptor_both_ways),
		TEST(ends_a_run_whose_control_channel_is_full),
		TEST(delivers_what_waited_for_credit),
		TEST(does_not_grow_when_nobody_reads),
		TEST(does_not_grow_when_much_is_read),
	};

	return LIVE_RUN_TWICE("bytes", all);
}
