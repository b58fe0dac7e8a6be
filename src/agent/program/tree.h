/* tree.h - the descendants of the calling process, as /proc shows them.
 *
 * A program may fork faster than /proc can be read. Killing a process tree therefore sends SIGSTOP
 * to all processes first (a stopped process does not fork), reads /proc again until no new process
 * appears, and then sends SIGKILL. The state in /proc is not used: a process whose first thread has
 * exited looks like a zombie while its other threads go on.
 *
 * The agent calls tree_open() once; keepers inherit the descriptor. The lists are static: one
 * process, one thread. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attr.h"

struct error;

/* Opens /proc and keeps it open, so that a program cannot mount something else in its place later.
 * Returns the descriptor. */
MUST_CHECK int tree_open(struct error *err);
/* Sets the descriptor of /proc, in a child that has moved it to another number. */
void tree_use(int fd);

/* Sends a signal to every descendant. Returns how many there were. */
size_t tree_signal(int signo);

/* Kills and reaps all descendants, for at most `ms`. True: none is left. `reaped` (may be NULL) is
 * called for each child. */
typedef void tree_reaped_fn(void *ctx, pid_t pid, int status);
bool tree_kill_all(uint64_t ms, tree_reaped_fn *reaped, void *ctx);

/* Writes the command lines of the descendants, cut and separated by ", ", in printable ASCII. A
 * list that does not fit ends in "...". */
void tree_describe(char *out, size_t size);

/* Reaps the children that have exited, without waiting. False: there are no children at all. */
bool tree_reap(tree_reaped_fn *reaped, void *ctx);

/* Kills the children for which `known` returns false, and their descendants. True: there were
 * none. */
typedef bool tree_known_fn(void *ctx, pid_t pid);
bool tree_kill_unknown(tree_known_fn *known, void *ctx);
