/* outgoing.h - the outgoing buffer: bytes that wait until the server reads them.
 *
 * The buffer cannot overflow, whatever the server and the programs do: no handler that may send
 * something is called while more than OUTGOING_BUSY bytes wait (outgoing_is_free()), and no handler
 * adds more than OUTGOING_TURN. So a reply always finds room, nothing is ever dropped, and no other
 * queue is needed. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "wire/table.h"

enum {
	OUTGOING_BUSY = 64 * 1024,
	OUTGOING_TURN = 160 * 1024,
	OUTGOING_SIZE = OUTGOING_BUSY + OUTGOING_TURN + 32 * 1024,
};

struct outgoing {
	int fd;
	bool broken; /* a write failed: the server has closed the channel */
	size_t start, end;
	char bytes[OUTGOING_SIZE];
};

/* Whether a handler that may send OUTGOING_TURN bytes may be called. Makes room for them. */
bool outgoing_is_free(struct outgoing *out);

/* A frame whose payload is read directly into the buffer: the place of the payload, which has room
 * for WIRE_PAYLOAD_MAX bytes, then the header with the final length. */
char *outgoing_payload(struct outgoing *out);
void outgoing_commit(struct outgoing *out, const struct wire_frame *frame);

/* Appends a message. A message that the table forbids is a bug: the agent exits. */
void outgoing_message(struct outgoing *out, const struct wire_message *message, uint32_t stream,
                      uint8_t channel);

void outgoing_flush(struct outgoing *out); /* writes as much as the socket takes without blocking */
