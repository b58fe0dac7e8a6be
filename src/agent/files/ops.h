/* ops.h - the file operations a worker can do; job.h says what they all have in common. */
#pragma once
#include <sys/stat.h>

#include "agent/files/job.h"

#define JOB_OP(name)                                                                               \
	MUST_CHECK int op_##name(struct job *job, const struct wire_##name *request,               \
	                         struct wire_done *done, struct error *err)

/* done: bytes sent, total: the size when it was opened. MORE: max came before what was asked
 * for; of unit lines also: there are lines behind it. count lines, one that max cut included. */
JOB_OP(read);
/* bytes received, total size. Too many bytes, or CLOSE: the file is as it was before, but
 * directories made for it (WIRE_PARENTS) stay, and so does an empty file made to append to. What
 * was appended also stays if others wrote to the file meanwhile; the error says so. */
JOB_OP(write);
JOB_OP(stat);   /* one entry */
JOB_OP(list);   /* count entries, MORE and cursor */
JOB_OP(tree);   /* count entries, MORE: limit or depth came first */
JOB_OP(find);   /* count entries, MORE: limit came first */
JOB_OP(grep);   /* count matches, MORE: limit came first */
JOB_OP(remove); /* count entries removed */
JOB_OP(rename); /* nothing */

/* What stat(2) says of a file, as a record. Times before 1970 are 0. path and target are left
 * empty. Without a file type (see walk.h) it is WIRE_FILE_OTHER. */
struct wire_entry entry_of(const struct stat *st);

/* The sandbox in numbers, as far as they can be seen from inside. */
MUST_CHECK int op_stats(const struct job *job, struct wire_stats_are *ret, struct error *err);
