/* fuzz_stream.c - the rules of streams with any sequence of frames.
 *
 * Byte 0: bit 0 is this end's side, bit 1 skips the greeting. Then steps of six bytes: which end
 * sends (bit 0: this one), type, channel, stream, two bytes of payload length; a CREDIT has four
 * more bytes, its payload. For each stream the fuzzer also keeps the other end's state and a
 * credit count of its own: all three must agree after every step, and a refused frame must change
 * nothing. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "fuzz/fuzz.h"
#include "wire/bytes.h"
#include "wire/stream_rules.h"

enum { SLOTS = 8, STEP = 6 };

struct pair {
	struct wire_stream ours, theirs;
	int64_t credit[WIRE_CHANNELS];
	bool used;
};

struct session {
	struct wire_link link;
	struct pair pairs[SLOTS];
};

static const char zeros[WIRE_PAYLOAD_MAX];

static struct pair *find(struct session *session, uint32_t id)
{
	for (size_t i = 0; i < SLOTS; i++)
		if (session->pairs[i].used && session->pairs[i].ours.id == id)
			return &session->pairs[i];
	return NULL;
}

static void open_stream(struct session *session, uint32_t id, enum wire_kind kind)
{
	for (size_t i = 0; i < SLOTS; i++) {
		struct pair *pair = &session->pairs[i];

		if (pair->used)
			continue;
		*pair = (struct pair){ .used = true };
		wire_stream_init(&pair->ours, id, kind, session->link.side);
		wire_stream_init(&pair->theirs, id, kind,
		                 session->link.side == WIRE_SERVER ? WIRE_AGENT : WIRE_SERVER);
		for (unsigned c = 0; c < WIRE_CHANNELS; c++)
			if (wire_kind(kind)->channels & 1u << c)
				pair->credit[c] = WIRE_WINDOW;
		return;
	}
}

/* After DONE or FAILED neither end may send anything. */
static void check_over(struct pair *pair)
{
	struct error err;

	for (unsigned type = 0; type < WIRE_TYPE_COUNT; type++) {
		struct wire_frame frame = { (uint8_t)type, 0, pair->ours.id, { zeros, 4 } };

		if (wire_spec(frame.type) == NULL)
			continue;
		if (wire_spec(frame.type)->on_channel)
			frame.channel = (uint8_t)(type % WIRE_CHANNELS);
		if (wire_stream_receive(&pair->ours, &frame, &err) == 0 ||
		    wire_stream_send(&pair->ours, &frame, &err) == 0)
			abort();
	}
	pair->used = false;
}

static void check_views(const struct wire_stream *a, const struct wire_stream *b)
{
	if (a->id != b->id || a->kind != b->kind || a->phase != b->phase || a->side == b->side ||
	    a->over != b->over || a->ended != b->ended ||
	    memcmp(a->once, b->once, sizeof a->once) != 0 ||
	    memcmp(a->credit, b->credit, sizeof a->credit) != 0)
		abort();
}

static void check_credit(struct pair *pair, const struct wire_frame *frame)
{
	const struct wire_spec *spec = wire_spec(frame->type);

	if (spec->on_channel && frame->channel >= WIRE_CHANNELS)
		abort();
	if (spec->uses_credit)
		pair->credit[frame->channel] -= (int64_t)frame->payload.len;
	if (frame->type == WIRE_CREDIT)
		pair->credit[frame->channel] += bytes_get32(frame->payload.ptr);
	for (unsigned c = 0; c < WIRE_CHANNELS; c++)
		if (pair->credit[c] < 0 || pair->credit[c] > WIRE_CREDIT_MAX ||
		    pair->credit[c] != (int64_t)pair->ours.credit[c])
			abort();
}

static int speak(struct pair *pair, const struct wire_frame *frame, bool we)
{
	struct wire_stream before;
	struct error err, other;
	int r, peer;

	memcpy(&before, &pair->ours, sizeof before);
	r = we ? wire_stream_send(&pair->ours, frame, &err)
	       : wire_stream_receive(&pair->ours, frame, &err);
	peer = we ? wire_stream_receive(&pair->theirs, frame, &other)
	          : wire_stream_send(&pair->theirs, frame, &other);
	if (r != peer || (r < 0 && strcmp(err.msg, other.msg) != 0))
		abort();
	check_views(&pair->ours, &pair->theirs);
	if (r < 0) {
		if (memcmp(&before, &pair->ours, sizeof before) != 0)
			abort();
		return -1;
	}
	if (frame->type != WIRE_CREDIT && wire_spec(frame->type)->on_channel &&
	    (before.ended & 1u << frame->channel ||
	     wire_stream_sends(&before, frame->channel) != we))
		abort();
	check_credit(pair, frame);
	if (pair->ours.over)
		check_over(pair);
	return 0;
}

/* As both ends do: a frame that is for no open stream goes to the link. */
static int take(struct session *session, const struct wire_frame *frame)
{
	struct pair *pair = find(session, frame->stream);
	struct wire_message message;
	struct error err;
	int r;

	if (pair != NULL) {
		if (frame->type == WIRE_CREDIT && wire_decode(frame, &message, &err) < 0)
			return -1;
		return speak(pair, frame, false);
	}
	r = wire_link_receive(&session->link, frame, &err);
	if (r == 1 && wire_spec(frame->type)->opens != WIRE_KIND_NONE) {
		if (session->link.phase != WIRE_PHASE_OPEN || frame->stream == 0 ||
		    frame->stream != session->link.next - 2)
			abort();
		open_stream(session, frame->stream, wire_spec(frame->type)->opens);
	}
	if (r == 0 && (frame->stream == 0 || frame->stream >= session->link.next))
		abort();
	return r;
}

static void put(struct session *session, const struct wire_frame *frame)
{
	struct pair *pair = find(session, frame->stream);
	const struct wire_spec *spec = wire_spec(frame->type);

	if (pair != NULL)
		(void)speak(pair, frame, true);
	else if (spec != NULL && spec->opens != WIRE_KIND_NONE) {
		if (session->link.side == WIRE_SERVER)
			open_stream(session, wire_link_next(&session->link), spec->opens);
	} else if (spec != NULL && spec->kinds & 1u << WIRE_KIND_NONE)
		wire_link_sent(&session->link, frame->type);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct session session = { 0 };
	size_t at = 1;

	if (size == 0)
		return 0;
	wire_link_init(&session.link, data[0] & 1 ? WIRE_AGENT : WIRE_SERVER);
	if (data[0] & 2)
		wire_link_sent(&session.link, WIRE_READY);
	while (size - at >= STEP) {
		const char *step = (const char *)data + at;
		struct wire_frame frame = { data[at + 1],
			                    data[at + 2],
			                    data[at + 3],
			                    { zeros, bytes_get16(step + 4) % WIRE_PAYLOAD_MAX } };

		at += STEP;
		if (frame.type == WIRE_CREDIT) {
			if (size - at < 4)
				return 0;
			frame.payload = (struct view){ step + STEP, 4 };
			at += 4;
		}
		if (step[0] & 1)
			put(&session, &frame);
		else if (take(&session, &frame) < 0)
			return 0;
	}
	return 0;
}
