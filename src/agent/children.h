/* children.h - the agent's own children: keepers, workers, and whatever is left behind.
 *
 * Everything below the agent hangs from a keeper or a worker. A child that is neither was
 * orphaned by a keeper that is gone (killed by a program of the same user, or given up): it
 * belongs to nobody and is killed. */
#pragma once
#include <stdint.h>

struct agent;

void children_reap(struct agent *agent);     /* on SIGCHLD: tells the streams they carried */
void children_orphaned(struct agent *agent); /* a keeper left some behind */
void children_sweep(struct agent *agent, uint64_t now);
void children_end(uint64_t ms); /* all of them, for at most so long */
