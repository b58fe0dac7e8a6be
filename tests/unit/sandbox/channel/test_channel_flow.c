/* test_channel_flow.c - bytes both ways: credit, turns, floods. */
#include <dirent.h>

#include "unit/sandbox/channel/fake_agent.h"

static struct rig_stream *read_much(struct rig *rig)
{
	struct wire_message read = {
		.type = WIRE_READ,
		.read = { .count = UINT64_MAX, .max = UINT64_MAX, .path = VIEW("f") },
	};

	return rig_open_stream(rig, &read);
}

/* --- coming in --- */

static void hands_on_what_a_program_says(void **state)
{
	struct rig rig;

	(void)state;
	rig_greeted(&rig);
	(void)rig_exec(&rig);
	agent_started(&rig, 1);
	agent_data(&rig, 1, WIRE_OUT, VIEW("out"));
	agent_data(&rig, 1, WIRE_ERR, VIEW("err"));
	AGENT_SAY(&rig, 1, WIRE_OUT, .type = WIRE_END);
	AGENT_SAY(&rig, 1, WIRE_ERR, .type = WIRE_END);
	AGENT_SAY(&rig, 1, 0, .type = WIRE_EXITED, .exited.code = 3);
	agent_done(&rig, 1);
	rig_check(&rig, "s1:STARTED s1:bytes1(out) s1:bytes2(err) s1:ended1 s1:ended2 s1:EXITED "
	                "s1:done");
	rig_close(&rig);
}

static void puts_frames_together_from_single_bytes(void **state)
{
	AUTO_BUF struct buf all;
	struct rig rig;
	struct error err;

	(void)state;
	buf_init(&all, WIRE_FRAME_MAX);
	rig_greeted(&rig);
	(void)rig_exec(&rig);
	CHECK_OK(wire_encode(&(struct wire_message){ .type = WIRE_STARTED, .started.pid = 1 }, 1, 0,
	                     &all, &err),
	         err);
	CHECK_OK(
	        wire_encode(&(struct wire_message){ .type = WIRE_DATA, .data.bytes = VIEW("slow") },
	                    1, WIRE_OUT, &all, &err),
	        err);
	CHECK_OK(wire_encode(&(struct wire_message){ .type = WIRE_END }, 1, WIRE_OUT, &all, &err),
	         err);
	for (size_t i = 0; i < all.len; i++) {
		assert_int_equal(agent_raw(&rig, (struct view){ all.ptr + i, 1 }), 1);
		rig_turn(&rig);
	}
	rig_check(&rig, "s1:STARTED s1:bytes1(slow) s1:ended1");
	rig_close(&rig);
}

/* Frames of every size, so that the ends of chunks fall everywhere; 6 MiB in all. */
static void gets_every_byte_right_at_any_frame_size(void **state)
{
	static char pattern[WIRE_WINDOW + 256];
	AUTO_BUF struct buf out;
	struct rig_stream *s;
	struct rig rig;
	size_t sent = 0, checked = 0;
	struct error err;

	(void)state;
	buf_init(&out, WIRE_FRAME_MAX);
	for (size_t i = 0; i < sizeof pattern; i++)
		pattern[i] = (char)(i % 251);
	rig_greeted(&rig);
	s = read_much(&rig);
	s->keeps = true;
	for (size_t next = 1; sent < 6 * 1024 * 1024; next = next * 7 % 65521) {
		size_t credit = s->stream->wire.credit[WIRE_OUT];
		size_t size = next < credit ? next : credit;
		struct view bytes = { pattern + sent % 251, size };
		struct wire_message data = { .type = WIRE_DATA, .data.bytes = bytes };
		struct wire_frame frame;

		buf_truncate(&out, 0);
		CHECK_OK(wire_encode(&data, 1, WIRE_OUT, &out, &err), err);
		for (size_t done = 0; done < out.len;) {
			struct view rest = { out.ptr + done, out.len - done };

			done += agent_raw(&rig, rest);
			rig_turn(&rig);
		}
		sent += size;
		assert_int_equal(s->received, sent);
		for (size_t i = 0; i < s->got[WIRE_OUT].len; i++, checked++)
			if (s->got[WIRE_OUT].ptr[i] != (char)(checked % 251))
				fail_msg("byte %zu is wrong", checked);
		channel_consumed(s->stream, WIRE_OUT, s->got[WIRE_OUT].len);
		buf_truncate(&s->got[WIRE_OUT], 0);
		while (agent_hear(&rig, &frame))
			continue;
	}
	assert_int_equal(checked, sent);
	assert_int_equal(rig.failures, 0);
	rig_close(&rig);
}

static void gives_credit_back_in_large_pieces(void **state)
{
	static const char zeros[40 * 1024];
	struct rig_stream *s;
	struct rig rig;

	(void)state;
	rig_greeted(&rig);
	s = read_much(&rig);
	s->keeps = s->consumes = true;
	(void)agent_expect(&rig, WIRE_READ, 1, 0);
	for (int i = 0; i < 31; i++)
		agent_data(&rig, 1, WIRE_OUT, (struct view){ zeros, 1024 });
	agent_expect_nothing(&rig); /* 31 KiB owed */
	agent_data(&rig, 1, WIRE_OUT, (struct view){ zeros, 1024 });
	assert_int_equal(agent_expect(&rig, WIRE_CREDIT, 1, 1).credit.bytes, 32 * 1024);
	s->consumes = false;
	agent_data(&rig, 1, WIRE_OUT, (struct view){ zeros, sizeof zeros });
	agent_expect_nothing(&rig);
	channel_consumed(s->stream, WIRE_OUT, 1); /* 24 KiB of credit left: at once */
	assert_int_equal(agent_expect(&rig, WIRE_CREDIT, 1, 1).credit.bytes, 1);
	rig_close(&rig);
}

static void lets_more_be_on_its_way_when_widened(void **state)
{
	struct rig_stream *s;
	struct rig rig;

	(void)state;
	rig_greeted(&rig);
	s = read_much(&rig);
	(void)agent_expect(&rig, WIRE_READ, 1, 0);
	channel_grow_window(s->stream, WIRE_OUT, 1024 * 1024);
	assert_int_equal(agent_expect(&rig, WIRE_CREDIT, 1, 1).credit.bytes, 1024 * 1024);
	channel_grow_window(s->stream, WIRE_OUT, SIZE_MAX); /* never past the maximum */
	assert_int_equal(agent_expect(&rig, WIRE_CREDIT, 1, 1).credit.bytes,
	                 WIRE_CREDIT_MAX - 1024 * 1024 - WIRE_WINDOW);
	channel_grow_window(s->stream, WIRE_OUT, 1);
	channel_grow_window(s->stream, WIRE_IN, 1); /* not ours to give */
	channel_consumed(s->stream, WIRE_OUT, 0);
	agent_expect_nothing(&rig);
	rig_close(&rig);
}

static void gives_up_an_agent_that_sends_more_than_its_credit(void **state)
{
	static const char zeros[32 * 1024];
	struct rig_stream *s;
	struct rig rig;

	(void)state;
	rig_greeted(&rig);
	s = read_much(&rig);
	s->keeps = true;
	for (int i = 0; i < 2; i++)
		agent_data(&rig, 1, WIRE_OUT, (struct view){ zeros, sizeof zeros });
	rig_check(&rig, "");
	agent_data(&rig, 1, WIRE_OUT, VIEW("x"));
	rig_check(
	        &rig,
	        "s1:failed5(the agent broke the protocol: DATA on stream 1: 1 bytes with credit "
	        "for 0) failed(the agent broke the protocol: DATA on stream 1: 1 bytes with credit "
	        "for 0)");
	assert_int_equal(s->received, WIRE_WINDOW);
	rig_close(&rig);
}

static unsigned count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned n = 0;

	assert_non_null(dir);
	while (readdir(dir) != NULL)
		n++;
	(void)closedir(dir);
	return n;
}

static void takes_no_descriptors_the_agent_sends_along(void **state)
{
	static char byte = '\x10';
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr header;
	} control = { .header = { CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS } };
	struct iovec iov = { &byte, 1 };
	struct msghdr message = { .msg_iov = &iov,
		                  .msg_iovlen = 1,
		                  .msg_control = &control,
		                  .msg_controllen = sizeof control };
	unsigned before;
	struct rig rig;

	(void)state;
	rig_greeted(&rig);
	before = count_fds();
	for (int i = 0; i < 7; i++) {
		memcpy(CMSG_DATA(&control.header), &rig.fd, sizeof rig.fd);
		assert_int_equal(sendmsg(rig.fd, &message, MSG_NOSIGNAL), 1);
		rig_turn(&rig);
		assert_int_equal(count_fds(), before);
	}
	assert_int_equal(rig.failures, 0);
	rig_close(&rig);
}

static void takes_an_urgent_byte_for_an_ordinary_one(void **state)
{
	struct rig rig;

	(void)state;
	rig_greeted(&rig);
	(void)read_much(&rig);
	assert_int_equal(agent_raw(&rig, VIEW("\x10\1\0\3\0\0\0\1ab")), 10);
	if (send(rig.fd, "c", 1, MSG_OOB | MSG_NOSIGNAL) < 0) { /* Linux before 5.15 */
		assert_int_equal(errno, EOPNOTSUPP);
		assert_int_equal(agent_raw(&rig, VIEW("c")), 1);
	}
	agent_done(&rig, 1);
	rig_check(&rig, "s1:bytes1(abc) s1:done");
	rig_close(&rig);
}

/* --- going out --- */

static void sends_no_more_than_the_agent_allows(void **state)
{
	struct rig_stream *s;
	struct rig rig;
	struct wire_frame frame;
	size_t got = 0;

	(void)state;
	rig_greeted(&rig);
	s = rig_write(&rig);
	(void)agent_expect(&rig, WIRE_WRITE, 1, 0);
	s->to_send = 100 * 1024;
	rig_on_writable(s);
	assert_int_equal(s->sent, WIRE_WINDOW);
	while (agent_hear(&rig, &frame))
		got += frame.payload.len;
	assert_int_equal(got, WIRE_WINDOW);
	assert_int_equal(channel_send(s->stream, WIRE_IN, VIEW("x")), 0);
	AGENT_SAY(&rig, 1, WIRE_IN, .type = WIRE_CREDIT, .credit.bytes = 1000);
	(void)agent_expect(&rig, WIRE_DATA, 1, WIRE_IN);
	assert_int_equal(s->sent, WIRE_WINDOW + 1000);
	AGENT_SAY(&rig, 1, WIRE_IN, .type = WIRE_CREDIT, .credit.bytes = 1000 * 1000);
	(void)agent_expect(&rig, WIRE_DATA, 1, WIRE_IN);
	assert_int_equal(s->sent, 100 * 1024);
	channel_send_end(s->stream, WIRE_IN);
	(void)agent_expect(&rig, WIRE_END, 1, WIRE_IN);
	channel_send_end(s->stream, WIRE_IN); /* has no effect any more */
	assert_int_equal(channel_send(s->stream, WIRE_IN, VIEW("x")), 0);
	assert_int_equal(channel_send(s->stream, WIRE_OUT, VIEW("x")), 0);
	assert_int_equal(channel_send(s->stream, 77, VIEW("x")), 0);
	agent_expect_nothing(&rig);
	rig_close(&rig);
}

enum { WRITERS = 8 };

/* The agent lets all of them send for ever, but reads little at a time. */
static void serves_writers_in_turn(void **state)
{
	static char chunk[128 * 1024];
	struct rig_stream *writers[WRITERS];
	size_t most = 0, least = SIZE_MAX, total = 0;
	struct rig rig;

	(void)state;
	rig_greeted(&rig);
	for (uint32_t i = 0; i < WRITERS; i++) {
		writers[i] = rig_write(&rig);
		writers[i]->to_send = SIZE_MAX / 2;
		AGENT_SAY(&rig, 2 * i + 1, WIRE_IN, .type = WIRE_CREDIT,
		          .credit.bytes = WIRE_CREDIT_MAX - WIRE_WINDOW);
	}
	rig_turn(&rig);
	for (int i = 0; i < WRITERS; i++)
		rig_on_writable(writers[i]);
	writers[0]->sent = 0; /* it was alone, and filled the queue */
	for (int round = 0; round < 400; round++) {
		(void)recv(rig.fd, chunk, sizeof chunk, MSG_DONTWAIT);
		rig_turn(&rig);
		assert_true(output_pending(rig.channel->output) <=
		            CHANNEL_QUEUE_MAX + 16 * WIRE_HEADER + WRITERS * 100);
	}
	for (int i = 0; i < WRITERS; i++) {
		total += writers[i]->sent;
		most = writers[i]->sent > most ? writers[i]->sent : most;
		least = writers[i]->sent < least ? writers[i]->sent : least;
	}
	assert_true(total > 20 * 1024 * 1024);
	if (most - least > 256 * 1024)
		fail_msg("between %zu and %zu bytes each", least, most);
	rig_close(&rig);
}

static void lets_a_small_writer_in_between_large_ones(void **state)
{
	static char chunk[64 * 1024];
	struct rig_stream *large, *small;
	int rounds = 0;
	struct rig rig;

	(void)state;
	rig_greeted(&rig);
	large = rig_write(&rig);
	small = rig_write(&rig);
	AGENT_SAY(&rig, 1, WIRE_IN, .type = WIRE_CREDIT,
	          .credit.bytes = WIRE_CREDIT_MAX - WIRE_WINDOW);
	rig_turn(&rig);
	large->to_send = SIZE_MAX / 2;
	small->to_send = 100;
	rig_on_writable(large);
	rig_on_writable(small);
	assert_int_equal(small->sent, 0); /* the queue is full */
	while (small->sent == 0 && rounds++ < 100) {
		(void)recv(rig.fd, chunk, sizeof chunk, MSG_DONTWAIT);
		rig_turn(&rig);
	}
	assert_int_equal(small->sent, 100);
	assert_true(large->sent < 3 * 1024 * 1024);
	rig_close(&rig);
}

/* There is room again, but somebody has waited for it longer. */
static void lets_nobody_in_before_those_who_wait(void **state)
{
	static char chunk[512 * 1024];
	struct rig_stream *first, *second, *third;
	struct rig rig;

	(void)state;
	rig_greeted(&rig);
	first = rig_write(&rig);
	second = rig_write(&rig);
	third = rig_write(&rig);
	AGENT_SAY(&rig, 1, WIRE_IN, .type = WIRE_CREDIT,
	          .credit.bytes = WIRE_CREDIT_MAX - WIRE_WINDOW);
	rig_turn(&rig);
	first->to_send = SIZE_MAX / 2;
	rig_on_writable(first);
	while (recv(rig.fd, chunk, sizeof chunk, MSG_DONTWAIT) > 0)
		continue;
	channel_close(third->stream); /* writes what it can of the queue */
	assert_true(output_pending(rig.channel->output) < CHANNEL_QUEUE_MAX - 100000);
	second->to_send = 100;
	rig_on_writable(second);
	assert_int_equal(second->sent, 0);
	while (recv(rig.fd, chunk, sizeof chunk, MSG_DONTWAIT) > 0)
		rig_turn(&rig);
	assert_int_equal(second->sent, 100);
	assert_int_equal(second->turns, 2);
	rig_close(&rig);
}

static void has_requests_wait_for_an_agent_that_does_not_read(void **state)
{
	AUTO_BUF struct buf args;
	AUTO_FREE char *long_text = malloc(60000);
	struct wire_message exec = exec_message(&args);
	struct channel_stream *stream;
	struct error err;
	struct rig rig;
	int opened = 0;

	(void)state;
	assert_non_null(long_text);
	memset(long_text, 'x', 60000);
	CHECK_OK(wire_texts_add(&exec.exec.argv, &args, (struct view){ long_text, 60000 }, &err),
	         err);
	rig_greeted(&rig);
	while (opened < 100 &&
	       channel_open(rig.channel, &exec, &channel_nobody, NULL, &stream, &err) == 0)
		opened++;
	assert_in_range(opened, 20, 40);
	assert_int_equal(err.kind, ERR_LIMIT);
	assert_non_null(strstr(err.msg, "the agent is slow: "));
	/* What ends a program gets through all the same. */
	CHECK_OK(channel_send_message(
	                 stream,
	                 &(struct wire_message){ .type = WIRE_DEADLINE, .deadline = { 100, 100 } },
	                 &err),
	         err);
	rig_turn(&rig);
	assert_int_equal(rig.failures, 0);
	rig_close(&rig);
}

/* Signals and deadlines are never refused, so only the end of the channel bounds what waits. */
static void agent_that_does_not_read_is_given_up(void **state)
{
	const struct wire_message signal = { .type = WIRE_SIGNAL, .signal.number = 1 };
	struct rig_stream *s;
	struct error err;
	struct rig rig;

	(void)state;
	rig_greeted(&rig);
	s = rig_exec(&rig);
	for (int i = 0; i < 400000 && channel_send_message(s->stream, &signal, &err) == 0; i++)
		assert_true(output_pending(rig.channel->output) <= CHANNEL_BACKLOG_MAX);
	rig_turn(&rig);
	assert_int_equal(rig.failures, 1);
	assert_non_null(strstr(buf_text(&rig.log),
	                       "failed(the agent does not read: more than 2097152 "
	                       "bytes wait for it)"));
	rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest all[] = {
		TEST(hands_on_what_a_program_says),
		TEST(puts_frames_together_from_single_bytes),
		TEST(gets_every_byte_right_at_any_frame_size),
		TEST(gives_credit_back_in_large_pieces),
		TEST(lets_more_be_on_its_way_when_widened),
		TEST(gives_up_an_agent_that_sends_more_than_its_credit),
		TEST(takes_no_descriptors_the_agent_sends_along),
		TEST(takes_an_urgent_byte_for_an_ordinary_one),
		TEST(sends_no_more_than_the_agent_allows),
		TEST(serves_writers_in_turn),
		TEST(lets_a_small_writer_in_between_large_ones),
		TEST(lets_nobody_in_before_those_who_wait),
		TEST(has_requests_wait_for_an_agent_that_does_not_read),
		TEST(agent_that_does_not_read_is_given_up),
	};

	return RUN_TESTS("channel flow", all);
}
