/* instances.h - the servers that share a state directory, which of them are alive, and their
 * sockets.
 *
 * Each server holds flock() on a file of its own. The lock belongs to the open file description,
 * which the server shares with its spawner, so the kernel releases it when both have exited,
 * however they ended. A pid in a file would not do: pids are reused. */
#pragma once
#include <stdbool.h>

#include "base/attr.h"
#include "sandbox/registry/registry.h"

struct error;

/* Chooses a free random name and locks its file. `dir` is servers/ in the state directory. Returns
 * the descriptor that holds the lock, close-on-exec. */
MUST_CHECK int instance_add(int dir, char name[INSTANCE_LEN + 1], struct error *err);
void instance_remove(int dir, const char *name); /* the caller closes the descriptor */
/* In doubt (EMFILE, say) the answer is yes: the sandboxes of a server that is taken for dead are
 * taken over or deleted. */
bool instance_is_alive(int dir, const char *name);
/* Makes the socket on which the server `name` accepts other processes of its user:
 * servers/NAME.sock. instance_remove() removes it. Returns the descriptor, close-on-exec and
 * non-blocking. */
MUST_CHECK int instance_listen(int dir, const char *name, struct error *err);
/* Connects to that socket, without waiting. Both calls change the working directory for a moment:
 * the address of a socket has room for a short path only. */
MUST_CHECK int instance_connect(int dir, const char *name, struct error *err);
/* Removes the lock files and sockets of dead servers. Call it only after their sandboxes were taken
 * over. */
void instance_remove_dead(int dir);
