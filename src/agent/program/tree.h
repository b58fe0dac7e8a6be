/* tree.h - the processes below one of ours, by /proc.
 *
 * A program may fork faster than anybody can look. So ending a tree stops all of it first
 * (a stopped process does not fork), looks again until nothing new turns up, and then kills.
 * What a process's state says does not matter: a first thread can be dead while others go on. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attr.h"

struct error;

/* Before any of the rest, and before a program could mount something over it: opens /proc for
 * good. Returns the descriptor; a child that moved it says where to. */
MUST_CHECK int tree_open(struct error *err);
void tree_use(int fd);

/* Sends a signal to every descendant of this process. Returns how many there were. */
size_t tree_signal(int signo);

/* Ends every descendant of this process and reaps it, for at most so long. True: none is
 * left. `reaped` (may be NULL) hears of each child. */
typedef void tree_reaped_fn(void *ctx, pid_t pid, int status);
bool tree_end(uint64_t ms, tree_reaped_fn *reaped, void *ctx);

/* Reaps what can be reaped. False: there are no children at all. */
bool tree_reap(tree_reaped_fn *reaped, void *ctx);

/* Kills the children of this process that `known` does not know, and what is below them. True:
 * there were none. */
typedef bool tree_known_fn(void *ctx, pid_t pid);
bool tree_kill_unknown(tree_known_fn *known, void *ctx);
