/* wake_progress.h - progress for a call that waits for its sandbox, while the engine does what
 * takes long: an image is pulled.
 *
 *   wake_progress_start -> (once a second) notifications/progress -> wake_progress_stop
 *
 * The struct is the caller's; all zeros is its initial state. Stopping may be called at any
 * time. */
#pragma once
#include <stdint.h>

struct loop_timer;
struct mcp_call;
struct sandbox;

struct wake_progress {
	struct mcp_call *call;
	struct sandbox *sandbox; /* the caller holds it */
	struct loop_timer *timer;
	uint64_t began_ms;
};

void wake_progress_start(struct wake_progress *progress, struct mcp_call *call,
                         struct sandbox *sandbox);
void wake_progress_stop(struct wake_progress *progress);
