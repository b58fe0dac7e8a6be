/* job.h - one file operation, as the worker process that runs it sees it.
 *
 * A worker process is forked for one request and has the rights of the sandbox's user. The process
 * may block, because the agent does not wait for it. Its packets go to the agent, which passes them
 * on as fast as the server gives credit, so sending blocks while the server is slow. When the agent
 * closes the socket because the request was closed, every call here fails with EPIPE: the operation
 * then undoes what is partly done and returns.
 *
 * An operation is
 *   int op(struct job *, const struct wire_X *, struct wire_done *, struct error *):
 * it sends bytes or records, fills in *done and returns 0, or fails. Its memory must not depend on
 * the size of a file, a line or a directory, which code in the sandbox chooses. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attr.h"
#include "wire/table.h"

struct error;

/* Payload of one packet. The server always gives a stream at least this much credit. */
enum { JOB_PACKET_MAX = WIRE_RECORDS_MAX };

struct job {
	int fd;                /* SOCK_SEQPACKET, blocking: one packet, one frame */
	int root;              /* O_PATH: the directory that paths call "/" */
	const char *workspace; /* absolute below root; relative paths start here */
	bool on_host;          /* the files are the host's, and the rules of export.h hold */
	bool is_disk_full;     /* RLIMIT_FSIZE shows it, see WIRE_FULL_FILE_MAX */
	uint64_t allowed;      /* on the host: kinds of trusted files that may be written */
	size_t pending;        /* bytes of records in `out` that are not sent */
	enum wire_type pending_type;
	char in[WIRE_HEADER + JOB_PACKET_MAX];
	char out[WIRE_HEADER + JOB_PACKET_MAX + 1];
};

/* Sends any number of bytes to the server (DATA), cut into packets. */
MUST_CHECK int job_send(struct job *job, struct view bytes, struct error *err);

/* Adds a record (ENTRIES, MATCHES) to the packet, which is sent when it is full and by
 * job_flush(). */
MUST_CHECK int job_record(struct job *job, enum wire_type type, const struct wire_record *record,
                          const void *in, struct error *err);
MUST_CHECK int job_flush(struct job *job, struct error *err);

/* Receives the next bytes from the server, valid until the next call: 1, or 0 after its END. */
MUST_CHECK int job_receive(struct job *job, struct view *ret, struct error *err);

/* Counts an entry that an archive operation leaves out; done->cursor names the first one, cut if
 * it is long. The name is kept in static memory: a worker process does one operation and exits. */
void job_skip_entry(struct wire_done *done, struct view name);
