/* worker.h - file operations, each by a child of its own that has the user's rights.
 *
 * The child runs one operation (ops.h) and speaks whole frames over a socket, one a packet.
 * It is no more trusted than the user's own programs: the agent checks what it says by the
 * table and the rules of the stream before it passes it on, and only reads what there is
 * credit for.
 * When the stream is closed the socket goes first, so that the child can undo what is half
 * done; if it does not end, it is killed. */
#pragma once
#include "agent/feed.h"
#include "agent/poller.h"
#include "base/attr.h"

struct agent;
struct stream;
struct wire_message;

struct worker {
	struct source source; /* SOCK_SEQPACKET */
	struct feed feed;     /* the other direction */
	bool closing;
};

/* READ, WRITE, STAT ... STATS. */
void worker_open(struct stream *stream, const struct wire_message *message);

/* The worker process, in a new child of the agent: does the operation, replies over `socket` and
 * exits. */
NORETURN void worker_process_run(const struct agent *agent, const struct wire_message *request,
                                 int socket);
