/* Bytes in both directions: credit, turns, floods. */
#include <dirent.h>

#include "unit/sandbox/channel/fake_agent.h"

static struct channel_rig_stream *read_much(struct channel_rig *rig)
{
	struct wire_message read = {
		.type = WIRE_READ,
		.read = { .count = UINT64_MAX, .max = UINT64_MAX, .path = VIEW("f") },
	};

	return channel_rig_open_stream(rig, &read);
}

/* --- receiving --- */

static void output_of_a_program_is_delivered(void **state)
{
	struct channel_rig rig;

	channel_rig_open_ready(&rig);
	(void)channel_rig_exec(&rig);
	agent_started(&rig, 1);
	agent_data(&rig, 1, WIRE_OUT, VIEW("out"));
	agent_data(&rig, 1, WIRE_ERR, VIEW("err"));
	AGENT_SEND(&rig, 1, WIRE_OUT, .type = WIRE_END);
	AGENT_SEND(&rig, 1, WIRE_ERR, .type = WIRE_END);
	AGENT_SEND(&rig, 1, 0, .type = WIRE_EXITED, .exited.code = 3);
	agent_done(&rig, 1);
	channel_rig_check(&rig, "s1:STARTED s1:bytes1(out) s1:bytes2(err) s1:ended1 s1:ended2 "
	                        "s1:EXITED s1:done");
	channel_rig_close(&rig);
}

static void frame_is_assembled_from_single_bytes(void **state)
{
	AUTO_BUF struct buf all;
	struct channel_rig rig;
	struct error err;

	buf_init(&all, WIRE_FRAME_MAX);
	channel_rig_open_ready(&rig);
	(void)channel_rig_exec(&rig);
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
		assert_int_equal(agent_send_bytes(&rig, (struct view){ all.ptr + i, 1 }), 1);
		channel_rig_run_turns(&rig);
	}
	channel_rig_check(&rig, "s1:STARTED s1:bytes1(slow) s1:ended1");
	channel_rig_close(&rig);
}

/* Frames of every size, so that chunks end at every position of a frame; 6 MiB in all. */
static void frames_of_any_size_arrive_intact(void **state)
{
	static char pattern[WIRE_WINDOW + 256];
	AUTO_BUF struct buf out;
	struct channel_rig_stream *s;
	struct channel_rig rig;
	size_t sent = 0, checked = 0;
	struct error err;

	buf_init(&out, WIRE_FRAME_MAX);
	for (size_t i = 0; i < sizeof pattern; i++)
		pattern[i] = (char)(i % 251);
	channel_rig_open_ready(&rig);
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

			done += agent_send_bytes(&rig, rest);
			channel_rig_run_turns(&rig);
		}
		sent += size;
		assert_int_equal(s->received, sent);
		for (size_t i = 0; i < s->got[WIRE_OUT].len; i++, checked++)
			if (s->got[WIRE_OUT].ptr[i] != (char)(checked % 251))
				fail_msg("byte %zu is wrong", checked);
		channel_consumed(s->stream, WIRE_OUT, s->got[WIRE_OUT].len);
		buf_truncate(&s->got[WIRE_OUT], 0);
		while (agent_receive(&rig, &frame))
			continue;
	}
	assert_int_equal(checked, sent);
	assert_int_equal(rig.failures, 0);
	channel_rig_close(&rig);
}

static void credit_is_returned_in_large_pieces(void **state)
{
	static const char zeros[40 * 1024];
	struct channel_rig_stream *s;
	struct channel_rig rig;

	channel_rig_open_ready(&rig);
	s = read_much(&rig);
	s->keeps = s->consumes = true;
	(void)agent_expect(&rig, WIRE_READ, 1, 0);
	for (int i = 0; i < 31; i++)
		agent_data(&rig, 1, WIRE_OUT, (struct view){ zeros, 1024 });
	agent_expect_nothing(&rig); /* 31 KiB consumed: less than half the window */
	agent_data(&rig, 1, WIRE_OUT, (struct view){ zeros, 1024 });
	assert_int_equal(agent_expect(&rig, WIRE_CREDIT, 1, 1).credit.bytes, 32 * 1024);
	s->consumes = false;
	agent_data(&rig, 1, WIRE_OUT, (struct view){ zeros, sizeof zeros });
	agent_expect_nothing(&rig);
	channel_consumed(s->stream, WIRE_OUT,
	                 1); /* the agent has 24 KiB of credit left: returned at once */
	assert_int_equal(agent_expect(&rig, WIRE_CREDIT, 1, 1).credit.bytes, 1);
	channel_rig_close(&rig);
}

static void grown_window_allows_more_bytes_in_flight(void **state)
{
	struct channel_rig_stream *s;
	struct channel_rig rig;

	channel_rig_open_ready(&rig);
	s = read_much(&rig);
	(void)agent_expect(&rig, WIRE_READ, 1, 0);
	channel_grow_window(s->stream, WIRE_OUT, 1024 * 1024);
	assert_int_equal(agent_expect(&rig, WIRE_CREDIT, 1, 1).credit.bytes, 1024 * 1024);
	channel_grow_window(s->stream, WIRE_OUT, SIZE_MAX); /* limited by WIRE_CREDIT_MAX */
	assert_int_equal(agent_expect(&rig, WIRE_CREDIT, 1, 1).credit.bytes,
	                 WIRE_CREDIT_MAX - 1024 * 1024 - WIRE_WINDOW);
	channel_grow_window(s->stream, WIRE_OUT, 1);
	channel_grow_window(s->stream, WIRE_IN, 1); /* the agent gives credit on this channel */
	channel_consumed(s->stream, WIRE_OUT, 0);
	agent_expect_nothing(&rig);
	channel_rig_close(&rig);
}

static void bytes_beyond_the_credit_fail_the_channel(void **state)
{
	static const char zeros[32 * 1024];
	struct channel_rig_stream *s;
	struct channel_rig rig;

	channel_rig_open_ready(&rig);
	s = read_much(&rig);
	s->keeps = true;
	for (int i = 0; i < 2; i++)
		agent_data(&rig, 1, WIRE_OUT, (struct view){ zeros, sizeof zeros });
	channel_rig_check(&rig, "");
	agent_data(&rig, 1, WIRE_OUT, VIEW("x"));
	channel_rig_check(
	        &rig,
	        "s1:failed5(the agent broke the protocol: DATA on stream 1: 1 bytes with credit "
	        "for 0) failed(the agent broke the protocol: DATA on stream 1: 1 bytes with credit "
	        "for 0)");
	assert_int_equal(s->received, WIRE_WINDOW);
	channel_rig_close(&rig);
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

static void descriptors_sent_by_the_agent_are_not_received(void **state)
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
	struct channel_rig rig;

	channel_rig_open_ready(&rig);
	before = count_fds();
	for (int i = 0; i < 7; i++) {
		memcpy(CMSG_DATA(&control.header), &rig.fd, sizeof rig.fd);
		assert_int_equal(sendmsg(rig.fd, &message, MSG_NOSIGNAL), 1);
		channel_rig_run_turns(&rig);
		assert_int_equal(count_fds(), before);
	}
	assert_int_equal(rig.failures, 0);
	channel_rig_close(&rig);
}

static void urgent_byte_is_read_in_order(void **state)
{
	struct channel_rig rig;

	channel_rig_open_ready(&rig);
	(void)read_much(&rig);
	assert_int_equal(agent_send_bytes(&rig, VIEW("\x10\1\0\3\0\0\0\1ab")), 10);
	if (send(rig.fd, "c", 1, MSG_OOB | MSG_NOSIGNAL) < 0) { /* Linux before 5.15 */
		assert_int_equal(errno, EOPNOTSUPP);
		assert_int_equal(agent_send_bytes(&rig, VIEW("c")), 1);
	}
	agent_done(&rig, 1);
	channel_rig_check(&rig, "s1:bytes1(abc) s1:done");
	channel_rig_close(&rig);
}

/* --- sending --- */

static void credit_of_the_agent_limits_sending(void **state)
{
	struct channel_rig_stream *s;
	struct channel_rig rig;
	struct wire_frame frame;
	size_t got = 0;

	channel_rig_open_ready(&rig);
	s = channel_rig_write(&rig);
	(void)agent_expect(&rig, WIRE_WRITE, 1, 0);
	s->to_send = 100 * 1024;
	channel_rig_on_writable(s);
	assert_int_equal(s->sent, WIRE_WINDOW);
	while (agent_receive(&rig, &frame))
		got += frame.payload.len;
	assert_int_equal(got, WIRE_WINDOW);
	assert_int_equal(channel_send(s->stream, WIRE_IN, VIEW("x")), 0);
	AGENT_SEND(&rig, 1, WIRE_IN, .type = WIRE_CREDIT, .credit.bytes = 1000);
	(void)agent_expect(&rig, WIRE_DATA, 1, WIRE_IN);
	assert_int_equal(s->sent, WIRE_WINDOW + 1000);
	AGENT_SEND(&rig, 1, WIRE_IN, .type = WIRE_CREDIT, .credit.bytes = 1000 * 1000);
	(void)agent_expect(&rig, WIRE_DATA, 1, WIRE_IN);
	assert_int_equal(s->sent, 100 * 1024);
	channel_send_end(s->stream, WIRE_IN);
	(void)agent_expect(&rig, WIRE_END, 1, WIRE_IN);
	channel_send_end(s->stream, WIRE_IN); /* ignored: the channel has ended */
	assert_int_equal(channel_send(s->stream, WIRE_IN, VIEW("x")), 0);
	assert_int_equal(channel_send(s->stream, WIRE_OUT, VIEW("x")), 0);
	assert_int_equal(channel_send(s->stream, 77, VIEW("x")), 0);
	agent_expect_nothing(&rig);
	channel_rig_close(&rig);
}

enum { WRITERS = 8 };

/* The agent gives all of them much credit, but reads little at a time. */
static void writers_take_turns(void **state)
{
	static char chunk[128 * 1024];
	struct channel_rig_stream *writers[WRITERS];
	size_t most = 0, least = SIZE_MAX, total = 0;
	struct channel_rig rig;

	channel_rig_open_ready(&rig);
	for (uint32_t i = 0; i < WRITERS; i++) {
		writers[i] = channel_rig_write(&rig);
		writers[i]->to_send = SIZE_MAX / 2;
		AGENT_SEND(&rig, 2 * i + 1, WIRE_IN, .type = WIRE_CREDIT,
		           .credit.bytes = WIRE_CREDIT_MAX - WIRE_WINDOW);
	}
	channel_rig_run_turns(&rig);
	for (int i = 0; i < WRITERS; i++)
		channel_rig_on_writable(writers[i]);
	writers[0]->sent = 0; /* it was alone so far, and filled the queue */
	for (int round = 0; round < 400; round++) {
		(void)recv(rig.fd, chunk, sizeof chunk, MSG_DONTWAIT);
		channel_rig_run_turns(&rig);
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
	channel_rig_close(&rig);
}

static void small_writer_is_not_starved(void **state)
{
	static char chunk[64 * 1024];
	struct channel_rig_stream *large, *small;
	int rounds = 0;
	struct channel_rig rig;

	channel_rig_open_ready(&rig);
	large = channel_rig_write(&rig);
	small = channel_rig_write(&rig);
	AGENT_SEND(&rig, 1, WIRE_IN, .type = WIRE_CREDIT,
	           .credit.bytes = WIRE_CREDIT_MAX - WIRE_WINDOW);
	channel_rig_run_turns(&rig);
	large->to_send = SIZE_MAX / 2;
	small->to_send = 100;
	channel_rig_on_writable(large);
	channel_rig_on_writable(small);
	assert_int_equal(small->sent, 0); /* the queue is full */
	while (small->sent == 0 && rounds++ < 100) {
		(void)recv(rig.fd, chunk, sizeof chunk, MSG_DONTWAIT);
		channel_rig_run_turns(&rig);
	}
	assert_int_equal(small->sent, 100);
	assert_true(large->sent < 3 * 1024 * 1024);
	channel_rig_close(&rig);
}

/* The queue has room again, but another stream has waited longer for it. */
static void waiting_writers_come_first(void **state)
{
	static char chunk[512 * 1024];
	struct channel_rig_stream *first, *second, *third;
	struct channel_rig rig;

	channel_rig_open_ready(&rig);
	first = channel_rig_write(&rig);
	second = channel_rig_write(&rig);
	third = channel_rig_write(&rig);
	AGENT_SEND(&rig, 1, WIRE_IN, .type = WIRE_CREDIT,
	           .credit.bytes = WIRE_CREDIT_MAX - WIRE_WINDOW);
	channel_rig_run_turns(&rig);
	first->to_send = SIZE_MAX / 2;
	channel_rig_on_writable(first);
	while (recv(rig.fd, chunk, sizeof chunk, MSG_DONTWAIT) > 0)
		continue;
	channel_close(third->stream); /* the output writes as much of the queue as it can */
	assert_true(output_pending(rig.channel->output) < CHANNEL_QUEUE_MAX - 100000);
	second->to_send = 100;
	channel_rig_on_writable(second);
	assert_int_equal(second->sent, 0);
	while (recv(rig.fd, chunk, sizeof chunk, MSG_DONTWAIT) > 0)
		channel_rig_run_turns(&rig);
	assert_int_equal(second->sent, 100);
	assert_int_equal(second->turns, 2);
	channel_rig_close(&rig);
}

static void full_queue_refuses_requests(void **state)
{
	AUTO_BUF struct buf args;
	AUTO_FREE char *long_text = malloc(60000);
	struct wire_message exec = exec_message(&args);
	struct channel_stream *stream;
	struct error err;
	struct channel_rig rig;
	int opened = 0;

	assert_non_null(long_text);
	memset(long_text, 'x', 60000);
	CHECK_OK(wire_texts_add(&exec.exec.argv, &args, (struct view){ long_text, 60000 }, &err),
	         err);
	channel_rig_open_ready(&rig);
	while (opened < 100 &&
	       channel_open(rig.channel, &exec, &channel_no_events, NULL, &stream, &err) == 0)
		opened++;
	assert_in_range(opened, 20, 40);
	assert_int_equal(err.kind, ERR_LIMIT);
	assert_non_null(strstr(err.msg, "the agent is slow: "));
	/* A SIGNAL gets through all the same. */
	CHECK_OK(channel_send_message(
	                 stream,
	                 &(struct wire_message){ .type = WIRE_DEADLINE, .deadline = { 100, 100 } },
	                 &err),
	         err);
	channel_rig_run_turns(&rig);
	assert_int_equal(rig.failures, 0);
	channel_rig_close(&rig);
}

/* Signals and deadlines are never refused, so only the end of the channel limits the queue. */
static void agent_that_does_not_read_fails_the_channel(void **state)
{
	const struct wire_message signal = { .type = WIRE_SIGNAL, .signal.number = 1 };
	struct channel_rig_stream *s;
	struct error err;
	struct channel_rig rig;

	channel_rig_open_ready(&rig);
	s = channel_rig_exec(&rig);
	for (int i = 0; i < 400000 && channel_send_message(s->stream, &signal, &err) == 0; i++)
		assert_true(output_pending(rig.channel->output) <= CHANNEL_BACKLOG_MAX);
	channel_rig_run_turns(&rig);
	assert_int_equal(rig.failures, 1);
	assert_non_null(strstr(buf_text(&rig.log),
	                       "failed(the agent does not read: more than 2097152 "
	                       "bytes wait for it)"));
	channel_rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest all[] = {
		TEST(output_of_a_program_is_delivered),
		TEST(frame_is_assembled_from_single_bytes),
		TEST(frames_of_any_size_arrive_intact),
		TEST(credit_is_returned_in_large_pieces),
		TEST(grown_window_allows_more_bytes_in_flight),
		TEST(bytes_beyond_the_credit_fail_the_channel),
		TEST(descriptors_sent_by_the_agent_are_not_received),
		TEST(urgent_byte_is_read_in_order),
		TEST(credit_of_the_agent_limits_sending),
		TEST(writers_take_turns),
		TEST(small_writer_is_not_starved),
		TEST(waiting_writers_come_first),
		TEST(full_queue_refuses_requests),
		TEST(agent_that_does_not_read_fails_the_channel),
	};

	return RUN_TESTS("channel flow", all);
}
