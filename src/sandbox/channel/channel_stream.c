/* channel_stream.c - the streams of a channel: opening, sending, turns, credit and the end (see
 * channel.h and internal.h). */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "loop/loop.h"
#include "loop/output.h"
#include "sandbox/channel/internal.h"

const struct channel_stream_events channel_no_events;

/* The server's stream numbers are odd, hence the division. */
static struct list *find_bucket(struct channel *channel, uint32_t id)
{
	return &channel->buckets[id / 2 % CHANNEL_BUCKETS];
}

struct channel_stream *channel_find(struct channel *channel, uint32_t id)
{
	LIST_EACH (node, find_bucket(channel, id)) {
		struct channel_stream *stream = container_of(node, struct channel_stream, node);

		if (stream->wire.id == id && id != 0) /* 0 is the channel itself */
			return stream;
	}
	return NULL;
}

static struct channel_stream *add_stream(struct channel *channel, uint32_t id, enum wire_kind kind)
{
	struct channel_stream *stream = mem_new(sizeof *stream);

	stream->channel = channel;
	stream->events = &channel_no_events;
	wire_stream_init(&stream->wire, id, kind, WIRE_SERVER);
	for (unsigned i = 0; i < WIRE_CHANNELS; i++)
		stream->window[i] = stream->wire.credit[i];
	list_add(find_bucket(channel, id), &stream->node);
	channel->live++;
	return stream;
}

void channel_stream_remove(struct channel_stream *stream)
{
	struct channel *channel = stream->channel;

	if (stream->is_removed)
		return;
	/* The memory is freed later: the caller may be in a callback of this stream. */
	stream->is_removed = true;
	list_remove(&stream->node);
	list_remove(&stream->wait);
	channel->live--;
	loop_defer(channel->loop, free, stream);
}

void channel_stream_fail(struct channel_stream *stream, enum wire_failure failure,
                         const struct error *why)
{
	channel_stream_remove(stream);
	if (stream->events->failed != NULL)
		stream->events->failed(stream->ctx, failure, why);
}

/* --- messages --- */

/* Encodes the message, checks it against the rules of the stream, and queues the frame. */
static int send_frame(struct channel_stream *stream, const struct wire_message *message,
                      uint8_t channel, struct error *err)
{
	AUTO_BUF struct buf out;
	struct wire_frame frame;
	struct view bytes;

	buf_init(&out, WIRE_FRAME_MAX);
	if (wire_encode(message, stream->wire.id, channel, &out, err) < 0)
		return -1;
	bytes = buf_view(&out);
	if (wire_frame_cut(&bytes, &frame, err) < 0 ||
	    wire_stream_send(&stream->wire, &frame, err) < 0)
		return -1;
	channel_queue(stream->channel, buf_view(&out), (struct view){ "", 0 });
	return 0;
}

/* For messages that the rules allow in any case; a refusal is a bug of this server. */
static void send_allowed(struct channel_stream *stream, const struct wire_message *message,
                         uint8_t channel)
{
	struct error err;

	if (send_frame(stream, message, channel, &err) < 0) {
		(void)error_wrap(&err, "this server broke the protocol");
		channel_fail_later(stream->channel, &err);
	}
}

static bool is_stream_over(const struct channel_stream *stream)
{
	return stream->is_removed || stream->channel->is_stopped || stream->channel->is_failing;
}

static int check_queue(const struct channel *channel, struct error *err)
{
	size_t pending = output_pending(channel->output);

	if (pending <= CHANNEL_REQUEST_MAX - WIRE_FRAME_MAX)
		return 0;
	return error_set(err, ERR_LIMIT,
	                 "the agent is slow: %zu bytes are queued for it; try again "
	                 "later",
	                 pending);
}

static int check_open(const struct channel *channel, const struct wire_message *request,
                      struct error *err)
{
	const struct wire_spec *spec = wire_spec((uint8_t)request->type);

	if (channel->is_stopped || channel->is_failing) {
		*err = channel->why;
		return -1;
	}
	if (channel->link.phase != WIRE_PHASE_OPEN)
		return error_set(err, ERR_INVALID, "the agent is not ready yet");
	if (spec == NULL || spec->opens == WIRE_KIND_NONE)
		return error_set(err, ERR_INVALID, "%s does not open a stream of the server",
		                 spec != NULL ? spec->name : "an unknown message");
	/* Cancelled streams count until the agent has ended them. An agent that never does so must
	 * not make the server allocate more and more. */
	if (channel->live >= WIRE_STREAMS_MAX)
		return error_set(err, ERR_LIMIT,
		                 "%u operations are running in this sandbox, and "
		                 "no more are allowed: wait until one has ended",
		                 channel->live);
	return check_queue(channel, err);
}

/* How many records the reply to a request may have: the agent must not send more. */
static uint32_t records_allowed(const struct wire_message *request)
{
	switch ((int)request->type) {
	case WIRE_STAT:
	case WIRE_STATS:
		return 1;
	case WIRE_LIST:
		return request->list.limit;
	case WIRE_TREE:
		return request->tree.limit;
	case WIRE_FIND:
		return request->find.limit;
	case WIRE_GREP:
		return request->grep.limit;
	case WIRE_CHANGES:
		return request->changes.limit;
	default:
		return 0;
	}
}

/* How many bytes the reply to a request may have in all. */
static uint64_t bytes_allowed(const struct wire_message *request)
{
	const struct wire_read *read = &request->read;

	if (request->type == WIRE_PACK)
		return request->pack.max;
	if (request->type != WIRE_READ)
		return 0;
	return read->unit == WIRE_UNIT_BYTES && read->count < read->max ? read->count : read->max;
}

int channel_open(struct channel *channel, const struct wire_message *request,
                 const struct channel_stream_events *events, void *ctx, struct channel_stream **ret,
                 struct error *err)
{
	AUTO_BUF struct buf out;
	struct channel_stream *stream;
	uint32_t id = channel->link.next;

	buf_init(&out, WIRE_FRAME_MAX);
	if (check_open(channel, request, err) < 0 || wire_encode(request, id, 0, &out, err) < 0)
		return -1;
	if (wire_link_next(&channel->link) == 0)
		return error_set(err, ERR_LIMIT,
		                 "this sandbox has used up its stream numbers: put it to sleep, or "
		                 "create a new one");
	stream = add_stream(channel, id, wire_spec((uint8_t)request->type)->opens);
	stream->events = events;
	stream->ctx = ctx;
	stream->request = request->type;
	stream->records_left = records_allowed(request);
	stream->bytes_asked = bytes_allowed(request);
	channel_queue(channel, buf_view(&out), (struct view){ "", 0 });
	*ret = stream;
	return 0;
}

/* Fails if nothing can be sent on the stream any more: with the channel's reason, if it has one. */
static int check_sendable(const struct channel_stream *stream, const char *name, struct error *err)
{
	const struct channel *channel = stream->channel;

	if ((channel->is_stopped || channel->is_failing) && channel->why.msg[0] != '\0') {
		*err = channel->why;
		return error_wrap(err, "%s", name);
	}
	if (is_stream_over(stream))
		return error_set(err, ERR_INVALID, "%s: the stream has ended", name);
	if (stream->is_closing)
		return error_set(err, ERR_INVALID, "%s: the stream was closed", name);
	return 0;
}

int channel_send_message(struct channel_stream *stream, const struct wire_message *message,
                         struct error *err)
{
	const struct wire_spec *spec = wire_spec((uint8_t)message->type);

	if (spec == NULL || spec->from != WIRE_FROM_SERVER || message->type == WIRE_CLOSE)
		return error_set(err, ERR_INVALID, "%s cannot be sent with channel_send_message()",
		                 spec != NULL ? spec->name : "an unknown message");
	/* The queue is not checked: messages that end or limit a program must always get
	 * through. */
	if (check_sendable(stream, spec->name, err) < 0)
		return -1;
	return send_frame(stream, message, 0, err);
}

/* --- bytes and turns --- */

static bool may_send(const struct channel_stream *stream, uint8_t channel)
{
	return !is_stream_over(stream) && !stream->is_closing && channel < WIRE_CHANNELS &&
	       wire_stream_sends(&stream->wire, channel) &&
	       (stream->wire.ended & 1u << channel) == 0;
}

/* The drained callback of the output fires only when a write has emptied the queue. If the queue is
 * already empty, the callback would never fire; and if half of the queue is free, the streams need
 * not wait for the callback. */
static void wake_if_low(struct channel *channel)
{
	if (output_pending(channel->output) < CHANNEL_QUEUE_MAX / 2)
		loop_timer_start(channel->wake, 0);
}

void channel_wait_turn(struct channel_stream *stream)
{
	struct channel *channel = stream->channel;

	if (stream->wait.next == NULL)
		list_add(&channel->waiting, &stream->wait);
	wake_if_low(channel);
}

/* How many bytes this stream may queue now. A stream whose turn it is not gets nothing while others
 * wait. */
static size_t available_bytes(const struct channel_stream *stream)
{
	const struct channel *channel = stream->channel;
	size_t pending = output_pending(channel->output);
	size_t room = pending < CHANNEL_QUEUE_MAX ? CHANNEL_QUEUE_MAX - pending : 0;

	if (channel->turn == stream)
		return room < channel->turn_left ? room : channel->turn_left;
	return list_is_empty(&channel->waiting) ? room : 0;
}

/* Writes the DATA frame in two parts instead of with wire_encode(), which would copy the bytes:
 * this is the path of all bytes that go into a sandbox. */
static void send_piece(struct channel_stream *stream, uint8_t channel, struct view piece)
{
	char header[WIRE_HEADER];
	struct wire_frame frame = { WIRE_DATA, channel, stream->wire.id, piece };
	struct error err;

	if (wire_stream_send(&stream->wire, &frame, &err) < 0)
		return channel_fail_later(stream->channel, &err);
	wire_frame_header(&frame, header);
	channel_queue(stream->channel, (struct view){ header, sizeof header }, piece);
}

static size_t min_size(size_t a, size_t b)
{
	return a < b ? a : b;
}

size_t channel_send(struct channel_stream *stream, uint8_t channel, struct view bytes)
{
	size_t sent = 0;

	if (!may_send(stream, channel))
		return 0;
	while (sent < bytes.len && !is_stream_over(stream)) {
		size_t allowed = min_size(stream->wire.credit[channel], available_bytes(stream));
		size_t len = min_size(min_size(bytes.len - sent, WIRE_PAYLOAD_MAX), allowed);

		if (len == 0)
			break;
		send_piece(stream, channel, (struct view){ bytes.ptr + sent, len });
		sent += len;
		stream->transferred += len;
		if (stream->channel->turn == stream)
			stream->channel->turn_left -= len;
	}
	if (sent == bytes.len || is_stream_over(stream))
		return sent;
	if (stream->wire.credit[channel] == 0)
		stream->waits_for_credit |= (uint8_t)(1u << channel);
	else
		channel_wait_turn(stream);
	return sent;
}

static size_t count_waiting(const struct channel *channel)
{
	size_t n = 0;

	LIST_EACH (node, &channel->waiting)
		n++;
	return n;
}

/* A stream that waits alone may fill the queue. */
static void give_turn(struct channel *channel, struct channel_stream *stream)
{
	list_remove(&stream->wait);
	channel->turn = stream;
	channel->turn_left = list_is_empty(&channel->waiting) ? CHANNEL_QUEUE_MAX : CHANNEL_TURN;
	if (stream->events->writable != NULL)
		stream->events->writable(stream->ctx);
	channel->turn = NULL;
}

/* Gives one turn to each stream that waits now. The function does not repeat this until no stream
 * waits, because an agent that reads fast would keep the server in the loop. */
void channel_give_turns(struct channel *channel)
{
	for (size_t turns = count_waiting(channel); turns != 0; turns--) {
		if (list_is_empty(&channel->waiting) ||
		    output_pending(channel->output) >= CHANNEL_QUEUE_MAX)
			break;
		give_turn(channel,
		          container_of(channel->waiting.next, struct channel_stream, wait));
		if (channel->is_stopped || channel->is_failing)
			return;
	}
	if (!list_is_empty(&channel->waiting))
		wake_if_low(channel);
}

void channel_send_end(struct channel_stream *stream, uint8_t channel)
{
	static const struct wire_message end = { .type = WIRE_END };

	if (may_send(stream, channel))
		send_allowed(stream, &end, channel);
}

/* --- credit --- */

static bool may_receive(const struct channel_stream *stream, uint8_t channel)
{
	return !is_stream_over(stream) && !stream->is_closing && channel < WIRE_CHANNELS &&
	       !wire_stream_sends(&stream->wire, channel) &&
	       (stream->wire.ended & 1u << channel) == 0;
}

static void give_credit(struct channel_stream *stream, uint8_t channel, uint32_t bytes)
{
	struct wire_message credit = { .type = WIRE_CREDIT, .credit.bytes = bytes };

	send_allowed(stream, &credit, channel);
}

/* Credit is returned in large pieces: when half of the window was consumed, or the agent's credit
 * is below the size of a frame of records. The agent waits until it can send such a frame whole, so
 * less credit would block it. */
void channel_consumed(struct channel_stream *stream, uint8_t channel, size_t bytes)
{
	uint32_t *owed;
	uint32_t credit;

	if (!may_receive(stream, channel) || bytes == 0)
		return;
	owed = &stream->owed[channel];
	credit = stream->wire.credit[channel];
	/* A receiver cannot consume more than has arrived; the agent has no influence on this. */
	assert(bytes <= stream->window[channel] - credit - *owed);
	*owed += (uint32_t)bytes;
	if (*owed < stream->window[channel] / 2 && credit >= WIRE_RECORDS_MAX)
		return;
	give_credit(stream, channel, *owed);
	*owed = 0;
}

void channel_grow_window(struct channel_stream *stream, uint8_t channel, size_t bytes)
{
	uint32_t more;

	if (!may_receive(stream, channel))
		return;
	more = (uint32_t)min_size(bytes, WIRE_CREDIT_MAX - stream->window[channel]);
	if (more == 0)
		return;
	stream->window[channel] += more;
	give_credit(stream, channel, more);
}

/* --- the end of a stream --- */

void channel_close(struct channel_stream *stream)
{
	static const struct wire_message message = { .type = WIRE_CLOSE };

	if (is_stream_over(stream) || stream->is_closing)
		return;
	send_allowed(stream, &message, 0);
	stream->is_closing = true;
	list_remove(&stream->wait);
}

/* The struct stays until the agent has ended the stream: frames for its number may still arrive. */
void channel_cancel(struct channel_stream *stream)
{
	stream->events = &channel_no_events;
	channel_close(stream);
	if (is_stream_over(stream))
		channel_stream_remove(stream);
}
