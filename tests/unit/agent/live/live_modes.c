#include "unit/agent/live/live_modes.h"

#include <sys/sendfile.h>

bool live_as_pid1;

void live_begin(struct live *live)
{
	live_start(live, &(struct live_options){ .is_pid1 = live_as_pid1 });
}

void live_begin_as_user(struct live *live)
{
	if (geteuid() != 0)
		SKIP_TEST("only root can act for two users");
	live_start(live, &(struct live_options){
	                         .is_pid1 = live_as_pid1, .uid = live_user(), .gid = live_user() });
}

void live_finish(struct live *live)
{
	live_stop(live);
	assert_true(WIFEXITED(live->status));
	assert_int_equal(WEXITSTATUS(live->status), 0);
}

void live_until_bytes(struct live_stream *s, uint8_t channel, uint64_t bytes)
{
	LIVE_UNTIL(s->live, s->bytes[channel] >= bytes || s->is_over, LIVE_MS);
	assert_true(s->bytes[channel] >= bytes);
}

void live_check_answers(struct live *live)
{
	(void)live_check(LIVE_QUERY(live, .type = WIRE_STAT, .stat.path = VIEW(".")));
}

static char live_copy[64];
static pid_t live_copier;

static void live_remove_copy(void)
{
	if (getpid() == live_copier)
		(void)unlink(live_copy);
}

const char *live_self(void)
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

bool live_may_fork(void)
{
	static uint64_t end; /* child processes inherit it */

	if (end == 0)
		end = clock_now_ms() + LIVE_MS;
	return clock_now_ms() < end;
}

int live_run_twice(const char *name, const struct CMUnitTest *tests, size_t count)
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
