/* test_conversation.c - two ends send random messages over a connection with delay. What the rules
 * let one end send, the rules of the other end must accept, whatever crossed on the way. When
 * everything has arrived, both ends must have the same state of every stream. */
#include "unit/wire/sample.h"
#include "wire/bytes.h"
#include "wire/stream_rules.h"

enum { SEEDS = 40, ROUNDS = 80000, LIVE = 16, LINE = 64 };

struct said {
	uint8_t type, channel;
	uint32_t stream;
	size_t len;
	char credit[4];
};

struct end {
	struct wire_link link;
	struct wire_stream streams[LIVE]; /* id 0: none */
	struct said line[LINE];           /* on its way to this end */
	size_t first, count;
};

struct talk {
	struct end ends[2]; /* by enum wire_side */
	unsigned refused, gone, heard[WIRE_TYPE_COUNT];
};

static struct sample sample;
static const char zeros[WIRE_PAYLOAD_MAX];

static struct end *other(struct talk *talk, const struct end *end)
{
	return &talk->ends[end == &talk->ends[0]];
}

static struct wire_stream *find(struct end *end, uint32_t id)
{
	for (size_t i = 0; i < LIVE; i++)
		if (end->streams[i].id == id)
			return &end->streams[i];
	return NULL;
}

static struct wire_frame frame_of(const struct said *said)
{
	bool credit = said->type == WIRE_CREDIT;

	return (struct wire_frame){ said->type,
		                    said->channel,
		                    said->stream,
		                    { credit ? said->credit : zeros, credit ? 4 : said->len } };
}

static void send(struct talk *talk, struct end *from, const struct said *said)
{
	struct end *to = other(talk, from);

	assert_true(to->count < LINE);
	to->line[(to->first + to->count++) % LINE] = *said;
}

static void add_stream(struct end *end, uint32_t id, enum wire_kind kind)
{
	struct wire_stream *stream = find(end, 0);

	assert_non_null(stream);
	wire_stream_init(stream, id, kind, end->link.side);
}

static void open_stream(struct talk *talk, struct end *server)
{
	struct said said = { .len = 9 };
	const struct wire_spec *spec;

	if (find(server, 0) == NULL)
		return;
	do
		said.type = (uint8_t)sample_below(&sample, WIRE_TYPE_COUNT);
	while ((spec = wire_spec(said.type)) == NULL || spec->opens == WIRE_KIND_NONE);
	said.stream = wire_link_next(&server->link);
	add_stream(server, said.stream, spec->opens);
	send(talk, server, &said);
}

static struct said anything(uint32_t stream)
{
	static const uint8_t often[] = { WIRE_DATA, WIRE_CREDIT, WIRE_STARTED, WIRE_ENTRIES };
	struct said said = { .stream = stream };
	uint64_t more = sample_between(&sample, 1, 1 + sample_below(&sample, WIRE_CREDIT_MAX));

	said.type = (uint8_t)sample_below(&sample, WIRE_TYPE_COUNT);
	if (sample_below(&sample, 2) == 0)
		said.type = often[sample_below(&sample, ARRAY_LEN(often))];
	if ((wire_spec(said.type) != NULL && wire_spec(said.type)->on_channel) ||
	    sample_below(&sample, 16) == 0)
		said.channel = (uint8_t)sample_below(&sample, WIRE_CHANNELS + 1);
	said.len = sample_below(&sample, sample_below(&sample, 3) == 0 ? WIRE_PAYLOAD_MAX : 500);
	bytes_put32(said.credit, (uint32_t)more);
	return said;
}

static void speak(struct talk *talk, struct end *end)
{
	struct wire_stream *stream = &end->streams[sample_below(&sample, LIVE)];
	struct said said = anything(stream->id);
	struct wire_frame frame = frame_of(&said);
	struct error err;

	if (stream->id == 0)
		return;
	if (wire_stream_send(stream, &frame, &err) < 0) {
		talk->refused++;
		return;
	}
	send(talk, end, &said);
	if (stream->over)
		*stream = (struct wire_stream){ 0 };
}

static void hear_of_no_stream(struct talk *talk, struct end *end, const struct wire_frame *frame)
{
	struct error err;
	int r = wire_link_receive(&end->link, frame, &err);

	if (r < 0)
		fail_msg("%s", err.msg);
	if (r == 0)
		talk->gone++;
	else
		add_stream(end, frame->stream, wire_spec(frame->type)->opens);
}

static void hear(struct talk *talk, struct end *end)
{
	struct wire_stream *stream;
	struct wire_frame frame;
	struct error err;

	if (end->count == 0)
		return;
	frame = frame_of(&end->line[end->first]);
	stream = find(end, frame.stream);
	talk->heard[frame.type]++;
	if (stream == NULL)
		hear_of_no_stream(talk, end, &frame);
	else if (wire_stream_receive(stream, &frame, &err) < 0)
		fail_msg("%s", err.msg);
	else if (stream->over)
		*stream = (struct wire_stream){ 0 };
	end->first = (end->first + 1) % LINE;
	end->count--;
}

static void check_same(struct talk *talk)
{
	for (size_t i = 0; i < LIVE; i++) {
		const struct wire_stream *a = &talk->ends[0].streams[i];
		const struct wire_stream *b = find(&talk->ends[1], a->id);

		if (a->id == 0)
			continue;
		assert_non_null(b);
		assert_int_equal(a->kind, b->kind);
		assert_int_equal(a->phase, b->phase);
		assert_int_equal(a->ended, b->ended);
		assert_memory_equal(a->once, b->once, sizeof a->once);
		assert_memory_equal(a->credit, b->credit, sizeof a->credit);
	}
	for (size_t i = 0; i < LIVE; i++)
		assert_non_null(find(&talk->ends[0], talk->ends[1].streams[i].id));
}

static void converse(struct talk *talk, uint64_t seed)
{
	memset(talk->ends, 0, sizeof talk->ends);
	sample_init(&sample, seed);
	for (int side = 0; side < 2; side++) {
		wire_link_init(&talk->ends[side].link, (enum wire_side)side);
		wire_link_sent(&talk->ends[side].link, WIRE_READY);
	}
	for (int i = 0; i < ROUNDS; i++) {
		struct end *end = &talk->ends[sample_below(&sample, 2)];
		uint64_t what = sample_below(&sample, 20);

		if (what < 2)
			hear(talk, end);
		else if (other(talk, end)->count == LINE)
			hear(talk, other(talk, end));
		else if (what == 2 && end->link.side == WIRE_SERVER)
			open_stream(talk, end);
		else
			speak(talk, end);
	}
	while (talk->ends[0].count + talk->ends[1].count != 0) {
		hear(talk, &talk->ends[0]);
		hear(talk, &talk->ends[1]);
	}
	check_same(talk);
}

static void messages_that_one_end_may_send_the_other_accepts(void **state)
{
	static struct talk talk;

	for (uint64_t seed = 0; seed < SEEDS; seed++)
		converse(&talk, seed);
	/* Every message was sent at least once, and some crossed the end of their stream. */
	for (unsigned type = WIRE_DATA; type < WIRE_TYPE_COUNT; type++)
		if (wire_spec((uint8_t)type) != NULL && talk.heard[type] == 0)
			fail_msg("%s was never sent", wire_spec((uint8_t)type)->name);
	assert_true(talk.refused > 1000);
	assert_true(talk.gone > 300);
}

int main(void)
{
	const struct CMUnitTest all[] = {
		TEST(messages_that_one_end_may_send_the_other_accepts),
	};

	return RUN_TESTS("conversation", all);
}
