/* launch.h - from a forked process to the requested program. */
#pragma once
#include <stdbool.h>
#include <sys/resource.h>

#include "base/attr.h"
#include "wire/message.h"

struct confine;
struct user;

/* How to start a program. The agent fills it in, the keeper and the program's process inherit it by
 * fork(). -1: the descriptor does not exist. */
struct launch {
	const struct wire_exec *exec;
	const struct user *user;
	struct confine *confine;
	const char *workspace;
	rlim_t files; /* soft RLIMIT_NOFILE, unless exec sets it */
	int nice;
	int root, proc; /* O_PATH: what paths are below, and /proc */
	int agent;      /* the keeper's socket to the agent */
	int in, out, err;
	int control;       /* becomes descriptor 3 */
	bool has_terminal; /* in, out and err are one terminal */
};

/* In a new child of the keeper: becomes the program, or writes a struct error to `report` and
 * exits. `report` is closed by a successful execve(). */
NORETURN void launch_run(const struct launch *launch, int report);
