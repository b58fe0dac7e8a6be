/* An agent that answers PINGs but not the requests: each request fails alone. */
#include "unit/sandbox/channel/fake_agent.h"

enum { PING_MS = 20, TURNS_MAX = 3000 };

#define STALLED(request)                                                                           \
	"(the agent did not answer " request " for 240 ms, which is the limit, so it was "         \
	"cancelled: try a smaller operation, or end what keeps the sandbox busy)"

static void open_stall_rig(struct channel_rig *rig, uint64_t ping_ms)
{
	const struct channel_times times = { 10000, ping_ms };

	channel_rig_open_timed(rig, &times);
	agent_hello(rig);
	(void)agent_expect(rig, WIRE_WELCOME, 0, 0);
	agent_ready(rig);
	channel_rig_check(rig, "ready()");
}

/* Plays the agent for a part of an interval: answers PINGs and counts them, ignores everything
 * else. Returns the number of CLOSE frames. */
static unsigned answer_pings(struct channel_rig *rig, unsigned *pings)
{
	struct wire_frame frame;
	unsigned closed = 0;

	channel_rig_run_ms(rig, PING_MS / 4);
	while (agent_receive(rig, &frame)) {
		if (frame.type == WIRE_PING && rig->channel != NULL)
			AGENT_SEND(rig, 0, 0, .type = WIRE_PONG, .ping.token = ++*pings);
		closed += frame.type == WIRE_CLOSE;
	}
	return closed;
}

/* Every kind of request. The write has sent all its bytes; the program was not started. */
static void unanswered_requests_fail_alone(void **state)
{
	struct channel_rig_stream *all[4];
	unsigned pings = 0, closed = 0, ends = 0;
	struct channel_rig rig;

	open_stall_rig(&rig, PING_MS);
	all[0] = channel_rig_exec(&rig);
	all[1] = channel_rig_read(&rig);
	all[2] = channel_rig_write(&rig);
	all[3] = channel_rig_list(&rig, 9);
	channel_send_end(all[2]->stream, WIRE_IN);
	for (int turn = 0; turn < TURNS_MAX && closed < 4; turn++)
		closed += answer_pings(&rig, &pings);
	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		ends += all[i]->ends;
	assert_int_equal(ends, 4);
	assert_int_equal(closed, 4);
	assert_int_equal(rig.failures, 0);
	assert_non_null(strstr(buf_text(&rig.log), "s1:failed6" STALLED("EXEC")));
	assert_non_null(strstr(buf_text(&rig.log), "s3:failed6" STALLED("READ")));
	assert_non_null(strstr(buf_text(&rig.log), "s5:failed6" STALLED("WRITE")));
	assert_non_null(strstr(buf_text(&rig.log), "s7:failed6" STALLED("LIST")));
	/* Other requests go on, and late answers to the cancelled ones are ignored. */
	buf_truncate(&rig.log, 0);
	(void)channel_rig_write(&rig);
	agent_done(&rig, 3);
	agent_done(&rig, 9);
	channel_rig_check(&rig, "s9:done");
	channel_rig_close(&rig);
}

/* A byte now and then is no progress. */
static void trickle_of_bytes_fails(void **state)
{
	struct wire_message read = {
		.type = WIRE_READ, .read = { .count = 1 << 20, .max = 1 << 20, .path = VIEW("f") }
	};
	struct channel_rig_stream *s;
	struct channel_rig rig;
	unsigned pings = 0;

	open_stall_rig(&rig, PING_MS);
	s = channel_rig_open_stream(&rig, &read);
	s->keeps = s->consumes = true;
	for (int turn = 0; turn < TURNS_MAX && s->ends == 0; turn++) {
		agent_data(&rig, 1, WIRE_OUT, VIEW("x"));
		(void)answer_pings(&rig, &pings);
	}
	assert_int_equal(s->ends, 1);
	assert_non_null(strstr(buf_text(&rig.log), STALLED("READ")));
	assert_int_equal(rig.failures, 0);
	channel_rig_close(&rig);
}

/* The intervals are long: this process may be delayed for one, not for several. */
static void progress_keeps_a_stream(void **state)
{
	static char piece[32 * 1024];
	struct wire_message read = {
		.type = WIRE_READ, .read = { .count = 1 << 30, .max = 1 << 30, .path = VIEW("f") }
	};
	struct channel_rig_stream *s;
	struct wire_frame frame;
	struct channel_rig rig;

	open_stall_rig(&rig, 100);
	s = channel_rig_open_stream(&rig, &read);
	s->consumes = true;
	for (int turn = 0; turn < 300; turn++) { /* three times the limit */
		agent_data(&rig, 1, WIRE_OUT, (struct view){ piece, sizeof piece });
		channel_rig_run_ms(&rig, 10);
		while (agent_receive(&rig, &frame))
			;
		buf_truncate(&rig.log, 0);
	}
	assert_int_equal(s->ends, 0);
	assert_int_equal(rig.failures, 0);
	channel_rig_close(&rig);
}

/* Neither a program that prints nothing, nor a receiver that consumes nothing, nor a sender that
 * sends nothing is the agent's fault. */
static void streams_that_do_not_wait_for_the_agent_stay(void **state)
{
	static char window[64 * 1024];
	struct wire_message read = {
		.type = WIRE_READ, .read = { .count = 1 << 20, .max = 1 << 20, .path = VIEW("f") }
	};
	struct channel_rig_stream *program, *fetch, *store;
	unsigned pings = 0, closed = 0;
	struct channel_rig rig;

	open_stall_rig(&rig, PING_MS);
	program = channel_rig_exec(&rig);
	fetch = channel_rig_open_stream(&rig, &read);
	store = channel_rig_write(&rig);
	fetch->keeps = true;
	agent_started(&rig, 1);
	for (size_t sent = 0; sent < sizeof window; sent += sizeof window / 4)
		agent_data(&rig, 3, WIRE_OUT, (struct view){ window, sizeof window / 4 });
	for (int turn = 0; turn < TURNS_MAX && pings < 3 * CHANNEL_STALLED_MAX; turn++)
		closed += answer_pings(&rig, &pings);
	assert_true(pings >= 3 * CHANNEL_STALLED_MAX);
	assert_int_equal(closed + program->ends + fetch->ends + store->ends, 0);
	channel_rig_close(&rig);
}

/* The callback of one stalled stream frees the channel, and with it the others. */
static void free_channel(struct channel_rig_stream *s, const char *event)
{
	if (strcmp(event, "failed") == 0)
		s->rig->channel = channel_free(s->rig->channel);
}

static void callback_may_free_the_channel(void **state)
{
	struct channel_rig_stream *first, *second;
	struct channel_rig rig;
	unsigned pings = 0;

	open_stall_rig(&rig, PING_MS);
	first = channel_rig_read(&rig);
	second = channel_rig_list(&rig, 1);
	first->act = second->act = free_channel;
	for (int turn = 0; turn < TURNS_MAX && rig.channel != NULL; turn++)
		(void)answer_pings(&rig, &pings);
	assert_null(rig.channel);
	assert_int_equal(first->ends + second->ends, 1);
	channel_rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest all[] = {
		TEST(unanswered_requests_fail_alone),
		TEST(trickle_of_bytes_fails),
		TEST(progress_keeps_a_stream),
		TEST(streams_that_do_not_wait_for_the_agent_stay),
		TEST(callback_may_free_the_channel),
	};

	return RUN_TESTS("channel_stall", all);
}
