/* test_live_pty.c - programs on a terminal of their own, and signals to programs. */
#include "unit/agent/live/live_modes.h"

#define ON_TERMINAL(...) LIVE_RUN(.flags = WIRE_EXEC_PTY | WIRE_EXEC_STDIN, __VA_ARGS__)

static void terminal_has_the_requested_size(void **state)
{
	struct live_stream *s;
	struct live live;

	live_begin(&live);
	s = live_start_run(&live, ON_TERMINAL(.rows = 33, .columns = 111, .keeps_open = true), "sh",
	                   "-c",
	                   "test -t 0 && test -t 1 && test -t 2 && tty && stty size && "
	                   ": </dev/tty && echo err >&2");
	assert_int_equal(live_exited(s)->exited.code, 0);
	assert_int_equal(strncmp(buf_text(&s->got[WIRE_OUT]), "/dev/pts/", 9), 0);
	assert_non_null(strstr(buf_text(&s->got[WIRE_OUT]), "\r\n33 111\r\nerr\r\n"));
	CHECK_GOT(s, WIRE_ERR, "");
	live_finish(&live);
}

static void program_is_told_of_a_new_terminal_size(void **state)
{
	struct live_stream *s;
	struct live live;

	live_begin(&live);
	s = live_start_run(&live, ON_TERMINAL(.rows = 24, .columns = 80, .keeps_open = true), "sh",
	                   "-c",
	                   "trap 'stty size; exit 0' WINCH; echo up; while :; do sleep 0.05; done");
	live_until_bytes(s, WIRE_OUT, 4);
	live_say(s, &(struct wire_message){ .type = WIRE_RESIZE,
	                                    .resize = { .rows = 50, .columns = 132 } });
	assert_int_equal(live_exited(s)->exited.code, 0);
	CHECK_GOT(s, WIRE_OUT, "up\r\n50 132\r\n");
	live_finish(&live);
}

static void terminal_handles_control_keys(void **state)
{
	static const struct {
		const char *keys;
		int code, signal;
		const char *out;
	} rows[] = {
		{ "\003", 0, SIGINT, "^C" },
		{ "\034", 0, SIGQUIT, "^\\" },
		{ "hi\n\004", 0, 0, "hi\r\nhi\r\n" },
		{ "\004", 0, 0, "" },
	};
	struct live_stream *s;
	struct live live;

	live_begin(&live);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		s = live_started(live_start_run(&live, ON_TERMINAL(.keeps_open = true), "sh", "-c",
		                                "ulimit -c 0; exec cat"));
		live_run_ms(&live, 100);
		live_feed_text(s, rows[i].keys);
		assert_int_equal(live_exited(s)->exited.code, rows[i].code);
		assert_int_equal(s->exited.signal, rows[i].signal);
		CHECK_GOT(s, WIRE_OUT, rows[i].out);
	}
	live_finish(&live);
}

/* In the middle of a line a first control-D only passes the line on, so the agent sends a
 * second. */
static void end_of_input_reaches_a_program_on_a_terminal(void **state)
{
	static const char *const inputs[] = { "", "line\n", "no line", "two\nlines" };
	struct live_stream *s;
	struct live live;

	live_begin(&live);
	for (size_t i = 0; i < ARRAY_LEN(inputs); i++) {
		s = live_start_run(&live, ON_TERMINAL(.input = inputs[i]), "sh", "-c",
		                   "stty -echo; cat >got; cat got; echo; echo end");
		assert_int_equal(live_exited(s)->exited.code, 0);
		assert_non_null(strstr(buf_text(&s->got[WIRE_OUT]), "end\r\n"));
	}
	live_finish(&live);
}

static void terminal_output_is_complete(void **state)
{
	struct live_stream *s;
	struct live live;

	live_begin(&live);
	for (int i = 0; i < 100; i++) {
		s = live_start_run(&live, ON_TERMINAL(.keeps_open = true), "sh", "-c",
		                   "seq 300; echo last");
		(void)live_exited(s);
		assert_int_equal(s->got[WIRE_OUT].len, 9 * 3 + 90 * 4 + 201 * 5 + 6);
	}
	live_finish(&live);
}

/* The output is not read for longer than the agent waits for a terminal. The first credit ends just
 * before the last bytes: a program that has to leave more in its terminal may block until it is
 * read. */
static void terminal_output_that_waited_for_credit_is_complete(void **state)
{
	struct live_stream *s;
	struct live live;

	live_begin(&live);
	s = live_start_run(&live,
	                   ON_TERMINAL(.keeps_open = true, .holds_back = true, .counts_only = true),
	                   "sh", "-c", "stty raw; head -c 65536 /dev/zero; printf last");
	LIVE_UNTIL(&live, s->has_exited, LIVE_MS);
	live_run_ms(&live, 700);
	assert_false(s->is_over);
	s->holds_back = false;
	channel_consumed(s->stream, WIRE_OUT, s->bytes[WIRE_OUT]);
	(void)live_exited(s);
	assert_int_equal(s->bytes[WIRE_OUT], 65540);
	live_finish(&live);
}

/* All streams are due in the turn in which the server reads again after a pause. The output fits
 * into an empty terminal. */
static void last_output_of_many_terminals_is_complete(void **state)
{
	struct live_stream *s[64], *flood;
	struct live live;

	live_begin(&live);
	for (size_t i = 0; i < ARRAY_LEN(s); i++) {
		s[i] = live_start_run(
		        &live,
		        ON_TERMINAL(.keeps_open = true, .holds_back = true, .counts_only = true),
		        "sh", "-c",
		        "stty raw -echo; head -c 65536 /dev/zero; read -r go; "
		        "printf %04000d 0");
		live_until_bytes(s[i], WIRE_OUT, 65536);
		live_feed_text(s[i], "go\n");
		LIVE_UNTIL(&live, s[i]->has_exited, LIVE_MS);
	}
	flood = live_start_run(&live, LIVE_RUN(.holds_back = true, .counts_only = true), "yes");
	(void)live_started(flood);
	channel_grow_window(flood->stream, WIRE_OUT, 4 * 1024 * 1024);
	live_turn(&live, 1);
	(void)usleep(700 * 1000);
	for (size_t i = 0; i < ARRAY_LEN(s); i++) {
		s[i]->holds_back = false;
		channel_consumed(s[i]->stream, WIRE_OUT, s[i]->bytes[WIRE_OUT]);
	}
	for (size_t i = 0; i < ARRAY_LEN(s); i++) {
		(void)live_exited(s[i]);
		assert_int_equal(s[i]->bytes[WIRE_OUT], 65536 + 4000);
	}
	live_stop(&live);
}

/* A process of another run has the terminal open. */
static void terminal_held_open_by_another_run_delays_nothing(void **state)
{
	struct live_stream *s, *other;
	struct live live;
	char script[128];

	/* With Landlock a program could not open another run's descriptors. */
	live_start(&live, &(struct live_options){ .is_pid1 = live_as_pid1, .is_free = true });
	s = live_start_run(&live, ON_TERMINAL(.keeps_open = true), "sh", "-c",
	                   "echo up; sleep 0.5; echo down");
	live_until_bytes(s, WIRE_OUT, 4);
	(void)snprintf(script, sizeof script, "exec 5<>/proc/%u/fd/1; echo up; sleep 100", s->pid);
	other = live_start_run(&live, LIVE_RUN(0), "sh", "-c", script);
	live_until_bytes(other, WIRE_OUT, 3);
	(void)live_wait(s);
	CHECK_GOT(live_exited(s), WIRE_OUT, "up\r\ndown\r\n");
	live_finish(&live);
}

static void signal_reaches_detached_descendants(void **state)
{
	static const char script[] = "trap 'sleep 0.3; echo main; exit 3' TERM; "
	                             "setsid sh -c 'trap \"echo far >&2; exit\" TERM; echo up; "
	                             "while :; do sleep 0.02; done' & "
	                             "while :; do sleep 0.02; done";
	struct live_stream *s;
	struct live live;

	live_begin(&live);
	s = live_start_run(&live, LIVE_RUN(0), "sh", "-c", script);
	live_until_bytes(s, WIRE_OUT, 3);
	live_signal(s, SIGTERM);
	CHECK_GOT(live_exited(s), WIRE_OUT, "up\nmain\n");
	assert_non_null(strstr(buf_text(&s->got[WIRE_ERR]), "far\n"));
	assert_int_equal(s->exited.code, 3);
	live_finish(&live);
}

int main(void)
{
	const struct CMUnitTest all[] = {
		TEST(terminal_has_the_requested_size),
		TEST(program_is_told_of_a_new_terminal_size),
		TEST(terminal_handles_control_keys),
		TEST(end_of_input_reaches_a_program_on_a_terminal),
		TEST(terminal_output_is_complete),
		TEST(terminal_output_that_waited_for_credit_is_complete),
		TEST(last_output_of_many_terminals_is_complete),
		TEST(terminal_held_open_by_another_run_delays_nothing),
		TEST(signal_reaches_detached_descendants),
	};

	return LIVE_RUN_TWICE("terminals and signals", all);
}
