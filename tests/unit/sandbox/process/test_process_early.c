/* Processes before their program runs: stopped, written to, timed out. Which processes and sessions
 * keep their sandbox in memory after they have ended. */
#include "sandbox/internal.h"
#include "sandbox/interpreter/internal.h"
#include "sandbox/process/internal.h"
#include "unit/sandbox/process/process_rig.h"

static enum process_phase phase_of(struct process *process)
{
	struct process_state state;

	process_state(process, &state);
	return state.phase;
}

/* --- compilers -------------------------------------------------------------------------------- */

/* A compiler that never ends, because it reads a FIFO without a writer. */
static struct process *start_compiler(uint32_t deadline_ms)
{
	struct process *process;

	RIG_RUN(0, NULL, RIG_SH("rm -f /workspace/fifo; mkfifo /workspace/fifo"));
	process = RIG_START(RIG_CODE("c", "#include \"/workspace/fifo\"\nint main(void) {}"),
	                    .deadline_ms = deadline_ms);
	RIG_UNTIL(phase_of(process) == PROCESS_COMPILING, RIG_MS);
	return process;
}

static void stopped_compiler_is_no_compile_error(void **state)
{
	struct process *process;
	struct process_state end;

	LANGUAGE_NEEDED("c");
	process = start_compiler(0);
	process_stop(process);
	end = rig_until_over(process);
	assert_false(end.end.compile_failed);
	assert_true(end.phase == PROCESS_FAILED || end.end.signal != 0 || end.end.code != 0);
	process_free(process);
}

static void timed_out_compiler_is_no_compile_error(void **state)
{
	struct process *process;
	struct process_state end;

	LANGUAGE_NEEDED("c");
	process = start_compiler(500);
	end = rig_until_over(process);
	assert_int_equal(end.phase, PROCESS_ENDED);
	assert_true(end.end.timed_out);
	assert_false(end.end.compile_failed);
	process_free(process);
}

/* --- input ------------------------------------------------------------------------------------ */

static void input_before_the_start_is_queued(void **state)
{
	struct process *process;
	struct error err;

	RIG_NEEDED();
	process = RIG_START(RIG_CODE("sh", "cat"), .in = VIEW("first "), .keep_input = true);
	assert_int_equal(phase_of(process), PROCESS_PREPARING);
	CHECK_OK(process_write(process, VIEW("second "), &err), err);
	CHECK_OK(process_write(process, VIEW("third"), &err), err);
	CHECK_OK(process_end_input(process, &err), err);
	assert_int_equal(process_write(process, VIEW("late"), &err), -1);
	rig_check(process, 0, "first second third");
	process_free(process);
}

/* --- spares ----------------------------------------------------------------------------------- */

static struct interpreter *borrow_spare(const char *path)
{
	const struct kernel_program *program = language_find("python")->kernel;
	struct interpreter_pool *pool = rig.sandbox->processes->interpreters;
	struct interpreter *interpreter;
	struct error err;

	interpreter_pool_add_spare(pool, program, path);
	CHECK_OK(pool_borrow(pool, program, path, NULL, &interpreter, &err), err);
	RIG_UNTIL(interpreter_is_idle(interpreter), RIG_MS);
	rig_turn(10); /* the spare returns to the pool */
	return interpreter;
}

/* A spare with another path was started by a wrong guess, or is outdated: it is killed. */
static void spare_serves_its_own_path_only(void **state)
{
	struct interpreter *first, *second;
	char other[160];

	LANGUAGE_NEEDED("python");
	(void)snprintf(other, sizeof other, "/.%s", rig_language_path("python"));
	first = borrow_spare(rig_language_path("python"));
	second = borrow_spare(other);
	assert_ptr_not_equal(second, first);
	assert_ptr_equal(borrow_spare(other), second);
	assert_ptr_not_equal(borrow_spare(rig_language_path("python")), first);
}

/* --- worth keeping ---------------------------------------------------------------------------- */

static bool is_worth_keeping(void)
{
	return processes_worth_keeping(rig.sandbox->processes);
}

static void lost_session_keeps_the_sandbox_in_memory(void **state)
{
	LANGUAGE_NEEDED("python");
	rig_delete();
	rig_make("it");
	assert_false(is_worth_keeping());
	RIG_RUN(0, NULL, RIG_CODE("python", "x = 1"), .session = "s");
	assert_false(is_worth_keeping());
	rig_sleep();
	assert_true(is_worth_keeping());
	rig_wake();
	RIG_RUN(0, NULL, RIG_CODE("python", "y = 1"), .session = "s");
	assert_false(is_worth_keeping());
}

static void detached_process_keeps_the_sandbox_in_memory_until_read(void **state)
{
	AUTO_BUF struct buf out, errors;
	struct process *process;
	uint64_t next, lost;

	RIG_NEEDED();
	buf_init(&out, 100);
	buf_init(&errors, 100);
	process = RIG_START(RIG_SH("echo up; read x"), .detached = true, .keep_input = true);
	RIG_UNTIL(process_stream(process, false).total != 0, RIG_MS);
	process_read(process, 0, 100, &out, &errors, &next, &lost);
	rig_sleep();
	rig_unwatch(process);
	assert_true(is_worth_keeping());
	process_read(process, 0, 1, &out, &errors, &next, &lost);
	assert_true(is_worth_keeping());
	process_read(process, next, 100, &out, &errors, &next, &lost);
	assert_false(is_worth_keeping());
	process_free(process);
	rig_wake();
}

int main(void)
{
	const struct CMUnitTest all[] = {
		TEST(stopped_compiler_is_no_compile_error),
		TEST(timed_out_compiler_is_no_compile_error),
		TEST(input_before_the_start_is_queued),
		TEST(spare_serves_its_own_path_only),
		TEST(detached_process_keeps_the_sandbox_in_memory_until_read),
		TEST(lost_session_keeps_the_sandbox_in_memory),
	};

	return RUN_IN_RIG("processes that start", all);
}
