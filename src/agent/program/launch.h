/* launch.h - turns a new process into the requested program: descriptors, limits, user id,
 * directory, confinement, execve(). A struct launch lives from program_open() until the program has
 * started, and owns nothing: program_io_open() and program_io_close() open and close its
 * descriptors. */
#pragma once
#include <stdbool.h>
#include <sys/resource.h>

#include "base/attr.h"
#include "wire/message.h"

struct confinement;
struct error;
struct user;

/* How to start a program. The agent fills it in, the keeper inherits it by fork(). -1: the
 * descriptor does not exist. */
struct launch {
	const struct wire_exec *exec;
	const struct user *user;
	struct confinement *confine;
	const char *workspace;
	rlim_t files; /* RLIMIT_NOFILE, unless exec sets a lower one */
	int nice;
	int root, proc; /* O_PATH: the root of all paths, and /proc */
	int agent;      /* the keeper's socket to the agent */
	int in, out, err;
	int control;       /* becomes descriptor 3 */
	bool has_terminal; /* in, out and err are one terminal */
};

/* In a child of the keeper made by vfork(), which shares the keeper's memory: becomes the program,
 * or sets *err and exits. */
NORETURN void launch_run(const struct launch *launch, struct error *err);
