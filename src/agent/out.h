/* out.h - the outgoing buffer: bytes that wait until the server reads them.
 *
 * The buffer cannot overflow, whatever the server and the programs do: no handler that may send
 * something is called while more than OUT_BUSY bytes wait (out_is_free()), and no handler adds more
 * than OUT_TURN. So a reply always finds room, nothing is ever dropped, and no other queue is
 * needed. */
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
	bool broken; /* a write failed: the server has closed the channel */
	size_t start, end;
	char bytes[OUT_SIZE];
};

/* Whether a handler that may send OUT_TURN bytes may be called. Makes room for them. */
bool out_is_free(struct out *out);

/* A frame whose payload is read directly into the buffer: the place of the payload, which has room
 * for WIRE_PAYLOAD_MAX bytes, then the header with the final length. */
char *out_payload(struct out *out);
void out_commit(struct out *out, const struct wire_frame *frame);

/* Appends a message. A message that the table forbids is a bug: the agent exits. */
void out_message(struct out *out, const struct wire_message *message, uint32_t stream,
                 uint8_t channel);

void out_flush(struct out *out); /* writes as much as the socket takes without blocking */
