/* channel_receive.c - checks and delivers the frames that arrive on streams (see internal.h).
 *
 * src/wire checks the form of a message and whether it may be sent at this moment. This file checks
 * that the message answers the request: a hostile agent could otherwise send more records or bytes
 * than were asked for, or a reply of another kind, and callers rely on that. No callback sees a
 * message before all of it is checked. */
#include <inttypes.h>

#include "base/text/utf8.h"
#include "sandbox/channel/internal.h"

/* --- checks --- */

static bool answers_request(enum wire_type request, uint8_t type)
{
	switch (type) {
	case WIRE_ENTRIES:
		return request == WIRE_STAT || request == WIRE_LIST || request == WIRE_TREE ||
		       request == WIRE_FIND || request == WIRE_CHANGES;
	case WIRE_MATCHES:
		return request == WIRE_GREP;
	case WIRE_STATS_ARE:
		return request == WIRE_STATS;
	default:
		return true;
	}
}

static int check_records(struct channel_stream *stream, const struct wire_message *message,
                         struct error *err)
{
	bool are_entries = message->type == WIRE_ENTRIES;
	const struct wire_record *record = are_entries ? &wire_entry_record : &wire_match_record;
	const char *name = wire_spec((uint8_t)message->type)->name;
	struct view rest = message->records.records;
	union {
		struct wire_entry entry;
		struct wire_match match;
	} one;

	while (rest.len != 0) {
		if (wire_record_decode(record, &rest, &one, err) < 0)
			return error_wrap(err, "%s on stream %u", name, stream->wire.id);
		if (stream->records_left == 0)
			return error_set(err, ERR_LIMIT,
			                 "%s on stream %u: more than were asked for", name,
			                 stream->wire.id);
		stream->records_left--;
	}
	return 0;
}

/* Credit limits the bytes in flight, not the bytes of the whole reply. */
static int check_data(struct channel_stream *stream, const struct wire_data *data,
                      struct error *err)
{
	if (stream->wire.kind != WIRE_KIND_FETCH)
		return 0;
	if (data->bytes.len > stream->bytes_asked - stream->bytes_received)
		return error_set(err, ERR_LIMIT,
		                 "DATA on stream %u: more than the %" PRIu64 " bytes asked for",
		                 stream->wire.id, stream->bytes_asked);
	stream->bytes_received += data->bytes.len;
	return 0;
}

/* STAT and STATS have exactly one record, and callers rely on it. */
static int check_done(const struct channel_stream *stream, struct error *err)
{
	if ((stream->request == WIRE_STAT || stream->request == WIRE_STATS) &&
	    stream->records_left != 0)
		return error_set(err, ERR_SYNTAX, "DONE on stream %u: %s was not answered",
		                 stream->wire.id, wire_spec((uint8_t)stream->request)->name);
	return 0;
}

static int check_reply(struct channel_stream *stream, const struct wire_message *message,
                       struct error *err)
{
	if (!answers_request(stream->request, (uint8_t)message->type))
		return error_set(err, ERR_SYNTAX, "%s on stream %u, which asked for %s",
		                 wire_spec((uint8_t)message->type)->name, stream->wire.id,
		                 wire_spec((uint8_t)stream->request)->name);
	switch ((int)message->type) {
	case WIRE_DATA:
		return check_data(stream, &message->data, err);
	case WIRE_ENTRIES:
	case WIRE_MATCHES:
		return check_records(stream, message, err);
	case WIRE_STATS_ARE: /* the table allows it only once */
		stream->records_left = 0;
		return 0;
	case WIRE_DONE:
		return check_done(stream, err);
	default:
		return 0;
	}
}

/* --- delivery --- */

static enum error_kind error_kind_of(enum wire_failure failure)
{
	switch (failure) {
	case WIRE_FAILED_INVALID:
		return ERR_INVALID;
	case WIRE_FAILED_MISSING:
		return ERR_NOT_FOUND;
	case WIRE_FAILED_LIMIT:
		return ERR_LIMIT;
	case WIRE_FAILED_DENIED:
	case WIRE_FAILED_CLOSED:
	case WIRE_FAILED_LOST:
	case WIRE_FAILED_SYSTEM:
	case WIRE_FAILED_COUNT:
		break;
	}
	return ERR_SYSTEM;
}

/* The text comes from the agent: escape it, so that it cannot control a terminal. */
static void deliver_failed(struct channel_stream *stream, const struct wire_failed *failed)
{
	char shown[sizeof(((struct error *)0)->msg)];
	struct error err;

	(void)error_set(&err, error_kind_of(failed->why), "%s",
	                utf8_escape(failed->message, shown, sizeof shown));
	err.errnum = (int)failed->errnum;
	channel_stream_fail(stream, failed->why, &err);
}

static void deliver_done(struct channel_stream *stream, const struct wire_done *done)
{
	channel_stream_remove(stream);
	if (stream->events->done != NULL)
		stream->events->done(stream->ctx, done);
}

static void receive_credit(struct channel_stream *stream, uint8_t channel)
{
	uint8_t bit = (uint8_t)(1u << channel);

	if ((stream->waits_for_credit & bit) == 0)
		return;
	stream->waits_for_credit &= (uint8_t)~bit;
	if (!stream->is_closing)
		channel_wait_turn(stream);
}

static void deliver_message(struct channel_stream *stream, uint8_t channel,
                            const struct wire_message *message)
{
	const struct channel_stream_events *events = stream->events;

	switch ((int)message->type) {
	case WIRE_DATA:
		if (events->bytes != NULL)
			events->bytes(stream->ctx, channel, message->data.bytes);
		return;
	case WIRE_END:
		if (events->ended != NULL)
			events->ended(stream->ctx, channel);
		return;
	case WIRE_CREDIT:
		return receive_credit(stream, channel);
	case WIRE_DONE:
		return deliver_done(stream, &message->done);
	case WIRE_FAILED:
		return deliver_failed(stream, &message->failed);
	default:
		if (events->message != NULL)
			events->message(stream->ctx, message);
	}
}

int channel_stream_receive(struct channel_stream *stream, const struct wire_frame *frame,
                           struct error *err)
{
	struct wire_message message;

	if (wire_decode(frame, &message, err) < 0 ||
	    wire_stream_receive(&stream->wire, frame, err) < 0 ||
	    check_reply(stream, &message, err) < 0)
		return -1;
	/* Only bytes and records count, whose sum is bounded: an agent could send other messages
	 * for ever. */
	if (message.type == WIRE_DATA || message.type == WIRE_ENTRIES ||
	    message.type == WIRE_MATCHES)
		stream->transferred += frame->payload.len;
	if (stream->events->frame != NULL)
		channel_stream_relay(stream, frame);
	else
		deliver_message(stream, frame->channel, &message);
	return 0;
}
