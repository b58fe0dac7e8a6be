/* A sandbox's locks are counted only when it could have taken too many. */
#include "unit/engine/native/rig.h"

#include <sys/mman.h>

#include "engine/native/spawner/internal.h"

static struct host_resources host;
static struct spawner_sandbox sandbox;

/* The kernel's number of file locks, as the file in /sys shows it. */
static void set_lock_objects(unsigned count)
{
	assert_int_equal(ftruncate(host.lock_objects, 0), 0);
	assert_true(dprintf(host.lock_objects, "%u N0=%u\n", count, count) > 0);
	assert_int_equal(lseek(host.lock_objects, 0, SEEK_SET), 0);
}

static bool could_exceed_at(unsigned count)
{
	set_lock_objects(count);
	return lock_watch_could_exceed(&host, &sandbox);
}

static void start_sandbox_without_cgroup(void)
{
	sandbox = (struct spawner_sandbox){ .pid = -1, .end = ENGINE_END_AGENT_DIED };
	sandbox.cgroup.unified = -1;
	for (size_t i = 0; i < ARRAY_LEN(sandbox.cgroup.v1); i++)
		sandbox.cgroup.v1[i] = -1;
}

static void start_watch_at(unsigned count)
{
	host = (struct host_resources){ .lock_objects = memfd_create("objects", MFD_CLOEXEC) };
	start_sandbox_without_cgroup();
	set_lock_objects(count);
	lock_watch_start(&host, &sandbox);
}

static void growth_of_machine_leads_to_count(void **state)
{
	start_watch_at(500000);
	assert_false(could_exceed_at(500000));
	assert_false(could_exceed_at(500000 + SPEC_LOCKS_MAX));
	assert_true(could_exceed_at(500001 + SPEC_LOCKS_MAX));
	/* The janitor finds that other processes took most of these locks. */
	lock_watch_result(&sandbox, 1000);
	assert_false(could_exceed_at(500001 + SPEC_LOCKS_MAX));
	assert_false(could_exceed_at(500001 + 2 * SPEC_LOCKS_MAX - 1000));
	assert_true(could_exceed_at(500002 + 2 * SPEC_LOCKS_MAX - 1000));
	assert_false(sandbox.is_killed);
	(void)close(host.lock_objects);
}

static void locks_that_others_return_hide_none(void **state)
{
	start_watch_at(500000);
	assert_false(could_exceed_at(300000));
	assert_true(could_exceed_at(300001 + SPEC_LOCKS_MAX));
	(void)close(host.lock_objects);
}

/* Neither the number of objects nor the processor time of the sandbox is known. */
static void sandbox_without_readings_is_always_counted(void **state)
{
	host = (struct host_resources){ .lock_objects = -1 };
	start_sandbox_without_cgroup();
	lock_watch_start(&host, &sandbox);
	assert_true(lock_watch_could_exceed(&host, &sandbox));
}

static void too_many_locks_end_sandbox(void **state)
{
	start_watch_at(0);
	lock_watch_result(&sandbox, SPEC_LOCKS_MAX);
	assert_false(sandbox.is_killed);
	lock_watch_result(&sandbox, SPEC_LOCKS_MAX + 1);
	assert_true(sandbox.is_killed);
	assert_int_equal(sandbox.end, ENGINE_END_LOCK_LIMIT);
	(void)close(host.lock_objects);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(growth_of_machine_leads_to_count),
		TEST(locks_that_others_return_hide_none),
		TEST(sandbox_without_readings_is_always_counted),
		TEST(too_many_locks_end_sandbox),
	};

	return RUN_TESTS("engine/lock_watch", tests);
}
