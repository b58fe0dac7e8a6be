/* frame.h - the unit of the channel: a header of eight bytes and a payload.
 *
 *   0      1         2        4        8
 *   | type | channel | length | stream | payload ...      big endian
 *
 * A frame has at most 64 KiB, header included. The channel is 0 in messages that name none. The
 * payload is a view of the bytes the frame was cut from; nothing is copied. */
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
	uint8_t type; /* enum wire_type, or any other value that the other end sent */
	uint8_t channel;
	uint32_t stream; /* 0: the channel itself */
	struct view payload;
};

/* Cuts the first frame off *bytes. Returns 1, 0 if its bytes are not all there yet, or -1 if its
 * length breaks the protocol. */
MUST_CHECK int wire_frame_cut(struct view *bytes, struct wire_frame *ret, struct error *err);

/* Encodes the header; the payload is the caller's to write. */
void wire_frame_header(const struct wire_frame *frame, char out[WIRE_HEADER]);
