/* session.h - what the verbs that work in a sandbox share: the way from the options to a sandbox
 * that is awake, the signals meanwhile, and the way back.
 *
 *   session_run  prepares, gives up our rights, finds or makes the sandbox, wakes it, calls
 *                `start`, and returns when session_end() or session_fail() have been called and
 *                nothing is awake any more
 *
 * What needs the rights of whoever called us, such as reading files, is done before. */
#pragma once
#include <stdbool.h>

#include "base/attr.h"
#include "cli/verb.h"

struct error;
struct loop;
struct manager;
struct options;
struct sandbox;
struct session;

/* The exit status of what did not end by itself. */
enum {
	STATUS_TIMED_OUT = 124, /* as timeout(1) has it */
	STATUS_DENIED = 126,    /* as shells have it */
	STATUS_MISSING = 127,
	STATUS_SIGNAL = 128, /* and the signal's number */
};

struct session_wish {
	const struct verb_call *call; /* options, and where the exit status goes */
	const char *sandbox;          /* name or id; NULL: a new one, for this once */
	bool keep;                    /* that one too */
	bool must_exist;              /* none is made */
};

struct session_events {
	/* The sandbox is awake. */
	int (*start)(void *ctx, struct session *session, struct error *err);
	/* Of SIGINT, SIGTERM and SIGHUP, the first. False: nothing is there to heed it, and the
	 * session ends. After a second one nobody is asked. */
	bool (*signal)(void *ctx, int number);
	/* The loop has stopped, maybe in the middle of things: what was started is to go. NULL:
	 * nothing is to be done. */
	void (*stop)(void *ctx);
};

enum verb_result session_run(const struct session_wish *wish, const struct session_events *events,
                             void *ctx, struct error *err);

/* The first of these counts. */
void session_end(struct session *session, int status);
void session_fail(struct session *session, const struct error *why);

int session_told(const struct session *session); /* the status of a signal that came; or 0 */
struct loop *session_loop(struct session *session);
struct manager *session_manager(struct session *session);
struct sandbox *session_sandbox(struct session *session);
