/* keep_fds.h - what a child of the agent keeps of its descriptors. */
#pragma once
#include <stddef.h>

/* In a new child: everything but these (and 0 to 2) is closed, for it is the agent's: the channel,
 * what belongs to other streams. They are moved into one row from 3 on, close-on-exec; those that
 * are -1 stay that. Exits if there is no room: rather nothing than something of the agent's. */
void keep_fds(int *const fds[], size_t count);
