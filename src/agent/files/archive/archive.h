/* archive.h - directories as tar streams: PACK reads a tree, UNPACK writes one.
 *
 * Both are operations of a worker process (agent/files/job.h). The format is wire/tar.h: the server
 * connects a PACK in one agent to an UNPACK in another, so no other program's archives arrive
 * here. The bytes are hostile all the same: code in the sandbox may have taken over its agent. */
#pragma once
#include "agent/files/ops.h"

JOB_OP(pack); /* count entries, bytes of the archive */
/* count entries of the archive made, bytes of all files, skipped and the first skipped. Against
 * max_count goes every entry, and every directory made on the way to one. */
JOB_OP(unpack);
