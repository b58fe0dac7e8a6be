/* instances.h - the servers that share a state directory, and which of them are alive.
 *
 * Each holds a lock on a file of its own for as long as it or its spawner lives: the lock is in
 * the open file, which both share. Nothing of a dead one is needed, no pid can be mistaken. */
#pragma once
#include <stdbool.h>

#include "base/attr.h"
#include "sandbox/registry/registry.h"

struct error;

/* `dir`: servers/ in the state directory. Picks a free name and holds it; returns the fd that
 * does, close-on-exec. */
MUST_CHECK int instance_add(int dir, char name[INSTANCE_LEN + 1], struct error *err);
void instance_remove(int dir,
                     const char *name); /* removes the file; closing the fd is the caller's */
/* When in doubt (no descriptor left, say) it is alive: what is dead loses its sandboxes. */
bool instance_is_alive(int dir, const char *name);
/* Removes the files of dead ones, after everything of them has been swept. */
void instance_remove_dead(int dir);
