/* helper.h - a process that the server forks for work that it may not do itself: the spawner, the
 * broker, the porter, the dialer and its services, the reloader.
 *
 *   server:   helper_start -> [helper_wait] -> packets on the socket -> helper_stop
 *   process:  helper_begin -> (confines itself) -> [helper_report] -> packets until end of file
 *
 * All of them are forked before there is a loop or a thread. When the server exits or is killed,
 * the kernel closes its end of the socket, and the process exits at the end of file. */
#pragma once
#include <stddef.h>
#include <sys/types.h>

#include "base/attr.h"

struct error;

/* --- in the server --- */

/* Runs in the new process and does not return. `socket` is its end of the pair. */
typedef void helper_fn(void *ctx, int socket);

/* Makes a SOCK_SEQPACKET pair and forks. *socket is the server's end, close-on-exec. `name` is for
 * messages: "dialer". After a failure *pid is 0 and *socket is -1. */
MUST_CHECK int helper_start(const char *name, helper_fn *run, void *ctx, pid_t *pid, int *socket,
                            struct error *err);
/* Returns when the process has called helper_report(). Fails with the reason that it gave, or if it
 * has exited without one. */
MUST_CHECK int helper_wait(const char *name, int socket, struct error *err);
/* Closes the socket, unless it was taken over (-1), and reaps the process, which exits when the
 * last copy of the socket is closed. Does nothing if *pid is 0. */
void helper_stop(pid_t *pid, int *socket);

/* --- in the process --- */

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
/* Answers helper_wait(): the process is confined. `why`, unless it is NULL, says why it could not
 * be; then this function exits. */
void helper_report(int socket, const struct error *why);
