/* worker.h - file operations, each in a worker process of its own with the user's rights, except
 * CHANGES (changes.c).
 *
 * The worker process runs one operation (ops.h) and writes whole frames to a SEQPACKET socket, one
 * in each packet. The worker process is trusted no more than the user's own programs: a file or an
 * archive that it reads may have taken it over. So the agent decodes each frame by the table,
 * checks it against the rules of the stream, and reads a packet only if the server has given credit
 * for it. When the stream is closed, the agent closes the socket first, so that the operation can
 * undo what is partly done; a worker process that does not exit within two seconds is killed. */
#pragma once
#include "agent/feed.h"
#include "agent/poller.h"
#include "base/attr.h"

struct agent;
struct stream;
struct wire_message;

struct worker {
	struct source source; /* frames from the process */
	struct feed feed;     /* bytes to it, through a duplicate of the socket */
	bool closing;         /* the stream was closed; the process has not exited */
};

/* Starts the operation that `message` asks for: READ, WRITE, STAT ... STATS. */
void worker_open(struct stream *stream, const struct wire_message *message);

/* Answers CHANGES. */
void changes_open(struct stream *stream, const struct wire_message *message);

/* Runs in the forked child: becomes the user, runs the operation, replies over `socket`, exits. */
NORETURN void worker_process_run(const struct agent *agent, const struct wire_message *request,
                                 int socket);
