#include "unit/agent/files/job_test.h"

#include "agent/files/ops.h"
#include "base/error.h"

static void replaces_what_occurs_as_often_as_expected(void **state)
{
	static const struct {
		const char *file, *old, *new;
		uint32_t count;
		const char *want;
		uint64_t found;
	} cases[] = {
		{ "one two three", "two", "2", 1, "one 2 three", 1 },
		{ "one two three", "two", "", 1, "one  three", 1 },
		{ "aXbXc", "X", "--", 0, "a--b--c", 2 },
		{ "aXbXc", "X", "--", 2, "a--b--c", 2 },
		{ "aaaaa", "aa", "b", 0, "bba", 2 },     /* they do not overlap */
		{ "aaaa", "aa", "aaa", 2, "aaaaaa", 2 }, /* what is new is not looked at */
		{ "x", "x", "", 1, "", 1 },
		{ "start end", "start", "s", 1, "s end", 1 },
		{ "start end", "end", "e", 1, "start e", 1 },
		{ "a\r\nb", "\r\n", "\n", 1, "a\nb", 1 },
		{ "aab", "ab", "X", 1, "aX", 1 },
	};
	static struct job_test t;
	struct wire_done done;
	struct error err;

	(void)state;
	job_test_start(&t);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct wire_replace request = { .count = cases[i].count,
			                        .max = 100,
			                        .path = VIEW_INIT("f"),
			                        .old = view_of(cases[i].old),
			                        .new = view_of(cases[i].new) };

		job_test_file(&t, "workspace/f", view_of(cases[i].file));
		CHECK_OK(op_replace(&t.job, &request, &done, &err), err);
		job_test_holds(&t, "workspace/f", cases[i].want);
		assert_int_equal(done.count, cases[i].found);
		assert_int_equal(done.total, strlen(cases[i].want));
	}
	assert_int_equal(job_test_count(&t, "workspace"), 1);
	job_test_stop(&t);
}

static void changes_nothing_when_the_count_is_another(void **state)
{
	static const struct {
		const char *old;
		uint32_t count;
		uint64_t max;
		enum error_kind kind;
		const char *message;
	} cases[] = {
		{ "a", 1, 100, ERR_INVALID,
		  "notes.txt: the text occurs 3 times, not 1: nothing was changed" },
		{ "a", 1, 5, ERR_INVALID,
		  "notes.txt: the text occurs 3 times, not 1: nothing was changed" },
		{ "a", 4, 100, ERR_INVALID,
		  "notes.txt: the text occurs 3 times, not 4: nothing was changed" },
		{ "a.a", 2, 100, ERR_INVALID,
		  "notes.txt: the text occurs 1 time, not 2: nothing was changed" },
		{ "b", 1, 100, ERR_INVALID,
		  "notes.txt: the text does not occur: nothing was changed" },
		{ "b", 0, 100, ERR_INVALID,
		  "notes.txt: the text does not occur: nothing was changed" },
		{ "", 0, 100, ERR_INVALID, "the text to replace is of 0 bytes: 1 to 28672" },
		{ "a", 3, 4, ERR_LIMIT, "notes.txt: is larger than 4 bytes" },
		{ "a", 3, 5, ERR_LIMIT,
		  "notes.txt: would be larger than 5 bytes: nothing was changed" },
	};
	static struct job_test t;
	struct wire_done done;
	struct error err;

	(void)state;
	job_test_start(&t);
	job_test_file(&t, "workspace/notes.txt", VIEW("a.a.a"));
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct wire_replace request = { .count = cases[i].count,
			                        .max = cases[i].max,
			                        .path = VIEW_INIT("notes.txt"),
			                        .old = view_of(cases[i].old),
			                        .new = VIEW_INIT("new") };

		CHECK_ERROR(op_replace(&t.job, &request, &done, &err), err, cases[i].kind,
		            cases[i].message);
	}
	job_test_holds(&t, "workspace/notes.txt", "a.a.a");
	assert_int_equal(job_test_count(&t, "workspace"), 1);
	job_test_stop(&t);
}

static void needs_a_regular_file(void **state)
{
	static const struct {
		const char *path;
		enum error_kind kind;
		const char *message;
	} cases[] = {
		{ "missing", ERR_SYSTEM, "missing: No such file or directory" },
		{ "dangling", ERR_SYSTEM, "dangling: No such file or directory" },
		{ "dir", ERR_INVALID, "dir: is a directory, not a regular file" },
		{ "fifo", ERR_INVALID, "fifo: is a FIFO, not a regular file" },
		{ "file/", ERR_INVALID, "file/: the name of a file does not end in a slash" },
	};
	static struct job_test t;
	struct wire_done done;
	struct error err;

	(void)state;
	job_test_start(&t);
	job_test_directory(&t, "workspace/dir");
	job_test_file(&t, "workspace/file", VIEW("x"));
	job_test_link(&t, "nowhere", "workspace/dangling");
	assert_int_equal(mkfifo(job_test_path(&t, "workspace/fifo"), 0666), 0);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct wire_replace request = { .max = 9,
			                        .path = view_of(cases[i].path),
			                        .old = VIEW_INIT("x") };

		CHECK_ERROR(op_replace(&t.job, &request, &done, &err), err, cases[i].kind,
		            cases[i].message);
	}
	assert_int_equal(job_test_count(&t, "workspace"), 4);
	job_test_stop(&t);
}

static void the_mode_and_the_link_stay(void **state)
{
	struct wire_replace request = { .max = 100,
		                        .path = VIEW_INIT("link"),
		                        .old = VIEW_INIT("root"),
		                        .new = VIEW_INIT("admin") };
	static struct job_test t;
	struct wire_done done;
	struct error err;

	(void)state;
	job_test_start(&t);
	job_test_directory(&t, "etc");
	job_test_file(&t, "etc/passwd", VIEW("root:0:0"));
	assert_int_equal(chmod(job_test_path(&t, "etc/passwd"), 0751), 0);
	job_test_link(&t, "../../../../../etc/passwd", "workspace/link");
	CHECK_OK(op_replace(&t.job, &request, &done, &err), err);
	job_test_holds(&t, "etc/passwd", "admin:0:0");
	assert_int_equal(job_test_mode(&t, "etc/passwd"), S_IFREG | 0751);
	assert_true(S_ISLNK(job_test_mode(&t, "workspace/link")));
	job_test_stop(&t);
}

/* Reads the file back and compares it with the replacement done in memory, by hand. */
static void check_against_memory(struct job_test *t, struct view file, struct view old,
                                 struct view new)
{
	struct wire_replace request = {
		.max = UINT64_MAX, .path = VIEW_INIT("f"), .old = old, .new = new
	};
	static char want[4 * 1024 * 1024], got[sizeof want];
	size_t len = 0, at = 0;
	uint64_t found = 0;
	struct wire_done done;
	struct error err;
	int fd;

	while (at < file.len)
		if (file.len - at >= old.len && memcmp(file.ptr + at, old.ptr, old.len) == 0) {
			memcpy(want + len, new.ptr, new.len);
			len += new.len;
			at += old.len;
			found++;
		} else {
			want[len++] = file.ptr[at++];
		}
	assert_true(found > 0);
	job_test_file(t, "workspace/f", file);
	CHECK_OK(op_replace(&t->job, &request, &done, &err), err);
	assert_int_equal(done.count, found);
	assert_int_equal(done.total, len);
	fd = open(job_test_path(t, "workspace/f"), O_RDONLY | O_CLOEXEC);
	assert_int_equal(read(fd, got, sizeof got), len);
	(void)close(fd);
	assert_memory_equal(got, want, len);
}

static void finds_texts_across_the_seams_of_its_window(void **state)
{
	static char file[400 * 1000], old[WIRE_EDIT_MAX], new[WIRE_EDIT_MAX];
	static const size_t old_sizes[] = { 1, 2, 3, 7, 100, 1000, WIRE_EDIT_MAX };
	static const size_t new_sizes[] = { 0, 1, 5, 2000 };
	static struct job_test t;
	uint32_t dice = 1;

	(void)state;
	job_test_start(&t);
	for (size_t i = 0; i < ARRAY_LEN(old_sizes); i++)
		for (size_t j = 0; j < ARRAY_LEN(new_sizes); j++) {
			size_t size = old_sizes[i];

			/* Mostly beginnings of the text, and often all of it. */
			for (size_t k = 0; k < size; k++)
				old[k] = k + 1 < size ? 'a' : 'b';
			memset(new, 'n', sizeof new);
			for (size_t k = 0; k < sizeof file; k++) {
				dice = dice * 1664525 + 1013904223;
				file[k] = (dice >> 16) % (size * 3 / 2 + 1) == 0 ? 'b' : 'a';
			}
			memcpy(file + 150000, old, size);
			check_against_memory(
			        &t, (struct view){ file, sizeof file }, (struct view){ old, size },
			        (struct view){ new,
			                       size < 100 && new_sizes[j] > 5 ? 6 : new_sizes[j] });
		}
	job_test_stop(&t);
}

static int nobody_edits(struct job_test *t, struct error *err)
{
	struct wire_replace request = { .max = 9,
		                        .path = VIEW_INIT("read-only"),
		                        .old = VIEW_INIT("o") };
	struct wire_done done;

	return op_replace(&t->job, &request, &done, err) == 0 || err->errnum != EACCES;
}

static void a_file_that_may_not_be_written_is_not_edited(void **state)
{
	static struct job_test t;

	(void)state;
	job_test_start(&t);
	job_test_file(&t, "workspace/read-only", VIEW("old"));
	if (geteuid() == 0)
		job_test_as_nobody(&t, nobody_edits);
	job_test_holds(&t, "workspace/read-only", "old");
	job_test_stop(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(replaces_what_occurs_as_often_as_expected),
		TEST(changes_nothing_when_the_count_is_another),
		TEST(needs_a_regular_file),
		TEST(the_mode_and_the_link_stay),
		TEST(finds_texts_across_the_seams_of_its_window),
		TEST(a_file_that_may_not_be_written_is_not_edited),
	};

	return RUN_TESTS("op_edit", tests);
}
