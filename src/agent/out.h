/* out.h - what waits to be read by the server: one buffer that cannot overflow.
 *
 * The rule that makes it so: nothing that may speak is called while more than OUT_BUSY bytes
 * wait, and nothing that is called adds more than OUT_TURN. So a small answer always finds
 * room, no answer is ever lost, and nobody keeps a queue of their own. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "wire/table.h"

enum {
	OUT_BUSY = 64 * 1024,
	OUT_TURN = 160 * 1024,
	OUT_SIZE = OUT_BUSY + OUT_TURN + 32 * 1024,
};

struct out {
	int fd;
	bool broken; /* the server is gone */
	size_t start, end;
	char bytes[OUT_SIZE];
};

bool out_is_free(struct out *out); /* somebody may speak */

/* A frame whose payload is made in place: where it may stand, then how long it has become. */
char *out_payload(struct out *out); /* room for WIRE_PAYLOAD_MAX bytes */
void out_commit(struct out *out, const struct wire_frame *frame);

/* A message. What the table forbids is a mistake of ours: we end. */
void out_message(struct out *out, const struct wire_message *message, uint32_t stream,
                 uint8_t channel);

void out_flush(struct out *out); /* as much as goes without waiting */
