/* live_modes.h - every test of a group twice: with the agent as an ordinary process, and as
 * PID 1 of a PID namespace where the kernel lets us make one. */
#pragma once
#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

#include "unit/agent/live/live.h"

static bool live_as_pid1;

static inline void live_begin(struct live *live)
{
	live_start(live, &(struct live_options){ .is_pid1 = live_as_pid1 });
}

/* The sandbox's user is nobody. For root only: skips the test otherwise. */
static inline void live_begin_as_nobody(struct live *live)
{
	if (geteuid() != 0)
		SKIP_TEST("only root can act for two users");
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

static char live_copy[64];
static pid_t live_copier;

static void live_remove_copy(void)
{
	if (getpid() == live_copier)
		(void)unlink(live_copy);
}

/* This program itself, to be run inside: what a shell cannot do is asked of main(). A copy where
 * any user may run it: the tree may be in somebody's home. */
static inline const char *live_self(void)
{
	AUTO_FD int from = -1;
	AUTO_FD int to = -1;

	if (live_copy[0] != '\0')
		return live_copy;
	(void)snprintf(live_copy, sizeof live_copy, "/tmp/belljar-live-self-XXXXXX");
	from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	to = mkostemp(live_copy, O_CLOEXEC);
	assert_true(from >= 0 && to >= 0);
	live_copier = getpid();
	(void)atexit(live_remove_copy);
	while (sendfile(to, from, NULL, 1 << 20) > 0)
		continue;
	assert_int_equal(fchmod(to, 0755), 0);
	return live_copy;
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
