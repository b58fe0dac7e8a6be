/* test_live_kept.c - programs in the background: what is kept of their output, read by offset. */
#include "unit/agent/live/live_modes.h"

static void check_tail(struct live_stream *s, uint64_t offset, uint32_t max, uint64_t want_offset,
                       const char *want, uint64_t want_total)
{
	live_tail(s, WIRE_OUT, offset, max, 0);
	assert_string_equal(buf_text(&s->tail), want);
	assert_int_equal(s->tail_is.offset, want_offset);
	assert_int_equal(s->tail_is.total, want_total);
	assert_int_equal(s->tail_is.channel, WIRE_OUT);
}

static struct live_stream *kept_exited(struct live_stream *s)
{
	LIVE_UNTIL(s->live, s->has_exited || s->is_over, LIVE_MS);
	assert_false(s->is_over);
	return s;
}

static void close_kept(struct live_stream *s)
{
	channel_close(s->stream);
	(void)live_wait(s);
	if (s->is_failed)
		fail_msg("failed (%d): %s", (int)s->failure, s->error.msg);
}

static void keeps_all_of_what_fits(void **state)
{
	struct live_stream *s;
	struct live live;

	(void)state;
	live_begin(&live);
	s = kept_exited(live_start_run(&live, LIVE_RUN(.ring = 64), "sh", "-c",
	                               "printf 0123456789; echo err >&2; exit 3"));
	assert_int_equal(s->exited.code, 3);
	LIVE_UNTIL(&live, s->ended == (1u << WIRE_OUT | 1u << WIRE_ERR), LIVE_MS);
	check_tail(s, 0, 100, 0, "0123456789", 10);
	assert_int_equal(s->tail_is.flags, WIRE_TAIL_ENDED);
	check_tail(s, 3, 4, 3, "3456", 10);
	check_tail(s, 9, 100, 9, "9", 10);
	check_tail(s, 10, 100, 10, "", 10);
	check_tail(s, 999, 100, 10, "", 10);
	check_tail(s, 2, 0, 2, "", 10);
	live_tail(s, WIRE_ERR, 0, 100, WIRE_TAIL_WAIT);
	assert_string_equal(buf_text(&s->tail), "err\n");
	assert_int_equal(s->bytes[WIRE_OUT] + s->bytes[WIRE_ERR], 0);
	close_kept(s);
	live_finish(&live);
}

static void keeps_the_last_of_what_does_not_fit(void **state)
{
	struct live_stream *s;
	struct live live;

	(void)state;
	live_begin(&live);
	s = kept_exited(live_start_run(&live, LIVE_RUN(.ring = 7), "sh", "-c",
	                               "printf 0123456789; sleep 0.1; printf abcde"));
	LIVE_UNTIL(&live, s->ended == (1u << WIRE_OUT | 1u << WIRE_ERR), LIVE_MS);
	check_tail(s, 0, 100, 8, "89abcde", 15);
	check_tail(s, 8, 100, 8, "89abcde", 15);
	check_tail(s, 11, 2, 11, "bc", 15);
	check_tail(s, 15, 100, 15, "", 15);
	close_kept(s);
	live_finish(&live);
}

/* Bytes are what they were, wherever the ring has gone round. */
static void keeps_the_right_bytes_of_much(void **state)
{
	enum { RING = 100000, TOTAL = 1 << 20 };
	struct live_stream *s;
	struct live live;
	uint64_t at;

	(void)state;
	live_begin(&live);
	s = kept_exited(live_start_run(&live, LIVE_RUN(.ring = RING), "sh", "-c",
	                               "seq 0 999999 | head -c 1048576"));
	LIVE_UNTIL(&live, s->ended & 1u << WIRE_OUT, LIVE_MS);
	/* seq's lines: 10 of 2 bytes, 90 of 3, 900 of 4, 9000 of 5, 90000 of 6, then 7 */
	for (at = TOTAL - RING; at < TOTAL; at += s->tail.len) {
		live_tail(s, WIRE_OUT, at, 32768, 0);
		assert_int_equal(s->tail_is.offset, at);
		assert_int_equal(s->tail_is.total, TOTAL);
		assert_true(s->tail.len != 0);
		for (size_t i = 0; i < s->tail.len; i++) {
			uint64_t place = at + i - 588890;
			char line[16];

			(void)snprintf(line, sizeof line, "%06d\n", (int)(100000 + place / 7));
			if (s->tail.ptr[i] != line[place % 7])
				fail_msg("byte %d of the output is another", (int)(at + i));
		}
	}
	assert_int_equal(at, TOTAL);
	close_kept(s);
	live_finish(&live);
}

static void ask(struct live_stream *s, uint8_t channel, uint64_t offset, uint8_t flags)
{
	buf_truncate(&s->tail, 0);
	live_say(s, &(struct wire_message){ .type = WIRE_TAIL,
	                                    .tail = { .channel = channel,
	                                              .flags = flags,
	                                              .offset = offset,
	                                              .max = 100 } });
}

static void answers_when_there_is_something(void **state)
{
	struct live_stream *s;
	struct live live;

	(void)state;
	live_begin(&live);
	s = live_start_run(
	        &live,
	        LIVE_RUN(.ring = 64, .flags = WIRE_EXEC_STDIN, .keeps_open = true, .input = "one"),
	        "cat");
	live_tail(s, WIRE_OUT, 0, 100, WIRE_TAIL_WAIT); /* asked before it has started */
	assert_string_equal(buf_text(&s->tail), "one");
	assert_int_equal(s->tail_is.flags, 0);
	ask(s, WIRE_OUT, 3, WIRE_TAIL_WAIT);
	live_run_ms(&live, 200);
	assert_int_equal(s->tails, 1);
	live_feed_text(s, "two");
	LIVE_UNTIL(&live, s->tails == 2, LIVE_MS);
	assert_string_equal(buf_text(&s->tail), "two");
	/* The end is something too. */
	ask(s, WIRE_OUT, 6, WIRE_TAIL_WAIT);
	live_run_ms(&live, 100);
	assert_int_equal(s->tails, 2);
	live_end_input(s);
	LIVE_UNTIL(&live, s->tails == 3, LIVE_MS);
	assert_int_equal(s->tail_is.flags, WIRE_TAIL_ENDED);
	assert_int_equal(s->tail_is.total, 6);
	(void)kept_exited(s);
	close_kept(s);
	live_finish(&live);
}

/* One question waits at a time: a second one sets the first free. */
static void answers_a_question_that_is_replaced(void **state)
{
	struct live_stream *s;
	struct live live;

	(void)state;
	live_begin(&live);
	s = live_start_run(
	        &live, LIVE_RUN(.ring = 64, .flags = WIRE_EXEC_STDIN, .keeps_open = true), "cat");
	(void)live_started(s);
	ask(s, WIRE_OUT, 0, WIRE_TAIL_WAIT);
	ask(s, WIRE_ERR, 0, WIRE_TAIL_WAIT);
	live_run_ms(&live, 100);
	assert_int_equal(s->tails, 0);
	ask(s, WIRE_OUT, 0, WIRE_TAIL_WAIT);
	LIVE_UNTIL(&live, s->tails == 1, LIVE_MS);
	assert_int_equal(s->tail_is.channel, WIRE_OUT);
	live_end_input(s);
	LIVE_UNTIL(&live, s->tails == 3, LIVE_MS);
	close_kept(kept_exited(s));
	live_finish(&live);
}

/* No byte is lost, none comes twice: what was sent is where the ring begins. */
static void keeps_from_the_middle_of_the_flow(void **state)
{
	uint64_t sent, total;
	struct live_stream *s;
	struct live live;

	(void)state;
	live_begin(&live);
	for (int i = 0; i < 10; i++) {
		s = live_start_run(&live, LIVE_RUN(0), "sh", "-c", "seq 100000 199999");
		live_until_bytes(s, WIRE_OUT, (uint64_t)i * 50000 + 1);
		live_say(s, &(struct wire_message){ .type = WIRE_KEEP, .keep.ring = 1 << 20 });
		(void)kept_exited(s);
		LIVE_UNTIL(&live, s->ended & 1u << WIRE_OUT, LIVE_MS);
		sent = total = s->bytes[WIRE_OUT];
		while (total < 700000) {
			live_tail(s, WIRE_OUT, total, 32768, 0);
			assert_int_equal(s->tail_is.offset, total);
			assert_int_equal(s->tail_is.total, 700000);
			assert_true(s->tail.len != 0);
			live_keep(&s->got[WIRE_OUT], buf_view(&s->tail));
			total += s->tail.len;
		}
		assert_int_equal(total, 700000);
		for (int line = 0; line < 100000; line++)
			if (strtol(s->got[WIRE_OUT].ptr + line * 7, NULL, 10) != 100000 + line)
				fail_msg("line %d is another", line);
		live_tail(s, WIRE_OUT, 0, 10, 0);
		assert_int_equal(s->tail_is.offset, sent); /* what was sent is not kept */
		close_kept(s);
	}
	live_finish(&live);
}

static void refuses_to_keep_too_much(void **state)
{
	static const char why[] = "all programs together may keep 32 MiB of output";
	struct live_stream *s[3];
	struct live live;

	(void)state;
	live_begin(&live);
	for (int i = 0; i < 2; i++)
		s[i] = live_start_sh(&live, LIVE_RUN(.ring = WIRE_RING_MAX), "sleep 100");
	s[2] = live_start_run(&live, LIVE_RUN(.ring = 1), "sleep", "100");
	LIVE_CHECK_FAILED(s[2], WIRE_FAILED_LIMIT, why);
	s[2] = live_start_sh(&live, LIVE_RUN(0), "sleep 100");
	live_say(s[2], &(struct wire_message){ .type = WIRE_KEEP, .keep.ring = 1 });
	LIVE_CHECK_FAILED(s[2], WIRE_FAILED_LIMIT, why);
	/* What is given up can be had again. */
	channel_close(s[0]->stream);
	LIVE_CHECK_FAILED(s[0], WIRE_FAILED_CLOSED, "closed");
	s[0] = live_start_sh(&live, LIVE_RUN(.ring = WIRE_RING_MAX), "sleep 100");
	assert_false(s[0]->is_over);
	live_finish(&live);
}

/* Output that nobody asks for costs the ring and nothing else. */
static void goes_on_when_nobody_asks(void **state)
{
	struct live_stream *s;
	unsigned long before;
	struct live live;

	(void)state;
	live_begin(&live);
	(void)live_sh(&live, "true");
	before = live_status(live.agent, "VmRSS:");
	s = live_start_sh(&live, LIVE_RUN(.ring = 65536), "yes");
	for (int i = 0; i < 10; i++) {
		live_run_ms(&live, 30);
		assert_true(live_latency(&live) < 2000);
	}
	live_tail(s, WIRE_OUT, 0, 32768, 0);
	assert_true(s->tail_is.total > 1000000);
	assert_int_equal(s->tail_is.offset, s->tail_is.total - 65536);
	assert_int_equal(s->tail.len, 32768);
	assert_true(live_status(live.agent, "VmRSS:") <= before + 512);
	live_signal(s, SIGTERM, WIRE_TARGET_TREE);
	close_kept(kept_exited(s));
	live_finish(&live);
}

static void keeps_what_a_terminal_says(void **state)
{
	struct live_stream *s;
	struct live live;

	(void)state;
	live_begin(&live);
	s = kept_exited(
	        live_start_run(&live, LIVE_RUN(.ring = 64, .flags = WIRE_EXEC_PTY), "echo", "hi"));
	LIVE_UNTIL(&live, s->ended & 1u << WIRE_OUT, LIVE_MS);
	check_tail(s, 0, 100, 0, "hi\r\n", 4);
	close_kept(s);
	live_finish(&live);
}

int main(void)
{
	const struct CMUnitTest all[] = {
		TEST(keeps_all_of_what_fits),
		TEST(keeps_the_last_of_what_does_not_fit),
		TEST(keeps_the_right_bytes_of_much),
		TEST(answers_when_there_is_something),
		TEST(answers_a_question_that_is_replaced),
		TEST(keeps_from_the_middle_of_the_flow),
		TEST(refuses_to_keep_too_much),
		TEST(goes_on_when_nobody_asks),
		TEST(keeps_what_a_terminal_says),
	};

	return LIVE_RUN_TWICE("what is kept", all);
}
