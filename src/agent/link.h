/* link.h - a stream that carries one connection on the sandbox's loopback interface.
 *
 * CONNECT: the agent connects to a port of 127.0.0.1, or of ::1 if nothing listens there. ACCEPT:
 * the agent listens on 127.0.0.1 and a port as long as there is a stream that was opened with
 * ACCEPT for this port, and gives each connection to the oldest of these streams that waits. While
 * none waits, connections stay in the kernel's queue. In both cases the stream sends LINKED, then
 * bytes flow in both directions; the agent does not look at them. DONE follows when both have
 * ended. struct link is embedded in struct stream and ends with it. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/feed.h"
#include "agent/poller.h"
#include "agent/program/pump.h"

struct stream;
struct wire_message;

enum { LINK_LISTENERS = 4 };

struct listener {
	struct source source;
	size_t index; /* in the agent's list */
	uint16_t port;
	unsigned streams; /* opened for this port and not ended; 0: the listener is not in use */
};

struct link {
	struct listener *listener; /* of ACCEPT; NULL: CONNECT */
	struct source dialing;     /* of CONNECT, until the connection is established */
	uint16_t port;             /* of CONNECT */
	bool is_ipv6;              /* of CONNECT: 127.0.0.1 has refused */
	struct feed in;
	struct pump out;
	bool in_done; /* all bytes of the server were written or discarded */
};

void link_open(struct stream *stream, const struct wire_message *message);
