/* attachment.h - a verb's use of one sandbox: from the options to a sandbox that is awake, the
 * signals that arrive meanwhile, and the end.
 *
 * attachment_run() prepares the runtime, gives up this process's privileges, finds or creates the
 * sandbox, wakes it and calls `start`. The call returns after attachment_stop() or
 * attachment_fail(), when no sandbox of this process is awake any more. A verb that needs the
 * privileges of its caller, for example to read a file, uses them before it calls
 * attachment_run(). */
#pragma once
#include <stdbool.h>

#include "cli/verb.h"

struct error;
struct loop;
struct sandbox;
struct attachment;

/* The exit status of this process when the program inside did not exit by itself. */
enum {
	STATUS_TIMED_OUT = 124, /* the status of timeout(1) */
	STATUS_DENIED = 126,    /* a shell's status for a file that cannot be executed */
	STATUS_MISSING = 127,   /* a shell's status for a program that does not exist */
	STATUS_SIGNAL = 128,    /* a shell's status for a signal, plus the signal's number */
};

struct attachment_options {
	const struct verb_call *call; /* the options, and where the exit status goes */
	const char *sandbox;          /* name or id; NULL: a new temporary sandbox */
	bool keep;                    /* a new sandbox without a name is not temporary */
	bool must_exist;              /* no sandbox is created */
	bool must_be_awake;           /* a sandbox that is asleep is not woken */
};

struct attachment_events {
	/* Called when the sandbox is awake. */
	int (*start)(void *ctx, struct attachment *attachment, struct error *err);
	/* Called for the first SIGINT, SIGTERM or SIGHUP. False: no program runs that could handle
	 * the signal, so the attachment stops. A second signal stops it without this call. */
	bool (*signal)(void *ctx, int number);
	/* Called after the loop has stopped, possibly with a program still running: frees what
	 * `start` made. May be NULL. */
	void (*stop)(void *ctx);
};

enum verb_result attachment_run(const struct attachment_options *options,
                                const struct attachment_events *events, void *ctx,
                                struct error *err);

/* Stop the loop, with an exit status or with an error. Only the first of these calls has an
 * effect. */
void attachment_stop(struct attachment *attachment, int status);
void attachment_fail(struct attachment *attachment, const struct error *why);

/* The exit status for the signal that arrived; 0: none arrived. */
int attachment_signal_status(const struct attachment *attachment);
struct loop *attachment_loop(struct attachment *attachment);

struct sandbox *attachment_sandbox(struct attachment *attachment);
/* Whether the user has a sandbox of this name or id. */
bool attachment_has_sandbox(struct attachment *attachment, const char *id_or_name);
