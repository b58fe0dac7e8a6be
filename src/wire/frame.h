/* frame.h - the unit of the channel: eight bytes that say what follows, then the payload.
 *
 *   0      1         2        4        8
 *   | type | channel | length | stream | payload ...      big endian
 *
 * A frame is at most 64 KiB, header included. The channel is 0 wherever it means nothing.
 * Nothing is copied: a frame's payload is a view of the bytes it was cut from. */
#pragma once
#include <stdint.h>

#include "base/attr.h"
#include "base/view.h"

struct error;

enum {
	WIRE_HEADER = 8,
	WIRE_FRAME_MAX = 64 * 1024,
	WIRE_PAYLOAD_MAX = WIRE_FRAME_MAX - WIRE_HEADER,
};

struct wire_frame {
	uint8_t type; /* enum wire_type, if the peer is honest */
	uint8_t channel;
	uint32_t stream; /* 0: the channel itself */
	struct view payload;
};

/* Cuts the first frame off *bytes. 1: there is one; 0: more bytes are needed; -1: no peer
 * of ours would say that. */
MUST_CHECK int wire_frame_cut(struct view *bytes, struct wire_frame *ret, struct error *err);

/* Writes the header of a frame whose payload stands behind it or is written after it. */
void wire_frame_header(const struct wire_frame *frame, char out[WIRE_HEADER]);
