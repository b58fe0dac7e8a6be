/* helper.h - the start of a process that the server forks for work that it may not do itself: the
 * broker, the porter, the dialer and its services, the reloader. */
#pragma once
#include <stddef.h>

#include "base/attr.h"

struct error;

/* To be called first in the new process:
 * - `name` is the name that ps(1) shows.
 * - Descriptors above 2 are closed, except those in `keep`; a -1 among them is passed over. A copy
 *   of the server's end of a socket would hide the server's death from this process, and copies of
 *   its database, locks and channels would keep them in use.
 * - Standard input and output become /dev/null: the client that reads the server's output waits for
 *   end of file. Standard error stays, for warnings.
 * - Signals of the terminal are ignored. Ctrl-C reaches the whole foreground group, and the server
 *   still needs its helpers to put sandboxes to sleep. They exit when it closes their socket. */
MUST_CHECK int helper_begin(const char *name, const int *keep, size_t count, struct error *err);
