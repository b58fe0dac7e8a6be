/* tree_pids.h - a process and all its descendants, as a /proc that shows them has it. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { TREE_PIDS_MAX = 1 << 17 }; /* more than any sandbox may have */

/* The first is `pid` itself. What begins or ends meanwhile may be missed. */
size_t tree_pids(int proc, pid_t pid, pid_t all[TREE_PIDS_MAX]);

/* For each thread of the process, until one returns false. They may have files of their own, and
 * of a process whose first thread has ended nothing is seen but through the others. A /proc has
 * threads as it has processes, though it does not list them. */
typedef bool tree_thread_fn(void *ctx, pid_t thread);
void tree_threads(int proc, pid_t pid, tree_thread_fn *fn, void *ctx);
