/* Programs and code as processes in a real sandbox. */
#include "unit/sandbox/process/process_rig.h"

/* --- programs --------------------------------------------------------------------------------- */

static void program_reads_and_prints(void **state)
{
	RIG_NEEDED();
	RIG_RUN(0, "hello\n", RIG_SH("echo hello"));
	RIG_RUN(3, "HELLO", RIG_SH("tr a-z A-Z; exit 3"), .in = VIEW("hello"));
	RIG_RUN(0, "0\n", RIG_SH("wc -c"));
	RIG_RUN(0, "/tmp x\n", RIG_SH("echo $PWD $Y"), .cwd = "/tmp",
	        .env = (const char *const[]){ "Y=x", NULL });
}

static void command_runs_in_a_shell(void **state)
{
	struct process *process;

	RIG_NEEDED();
	process = RIG_START(.command = "echo a | tr a b; exit 3", .in = VIEW("x"));
	rig_check(process, 3, "b\n");
	assert_non_null(strstr(process_label(process), "sh -c echo a | tr a b; exit 3"));
	process_free(process);
}

static void missing_directory_fails_before_the_start(void **state)
{
	struct process *process;
	struct process_state end;

	RIG_NEEDED();
	process = RIG_START(RIG_SH("echo never"), .cwd = "/no/such/directory");
	end = rig_until_over(process);
	assert_int_equal(end.phase, PROCESS_FAILED);
	assert_int_equal(end.why->kind, ERR_NOT_FOUND);
	assert_non_null(strstr(end.why->msg, "argument 'cwd': "));
	process_free(process);
	process = RIG_START(RIG_SH("echo never"), .cwd = "/etc/passwd");
	end = rig_until_over(process);
	assert_int_equal(end.phase, PROCESS_FAILED);
	assert_string_equal(end.why->msg, "argument 'cwd': the path is not a directory");
	process_free(process);
}

static void missing_program_fails_the_process(void **state)
{
	struct process *process;
	struct process_state end;

	RIG_NEEDED();
	process = RIG_START(.argv = (const char *const[]){ "no-such-thing", NULL });
	end = rig_until_over(process);
	assert_int_equal(end.phase, PROCESS_FAILED);
	assert_int_equal(end.why->kind, ERR_NOT_FOUND);
	process_free(process);
}

static void deadline_ends_a_program(void **state)
{
	struct process *process;
	struct process_state end;

	RIG_NEEDED();
	process = RIG_START(RIG_SH("echo begun; sleep 100"), .deadline_ms = 200);
	end = rig_until_over(process);
	assert_int_equal(end.phase, PROCESS_ENDED);
	assert_true(end.end.timed_out);
	assert_string_equal(rig_text(process, false), "begun\n");
	process_free(process);
}

static void long_output_is_written_to_a_file(void **state)
{
	static const char script[] =
	        "head -c 52428800 /dev/zero | tr '\\0' x; echo end; echo e >&2";
	struct process_stream stream;
	struct process *process;
	struct process_state end;
	uint64_t start = clock_now_ms();
	char command[256];

	RIG_NEEDED();
	process = RIG_START(RIG_SH(script));
	end = rig_until_over(process);
	print_message("50 MiB: %d ms\n", (int)(clock_now_ms() - start));
	assert_int_equal(end.end.code, 0);
	stream = process_stream(process, false);
	assert_int_equal(stream.total, 52428804);
	assert_int_equal(stream.head.len, RIG_HEAD);
	assert_int_equal(stream.tail.len, RIG_TAIL);
	assert_int_equal(stream.left_out, 52428804 - RIG_HEAD - RIG_TAIL);
	assert_memory_equal(stream.tail.ptr + stream.tail.len - 5, "xend\n", 5);
	assert_null(stream.file_note);
	assert_non_null(stream.file);
	assert_string_equal(rig_text(process, true), "e\n");
	assert_null(process_stream(process, true).file);
	(void)snprintf(command, sizeof command, "wc -c <%s; tr -d x <%s; rm %s", stream.file,
	               stream.file, stream.file);
	RIG_RUN(0, "52428804\nend\n", RIG_SH(command));
	process_free(process);
}

static void output_files_have_order_and_content(void **state)
{
	struct process *process;
	struct process_stream stream;
	char command[256];

	RIG_NEEDED();
	process = RIG_START(RIG_SH("seq 1 400000; seq 1 300000 >&2"));
	rig_check(process, 0, NULL);
	for (int i = 0; i < 2; i++) {
		stream = process_stream(process, i);
		assert_non_null(stream.file);
		(void)snprintf(command, sizeof command, "seq 1 %d00000 | cmp - %s && echo same",
		               i == 0 ? 4 : 3, stream.file);
		RIG_RUN(0, "same\n", RIG_SH(command));
	}
	process_free(process);
}

static void output_file_stops_at_its_limit(void **state)
{
	uint64_t *max, before;
	struct process_stream stream;
	struct process *process;
	char command[256];

	RIG_NEEDED();
	max = &rig.manager->config.process.file_max;
	before = *max;
	*max = 100000;
	process = RIG_START(RIG_SH("head -c 3000000 /dev/zero"));
	rig_check(process, 0, NULL);
	*max = before;
	stream = process_stream(process, false);
	assert_int_equal(stream.total, 3000000);
	assert_string_equal(stream.file_note, "the file has reached its limit");
	(void)snprintf(command, sizeof command, "wc -c <%s", stream.file);
	RIG_RUN(0, "100000\n", RIG_SH(command));
	process_free(process);
}

static void unwritable_output_file_does_not_stop_the_program(void **state)
{
	struct process_stream stream;
	struct process *process;

	RIG_NEEDED();
	RIG_RUN(0, "", RIG_SH("rm -rf .belljar && touch .belljar"));
	process = RIG_START(RIG_SH("head -c 3000000 /dev/zero"));
	rig_check(process, 0, NULL);
	stream = process_stream(process, false);
	assert_int_equal(stream.total, 3000000);
	assert_null(stream.file);
	assert_non_null(strstr(stream.file_note, "the output could not be written to a file: "));
	process_free(process);
	RIG_RUN(0, "", RIG_SH("rm -rf .belljar"));
}

static void program_reads_input_written_later(void **state)
{
	struct process *process;
	struct error err;
	char *much = mem_new(PROCESS_INPUT);

	RIG_NEEDED();
	process = RIG_START(RIG_SH("read a; echo got $a; read b; echo got $b; cat"),
	                    .keep_input = true, .in = VIEW("one\n"));
	RIG_UNTIL(process_stream(process, false).total == 8, RIG_MS);
	CHECK_OK(process_write(process, VIEW("two\n"), &err), err);
	RIG_UNTIL(process_stream(process, false).total == 16, RIG_MS);
	CHECK_OK(process_write(process, VIEW("rest"), &err), err);
	CHECK_OK(process_end_input(process, &err), err);
	assert_int_equal(process_write(process, VIEW("late"), &err), -1);
	rig_check(process, 0, "got one\ngot two\nrest");
	assert_int_equal(process_write(process, VIEW("late"), &err), -1);
	process_free(process);

	process = RIG_START(RIG_SH("sleep 100"), .keep_input = true);
	CHECK_OK(process_write(process, (struct view){ much, PROCESS_INPUT }, &err), err);
	assert_int_equal(process_write(process, (struct view){ much, PROCESS_INPUT }, &err), -1);
	assert_int_equal(err.kind, ERR_LIMIT);
	process_free(process);
	process = RIG_START(RIG_SH("sleep 100"));
	assert_int_equal(process_write(process, VIEW("x"), &err), -1);
	assert_int_equal(err.kind, ERR_INVALID);
	process_free(process);
	free(much);
}

static void program_is_stopped_by_term_then_kill(void **state)
{
	struct process *process;
	struct process_state end;

	RIG_NEEDED();
	process = RIG_START(
	        RIG_SH("trap 'echo bye; exit 5' TERM; echo up; while :; do sleep 0.1; done"));
	RIG_UNTIL(process_stream(process, false).total != 0, RIG_MS);
	process_stop(process);
	rig_check(process, 5, NULL);
	process_free(process);
	process = RIG_START(RIG_SH("trap '' TERM; echo up; while :; do sleep 0.1; done"));
	RIG_UNTIL(process_stream(process, false).total != 0, RIG_MS);
	process_stop(process);
	end = rig_until_over(process);
	assert_int_equal(end.end.signal, SIGKILL);
	process_free(process);
	process = RIG_START(
	        RIG_SH("trap 'echo usr; exit 0' USR1; echo up; while :; do sleep 0.1; done"));
	RIG_UNTIL(process_stream(process, false).total != 0, RIG_MS);
	process_signal(process, SIGUSR1);
	rig_check(process, 0, NULL);
	process_free(process);
}

/* --- detached --------------------------------------------------------------------------------- */

static void check_read(struct process *process, uint64_t since, size_t max, const char *out,
                       const char *errors, uint64_t want_next, uint64_t want_lost)
{
	AUTO_BUF struct buf got, bad;
	uint64_t next, lost;

	buf_init(&got, 100000);
	buf_init(&bad, 100000);
	process_read(process, since, max, &got, &bad, &next, &lost);
	if (out != NULL)
		assert_string_equal(buf_text(&got), out);
	if (errors != NULL)
		assert_string_equal(buf_text(&bad), errors);
	assert_int_equal(next, want_next);
	assert_int_equal(lost, want_lost);
}

static void detached_process_is_read_later(void **state)
{
	struct process *process, *found;
	struct error err;

	RIG_NEEDED();
	process = RIG_START(RIG_SH("echo before; read x; echo one; sleep 0.1; echo two >&2; sleep "
	                           "0.1; echo three; read y; head -c 40000 /dev/zero"),
	                    .keep_input = true);
	RIG_UNTIL(process_stream(process, false).total == 7, RIG_MS);
	process_detach(process);
	assert_true(process_is_detached(process));
	check_read(process, 0, 1000, "before\n", "", 7, 0); /* the captures have everything */
	CHECK_OK(process_write(process, VIEW("\n"), &err), err);
	RIG_UNTIL(process_stream(process, false).total == 17, RIG_MS);
	check_read(process, 7, 1000, "one\nthree\n", "two\n", 21, 0);
	check_read(process, 9, 4, "e\n", "tw", 13, 0);
	check_read(process, 21, 1000, "", "", 21, 0);
	check_read(process, 100, 1000, "", "", 21, 0);
	CHECK_OK(process_write(process, VIEW("\n"), &err), err);
	rig_check(process, 0, NULL);
	check_read(process, 7, 100000, NULL, "", 40021, 40021 - 16384 - 7);
	rig_unwatch(process);
	CHECK_OK(process_find(rig.sandbox, process_id(process), &found, &err), err);
	assert_ptr_equal(process, found);
	process_free(process);
}

static void oldest_detached_process_is_freed(void **state)
{
	struct process *process, *found;
	char first[PROCESS_ID_MAX];
	struct error err;

	RIG_NEEDED();
	for (int i = 0; i < 4; i++) {
		process = RIG_START(RIG_SH("echo x"), .detached = true);
		if (i == 0)
			(void)snprintf(first, sizeof first, "%s", process_id(process));
		rig_check(process, 0, "x\n");
		rig_unwatch(process);
	}
	assert_int_equal(process_find(rig.sandbox, first, &found, &err), -1);
	assert_int_equal(err.kind, ERR_NOT_FOUND);
	assert_non_null(strstr(err.msg, process_id(process)));
	assert_int_equal(process_count_running(rig.sandbox), 0);
}

static void count_change(void *ctx)
{
	++*(unsigned *)ctx;
}

static void every_watch_is_called_for_changes_and_for_the_end(void **state)
{
	unsigned changes[2] = { 0, 0 };
	struct process_watch watches[2] = { { .fn = count_change, .ctx = &changes[0] },
		                            { .fn = count_change, .ctx = &changes[1] } };
	struct process *process;
	unsigned before;

	RIG_NEEDED();
	process = RIG_START(RIG_SH("echo up; sleep 100"));
	for (int i = 0; i < 2; i++)
		process_watch(process, &watches[i]);
	RIG_UNTIL(process_stream(process, false).total != 0, RIG_MS);
	RIG_UNTIL(changes[0] != 0 && changes[1] != 0, RIG_MS);
	before = changes[1];
	process_unwatch(&watches[0]);
	process_free(process);
	assert_null(watches[1].process);
	assert_int_equal(changes[1], before + 1);
}

static void last_line_has_no_terminal_escapes(void **state)
{
	struct process *process;
	char line[80];

	RIG_NEEDED();
	process = RIG_START(RIG_SH("printf 'a\\n\\033[31m50%%\\033[0m done \\n\\n'"));
	rig_check(process, 0, NULL);
	assert_string_equal(process_last_line(process, line, sizeof line), "50% done");
	process_free(process);
}

/* --- code ------------------------------------------------------------------------------------- */

static void script_is_executed_and_removed(void **state)
{
	RIG_NEEDED();
	RIG_RUN(4, "a b /workspace\nin", RIG_CODE("sh", "echo $* $PWD; cat; exit 4"),
	        .args = (const char *const[]){ "a", "b", NULL }, .in = VIEW("in"));
	RIG_RUN(0, "0\n",
	        RIG_SH("sleep 0.3; ls -d /tmp/belljar-* /dev/shm/belljar-* 2>/dev/null | wc -l"));
}

static void compile_error_differs_from_exit_code(void **state)
{
	struct process *process;
	struct process_state end;

	RIG_NEEDED();
	process = RIG_START(RIG_CODE("c", "int main(void) { return x; }"));
	end = rig_until_over(process);
	if (end.phase == PROCESS_FAILED && end.why->kind == ERR_NOT_FOUND) {
		process_free(process);
		SKIP_TEST("no compiler");
	}
	assert_true(end.end.compile_failed);
	assert_int_equal(end.end.code, 1);
	assert_non_null(strstr(rig_text(process, true), "undeclared"));
	process_free(process);
	process = RIG_START(RIG_CODE("c", "int main(void) { return 7; }"));
	rig_check(process, 7, "");
	process_state(process, &end);
	assert_false(end.end.compile_failed);
	process_free(process);
}

static void missing_language_lists_available_ones(void **state)
{
	struct process *process;
	struct process_state end;
	static const struct language none = { .name = "nonesuch", .title = "None", .file = "x" };

	RIG_NEEDED();
	process = RIG_START(.language = &none, .code = VIEW("1"));
	end = rig_until_over(process);
	assert_int_equal(end.phase, PROCESS_FAILED);
	assert_int_equal(end.why->kind, ERR_NOT_FOUND);
	assert_non_null(strstr(end.why->msg, "there is no interpreter for nonesuch in this "
	                                     "sandbox; available: "));
	assert_non_null(strstr(end.why->msg, "sh"));
	process_free(process);
}

static void files_are_written_before_the_start(void **state)
{
	const struct process_file files[] = { { "a/b.txt", VIEW("one\n") },
		                              { "c", VIEW("two\n") } };
	const struct process_file bad[] = { { "c/d", VIEW("x") } };
	struct process *process;
	struct process_state end;

	RIG_NEEDED();
	RIG_RUN(0, "one\ntwo\n", RIG_SH("cat a/b.txt c"), .files = files, .file_count = 2);
	process = RIG_START(RIG_SH("echo never"), .files = bad, .file_count = 1);
	end = rig_until_over(process);
	assert_int_equal(end.phase, PROCESS_FAILED);
	assert_non_null(strstr(end.why->msg, "c/d"));
	process_free(process);
}

static void freed_process_leaves_no_processes_or_files(void **state)
{
	struct process *process;
	struct engine_counters counts;
	uint64_t before;

	RIG_NEEDED();
	if (!sandbox_counts(rig.sandbox, &counts))
		SKIP_TEST("no counters here");
	before = counts.pids_now;
	process = RIG_START(RIG_CODE("sh", "echo up; sleep 100"));
	RIG_UNTIL(process_stream(process, false).total != 0, RIG_MS);
	assert_true(sandbox_counts(rig.sandbox, &counts) && counts.pids_now > before);
	process_free(process);
	RIG_UNTIL(sandbox_counts(rig.sandbox, &counts) && counts.pids_now <= before, RIG_MS);
	RIG_RUN(0, "0\n",
	        RIG_SH("sleep 0.2; ls -d /tmp/belljar-* /dev/shm/belljar-* 2>/dev/null | wc -l"));
	process = RIG_START(RIG_SH("true")); /* before it has started */
	process_free(process);
}

/* --- the sandbox ends ------------------------------------------------------------------------- */

static void sleep_fails_running_processes(void **state)
{
	struct process *process, *detached;
	struct process_state end;
	struct error err;

	RIG_NEEDED();
	process = RIG_START(RIG_SH("echo up; sleep 100"));
	detached = RIG_START(RIG_SH("sleep 100"), .detached = true);
	RIG_UNTIL(process_stream(process, false).total != 0, RIG_MS);
	sandbox_sleep(rig.sandbox, rig_on_answer, NULL);
	end = rig_until_over(process);
	assert_int_equal(end.phase, PROCESS_FAILED);
	print_message("told: %s\n", end.why->msg);
	assert_true(process_is_over(detached));
	rig_unwatch(detached);
	RIG_UNTIL(rig.is_answered, RIG_MS);
	rig.is_answered = false;
	assert_int_equal(process_start(rig.sandbox, &(struct process_options){ RIG_SH("true") },
	                               &detached, &err),
	                 -1);
	process_free(process);
	rig_wake();
	RIG_RUN(0, "again\n", RIG_SH("echo again"));
}

static void process_outlives_its_deleted_sandbox(void **state)
{
	struct process *process;
	struct process_state end;

	RIG_NEEDED();
	process = RIG_START(RIG_SH("sleep 100"));
	(void)RIG_START(RIG_SH("sleep 100"), .detached = true);
	rig_delete();
	rig_turn(10);
	rig_turn(10);
	process_state(process, &end);
	assert_int_equal(end.phase, PROCESS_FAILED);
	process_stop(process);
	process_detach(process);
	process_free(process);
	rig_make("it");
}

int main(void)
{
	const struct CMUnitTest all[] = {
		TEST(program_reads_and_prints),
		TEST(command_runs_in_a_shell),
		TEST(missing_directory_fails_before_the_start),
		TEST(missing_program_fails_the_process),
		TEST(deadline_ends_a_program),
		TEST(long_output_is_written_to_a_file),
		TEST(output_files_have_order_and_content),
		TEST(output_file_stops_at_its_limit),
		TEST(unwritable_output_file_does_not_stop_the_program),
		TEST(program_reads_input_written_later),
		TEST(program_is_stopped_by_term_then_kill),
		TEST(detached_process_is_read_later),
		TEST(oldest_detached_process_is_freed),
		TEST(every_watch_is_called_for_changes_and_for_the_end),
		TEST(last_line_has_no_terminal_escapes),
		TEST(script_is_executed_and_removed),
		TEST(compile_error_differs_from_exit_code),
		TEST(missing_language_lists_available_ones),
		TEST(files_are_written_before_the_start),
		TEST(freed_process_leaves_no_processes_or_files),
		TEST(sleep_fails_running_processes),
		TEST(process_outlives_its_deleted_sandbox),
	};

	return RUN_IN_RIG("process", all);
}
