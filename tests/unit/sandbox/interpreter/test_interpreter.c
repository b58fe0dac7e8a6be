/* Fresh code in waiting interpreters, in a real sandbox. */
#include "sandbox/process/internal.h"
#include "unit/sandbox/process/process_rig.h"

static const char *run_and_print(struct process *process)
{
	static char text[RIG_HEAD + RIG_TAIL + 1];

	rig_check(process, 0, NULL);
	(void)snprintf(text, sizeof text, "%s", rig_text(process, false));
	process_free(process);
	return text;
}

/* Processes in the sandbox, by the cgroup: programs of one run do not see those of another. */
static uint64_t count_pids(void)
{
	struct engine_counters counts;

	if (!sandbox_counts(rig.sandbox, &counts))
		SKIP_TEST("no counters here");
	return counts.pids_now;
}

/* --- fresh ------------------------------------------------------------------------------------ */

static void spare_interpreter_serves_fresh_code(void **state)
{
	char first[64], second[64];
	uint64_t start;

	PYTHON_NEEDED();
	/* An interpreter becomes the first run, and a spare waits for those behind it. */
	RIG_RUN(0, "1\n", PYTHON("print(1)"));
	(void)snprintf(first, sizeof first, "%s",
	               run_and_print(RIG_START(PYTHON("import os; print(os.getppid())"))));
	(void)snprintf(second, sizeof second, "%s",
	               run_and_print(RIG_START(PYTHON("import os; print(os.getppid())"))));
	assert_string_equal(first, second);
	start = clock_now_ms();
	for (int i = 0; i < 20; i++)
		RIG_RUN(0, "2\n", PYTHON("print(1+1)"));
	print_message("20 fresh runs: %d ms\n", (int)(clock_now_ms() - start));
	RIG_RUN(3, "in\n['a', 'b'] /tmp x\n",
	        PYTHON("import sys, os\nprint(sys.stdin.read())\nprint(sys.argv[1:], os.getcwd(), "
	               "os.environ['E'])\nsys.exit(3)"),
	        .in = VIEW("in"), .args = (const char *const[]){ "a", "b", NULL }, .cwd = "/tmp",
	        .env = (const char *const[]){ "E=x", NULL });
	RIG_RUN(0, "0\n", RIG_SH("ls -d /tmp/belljar-* /dev/shm/belljar-* 2>/dev/null | wc -l"));
}

static void startup_variable_needs_an_own_interpreter(void **state)
{
	PYTHON_NEEDED();
	RIG_RUN(0, "True\n", PYTHON("import sys; print(sys.flags.dont_write_bytecode == 1)"),
	        .env = (const char *const[]){ "PYTHONDONTWRITEBYTECODE=1", NULL });
	RIG_RUN(0, "False\n", PYTHON("import sys; print(sys.flags.dont_write_bytecode == 1)"));
}

/* In an interpreter for one run the code ends with its process, else with ENDED. */
static void end_of_the_code_is_told(void **state)
{
	const char *const own[] = { "PYTHONDONTWRITEBYTECODE=1", NULL };

	PYTHON_NEEDED();
	RIG_RUN(0, "1\n", PYTHON("print(1)")); /* a spare follows */
	for (int i = 0; i < 3; i++) {
		struct process *process = RIG_START(PYTHON("print(2)"), .env = i == 1 ? own : NULL,
		                                    .session = i == 2 ? "s" : NULL);

		rig_check(process, 0, NULL);
		assert_true(process->has_exited);
		process_free(process);
	}
}

static void several_runs_at_once_leave_one_spare(void **state)
{
	struct process *all[4];
	uint64_t before;

	PYTHON_NEEDED();
	RIG_RUN(0, "x\n", PYTHON("print('x')"));
	rig_turn(100);
	before = count_pids();
	for (int i = 0; i < 4; i++)
		all[i] = RIG_START(PYTHON("import time; time.sleep(0.3); print('x')"));
	for (int i = 0; i < 4; i++)
		rig_unwatch(all[i]);
	for (int i = 0; i < 4; i++) {
		rig_check(all[i], 0, "x\n");
		process_free(all[i]);
	}
	RIG_UNTIL(count_pids() == before, RIG_MS); /* one spare stays */
}

static void end_mark_never_appears_in_output(void **state)
{
	static const int sizes[] = { 0,      1,      23,     24,     25,    4095,  8192,
		                     65511,  65512,  65527,  65528,  65529, 65536, 65537,
		                     131056, 262143, 262144, 262145, 300000 };
	char code[256], want[64];

	PYTHON_NEEDED();
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		struct process *process;

		(void)snprintf(code, sizeof code,
		               "import sys, os\nos.write(2, b'e' * %d)\nsys.stdout.write('x' * %d)",
		               sizes[ARRAY_LEN(sizes) - 1 - i] / 2, sizes[i]);
		process = RIG_START(.language = language_find("python"), .code = view_of(code));
		rig_check(process, 0, NULL);
		assert_int_equal(process_stream(process, false).total, sizes[i]);
		assert_int_equal(process_stream(process, true).total,
		                 sizes[ARRAY_LEN(sizes) - 1 - i] / 2);
		process_free(process);
	}
	(void)snprintf(want, sizeof want, "no newline");
	RIG_RUN(0, want, PYTHON("print('no newline', end='')"));
}

/* The mark begins with the byte 0xff, so a chunk that ends with it is held back. */
static void bytes_that_could_begin_the_mark_are_delivered(void **state)
{
	struct process *process;
	struct process_state end;

	PYTHON_NEEDED();
	RIG_RUN(0, "1\n", PYTHON("print(1)")); /* a spare waits from here on */
	RIG_RUN(0, "a\xff", PYTHON("import os; os.write(1, b'a\\xff')"));
	process = RIG_START(PYTHON("import os\nos.write(1, b'b\\xff')\nwhile True: pass"),
	                    .deadline_ms = 300);
	end = rig_until_over(process);
	assert_true(end.end.timed_out);
	assert_string_equal(rig_text(process, false), "b\xff");
	process_free(process);
}

static void long_output_of_fresh_code_is_complete(void **state)
{
	struct process *process;
	struct process_stream stream;
	char command[256];

	PYTHON_NEEDED();
	process = RIG_START(
	        PYTHON("import sys\nfor i in range(1000000): sys.stdout.write('%d\\n' % "
	               "i)"));
	rig_check(process, 0, NULL);
	stream = process_stream(process, false);
	(void)snprintf(command, sizeof command, "seq 0 999999 | cmp - %s && echo same",
	               stream.file);
	RIG_RUN(0, "same\n", RIG_SH(command));
	process_free(process);
}

/* The next run replaces the deadline, or the server lifts it a moment after the end. */
static void deadline_does_not_outlive_its_run(void **state)
{
	PYTHON_NEEDED();
	RIG_RUN(0, "1\n", PYTHON("print(1)")); /* a spare waits from here on */
	RIG_RUN(0, "2\n", PYTHON("print(2)"), .deadline_ms = 1500);
	RIG_RUN(0, "3\n", PYTHON("import time; time.sleep(2); print(3)"));
	RIG_RUN(0, "4\n", PYTHON("print(4)"), .deadline_ms = 1500);
	rig_turn(2000);
	RIG_RUN(0, "5\n", PYTHON("print(5)"));
}

static void deadline_ends_fresh_code(void **state)
{
	struct process *process;
	struct process_state end;

	PYTHON_NEEDED();
	process = RIG_START(PYTHON("print('up', flush=True)\nwhile True: pass"),
	                    .deadline_ms = 2000);
	end = rig_until_over(process);
	assert_int_equal(end.phase, PROCESS_ENDED);
	assert_true(end.end.timed_out);
	assert_string_equal(rig_text(process, false), "up\n");
	process_free(process);
	rig_turn(200);
	RIG_RUN(0, "again\n", PYTHON("print('again')"));
	RIG_RUN(0, "0\n",
	        RIG_SH("sleep 0.2; ls -d /tmp/belljar-* /dev/shm/belljar-* 2>/dev/null | wc -l"));
}

static void killed_fresh_code_reports_its_signal(void **state)
{
	struct process *process;
	struct process_state end;

	PYTHON_NEEDED();
	process = RIG_START(PYTHON("import os; os.kill(os.getpid(), 9)"));
	end = rig_until_over(process);
	assert_int_equal(end.phase, PROCESS_ENDED);
	assert_int_equal(end.end.signal, SIGKILL);
	assert_false(end.end.out_of_memory);
	process_free(process);
	process = RIG_START(PYTHON("x = bytearray(600 * 1024 * 1024)\nprint(len(x))"));
	end = rig_until_over(process);
	assert_true(end.end.out_of_memory || end.end.code != 0);
	print_message("memory: code %d signal %d note '%s'\n", end.end.code, end.end.signal,
	              end.end.note);
	process_free(process);
	process = RIG_START(PYTHON("import time\nprint('up', flush=True)\ntime.sleep(100)"));
	RIG_UNTIL(process_stream(process, false).total != 0, RIG_MS);
	process_stop(process);
	end = rig_until_over(process);
	assert_int_equal(end.phase, PROCESS_ENDED);
	assert_int_equal(end.end.signal, SIGTERM);
	process_free(process);
	RIG_RUN(0, "again\n", PYTHON("print('again')"));
}

static void killed_spare_is_replaced(void **state)
{
	char command[64];

	PYTHON_NEEDED();
	(void)snprintf(command, sizeof command, "kill -9 %s",
	               run_and_print(RIG_START(PYTHON("import os; print(os.getppid())"))));
	RIG_RUN(0, "", .argv = (const char *const[]){ "sh", "-c", command, NULL });
	rig_turn(200);
	RIG_RUN(0, "y\n", PYTHON("print('y')"));
}

static void freed_process_ends_its_fresh_run(void **state)
{
	struct process *process;
	uint64_t idle;

	PYTHON_NEEDED();
	RIG_RUN(0, "x\n", PYTHON("print('x')"));
	rig_turn(1000);
	idle = count_pids();
	process = RIG_START(PYTHON("import time\nprint('up', flush=True)\ntime.sleep(100)"));
	RIG_UNTIL(process_stream(process, false).total != 0, RIG_MS);
	process_free(process);
	RIG_UNTIL(count_pids() < idle, RIG_MS);
	process = RIG_START(PYTHON("print(1)")); /* before it has started */
	process_free(process);
	rig_turn(100);
	/* No spare was left, so a new interpreter was to become the run: a spare replaces it. */
	RIG_UNTIL(count_pids() <= idle, RIG_MS);
	/* The agent removes the directories while it starts this shell. */
	RIG_RUN(0, "0\n",
	        RIG_SH("for i in $(seq 600); do "
	               "ls -d /tmp/belljar-* /dev/shm/belljar-* 2>/dev/null | grep -q . || break; "
	               "sleep 0.1; done; "
	               "ls -d /tmp/belljar-* /dev/shm/belljar-* 2>/dev/null | wc -l"));
}

/* --- code and its spare ----------------------------------------------------------------------- */

static void code_cannot_open_the_memory_of_its_spare(void **state)
{
	PYTHON_NEEDED();
	RIG_RUN(0, "mem 13\nfd/3 13\n1\n",
	        PYTHON("import os\n"
	               "for name in 'mem', 'fd/3':\n"
	               "    try:\n"
	               "        os.open('/proc/%d/%s' % (os.getppid(), name), os.O_RDWR)\n"
	               "    except OSError as error:\n"
	               "        print(name, 13 if error.errno in (2, 13) else error)\n"
	               "os.close(os.open('/proc/self/mem', os.O_RDWR))\n"
	               "import ctypes\n"
	               "print(ctypes.CDLL(None).prctl(3, 0, 0, 0, 0))"));
}

/* Leaves a process in a session of its own that cannot be dumped; with an argument, one that forks
 * and exits all the time, so that its pid changes. */
#define STRAY                                                                                      \
	"import ctypes, os, sys, time\n"                                                           \
	"if os.fork() == 0:\n"                                                                     \
	"    os.setsid()\n"                                                                        \
	"    ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)\n"                                             \
	"    while True:\n"                                                                        \
	"        open('/tmp/beat', 'a').write('.')\n"                                              \
	"        if len(sys.argv) > 1 and os.fork(): os._exit(0)\n"                                \
	"        time.sleep(0 if len(sys.argv) > 1 else 0.01)\n"                                   \
	"while not os.path.exists('/tmp/beat'): time.sleep(0.01)\n"                                \
	"print('left')"

static void stray_processes_end_before_the_next_run(void **state)
{
	PYTHON_NEEDED();
	for (int i = 0; i < 6; i++) {
		const char *const args[] = { "chain", NULL };

		RIG_RUN(0, "left\n", PYTHON(STRAY), .args = i % 2 ? args : NULL);
		RIG_RUN(0, "True\n",
		        PYTHON("import os, time\n"
		               "size = os.path.getsize('/tmp/beat')\n"
		               "time.sleep(0.3)\n"
		               "print(os.path.getsize('/tmp/beat') == size)\n"
		               "os.unlink('/tmp/beat')"));
	}
}

#define CLEANS                                                                                     \
	"import signal, sys, time\n"                                                               \
	"def end(*_):\n"                                                                           \
	"    time.sleep(0.2); print('clean'); sys.exit(7)\n"                                       \
	"signal.signal(signal.SIGTERM, end)\n"                                                     \
	"print('up', flush=True)\n"                                                                \
	"time.sleep(100)"

static void code_may_clean_up_after_sigterm(void **state)
{
	struct process *process;
	struct process_state end;

	PYTHON_NEEDED();
	for (int i = 0; i < 2; i++) {
		process = RIG_START(PYTHON(CLEANS), .deadline_ms = i ? 3000 : 0);
		RIG_UNTIL(process_stream(process, false).total >= 3, RIG_MS);
		if (i == 0)
			process_stop(process);
		end = rig_until_over(process);
		assert_int_equal(end.phase, PROCESS_ENDED);
		assert_int_equal(end.end.code, 7);
		assert_int_equal(end.end.signal, 0);
		assert_int_equal(end.end.timed_out, i);
		assert_string_equal(rig_text(process, false), "up\nclean\n");
		process_free(process);
	}
	RIG_RUN(0, "again\n", PYTHON("print('again')"));
}

static void code_that_ignores_sigterm_is_killed(void **state)
{
	struct process *process;
	struct process_state end;

	PYTHON_NEEDED();
	process = RIG_START(PYTHON("import signal\n"
	                           "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
	                           "while True: pass"),
	                    .deadline_ms = 500);
	end = rig_until_over(process);
	assert_true(end.end.timed_out);
	process_free(process);
	RIG_RUN(0, "again\n", PYTHON("print('again')"));
}

/* --- Node ------------------------------------------------------------------------------------- */

static void node_spare_is_replaced_after_each_run(void **state)
{
	uint64_t start;

	RIG_NEEDED();
	if (rig_language_path("javascript") == NULL)
		SKIP_TEST("no node here");
	RIG_RUN(0, "1\n", RIG_CODE("javascript", "console.log(1)"));
	rig_turn(500);
	start = clock_now_ms();
	RIG_RUN(5, "2\n", RIG_CODE("javascript", "console.log(2); process.exitCode = 5"));
	print_message("fresh node: %d ms\n", (int)(clock_now_ms() - start));
	RIG_RUN(0, "0\n",
	        RIG_SH("sleep 0.3; ls -d /tmp/belljar-* /dev/shm/belljar-* 2>/dev/null | wc -l"));
}

int main(void)
{
	const struct CMUnitTest all[] = {
		TEST(spare_interpreter_serves_fresh_code),
		TEST(startup_variable_needs_an_own_interpreter),
		TEST(end_of_the_code_is_told),
		TEST(several_runs_at_once_leave_one_spare),
		TEST(end_mark_never_appears_in_output),
		TEST(bytes_that_could_begin_the_mark_are_delivered),
		TEST(long_output_of_fresh_code_is_complete),
		TEST(deadline_does_not_outlive_its_run),
		TEST(deadline_ends_fresh_code),
		TEST(killed_fresh_code_reports_its_signal),
		TEST(killed_spare_is_replaced),
		TEST(freed_process_ends_its_fresh_run),
		TEST(code_cannot_open_the_memory_of_its_spare),
		TEST(stray_processes_end_before_the_next_run),
		TEST(code_may_clean_up_after_sigterm),
		TEST(code_that_ignores_sigterm_is_killed),
		TEST(node_spare_is_replaced_after_each_run),
	};

	return RUN_IN_RIG("interpreter", all);
}
