/* process_call.h - a call about a process that exists: process_output, process_input, process_stop.
 *
 * The process is found by its id among the sandboxes of the owner; no sandbox is woken. While the
 * call waits, another call may free the process or delete its sandbox, so the process is looked up
 * again before the answer.
 *
 *   process_call_start -> (waits) -> the call is answered */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "mcp/param/param.h"
#include "sandbox/process/process.h"

struct error;
struct mcp_call;

enum { PROCESS_CALL_SINCE_LAST = -1 };

struct process_call_options {
	const char *process, *sandbox; /* arguments of the call; sandbox may be NULL */
	uint32_t wait_ms;              /* longest wait */
	bool until_output;             /* output behind `since` ends the wait, too */
	struct view until;             /* so does this text in the output; empty: none */
	uint16_t port;                 /* and a server on this port; 0: none */
	int64_t since;                 /* first byte to answer, or PROCESS_CALL_SINCE_LAST */
	size_t limit;                  /* most bytes to answer; 0: as many as fit */
	const char *remark;            /* one more line of the answer; or NULL */
	const char *running_remark;    /* instead, if the process has not ended; or NULL */
};

/* ERR_NOT_FOUND names the argument that is wrong. `sandbox`: id or name; NULL: any. */
MUST_CHECK int process_call_find(const struct mcp_call *call, const char *id, const char *sandbox,
                                 struct sandbox **ret_sandbox, struct process **ret,
                                 struct error *err);
/* Waits, then answers with the output and the end of the process. The options' strings must stay
 * valid until the answer. */
MUST_CHECK int process_call_start(struct mcp_call *call, const struct process_call_options *options,
                                  struct error *err);
/* Bytes printed so far, of both streams together. */
uint64_t process_call_total(struct process *process);

/* The parameter `process` of these tools. */
#define PROCESS_CALL_PARAM(args_)                                                                  \
	ARG_REQUIRED(args_, process, STRING, "Id, such as \"p7\".", .min = 1,                      \
	             .max = PROCESS_ID_MAX, .also = PARAM_ALSO("process_id", "id"))
