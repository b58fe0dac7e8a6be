#include "unit/test.h"
#include "wire/bytes.h"
#include "wire/stream_rules.h"

static const char zeros[WIRE_PAYLOAD_MAX];

/* --- the link: messages that are not for an open stream ----------------------------- */

enum { TAKE, PUT };

struct link_step {
	int what; /* TAKE: it arrives; PUT: this end sends it */
	uint8_t type, channel;
	uint32_t stream;
	int want;
	const char *msg;
};

#define SERVER_OPEN                                                                                \
	{ TAKE, WIRE_HELLO, 0, 0, 1, NULL }, { PUT, WIRE_WELCOME, 0, 0, 0, NULL },                 \
	{                                                                                          \
		TAKE, WIRE_READY, 0, 0, 1, NULL                                                    \
	}
#define AGENT_OPEN                                                                                 \
	{ PUT, WIRE_HELLO, 0, 0, 0, NULL }, { TAKE, WIRE_WELCOME, 0, 0, 1, NULL },                 \
	{                                                                                          \
		PUT, WIRE_READY, 0, 0, 0, NULL                                                     \
	}
enum { STEPS = 10 };

static const struct {
	enum wire_side side;
	struct link_step steps[STEPS]; /* the first with type 0 ends it */
} links[] = {
	/* the greeting */
	{ WIRE_SERVER, { SERVER_OPEN, { TAKE, WIRE_PONG, 0, 0, 1, NULL } } },
	{ WIRE_AGENT, { AGENT_OPEN, { TAKE, WIRE_PING, 0, 0, 1, NULL } } },
	{ WIRE_SERVER, { { TAKE, WIRE_READY, 0, 0, -1, "READY is out of phase (now: hello)" } } },
	{ WIRE_SERVER,
	  { { TAKE, WIRE_REFUSED, 0, 0, -1, "REFUSED is out of phase (now: hello)" } } },
	{ WIRE_SERVER, { { TAKE, WIRE_PONG, 0, 0, -1, "PONG is out of phase (now: hello)" } } },
	{ WIRE_SERVER,
	  { { TAKE, WIRE_HELLO, 0, 0, 1, NULL },
	    { TAKE, WIRE_HELLO, 0, 0, -1, "HELLO is out of phase (now: welcome)" },
	    { TAKE, WIRE_READY, 0, 0, -1, "READY is out of phase (now: welcome)" },
	    { PUT, WIRE_WELCOME, 0, 0, 0, NULL },
	    { TAKE, WIRE_REFUSED, 0, 0, 1, NULL } } },
	{ WIRE_SERVER,
	  { SERVER_OPEN,
	    { TAKE, WIRE_READY, 0, 0, -1, "READY is out of phase (now: open)" },
	    { TAKE, WIRE_REFUSED, 0, 0, -1, "REFUSED is out of phase (now: open)" } } },
	{ WIRE_AGENT,
	  { { TAKE, WIRE_WELCOME, 0, 0, -1, "WELCOME is out of phase (now: hello)" },
	    { PUT, WIRE_HELLO, 0, 0, 0, NULL },
	    { TAKE, WIRE_EXEC, 0, 1, -1, "EXEC is out of phase (now: welcome)" },
	    { TAKE, WIRE_WELCOME, 0, 0, 1, NULL },
	    { TAKE, WIRE_WELCOME, 0, 0, -1, "WELCOME is out of phase (now: ready)" },
	    { TAKE, WIRE_EXEC, 0, 1, -1, "EXEC is out of phase (now: ready)" },
	    { TAKE, WIRE_PING, 0, 0, -1, "PING is out of phase (now: ready)" },
	    { PUT, WIRE_READY, 0, 0, 0, NULL },
	    { TAKE, WIRE_EXEC, 0, 1, 1, NULL } } },
	/* the wrong side */
	{ WIRE_SERVER,
	  { { TAKE, WIRE_WELCOME, 0, 0, -1, "WELCOME came from the wrong end" },
	    { TAKE, WIRE_EXEC, 0, 2, -1, "EXEC came from the wrong end" },
	    { TAKE, WIRE_PING, 0, 0, -1, "PING came from the wrong end" } } },
	{ WIRE_AGENT,
	  { { TAKE, WIRE_HELLO, 0, 0, -1, "HELLO came from the wrong end" },
	    { TAKE, WIRE_PONG, 0, 0, -1, "PONG came from the wrong end" } } },
	/* where it does not belong */
	{ WIRE_SERVER,
	  { { TAKE, WIRE_HELLO, 0, 1, -1, "HELLO on stream 1" },
	    { TAKE, WIRE_HELLO, 1, 0, -1, "HELLO names channel 1" },
	    { TAKE, WIRE_DATA, 0, 0, -1, "DATA on stream 0, which is not open" },
	    { TAKE, 0x66, 0, 0, -1, "message 0x66 is unknown" },
	    { TAKE, 0xff, 0, 2, -1, "message 0xff is unknown" } } },
	{ WIRE_AGENT, { AGENT_OPEN, { TAKE, WIRE_EXEC, 3, 1, -1, "EXEC names channel 3" } } },
	/* numbers of streams */
	{ WIRE_AGENT,
	  { AGENT_OPEN,
	    { TAKE, WIRE_EXEC, 0, 0, -1, "EXEC opens stream 0 where 1 is next" },
	    { TAKE, WIRE_EXEC, 0, 2, -1, "EXEC opens stream 2 where 1 is next" },
	    { TAKE, WIRE_EXEC, 0, 3, -1, "EXEC opens stream 3 where 1 is next" },
	    { TAKE, WIRE_EXEC, 0, 1, 1, NULL },
	    { TAKE, WIRE_READ, 0, 1, -1, "READ opens stream 1 where 3 is next" },
	    { TAKE, WIRE_READ, 0, 3, 1, NULL },
	    { TAKE, WIRE_STATS, 0, 7, -1, "STATS opens stream 7 where 5 is next" } } },
	/* streams that have ended, and such as were never opened */
	{ WIRE_SERVER,
	  { SERVER_OPEN,
	    { TAKE, WIRE_EXEC, 0, 2, -1, "EXEC came from the wrong end" },
	    { TAKE, WIRE_DATA, 1, 1, -1, "DATA on stream 1, which is not open" },
	    { TAKE, WIRE_DONE, 0, 2, -1, "DONE on stream 2, which is not open" } } },
	{ WIRE_AGENT,
	  { AGENT_OPEN,
	    { TAKE, WIRE_EXEC, 0, 1, 1, NULL },
	    { TAKE, WIRE_CREDIT, 1, 1, 0, NULL },
	    { TAKE, WIRE_SIGNAL, 0, 1, 0, NULL },
	    { TAKE, WIRE_SIGNAL, 0, 3, -1, "SIGNAL on stream 3, which is not open" },
	    { TAKE, WIRE_DATA, 1, 2, -1, "DATA on stream 2, which is not open" } } },
};

static void check_link_step(struct wire_link *link, const struct link_step *step)
{
	struct wire_frame frame = { step->type, step->channel, step->stream, { zeros, 0 } };
	struct wire_link before = *link;
	struct error err;

	if (step->what == PUT) {
		wire_link_sent(link, step->type);
		return;
	}
	if (step->want >= 0) {
		assert_int_equal(wire_link_receive(link, &frame, &err), step->want);
		return;
	}
	CHECK_ERROR(wire_link_receive(link, &frame, &err), err, ERR_SYNTAX, step->msg);
	assert_memory_equal(link, &before, sizeof before);
}

static void link_accepts_only_what_its_phase_allows(void **state)
{
	for (size_t i = 0; i < ARRAY_LEN(links); i++) {
		struct wire_link link;

		wire_link_init(&link, links[i].side);
		for (size_t s = 0; s < STEPS && links[i].steps[s].type != 0; s++)
			check_link_step(&link, &links[i].steps[s]);
	}
}

/* After hours of opening and closing a stream would get number 0, which is the channel itself. */
static void stream_numbers_come_to_an_end(void **state)
{
	enum { LAST = 4294967291 };
	struct wire_frame frame = { .type = WIRE_EXEC, .stream = LAST };
	struct wire_link server, agent;
	struct error err;

	wire_link_init(&server, WIRE_SERVER);
	server.next = LAST;
	assert_int_equal(wire_link_next(&server), LAST);
	assert_int_equal(wire_link_next(&server), 0);
	assert_int_equal(wire_link_next(&server), 0);

	wire_link_init(&agent, WIRE_AGENT);
	wire_link_sent(&agent, WIRE_READY);
	agent.next = LAST;
	assert_int_equal(wire_link_receive(&agent, &frame, &err), 1);
	for (uint32_t more = 0; more < 8; more++) {
		frame.stream = LAST + more;
		CHECK_ERROR(wire_link_receive(&agent, &frame, &err), err, ERR_LIMIT,
		            "EXEC where all stream numbers are used up");
	}
}

static void server_numbers_its_streams_with_odd_numbers(void **state)
{
	struct wire_link server;

	wire_link_init(&server, WIRE_SERVER);
	for (uint32_t i = 0; i < 5; i++)
		assert_int_equal(wire_link_next(&server), 2 * i + 1);
}

/* --- one stream: the server S and the agent A send in turn -------------------------- */

struct step {
	char who; /* 0 ends the script */
	uint8_t type, channel;
	uint32_t bytes;  /* of payload; of CREDIT: what it gives */
	const char *msg; /* NULL: it may be sent */
};

enum { TURNS = 12, TOP = WIRE_CREDIT_MAX - WIRE_WINDOW };
#define OK(who, type, channel, bytes)                                                              \
	{                                                                                          \
#who[0], WIRE_##type, channel, bytes, NULL                                         \
	}
#define NO(who, type, channel, bytes, msg)                                                         \
	{                                                                                          \
#who[0], WIRE_##type, channel, bytes, msg                                          \
	}
#define STARTED OK(A, STARTED, 0, 4)

static const struct {
	enum wire_kind kind;
	struct step turns[TURNS];
} scripts[] = {
	/* whole lives */
	{ WIRE_KIND_RUN,
	  { OK(S, DATA, 0, 10), OK(S, END, 0, 0), STARTED, OK(A, CREDIT, 0, 10), OK(A, DATA, 1, 5),
	    OK(A, DATA, 2, 5), OK(A, EXITED, 0, 35), OK(A, DATA, 1, 5), OK(A, END, 1, 0),
	    OK(A, END, 2, 0), OK(A, DONE, 0, 35) } },
	{ WIRE_KIND_RUN,
	  { OK(S, SIGNAL, 0, 2), OK(S, RESIZE, 0, 4), OK(S, DEADLINE, 0, 8), STARTED,
	    OK(S, SIGNAL, 0, 2), OK(S, DATA, 3, 9), OK(A, DATA, 4, 9), OK(S, END, 3, 0),
	    OK(A, END, 4, 0), OK(A, FAILED, 0, 9) } },
	{ WIRE_KIND_FETCH, { OK(A, DATA, 1, 65528), OK(A, END, 1, 0), OK(A, DONE, 0, 35) } },
	{ WIRE_KIND_STORE,
	  { OK(S, DATA, 0, 65528), OK(A, CREDIT, 0, 65528), OK(S, END, 0, 0),
	    OK(A, DONE, 0, 35) } },
	{ WIRE_KIND_QUERY,
	  { OK(A, ENTRIES, 1, 32768), OK(A, MATCHES, 1, 32768), OK(S, CREDIT, 1, 65536),
	    OK(A, STATS_ARE, 0, 73), OK(A, DONE, 0, 35) } },
	/* before and after STARTED */
	{ WIRE_KIND_RUN,
	  { NO(A, DATA, 1, 1, "DATA on stream 9 is out of phase (now: starting)"),
	    NO(A, END, 1, 0, "END on stream 9 is out of phase (now: starting)"),
	    NO(A, DONE, 0, 35, "DONE on stream 9 is out of phase (now: starting)"),
	    NO(A, EXITED, 0, 35, "EXITED on stream 9 is out of phase (now: starting)"),
	    OK(S, DATA, 0, 1), STARTED,
	    NO(A, STARTED, 0, 4, "STARTED on stream 9 is out of phase (now: running)"),
	    OK(A, DATA, 1, 1) } },
	{ WIRE_KIND_FETCH, { NO(A, STARTED, 0, 4, "STARTED on stream 9, which is a fetch") } },

	/* once is enough */
	{ WIRE_KIND_RUN,
	  { STARTED, OK(A, EXITED, 0, 35),
	    NO(A, EXITED, 0, 35, "EXITED on stream 9 for the second time"), OK(S, CLOSE, 0, 0),
	    NO(S, CLOSE, 0, 0, "CLOSE on stream 9 for the second time") } },
	{ WIRE_KIND_QUERY,
	  { OK(A, STATS_ARE, 0, 73),
	    NO(A, STATS_ARE, 0, 73, "STATS_ARE on stream 9 for the second time") } },

	/* the end of a channel */
	{ WIRE_KIND_RUN,
	  { OK(S, END, 0, 0), NO(S, END, 0, 0, "END on stream 9 after the end of channel 0"),
	    NO(S, DATA, 0, 1, "DATA on stream 9 after the end of channel 0"), OK(A, CREDIT, 0, 1),
	    STARTED, OK(A, DATA, 1, 1), OK(A, END, 1, 0),
	    NO(A, DATA, 1, 1, "DATA on stream 9 after the end of channel 1"),
	    NO(A, END, 1, 0, "END on stream 9 after the end of channel 1"), OK(S, CREDIT, 1, 1) } },

	/* the end of the stream */
	{ WIRE_KIND_FETCH,
	  { OK(A, DONE, 0, 35), NO(A, DATA, 1, 1, "DATA after the end of stream 9"),
	    NO(A, DONE, 0, 35, "DONE after the end of stream 9"),
	    NO(A, FAILED, 0, 9, "FAILED after the end of stream 9"),
	    NO(S, CREDIT, 1, 1, "CREDIT after the end of stream 9"),
	    NO(S, CLOSE, 0, 0, "CLOSE after the end of stream 9") } },
	{ WIRE_KIND_RUN,
	  { OK(A, FAILED, 0, 9), NO(A, STARTED, 0, 4, "STARTED after the end of stream 9"),
	    NO(S, DATA, 0, 1, "DATA after the end of stream 9") } },

	/* credit: exactly, one more, given back, to the top */
	{ WIRE_KIND_FETCH,
	  { OK(A, DATA, 1, 65528), OK(A, DATA, 1, 8),
	    NO(A, DATA, 1, 1, "DATA on stream 9: 1 bytes with credit for 0"), OK(A, END, 1, 0) } },
	{ WIRE_KIND_FETCH,
	  { OK(A, DATA, 1, 65528), NO(A, DATA, 1, 9, "DATA on stream 9: 9 bytes with credit for 8"),
	    OK(S, CREDIT, 1, 1), OK(A, DATA, 1, 9) } },
	{ WIRE_KIND_STORE,
	  { OK(A, CREDIT, 0, TOP), NO(A, CREDIT, 0, 1, "CREDIT on stream 9: more than 16777216"),
	    OK(S, DATA, 0, 1), OK(A, CREDIT, 0, 1),
	    NO(A, CREDIT, 0, WIRE_CREDIT_MAX, "CREDIT on stream 9: more than 16777216"),
	    NO(A, CREDIT, 0, UINT32_MAX, "CREDIT on stream 9: more than 16777216") } },
	{ WIRE_KIND_QUERY,
	  { OK(A, ENTRIES, 1, 32768), OK(A, MATCHES, 1, 32768),
	    NO(A, ENTRIES, 1, 1, "ENTRIES on stream 9: 1 bytes with credit for 0"),
	    NO(A, MATCHES, 1, 7, "MATCHES on stream 9: 7 bytes with credit for 0"),
	    OK(A, STATS_ARE, 0, 73) } },
	/* each channel has its own */
	{ WIRE_KIND_RUN,
	  { STARTED, OK(A, DATA, 1, 65528), OK(A, DATA, 1, 8), OK(A, DATA, 2, 65528),
	    OK(A, DATA, 4, 65528), OK(S, DATA, 0, 65528), OK(S, DATA, 3, 65528),
	    NO(A, DATA, 1, 1, "DATA on stream 9: 1 bytes with credit for 0"), OK(S, CREDIT, 2, 5),
	    NO(A, DATA, 1, 1, "DATA on stream 9: 1 bytes with credit for 0"),
	    NO(A, DATA, 2, 14, "DATA on stream 9: 14 bytes with credit for 13") } },

	/* the wrong way */
	{ WIRE_KIND_RUN,
	  { STARTED, NO(S, DATA, 1, 1, "DATA on stream 9 names channel 1"),
	    NO(S, END, 2, 0, "END on stream 9 names channel 2"),
	    NO(A, DATA, 0, 1, "DATA on stream 9 names channel 0"),
	    NO(A, DATA, 3, 1, "DATA on stream 9 names channel 3"),
	    NO(S, DATA, 4, 1, "DATA on stream 9 names channel 4"),
	    NO(S, CREDIT, 0, 1, "CREDIT on stream 9 names channel 0"),
	    NO(A, CREDIT, 1, 1, "CREDIT on stream 9 names channel 1"),
	    NO(S, CREDIT, 3, 1, "CREDIT on stream 9 names channel 3"),
	    NO(A, CREDIT, 4, 1, "CREDIT on stream 9 names channel 4") } },
	/* channels that are not there */
	{ WIRE_KIND_RUN,
	  { STARTED, NO(S, DATA, 5, 1, "DATA on stream 9 names channel 5"),
	    NO(A, DATA, 5, 1, "DATA on stream 9 names channel 5"),
	    NO(A, DATA, 31, 1, "DATA on stream 9 names channel 31"),
	    NO(A, DATA, 33, 1, "DATA on stream 9 names channel 33"),
	    NO(A, END, 255, 0, "END on stream 9 names channel 255"),
	    NO(S, CREDIT, 255, 1, "CREDIT on stream 9 names channel 255"),
	    NO(S, SIGNAL, 1, 2, "SIGNAL names channel 1"),
	    NO(A, EXITED, 200, 35, "EXITED names channel 200") } },
	{ WIRE_KIND_FETCH,
	  { NO(S, DATA, 0, 1, "DATA on stream 9 names channel 0"),
	    NO(A, DATA, 2, 1, "DATA on stream 9 names channel 2"),
	    NO(S, CREDIT, 2, 1, "CREDIT on stream 9 names channel 2") } },
	{ WIRE_KIND_STORE,
	  { NO(A, DATA, 1, 1, "DATA on stream 9 names channel 1"),
	    NO(S, DATA, 3, 1, "DATA on stream 9 names channel 3") } },
	{ WIRE_KIND_QUERY, { NO(S, CREDIT, 2, 1, "CREDIT on stream 9 names channel 2") } },

	/* the wrong kind */
	{ WIRE_KIND_FETCH,
	  { NO(S, SIGNAL, 0, 2, "SIGNAL on stream 9, which is a fetch"),
	    NO(A, ENTRIES, 1, 9, "ENTRIES on stream 9, which is a fetch"),
	    NO(A, EXITED, 0, 35, "EXITED on stream 9, which is a fetch") } },
	{ WIRE_KIND_QUERY,
	  { NO(A, DATA, 1, 1, "DATA on stream 9, which is a query"),
	    NO(A, END, 1, 0, "END on stream 9, which is a query"),
	    NO(S, EXEC, 0, 90, "EXEC on stream 9, which is a query"),
	    NO(S, PING, 0, 8, "PING on stream 9, which is a query"),
	    NO(A, HELLO, 0, 8, "HELLO on stream 9, which is a query"),
	    { 'S', 0x6f, 0, 0, "message 0x6f is unknown" },
	    { 'S', 0xf0, 0, 0, "message 0xf0 is unknown" } } },

	/* the wrong end */
	{ WIRE_KIND_RUN,
	  { STARTED, NO(S, EXITED, 0, 35, "EXITED on stream 9 comes from the wrong end"),
	    NO(S, DONE, 0, 35, "DONE on stream 9 comes from the wrong end"),
	    NO(S, FAILED, 0, 9, "FAILED on stream 9 comes from the wrong end"),
	    NO(A, CLOSE, 0, 0, "CLOSE on stream 9 comes from the wrong end"),
	    NO(A, SIGNAL, 0, 2, "SIGNAL on stream 9 comes from the wrong end"),
	    NO(S, STARTED, 0, 4, "STARTED on stream 9 comes from the wrong end") } },
};

static void check_turn(struct wire_stream *sender, struct wire_stream *receiver,
                       const struct step *turn)
{
	struct wire_frame frame = { turn->type, turn->channel, 9, { zeros, turn->bytes } };
	struct wire_stream before[2];
	struct error err;
	char credit[4];

	if (turn->type == WIRE_CREDIT) {
		bytes_put32(credit, turn->bytes);
		frame.payload = (struct view){ credit, sizeof credit };
	}
	memcpy(&before[0], sender, sizeof *sender);
	memcpy(&before[1], receiver, sizeof *receiver);
	if (turn->msg == NULL) {
		CHECK_OK(wire_stream_send(sender, &frame, &err), err);
		CHECK_OK(wire_stream_receive(receiver, &frame, &err), err);
		return;
	}
	CHECK_ERROR(wire_stream_send(sender, &frame, &err), err,
	            strstr(turn->msg, "credit for") || strstr(turn->msg, "more than") ? ERR_LIMIT
	                                                                              : ERR_SYNTAX,
	            turn->msg);
	CHECK_ERROR(wire_stream_receive(receiver, &frame, &err), err, err.kind, turn->msg);
	assert_memory_equal(&before[0], sender, sizeof *sender);
	assert_memory_equal(&before[1], receiver, sizeof *receiver);
}

/* A frame that one end may not send is refused by the other end with the same error. */
static void both_ends_enforce_the_same_rules(void **state)
{
	for (size_t i = 0; i < ARRAY_LEN(scripts); i++) {
		struct wire_stream server, agent;

		wire_stream_init(&server, 9, scripts[i].kind, WIRE_SERVER);
		wire_stream_init(&agent, 9, scripts[i].kind, WIRE_AGENT);
		for (size_t t = 0; t < TURNS && scripts[i].turns[t].who != 0; t++) {
			const struct step *turn = &scripts[i].turns[t];

			if (turn->who == 'S')
				check_turn(&server, &agent, turn);
			else
				check_turn(&agent, &server, turn);
		}
	}
}

/* A caller can ask whether a channel may be sent on without knowing the kind of its stream. */
static void missing_channel_has_ended_and_has_no_credit(void **state)
{
	for (int kind = WIRE_KIND_RUN; kind < WIRE_KIND_COUNT; kind++) {
		unsigned there = wire_kind((enum wire_kind)kind)->channels;
		struct wire_stream stream;

		wire_stream_init(&stream, 1, (enum wire_kind)kind, WIRE_SERVER);
		for (unsigned c = 0; c < WIRE_CHANNELS; c++) {
			assert_int_equal((stream.ended >> c & 1), !(there >> c & 1));
			assert_int_equal(stream.credit[c], there >> c & 1 ? WIRE_WINDOW : 0);
		}
	}
}

static void stream_knows_the_direction_of_its_channels(void **state)
{
	struct wire_stream server, agent;

	wire_stream_init(&server, 1, WIRE_KIND_RUN, WIRE_SERVER);
	wire_stream_init(&agent, 1, WIRE_KIND_RUN, WIRE_AGENT);
	for (uint8_t channel = 0; channel < WIRE_CHANNELS; channel++) {
		bool in = channel == WIRE_IN || channel == WIRE_CONTROL_IN;

		assert_int_equal(wire_stream_sends(&server, channel), in);
		assert_int_equal(wire_stream_sends(&agent, channel), !in);
	}
}

int main(void)
{
	const struct CMUnitTest all[] = {
		TEST(link_accepts_only_what_its_phase_allows),
		TEST(stream_numbers_come_to_an_end),
		TEST(server_numbers_its_streams_with_odd_numbers),
		TEST(both_ends_enforce_the_same_rules),
		TEST(missing_channel_has_ended_and_has_no_credit),
		TEST(stream_knows_the_direction_of_its_channels),
	};

	return RUN_TESTS("stream rules", all);
}
