/* live_modes.h - every test of a group twice: with the agent as an ordinary process, and as
 * PID 1 of a PID namespace where the kernel lets us make one. */
#pragma once
#include "unit/sandbox/live.h"

static bool live_as_pid1;

static inline void live_begin(struct live *live)
{
	live_start(live, &(struct live_options){ .is_pid1 = live_as_pid1 });
}

/* The sandbox's user is nobody. For root only: skips the test otherwise. */
static inline void live_begin_as_nobody(struct live *live)
{
	if (geteuid() != 0)
		skip();
	live_start(live,
	           &(struct live_options){ .is_pid1 = live_as_pid1, .uid = 65534, .gid = 65534 });
}

/* The agent has ended by itself, without a complaint. */
static inline void live_finish(struct live *live)
{
	live_stop(live);
	assert_true(WIFEXITED(live->status));
	assert_int_equal(WEXITSTATUS(live->status), 0);
}

#define live_sh(live, script)            live_exec(live, "sh", "-c", script)
#define live_start_sh(live, run, script) live_started(live_start_run(live, run, "sh", "-c", script))

#define CHECK_GOT(s, channel, want) assert_string_equal(buf_text(&(s)->got[channel]), want)

/* Waits until so much has come on the channel. */
static inline void live_until_bytes(struct live_stream *s, uint8_t channel, uint64_t bytes)
{
	LIVE_UNTIL(s->live, s->bytes[channel] >= bytes || s->is_over, LIVE_MS);
	assert_true(s->bytes[channel] >= bytes);
}

/* So long it takes the agent to answer something else, in ms. */
static inline uint64_t live_latency(struct live *live)
{
	uint64_t start = clock_now_ms();
	struct live_stream *s = LIVE_QUERY(live, .type = WIRE_STAT, .stat.path = VIEW("."));

	assert_true(s->is_over && !s->is_failed);
	return clock_now_ms() - start;
}

/* This program itself, to be run inside: what a shell cannot do is asked of main(). */
static inline const char *live_self(void)
{
	static char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);

	assert_true(n > 0);
	path[n] = '\0';
	return path;
}

static inline int live_run_twice(const char *name, const struct CMUnitTest *tests, size_t count)
{
	char title[64];
	int failed;

	live_as_pid1 = false;
	(void)snprintf(title, sizeof title, "%s, ordinary process", name);
	failed = _cmocka_run_group_tests(title, tests, count, NULL, NULL);
	if (!live_can_be_pid1()) {
		print_message("no PID namespaces here: %s as PID 1 is not tested\n", name);
		return failed;
	}
	live_as_pid1 = true;
	(void)snprintf(title, sizeof title, "%s, PID 1", name);
	return failed + _cmocka_run_group_tests(title, tests, count, NULL, NULL);
}
#define LIVE_RUN_TWICE(name, all) live_run_twice(name, all, ARRAY_LEN(all))
