#include "wire/frame.h"

#include <assert.h>

#include "base/error.h"
#include "wire/bytes.h"

int wire_frame_cut(struct view *bytes, struct wire_frame *ret, struct error *err)
{
	const char *at = bytes->ptr;
	size_t len;

	if (bytes->len < WIRE_HEADER)
		return 0;
	len = bytes_get16(at + 2);
	/* Checked before the payload is complete: a receiver's buffer holds one frame of the
	 * maximum size, and would wait forever for the rest of a larger one. */
	if (len > WIRE_PAYLOAD_MAX)
		return error_set(err, ERR_SYNTAX, "a frame with %zu bytes of payload: at most %d",
		                 len, WIRE_PAYLOAD_MAX);
	if (bytes->len < WIRE_HEADER + len)
		return 0;
	*ret = (struct wire_frame){
		.type = (uint8_t)at[0],
		.channel = (uint8_t)at[1],
		.stream = bytes_get32(at + 4),
		.payload = { at + WIRE_HEADER, len },
	};
	bytes->ptr += WIRE_HEADER + len;
	bytes->len -= WIRE_HEADER + len;
	return 1;
}

void wire_frame_header(const struct wire_frame *frame, char out[WIRE_HEADER])
{
	assert(frame->payload.len <= WIRE_PAYLOAD_MAX);
	out[0] = (char)frame->type;
	out[1] = (char)frame->channel;
	bytes_put16(out + 2, (uint16_t)frame->payload.len);
	bytes_put32(out + 4, frame->stream);
}
