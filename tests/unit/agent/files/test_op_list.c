/* STAT and LIST. */
#include "agent/files/ops.h"
#include "unit/agent/files/record_test.h"

static struct wire_done ask_list(struct job_test *t, const char *path, uint32_t limit,
                                 struct view cursor)
{
	struct wire_list request = { .limit = limit, .path = view_of(path), .cursor = cursor };
	struct wire_done done = { 0 };
	struct error err;

	job_test_again(t);
	CHECK_OK(op_list(&t->job, &request, &done, &err), err);
	return done;
}

static void ask_stat(struct job_test *t, const char *path, uint8_t flags, struct wire_entry *ret)
{
	struct wire_stat request = { .flags = flags, .path = view_of(path) };
	struct wire_done done = { 0 };
	struct error err;
	struct view rest;

	job_test_again(t);
	CHECK_OK(op_stat(&t->job, &request, &done, &err), err);
	assert_int_equal(done.count, 1);
	assert_int_equal(done.flags, 0);
	job_test_finish(t);
	rest = buf_view(&t->records);
	CHECK_OK(wire_record_decode(&wire_entry_record, &rest, ret, &err), err);
	assert_int_equal(rest.len, 0);
}

static void stat_sends_all_fields(void **state)
{
	struct timespec times[2] = { { .tv_sec = 5 },
		                     { .tv_sec = 1700000000, .tv_nsec = 123999999 } };
	struct wire_entry entry;
	struct job_test t;

	job_test_start(&t);
	job_test_file(&t, "workspace/f", VIEW("12345"));
	assert_int_equal(chmod(job_test_path(&t, "workspace/f"), 04751), 0);
	assert_int_equal(utimensat(AT_FDCWD, job_test_path(&t, "workspace/f"), times, 0), 0);
	ask_stat(&t, "f", 0, &entry);
	assert_int_equal(entry.type, WIRE_FILE_REGULAR);
	assert_int_equal(entry.perm, 04751);
	assert_int_equal(entry.size, 5);
	assert_int_equal(entry.modified_ms, 1700000000123);
	assert_int_equal(entry.uid, geteuid());
	assert_int_equal(entry.gid, getegid());
	CHECK_VIEW(entry.path, "f");
	CHECK_VIEW(entry.target, "");
	job_test_stop(&t);
}

static void stat_follows_links_unless_told_not_to(void **state)
{
	static const struct {
		const char *path;
		uint8_t flags, type;
		const char *target;
	} rows[] = {
		{ "dir", 0, WIRE_FILE_DIRECTORY, "" },
		{ "dir/", WIRE_NOFOLLOW, WIRE_FILE_DIRECTORY, "" },
		{ "/", 0, WIRE_FILE_DIRECTORY, "" },
		{ "/..", 0, WIRE_FILE_DIRECTORY, "" },
		{ "link", 0, WIRE_FILE_DIRECTORY, "" },
		{ "link", WIRE_NOFOLLOW, WIRE_FILE_LINK, "/workspace/dir" },
		{ "dangling", WIRE_NOFOLLOW, WIRE_FILE_LINK, "../../nowhere" },
		{ "self", WIRE_NOFOLLOW, WIRE_FILE_LINK, "self" },
		{ "fifo", 0, WIRE_FILE_OTHER, "" }, /* opening it for reading would block */
		{ "link/fifo", WIRE_NOFOLLOW, WIRE_FILE_OTHER, "" },
	};
	struct wire_entry entry;
	struct job_test t;

	job_test_start(&t);
	job_test_directory(&t, "workspace/dir");
	job_test_link(&t, "/workspace/dir", "workspace/link");
	job_test_link(&t, "../../nowhere", "workspace/dangling");
	job_test_link(&t, "self", "workspace/self");
	assert_int_equal(mkfifo(job_test_path(&t, "workspace/fifo"), 0644), 0);
	assert_int_equal(mkfifo(job_test_path(&t, "workspace/dir/fifo"), 0644), 0);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		ask_stat(&t, rows[i].path, rows[i].flags, &entry);
		assert_int_equal(entry.type, rows[i].type);
		CHECK_VIEW(entry.path, rows[i].path);
		CHECK_VIEW(entry.target, rows[i].target);
	}
	job_test_stop(&t);
}

static void longest_link_target_is_sent(void **state)
{
	char target[WIRE_PATH_MAX + 1];
	struct wire_entry entry;
	struct job_test t;

	memset(target, 't', sizeof target - 1);
	target[sizeof target - 1] = '\0';
	job_test_start(&t);
	if (symlink(target, job_test_path(&t, "workspace/l")) == 0) {
		ask_stat(&t, "l", WIRE_NOFOLLOW, &entry);
		CHECK_VIEW(entry.target, target);
	}
	job_test_stop(&t);
}

static void entry_clamps_times_and_types(void **state)
{
	static const struct {
		mode_t mode;
		time_t seconds;
		off_t size;
		uint8_t type;
		uint64_t modified_ms, want_size;
	} rows[] = {
		{ S_IFREG | 0644, -1, 7, WIRE_FILE_REGULAR, 0, 7 },
		{ S_IFCHR | 07777, 0, 0, WIRE_FILE_OTHER, 0, 0 },
		{ S_IFSOCK, INT64_MAX, 0, WIRE_FILE_OTHER, INT64_MAX, 0 },
		{ S_IFDIR, INT64_MAX / 1000 - 1, -1, WIRE_FILE_DIRECTORY,
		  (INT64_MAX / 1000 - 1) * 1000, 0 },
		{ 0, 0, 0, WIRE_FILE_OTHER, 0, 0 },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct stat st = { .st_mode = rows[i].mode, .st_size = rows[i].size };
		struct wire_entry entry;

		st.st_mtim.tv_sec = rows[i].seconds;
		entry = entry_of(&st);
		assert_int_equal(entry.type, rows[i].type);
		assert_int_equal(entry.perm, rows[i].mode & 07777);
		assert_int_equal(entry.modified_ms, rows[i].modified_ms);
		assert_int_equal(entry.size, rows[i].want_size);
	}
}

static void error_names_the_path(void **state)
{
	static const struct {
		const char *path, *stat, *list;
		enum error_kind kind;
	} rows[] = {
		{ "nothing", "nothing: No such file or directory",
		  "nothing: No such file or directory", ERR_SYSTEM },
		{ "dangling", "dangling: No such file or directory",
		  "dangling: No such file or directory", ERR_SYSTEM },
		{ "self", "self: Too many levels of symbolic links",
		  "self: Too many levels of symbolic links", ERR_SYSTEM },
		{ "f/x", "f/x: Not a directory", "f/x: Not a directory", ERR_SYSTEM },
		{ "f", NULL, "f: Not a directory", ERR_SYSTEM },
		{ "fifo", NULL, "fifo: Not a directory", ERR_SYSTEM },
		{ "", "the path is empty", "the path is empty", ERR_INVALID },
	};
	struct wire_done done;
	struct job_test t;
	struct error err;

	job_test_start(&t);
	job_test_file(&t, "workspace/f", VIEW(""));
	job_test_link(&t, "/etc/passwd-outside", "workspace/dangling");
	job_test_link(&t, "self", "workspace/self");
	assert_int_equal(mkfifo(job_test_path(&t, "workspace/fifo"), 0644), 0);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct wire_stat stat = { .path = view_of(rows[i].path) };
		struct wire_list list = { .path = view_of(rows[i].path), .limit = 1 };

		if (rows[i].stat != NULL)
			CHECK_ERROR(op_stat(&t.job, &stat, &done, &err), err, rows[i].kind,
			            rows[i].stat);
		CHECK_ERROR(op_list(&t.job, &list, &done, &err), err, rows[i].kind, rows[i].list);
	}
	job_test_finish(&t);
	assert_int_equal(t.records.len, 0);
	job_test_stop(&t);
}

static void list_sorts_any_names(void **state)
{
	struct wire_done done;
	struct job_test t;

	job_test_start(&t);
	done = ask_list(&t, ".", 10, VIEW(""));
	assert_string_equal(record_entries(&t), "");
	assert_int_equal(done.count, 0);
	job_test_file(&t, "workspace/b", VIEW("1"));
	job_test_file(&t, "workspace/.a", VIEW("1"));
	job_test_file(&t, "workspace/A", VIEW("1"));
	job_test_file(&t, "workspace/\xff\x01\n", VIEW("1"));
	job_test_file(&t, "workspace/*", VIEW("1"));
	job_test_directory(&t, "workspace/a");
	job_test_file(&t, "workspace/a/not", VIEW("1"));
	job_test_link(&t, "nowhere", "workspace/l");
	assert_int_equal(mkfifo(job_test_path(&t, "workspace/p"), 0644), 0);
	done = ask_list(&t, "/workspace", 10, VIEW(""));
	assert_string_equal(record_entries(&t), "* .a A a/ b l>nowhere p? \xff\x01\n ");
	assert_int_equal(done.count, 8);
	assert_int_equal(done.flags, 0);
	CHECK_VIEW(done.cursor, "");
	job_test_stop(&t);
}

static void list_continues_behind_a_cursor(void **state)
{
	static const struct {
		const char *cursor;
		uint32_t limit;
		const char *want, *next;
	} rows[] = {
		{ "", 2, "a b ", "b" }, { "b", 2, "c d/ ", "d" },       { "d", 2, "e ", NULL },
		{ "e", 2, "", NULL },   { "", 5, "a b c d/ e ", NULL }, { "", 4, "a b c d/ ", "d" },
		{ "bx", 1, "c ", "c" }, /* need not be there any more */
	};
	struct wire_done done;
	struct job_test t;

	job_test_start(&t);
	job_test_file(&t, "workspace/e", VIEW("1"));
	job_test_file(&t, "workspace/c", VIEW("1"));
	job_test_file(&t, "workspace/a", VIEW("1"));
	job_test_file(&t, "workspace/b", VIEW("1"));
	job_test_directory(&t, "workspace/d");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		done = ask_list(&t, ".", rows[i].limit, view_of(rows[i].cursor));
		assert_string_equal(record_entries(&t), rows[i].want);
		assert_int_equal(done.flags, rows[i].next != NULL ? WIRE_DONE_MORE : 0);
		CHECK_VIEW(done.cursor, rows[i].next != NULL ? rows[i].next : "");
	}
	job_test_stop(&t);
}

static void list_sends_a_hundred_thousand_names(void **state)
{
	char first[] = "name-000000 ";
	struct wire_done done;
	struct job_test t;
	size_t seen = 0;

	job_test_start(&t);
	make_files(job_test_path(&t, "workspace"), "name-%06u", 100000);
	done = ask_list(&t, ".", WIRE_ENTRIES_MAX, VIEW(""));
	assert_int_equal(done.count, 100000);
	assert_int_equal(done.flags, 0);
	assert_int_equal(record_count(&t), 100000);
	assert_in_range(t.largest, 1, WIRE_RECORDS_MAX);
	done = ask_list(&t, ".", 1, VIEW(""));
	assert_string_equal(record_entries(&t), first);
	CHECK_VIEW(done.cursor, "name-000000");
	done.cursor = VIEW("");
	do {
		done = ask_list(&t, ".", 30000, done.cursor);
		seen += done.count;
	} while (done.flags != 0);
	assert_int_equal(seen, 100000);
	job_test_stop(&t);
}

static int list_as_nobody(struct job_test *t, struct error *err)
{
	struct wire_list names = { .limit = 9, .path = VIEW("names") };
	struct wire_list shut = { .limit = 9, .path = VIEW("shut") };
	struct wire_done done = { 0 };
	struct error refused = { .msg = "not refused" };

	if (op_list(&t->job, &names, &done, err) < 0)
		return -1;
	if (op_list(&t->job, &shut, &done, &refused) < 0 &&
	    strcmp(refused.msg, "shut: Permission denied") == 0)
		return 0;
	*err = refused;
	return -1;
}

static void list_sends_names_it_may_not_stat(void **state)
{
	struct job_test t;

	job_test_start(&t);
	job_test_directory(&t, "workspace/names");
	job_test_file(&t, "workspace/names/x", VIEW("1"));
	job_test_directory(&t, "workspace/shut");
	assert_int_equal(chmod(job_test_path(&t, "workspace/names"), 0444), 0);
	assert_int_equal(chmod(job_test_path(&t, "workspace/shut"), 0), 0);
	job_test_as_nobody(&t, list_as_nobody);
	assert_int_equal(chmod(job_test_path(&t, "workspace/names"), 0755), 0);
	assert_int_equal(chmod(job_test_path(&t, "workspace/shut"), 0755), 0);
	assert_string_equal(record_entries(&t), "x? ");
	job_test_stop(&t);
}

static void closed_request_ends_the_walk(void **state)
{
	struct wire_list list = { .path = VIEW("."), .limit = 10 };
	struct wire_stat stat = { .path = VIEW(".") };
	struct wire_done done;
	struct job_test t;
	struct error err;

	job_test_start(&t);
	job_test_file(&t, "workspace/b", VIEW("1"));
	(void)shutdown(t.peer, SHUT_RDWR);
	CHECK_ERROR(op_list(&t.job, &list, &done, &err), err, ERR_SYSTEM, "the request was closed");
	assert_int_equal(err.errnum, EPIPE);
	CHECK_ERROR(op_stat(&t.job, &stat, &done, &err), err, ERR_SYSTEM, "the request was closed");
	job_test_stop(&t);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(stat_sends_all_fields),
		TEST(stat_follows_links_unless_told_not_to),
		TEST(longest_link_target_is_sent),
		TEST(entry_clamps_times_and_types),
		TEST(error_names_the_path),
		TEST(list_sorts_any_names),
		TEST(list_continues_behind_a_cursor),
		TEST(list_sends_a_hundred_thousand_names),
		TEST(list_sends_names_it_may_not_stat),
		TEST(closed_request_ends_the_walk),
	};

	(void)alarm(300); /* nothing here may hang */
	return RUN_TESTS("op_list", tests);
}
