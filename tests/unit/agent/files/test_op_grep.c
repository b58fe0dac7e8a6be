/* GREP, and the search in one line (search.h). */
#include <regex.h>

#include "agent/files/ops.h"
#include "agent/files/search.h"
#include "base/clock.h"
#include "unit/agent/files/record_test.h"

enum { MIB = 1024 * 1024 };

static struct wire_grep asking(const char *path, const char *pattern, uint8_t flags)
{
	return (struct wire_grep){ .flags = flags,
		                   .depth = 64,
		                   .limit = 100,
		                   .max = MIB,
		                   .path = view_of(path),
		                   .pattern = view_of(pattern),
		                   .names = { "", 0 } };
}

static struct wire_done ask(struct job_test *t, const struct wire_grep *request)
{
	struct wire_done done = { 0 };
	struct error err;

	job_test_again(t);
	CHECK_OK(op_grep(&t->job, request, &done, &err), err);
	return done;
}

static void grep_finds_lines_below_a_directory(void **state)
{
	static const struct {
		const char *path, *pattern, *names;
		uint8_t flags;
		uint16_t depth;
		uint32_t limit;
		bool more;
		const char *want;
	} rows[] = {
		{ ".", "needle", "", 0, 64, 9, false,
		  "a.txt:1:1:needle one|a.txt:3:5:two needle needle|d/b.c:2:2:/needle|" },
		{ ".", "needle", "", 0, 64, 3, false,
		  "a.txt:1:1:needle one|a.txt:3:5:two needle needle|d/b.c:2:2:/needle|" },
		{ ".", "needle", "", 0, 64, 2, true,
		  "a.txt:1:1:needle one|a.txt:3:5:two needle needle|" },
		{ ".", "needle", "", 0, 64, 1, true, "a.txt:1:1:needle one|" },
		{ ".", "needle", "", 0, 1, 9, false,
		  "a.txt:1:1:needle one|a.txt:3:5:two needle needle|" },
		{ ".", "needle", "*.c", 0, 64, 9, false, "d/b.c:2:2:/needle|" },
		{ ".", "needle", "d/*", 0, 64, 9, false, "d/b.c:2:2:/needle|" },
		{ ".", "needle", "*.C", WIRE_WALK_IGNORE_CASE, 64, 9, false, "" },
		{ ".", "needle", "*.c", WIRE_WALK_HIDDEN, 64, 9, false,
		  ".h/x.c:1:1:needle|d/b.c:2:2:/needle|" },
		{ "d", "NEEDLE", "", WIRE_WALK_IGNORE_CASE, 64, 9, false,
		  "b.c:2:2:/needle|b.c:4:3:  NeedlE|" },
		{ ".", "NEEDLE", "", 0, 64, 9, false, "" },
		{ ".", "need.e", "", 0, 64, 9, false, "" }, /* a dot is a dot */
		{ "d", "[n/]eed.e$", "", WIRE_WALK_REGEX, 64, 9, false, "b.c:2:2:/needle|" },
		{ "d", "^ *NEED", "", WIRE_WALK_REGEX | WIRE_WALK_IGNORE_CASE, 64, 9, false,
		  "b.c:4:1:  NeedlE|" },
		{ "d", "^$", "", WIRE_WALK_REGEX, 64, 9, false, "b.c:1:1:|b.c:3:1:|" },
		/* One file, whatever its name and `names`. */
		{ "a.txt", "one", "*.c", 0, 64, 9, false, "a.txt:1:8:needle one|" },
		{ "/workspace/.h/x.c", "need", "", 0, 1, 9, false,
		  "/workspace/.h/x.c:1:1:needle|" },
		{ "link", "one", "", 0, 64, 9, false, "link:1:8:needle one|" },
		{ "dirlink", "/needle", "", 0, 64, 9, false, "b.c:2:1:/needle|" },
	};
	struct wire_done done;
	struct job_test t;

	job_test_start(&t);
	job_test_directory(&t, "workspace/d");
	job_test_directory(&t, "workspace/.h");
	job_test_file(&t, "workspace/.h/x.c", VIEW("needle"));
	job_test_file(&t, "workspace/a.txt", VIEW("needle one\nnothing\ntwo needle needle\n"));
	job_test_file(&t, "workspace/d/b.c", VIEW("\r\n/needle\r\n\r\n  NeedlE"));
	job_test_file(&t, "workspace/empty", VIEW(""));
	job_test_link(&t, "a.txt", "workspace/link");
	job_test_link(&t, "d", "workspace/dirlink");
	job_test_link(&t, ".", "workspace/loop");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct wire_grep request = asking(rows[i].path, rows[i].pattern, rows[i].flags);

		request.depth = rows[i].depth;
		request.limit = rows[i].limit;
		request.names = view_of(rows[i].names);
		done = ask(&t, &request);
		assert_string_equal(record_matches(&t), rows[i].want);
		assert_int_equal(done.flags, rows[i].more ? WIRE_DONE_MORE : 0);
	}
	job_test_stop(&t);
}

static void grep_passes_over_binary_files(void **state)
{
	static char late[9000];
	struct wire_grep request = asking(".", "needle", 0);
	struct job_test t;

	job_test_start(&t);
	job_test_file(&t, "workspace/binary", VIEW("needle\n\0"));
	/* A NUL behind the first 8 KiB does not make a file binary. */
	memset(late, '\n', sizeof late);
	memcpy(late, "needle", 6);
	late[8192] = '\0';
	job_test_file(&t, "workspace/late", (struct view){ late, sizeof late });
	late[8191] = '\0';
	job_test_file(&t, "workspace/not-late", (struct view){ late, sizeof late });
	assert_int_equal(mkfifo(job_test_path(&t, "workspace/fifo"), 0644), 0);
	job_test_file(&t, "workspace/large", VIEW("needle"));
	assert_int_equal(truncate(job_test_path(&t, "workspace/large"), MIB + 1), 0);
	job_test_file(&t, "workspace/sparse", VIEW("needle"));
	assert_int_equal(truncate(job_test_path(&t, "workspace/sparse"), (off_t)1 << 40), 0);
	(void)ask(&t, &request);
	assert_string_equal(record_matches(&t), "late:1:1:needle|");
	job_test_stop(&t);
}

static void grep_searches_at_most_max_bytes(void **state)
{
	static const struct {
		uint64_t max;
		const char *want;
	} rows[] = {
		{ 9, "f:1:1:needle|" }, { 8, "" }, { 0, "" }, { UINT64_MAX, "f:1:1:needle|" }
	};
	struct wire_grep request = asking("f", "needle", 0);
	struct job_test t;

	job_test_start(&t);
	job_test_file(&t, "workspace/f", VIEW("needle\n12"));
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		request.max = rows[i].max;
		(void)ask(&t, &request);
		assert_string_equal(record_matches(&t), rows[i].want);
		request.path = VIEW(".");
		(void)ask(&t, &request);
		assert_string_equal(record_matches(&t), rows[i].want);
		request.path = VIEW("f");
	}
	job_test_stop(&t);
}

/* A file that reports no size is read up to `max`, not to its end. */
static void read_trusts_no_size(void **state)
{
	struct wire_grep request = asking("/proc/self/status", "Name", 0);
	struct job_test t;

	job_test_start(&t);
	(void)close(t.job.root);
	t.job.root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	request.pattern = VIEW("Name:");
	request.max = 4;
	assert_int_equal(ask(&t, &request).count, 0);
	request.max = 5;
	assert_int_equal(ask(&t, &request).count, 1);
	request.max = MIB;
	request.pattern = VIEW("Pid:");
	assert_true(ask(&t, &request).count >= 2);
	job_test_stop(&t);
}

/* A line break, text and a long line around every edge of the buffer. */
static void grep_finds_matches_across_buffer_edges(void **state)
{
	static char file[3 * SEARCH_LINE_MAX];
	struct wire_grep request = asking("f", "needle", 0);
	char want[64];
	struct job_test t;

	job_test_start(&t);
	for (size_t at = SEARCH_LINE_MAX - 8; at <= SEARCH_LINE_MAX + 8; at++)
		for (size_t len = 6; len <= 7; len++) {
			/* Lines of 100, then one that ends or begins about the edge. */
			memset(file, '.', sizeof file);
			for (size_t i = 99; i < at - 100; i += 100)
				file[i] = '\n';
			file[at - 1] = '\n';
			memcpy(file + at, "needle", 6);
			file[at + len] = '\n';
			job_test_file(&t, "workspace/f", (struct view){ file, at + 300 });
			assert_int_equal(ask(&t, &request).count, 1);
			(void)snprintf(want, sizeof want, "f:%zu:1:needle%s|", (at - 101) / 100 + 2,
			               len == 7 ? "." : "");
			assert_string_equal(record_matches(&t), want);
		}
	job_test_stop(&t);
}

static void grep_searches_the_start_of_long_lines(void **state)
{
	static const struct {
		size_t at, len; /* of the needle, of its line */
		bool literal, expression;
	} rows[] = {
		{ 0, 200000, true, true },       { 4090, 200000, true, true },   /* ends at 4096 */
		{ 4091, 200000, true, false },   { 65530, 200000, true, false }, /* ends at 65536 */
		{ 65531, 200000, false, false }, { 190000, 200000, false, false },
		{ 65530, 65536, true, false },   { 65530, 65537, true, false },
		{ 4090, 4096, true, true },      { 4090, 4097, true, true },
	};
	static char file[300000];
	struct job_test t;

	job_test_start(&t);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct wire_grep request = asking("f", "needle", 0);
		const char *found;
		char want[64];

		memset(file, 'x', sizeof file);
		file[0] = '\n';
		memcpy(file + 1 + rows[i].at, "needle", 6);
		file[1 + rows[i].len] = '\n';
		memcpy(file + 2 + rows[i].len, "needle\n", 7); /* and counting goes on */
		job_test_file(&t, "workspace/f", (struct view){ file, rows[i].len + 100 });
		for (int expression = 0; expression < 2; expression++) {
			bool expected = expression ? rows[i].expression : rows[i].literal;

			request.flags = expression ? WIRE_WALK_REGEX : WIRE_WALK_IGNORE_CASE;
			assert_int_equal(ask(&t, &request).count, expected ? 2 : 1);
			found = record_matches(&t);
			if (expected) {
				(void)snprintf(want, sizeof want, "f:2:%zu:", rows[i].at + 1);
				assert_memory_equal(found, want, strlen(want));
				assert_int_equal(strcspn(found, "|") - strlen(want), 1024);
				found = strchr(found, '|') + 1;
			}
			assert_string_equal(found, "f:3:1:needle|");
		}
	}
	job_test_stop(&t);
}

static void grep_cuts_text_between_characters(void **state)
{
	static char file[1100];
	struct wire_grep request = asking("f", "x", 0);
	struct job_test t;

	job_test_start(&t);
	memset(file, 'x', sizeof file);
	memcpy(file + 1023, "\xc3\xa9", 2);
	job_test_file(&t, "workspace/f", (struct view){ file, sizeof file });
	(void)ask(&t, &request);
	assert_int_equal(strlen(record_matches(&t)), strlen("f:1:1:") + 1023 + 1);
	job_test_stop(&t);
}

static void many_matches_are_sent_in_frames_that_fit(void **state)
{
	struct wire_grep request = asking(".", "a", 0);
	struct job_test t;
	char *file = calloc(1, 200000);

	assert_non_null(file);
	for (size_t i = 0; i < 200000; i += 2)
		memcpy(file + i, "a\n", 2);
	job_test_start(&t);
	job_test_file(&t, "workspace/f", (struct view){ file, 200000 });
	request.limit = WIRE_ENTRIES_MAX;
	assert_int_equal(ask(&t, &request).count, 100000);
	job_test_finish(&t);
	assert_in_range(t.largest, 1, WIRE_RECORDS_MAX);
	assert_in_range(t.packets, 2, 100);
	job_test_stop(&t);
	free(file);
}

static int grep_as_nobody(struct job_test *t, struct error *err)
{
	struct wire_grep request = asking(".", "needle", 0), one = asking("b", "needle", 0);
	struct wire_done done = { 0 };
	struct error refused = { .msg = "not refused" };

	if (op_grep(&t->job, &request, &done, err) < 0)
		return -1;
	if (op_grep(&t->job, &one, &done, &refused) < 0 &&
	    strcmp(refused.msg, "b: Permission denied") == 0)
		return 0;
	*err = refused;
	return -1;
}

static void walk_passes_over_unreadable_directories(void **state)
{
	struct job_test t;

	job_test_start(&t);
	job_test_directory(&t, "workspace/a");
	job_test_file(&t, "workspace/a/x", VIEW("needle"));
	job_test_file(&t, "workspace/b", VIEW("needle"));
	job_test_file(&t, "workspace/c", VIEW("needle"));
	assert_int_equal(chmod(job_test_path(&t, "workspace/a"), 0), 0);
	assert_int_equal(chmod(job_test_path(&t, "workspace/b"), 0), 0);
	job_test_as_nobody(&t, grep_as_nobody);
	assert_int_equal(chmod(job_test_path(&t, "workspace/a"), 0755), 0);
	assert_string_equal(record_matches(&t), "c:1:1:needle|");
	job_test_stop(&t);
}

/* The text comes from the C library, and the agent is linked with another one than this test. */
static const char *reason(const char *pattern)
{
	static char text[128];
	regex_t expression;
	int code = regcomp(&expression, pattern, REG_EXTENDED);

	assert_int_not_equal(code, 0);
	(void)regerror(code, &expression, text, sizeof text);
	return text;
}

static void error_says_what_is_wrong_with_a_request(void **state)
{
	static const char nested[] = "((a{200}){200}){200}";
	static const struct {
		const char *path, *pattern;
		uint8_t flags;
		enum error_kind kind;
		const char *want;
	} rows[] = {
		{ "nothing", "x", 0, ERR_SYSTEM, "nothing: No such file or directory" },
		{ "fifo", "x", 0, ERR_INVALID, "fifo: is a FIFO, not a regular file" },
		{ "socket", "x", 0, ERR_INVALID, "socket: is a socket, not a regular file" },
		{ "fifo/x", "x", 0, ERR_SYSTEM, "fifo/x: Not a directory" },
		{ ".", "a\nb", 0, ERR_INVALID,
		  "the pattern contains a line break: lines are searched one by one, look for a "
		  "part of one line" },
		{ ".", "", 0, ERR_INVALID, "the pattern has 0 bytes: give 1 to 1024" },
		{ ".", nested, WIRE_WALK_REGEX, ERR_LIMIT,
		  "the expression is longer than 1024 characters with its repetitions written "
		  "out: repeat less" },
		{ ".",
		  "(((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((a)))))))))))",
		  WIRE_WALK_REGEX, ERR_LIMIT,
		  "the expression has more than 64 nested groups: write it flatter" },
	};
	struct wire_grep bad = asking(".", "a(b\x1b", WIRE_WALK_REGEX);
	struct wire_done done;
	struct job_test t;
	struct error err;
	char want[200];

	job_test_start(&t);
	assert_int_equal(mkfifo(job_test_path(&t, "workspace/fifo"), 0644), 0);
	assert_int_equal(mknod(job_test_path(&t, "workspace/socket"), S_IFSOCK | 0644, 0), 0);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct wire_grep request = asking(rows[i].path, rows[i].pattern, rows[i].flags);

		CHECK_ERROR(op_grep(&t.job, &request, &done, &err), err, rows[i].kind,
		            rows[i].want);
	}
	(void)snprintf(want, sizeof want, "the expression 'a(b\\x1b': %s", reason("a(b"));
	CHECK_ERROR(op_grep(&t.job, &bad, &done, &err), err, ERR_INVALID, want);
	job_test_stop(&t);
}

static void search_limits_size_of_expression(void **state)
{
	static const struct {
		const char *pattern;
		bool fits;
	} rows[] = {
		{ "a{255}", true },
		{ "a{255}b{255}c{255}d{255}", true },
		{ "(a{30}){30}", true },
		{ "(a{32}){32}", false },
		{ "a{32}{33}", false },
		{ "(ab|cd){1,200}", false },
		{ "(ab|cd){1,20}", true },
		{ "[a{9}]{200}", true }, /* a set is one character */
		{ "[]{9}a]{250}", true },
		{ "[^]{9}a]{250}", true },
		{ "[[:alpha:]{9}]{250}", true },
		{ "\\(a{200}\\){200}", true }, /* brackets that do not bind */
		{ "(a{200}[)]){200}", false },
		{ "(a{200}\\)){200}", false },
		{ "((x?){100})*", true },
	};
	static struct search search;
	struct error err;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		int got = search_init(&search, view_of(rows[i].pattern), WIRE_WALK_REGEX, &err);

		if (got == 0)
			search_done(&search);
		if ((got == 0) != rows[i].fits)
			fail_msg("%s: %s", rows[i].pattern, got == 0 ? "fits" : err.msg);
	}
}

static void search_finds_the_required_text(void **state)
{
	static const struct {
		const char *pattern, *want;
	} rows[] = {
		{ "needle", "needle" },
		{ "E[A-Z]+AIN", "AIN" },
		{ "^static .*\\(void\\)$", "static " },
		{ "abc*", "ab" },
		{ "abc?de", "ab" },
		{ "abc+de", "ab" },
		{ "a+*bc", "bc" },
		{ "abc{0,2}d", "ab" },
		{ "ab{2}{0}", "a" },
		{ "a{0}23", "23" },
		{ "a|b", "" },
		{ "abcd(a|b)ef", "abcd" },
		{ "(abcd)?ef", "ef" },
		{ "(ab(cd)[)]ef)*gh", "gh" },
		{ "(a\\)bcd)*e", "e" },
		{ "([]abc)]def)*g", "g" },
		{ "[abc]*", "" },
		{ "[^]abc]x", "x" },
		{ "[[:alpha:]]xy", "xy" },
		{ "\\bword\\b", "word" },
		{ "\\w+x", "x" },
		{ "\\.\\*", ".*" },
		{ "a\\.c*", "a." },
		{ ".", "" },
		{ "()", "" },
	};
	static struct search search;
	struct error err;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CHECK_OK(search_init(&search, view_of(rows[i].pattern), WIRE_WALK_REGEX, &err),
		         err);
		CHECK_VIEW(search.text, rows[i].want);
		search_done(&search);
	}
	CHECK_OK(search_init(&search, VIEW("NEEDle.*"), WIRE_WALK_REGEX | WIRE_WALK_IGNORE_CASE,
	                     &err),
	         err);
	CHECK_VIEW(search.text, "needle");
	search_done(&search);
}

/* Random small expressions on random small lines: with and without the required text the result is
 * the same. */
static void required_text_does_not_change_matches(void **state)
{
	static const char alphabet[] = "aab(|)*+?.[]{2}^$\\";
	static struct search search;
	uint32_t seed = 1;
	unsigned matched = 0, compiled = 0;

	for (int i = 0; i < 30000; i++) {
		char pattern[9] = "", line[9] = "";
		regex_t plain;
		struct error err;
		size_t at;
		bool want;

		for (size_t n = 0; n < 8; n++) {
			seed = seed * 1664525 + 1013904223;
			pattern[n] = alphabet[(seed >> 16) % (sizeof alphabet - 1)];
			line[n] = "abab2(.\\"[(seed >> 8) % 8];
		}
		pattern[1 + (seed >> 20) % 8] = '\0';
		if (search_init(&search, view_of(pattern), WIRE_WALK_REGEX, &err) < 0)
			continue;
		compiled++;
		assert_int_equal(regcomp(&plain, pattern, REG_EXTENDED), 0);
		want = regexec(&plain, line, 0, NULL, 0) == 0;
		matched += want;
		if (search_line(&search, view_of(line), &at, &err) != want ||
		    (want && !search_maybe(&search, view_of(line))))
			fail_msg("'%s' and '%s': not %d", pattern, line, want);
		regfree(&plain);
		search_done(&search);
	}
	assert_true(compiled > 3000 && matched > 1000 && matched < compiled - 1000);
}

static void dollar_does_not_match_where_a_line_is_cut(void **state)
{
	static char line[SEARCH_EXPRESSION_LINE_MAX + 1];
	static struct search search;
	struct error err;
	size_t at = 0;

	memset(line, 'x', sizeof line);
	CHECK_OK(search_init(&search, VIEW("x$"), WIRE_WALK_REGEX, &err), err);
	assert_int_equal(search_line(&search, (struct view){ line, sizeof line }, &at, &err), 0);
	assert_int_equal(search_line(&search, (struct view){ line, sizeof line - 1 }, &at, &err),
	                 1);
	assert_int_equal(at, SEARCH_EXPRESSION_LINE_MAX - 1);
	search_done(&search);
}

/* Neither a text nor an expression takes longer than its length times the line's. */
static void hostile_expression_takes_no_longer(void **state)
{
	static char line[SEARCH_LINE_MAX], text[WIRE_PATTERN_MAX + 1];
	static struct search search;
	uint64_t start = clock_now_ms();
	struct error err;
	size_t at;

	memset(line, 'a', sizeof line);
	memset(text, 'a', sizeof text);
	text[WIRE_PATTERN_MAX - 1] = 'b';
	for (unsigned flags = 0; flags <= WIRE_WALK_IGNORE_CASE; flags += WIRE_WALK_IGNORE_CASE) {
		CHECK_OK(search_init(&search, (struct view){ text, WIRE_PATTERN_MAX }, flags, &err),
		         err);
		for (int i = 0; i < 50; i++)
			assert_int_equal(
			        search_line(&search, (struct view){ line, sizeof line }, &at, &err),
			        0);
		search_done(&search);
	}
	CHECK_OK(search_init(&search, VIEW("(a*)*(a|aa)*(a?){20}b"), WIRE_WALK_REGEX, &err), err);
	assert_int_equal(search_line(&search, (struct view){ line, sizeof line }, &at, &err), 0);
	search_done(&search);
	assert_in_range(clock_now_ms() - start, 0, 60000);
}

static void closed_request_ends_the_walk(void **state)
{
	struct wire_grep request = asking(".", "a", 0);
	struct wire_done done;
	struct job_test t;
	struct error err;

	job_test_start(&t);
	job_test_file(&t, "workspace/f", VIEW("a\na\n"));
	(void)shutdown(t.peer, SHUT_RDWR);
	CHECK_ERROR(op_grep(&t.job, &request, &done, &err), err, ERR_SYSTEM,
	            "the request was closed");
	assert_int_equal(err.errnum, EPIPE);
	job_test_stop(&t);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(grep_finds_lines_below_a_directory),
		TEST(grep_passes_over_binary_files),
		TEST(grep_searches_at_most_max_bytes),
		TEST(read_trusts_no_size),
		TEST(grep_finds_matches_across_buffer_edges),
		TEST(grep_searches_the_start_of_long_lines),
		TEST(grep_cuts_text_between_characters),
		TEST(many_matches_are_sent_in_frames_that_fit),
		TEST(walk_passes_over_unreadable_directories),
		TEST(error_says_what_is_wrong_with_a_request),
		TEST(search_limits_size_of_expression),
		TEST(search_finds_the_required_text),
		TEST(required_text_does_not_change_matches),
		TEST(dollar_does_not_match_where_a_line_is_cut),
		TEST(hostile_expression_takes_no_longer),
		TEST(closed_request_ends_the_walk),
	};

	(void)alarm(300); /* nothing here may hang */
	return RUN_TESTS("op_grep", tests);
}
