/* Sessions in a real sandbox. */
#include "sandbox/internal.h"
#include "sandbox/interpreter/internal.h"
#include "sandbox/process/internal.h"
#include "unit/sandbox/process/process_rig.h"

/* --- sessions --------------------------------------------------------------------------------- */

static struct process_state run_cell(struct process **ret, const char *session, const char *code,
                                     uint32_t deadline_ms)
{
	*ret = RIG_START(.language = language_find("python"), .code = view_of(code),
	                 .session = session, .deadline_ms = deadline_ms);
	return rig_until_over(*ret);
}

static struct interpreter *interpreter_of(const char *name)
{
	LIST_EACH (node, &rig.sandbox->processes->interpreters->sessions) {
		struct session *session = container_of(node, struct session, node);

		if (strcmp(session->name, name) == 0)
			return session->interpreter;
	}
	return NULL;
}

/* Whether the session has an interpreter, which is not ready yet. */
static bool is_starting(const char *name)
{
	struct interpreter *interpreter = interpreter_of(name);

	if (interpreter != NULL)
		assert_false(interpreter_is_idle(interpreter));
	return interpreter != NULL;
}

static void session_keeps_variables(void **state)
{
	struct process *process;
	struct process_state end;

	PYTHON_NEEDED();
	end = run_cell(&process, "s", "x = 41", 0);
	assert_int_equal(end.phase, PROCESS_ENDED);
	assert_true(!end.state_was_lost && !end.state_is_lost);
	process_free(process);
	end = run_cell(&process, "s", "x += 1\nprint(x, end='')", 5000);
	assert_string_equal(rig_text(process, false), "42");
	process_free(process);
	end = run_cell(&process, "other", "x", 0);
	assert_string_equal(end.error_name, "NameError");
	assert_non_null(strstr(end.error_traceback, "NameError"));
	assert_int_equal(end.end.code, 1);
	assert_false(end.state_is_lost);
	process_free(process);
	end = run_cell(&process, "s", "x", 0);
	assert_int_equal(end.display_count, 1);
	assert_string_equal(end.displays[0].text, "42");
	process_free(process);
}

static void cells_of_a_session_run_one_after_the_other(void **state)
{
	struct process *all[SESSION_QUEUE_MAX];
	struct process *process;
	struct process_options options = {
		PYTHON("import time; time.sleep(0.01); n = n + 1; print(n)"), .session = "q"
	};
	struct error err;
	char want[16];

	PYTHON_NEEDED();
	(void)run_cell(&process, "q", "n = 0", 0);
	process_free(process);
	for (int i = 0; i < SESSION_QUEUE_MAX; i++)
		CHECK_OK(process_start(rig.sandbox, &options, &all[i], &err), err);
	assert_int_equal(process_start(rig.sandbox, &options, &process, &err), -1);
	assert_int_equal(err.kind, ERR_LIMIT);
	process_stop(all[5]); /* this cell waits */
	process_free(all[7]);
	for (int i = 0, n = 1; i < SESSION_QUEUE_MAX; i++) {
		if (i == 7)
			continue;
		if (i == 5) {
			struct process_state end = rig_until_over(all[i]);

			assert_int_equal(end.phase, PROCESS_FAILED);
		} else {
			(void)snprintf(want, sizeof want, "%d\n", n++);
			rig_check(all[i], 0, want);
		}
		process_free(all[i]);
	}
}

static void session_has_one_language(void **state)
{
	struct process *process;
	struct error err;

	PYTHON_NEEDED();
	(void)run_cell(&process, "s", "pass", 0);
	process_free(process);
	CHECK_ERROR(process_start(rig.sandbox,
	                          &(struct process_options){ RIG_CODE("javascript", "1"),
	                                                     .session = "s" },
	                          &process, &err),
	            err, ERR_INVALID,
	            "session: 's' is a session of python: use that language, or another name");
	assert_int_equal(
	        process_start(rig.sandbox,
	                      &(struct process_options){ RIG_CODE("sh", "1"), .session = "t" },
	                      &process, &err),
	        -1);
	assert_int_equal(process_start(rig.sandbox,
	                               &(struct process_options){ PYTHON("1"), .session = "a b" },
	                               &process, &err),
	                 -1);
}

static void cell_is_interrupted_at_its_deadline(void **state)
{
	struct process *process;
	struct process_state end;

	PYTHON_NEEDED();
	(void)run_cell(&process, "s", "x = 7", 0);
	process_free(process);
	end = run_cell(&process, "s", "while True: pass", 300);
	assert_int_equal(end.phase, PROCESS_ENDED);
	assert_true(end.end.timed_out);
	assert_false(end.state_is_lost);
	process_free(process);
	end = run_cell(&process, "s", "print(x)", 0);
	assert_string_equal(rig_text(process, false), "7\n");
	process_free(process);
	process = RIG_START(PYTHON("print('up', flush=True)\nwhile True: pass"), .session = "s");
	RIG_UNTIL(process_stream(process, false).total != 0, RIG_MS);
	process_stop(process);
	end = rig_until_over(process);
	assert_false(end.state_is_lost || end.end.timed_out);
	process_free(process);
}

static void cell_that_ignores_the_interrupt_is_killed(void **state)
{
	struct process *process;
	struct process_state end;

	PYTHON_NEEDED();
	end = run_cell(
	        &process, "deaf",
	        "import signal\nsignal.signal(2, signal.SIG_IGN)\nprint('up')\nwhile True: pass",
	        300);
	assert_int_equal(end.phase, PROCESS_ENDED);
	assert_true(end.end.timed_out && end.state_is_lost);
	assert_int_equal(end.end.signal, SIGKILL);
	process_free(process);
	end = run_cell(&process, "deaf", "print('new')", 0);
	assert_true(end.state_was_lost && !end.state_is_lost);
	assert_string_equal(end.why_lost, "it was killed at its deadline");
	assert_string_equal(rig_text(process, false), "new\n");
	process_free(process);
}

static void lost_state_is_reported_with_its_reason(void **state)
{
	static const struct {
		const char *code, *why;
	} cases[] = {
		{ "import os; os._exit(3)", "it exited with code 3" },
		{ "import os; os.kill(os.getpid(), 9)", "it was killed by signal 9" },
	};
	struct process *process;
	struct process_state end;

	PYTHON_NEEDED();
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		end = run_cell(&process, "l", cases[i].code, 0);
		if (end.phase == PROCESS_FAILED)
			fail_msg("%s", end.why->msg);
		assert_true(end.state_is_lost);
		process_free(process);
		end = run_cell(&process, "l", "1", 0);
		assert_true(end.state_was_lost);
		assert_string_equal(end.why_lost, cases[i].why);
		process_free(process);
		end = run_cell(&process, "l", "1", 0);
		assert_false(end.state_was_lost);
		process_free(process);
	}
	/* RLIMIT_DATA does not count shared memory. */
	end = run_cell(&process, "m",
	               "import mmap\nm = mmap.mmap(-1, 1 << 30)\n"
	               "for i in range(0, 1 << 30, 4096): m[i] = 1",
	               0);
	assert_true(end.state_is_lost);
	if (end.end.out_of_memory) {
		process_free(process);
		end = run_cell(&process, "m", "1", 0);
		assert_string_equal(end.why_lost, "it ran out of memory");
	}
	process_free(process);
}

static void cell_after_a_kill_gets_a_new_interpreter(void **state)
{
	struct process *process;
	struct process_state end;

	PYTHON_NEEDED();
	end = run_cell(&process, "k",
	               "import os, threading\n"
	               "threading.Timer(.1, lambda: os.kill(os.getpid(), 9)).start()",
	               0);
	assert_int_equal(end.phase, PROCESS_ENDED);
	process_free(process);
	/* The session keeps the interpreter until the agent was asked about the disk. */
	RIG_UNTIL(interpreter_of("k") == NULL || interpreter_has_exited(interpreter_of("k")),
	          RIG_MS);
	end = run_cell(&process, "k", "print(5)", 0);
	assert_int_equal(end.phase, PROCESS_ENDED);
	assert_int_equal(end.end.signal, 0);
	assert_true(end.state_was_lost);
	assert_string_equal(rig_text(process, false), "5\n");
	process_free(process);
}

static void output_between_cells_is_told_apart_in_the_next_cell(void **state)
{
	struct process *process;

	PYTHON_NEEDED();
	(void)run_cell(&process, "b",
	               "import threading, time, os\ndef later():\n  time.sleep(0.3)\n  os.write(1, "
	               "b'late\\n')\nthreading.Thread(target=later).start()\nprint('first')",
	               0);
	assert_string_equal(rig_text(process, false), "first\n");
	process_free(process);
	rig_turn(600);
	(void)run_cell(&process, "b", "print('second')", 0);
	assert_string_equal(rig_text(process, false),
	                    "[printed by what earlier cells left running:]\nlate\n[this cell:]\n"
	                    "second\n");
	process_free(process);
}

static void count_session(void *ctx, const char *name, const char *language, bool is_busy)
{
	(void)is_busy;
	(void)name;
	assert_string_equal(language, "python");
	++*(unsigned *)ctx;
}

static void sleep_loses_the_state_of_sessions(void **state)
{
	struct process *process, *running;
	struct process_state end;
	unsigned count = 0;

	PYTHON_NEEDED();
	(void)run_cell(&process, "z", "x = 1", 0);
	process_free(process);
	running = RIG_START(PYTHON("print('up', flush=True)\nwhile True: pass"), .session = "y");
	RIG_UNTIL(process_stream(running, false).total != 0, RIG_MS);
	process_each_session(rig.sandbox, count_session, &count);
	assert_true(count >= 2);
	sandbox_sleep(rig.sandbox, rig_on_answer, NULL);
	end = rig_until_over(running);
	assert_int_equal(end.phase, PROCESS_FAILED);
	assert_true(end.state_is_lost);
	process_free(running);
	RIG_UNTIL(rig.is_answered, RIG_MS);
	rig.is_answered = false;
	rig_wake();
	end = run_cell(&process, "z", "x", 0);
	assert_true(end.state_was_lost);
	print_message("lost: %s\n", end.why_lost);
	assert_string_equal(end.error_name, "NameError");
	process_free(process);
}

static void session_that_never_started_is_not_lost(void **state)
{
	struct process *process;
	struct process_state end;

	PYTHON_NEEDED();
	process = RIG_START(PYTHON("x = 1"), .session = "never");
	do {
		rig_turn(1);
	} while (!is_starting("never"));
	process_stop(process);
	end = rig_until_over(process);
	assert_int_equal(end.phase, PROCESS_FAILED);
	assert_false(end.state_is_lost);
	process_free(process);
	end = run_cell(&process, "never", "print(1)", 0);
	assert_true(!end.state_was_lost && end.why_lost == NULL);
	process_free(process);
}

static void loss_is_reported_until_a_cell_starts(void **state)
{
	struct process *process;
	struct process_state end;

	PYTHON_NEEDED();
	(void)run_cell(&process, "twice", "import os; os._exit(3)", 0);
	process_free(process);
	process = RIG_START(PYTHON("x = 1"), .session = "twice");
	do {
		rig_turn(1);
	} while (!is_starting("twice"));
	process_stop(process);
	end = rig_until_over(process);
	assert_true(end.state_was_lost && !end.state_is_lost);
	process_free(process);
	end = run_cell(&process, "twice", "1", 0);
	assert_true(end.state_was_lost);
	assert_string_equal(end.why_lost, "it exited with code 3");
	process_free(process);
}

static void reset_loses_the_state_of_sessions(void **state)
{
	struct process *process;
	struct process_state end;

	PYTHON_NEEDED();
	(void)run_cell(&process, "r", "x = 1", 0);
	process_free(process);
	sandbox_reset(rig.sandbox, rig_on_answer, NULL);
	rig_wait();
	rig_wake();
	end = run_cell(&process, "r", "1", 0);
	assert_true(end.state_was_lost);
	assert_string_equal(end.why_lost, "the sandbox was reset");
	process_free(process);
	(void)run_cell(&process, "r", "1", 0);
	process_free(process);
	rig_sleep();
	rig_wake();
	end = run_cell(&process, "r", "1", 0);
	assert_string_equal(end.why_lost, "the sandbox was put to sleep");
	process_free(process);
}

static void number_of_sessions_is_limited(void **state)
{
	struct process *process;
	struct error err;
	char name[16];
	int made = 0;

	PYTHON_NEEDED();
	for (; made < 20; made++) {
		struct process_options options = { PYTHON("pass"), .session = name };

		(void)snprintf(name, sizeof name, "many%d", made);
		if (process_start(rig.sandbox, &options, &process, &err) < 0)
			break;
		rig_check(process, 0, NULL);
		process_free(process);
	}
	assert_true(made < 20);
	assert_int_equal(err.kind, ERR_LIMIT);
	assert_non_null(strstr(err.msg, "many0"));
}

/* --- Node ------------------------------------------------------------------------------------- */

static void fresh_sandbox(void)
{
	rig_delete();
	rig_make("it");
}

static void node_session_keeps_variables(void **state)
{
	struct process *process;

	RIG_NEEDED();
	fresh_sandbox();
	if (rig_language_path("javascript") == NULL)
		SKIP_TEST("no node here");
	process = RIG_START(RIG_CODE("javascript", "let x = 41"), .session = "js");
	rig_check(process, 0, NULL);
	process_free(process);
	process = RIG_START(RIG_CODE("javascript", "console.log(x + 1)"), .session = "js");
	rig_check(process, 0, "42\n");
	process_free(process);
}

int main(void)
{
	const struct CMUnitTest all[] = {
		TEST(session_keeps_variables),
		TEST(cells_of_a_session_run_one_after_the_other),
		TEST(session_has_one_language),
		TEST(cell_is_interrupted_at_its_deadline),
		TEST(cell_that_ignores_the_interrupt_is_killed),
		TEST(lost_state_is_reported_with_its_reason),
		TEST(cell_after_a_kill_gets_a_new_interpreter),
		TEST(output_between_cells_is_told_apart_in_the_next_cell),
		TEST(sleep_loses_the_state_of_sessions),
		TEST(reset_loses_the_state_of_sessions),
		TEST(session_that_never_started_is_not_lost),
		TEST(loss_is_reported_until_a_cell_starts),
		TEST(number_of_sessions_is_limited),
		TEST(node_session_keeps_variables),
	};

	return RUN_IN_RIG("session", all);
}
