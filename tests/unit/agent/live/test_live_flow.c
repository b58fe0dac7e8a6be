/* test_live_flow.c - stdin, stdout, stderr and descriptor 3 of a program: complete, in order, and
 * bounded in memory. */
#include "unit/agent/live/live_modes.h"

static void cat_returns_8_mib_unchanged(void **state)
{
	static char pattern[65521];
	struct live_stream *s;
	struct live live;

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

static void program_that_never_reads_delays_no_other_stream(void **state)
{
	struct live_stream *s;
	struct live live;

	live_begin(&live);
	s = live_start_run(&live, LIVE_RUN(.flags = WIRE_EXEC_STDIN, .keeps_open = true), "sh",
	                   "-c", "echo up; sleep 0.3; exit 4");
	live_feed(s, VIEW("0123456789abcdef"), 4 * 1024 * 1024);
	live_until_bytes(s, WIRE_OUT, 3);
	live_check_answers(&live);
	assert_int_equal(live_exited(s)->exited.code, 4);
	assert_true(s->sent < 1024 * 1024);
	live_finish(&live);
}

/* Input for a closed stdin is discarded and credited, so the sender does not hang. */
static void input_for_a_closed_stdin_is_discarded(void **state)
{
	struct live_stream *s;
	struct live live;

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

static void program_reads_the_end_of_input(void **state)
{
	struct live_stream *s;
	struct live live;

	live_begin(&live);
	CHECK_GOT(live_exec(&live, "cat"), WIRE_OUT, ""); /* no stdin: an empty one */
	s = live_start_run(&live, LIVE_RUN(.flags = WIRE_EXEC_STDIN), "sh", "-c", "cat; echo end");
	CHECK_GOT(live_exited(s), WIRE_OUT, "end\n");
	s = live_start_run(&live, LIVE_RUN(.flags = WIRE_EXEC_STDIN, .input = "one\ntwo\nthree"),
	                   "sh", "-c", "read a; echo \"$a\"; cat");
	CHECK_GOT(live_exited(s), WIRE_OUT, "one\ntwo\nthree");
	live_finish(&live);
}

static void stdout_and_stderr_are_separate_and_in_order(void **state)
{
	struct live_stream *s;
	struct live live;

	live_begin(&live);
	s = live_sh(&live, "for i in 1 2 3 4 5; do echo o$i; echo e$i >&2; done");
	CHECK_GOT(s, WIRE_OUT, "o1\no2\no3\no4\no5\n");
	CHECK_GOT(s, WIRE_ERR, "e1\ne2\ne3\ne4\ne5\n");
	live_finish(&live);
}

static void program_may_close_its_output_and_go_on(void **state)
{
	static const char *const closings[] = { "exec >&-", "exec 2>&-", "exec >&- 2>&-",
		                                "exec <&- >&- 2>&-" };
	struct live_stream *s;
	struct live live;
	char script[128];

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

static void descriptor_3_carries_bytes_both_ways(void **state)
{
	struct live_stream *s;
	struct live live;

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

/* Descriptor 3 is the last one open, and there is no credit for its channel. */
static void run_with_a_full_control_channel_ends(void **state)
{
	struct live_stream *s;
	struct live live;

	live_begin(&live);
	s = live_start_run(&live, LIVE_RUN(.flags = WIRE_EXEC_CONTROL, .holds_back = true), "sh",
	                   "-c", "exec >&- 2>&-; head -c 65536 /dev/zero >&3; sleep 0.2");
	assert_int_equal(live_exited(s)->exited.code, 0);
	assert_int_equal(s->bytes[WIRE_CONTROL_OUT], 65536);
	live_finish(&live);
}

/* Output that is in a pipe when the program exits is delivered, even if it is read much later. */
static void output_that_waited_for_credit_is_delivered(void **state)
{
	struct live_stream *s;
	struct live live;

	live_begin(&live);
	s = live_start_run(&live, LIVE_RUN(.holds_back = true, .counts_only = true), "sh", "-c",
	                   "head -c 200000 /dev/zero; head -c 100000 /dev/zero >&2");
	LIVE_UNTIL(&live, s->has_exited && s->bytes[WIRE_OUT] == 65536, LIVE_MS);
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

/* 2 GiB of output without a reader: the program blocks, neither end buffers it. */
static void agent_does_not_grow_without_a_reader(void **state)
{
	unsigned long agent, server;
	struct live_stream *s;
	struct live live;

	live_begin(&live);
	s = live_start_run(&live, LIVE_RUN(.holds_back = true, .counts_only = true), "sh", "-c",
	                   "head -c 2147483648 /dev/zero & head -c 2147483648 /dev/zero >&2; wait");
	live_until_bytes(s, WIRE_OUT, 65536);
	live_until_bytes(s, WIRE_ERR, 65536);
	live_check_answers(&live);
	agent = live_status(live.agent, "VmRSS:");
	server = live_status(getpid(), "VmRSS:");
	for (int i = 0; i < 20; i++) {
		live_run_ms(&live, 25);
		live_check_answers(&live);
	}
	assert_int_equal(s->bytes[WIRE_OUT] + s->bytes[WIRE_ERR], 2 * 65536);
	assert_true(live_status(live.agent, "VmRSS:") <= agent + 256);
	assert_true(live_status(getpid(), "VmRSS:") <= server + 8192);
	channel_close(s->stream);
	LIVE_CHECK_FAILED(s, WIRE_FAILED_CLOSED, "closed");
	live_wait_no_descendants(&live, LIVE_MS);
	live_finish(&live);
}

/* Much output that the server reads does not stay in the agent's memory either. */
static void agent_does_not_grow_with_much_output(void **state)
{
	struct live_stream *s;
	unsigned long agent;
	struct live live;

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
		TEST(cat_returns_8_mib_unchanged),
		TEST(program_that_never_reads_delays_no_other_stream),
		TEST(input_for_a_closed_stdin_is_discarded),
		TEST(program_reads_the_end_of_input),
		TEST(stdout_and_stderr_are_separate_and_in_order),
		TEST(program_may_close_its_output_and_go_on),
		TEST(descriptor_3_carries_bytes_both_ways),
		TEST(run_with_a_full_control_channel_ends),
		TEST(output_that_waited_for_credit_is_delivered),
		TEST(agent_does_not_grow_without_a_reader),
		TEST(agent_does_not_grow_with_much_output),
	};

	return LIVE_RUN_TWICE("bytes", all);
}
