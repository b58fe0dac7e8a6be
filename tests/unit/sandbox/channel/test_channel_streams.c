/* Streams that are closed or cancelled, and callbacks that free the channel they are called
 * from. */
#include "unit/sandbox/channel/fake_agent.h"

/* --- closing and cancelling --- */

static void closed_stream_reports_its_end(void **state)
{
	struct wire_message signal = { .type = WIRE_SIGNAL, .signal.number = 15 };
	struct channel_rig_stream *s;
	struct error err;
	struct channel_rig rig;

	channel_rig_open_ready(&rig);
	s = channel_rig_exec(&rig);
	(void)agent_expect(&rig, WIRE_EXEC, 1, 0);
	CHECK_OK(channel_send_message(s->stream, &signal, &err), err);
	assert_int_equal(agent_expect(&rig, WIRE_SIGNAL, 1, 0).signal.number, 15);
	channel_close(s->stream);
	channel_close(s->stream);
	(void)agent_expect(&rig, WIRE_CLOSE, 1, 0);
	agent_expect_nothing(&rig);
	CHECK_ERROR(channel_send_message(s->stream, &signal, &err), err, ERR_INVALID,
	            "SIGNAL: the stream was closed");
	agent_started(&rig, 1); /* it crosses the CLOSE */
	channel_rig_check(&rig, "s1:STARTED");
	AGENT_SEND(&rig, 1, 0, .type = WIRE_FAILED,
	           .failed = { .why = WIRE_FAILED_CLOSED, .message = VIEW("closed") });
	channel_rig_check(&rig, "s1:failed4(closed)");
	channel_rig_close(&rig);
}

static struct error said_late;

static void say_late(struct channel_rig_stream *s, const char *event)
{
	struct wire_message signal = { .type = WIRE_SIGNAL, .signal.number = 15 };

	if (strcmp(event, "done") == 0 || strcmp(event, "failed") == 0)
		assert_int_equal(channel_send_message(s->stream, &signal, &said_late), -1);
}

static void free_and_say_late(struct channel_rig_stream *s, const char *event)
{
	s->rig->channel = channel_free(s->rig->channel);
	say_late(s, event);
}

static void message_on_an_ended_stream_is_refused(void **state)
{
	struct channel_rig rig;

	channel_rig_open_ready(&rig);
	channel_rig_exec(&rig)->act = say_late;
	channel_rig_exec(&rig)->act = say_late;
	agent_started(&rig, 1);
	agent_done(&rig, 1);
	channel_rig_check(&rig, "s1:STARTED s1:done");
	assert_int_equal(said_late.kind, ERR_INVALID);
	assert_string_equal(said_late.msg, "SIGNAL: the stream has ended");
	channel_rig_close_agent(&rig);
	channel_rig_check(&rig, "s3:failed5(the agent ended) failed(the agent ended)");
	assert_int_equal(said_late.kind, ERR_SYSTEM);
	assert_string_equal(said_late.msg, "SIGNAL: the agent ended");
	channel_rig_close(&rig);
	channel_rig_open_ready(&rig);
	channel_rig_exec(&rig)->act = free_and_say_late;
	AGENT_SEND(&rig, 1, 0, .type = WIRE_FAILED,
	           .failed = { .why = WIRE_FAILED_MISSING, .message = VIEW("no") });
	channel_rig_check(&rig, "s1:failed1(no)");
	assert_int_equal(said_late.kind, ERR_INVALID);
	assert_string_equal(said_late.msg, "SIGNAL: the stream has ended");
	channel_rig_close(&rig);
}

static void cancelled_streams_count_until_the_agent_ends_them(void **state)
{
	struct wire_message read = { .type = WIRE_READ,
		                     .read = { .count = 7, .max = 7, .path = VIEW("f") } };
	struct channel_stream *stream;
	struct error err;
	struct channel_rig rig;

	channel_rig_open_ready(&rig);
	for (int i = 0; i < WIRE_STREAMS_MAX; i++)
		channel_cancel(channel_rig_open_stream(&rig, &read)->stream);
	CHECK_ERROR(
	        channel_open(rig.channel, &read, &channel_rig_stream_events, NULL, &stream, &err),
	        err, ERR_LIMIT,
	        "256 operations are running in this sandbox, and no more are "
	        "allowed: wait until one has ended");
	agent_data(&rig, 5, WIRE_OUT, VIEW("crossed")); /* ignored */
	agent_done(&rig, 5);
	channel_rig_check(&rig, "");
	(void)channel_rig_read(&rig);
	agent_done(&rig, 513);
	channel_rig_check(&rig, "s513:done");
	channel_rig_close(&rig);
}

static void only_messages_of_the_server_can_be_sent(void **state)
{
	struct wire_message end = { .type = WIRE_END }, close = { .type = WIRE_CLOSE };
	struct channel_rig_stream *s;
	struct error err;
	struct channel_rig rig;

	channel_rig_open_ready(&rig);
	s = channel_rig_exec(&rig);
	CHECK_ERROR(channel_send_message(s->stream, &end, &err), err, ERR_INVALID,
	            "END cannot be sent with channel_send_message()");
	CHECK_ERROR(channel_send_message(s->stream, &close, &err), err, ERR_INVALID,
	            "CLOSE cannot be sent with channel_send_message()");
	channel_rig_close(&rig);
}

/* --- from within callbacks --- */

enum deed { FREE_CHANNEL, DROP_SELF, CLOSE_SELF, DROP_ALL, OPEN_ANOTHER, SAY_AND_SEND, DEEDS };

static struct {
	const char *event;
	enum deed deed;
	unsigned done;
} plan;

static void drop_all(struct channel_rig *rig)
{
	for (unsigned i = 0; i < rig->opened; i++)
		if (rig->streams[i].ends == 0 && rig->streams[i].stream != NULL)
			channel_cancel(TAKE_PTR(rig->streams[i].stream));
}

static void open_another(struct channel_rig *rig)
{
	struct wire_message read = { .type = WIRE_READ, .read = { .path = VIEW("f") } };
	struct channel_stream *stream;
	struct error err;

	if (rig->channel != NULL)
		(void)!channel_open(rig->channel, &read, &channel_no_events, NULL, &stream, &err);
}

static void say_and_send(struct channel_stream *stream)
{
	struct wire_message signal = { .type = WIRE_SIGNAL, .signal.number = 9 };
	struct error err;

	(void)!channel_send_message(stream, &signal, &err);
	(void)channel_send(stream, WIRE_IN, VIEW("x"));
	channel_consumed(stream, WIRE_OUT, 0);
	channel_grow_window(stream, WIRE_OUT, 1);
	channel_send_end(stream, WIRE_IN);
}

static void do_deed(struct channel_rig *rig, struct channel_rig_stream *s)
{
	plan.done++;
	switch (plan.deed) {
	case FREE_CHANNEL:
		rig->channel = channel_free(rig->channel);
		break;
	case DROP_SELF:
		if (s != NULL && s->stream != NULL)
			channel_cancel(s->stream);
		break;
	case CLOSE_SELF:
		if (s != NULL && s->stream != NULL)
			channel_close(s->stream);
		break;
	case DROP_ALL:
		drop_all(rig);
		break;
	case OPEN_ANOTHER:
		open_another(rig);
		break;
	case SAY_AND_SEND:
		if (s != NULL && s->stream != NULL)
			say_and_send(s->stream);
		break;
	case DEEDS:
		break;
	}
}

static void stream_acts(struct channel_rig_stream *s, const char *event)
{
	if (strcmp(event, plan.event) == 0 && plan.done == 0)
		do_deed(s->rig, s);
}

static void channel_rig_acts(struct channel_rig *rig, const char *event)
{
	if (strcmp(event, plan.event) == 0 && plan.done == 0)
		do_deed(rig, NULL);
}

/* Causes every callback. The frames of the agent are valid, whatever `deed` a callback does. */
static void play(struct channel_rig *rig)
{
	channel_rig_open(rig);
	rig->act = channel_rig_acts;
	agent_hello(rig);
	channel_rig_run_turns(rig);
	agent_ready(rig);
	channel_rig_run_turns(rig);
	if (rig->channel == NULL)
		return;
	(void)channel_rig_exec(rig);
	(void)channel_rig_read(rig);
	channel_rig_write(rig)->to_send = 100000;
	(void)channel_rig_exec(rig);
	for (unsigned i = 0; i < rig->opened; i++)
		rig->streams[i].act = stream_acts;
	channel_rig_on_writable(&rig->streams[2]); /* now it waits for credit */
	channel_rig_run_turns(rig);
}

/* OPEN_ANOTHER may have used the first number, so the stream is found by its name. */
static uint32_t number(struct channel_rig *rig, unsigned i)
{
	return (uint32_t)strtoul(rig->streams[i].name + 1, NULL, 10);
}

static void answer_all(struct channel_rig *rig)
{
	AUTO_BUF struct buf out;
	struct wire_message started = { .type = WIRE_STARTED, .started.pid = 1 };
	struct wire_message data = { .type = WIRE_DATA, .data.bytes = VIEW("x") };
	struct wire_message end = { .type = WIRE_END };
	struct wire_message credit = { .type = WIRE_CREDIT, .credit.bytes = 100000 };
	struct wire_message failed = { .type = WIRE_FAILED, .failed.message = VIEW("no") };
	struct wire_message done = { .type = WIRE_DONE, .done.cursor = VIEW("") };
	uint32_t run = number(rig, 0), read = number(rig, 1), write = number(rig, 2);
	struct error err;

	buf_init(&out, WIRE_FRAME_MAX);
	if (wire_encode(&started, run, 0, &out, &err) < 0 ||
	    wire_encode(&data, run, WIRE_OUT, &out, &err) < 0 ||
	    wire_encode(&data, run, WIRE_OUT, &out, &err) < 0 ||
	    wire_encode(&end, run, WIRE_ERR, &out, &err) < 0 ||
	    wire_encode(&credit, write, WIRE_IN, &out, &err) < 0 ||
	    wire_encode(&failed, read, 0, &out, &err) < 0 ||
	    wire_encode(&done, run, 0, &out, &err) < 0)
		fail_msg("%s", err.msg);
	(void)agent_send_bytes(rig, buf_view(&out)); /* all in one chunk */
}

static void check_deed(const char *event, enum deed deed)
{
	struct channel_rig rig;

	plan.event = event;
	plan.deed = deed;
	plan.done = 0;
	play(&rig);
	if (rig.channel != NULL)
		answer_all(&rig);
	channel_rig_run_turns(&rig);
	channel_rig_close_agent(&rig);
	channel_rig_run_turns(&rig);
	if (plan.done != 1)
		fail_msg("%s was never called: %s", event, buf_text(&rig.log));
	for (unsigned i = 0; i < rig.opened; i++)
		assert_true(rig.streams[i].ends <= 1);
	assert_int_equal(rig.failures, deed != FREE_CHANNEL);
	channel_rig_close(&rig);
}

static void every_callback_may_free_cancel_and_use_the_channel(void **state)
{
	static const char *const events[] = { "ready",    "message", "bytes", "ended",
		                              "writable", "done",    "failed" };

	for (size_t i = 0; i < ARRAY_LEN(events); i++)
		for (enum deed deed = 0; deed < DEEDS; deed++)
			check_deed(events[i], deed);
}

static void free_when_the_channel_fails(struct channel_rig *rig, const char *event)
{
	if (strcmp(event, "failed") == 0)
		rig->channel = channel_free(rig->channel);
}

static void failed_callback_may_free_the_channel(void **state)
{
	struct channel_rig rig;

	channel_rig_open_ready(&rig);
	rig.act = free_when_the_channel_fails;
	(void)channel_rig_exec(&rig);
	channel_rig_close_agent(&rig);
	channel_rig_check(&rig, "s1:failed5(the agent ended) failed(the agent ended)");
	channel_rig_close(&rig);
}

static void free_when_a_stream_fails(struct channel_rig_stream *s, const char *event)
{
	if (strcmp(event, "failed") == 0)
		s->rig->channel = channel_free(s->rig->channel);
}

static void channel_freed_while_failing_calls_nothing_more(void **state)
{
	struct channel_rig rig;

	channel_rig_open_ready(&rig);
	for (int i = 0; i < 3; i++)
		channel_rig_exec(&rig)->act = free_when_a_stream_fails;
	channel_rig_close_agent(&rig);
	channel_rig_check(&rig, "s1:failed5(the agent ended)");
	channel_rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest all[] = {
		TEST(closed_stream_reports_its_end),
		TEST(message_on_an_ended_stream_is_refused),
		TEST(cancelled_streams_count_until_the_agent_ends_them),
		TEST(only_messages_of_the_server_can_be_sent),
		TEST(every_callback_may_free_cancel_and_use_the_channel),
		TEST(failed_callback_may_free_the_channel),
		TEST(channel_freed_while_failing_calls_nothing_more),
	};

	return RUN_TESTS("channel streams", all);
}
