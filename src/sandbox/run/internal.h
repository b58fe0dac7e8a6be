/* internal.h - what the files of a program's run share.
 *
 *   sandbox_run.c   the run: its stream, its end, its operations
 *   exec_request.c  the EXEC message: arguments, environment, limits
 *   limit_check.c   which limits of the sandbox a run met */
#pragma once
#include <stdint.h>

#include "base/attr.h"
#include "sandbox/channel/channel.h"
#include "sandbox/run/sandbox_run.h"

/* Encodes the options as an EXEC message and opens a stream with it. */
MUST_CHECK int exec_request_open(struct sandbox *sandbox, struct channel *channel,
                                 const struct run_options *options,
                                 const struct channel_stream_events *events, void *ctx,
                                 struct channel_stream **ret, struct error *err);

/* RUN_OVERDUE_MS; tests shorten it. */
extern uint64_t run_overdue_ms;
