/* archive.h - directories as tar streams: PACK reads a tree, UNPACK writes one.
 *
 * Both are operations of a worker process (agent/files/job.h). The format is wire/tar.h: the server
 * connects a PACK in one agent to an UNPACK in another, so archives of other programs never arrive
 * here. An archive is hostile all the same: code in a sandbox may have taken over the agent that
 * packed it, and the other end may be a directory of the host. */
#pragma once
#include "agent/files/ops.h"

/* done: count entries, bytes of the archive, skipped entries and the name of the first one. */
JOB_OP(pack);
/* done: count entries created, bytes of all files, skipped entries and the name of the first one.
 * Entries and the directories that are created on the way to them count against max_count. */
JOB_OP(unpack);
