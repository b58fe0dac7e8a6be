/* tree_pids.h - a process and all its descendants, as a /proc that shows them has it. */
#pragma once
#include <stddef.h>
#include <sys/types.h>

enum { TREE_PIDS_MAX = 4096 };

/* The first is `pid` itself. What begins or ends meanwhile may be missed. */
size_t tree_pids(int proc, pid_t pid, pid_t all[TREE_PIDS_MAX]);
