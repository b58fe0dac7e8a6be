/* stream_rules.h - the rules of the protocol over time: phases, stream numbers, credit.
 *
 * A link is one end's state of the channel: the phase of the greeting and the streams opened so
 * far. A stream is one end's state of one stream: its kind, which channels have ended, and the
 * credit of each channel. Both ends keep both in the same way. Both are plain values that the
 * caller owns; nothing here reads, writes or allocates.
 *
 * Every frame that arrives is checked with wire_link_receive() or wire_stream_receive(), every
 * frame that is sent is recorded with wire_link_sent() or wire_stream_send(). A frame that is
 * refused on arrival breaks the protocol: the receiver closes the whole channel.
 *
 * Only the server opens streams, numbered 1, 3, 5 ..., and it never uses a number twice. The agent
 * ends a stream with DONE or FAILED and sends nothing on it afterwards. The server may have sent
 * frames on it before it receives that, so the agent ignores frames for streams that have ended. */
#pragma once
#include "wire/table.h"

/* The highest stream number. The number after it would wrap around to 1 and be used twice. */
#define WIRE_STREAM_LAST (UINT32_MAX - 3)

struct wire_link {
	enum wire_side side; /* of this end */
	enum wire_phase phase;
	uint32_t next; /* number of the next stream */
};

void wire_link_init(struct wire_link *link, enum wire_side side);
/* Server: takes the number of the next stream to open; 0 if all numbers are used up. */
uint32_t wire_link_next(struct wire_link *link);

/* Checks a frame that arrived and is not for a live stream, and advances the phase. Returns 1 if
 * the frame is for the channel itself or opens a stream, 0 if it is to be ignored because its
 * stream has ended, -1 if it breaks the protocol. */
MUST_CHECK int wire_link_receive(struct wire_link *link, const struct wire_frame *frame,
                                 struct error *err);
/* Advances the phase after this end has sent a message of the channel itself. */
void wire_link_sent(struct wire_link *link, enum wire_type type);

struct wire_stream {
	uint32_t id;
	enum wire_kind kind;
	enum wire_side side;            /* of this end */
	enum wire_phase phase;          /* STARTING or RUNNING */
	bool over;                      /* DONE or FAILED was sent */
	uint8_t ended;                  /* mask of channels whose END was sent */
	uint64_t once[2];               /* mask of the messages sent that may be sent only once */
	uint32_t credit[WIRE_CHANNELS]; /* bytes that the channel's sender may still send */
};

void wire_stream_init(struct wire_stream *stream, uint32_t id, enum wire_kind kind,
                      enum wire_side side);
/* Whether bytes on this channel go from this end to the other. */
bool wire_stream_sends(const struct wire_stream *stream, uint8_t channel);

/* Checks a frame from the other end, and counts credit and ends. A refused frame changes nothing.
 * The caller decodes the frame first: the size of the payload is checked there. */
MUST_CHECK int wire_stream_receive(struct wire_stream *stream, const struct wire_frame *frame,
                                   struct error *err);
/* Checks and counts a frame that this end is about to send. A refusal is a bug of the sender. */
MUST_CHECK int wire_stream_send(struct wire_stream *stream, const struct wire_frame *frame,
                                struct error *err);
