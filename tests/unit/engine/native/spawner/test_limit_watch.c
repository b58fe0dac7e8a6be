/* Every sandbox is measured in turn, whatever else the janitors have to do; and what measuring leads
 * to. */
#include "unit/engine/native/rig.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "engine/native/spawner/internal.h"

enum { COUNT = 11, MIB = 1024 * 1024, LIMIT = 24 * MIB, TAKEN = 64 * MIB };

static struct spawner *spawner_new(void)
{
	struct spawner *spawner = calloc(1, sizeof *spawner);

	assert_non_null(spawner);
	spawner->host.disk = (struct disk){ .kind = DISK_QUOTA, .dir = -1 };
	spawner->host.ids.sandboxes = -1;
	spawner->host.userns.proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return spawner;
}

/* Waits for one janitor; *was is its slot as it was before. */
static bool wait_for_janitor(struct spawner *spawner, struct janitor *was,
                             struct janitor_result *result)
{
	struct rusage used;

	for (size_t i = 0; i < JANITORS_MAX; i++)
		if (spawner->janitors[i].pid != 0) {
			*was = spawner->janitors[i];
			assert_int_equal(wait4(was->pid, NULL, 0, &used), was->pid);
			*result = janitor_finish(&spawner->janitors[i], &used);
			return true;
		}
	return false;
}

static void removals_leave_slots_for_measuring(void **state)
{
	struct spawner *spawner = spawner_new();
	struct janitor_result result;
	struct janitor was;
	size_t removed = 0;

	spawner->removal_count = 3 * JANITORS_MAX;
	for (size_t i = 0; i < spawner->removal_count; i++)
		(void)snprintf(spawner->removals[i], sizeof spawner->removals[i], "gn_%zu", i);
	sandbox_dirs_start_removals(spawner);
	assert_in_range(spawner->removal_count, 1, 3 * JANITORS_MAX - 8);
	assert_null(spawner_free_janitor_slot(spawner, JANITOR_REMOVE));
	assert_non_null(spawner_free_janitor_slot(spawner, JANITOR_DISK));
	assert_non_null(spawner_free_janitor_slot(spawner, JANITOR_MEMORY));
	/* A janitor that has finished makes room for the next. */
	while (wait_for_janitor(spawner, &was, &result)) {
		assert_int_equal(was.kind, JANITOR_REMOVE);
		removed++;
		sandbox_dirs_start_removals(spawner);
	}
	assert_int_equal(removed, 3 * JANITORS_MAX);
	assert_int_equal(close(spawner->host.userns.proc), 0);
	free(spawner);
}

/* A process with `bytes` of private memory. */
static pid_t start_process(size_t bytes)
{
	int fds[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		char *taken = mmap(NULL, bytes + 1, PROT_READ | PROT_WRITE,
		                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
		for (size_t i = 0; taken != MAP_FAILED && i <= bytes; i += 4096)
			taken[i] = 1;
		(void)!write(fds[1], "", 1);
		(void)pause();
		_exit(0);
	}
	(void)close(fds[1]);
	assert_int_equal(read(fds[0], &byte, 1), 1);
	(void)close(fds[0]);
	return pid;
}

static void start_sandbox(struct spawner_sandbox *sandbox, uint64_t number, size_t bytes)
{
	*sandbox = (struct spawner_sandbox){ .number = number,
		                             .pid = start_process(bytes),
		                             .setup_pipe = -1,
		                             .end = ENGINE_END_AGENT_DIED };
	sandbox->cgroup.unified = -1;
	for (size_t i = 0; i < ARRAY_LEN(sandbox->cgroup.v1); i++)
		sandbox->cgroup.v1[i] = -1;
	sandbox->limits.memory = LIMIT;
}

/* There are more sandboxes than janitor slots for memory. Every third is over its limit. */
static void memory_of_every_sandbox_is_measured_in_turn(void **state)
{
	struct spawner *spawner = spawner_new();
	struct janitor_result result;
	struct janitor was;
	unsigned measured[COUNT + 1] = { 0 };

	for (size_t i = 0; i < COUNT; i++)
		start_sandbox(&spawner->sandboxes[i], i + 1, i % 3 == 0 ? TAKEN : 0);
	spawner->sandbox_top = COUNT;
	limit_watch_check(spawner);
	assert_int_not_equal(spawner->memory_next, 0);
	while (wait_for_janitor(spawner, &was, &result)) {
		assert_int_equal(was.kind, JANITOR_MEMORY);
		assert_false(result.failed);
		assert_in_range(was.number, 1, COUNT);
		measured[was.number]++;
		limit_watch_result(spawner, was.number, &result);
		if (spawner->memory_next != 0)
			limit_watch_check(spawner);
	}
	for (size_t i = 0; i < COUNT; i++) {
		const struct spawner_sandbox *sandbox = &spawner->sandboxes[i];

		assert_int_equal(measured[i + 1], 1);
		assert_int_equal(sandbox->is_killed, i % 3 == 0);
		assert_int_equal(sandbox->end,
		                 i % 3 == 0 ? ENGINE_END_OUT_OF_MEMORY : ENGINE_END_AGENT_DIED);
		(void)kill(sandbox->pid, SIGKILL);
		assert_int_equal(waitpid(sandbox->pid, NULL, 0), sandbox->pid);
	}
	assert_int_equal(close(spawner->host.userns.proc), 0);
	free(spawner);
}

/* Waits for the janitors, and returns how many there were. */
static unsigned measure(struct spawner *spawner)
{
	struct janitor_result result;
	struct janitor was;
	unsigned count = 0;

	spawner->memory_due_ms = 0;
	limit_watch_check(spawner);
	while (wait_for_janitor(spawner, &was, &result)) {
		limit_watch_result(spawner, was.number, &result);
		count++;
	}
	return count;
}

static void on_signal(int number)
{
	(void)number;
}

/* A process that takes `bytes` of memory in a child, forked by it, after SIGUSR1. */
static pid_t start_process_that_grows(size_t bytes)
{
	pid_t pid;

	(void)signal(SIGUSR1, on_signal);
	pid = fork();
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
		(void)pause();
		(void)waitpid(start_process(bytes), NULL, 0);
		_exit(0);
	}
	(void)usleep(50000); /* until it waits */
	return pid;
}

static void idle_sandbox_is_not_measured_until_it_grows(void **state)
{
	struct spawner *spawner = spawner_new();
	struct spawner_sandbox *sandbox = &spawner->sandboxes[0];
	unsigned tries = 0;

	start_sandbox(sandbox, 1, 0);
	(void)kill(sandbox->pid, SIGKILL);
	assert_int_equal(waitpid(sandbox->pid, NULL, 0), sandbox->pid);
	sandbox->pid = start_process_that_grows(TAKEN);
	spawner->sandbox_top = 1;
	assert_int_equal(measure(spawner), 1);
	assert_int_equal(measure(spawner), 0);
	sandbox->memory_due_ms = 0; /* it was idle for long */
	assert_int_equal(measure(spawner), 1);
	assert_int_equal(measure(spawner), 0);
	assert_false(sandbox->is_killed);
	(void)kill(sandbox->pid, SIGUSR1);
	while (!sandbox->is_killed && tries++ < 500) {
		(void)measure(spawner);
		(void)usleep(10000);
	}
	assert_true(sandbox->is_killed);
	assert_int_equal(waitpid(sandbox->pid, NULL, 0), sandbox->pid);
	assert_int_equal(close(spawner->host.userns.proc), 0);
	free(spawner);
}

static struct spawner_sandbox *start_with_disk_limit(struct spawner *spawner, uint64_t bytes)
{
	struct spawner_sandbox *sandbox = &spawner->sandboxes[0];

	start_sandbox(sandbox, 1, 0);
	spawner->sandbox_top = 1;
	sandbox->is_fresh = true;
	sandbox->limits.cpu = 1000;
	sandbox->limits.disk = bytes;
	sandbox->disk = (struct disk_watch){ .is_watched = true, .limit = { bytes, 1000 } };
	return sandbox;
}

static void set_disk_limit(struct spawner *spawner, struct spawner_sandbox *sandbox, uint64_t bytes)
{
	struct error err;

	CHECK_OK(limit_watch_set_disk(&spawner->host, sandbox, bytes, &err), err);
	sandbox->limits.disk = bytes;
}

static void end_sandbox(struct spawner *spawner, const struct spawner_sandbox *sandbox)
{
	(void)kill(sandbox->pid, SIGKILL);
	assert_int_equal(waitpid(sandbox->pid, NULL, 0), sandbox->pid);
	assert_int_equal(close(spawner->host.userns.proc), 0);
	free(spawner);
}

/* The files of a sandbox that has written little were never measured. */
static void lower_disk_limit_ends_no_sandbox_that_writes_no_more(void **state)
{
	struct spawner *spawner = spawner_new();
	struct spawner_sandbox *sandbox = start_with_disk_limit(spawner, 200 * MIB);
	struct janitor_result result = { .kind = JANITOR_DISK,
		                         .usage = { 100 * MIB, 10 },
		                         .level = DISK_CLOSED };

	for (int i = 0; i < 2; i++) { /* the second time, it has been measured and has grown */
		set_disk_limit(spawner, sandbox, 20 * MIB);
		sandbox->disk.is_changed = false; /* by the start of the measuring */
		limit_watch_result(spawner, 1, &result);
		assert_false(sandbox->is_killed);
		limit_watch_result(spawner, 1, &result);
		assert_false(sandbox->is_killed);
		set_disk_limit(spawner, sandbox, 200 * MIB);
		result.usage.bytes += 50 * MIB;
	}
	set_disk_limit(spawner, sandbox, 20 * MIB);
	sandbox->disk.is_changed = false;
	limit_watch_result(spawner, 1, &result);
	assert_false(sandbox->is_killed);
	result.usage.bytes += 10 * MIB; /* more than the rest for small files */
	limit_watch_result(spawner, 1, &result);
	assert_true(sandbox->is_killed);
	assert_int_equal(sandbox->end, ENGINE_END_DISK_LIMIT);
	end_sandbox(spawner, sandbox);
}

/* The measuring that is under way was started for the old limit, under which the sandbox is not
 * full. */
static void disk_limit_lowered_during_a_measuring_ends_no_sandbox(void **state)
{
	struct spawner *spawner = spawner_new();
	struct spawner_sandbox *sandbox = start_with_disk_limit(spawner, 200 * MIB);
	struct janitor_result result = { .kind = JANITOR_DISK, .usage = { 100 * MIB, 10 } };

	set_disk_limit(spawner, sandbox, 20 * MIB);
	limit_watch_result(spawner, 1, &result);
	assert_false(sandbox->is_killed);
	assert_true(sandbox->disk.is_changed);
	sandbox->disk.is_changed = false; /* by the start of the next */
	result.level = DISK_FULL;
	limit_watch_result(spawner, 1, &result);
	assert_false(sandbox->is_killed);
	end_sandbox(spawner, sandbox);
}

static void changed_disk_limit_is_applied_again_after_a_failed_measuring(void **state)
{
	const struct janitor_result failed = { .kind = JANITOR_DISK, .failed = true };
	struct spawner *spawner = spawner_new();
	struct spawner_sandbox *sandbox = start_with_disk_limit(spawner, 20 * MIB);

	set_disk_limit(spawner, sandbox, 200 * MIB);
	sandbox->disk.is_changed = false; /* by the start of the measuring */
	limit_watch_result(spawner, 1, &failed);
	assert_true(sandbox->disk.is_changed);
	end_sandbox(spawner, sandbox);
}

static void sandbox_with_too_many_files_ends_at_the_limit_on_files(void **state)
{
	const struct janitor_result result = { .kind = JANITOR_DISK, .usage = { MIB, 1001 } };
	struct spawner *spawner = spawner_new();
	struct spawner_sandbox *sandbox = start_with_disk_limit(spawner, 200 * MIB);

	limit_watch_result(spawner, 1, &result);
	assert_true(sandbox->is_killed);
	assert_int_equal(sandbox->end, ENGINE_END_INODE_LIMIT);
	end_sandbox(spawner, sandbox);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(removals_leave_slots_for_measuring),
		TEST(memory_of_every_sandbox_is_measured_in_turn),
		TEST(idle_sandbox_is_not_measured_until_it_grows),
		TEST(lower_disk_limit_ends_no_sandbox_that_writes_no_more),
		TEST(disk_limit_lowered_during_a_measuring_ends_no_sandbox),
		TEST(changed_disk_limit_is_applied_again_after_a_failed_measuring),
		TEST(sandbox_with_too_many_files_ends_at_the_limit_on_files),
	};

	return RUN_TESTS("engine/limit_watch", tests);
}
