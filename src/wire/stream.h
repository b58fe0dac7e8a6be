/* stream.h - the rules of conversation, kept by both ends in the same way.
 *
 * A link is one end's view of the channel: which phase it is in, which streams exist. A
 * stream knows its kind, who opened it, what has ended and how much may still be sent or
 * received. Nothing here reads or writes: wire_*_take() is asked about every message that
 * arrived, wire_stream_put() told of every message sent. A refusal means the peer broke
 * the protocol: the channel is closed, nothing is repaired.
 *
 * Streams of the server are 1, 3, 5 ..., of the agent 2, 4, 6 ...; numbers are not used again.
 * The acceptor ends a stream with DONE or FAILED and says nothing after it. What the opener
 * sent before it heard that is for a stream that is gone: the acceptor passes over it. */
#pragma once
#include "wire/table.h"

/* The highest number of a stream: behind it there is no next one, lest they start again. */
#define WIRE_STREAM_LAST (UINT32_MAX - 3)

struct wire_link {
	enum wire_side side; /* ours */
	enum wire_phase phase;
	uint32_t next;      /* stream we open next */
	uint32_t peer_last; /* stream the peer opened last */
};

void wire_link_init(struct wire_link *link, enum wire_side side);
/* The number of the next stream we open; 0 when there are no more. */
uint32_t wire_link_next(struct wire_link *link);

/* May this frame, which is not for a live stream, be said to us now? Moves on the phase.
 * 1: yes, it is for the channel or opens a stream; 0: pass over it, it is for a stream that is
 * gone; -1: the peer broke the protocol. */
MUST_CHECK int wire_link_take(struct wire_link *link, const struct wire_frame *frame,
                              struct error *err);
void wire_link_put(struct wire_link *link, enum wire_type type); /* we said it */

struct wire_stream {
	uint32_t id;
	enum wire_kind kind;
	enum wire_phase phase;          /* ASKED or GOING */
	bool mine;                      /* we opened it */
	bool over;                      /* DONE or FAILED was said */
	uint8_t ended;                  /* mask of channels */
	uint64_t said[2];               /* mask of messages said on it */
	uint32_t credit[WIRE_CHANNELS]; /* bytes that may still go, in the channel's direction */
};

void wire_stream_init(struct wire_stream *stream, uint32_t id, enum wire_kind kind, bool mine);
bool wire_stream_sends(const struct wire_stream *stream, uint8_t channel); /* we, not the peer */
bool wire_stream_has_said(const struct wire_stream *stream, enum wire_type type); /* either end */

/* May the peer say this now? Counts credit and ends; a refusal changes nothing. Decode it first:
 * sizes are checked there. */
MUST_CHECK int wire_stream_take(struct wire_stream *stream, const struct wire_frame *frame,
                                struct error *err);
/* The same of what we are about to say: refusing it is our own mistake. */
MUST_CHECK int wire_stream_put(struct wire_stream *stream, const struct wire_frame *frame,
                               struct error *err);
