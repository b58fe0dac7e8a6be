/* live_modes.h - runs every test of a group twice: with the agent as an ordinary process, and as
 * PID 1 of a PID namespace if the kernel allows creating one. */
#pragma once
#include "unit/agent/live/live.h"

extern bool live_as_pid1; /* in the second run of the group */

void live_begin(struct live *live);

/* The sandbox's user is live_user(). Skips the test if it does not run as root. */
void live_begin_as_user(struct live *live);

/* live_stop(), and the agent must have exited with status 0. */
void live_finish(struct live *live);

#define live_sh(live, script)            live_exec(live, "sh", "-c", script)
#define live_start_sh(live, run, script) live_started(live_start_run(live, run, "sh", "-c", script))

#define CHECK_GOT(s, channel, want) assert_string_equal(buf_text(&(s)->got[channel]), want)

/* Waits until so many bytes were received on the channel. */
void live_until_bytes(struct live_stream *s, uint8_t channel, uint64_t bytes);

/* The agent answers a small request, whatever else it is doing. */
void live_check_answers(struct live *live);

/* A copy of this test program, to be run by the agent for what a shell cannot do: its main() then
 * takes arguments. The copy is in /tmp, because another user may not be able to search the tree's
 * directories. */
const char *live_self(void);

/* For programs that fork without end: false after LIVE_MS, so that they exit also if the test was
 * killed. The time is counted from the first call. */
bool live_may_fork(void);

int live_run_twice(const char *name, const struct CMUnitTest *tests, size_t count);
#define LIVE_RUN_TWICE(name, all) live_run_twice(name, all, ARRAY_LEN(all))
