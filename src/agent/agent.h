/* agent.h - the agent's state: one process, one event loop, one channel, a table of streams.
 *
 * The agent is PID 1 of a sandbox (tests also run it as an ordinary process). main.c owns the one
 * static struct agent; streams are slots in it and are never allocated or freed. Whatever could
 * block or depends on files that sandboxed code controls is done by children: a keeper for each
 * program (program/keeper.h), a worker for each file operation (files/worker.h). The one exception
 * is CHANGES (files/changes.c), whose time and effects are bounded.
 *
 * Until READY is sent, any failure ends the agent with a reason. After that a failure is only
 * ever reported on the stream it belongs to: an agent that exits would take the whole sandbox
 * with it. */
#pragma once
#include <stdint.h>
#include <sys/resource.h>

#include "agent/confinement.h"
#include "agent/outgoing.h"
#include "agent/poller.h"
#include "agent/stream.h"
#include "agent/user.h"
#include "wire/stream_rules.h"

struct agent {
	struct poller poller;
	struct source in;        /* the channel, to read */
	struct source out_ready; /* the channel, to write: only while bytes wait in `out` */
	struct source signals;   /* signalfd: SIGCHLD */
	struct outgoing out;
	size_t in_start, in_end; /* bytes read and not handled yet */
	char in_bytes[WIRE_FRAME_MAX * 2];

	struct wire_link link;
	uint32_t ids[WIRE_STREAMS_MAX]; /* of the streams below; 0: the slot is free */
	struct stream streams[WIRE_STREAMS_MAX];
	struct listener listeners[LINK_LISTENERS];
	uint64_t next_due; /* the earliest time a stream has set with stream_set_due(); 0: none */

	struct user user;
	struct confinement confine;
	rlim_t files; /* RLIMIT_NOFILE of programs, unless EXEC lowers it */
	int nice; /* of programs and workers; the agent and the keepers run at a higher priority */
	/* The porter has started the agent, for copies: the root is the directory that the agent
	 * was started in, and the rules of files/export/export.h hold. */
	bool on_host;
	uint64_t allowed; /* on the host: kinds of trusted files that may be written */
	bool refused;     /* REFUSED was sent: exit once it is written */
	int root, proc;   /* O_PATH: the root of all paths, and /proc */
	int null;         /* /dev/null, opened before sandboxed code could replace it */
	char workspace[WIRE_PATH_MAX + 1];

	struct orphans { /* see children_sweep() */
		bool some;
		uint64_t next, wait_ms;
	} orphans;
};

/* Writes the reason to stderr and exits. For bugs, and for a server that breaks the protocol: the
 * kernel then kills everything in the sandbox. Defined in main.c. */
NORETURN void agent_die(const char *why);
