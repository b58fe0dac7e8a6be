/* entry.h - what stat(2) says of a file, as a record on the wire. */
#pragma once
#include <sys/stat.h>

#include "agent/files/job.h"

/* Times before 1970 are 0. path and target are left empty. Without a file type (see walk.h) it is
 * WIRE_FILE_OTHER. */
struct wire_entry entry_of(const struct stat *st);

/* One record of ENTRIES. A link's target is read from `name` in `dir` (name "": dir is the link
 * itself, O_PATH), and is empty if that fails. */
MUST_CHECK int entry_send(struct job *job, struct view path, const struct stat *st, int dir,
                          const char *name, struct error *err);
