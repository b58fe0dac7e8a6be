/* Interpreters that break the protocol: each one fails its own run and no other. */
#include "kernels/kernels.h"
#include "unit/sandbox/process/process_rig.h"

/* Functions that all of them use. */
#define COMMON                                                                                     \
	"import os, sys, time\n"                                                                   \
	"def take(n):\n"                                                                           \
	"    b = b''\n"                                                                            \
	"    while len(b) < n: b += os.read(3, n - len(b)) or os._exit(0)\n"                       \
	"    return b\n"                                                                           \
	"def frame():\n"                                                                           \
	"    h = take(5)\n"                                                                        \
	"    return h[:1], take(int.from_bytes(h[1:], 'little'))\n"                                \
	"def say(kind, *fields):\n"                                                                \
	"    body = b''.join(len(f).to_bytes(4, 'little') + f for f in fields)\n"                  \
	"    data = kind + len(body).to_bytes(4, 'little') + body\n"                               \
	"    while data: data = data[os.write(3, data):]\n"                                        \
	"def end(code=b'0'): say(b'x', code, b'0', b'0', b'1', b'2', b'3')\n"                      \
	"frame()\n"
#define READY "say(b'r', b'3.0')\n"
#define RUN   "frame()\n"

/* Each behaviour is a program of its own, so that no spare of an earlier test is used. */
static struct process *start_fake(const char *behaviour, const char *session, bool is_once)
{
	static struct fake {
		const char *options[3];
		struct kernel_program program;
		struct language language;
	} fakes[32];
	static size_t count;
	struct fake *fake = &fakes[count++ % ARRAY_LEN(fakes)];

	*fake = (struct fake){ .options = { "-c", behaviour, NULL } };
	fake->program = (struct kernel_program){ .language = "python",
		                                 .runners = kernel_python.runners,
		                                 .options = fake->options,
		                                 .text = behaviour,
		                                 .text_end = behaviour,
		                                 .session_prefix = "",
		                                 .is_reusable = !is_once,
		                                 .waiting = is_once ? &kernel_python : NULL };
	fake->language = *language_find("python");
	fake->language.kernel = &fake->program;
	return RIG_START(.language = &fake->language, .code = VIEW("1"), .session = session);
}

static struct process *start_with(const char *behaviour, const char *session)
{
	return start_fake(behaviour, session, false);
}

static void check_failure(struct process *process, const char *want)
{
	struct process_state end = rig_until_over(process);

	assert_int_equal(end.phase, PROCESS_FAILED);
	if (strstr(end.why->msg, want) == NULL)
		fail_msg("'%s' is not in '%s'", want, end.why->msg);
	process_free(process);
}

static void check_fails(const char *behaviour, const char *want)
{
	check_failure(start_with(behaviour, NULL), want);
}

/* The exit of an interpreter that becomes its run is the end of the run, and nothing else is. */
static void run_in_a_new_interpreter_cannot_report_its_end(void **state)
{
	struct process *process;
	struct process_state end;

	PYTHON_NEEDED();
	check_failure(start_fake(COMMON READY RUN "end()\ntime.sleep(100)", NULL, true),
	              "is not allowed in this state");
	check_failure(start_fake(COMMON READY RUN "say(b'l', b'x')\ntime.sleep(100)", NULL, true),
	              "is not allowed in this state");
	check_failure(start_fake(COMMON READY RUN "say(b't')\ntime.sleep(100)", NULL, true),
	              "is not allowed in this state");
	check_failure(start_fake(COMMON RUN "os._exit(3)", NULL, true),
	              "the interpreter could not be started: it exited with code 3");
	process = start_fake(COMMON READY RUN "say(b'n', b'a b')\nprint('x', flush=True)\n"
	                                      "say(b'v', b'text/plain', b'y', b'')\nos._exit(4)",
	                     NULL, true);
	end = rig_until_over(process);
	assert_int_equal(end.phase, PROCESS_ENDED);
	assert_int_equal(end.end.code, 4);
	assert_int_equal(end.display_count, 1);
	assert_string_equal(rig_text(process, false), "x\n");
	process_free(process);
}

static void malformed_message_kills_the_interpreter(void **state)
{
	PYTHON_NEEDED();
	check_fails(COMMON "os.write(3, b'garbage' * 100)\ntime.sleep(100)",
	            "the interpreter broke its protocol: ");
	check_fails(COMMON READY RUN "os.write(3, b'x\\xff\\xff\\xff\\xff')\ntime.sleep(100)",
	            "the interpreter broke its protocol: ");
	check_fails(COMMON READY READY "time.sleep(100)", "is not allowed in this state");
	check_fails(COMMON "end()\ntime.sleep(100)", "is not allowed in this state");
	check_fails(COMMON READY RUN "end()\nend()\ntime.sleep(100)",
	            "is not allowed in this state");
	check_fails(COMMON READY RUN "say(b'x', b'a', b'0', b'0', b'1', b'2', b'3')\n",
	            "the interpreter broke its protocol: ");
}

static void failed_start_is_reported(void **state)
{
	struct process *process;

	PYTHON_NEEDED();
	check_fails("import os; os._exit(9)",
	            "the interpreter could not be started: it exited with code 9");
	process = start_with("import sys; sys.exit('no library')", NULL);
	(void)rig_until_over(process);
	assert_string_equal(rig_text(process, true), "no library\n");
	process_free(process);
}

static void silent_exit_fails_the_run(void **state)
{
	struct process *process;
	struct process_state end;

	PYTHON_NEEDED();
	process = start_with(COMMON READY RUN "print('some', flush=True)\nos._exit(6)", NULL);
	end = rig_until_over(process);
	assert_int_equal(end.phase, PROCESS_ENDED);
	assert_int_equal(end.end.code, 6);
	assert_string_equal(rig_text(process, false), "some\n");
	process_free(process);
	check_fails(COMMON READY RUN "os._exit(0)", "exited before the code had ended");
	process = start_with(COMMON READY RUN "end(b'5')\nos._exit(0)", NULL);
	end = rig_until_over(process);
	assert_int_equal(end.phase, PROCESS_ENDED);
	assert_int_equal(end.end.code, 5);
	process_free(process);
}

/* Each interpreter runs for longer than RIG_MS allows: the end must come without it. */
static void missing_mark_does_not_block_the_end(void **state)
{
	struct process *process;
	struct process_state end;

	PYTHON_NEEDED();
	process = start_with(
	        COMMON READY RUN "print('out', flush=True)\nend(b'7')\ntime.sleep(100)", NULL);
	end = rig_until_over(process);
	assert_int_equal(end.phase, PROCESS_ENDED);
	assert_int_equal(end.end.code, 7);
	assert_string_equal(end.end.note, "the interpreter did not mark the end of the output");
	assert_string_equal(rig_text(process, false), "out\n");
	process_free(process);
	/* An interpreter that goes on printing. */
	process = start_with(COMMON READY RUN "end(b'0')\nwhile True: os.write(1, b'x' * 65536)",
	                     NULL);
	end = rig_until_over(process);
	assert_int_equal(end.phase, PROCESS_ENDED);
	assert_true(process_stream(process, false).total < 2 * 1024 * 1024);
	process_free(process);
	/* An interpreter that goes on printing slowly. */
	process = start_with(COMMON READY RUN "end(b'0')\n"
	                                      "while True: os.write(1, b'x'); time.sleep(0.5)",
	                     NULL);
	end = rig_until_over(process);
	assert_int_equal(end.phase, PROCESS_ENDED);
	process_free(process);
}

static void flood_of_displays_is_bounded(void **state)
{
	struct process *process;
	struct process_state end;

	PYTHON_NEEDED();
	process = start_with(COMMON READY RUN
	                     "for i in range(20000): say(b'v', b'text/plain', b'x' * 1000, b'')\n"
	                     "end()\n"
	                     "kind, mark = frame()\n"
	                     "os.write(1, b'behind' + mark); os.write(2, mark)\n"
	                     "time.sleep(100)",
	                     NULL);
	end = rig_until_over(process);
	assert_int_equal(end.phase, PROCESS_ENDED);
	assert_int_equal(end.display_count, PROCESS_DISPLAYS_MAX);
	assert_string_equal(rig_text(process, false), "behind");
	process_free(process);
	/* A message that is one byte longer than the limit. */
	check_fails(COMMON READY RUN "os.write(3, b'v' + (1024 * 1024 + 1).to_bytes(4, 'little'))\n"
	                             "time.sleep(100)",
	            "the interpreter broke its protocol: ");
}

static void interpreter_that_does_not_read_can_be_stopped(void **state)
{
	struct process *process;

	PYTHON_NEEDED();
	process = start_with(COMMON READY "time.sleep(100)", NULL); /* never reads RUN */
	rig_turn(300);
	process_stop(process);
	(void)rig_until_over(process);
	process_free(process);
}

static void hostile_session_is_lost_and_reported(void **state)
{
	struct process *process;
	struct process_state end;

	PYTHON_NEEDED();
	process = start_with(COMMON READY RUN "end()\ntime.sleep(100)", "bad");
	end = rig_until_over(process);
	assert_int_equal(end.phase, PROCESS_ENDED);
	assert_true(end.state_is_lost);
	process_free(process);
	process = start_with(COMMON READY RUN "os.write(3, b'garbage' * 9)\ntime.sleep(100)",
	                     "bad");
	end = rig_until_over(process);
	assert_int_equal(end.phase, PROCESS_FAILED);
	assert_true(end.state_was_lost && end.state_is_lost);
	assert_string_equal(end.why_lost, "it did not mark the end of its output");
	process_free(process);
	process = RIG_START(RIG_CODE("python", "print('fine')"), .session = "bad");
	rig_check(process, 0, "fine\n");
	process_free(process);
}

int main(void)
{
	const struct CMUnitTest all[] = {
		TEST(malformed_message_kills_the_interpreter),
		TEST(run_in_a_new_interpreter_cannot_report_its_end),
		TEST(failed_start_is_reported),
		TEST(silent_exit_fails_the_run),
		TEST(missing_mark_does_not_block_the_end),
		TEST(flood_of_displays_is_bounded),
		TEST(interpreter_that_does_not_read_can_be_stopped),
		TEST(hostile_session_is_lost_and_reported),
	};

	return RUN_IN_RIG("interpreter, hostile", all);
}
