/* messages.h - the messages between the server and the process that creates its sandboxes: the
 * spawner of the native engine, or the broker of the Docker engine.
 *
 * A message is one fixed struct on a SOCK_SEQPACKET pair. The server parses input from clients and
 * may have been taken over, so the other process checks every field of a request and touches
 * nothing but the sandboxes of its own state directory. Descriptors are sent in one direction only,
 * with REPLY_STARTED and REPLY_CONNECTED. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "engine/engine.h"
#include "engine/native/cgroup/cgroup.h"
#include "engine/report.h"
#include "engine/spec.h"

/* --- requests --- */

enum { ENGINE_ARGUMENT_SIZE = 96 };

enum engine_request_kind {
	REQUEST_START = 1, /* spec */
	REQUEST_KILL,      /* number of the REQUEST_START */
	REQUEST_ERASE,     /* spec.id */
	REQUEST_LIST,
	REQUEST_LIMIT,   /* number of the REQUEST_START; spec.limits: memory, cpu, pids and disk */
	REQUEST_CONNECT, /* argument; the server's own filter refuses socket(2) */
	REQUEST_ADD_PYTHON, /* spec.id, argument */
	REQUEST_KIND_COUNT
};

struct engine_request {
	uint32_t kind;
	uint64_t number; /* chosen by the server; a REQUEST_START never uses a number twice */
	struct spec spec;
	/* REQUEST_CONNECT: the name of another server. REQUEST_ADD_PYTHON: the URL of a gate in the
	 * sandbox. */
	char argument[ENGINE_ARGUMENT_SIZE];
};

/* --- replies --- */

enum engine_reply_kind {
	REPLY_READY = 1, /* after all REPLY_LAYER; or `err`, and the process exits */
	REPLY_STARTED,   /* descriptors: the channel, then the counter files named by `counters` */
	REPLY_ENDED,     /* after REPLY_STARTED; or, with `err`, instead of it */
	REPLY_ERASED,
	REPLY_LISTED,    /* one per sandbox; the last has an empty id */
	REPLY_CONNECTED, /* one descriptor; or `err` */
	REPLY_LIMITED,   /* number of the REQUEST_START */
	REPLY_LAYER,     /* one layer of the report */
	REPLY_PROGRESS,  /* number of a REQUEST_START without REPLY_STARTED so far */
	REPLY_PYTHON,    /* image; or `err` */
};

enum { REPLY_FDS_MAX = 1 + CGROUP_COUNTER_FILES };

struct engine_reply {
	uint32_t kind;
	uint64_t number; /* of the request */
	bool failed;     /* `err` has the reason */
	struct error err;
	enum engine_end end;      /* REPLY_ENDED */
	uint32_t pid;             /* REPLY_STARTED: the first process, as numbered on the host */
	struct engine_user user;  /* REPLY_STARTED */
	enum cgroup_kind cgroups; /* REPLY_STARTED: the format of the counter files */
	uint32_t counters;  /* REPLY_STARTED: bit n: the descriptor of counter file n follows */
	bool limits_memory; /* REPLY_READY: see struct engine_report */
	union {
		char id[SPEC_ID_LEN + 1];        /* REPLY_LISTED */
		struct engine_layer layer;       /* REPLY_LAYER */
		struct engine_progress progress; /* REPLY_PROGRESS */
		char image[SPEC_IMAGE_MAX + 1];  /* REPLY_PYTHON */
	};
};
