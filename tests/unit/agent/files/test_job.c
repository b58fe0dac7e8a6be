#include "unit/agent/files/job_test.h"

#include "base/error.h"

static void job_cuts_bytes_into_packets(void **state)
{
	static char bytes[3 * JOB_PACKET_MAX + 7];
	static struct job_test t;
	struct error err;

	job_test_start(&t);
	for (size_t i = 0; i < sizeof bytes; i++)
		bytes[i] = (char)(i * 7 + i / 1000);
	CHECK_OK(job_send(&t.job, (struct view){ bytes, sizeof bytes }, &err), err);
	CHECK_OK(job_send(&t.job, VIEW(""), &err), err);
	job_test_finish(&t);
	assert_int_equal(t.packets, 4);
	assert_int_equal(t.largest, JOB_PACKET_MAX);
	assert_int_equal(t.data.len, sizeof bytes);
	assert_memory_equal(t.data.ptr, bytes, sizeof bytes);
	job_test_stop(&t);
}

static void records_share_packets(void **state)
{
	static struct job_test t;
	struct wire_entry entry = { .path = VIEW_INIT("some/where/or/other") };
	struct wire_entry got;
	struct view rest;
	struct error err;
	enum { COUNT = 3000 };
	size_t count = 0;

	job_test_start(&t);
	for (uint64_t i = 0; i < COUNT; i++) {
		entry.size = i;
		CHECK_OK(job_record(&t.job, WIRE_ENTRIES, &wire_entry_record, &entry, &err), err);
	}
	CHECK_OK(job_flush(&t.job, &err), err);
	CHECK_OK(job_flush(&t.job, &err), err);
	job_test_finish(&t);
	rest = buf_view(&t.records);
	while (rest.len != 0) {
		CHECK_OK(wire_record_decode(&wire_entry_record, &rest, &got, &err), err);
		assert_int_equal(got.size, count++);
	}
	assert_int_equal(count, COUNT);
	assert_true(t.largest <= JOB_PACKET_MAX && t.largest > JOB_PACKET_MAX - 100);
	assert_int_equal(t.packets, t.records.len / t.largest + 1);
	job_test_stop(&t);
}

static void records_and_bytes_keep_their_order(void **state)
{
	static struct job_test t;
	struct wire_entry entry = { .path = VIEW_INIT("a") };
	struct wire_match match = { .line = 1, .column = 1, .path = VIEW_INIT("b") };
	char types[3], packet[WIRE_FRAME_MAX];
	struct error err;
	int ends[2], old = -1;

	job_test_start(&t);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	old = t.job.fd;
	t.job.fd = ends[0];
	CHECK_OK(job_record(&t.job, WIRE_ENTRIES, &wire_entry_record, &entry, &err), err);
	CHECK_OK(job_record(&t.job, WIRE_MATCHES, &wire_match_record, &match, &err), err);
	CHECK_OK(job_send(&t.job, VIEW("bytes"), &err), err);
	for (size_t i = 0; i < sizeof types; i++) {
		assert_true(recv(ends[1], packet, sizeof packet, MSG_DONTWAIT) > WIRE_HEADER);
		types[i] = packet[0];
	}
	assert_int_equal(types[0], WIRE_ENTRIES);
	assert_int_equal(types[1], WIRE_MATCHES);
	assert_int_equal(types[2], WIRE_DATA);
	(void)close(ends[0]);
	(void)close(ends[1]);
	t.job.fd = old;
	job_test_stop(&t);
}

static void invalid_record_is_refused_and_others_stay(void **state)
{
	static struct job_test t;
	struct wire_entry good = { .path = VIEW_INIT("a") }, bad = { .path = VIEW_INIT("") };
	size_t one;
	struct error err;

	job_test_start(&t);
	CHECK_OK(job_record(&t.job, WIRE_ENTRIES, &wire_entry_record, &good, &err), err);
	one = t.job.pending;
	assert_int_equal(job_record(&t.job, WIRE_ENTRIES, &wire_entry_record, &bad, &err), -1);
	assert_non_null(strstr(err.msg, "path"));
	CHECK_OK(job_record(&t.job, WIRE_ENTRIES, &wire_entry_record, &good, &err), err);
	CHECK_OK(job_flush(&t.job, &err), err);
	job_test_finish(&t);
	assert_int_equal(t.records.len, 2 * one);
	job_test_stop(&t);
}

static void job_receives_bytes_until_end(void **state)
{
	static struct job_test t;
	struct view bytes;
	struct error err;

	job_test_start(&t);
	job_test_feed(&t, VIEW("hello"));
	assert_int_equal(job_receive(&t.job, &bytes, &err), 1);
	CHECK_VIEW(bytes, "hello");
	assert_int_equal(job_receive(&t.job, &bytes, &err), 0);
	job_test_stop(&t);
}

static void closed_socket_closes_the_request(void **state)
{
	static const char closed[] = "the request was closed";
	static struct job_test t;
	struct wire_entry entry = { .path = VIEW_INIT("a") };
	struct view bytes;
	struct error err;

	job_test_start(&t);
	(void)shutdown(t.peer, SHUT_RDWR);
	CHECK_ERROR(job_receive(&t.job, &bytes, &err), err, ERR_SYSTEM, closed);
	assert_int_equal(err.errnum, EPIPE);
	CHECK_ERROR(job_send(&t.job, VIEW("x"), &err), err, ERR_SYSTEM, closed);
	assert_int_equal(err.errnum, EPIPE);
	CHECK_OK(job_record(&t.job, WIRE_ENTRIES, &wire_entry_record, &entry, &err), err);
	CHECK_ERROR(job_flush(&t.job, &err), err, ERR_SYSTEM, closed);
	job_test_stop(&t);
}

/* Packets that the agent never sends. */
static void job_refuses_packets_that_are_not_bytes(void **state)
{
	static const char too_large[WIRE_HEADER + JOB_PACKET_MAX + 1];
	static const struct {
		struct view packet;
		const char *message;
	} cases[] = {
		{ VIEW_INIT("\x10\0\0"), "a packet of 3 bytes from the agent is not one frame" },
		{ VIEW_INIT("\x10\0\0\5\0\0\0\0abc"),
		  "a packet of 11 bytes from the agent is not one frame" },
		{ VIEW_INIT("\x10\0\0\1\0\0\0\0abc"),
		  "a packet of 11 bytes from the agent is not one frame" },
		{ VIEW_INIT("\x10\1\0\1\0\0\0\0a"),
		  "message 0x10 on channel 1 from the agent: only bytes are expected" },
		{ VIEW_INIT("\x14\0\0\1\0\0\0\0a"),
		  "message 0x14 on channel 0 from the agent: only bytes are expected" },
		{ { too_large, sizeof too_large },
		  "a packet of 32777 bytes from the agent: at most 32776" },
	};
	static struct job_test t;
	struct view bytes;
	struct error err;

	job_test_start(&t);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		assert_true(send(t.peer, cases[i].packet.ptr, cases[i].packet.len, 0) > 0);
		CHECK_ERROR(job_receive(&t.job, &bytes, &err), err, ERR_SYNTAX, cases[i].message);
	}
	job_test_stop(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(job_cuts_bytes_into_packets),
		TEST(records_share_packets),
		TEST(records_and_bytes_keep_their_order),
		TEST(invalid_record_is_refused_and_others_stay),
		TEST(job_receives_bytes_until_end),
		TEST(closed_socket_closes_the_request),
		TEST(job_refuses_packets_that_are_not_bytes),
	};

	return RUN_TESTS("job", tests);
}
