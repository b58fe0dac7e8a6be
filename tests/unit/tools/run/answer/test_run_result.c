/* The answer of a run: output as text, the text of the answer, its structured content. */
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "tools/run/answer/run_result.h"
#include "tools/run/answer/run_text.h"
#include "unit/test.h"

/* --- bytes to text --- */

static void output_becomes_text_without_escapes(void **state)
{
	static const struct {
		struct view bytes;
		const char *want;
	} cases[] = {
		{ VIEW_INIT(""), "" },
		{ VIEW_INIT("a\tb\nc"), "a\tb\nc" },
		{ VIEW_INIT("gr\xc3\xbcn \xe2\x82\xac \xf0\x9f\x98\x80"),
		  "gr\xc3\xbcn \xe2\x82\xac \xf0\x9f\x98\x80" },
		{ VIEW_INIT("a\0b"), "a\xe2\x90\x80"
		                     "b" },
		{ VIEW_INIT("\0\0"), "\xe2\x90\x80\xe2\x90\x80" },
		{ VIEW_INIT("a\xff"
		            "b\xfe"),
		  "a\xef\xbf\xbd"
		  "b\xef\xbf\xbd" },
		{ VIEW_INIT("\xed\xa0\x80"), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
		{ VIEW_INIT("\x1b[31mred\x1b[0m"), "red" },
		{ VIEW_INIT("\x1b]0;title\x07text"), "text" },
		{ VIEW_INIT("\x1b]52;c;cm0gLXJm\x1b\\rest"), "rest" },
		{ VIEW_INIT("a\r\nb\r\n"), "a\nb\n" },
		{ VIEW_INIT("10%\r20%\n"), "20%\n" },
		{ VIEW_INIT("a\r\r\nb\r"), "a\nb" },
		{ VIEW_INIT("one\n10%\r\x1b[K20%\x1b[0m\r\x1b[K100%\ntwo"), "one\n100%\ntwo" },
		{ VIEW_INIT("long line\rshort    \n\r\nx \n"), "short\n\nx \n" },
		{ VIEW_INIT("|\b/\b-\bdone"), "done" },
		{ VIEW_INIT("50%\b\b\b60%\b\b\b"), "60%" },
		{ VIEW_INIT("a\n\b\b\bb"), "a\nb" },
		{ VIEW_INIT("\xc3\xbc\xe2\x82\xac\b\bx"), "x" },
		{ VIEW_INIT("[bellX\bjar: y]"), "\\[belljar: y]" },
		{ VIEW_INIT("\x1b[3\b1m"), "1m" },
		{ VIEW_INIT("a\x07\x7f"
		            "b"),
		  "ab" },
		{ VIEW_INIT("\x1b[\0mx"), "x" },
		{ VIEW_INIT("  File \"/dev/shm/belljar-12/main.py\", line 3, in f\n"),
		  "  File \"main.py\", line 3, in f\n" },
		{ VIEW_INIT(
		          "/tmp/belljar-1/main.c:1:20: error\n at /tmp/belljar-1/main.pl line 2."),
		  "main.c:1:20: error\n at main.pl line 2." },
		{ VIEW_INIT("at file:///tmp/belljar-9/main.mjs:2:7 /tmp/belljar-1/Main.java:1"),
		  "at main.mjs:2:7 Main.java:1" },
		{ VIEW_INIT(
		          "/dev/shm/belljar-12/main.py\n/tmp/belljar-x/main.c:1 /tmp/belljar-1/a.c:1 "
		          "/tmp/belljar-1/main."),
		  "/dev/shm/belljar-12/main.py\n/tmp/belljar-x/main.c:1 /tmp/belljar-1/a.c:1 "
		  "/tmp/belljar-1/main." },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO_BUF struct buf out;

		buf_init(&out, run_text_room(cases[i].bytes.len));
		run_text_clean(cases[i].bytes, &out);
		assert_string_equal(buf_text(&out), cases[i].want);
	}
}

static uint64_t fit(const char *head, const char *tail, uint64_t left_out, size_t max,
                    struct buf *out)
{
	const struct process_stream stream = {
		.total = strlen(head) + strlen(tail) + left_out,
		.head = view_of(head),
		.tail = view_of(tail),
		.left_out = left_out,
	};

	return run_text_fit(&stream, max, out);
}

static void long_output_is_cut_between_characters(void **state)
{
	static const struct {
		const char *head, *tail;
		uint64_t left_out;
		size_t max;
		const char *want;
		uint64_t missing;
	} cases[] = {
		{ "abc", "", 0, 3, "abc", 0 },
		{ "abc", "def", 0, 6, "abcdef", 0 },
		{ "gr\xc3", "\xbcn", 0, 5, "gr\xc3\xbcn", 0 },
		{ "abcdefgh", "", 0, 4, "ab\n[belljar: 4 bytes left out]\ngh", 4 },
		{ "abcd", "efgh", 0, 4, "ab\n[belljar: 4 bytes left out]\ngh", 4 },
		{ "ab\n", "yz", 100, 10, "ab\n[belljar: 100 bytes left out]\nyz", 100 },
		{ "a\xc3", "\xbcz", 7, 10, "a\n[belljar: 9 bytes left out]\nz", 9 },
		{ "\xe2\x82\xac\xe2\x82\xac", "\xe2\x82\xac\xe2\x82\xac", 0, 9,
		  "\xe2\x82\xac\n[belljar: 3 bytes left out]\n\xe2\x82\xac\xe2\x82\xac", 3 },
		{ "", "abcdef", 5, 4, "[belljar: 7 bytes left out]\ncdef", 7 },
		{ "abc", "def", 1, 0, "[belljar: 7 bytes left out]\n", 7 },
		{ "\xff\xff\xff\xff", "", 0, 6,
		  "\xef\xbf\xbd\n[belljar: 2 bytes left out]\n\xef\xbf\xbd", 2 },
		{ "\x1b[31mred\x1b[0m", "", 0, 3, "red", 0 },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO_BUF struct buf out;

		buf_init(&out, 4096);
		assert_int_equal(
		        fit(cases[i].head, cases[i].tail, cases[i].left_out, cases[i].max, &out),
		        cases[i].missing);
		assert_string_equal(buf_text(&out), cases[i].want);
	}
}

static void counts_have_commas(void **state)
{
	char out[32];

	assert_string_equal(run_text_count(0, out), "0");
	assert_string_equal(run_text_count(999, out), "999");
	assert_string_equal(run_text_count(1000, out), "1,000");
	assert_string_equal(run_text_count(52428800, out), "52,428,800");
	assert_string_equal(run_text_count(UINT64_MAX, out), "18,446,744,073,709,551,615");
}

/* --- results --- */

/* A result and the answer made from it. */
#define MORE_TIME "[belljar: for more time pass a larger timeout_s, or background: true]"

struct answer_case {
	struct process_state state;
	struct run_result result;
	json_t *content;
	char *text; /* all blocks of the content */
	json_t *structured;
};

static void begin_case(struct answer_case *t, const char *out, const char *errors)
{
	*t = (struct answer_case){
		.state = { .phase = PROCESS_ENDED, .label = "", .elapsed_ms = 12 }
	};
	t->result = (struct run_result){
		.state = &t->state,
		.out = { .total = strlen(out), .head = view_of(out) },
		.errors = { .total = strlen(errors), .head = view_of(errors) },
		.out_bytes = strlen(out),
		.error_bytes = strlen(errors),
		.max = 24000,
	};
}

static void make_answer(struct answer_case *t)
{
	struct run_fit fit;
	json_t *block;
	size_t i;

	t->text = NULL;
	run_result_fit(&t->result, &fit);
	run_result_make(&t->result, &fit, NULL, &t->content, &t->structured);
	run_fit_done(&fit);
	/* As a client that shows all blocks as one text. */
	json_array_foreach (t->content, i, block) {
		const char *text = json_string_value(json_object_get(block, "text"));
		size_t len = t->text != NULL ? strlen(t->text) : 0;
		bool is_open = len != 0 && t->text[len - 1] != '\n';
		char *joined = mem_format("%s%s%s", len != 0 ? t->text : "", is_open ? "\n" : "",
		                          text);

		free(t->text);
		t->text = joined;
	}
}

static void end_case(struct answer_case *t)
{
	free(t->text);
	json_decref(t->content);
	json_decref(t->structured);
}

static const char *json_of(struct answer_case *t, const char *key)
{
	static char out[4096];
	json_t *value = json_object_get(t->structured, key);
	AUTO_FREE char *text = NULL;
	size_t len;

	if (value == NULL)
		return "absent";
	text = json_write(value, &len);
	(void)snprintf(out, sizeof out, "%s", text);
	return out;
}

static void successful_run_has_no_status_line(void **state)
{
	struct answer_case t;
	size_t len;

	begin_case(&t, "hello\n", "");
	make_answer(&t);
	assert_string_equal(t.text, "hello\n");
	{
		AUTO_FREE char *all = json_write(t.structured, &len);

		assert_string_equal(all, "{\"stdout\":\"hello\\n\",\"stderr\":\"\",\"exit_code\":0,"
		                         "\"duration_ms\":12}");
	}
	end_case(&t);
}

static void status_line_describes_the_end(void **state)
{
	static const struct {
		const char *out, *errors;
		struct run_end end;
		bool compile_failed;
		uint32_t timeout_ms;
		const char *want;
	} cases[] = {
		{ "", "", { 0 }, false, 0, "[belljar: no output; exit code 0]" },
		{ "a", "b", { 0 }, false, 0, "a\n[belljar: stderr]\nb" },
		{ "", "b\n", { 0 }, false, 0, "[belljar: stderr]\nb\n" },
		{ "", "", { .code = 3 }, false, 0, "[belljar: exit code 3]" },
		{ "a", "", { .code = 3 }, false, 0, "a\n[belljar: exit code 3]" },
		{ "a\n",
		  "",
		  { .signal = 9, .note = "memory: it used more than 512 MiB" },
		  false,
		  0,
		  "a\n[belljar: killed by SIGKILL: memory: it used more than 512 MiB]" },
		{ "",
		  "",
		  { .note = "processes: enough" },
		  false,
		  0,
		  "[belljar: no output; exit code 0: processes: enough]" },
		{ "a",
		  "",
		  { .note = "processes: enough" },
		  false,
		  0,
		  "a\n[belljar: processes: enough]" },
		{ "", "", { .signal = 200 }, false, 0, "[belljar: killed by signal 200]" },
		{ "",
		  "no ;\n",
		  { .code = 1 },
		  true,
		  0,
		  "[belljar: stderr]\nno ;\n[belljar: the code does not compile: exit code 1 of the compiler]" },
		{ "a",
		  "",
		  { .signal = 15, .timed_out = true },
		  false,
		  1500,
		  "a\n[belljar: timed out after 1.5 s: the program and all it started were ended; what "
		  "arrived is above]\n" MORE_TIME },
		{ "",
		  "",
		  { .signal = 15, .timed_out = true },
		  false,
		  5000,
		  "[belljar: timed out after 5 s: the program and all it started were ended; no output "
		  "arrived (a program that buffers it needs stdbuf -oL, or to flush)]\n" MORE_TIME },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct answer_case t;

		begin_case(&t, cases[i].out, cases[i].errors);
		t.state.end = cases[i].end;
		t.state.end.compile_failed = cases[i].compile_failed;
		t.result.timeout_ms = cases[i].timeout_ms;
		make_answer(&t);
		assert_string_equal(t.text, cases[i].want);
		assert_string_equal(json_of(&t, "compile_error"),
		                    cases[i].compile_failed ? "true" : "absent");
		if (cases[i].end.signal != 0)
			assert_string_equal(json_of(&t, "exit_code"), "absent");
		else
			assert_int_equal(
			        json_integer_value(json_object_get(t.structured, "exit_code")),
			        cases[i].end.code);
		end_case(&t);
	}
}

static void cut_output_names_its_file(void **state)
{
	struct answer_case t;

	begin_case(&t, "head\n", "");
	t.result.out.tail = VIEW("tail\n");
	t.result.out.left_out = 12345668;
	t.result.out_bytes = 12345678;
	t.result.out.file = "/workspace/.belljar/output/p3-stdout.txt";
	make_answer(&t);
	assert_string_equal(t.text,
	                    "head\n"
	                    "[belljar: 12345668 bytes left out]\n"
	                    "tail\n"
	                    "[belljar: 12,345,678 bytes of stdout, 12,345,668 left out in the "
	                    "middle; all of it is in /workspace/.belljar/output/p3-stdout.txt]");
	assert_string_equal(json_of(&t, "truncated"), "true");
	assert_string_equal(json_of(&t, "stdout_bytes"), "12345678");
	assert_string_equal(json_of(&t, "stdout_file"),
	                    "\"/workspace/.belljar/output/p3-stdout.txt\"");
	assert_string_equal(json_of(&t, "files"), "[\"/workspace/.belljar/output/p3-stdout.txt\"]");
	end_case(&t);
	begin_case(&t, "", "x");
	t.result.errors.tail = VIEW("y");
	t.result.errors.left_out = 8;
	t.result.error_bytes = 10;
	t.result.errors.file = "/workspace/e";
	t.result.errors.file_note = "the disk is full";
	make_answer(&t);
	assert_string_equal(t.text, "[belljar: stderr]\n"
	                            "x\n"
	                            "[belljar: 8 bytes left out]\n"
	                            "y\n"
	                            "[belljar: 10 bytes of stderr, 8 left out in the middle; "
	                            "/workspace/e has a part of it: the disk is full]");
	assert_string_equal(json_of(&t, "note"), "\"the disk is full\"");
	end_case(&t);
	begin_case(&t, "all of it", "");
	t.result.out.file = "/workspace/o";
	make_answer(&t);
	assert_string_equal(t.text, "all of it");
	assert_string_equal(json_of(&t, "stdout_file"), "absent");
	end_case(&t);
}

static char *letters(char letter, size_t count)
{
	char *text = mem_new(count + 1);

	memset(text, letter, count);
	return text;
}

static size_t count_of(const char *text, char letter)
{
	size_t count = 0;

	for (; *text != '\0'; text++)
		count += *text == letter;
	return count;
}

/* stdout, stderr and displays have a third each; unused room goes to the others. */
static void answer_is_never_longer_than_its_limit(void **state)
{
	static const size_t sizes[] = { 0, 100, 9000, 30000, 200000 };
	AUTO_FREE char *trace = letters('T', 100000);

	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		for (size_t j = 0; j < ARRAY_LEN(sizes); j++) {
			for (size_t k = 0; k < 2; k++) {
				AUTO_FREE char *out = letters('O', sizes[i]);
				AUTO_FREE char *errors = letters('E', sizes[j]);
				struct answer_case t;
				size_t third = (24000 - 1500) / 3 - 100;

				begin_case(&t, out, errors);
				t.state.error_name = k != 0 ? "ValueError" : NULL;
				t.state.error_message = "no";
				t.state.error_traceback = k != 0 ? trace : NULL;
				make_answer(&t);
				assert_true(strlen(t.text) <= 24000);
				assert_true(count_of(t.text, 'O') >=
				            (sizes[i] < third ? sizes[i] : third));
				assert_true(count_of(t.text, 'E') >=
				            (sizes[j] < third ? sizes[j] : third));
				assert_true(k == 0 || count_of(t.text, 'T') >= third);
				if (sizes[i] == 0 && k == 0 && sizes[j] > 24000)
					assert_true(count_of(t.text, 'E') > 20000);
				if (sizes[j] == 0 && k == 0 && sizes[i] > 24000)
					assert_true(count_of(t.text, 'O') > 20000);
				end_case(&t);
			}
		}
	}
}

static void cell_has_values_and_exceptions(void **state)
{
	struct process_display displays[] = {
		{ .mime = "text/plain", .text = (char[]){ "42" }, .text_len = 2 },
		{ .mime = "text/html", .text = (char[]){ "<b>x</b>" }, .text_len = 8 },
		{ .mime = "image/png", .path = (char[]){ "/workspace/.belljar/figure-1.png" } },
		{ .mime = "image/svg+xml", .path = (char[]){ "/workspace/.belljar/a.svg" } },
	};
	const char *unshown[] = { NULL, NULL, "not shown: too large", NULL };
	struct answer_case t;

	begin_case(&t, "printed", "");
	t.result.session = "s";
	t.result.unshown = unshown;
	t.state.displays = displays;
	t.state.display_count = ARRAY_LEN(displays);
	t.state.end.code = 1;
	t.state.error_name = "ZeroDivisionError";
	t.state.error_message = "division by zero";
	t.state.error_traceback = "Traceback:\n\x1b[31mZeroDivisionError\x1b[0m\n";
	make_answer(&t);
	assert_string_equal(t.text,
	                    "printed\n"
	                    "42\n"
	                    "[belljar: text/html]\n"
	                    "<b>x</b>\n"
	                    "[belljar: picture: /workspace/.belljar/figure-1.png (not shown: too "
	                    "large)]\n"
	                    "[belljar: picture: /workspace/.belljar/a.svg]\n"
	                    "Traceback:\n"
	                    "ZeroDivisionError\n");
	assert_string_equal(json_of(&t, "values"),
	                    "[{\"mime\":\"text/plain\",\"text\":\"42\"},{\"mime\":\"text/html\","
	                    "\"text\":\"<b>x</b>\"},{\"mime\":\"image/png\",\"path\":\"/workspace/"
	                    ".belljar/figure-1.png\"},{\"mime\":\"image/svg+xml\",\"path\":\"/"
	                    "workspace/.belljar/a.svg\"}]");
	assert_string_equal(json_of(&t, "error"),
	                    "{\"name\":\"ZeroDivisionError\",\"message\":\"division by zero\","
	                    "\"traceback\":\"Traceback:\\nZeroDivisionError\\n\"}");
	assert_string_equal(json_of(&t, "exit_code"), "1");
	assert_string_equal(json_of(&t, "session"), "\"s\"");
	end_case(&t);
	t.result.unshown = NULL;
	make_answer(&t);
	assert_non_null(strstr(t.text, "figure-1.png (read_file shows it)]"));
	end_case(&t);
}

static void cell_without_output_says_so(void **state)
{
	struct answer_case t;

	begin_case(&t, "", "");
	t.result.session = "s";
	make_answer(&t);
	assert_string_equal(t.text, "[belljar: no output]");
	end_case(&t);
	t.state.state_is_lost = true;
	make_answer(&t);
	assert_string_equal(t.text, "[belljar: no output]\n"
	                            "[belljar: the session's state is lost, and the next call "
	                            "with this session starts again: its interpreter ended]");
	assert_string_equal(json_of(&t, "state_lost"), "true");
	assert_string_equal(json_of(&t, "note"),
	                    "\"the session's state is lost, and the next call with this session "
	                    "starts again: its interpreter ended\"");
	end_case(&t);
	t.state.state_was_lost = true;
	t.state.why_lost = "it exited with code 3";
	t.state.end = (struct run_end){ .signal = 9, .timed_out = true };
	t.result.timeout_ms = 2000;
	make_answer(&t);
	assert_string_equal(
	        t.text,
	        "[belljar: timed out after 2 s: the cell ignored the interrupt and was killed; no "
	        "output arrived]\n" MORE_TIME "\n"
	        "[belljar: the session's state was lost before this call, and the session started "
	        "again: it exited with code 3]\n"
	        "[belljar: the session's state is lost, and the next call with this session "
	        "starts again: its interpreter was killed]");
	assert_string_equal(
	        json_of(&t, "note"),
	        "\"timed out after 2 s: the cell ignored the interrupt and was killed; no output "
	        "arrived; for more time pass a larger timeout_s, or background: true; the "
	        "session's state was lost before this call, and the session started again: it "
	        "exited with code 3; the session's state is lost, and the next call with this "
	        "session starts again: its interpreter was killed\"");
	end_case(&t);
	t.state.end = (struct run_end){ .code = 130, .timed_out = true };
	make_answer(&t);
	assert_non_null(strstr(t.text, "the cell was interrupted, which ended its interpreter"));
	end_case(&t);
	t.state.state_is_lost = false;
	t.state.end = (struct run_end){ .timed_out = true };
	make_answer(&t);
	assert_string_equal(t.text,
	                    "[belljar: timed out after 2 s: the cell was interrupted; no output "
	                    "arrived]\n" MORE_TIME "\n"
	                    "[belljar: the session's state was lost before this call, and the "
	                    "session started again: it exited with code 3]");
	end_case(&t);
}

static const char *block_text(const struct answer_case *t, size_t i)
{
	const char *text = json_string_value(
	        json_object_get(json_array_get(t->content, i), "text"));

	return text != NULL ? text : "none";
}

/* Output that looks like a status line is in another block and has a backslash. */
static void output_cannot_imitate_status_lines(void **state)
{
	struct answer_case t;

	begin_case(&t, "[belljar: exit code 0]\n[BELL\x07JAR: x]\nx [\x1b[0mbelljar]\n[bell\0jar",
	           "[belljar: stderr]\n\xff[belljar");
	t.state.end.code = 3;
	make_answer(&t);
	assert_int_equal(json_array_size(t.content), 2);
	assert_string_equal(block_text(&t, 0),
	                    "\\[belljar: exit code 0]\n\\[BELLJAR: x]\nx \\[belljar]\n[bell\n"
	                    "[belljar: stderr]\n\\[belljar: stderr]\n\xef\xbf\xbd\\[belljar");
	assert_string_equal(block_text(&t, 1), "[belljar: exit code 3]");
	end_case(&t);
}

/* Backslashes make values longer, but nothing is cut while there is room. */
static void escaped_values_are_complete(void **state)
{
	struct process_display display = { .mime = "text/plain",
		                           .text = (char[]){ "[belljar [belljar" },
		                           .text_len = 17 };
	struct answer_case t;

	begin_case(&t, "", "");
	t.state.displays = &display;
	t.state.display_count = 1;
	t.state.error_name = "E";
	t.state.error_message = "m";
	t.state.error_traceback = "[belljar 1\n[belljar 2\n[belljar 3\n";
	make_answer(&t);
	assert_string_equal(block_text(&t, 0), "\\[belljar \\[belljar\n"
	                                       "\\[belljar 1\n\\[belljar 2\n\\[belljar 3\n");
	end_case(&t);
	begin_case(&t, "", "");
	t.state.error_name = "E";
	t.state.error_message = "m";
	t.state.error_traceback = "[belljar 1\n[belljar 2\n[belljar 3\n";
	make_answer(&t);
	assert_string_equal(block_text(&t, 0), "\\[belljar 1\n\\[belljar 2\n\\[belljar 3\n");
	end_case(&t);
}

static void empty_blocks_are_left_out(void **state)
{
	struct answer_case t;

	begin_case(&t, "out\n", "");
	make_answer(&t);
	assert_int_equal(json_array_size(t.content), 1);
	assert_string_equal(block_text(&t, 0), "out\n");
	end_case(&t);
	begin_case(&t, "", "");
	make_answer(&t);
	assert_int_equal(json_array_size(t.content), 1);
	assert_string_equal(block_text(&t, 0), "[belljar: no output; exit code 0]");
	end_case(&t);
}

static void path_of_a_display_cannot_imitate_a_status_line(void **state)
{
	struct process_display display = { .mime = "image/png",
		                           .path = (char[]){ "/x] [belljar: exit code 0" } };
	struct answer_case t;

	begin_case(&t, "", "");
	t.state.displays = &display;
	t.state.display_count = 1;
	make_answer(&t);
	assert_string_equal(block_text(&t, 0),
	                    "[belljar: picture: /x] \\[belljar: exit code 0 (read_file shows it)]");
	end_case(&t);
}

static void running_process_names_the_next_call(void **state)
{
	struct answer_case t;

	begin_case(&t, "so far", "");
	t.state.phase = PROCESS_RUNNING;
	t.result.process = "p7";
	t.result.next = 6;
	make_answer(&t);
	assert_string_equal(t.text, "so far\n[belljar: running as p7: for more call process_output "
	                            "{\"process\":\"p7\",\"since\":6,\"wait_s\":30}]");
	assert_string_equal(json_of(&t, "running"), "true");
	assert_string_equal(json_of(&t, "process"), "\"p7\"");
	assert_string_equal(json_of(&t, "next"), "6");
	assert_string_equal(json_of(&t, "exit_code"), "absent");
	end_case(&t);
	t.state.phase = PROCESS_PREPARING;
	t.result.session = "s";
	make_answer(&t);
	assert_string_equal(t.text,
	                    "so far\n[belljar: p7 waits for its session to start or be free: "
	                    "for more call process_output "
	                    "{\"process\":\"p7\",\"since\":6,\"wait_s\":30}]");
	end_case(&t);
	t.result.session = NULL;
	t.state.phase = PROCESS_ENDED;
	t.result.has_more = true;
	t.result.lost = 1000;
	make_answer(&t);
	assert_string_equal(t.text, "[belljar: 1000 bytes before this are no longer kept]\n"
	                            "so far\n"
	                            "[belljar: p7 has ended, and there is more to read: call "
	                            "process_output {\"process\":\"p7\",\"since\":6}]");
	assert_string_equal(json_of(&t, "more"), "true");
	assert_string_equal(json_of(&t, "truncated"), "true");
	end_case(&t);
}

static void wait_in_the_queue_of_a_session_is_told(void **state)
{
	static const char told[] = "for 2.5 s the call waited for an earlier cell of its session";
	struct answer_case t;

	begin_case(&t, "out", "");
	t.state.queued_ms = 999;
	make_answer(&t);
	assert_string_equal(t.text, "out");
	assert_string_equal(json_of(&t, "note"), "absent");
	end_case(&t);
	t.state.queued_ms = 2500;
	make_answer(&t);
	assert_non_null(strstr(t.text, told));
	assert_non_null(strstr(json_of(&t, "note"), told));
	end_case(&t);
}

static void failed_process_has_its_reason(void **state)
{
	struct error why = { .msg = "the sandbox has ended: memory" };
	struct answer_case t;

	begin_case(&t, "before", "");
	t.state.phase = PROCESS_FAILED;
	t.state.why = &why;
	t.result.remark = "it had ended before this call";
	make_answer(&t);
	assert_string_equal(
	        t.text, "before\n"
	                "[belljar: the process ended without an exit code: the sandbox has ended: "
	                "memory]\n"
	                "[belljar: it had ended before this call]");
	assert_string_equal(json_of(&t, "note"),
	                    "\"the sandbox has ended: memory; it had ended before this call\"");
	end_case(&t);
}

/* Every field that an answer can have is in the schema. */
static void schema_has_every_member(void **state)
{
	struct process_display displays = { .mime = "image/png", .path = (char[]){ "/x" } };
	const char *key;
	json_t *value;
	struct answer_case t;

	begin_case(&t, "a", "b");
	t.state.displays = &displays;
	t.state.display_count = 1;
	t.state.error_name = t.state.error_message = t.state.error_traceback = "x";
	t.state.state_is_lost = t.state.end.compile_failed = true;
	t.result.out.file = t.result.errors.file = "/f";
	t.result.process = t.result.session = t.result.sandbox = "p";
	make_answer(&t);
	json_object_foreach (t.structured, key, value)
		assert_non_null(param_find(run_result_output, key));
	for (const struct param *p = run_result_output; p->type != PARAM_END; p++)
		assert_true(!p->required || json_has(t.structured, p->name));
	end_case(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(output_becomes_text_without_escapes),
		TEST(long_output_is_cut_between_characters),
		TEST(counts_have_commas),
		TEST(successful_run_has_no_status_line),
		TEST(status_line_describes_the_end),
		TEST(cut_output_names_its_file),
		TEST(answer_is_never_longer_than_its_limit),
		TEST(cell_has_values_and_exceptions),
		TEST(cell_without_output_says_so),
		TEST(output_cannot_imitate_status_lines),
		TEST(escaped_values_are_complete),
		TEST(empty_blocks_are_left_out),
		TEST(path_of_a_display_cannot_imitate_a_status_line),
		TEST(running_process_names_the_next_call),
		TEST(wait_in_the_queue_of_a_session_is_told),
		TEST(failed_process_has_its_reason),
		TEST(schema_has_every_member),
	};

	return RUN_TESTS("tools/run_result", tests);
}
