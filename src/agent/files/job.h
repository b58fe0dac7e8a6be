/* job.h - one file operation, as the worker process that does it sees it.
 *
 * A worker is forked for one request, has the rights of the sandbox's user, and may block:
 * nobody waits for it but the one who asked. What it says goes to the agent, which passes it
 * on as fast as it is wanted; so sending blocks when the reader is slow. When the agent
 * closes the connection (the opener changed its mind), every call here fails with EPIPE: the
 * operation undoes what is half done and returns.
 *
 * An operation is
 *   int op(struct job *, const struct wire_X *, struct wire_done *, struct error *):
 * it sends bytes or records, fills in *done and returns 0, or fails. Nothing of it may
 * depend on how large a file, a line or a directory is: memory is bounded. */
#pragma once
#include <stddef.h>
#include <sys/types.h>

#include "base/attr.h"
#include "wire/table.h"

struct error;

/* The most that goes in one packet. The server never leaves a stream with less credit. */
enum { JOB_PACKET_MAX = WIRE_RECORDS_MAX };

struct job {
	int fd;                /* SOCK_SEQPACKET, blocking: one packet, one frame */
	int root;              /* O_PATH: what "/" means to the user */
	const char *workspace; /* absolute below root; relative paths start here */
	size_t pending;        /* bytes of records in `out`, not sent yet */
	enum wire_type pending_type;
	char in[WIRE_HEADER + JOB_PACKET_MAX];
	char out[WIRE_HEADER + JOB_PACKET_MAX + 1];
};

/* Bytes to the opener (DATA), any number of them, cut into packets as needed. */
MUST_CHECK int job_send(struct job *job, struct view bytes, struct error *err);

/* One record (ENTRIES, MATCHES); sent when enough have come together, and by job_flush(). */
MUST_CHECK int job_record(struct job *job, enum wire_type type, const struct wire_record *record,
                          const void *in, struct error *err);
MUST_CHECK int job_flush(struct job *job, struct error *err);

/* The next bytes from the opener, valid until the next call: 1, or 0 when it has said END. */
MUST_CHECK int job_receive(struct job *job, struct view *ret, struct error *err);

/* Counts an entry that an archive operation leaves out; done->cursor names the first one, cut if
 * it is long. The name is kept in static memory: a worker process does one operation and exits. */
void job_skip_entry(struct wire_done *done, struct view name);
