#include "wire/stream_rules.h"

#include "base/error.h"
#include "wire/bytes.h"

/* --- the link ---------------------------------------------------------------------- */

void wire_link_init(struct wire_link *link, enum wire_side side)
{
	*link = (struct wire_link){ .side = side, .phase = WIRE_PHASE_HELLO, .next = 1 };
}

uint32_t wire_link_next(struct wire_link *link)
{
	uint32_t id = link->next;

	if (id > WIRE_STREAM_LAST)
		return 0;
	link->next += 2;
	return id;
}

static enum wire_side other_side(enum wire_side side)
{
	return side == WIRE_SERVER ? WIRE_AGENT : WIRE_SERVER;
}

static bool may_send(const struct wire_spec *spec, enum wire_side side)
{
	return spec->from == WIRE_FROM_EITHER ||
	       spec->from == (side == WIRE_SERVER ? WIRE_FROM_SERVER : WIRE_FROM_AGENT);
}

void wire_link_sent(struct wire_link *link, enum wire_type type)
{
	if (type == WIRE_HELLO)
		link->phase = WIRE_PHASE_WELCOME;
	if (type == WIRE_WELCOME)
		link->phase = WIRE_PHASE_READY;
	if (type == WIRE_READY)
		link->phase = WIRE_PHASE_OPEN;
}

static int receive_opener(struct wire_link *link, const struct wire_frame *frame,
                          const struct wire_spec *spec, struct error *err)
{
	/* After two thousand million streams the number would wrap around to 1, which may still be
	 * in use. */
	if (link->next > WIRE_STREAM_LAST)
		return error_set(err, ERR_LIMIT, "%s where all stream numbers are used up",
		                 spec->name);
	if (frame->stream != link->next)
		return error_set(err, ERR_SYNTAX, "%s opens stream %u where %u is next", spec->name,
		                 frame->stream, link->next);
	link->next += 2;
	return 1;
}

/* Frames for a stream that the agent has ended may still arrive at the agent: the server sent them
 * before it received DONE or FAILED. The agent sends nothing after these two, so for the server
 * such a frame breaks the protocol. */
static bool has_ended(const struct wire_link *link, uint32_t id)
{
	return link->side == WIRE_AGENT && id % 2 == 1 && id < link->next;
}

int wire_link_receive(struct wire_link *link, const struct wire_frame *frame, struct error *err)
{
	const struct wire_spec *spec = wire_spec(frame->type);

	if (spec == NULL)
		return error_set(err, ERR_SYNTAX, "message %#x is unknown", frame->type);
	if (spec->opens == WIRE_KIND_NONE && !(spec->kinds & 1u << WIRE_KIND_NONE)) {
		if (has_ended(link, frame->stream))
			return 0;
		return error_set(err, ERR_SYNTAX, "%s on stream %u, which is not open", spec->name,
		                 frame->stream);
	}
	if (!may_send(spec, other_side(link->side)))
		return error_set(err, ERR_SYNTAX, "%s came from the wrong end", spec->name);
	if (link->phase != spec->phase)
		return error_set(err, ERR_SYNTAX, "%s is out of phase (now: %s)", spec->name,
		                 wire_phase_name(link->phase));
	if (frame->channel != 0)
		return error_set(err, ERR_SYNTAX, "%s names channel %u", spec->name,
		                 frame->channel);
	if (spec->opens != WIRE_KIND_NONE)
		return receive_opener(link, frame, spec, err);
	if (frame->stream != 0)
		return error_set(err, ERR_SYNTAX, "%s on stream %u", spec->name, frame->stream);
	wire_link_sent(link, (enum wire_type)frame->type);
	return 1;
}

/* --- streams ----------------------------------------------------------------------- */

void wire_stream_init(struct wire_stream *stream, uint32_t id, enum wire_kind kind,
                      enum wire_side side)
{
	const struct wire_kind_spec *spec = wire_kind(kind);

	*stream = (struct wire_stream){
		.id = id,
		.kind = kind,
		.side = side,
		.phase = spec->start != NULL ? WIRE_PHASE_STARTING : WIRE_PHASE_RUNNING,
		.ended = (uint8_t)~spec->channels,
	};
	for (unsigned i = 0; i < WIRE_CHANNELS; i++)
		if (spec->channels & 1u << i)
			stream->credit[i] = WIRE_WINDOW;
}

static enum wire_side sender_of(uint8_t channel)
{
	return WIRE_CHANNELS_IN & 1u << channel ? WIRE_SERVER : WIRE_AGENT;
}

bool wire_stream_sends(const struct wire_stream *stream, uint8_t channel)
{
	return sender_of(channel) == stream->side;
}

static int check_phase(const struct wire_stream *stream, const struct wire_spec *spec,
                       enum wire_side sender, struct error *err)
{
	if (stream->over)
		return error_set(err, ERR_SYNTAX, "%s after the end of stream %u", spec->name,
		                 stream->id);
	if (spec->phase == WIRE_PHASE_LIVE || spec->phase == stream->phase)
		return 0;
	/* The server may send stdin without waiting a round trip for STARTED. */
	if (sender == WIRE_SERVER && spec->phase == WIRE_PHASE_RUNNING)
		return 0;
	return error_set(err, ERR_SYNTAX, "%s on stream %u is out of phase (now: %s)", spec->name,
	                 stream->id, wire_phase_name(stream->phase));
}

static int check_sender(const struct wire_stream *stream, const struct wire_spec *spec,
                        enum wire_side sender, struct error *err)
{
	if ((spec->kinds & 1u << stream->kind) == 0 || spec->opens != WIRE_KIND_NONE)
		return error_set(err, ERR_SYNTAX, "%s on stream %u, which is a %s", spec->name,
		                 stream->id, wire_kind(stream->kind)->name);
	if (!may_send(spec, sender))
		return error_set(err, ERR_SYNTAX, "%s on stream %u comes from the wrong end",
		                 spec->name, stream->id);
	return 0;
}

/* A channel's sender sends bytes and END; its receiver sends CREDIT. */
static int check_channel(const struct wire_stream *stream, const struct wire_frame *frame,
                         const struct wire_spec *spec, enum wire_side sender, struct error *err)
{
	uint8_t channel = frame->channel;

	if (!spec->on_channel) {
		if (channel != 0)
			return error_set(err, ERR_SYNTAX, "%s names channel %u", spec->name,
			                 channel);
		return 0;
	}
	if (channel >= WIRE_CHANNELS || !(wire_kind(stream->kind)->channels & 1u << channel) ||
	    (sender_of(channel) == sender) == (frame->type == WIRE_CREDIT))
		return error_set(err, ERR_SYNTAX, "%s on stream %u names channel %u", spec->name,
		                 stream->id, channel);
	if (frame->type != WIRE_CREDIT && (stream->ended & 1u << channel))
		return error_set(err, ERR_SYNTAX, "%s on stream %u after the end of channel %u",
		                 spec->name, stream->id, channel);
	return 0;
}

/* Credit bounds the memory of the receiver: it holds at most what it gave credit for, however fast
 * a hostile sender sends. */
static int count_credit(struct wire_stream *stream, const struct wire_frame *frame,
                        const struct wire_spec *spec, struct error *err)
{
	uint32_t *credit = &stream->credit[frame->channel];

	if (spec->uses_credit) {
		if (frame->payload.len > *credit)
			return error_set(err, ERR_LIMIT,
			                 "%s on stream %u: %zu bytes with credit for %u",
			                 spec->name, stream->id, frame->payload.len, *credit);
		*credit -= (uint32_t)frame->payload.len;
	}
	if (frame->type == WIRE_CREDIT) {
		uint32_t more = frame->payload.len == 4 ? bytes_get32(frame->payload.ptr) : 0;

		/* By subtraction: the sum could wrap around. */
		if (more > WIRE_CREDIT_MAX - *credit)
			return error_set(err, ERR_LIMIT, "CREDIT on stream %u: more than %d",
			                 stream->id, WIRE_CREDIT_MAX);
		*credit += more;
	}
	return 0;
}

/* A second EXITED or STATS_ARE would overwrite a result that the receiver has already used. */
static int check_once(const struct wire_stream *stream, const struct wire_frame *frame,
                      const struct wire_spec *spec, struct error *err)
{
	if (spec->once && (stream->once[frame->type / 64] & 1ULL << frame->type % 64) != 0)
		return error_set(err, ERR_SYNTAX, "%s on stream %u for the second time", spec->name,
		                 stream->id);
	return 0;
}

static int record_frame(struct wire_stream *stream, const struct wire_frame *frame,
                        enum wire_side sender, struct error *err)
{
	const struct wire_spec *spec = wire_spec(frame->type);

	if (spec == NULL)
		return error_set(err, ERR_SYNTAX, "message %#x is unknown", frame->type);
	/* All checks before any change: a refused frame leaves the state as it was. */
	if (check_sender(stream, spec, sender, err) < 0 ||
	    check_phase(stream, spec, sender, err) < 0 ||
	    check_channel(stream, frame, spec, sender, err) < 0 ||
	    check_once(stream, frame, spec, err) < 0 || count_credit(stream, frame, spec, err) < 0)
		return -1;
	if (spec->once)
		stream->once[frame->type / 64] |= 1ULL << frame->type % 64;
	if (frame->type == WIRE_END)
		stream->ended |= (uint8_t)(1u << frame->channel);
	if (frame->type == WIRE_STARTED || frame->type == WIRE_LINKED)
		stream->phase = WIRE_PHASE_RUNNING;
	if (frame->type == WIRE_DONE || frame->type == WIRE_FAILED)
		stream->over = true;
	return 0;
}

int wire_stream_receive(struct wire_stream *stream, const struct wire_frame *frame,
                        struct error *err)
{
	return record_frame(stream, frame, other_side(stream->side), err);
}

int wire_stream_send(struct wire_stream *stream, const struct wire_frame *frame, struct error *err)
{
	return record_frame(stream, frame, stream->side, err);
}
