/* keeper.h - the process above one program and all its descendants.
 *
 * A keeper is a child of the agent and a subreaper (prctl PR_SET_CHILD_SUBREAPER): whatever a
 * program forks, however it detaches itself, stays a descendant of its keeper. The keeper starts
 * the program, passes signals on, watches the deadline, and when the program has exited it kills
 * the descendants that are left, reports to the agent and exits. A keeper has the agent's rights,
 * not the program's. If the agent exits, the keeper's socket is closed, and the keeper kills all
 * its descendants.
 *
 * Orders and reports are structs, one a packet, over a SOCK_SEQPACKET pair. */
#pragma once
#include <stdint.h>
#include <sys/types.h>

#include "base/attr.h"
#include "base/error.h"
#include "wire/message.h"

struct launch;

enum keeper_order_kind { KEEPER_SIGNAL, KEEPER_DEADLINE, KEEPER_KILL };
struct keeper_order { /* agent to keeper */
	enum keeper_order_kind kind;
	int number; /* of the signal */
	uint32_t deadline_ms, grace_ms;
};

enum keeper_report_kind { KEEPER_STARTED, KEEPER_FAILED, KEEPER_EXITED };
struct keeper_report { /* keeper to agent */
	enum keeper_report_kind kind;
	pid_t pid; /* STARTED */
	/* EXITED. A pointer of the keeper means nothing to the agent, so the text of exited.left is
	 * in `left`. */
	struct wire_exited exited;
	char left[WIRE_LEFT_MAX];
	struct error err; /* FAILED: why the program could not be started */
};

/* The keeper's process, in a new child of the agent. Takes over the descriptors of *launch. */
NORETURN void keeper_run(struct launch *launch);
