/* ops.h - the file operations of a worker process; job.h describes what they have in common. */
#pragma once
#include <sys/stat.h>

#include "agent/files/job.h"

#define JOB_OP(name)                                                                               \
	MUST_CHECK int op_##name(struct job *job, const struct wire_##name *request,               \
	                         struct wire_done *done, struct error *err)

/* done: bytes sent; total, the size when the file was opened; count lines, the one that max cut
 * included. MORE: max cut the range; of unit lines also if lines follow the range. */
JOB_OP(read);
/* done: bytes received, total size. On too many bytes, or CLOSE, the file stays as it was; but
 * directories created for it (WIRE_PARENTS) remain, and so does an empty file created for append.
 * Appended bytes remain if another process wrote to the file meanwhile; the error says so. */
JOB_OP(write);
JOB_OP(stat);   /* one entry */
JOB_OP(list);   /* count entries, MORE and cursor */
JOB_OP(tree);   /* count entries, MORE: limit or depth cut the rest */
JOB_OP(find);   /* count entries, MORE: limit cut the rest */
JOB_OP(grep);   /* count matches, MORE: limit cut the rest */
JOB_OP(remove); /* count entries removed */
JOB_OP(rename); /* no result */

/* The result of stat(2) as a record, without path and target. Times before 1970 are 0. A file
 * without a type (see walk.h) is WIRE_FILE_OTHER. */
struct wire_entry entry_of(const struct stat *st);

/* Memory, processor time, processes and disk of the sandbox, as far as they are seen from
 * inside. */
MUST_CHECK int op_stats(const struct job *job, struct wire_stats_are *ret, struct error *err);
