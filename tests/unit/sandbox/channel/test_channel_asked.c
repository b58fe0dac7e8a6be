/* An agent that sends more, or less, than it was asked for. */
#include "unit/sandbox/channel/fake_agent.h"

#define BROKEN "the agent broke the protocol: "

static void check_breach(struct channel_rig *rig, const char *why)
{
	char want[500];

	channel_rig_run_turns(rig);
	(void)snprintf(want, sizeof want, " failed(" BROKEN "%s)", why);
	if (rig->failures != 1 || strstr(buf_text(&rig->log), want) == NULL)
		fail_msg("%s\nwanted: %s", buf_text(&rig->log), want);
}

/* --- bytes --- */

#define READ_OF(of, n, most)                                                                       \
	{                                                                                          \
		.type = WIRE_READ, .read = {                                                       \
			.unit = (of),                                                              \
			.from = 1,                                                                 \
			.count = (n),                                                              \
			.max = (most),                                                             \
			.path = VIEW_INIT("f")                                                     \
		}                                                                                  \
	}
#define PACK_OF(most)                                                                              \
	{                                                                                          \
		.type = WIRE_PACK, .pack = {                                                       \
			.max = (most),                                                             \
			.max_count = 1,                                                            \
			.path = VIEW_INIT("f")                                                     \
		}                                                                                  \
	}

static const struct fetch {
	struct wire_message request;
	struct view first, second; /* the second one exceeds the request */
	const char *why;
} fetches[] = {
	{ READ_OF(WIRE_UNIT_BYTES, 20, 10), VIEW_INIT("0123456789"), VIEW_INIT("x"),
	  "DATA on stream 3: more than the 10 bytes asked for" },
	{ READ_OF(WIRE_UNIT_BYTES, 10, 20), VIEW_INIT("01234567"), VIEW_INIT("89x"),
	  "DATA on stream 3: more than the 10 bytes asked for" },
	{ READ_OF(WIRE_UNIT_LINES, 1, 10), VIEW_INIT("0123456789"), VIEW_INIT("x"),
	  "DATA on stream 3: more than the 10 bytes asked for" },
	{ READ_OF(WIRE_UNIT_BYTES, 0, 10), VIEW_INIT(""), VIEW_INIT("x"),
	  "DATA on stream 3: more than the 0 bytes asked for" },
	{ PACK_OF(3), VIEW_INIT("tar"), VIEW_INIT("x"),
	  "DATA on stream 3: more than the 3 bytes asked for" },
};

static void check_fetch(const struct fetch *fetch, bool is_dropped)
{
	struct channel_rig_stream *s;
	struct channel_rig rig;

	channel_rig_open_ready(&rig);
	(void)channel_rig_exec(&rig);
	s = channel_rig_open_stream(&rig, &fetch->request);
	s->keeps = true;
	if (is_dropped)
		channel_cancel(s->stream);
	if (fetch->first.len != 0)
		agent_data(&rig, 3, WIRE_OUT, fetch->first);
	channel_rig_check(&rig, "");
	agent_data(&rig, 3, WIRE_OUT, fetch->second);
	check_breach(&rig, fetch->why);
	assert_int_equal(s->received, is_dropped ? 0 : fetch->first.len);
	channel_rig_close(&rig);
}

static void surplus_bytes_fail_the_channel(void **state)
{
	for (size_t i = 0; i < ARRAY_LEN(fetches); i++) {
		check_fetch(&fetches[i], false);
		check_fetch(&fetches[i], true);
	}
}

static void output_of_a_program_is_not_limited(void **state)
{
	struct channel_rig rig;

	channel_rig_open_ready(&rig);
	(void)channel_rig_exec(&rig);
	agent_started(&rig, 1);
	agent_data(&rig, 1, WIRE_OUT, VIEW("out"));
	channel_rig_check(&rig, "s1:STARTED s1:bytes1(out)");
	channel_rig_close(&rig);
}

/* --- records --- */

static void say_entries(struct channel_rig *rig, uint32_t stream, int count)
{
	AUTO_BUF struct buf records;
	struct wire_entry entry = { .path = VIEW("a"), .target = VIEW("") };
	struct error err;

	buf_init(&records, WIRE_RECORDS_MAX);
	for (int i = 0; i < count; i++)
		CHECK_OK(wire_record_encode(&wire_entry_record, &entry, &records, &err), err);
	AGENT_SEND(rig, stream, WIRE_OUT, .type = WIRE_ENTRIES,
	           .records.records = buf_view(&records));
}

static void surplus_records_fail_the_channel(void **state)
{
	struct channel_rig rig;

	channel_rig_open_ready(&rig);
	(void)channel_rig_list(&rig, 3);
	say_entries(&rig, 1, 2);
	channel_rig_check(&rig, "s1:ENTRIES");
	say_entries(&rig, 1, 2);
	channel_rig_check(&rig,
	                  "s1:failed5(" BROKEN "ENTRIES on stream 1: more than were asked for) "
	                  "failed(" BROKEN "ENTRIES on stream 1: more than were asked for)");
	channel_rig_close(&rig);
}

static const struct wire_message stat_request = { .type = WIRE_STAT, .stat.path = VIEW_INIT("f") };
static const struct wire_message stats_request = { .type = WIRE_STATS };

static void stat_and_stats_have_one_record(void **state)
{
	struct channel_rig rig;

	channel_rig_open_ready(&rig);
	(void)channel_rig_open_stream(&rig, &stat_request);
	(void)channel_rig_open_stream(&rig, &stats_request);
	say_entries(&rig, 1, 1);
	AGENT_SEND(&rig, 3, 0, .type = WIRE_STATS_ARE);
	agent_done(&rig, 1);
	agent_done(&rig, 3);
	channel_rig_check(&rig, "s1:ENTRIES s3:STATS_ARE s1:done s3:done");
	(void)channel_rig_open_stream(&rig, &stat_request);
	say_entries(&rig, 5, 2);
	check_breach(&rig, "ENTRIES on stream 5: more than were asked for");
	channel_rig_close(&rig);
}

static void stat_without_a_record_fails_the_channel(void **state)
{
	static const struct {
		const struct wire_message *request;
		const char *why;
	} rows[] = {
		{ &stat_request, "DONE on stream 1: STAT was not answered" },
		{ &stats_request, "DONE on stream 1: STATS was not answered" },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct channel_rig rig;

		channel_rig_open_ready(&rig);
		(void)channel_rig_open_stream(&rig, rows[i].request);
		agent_done(&rig, 1);
		check_breach(&rig, rows[i].why);
		channel_rig_close(&rig);
	}
}

static void stat_may_fail_without_a_record(void **state)
{
	struct channel_rig rig;

	channel_rig_open_ready(&rig);
	(void)channel_rig_open_stream(&rig, &stat_request);
	(void)channel_rig_open_stream(&rig, &stats_request);
	for (uint32_t id = 1; id <= 3; id += 2)
		AGENT_SEND(&rig, id, 0, .type = WIRE_FAILED,
		           .failed = { .why = WIRE_FAILED_MISSING, .message = VIEW("no") });
	channel_rig_check(&rig, "s1:failed1(no) s3:failed1(no)");
	channel_rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest all[] = {
		TEST(surplus_bytes_fail_the_channel),
		TEST(output_of_a_program_is_not_limited),
		TEST(surplus_records_fail_the_channel),
		TEST(stat_and_stats_have_one_record),
		TEST(stat_without_a_record_fails_the_channel),
		TEST(stat_may_fail_without_a_record),
	};

	return RUN_TESTS("channel asked", all);
}
