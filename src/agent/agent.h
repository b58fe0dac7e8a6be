/* agent.h - the agent as a whole: one process, one loop, one channel, a table of streams.
 *
 * Everything is in one static object; streams are slots in it. What would block or could be
 * led astray is done by children: a keeper per program (keeper.h), a worker per file
 * operation (worker.h). Setting up may fail, loudly. After READY nothing in here may fail:
 * what goes wrong is the answer to one stream. */
#pragma once
#include <stdint.h>
#include <sys/resource.h>

#include "agent/confine.h"
#include "agent/net/proxy.h"
#include "agent/out.h"
#include "agent/poller.h"
#include "agent/stream.h"
#include "wire/stream.h"

enum {
	AGENT_STREAMS = WIRE_STREAMS_SERVER + WIRE_STREAMS_AGENT,
	AGENT_RINGS_MAX = 32 * 1024 * 1024, /* output kept, of all programs together */
};

struct user {
	uint32_t uid, gid;
	size_t group_count;
	uint32_t groups[WIRE_GROUPS_MAX];
};

struct agent {
	struct poller poller;
	struct source in;        /* the channel, to read */
	struct source out_ready; /* the channel, to write: only while something waits */
	struct source signals;
	struct out out;
	size_t in_start, in_end;
	char in_bytes[WIRE_FRAME_MAX * 2];

	struct wire_link link;
	uint32_t ids[AGENT_STREAMS]; /* of the streams below; 0: free */
	struct stream streams[AGENT_STREAMS];
	uint64_t next_due; /* when a stream wants to be called; 0: never */

	struct user user;
	struct confine confine;
	rlim_t files;   /* descriptors a program may have open, unless it is told otherwise */
	int nice;       /* and how nice it is: the agent and the keepers may be less so */
	bool refused;   /* setting up failed: end when that is said */
	int root, proc; /* O_PATH */
	int null;       /* opened before anybody could put something else in its place */
	char workspace[WIRE_PATH_MAX + 1];
	size_t ring_bytes; /* in use */

	struct orphans {
		bool some;
		uint64_t next, wait_ms;
	} orphans;
	struct proxy proxy;
};

/* --- streams of the agent (session.c) --- */

/* A free slot for a new stream; NULL: there is none. */
struct stream *agent_stream(struct agent *agent, uint32_t id, enum wire_kind kind, bool mine);
