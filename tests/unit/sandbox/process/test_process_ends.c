/* A sandbox that ends, or a process that is freed or stopped, at every stage of its start: every
 * process ends, and the sanitizers find no use of freed memory. */
#include "unit/sandbox/process/process_rig.h"

enum { KINDS = 7 };

static const unsigned delays[] = { 0, 1, 2, 4, 8, 16, 32, 64, 128, 256 };

/* One process of each kind. The sandbox may have no interpreter yet. */
static struct process *start_kind(int kind)
{
	static const struct process_file files[] = { { "f", VIEW_INIT("text") } };

	switch (kind) {
	case 0:
		return RIG_START(RIG_SH("yes"));
	case 1:
		return RIG_START(RIG_CODE("python", "while True: print('x' * 1000)"));
	case 2:
		return RIG_START(RIG_CODE("python", "import time\ntime.sleep(0.05)\nprint(1)"));
	case 3:
		return RIG_START(RIG_CODE("python", "while True: pass"), .session = "s",
		                 .deadline_ms = 20);
	case 4:
		return RIG_START(RIG_CODE("python", "1"), .session = "s");
	case 5:
		return RIG_START(RIG_CODE("sh", "sleep 100"), .files = files, .file_count = 1,
		                 .keep_input = true);
	default:
		return RIG_START(RIG_CODE("javascript", "console.log(1)"), .detached = true);
	}
}

static void start_all(struct process *all[KINDS])
{
	for (int i = 0; i < KINDS; i++) {
		all[i] = start_kind(i);
		rig_unwatch(all[i]);
	}
}

static void turn_for(unsigned ms)
{
	uint64_t end = clock_now_ms() + ms;

	while (clock_now_ms() < end)
		rig_turn(end - clock_now_ms());
}

static void sleep_at_any_moment_ends_every_process(void **state)
{
	struct process *all[KINDS];

	RIG_NEEDED();
	for (size_t i = 0; i < ARRAY_LEN(delays); i++) {
		start_all(all);
		turn_for(delays[i]);
		rig_sleep();
		for (int k = 0; k < KINDS; k++)
			assert_true(process_is_over(all[k]));
		assert_int_equal(process_count_running(rig.sandbox), 0);
		for (int k = 0; k < KINDS; k++)
			process_free(all[k]);
		rig_wake();
	}
}

static void deletion_at_any_moment_ends_every_process(void **state)
{
	struct process *all[KINDS];

	RIG_NEEDED();
	for (size_t i = 0; i < ARRAY_LEN(delays); i += 2) {
		start_all(all);
		turn_for(delays[i]);
		rig_delete();
		turn_for(20);
		for (int k = 0; k < KINDS - 1;
		     k++) { /* the last one was detached: freed with its sandbox */
			assert_true(process_is_over(all[k]));
			process_free(all[k]);
		}
		rig_make("it");
	}
}

static void freeing_at_any_moment_ends_the_process(void **state)
{
	struct process *all[KINDS];
	struct process *process;

	RIG_NEEDED();
	for (size_t i = 0; i < ARRAY_LEN(delays); i++) {
		start_all(all);
		turn_for(delays[i]);
		for (int k = 0; k < KINDS; k++)
			process_free(all[k]);
	}
	assert_int_equal(process_count_running(rig.sandbox), 0);
	assert_int_equal(sandbox_row(rig.sandbox)->state, SANDBOX_AWAKE);
	process = RIG_START(RIG_SH("echo fine"));
	rig_check(process, 0, "fine\n");
	process_free(process);
}

static void stopping_at_any_moment_ends_the_process(void **state)
{
	struct process *all[KINDS];

	RIG_NEEDED();
	for (size_t i = 0; i < ARRAY_LEN(delays); i += 3) {
		start_all(all);
		turn_for(delays[i]);
		for (int k = 0; k < KINDS; k++)
			process_stop(all[k]);
		for (int k = 0; k < KINDS; k++)
			RIG_UNTIL(process_is_over(all[k]), RIG_MS);
		for (int k = 0; k < KINDS; k++)
			process_free(all[k]);
	}
}

int main(void)
{
	const struct CMUnitTest all[] = {
		TEST(sleep_at_any_moment_ends_every_process),
		TEST(deletion_at_any_moment_ends_every_process),
		TEST(freeing_at_any_moment_ends_the_process),
		TEST(stopping_at_any_moment_ends_the_process),
	};

	return RUN_IN_RIG("processes that end", all);
}
