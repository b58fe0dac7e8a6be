/* test_channel_asked.c - an agent that answers more, or less, than it was asked. */
#include "unit/sandbox/channel/fake_agent.h"

#define BROKEN "the agent broke the protocol: "

static void check_breach(struct rig *rig, const char *why)
{
	char want[500];

	rig_turn(rig);
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
	struct view first, second; /* the second one is too much */
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
	struct rig_stream *s;
	struct rig rig;

	rig_greeted(&rig);
	(void)rig_exec(&rig);
	s = rig_open_stream(&rig, &fetch->request);
	s->keeps = true;
	if (is_dropped)
		channel_cancel(s->stream);
	if (fetch->first.len != 0)
		agent_data(&rig, 3, WIRE_OUT, fetch->first);
	rig_check(&rig, "");
	agent_data(&rig, 3, WIRE_OUT, fetch->second);
	check_breach(&rig, fetch->why);
	assert_int_equal(s->received, is_dropped ? 0 : fetch->first.len);
	rig_close(&rig);
}

static void refuses_more_bytes_than_were_asked_for(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(fetches); i++) {
		check_fetch(&fetches[i], false);
		check_fetch(&fetches[i], true);
	}
}

static void a_program_says_as_much_as_it_likes(void **state)
{
	struct rig rig;

	(void)state;
	rig_greeted(&rig);
	(void)rig_exec(&rig);
	agent_started(&rig, 1);
	agent_data(&rig, 1, WIRE_OUT, VIEW("out"));
	rig_check(&rig, "s1:STARTED s1:bytes1(out)");
	rig_close(&rig);
}

/* --- records, and answers that are missing --- */

static void say_entries(struct rig *rig, uint32_t stream, int count)
{
	AUTO_BUF struct buf records;
	struct wire_entry entry = { .path = VIEW("a"), .target = VIEW("") };
	struct error err;

	buf_init(&records, WIRE_RECORDS_MAX);
	for (int i = 0; i < count; i++)
		CHECK_OK(wire_record_encode(&wire_entry_record, &entry, &records, &err), err);
	AGENT_SAY(rig, stream, WIRE_OUT, .type = WIRE_ENTRIES,
	          .records.records = buf_view(&records));
}

static void refuses_more_records_than_were_asked_for(void **state)
{
	struct rig rig;

	(void)state;
	rig_greeted(&rig);
	(void)rig_list(&rig, 3);
	say_entries(&rig, 1, 2);
	rig_check(&rig, "s1:ENTRIES");
	say_entries(&rig, 1, 2);
	rig_check(&rig, "s1:failed5(" BROKEN "ENTRIES on stream 1: more than were asked for) "
	                "failed(" BROKEN "ENTRIES on stream 1: more than were asked for)");
	rig_close(&rig);
}

static const struct wire_message stat_request = { .type = WIRE_STAT, .stat.path = VIEW_INIT("f") };
static const struct wire_message stats_request = { .type = WIRE_STATS };

static void takes_one_answer_to_stat_and_to_stats(void **state)
{
	struct rig rig;

	(void)state;
	rig_greeted(&rig);
	(void)rig_open_stream(&rig, &stat_request);
	(void)rig_open_stream(&rig, &stats_request);
	say_entries(&rig, 1, 1);
	AGENT_SAY(&rig, 3, 0, .type = WIRE_STATS_ARE);
	agent_done(&rig, 1);
	agent_done(&rig, 3);
	rig_check(&rig, "s1:ENTRIES s3:STATS_ARE s1:done s3:done");
	(void)rig_open_stream(&rig, &stat_request);
	say_entries(&rig, 5, 2);
	check_breach(&rig, "ENTRIES on stream 5: more than were asked for");
	rig_close(&rig);
}

static void refuses_the_end_of_stat_and_stats_without_an_answer(void **state)
{
	static const struct {
		const struct wire_message *request;
		const char *why;
	} rows[] = {
		{ &stat_request, "DONE on stream 1: STAT was not answered" },
		{ &stats_request, "DONE on stream 1: STATS was not answered" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct rig rig;

		rig_greeted(&rig);
		(void)rig_open_stream(&rig, rows[i].request);
		agent_done(&rig, 1);
		check_breach(&rig, rows[i].why);
		rig_close(&rig);
	}
}

static void stat_and_stats_may_fail_without_an_answer(void **state)
{
	struct rig rig;

	(void)state;
	rig_greeted(&rig);
	(void)rig_open_stream(&rig, &stat_request);
	(void)rig_open_stream(&rig, &stats_request);
	for (uint32_t id = 1; id <= 3; id += 2)
		AGENT_SAY(&rig, id, 0, .type = WIRE_FAILED,
		          .failed = { .why = WIRE_FAILED_MISSING, .message = VIEW("no") });
	rig_check(&rig, "s1:failed1(no) s3:failed1(no)");
	rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest all[] = {
		TEST(refuses_more_bytes_than_were_asked_for),
		TEST(a_program_says_as_much_as_it_likes),
		TEST(refuses_more_records_than_were_asked_for),
		TEST(takes_one_answer_to_stat_and_to_stats),
		TEST(refuses_the_end_of_stat_and_stats_without_an_answer),
		TEST(stat_and_stats_may_fail_without_an_answer),
	};

	return RUN_TESTS("channel asked", all);
}
