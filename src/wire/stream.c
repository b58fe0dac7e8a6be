#include "wire/stream.h"

#include "base/error.h"
#include "wire/bytes.h"

void wire_link_init(struct wire_link *link, enum wire_side side)
{
	*link = (struct wire_link){
		.side = side,
		.phase = WIRE_PHASE_HELLO,
		.next = side == WIRE_SERVER ? 1 : 2,
	};
}

uint32_t wire_link_next(struct wire_link *link)
{
	uint32_t id = link->next;

	if (id > WIRE_STREAM_LAST)
		return 0;
	link->next += 2;
	return id;
}

static bool is_from(enum wire_from from, enum wire_side side)
{
	return from == (side == WIRE_SERVER ? WIRE_FROM_SERVER : WIRE_FROM_AGENT);
}

static void move_on(struct wire_link *link, uint8_t type)
{
	if (type == WIRE_HELLO)
		link->phase = WIRE_PHASE_WELCOME;
	if (type == WIRE_WELCOME)
		link->phase = WIRE_PHASE_READY;
	if (type == WIRE_READY)
		link->phase = WIRE_PHASE_OPEN;
}

static int take_opener(struct wire_link *link, const struct wire_frame *frame,
                       const struct wire_spec *spec, struct error *err)
{
	uint32_t first = link->side == WIRE_SERVER ? 2 : 1; /* of the peer */
	uint32_t expected = link->peer_last == 0 ? first : link->peer_last + 2;

	/* Two thousand million streams take a patient peer hours; then it would be at 0. */
	if (expected > WIRE_STREAM_LAST)
		return error_set(err, ERR_LIMIT, "%s where there are no more streams", spec->name);
	if (frame->stream != expected)
		return error_set(err, ERR_SYNTAX, "%s opens stream %u where %u is next", spec->name,
		                 frame->stream, expected);
	link->peer_last = frame->stream;
	return 1;
}

/* Streams the peer opened may be gone without its knowing; of ours it has ended every one
 * itself. */
static bool is_gone(const struct wire_link *link, uint32_t id)
{
	uint32_t parity = link->side == WIRE_SERVER ? 0 : 1; /* of the peer's */

	return id != 0 && id % 2 == parity && id <= link->peer_last;
}

int wire_link_take(struct wire_link *link, const struct wire_frame *frame, struct error *err)
{
	const struct wire_spec *spec = wire_spec(frame->type);
	enum wire_side peer = link->side == WIRE_SERVER ? WIRE_AGENT : WIRE_SERVER;

	if (spec == NULL)
		return error_set(err, ERR_SYNTAX, "message %#x: there is none", frame->type);
	if (spec->opens == WIRE_KIND_NONE && !(spec->on & 1u << WIRE_KIND_NONE)) {
		if (is_gone(link, frame->stream))
			return 0;
		return error_set(err, ERR_SYNTAX, "%s on stream %u, which is not open", spec->name,
		                 frame->stream);
	}
	if (!is_from(spec->from, peer))
		return error_set(err, ERR_SYNTAX, "%s is not the peer's to say", spec->name);
	if (link->phase != spec->phase)
		return error_set(err, ERR_SYNTAX, "%s is out of phase (now: %s)", spec->name,
		                 wire_phase_name(link->phase));
	if (frame->channel != 0)
		return error_set(err, ERR_SYNTAX, "%s names channel %u", spec->name,
		                 frame->channel);
	if (spec->opens != WIRE_KIND_NONE)
		return take_opener(link, frame, spec, err);
	if (frame->stream != 0)
		return error_set(err, ERR_SYNTAX, "%s on stream %u", spec->name, frame->stream);
	move_on(link, frame->type);
	return 1;
}

void wire_link_put(struct wire_link *link, enum wire_type type)
{
	move_on(link, (uint8_t)type);
}

/* --- streams ----------------------------------------------------------------------- */

void wire_stream_init(struct wire_stream *stream, uint32_t id, enum wire_kind kind, bool mine)
{
	const struct wire_kind_spec *spec = wire_kind(kind);

	*stream = (struct wire_stream){
		.id = id,
		.kind = kind,
		.phase = spec->acknowledged ? WIRE_PHASE_ASKED : WIRE_PHASE_GOING,
		.mine = mine,
		.ended = (uint8_t)~spec->channels,
	};
	for (unsigned i = 0; i < WIRE_CHANNELS; i++)
		if (spec->channels & 1u << i)
			stream->credit[i] = WIRE_WINDOW;
}

static bool is_inward(uint8_t channel)
{
	return (WIRE_CHANNELS_IN & 1u << channel) != 0;
}

bool wire_stream_sends(const struct wire_stream *stream, uint8_t channel)
{
	return is_inward(channel) == stream->mine;
}

bool wire_stream_has_said(const struct wire_stream *stream, enum wire_type type)
{
	return (stream->said[type / 64] & 1ULL << type % 64) != 0;
}

static int check_phase(const struct wire_stream *stream, const struct wire_spec *spec,
                       bool by_opener, struct error *err)
{
	if (stream->over)
		return error_set(err, ERR_SYNTAX, "%s after the end of stream %u", spec->name,
		                 stream->id);
	if (spec->phase == WIRE_PHASE_LIVE || spec->phase == stream->phase)
		return 0;
	/* The opener need not wait to be told that it has started. */
	if (by_opener && spec->phase == WIRE_PHASE_GOING)
		return 0;
	return error_set(err, ERR_SYNTAX, "%s on stream %u is out of phase (now: %s)", spec->name,
	                 stream->id, wire_phase_name(stream->phase));
}

static int check_speaker(const struct wire_stream *stream, const struct wire_spec *spec,
                         bool by_opener, struct error *err)
{
	bool may = spec->from == WIRE_FROM_EITHER ||
	           spec->from == (by_opener ? WIRE_FROM_OPENER : WIRE_FROM_ACCEPTOR);

	if ((spec->on & 1u << stream->kind) == 0 || spec->opens != WIRE_KIND_NONE)
		return error_set(err, ERR_SYNTAX, "%s on stream %u, which is a %s", spec->name,
		                 stream->id, wire_kind(stream->kind)->name);
	if (!may)
		return error_set(err, ERR_SYNTAX, "%s on stream %u comes from the wrong end",
		                 spec->name, stream->id);
	return 0;
}

/* Bytes and their END go one way, CREDIT the other. */
static int check_channel(const struct wire_stream *stream, const struct wire_frame *frame,
                         const struct wire_spec *spec, bool by_opener, struct error *err)
{
	uint8_t channel = frame->channel;

	if (!spec->on_channel) {
		if (channel != 0)
			return error_set(err, ERR_SYNTAX, "%s names channel %u", spec->name,
			                 channel);
		return 0;
	}
	if (channel >= WIRE_CHANNELS || !(wire_kind(stream->kind)->channels & 1u << channel) ||
	    is_inward(channel) != (by_opener != (frame->type == WIRE_CREDIT)))
		return error_set(err, ERR_SYNTAX, "%s on stream %u names channel %u", spec->name,
		                 stream->id, channel);
	if (frame->type != WIRE_CREDIT && (stream->ended & 1u << channel))
		return error_set(err, ERR_SYNTAX, "%s on stream %u after the end of channel %u",
		                 spec->name, stream->id, channel);
	return 0;
}

static int count_credit(struct wire_stream *stream, const struct wire_frame *frame,
                        const struct wire_spec *spec, struct error *err)
{
	uint32_t *credit = &stream->credit[frame->channel];

	if (spec->paid) {
		if (frame->payload.len > *credit)
			return error_set(err, ERR_LIMIT,
			                 "%s on stream %u: %zu bytes with credit for %u",
			                 spec->name, stream->id, frame->payload.len, *credit);
		*credit -= (uint32_t)frame->payload.len;
	}
	if (frame->type == WIRE_CREDIT) {
		uint32_t more = frame->payload.len == 4 ? bytes_get32(frame->payload.ptr) : 0;

		if (more > WIRE_CREDIT_MAX - *credit)
			return error_set(err, ERR_LIMIT, "CREDIT on stream %u: more than %d",
			                 stream->id, WIRE_CREDIT_MAX);
		*credit += more;
	}
	return 0;
}

static int check_once(const struct wire_stream *stream, const struct wire_frame *frame,
                      const struct wire_spec *spec, struct error *err)
{
	if (spec->once && wire_stream_has_said(stream, (enum wire_type)frame->type))
		return error_set(err, ERR_SYNTAX, "%s on stream %u for the second time", spec->name,
		                 stream->id);
	return 0;
}

static int said(struct wire_stream *stream, const struct wire_frame *frame, bool by_opener,
                struct error *err)
{
	const struct wire_spec *spec = wire_spec(frame->type);

	if (spec == NULL)
		return error_set(err, ERR_SYNTAX, "message %#x: there is none", frame->type);
	if (check_speaker(stream, spec, by_opener, err) < 0 ||
	    check_phase(stream, spec, by_opener, err) < 0 ||
	    check_channel(stream, frame, spec, by_opener, err) < 0 ||
	    check_once(stream, frame, spec, err) < 0 || count_credit(stream, frame, spec, err) < 0)
		return -1;
	stream->said[frame->type / 64] |= 1ULL << frame->type % 64;
	if (frame->type == WIRE_END)
		stream->ended |= (uint8_t)(1u << frame->channel);
	if (frame->type == WIRE_STARTED || frame->type == WIRE_OPENED)
		stream->phase = WIRE_PHASE_GOING;
	if (frame->type == WIRE_DONE || frame->type == WIRE_FAILED)
		stream->over = true;
	return 0;
}

int wire_stream_take(struct wire_stream *stream, const struct wire_frame *frame, struct error *err)
{
	return said(stream, frame, !stream->mine, err);
}

int wire_stream_put(struct wire_stream *stream, const struct wire_frame *frame, struct error *err)
{
	return said(stream, frame, stream->mine, err);
}
