#include "unit/test.h"
#include "wire/bytes.h"
#include "wire/stream.h"

static const char zeros[WIRE_PAYLOAD_MAX];

/* --- the link: who may say what when, before there is a stream for it --------------- */

enum { TAKE, PUT };

struct link_step {
	int what; /* TAKE from the peer, or PUT by us */
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
	{ WIRE_SERVER, { { TAKE, WIRE_DIAL, 0, 2, -1, "DIAL is out of phase (now: hello)" } } },
	{ WIRE_SERVER, { { TAKE, WIRE_PONG, 0, 0, -1, "PONG is out of phase (now: hello)" } } },
	{ WIRE_SERVER,
	  { { TAKE, WIRE_HELLO, 0, 0, 1, NULL },
	    { TAKE, WIRE_HELLO, 0, 0, -1, "HELLO is out of phase (now: welcome)" },
	    { TAKE, WIRE_READY, 0, 0, -1, "READY is out of phase (now: welcome)" },
	    { PUT, WIRE_WELCOME, 0, 0, 0, NULL },
	    { TAKE, WIRE_DIAL, 0, 2, -1, "DIAL is out of phase (now: ready)" },
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
	  { { TAKE, WIRE_WELCOME, 0, 0, -1, "WELCOME is not the peer's to say" },
	    { TAKE, WIRE_EXEC, 0, 2, -1, "EXEC is not the peer's to say" },
	    { TAKE, WIRE_PING, 0, 0, -1, "PING is not the peer's to say" } } },
	{ WIRE_AGENT,
	  { { TAKE, WIRE_HELLO, 0, 0, -1, "HELLO is not the peer's to say" },
	    { TAKE, WIRE_DIAL, 0, 1, -1, "DIAL is not the peer's to say" },
	    { TAKE, WIRE_PONG, 0, 0, -1, "PONG is not the peer's to say" } } },
	/* where it does not belong */
	{ WIRE_SERVER,
	  { { TAKE, WIRE_HELLO, 0, 1, -1, "HELLO on stream 1" },
	    { TAKE, WIRE_HELLO, 1, 0, -1, "HELLO names channel 1" },
	    { TAKE, WIRE_DATA, 0, 0, -1, "DATA on stream 0, which is not open" },
	    { TAKE, 0x66, 0, 0, -1, "message 0x66: there is none" },
	    { TAKE, 0xff, 0, 2, -1, "message 0xff: there is none" } } },
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
	{ WIRE_SERVER,
	  { SERVER_OPEN,
	    { TAKE, WIRE_DIAL, 0, 1, -1, "DIAL opens stream 1 where 2 is next" },
	    { TAKE, WIRE_DIAL, 0, 2, 1, NULL },
	    { TAKE, WIRE_DIAL, 0, 6, -1, "DIAL opens stream 6 where 4 is next" },
	    { TAKE, WIRE_DIAL, 0, 4, 1, NULL } } },
	/* streams that are gone, and such as never were: the peer's own may have crossed */
	{ WIRE_SERVER,
	  { SERVER_OPEN,
	    { TAKE, WIRE_DATA, 0, 2, -1, "DATA on stream 2, which is not open" },
	    { TAKE, WIRE_DIAL, 0, 2, 1, NULL },
	    { TAKE, WIRE_DATA, 0, 2, 0, NULL },
	    { TAKE, WIRE_CLOSE, 0, 2, 0, NULL },
	    { TAKE, WIRE_DATA, 0, 4, -1, "DATA on stream 4, which is not open" },
	    { TAKE, WIRE_DATA, 0, 1, -1, "DATA on stream 1, which is not open" } } },
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
		wire_link_put(link, step->type);
		return;
	}
	if (step->want >= 0) {
		assert_int_equal(wire_link_take(link, &frame, &err), step->want);
		return;
	}
	CHECK_ERROR(wire_link_take(link, &frame, &err), err, ERR_SYNTAX, step->msg);
	assert_memory_equal(link, &before, sizeof before);
}

static void a_link_takes_what_is_due_and_nothing_else(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(links); i++) {
		struct wire_link link;

		wire_link_init(&link, links[i].side);
		for (size_t s = 0; s < STEPS && links[i].steps[s].type != 0; s++)
			check_link_step(&link, &links[i].steps[s]);
	}
}

/* Hours of opening and closing must not lead back to stream 0, which is the channel. */
static void numbers_of_streams_come_to_an_end(void **state)
{
	static const struct {
		enum wire_side side;
		uint8_t opener;
		uint32_t last, theirs;
	} ends[] = {
		{ WIRE_SERVER, WIRE_DIAL, 4294967291, 4294967292 },
		{ WIRE_AGENT, WIRE_EXEC, 4294967292, 4294967291 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
		struct wire_frame frame = { .type = ends[i].opener, .stream = ends[i].theirs };
		struct wire_link link;
		struct error err;
		char want[80];

		wire_link_init(&link, ends[i].side);
		wire_link_put(&link, WIRE_READY);
		link.next = ends[i].last;
		assert_int_equal(wire_link_next(&link), ends[i].last);
		assert_int_equal(wire_link_next(&link), 0);
		assert_int_equal(wire_link_next(&link), 0);

		link.peer_last = ends[i].theirs - 2;
		assert_int_equal(wire_link_take(&link, &frame, &err), 1);
		(void)snprintf(want, sizeof want, "%s where there are no more streams",
		               wire_spec(ends[i].opener)->name);
		for (uint32_t more = 0; more < 8; more++) {
			frame.stream = ends[i].theirs + more;
			CHECK_ERROR(wire_link_take(&link, &frame, &err), err, ERR_LIMIT, want);
		}
	}
}

static void each_side_counts_its_own_streams(void **state)
{
	struct wire_link server, agent;

	(void)state;
	wire_link_init(&server, WIRE_SERVER);
	wire_link_init(&agent, WIRE_AGENT);
	for (uint32_t i = 0; i < 5; i++) {
		assert_int_equal(wire_link_next(&server), 2 * i + 1);
		assert_int_equal(wire_link_next(&agent), 2 * i + 2);
	}
}

/* --- one stream: the opener O and the acceptor A speak in turn ----------------------- */

struct step {
	char who; /* 0 ends the script */
	uint8_t type, channel;
	uint32_t bytes;  /* of payload; of CREDIT: what it gives */
	const char *msg; /* NULL: it may be said */
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
	  { OK(O, DATA, 0, 10), OK(O, END, 0, 0), STARTED, OK(A, CREDIT, 0, 10), OK(A, DATA, 1, 5),
	    OK(A, DATA, 2, 5), OK(A, EXITED, 0, 35), OK(A, DATA, 1, 5), OK(A, END, 1, 0),
	    OK(A, END, 2, 0), OK(A, DONE, 0, 35) } },
	{ WIRE_KIND_RUN,
	  { OK(O, KEEP, 0, 4), OK(O, TAIL, 0, 14), STARTED, OK(A, TAIL_IS, 0, 18),
	    OK(A, EXITED, 0, 35), OK(O, TAIL, 0, 14), OK(A, TAIL_IS, 0, 18), OK(O, CLOSE, 0, 0),
	    OK(A, DONE, 0, 35) } },
	{ WIRE_KIND_RUN,
	  { OK(O, SIGNAL, 0, 2), OK(O, RESIZE, 0, 4), OK(O, DEADLINE, 0, 8), STARTED,
	    OK(O, SIGNAL, 0, 2), OK(O, DATA, 3, 9), OK(A, DATA, 4, 9), OK(O, END, 3, 0),
	    OK(A, END, 4, 0), OK(A, FAILED, 0, 9) } },
	{ WIRE_KIND_FETCH, { OK(A, DATA, 1, 65528), OK(A, END, 1, 0), OK(A, DONE, 0, 35) } },
	{ WIRE_KIND_STORE,
	  { OK(O, DATA, 0, 65528), OK(A, CREDIT, 0, 65528), OK(O, END, 0, 0),
	    OK(A, DONE, 0, 35) } },
	{ WIRE_KIND_QUERY,
	  { OK(A, ENTRIES, 1, 32768), OK(A, MATCHES, 1, 32768), OK(O, CREDIT, 1, 65536),
	    OK(A, STATS_ARE, 0, 73), OK(A, DONE, 0, 35) } },
	{ WIRE_KIND_CONNECT,
	  { OK(O, DATA, 0, 1), OK(O, CREDIT, 1, 1), OK(A, OPENED, 0, 0), OK(A, DATA, 1, 1),
	    OK(A, END, 1, 0), OK(O, DATA, 0, 1), OK(O, END, 0, 0), OK(A, DONE, 0, 35) } },
	{ WIRE_KIND_CONNECT, { OK(A, CREDIT, 0, 1), OK(A, FAILED, 0, 9) } },

	/* before and after STARTED and OPENED */
	{ WIRE_KIND_RUN,
	  { NO(A, DATA, 1, 1, "DATA on stream 9 is out of phase (now: asked)"),
	    NO(A, END, 1, 0, "END on stream 9 is out of phase (now: asked)"),
	    NO(A, DONE, 0, 35, "DONE on stream 9 is out of phase (now: asked)"),
	    NO(A, EXITED, 0, 35, "EXITED on stream 9 is out of phase (now: asked)"),
	    OK(A, TAIL_IS, 0, 18), NO(A, OPENED, 0, 0, "OPENED on stream 9, which is a run"),
	    OK(O, DATA, 0, 1), STARTED,
	    NO(A, STARTED, 0, 4, "STARTED on stream 9 is out of phase (now: going)"),
	    OK(A, DATA, 1, 1) } },
	{ WIRE_KIND_CONNECT,
	  { NO(A, DATA, 1, 1, "DATA on stream 9 is out of phase (now: asked)"), OK(A, OPENED, 0, 0),
	    NO(A, OPENED, 0, 0, "OPENED on stream 9 is out of phase (now: going)"),
	    NO(A, STARTED, 0, 4, "STARTED on stream 9, which is a connect") } },
	{ WIRE_KIND_FETCH, { NO(A, STARTED, 0, 4, "STARTED on stream 9, which is a fetch") } },

	/* once is enough */
	{ WIRE_KIND_RUN,
	  { STARTED, OK(O, KEEP, 0, 4), NO(O, KEEP, 0, 4, "KEEP on stream 9 for the second time"),
	    OK(A, EXITED, 0, 35), NO(A, EXITED, 0, 35, "EXITED on stream 9 for the second time"),
	    OK(O, CLOSE, 0, 0), NO(O, CLOSE, 0, 0, "CLOSE on stream 9 for the second time") } },
	{ WIRE_KIND_QUERY,
	  { OK(A, STATS_ARE, 0, 73),
	    NO(A, STATS_ARE, 0, 73, "STATS_ARE on stream 9 for the second time") } },

	/* the end of a channel */
	{ WIRE_KIND_CONNECT,
	  { OK(O, END, 0, 0), NO(O, END, 0, 0, "END on stream 9 after the end of channel 0"),
	    NO(O, DATA, 0, 1, "DATA on stream 9 after the end of channel 0"), OK(A, CREDIT, 0, 1),
	    OK(A, OPENED, 0, 0), OK(A, DATA, 1, 1), OK(A, END, 1, 0),
	    NO(A, DATA, 1, 1, "DATA on stream 9 after the end of channel 1"),
	    NO(A, END, 1, 0, "END on stream 9 after the end of channel 1"), OK(O, CREDIT, 1, 1) } },

	/* the end of the stream */
	{ WIRE_KIND_FETCH,
	  { OK(A, DONE, 0, 35), NO(A, DATA, 1, 1, "DATA after the end of stream 9"),
	    NO(A, DONE, 0, 35, "DONE after the end of stream 9"),
	    NO(A, FAILED, 0, 9, "FAILED after the end of stream 9"),
	    NO(O, CREDIT, 1, 1, "CREDIT after the end of stream 9"),
	    NO(O, CLOSE, 0, 0, "CLOSE after the end of stream 9") } },
	{ WIRE_KIND_RUN,
	  { OK(A, FAILED, 0, 9), NO(A, STARTED, 0, 4, "STARTED after the end of stream 9"),
	    NO(O, DATA, 0, 1, "DATA after the end of stream 9") } },

	/* credit: exactly, one more, given back, to the top */
	{ WIRE_KIND_FETCH,
	  { OK(A, DATA, 1, 65528), OK(A, DATA, 1, 8),
	    NO(A, DATA, 1, 1, "DATA on stream 9: 1 bytes with credit for 0"), OK(A, END, 1, 0) } },
	{ WIRE_KIND_FETCH,
	  { OK(A, DATA, 1, 65528), NO(A, DATA, 1, 9, "DATA on stream 9: 9 bytes with credit for 8"),
	    OK(O, CREDIT, 1, 1), OK(A, DATA, 1, 9) } },
	{ WIRE_KIND_STORE,
	  { OK(A, CREDIT, 0, TOP), NO(A, CREDIT, 0, 1, "CREDIT on stream 9: more than 16777216"),
	    OK(O, DATA, 0, 1), OK(A, CREDIT, 0, 1),
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
	    OK(A, DATA, 4, 65528), OK(O, DATA, 0, 65528), OK(O, DATA, 3, 65528),
	    NO(A, DATA, 1, 1, "DATA on stream 9: 1 bytes with credit for 0"), OK(O, CREDIT, 2, 5),
	    NO(A, DATA, 1, 1, "DATA on stream 9: 1 bytes with credit for 0"),
	    NO(A, DATA, 2, 14, "DATA on stream 9: 14 bytes with credit for 13") } },

	/* the wrong way */
	{ WIRE_KIND_RUN,
	  { STARTED, NO(O, DATA, 1, 1, "DATA on stream 9 names channel 1"),
	    NO(O, END, 2, 0, "END on stream 9 names channel 2"),
	    NO(A, DATA, 0, 1, "DATA on stream 9 names channel 0"),
	    NO(A, DATA, 3, 1, "DATA on stream 9 names channel 3"),
	    NO(O, DATA, 4, 1, "DATA on stream 9 names channel 4"),
	    NO(O, CREDIT, 0, 1, "CREDIT on stream 9 names channel 0"),
	    NO(A, CREDIT, 1, 1, "CREDIT on stream 9 names channel 1"),
	    NO(O, CREDIT, 3, 1, "CREDIT on stream 9 names channel 3"),
	    NO(A, CREDIT, 4, 1, "CREDIT on stream 9 names channel 4") } },
	/* channels that are not there */
	{ WIRE_KIND_RUN,
	  { STARTED, NO(O, DATA, 5, 1, "DATA on stream 9 names channel 5"),
	    NO(A, DATA, 5, 1, "DATA on stream 9 names channel 5"),
	    NO(A, DATA, 31, 1, "DATA on stream 9 names channel 31"),
	    NO(A, DATA, 33, 1, "DATA on stream 9 names channel 33"),
	    NO(A, END, 255, 0, "END on stream 9 names channel 255"),
	    NO(O, CREDIT, 255, 1, "CREDIT on stream 9 names channel 255"),
	    NO(O, SIGNAL, 1, 2, "SIGNAL names channel 1"),
	    NO(A, EXITED, 200, 35, "EXITED names channel 200") } },
	{ WIRE_KIND_FETCH,
	  { NO(O, DATA, 0, 1, "DATA on stream 9 names channel 0"),
	    NO(A, DATA, 2, 1, "DATA on stream 9 names channel 2"),
	    NO(O, CREDIT, 2, 1, "CREDIT on stream 9 names channel 2") } },
	{ WIRE_KIND_STORE,
	  { NO(A, DATA, 1, 1, "DATA on stream 9 names channel 1"),
	    NO(O, DATA, 3, 1, "DATA on stream 9 names channel 3") } },
	{ WIRE_KIND_CONNECT, { NO(O, DATA, 3, 1, "DATA on stream 9 names channel 3") } },
	{ WIRE_KIND_QUERY, { NO(O, CREDIT, 2, 1, "CREDIT on stream 9 names channel 2") } },

	/* the wrong kind */
	{ WIRE_KIND_FETCH,
	  { NO(O, SIGNAL, 0, 2, "SIGNAL on stream 9, which is a fetch"),
	    NO(A, ENTRIES, 1, 9, "ENTRIES on stream 9, which is a fetch"),
	    NO(A, EXITED, 0, 35, "EXITED on stream 9, which is a fetch"),
	    NO(A, OPENED, 0, 0, "OPENED on stream 9, which is a fetch") } },
	{ WIRE_KIND_QUERY,
	  { NO(A, DATA, 1, 1, "DATA on stream 9, which is a query"),
	    NO(A, END, 1, 0, "END on stream 9, which is a query"),
	    NO(O, EXEC, 0, 90, "EXEC on stream 9, which is a query"),
	    NO(O, PING, 0, 8, "PING on stream 9, which is a query"),
	    NO(A, HELLO, 0, 8, "HELLO on stream 9, which is a query"),
	    { 'O', 0x6f, 0, 0, "message 0x6f: there is none" },
	    { 'O', 0xf0, 0, 0, "message 0xf0: there is none" } } },

	/* the wrong end */
	{ WIRE_KIND_RUN,
	  { STARTED, NO(O, EXITED, 0, 35, "EXITED on stream 9 comes from the wrong end"),
	    NO(O, DONE, 0, 35, "DONE on stream 9 comes from the wrong end"),
	    NO(O, FAILED, 0, 9, "FAILED on stream 9 comes from the wrong end"),
	    NO(A, CLOSE, 0, 0, "CLOSE on stream 9 comes from the wrong end"),
	    NO(A, SIGNAL, 0, 2, "SIGNAL on stream 9 comes from the wrong end"),
	    NO(A, TAIL, 0, 14, "TAIL on stream 9 comes from the wrong end"),
	    NO(O, STARTED, 0, 4, "STARTED on stream 9 comes from the wrong end") } },
};

static void check_turn(struct wire_stream *speaker, struct wire_stream *listener,
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
	memcpy(&before[0], speaker, sizeof *speaker);
	memcpy(&before[1], listener, sizeof *listener);
	if (turn->msg == NULL) {
		CHECK_OK(wire_stream_put(speaker, &frame, &err), err);
		CHECK_OK(wire_stream_take(listener, &frame, &err), err);
		return;
	}
	CHECK_ERROR(wire_stream_put(speaker, &frame, &err), err,
	            strstr(turn->msg, "credit for") || strstr(turn->msg, "more than") ? ERR_LIMIT
	                                                                              : ERR_SYNTAX,
	            turn->msg);
	CHECK_ERROR(wire_stream_take(listener, &frame, &err), err, err.kind, turn->msg);
	assert_memory_equal(&before[0], speaker, sizeof *speaker);
	assert_memory_equal(&before[1], listener, sizeof *listener);
}

/* Both ends are asked: what one may not say, the other does not believe, in the same words. */
static void both_ends_keep_the_same_rules(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(scripts); i++) {
		struct wire_stream opener, acceptor;

		wire_stream_init(&opener, 9, scripts[i].kind, true);
		wire_stream_init(&acceptor, 9, scripts[i].kind, false);
		for (size_t t = 0; t < TURNS && scripts[i].turns[t].who != 0; t++) {
			const struct step *turn = &scripts[i].turns[t];

			if (turn->who == 'O')
				check_turn(&opener, &acceptor, turn);
			else
				check_turn(&acceptor, &opener, turn);
		}
	}
}

/* So that whoever asks "may I still send there?" need not know the kind. */
static void a_channel_that_is_not_there_has_ended_and_has_no_credit(void **state)
{
	(void)state;
	for (int kind = WIRE_KIND_RUN; kind < WIRE_KIND_COUNT; kind++) {
		unsigned there = wire_kind((enum wire_kind)kind)->channels;
		struct wire_stream stream;

		wire_stream_init(&stream, 1, (enum wire_kind)kind, true);
		for (unsigned c = 0; c < WIRE_CHANNELS; c++) {
			assert_int_equal((stream.ended >> c & 1), !(there >> c & 1));
			assert_int_equal(stream.credit[c], there >> c & 1 ? WIRE_WINDOW : 0);
		}
	}
}

static void a_stream_knows_which_channels_it_sends_on(void **state)
{
	struct wire_stream opener, acceptor;

	(void)state;
	wire_stream_init(&opener, 1, WIRE_KIND_RUN, true);
	wire_stream_init(&acceptor, 1, WIRE_KIND_RUN, false);
	for (uint8_t channel = 0; channel < WIRE_CHANNELS; channel++) {
		bool in = channel == WIRE_IN || channel == WIRE_CONTROL_IN;

		assert_int_equal(wire_stream_sends(&opener, channel), in);
		assert_int_equal(wire_stream_sends(&acceptor, channel), !in);
	}
}

int main(void)
{
	const struct CMUnitTest all[] = {
		TEST(a_link_takes_what_is_due_and_nothing_else),
		TEST(numbers_of_streams_come_to_an_end),
		TEST(each_side_counts_its_own_streams),
		TEST(both_ends_keep_the_same_rules),
		TEST(a_channel_that_is_not_there_has_ended_and_has_no_credit),
		TEST(a_stream_knows_which_channels_it_sends_on),
	};

	return RUN_TESTS("stream", all);
}
