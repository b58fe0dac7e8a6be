/* tree.h - the processes below one of ours, by /proc.
 *
 * A program may fork faster than anybody can look. So ending a tree stops all of it first
 * (a stopped process does not fork), looks again until nothing new turns up, and then kills.
 * What a process's state says does not matter: a first thread can be dead while others go on. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Sends a signal to every descendant of this process. Returns how many there were. */
size_t tree_signal(int signo);

/* Ends every descendant of this process and reaps it, for at most so long. True: none is
 * left. `reaped` (may be NULL) hears of each child. */
typedef void tree_reaped_fn(void *ctx, pid_t pid, int status);
bool tree_end(uint64_t ms, tree_reaped_fn *reaped, void *ctx);

/* Reaps what can be reaped. False: there are no children at all. */
bool tree_reap(tree_reaped_fn *reaped, void *ctx);

/* Kills the children of this process that `known` does not know, and what is below them.
 * Returns how many processes that were. */
typedef bool tree_known_fn(void *ctx, pid_t pid);
size_t tree_kill_unknown(tree_known_fn *known, void *ctx);
