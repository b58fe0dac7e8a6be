/* children.h - the agent's child processes: keepers, workers, and orphans.
 *
 * Every process in the sandbox descends from a keeper or a worker. A direct child that is neither
 * is an orphan: its keeper was killed by a program of the same user, or exited before it had killed
 * all descendants. An orphan belongs to no stream and is killed. */
#pragma once
#include <stdint.h>

struct agent;

/* On SIGCHLD: reaps all children that have exited, and calls the child handlers of their
 * streams. */
void children_reap(struct agent *agent);
/* Starts the search for orphans: a keeper is gone and may have left some. */
void children_set_orphans(struct agent *agent);
/* Kills the orphans if there are any and the time for the next search has come. */
void children_sweep(struct agent *agent, uint64_t now);
/* Kills and reaps all descendants, for at most two seconds. Does nothing as PID 1: the kernel kills
 * every process of the PID namespace when the agent exits. */
void children_kill_all(void);
