/* fuzz_frame.c - a byte stream is split into the same frames however it arrives, and the frames
 * joined again are the bytes. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "fuzz/fuzz.h"
#include "wire/frame.h"

static void check_header(const struct wire_frame *frame)
{
	char header[WIRE_HEADER];

	wire_frame_header(frame, header);
	if (memcmp(header, frame->payload.ptr - WIRE_HEADER, WIRE_HEADER) != 0)
		abort();
}

/* Without its last byte the frame is incomplete; with exactly its bytes it is complete. */
static void check_edges(const char *start, size_t len)
{
	struct view shorter = { start, len - 1 };
	struct view exact = { start, len };
	struct wire_frame frame;
	struct error err;

	if (wire_frame_cut(&shorter, &frame, &err) != 0 || shorter.ptr != start ||
	    shorter.len != len - 1)
		abort();
	if (wire_frame_cut(&exact, &frame, &err) != 1 || exact.len != 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct view rest = { (const char *)data, size };
	struct wire_frame frame;
	struct error err;

	for (;;) {
		struct view before = rest;
		int r = wire_frame_cut(&rest, &frame, &err);

		if (r != 1) {
			if (rest.ptr != before.ptr || rest.len != before.len)
				abort();
			if (r == 0 && rest.len >= WIRE_FRAME_MAX)
				abort(); /* a complete frame is never longer */
			return 0;
		}
		if (frame.payload.ptr != before.ptr + WIRE_HEADER ||
		    frame.payload.len > WIRE_PAYLOAD_MAX ||
		    rest.ptr != frame.payload.ptr + frame.payload.len ||
		    before.len - rest.len != WIRE_HEADER + frame.payload.len)
			abort();
		check_header(&frame);
		check_edges(before.ptr, before.len - rest.len);
	}
}
