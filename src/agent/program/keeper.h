/* keeper.h - the process that stands over one program and everything it starts.
 *
 * A keeper is a child of the agent and the adoptive parent (subreaper) of all its
 * descendants: whatever a program forks, however it detaches itself, stays below its keeper
 * and nowhere else. The keeper starts the program, passes signals on, watches the deadline,
 * and when the program has ended ends whatever it left. Then it tells the agent and exits.
 * It has the agent's rights, not the program's. If the agent goes, it ends them all. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "base/attr.h"
#include "base/error.h"
#include "wire/message.h"

struct confine;
struct user;

/* What to start, as whom, where, joined to what. */
struct program {
	const struct wire_exec *exec;
	const struct user *user; /* the sandbox's: exec may name another */
	struct confine *confine;
	const char *workspace;
	rlim_t files; /* descriptors it may have open, unless exec says otherwise */
	int nice;
	int root, proc; /* what paths are below, and /proc */
	int agent;      /* SOCK_SEQPACKET, to be told and to tell */
	int in, out, err;
	int control;   /* -1: none */
	bool terminal; /* the three are one terminal */
};

enum keeper_order_kind { KEEPER_SIGNAL, KEEPER_DEADLINE, KEEPER_END };
struct keeper_order { /* agent to keeper */
	enum keeper_order_kind kind;
	int number, target;
	pid_t group; /* in the foreground of its terminal; 0: it has none */
	uint32_t deadline_ms, grace_ms;
};

enum keeper_report_kind { KEEPER_STARTED, KEEPER_REFUSED, KEEPER_EXITED };
struct keeper_report { /* keeper to agent */
	enum keeper_report_kind kind;
	pid_t pid;
	struct wire_exited exited;
	struct error err;
};

/* In a new child of the agent; never returns. Takes over the descriptors of *program. */
NORETURN void keeper_main(struct program *program);
