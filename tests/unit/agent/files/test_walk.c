/* names.h and walk.h, without a job. */
#include "agent/files/walk.h"

#include "agent/files/path.h"
#include "unit/agent/files/record_test.h"

/* All entries of a walk, each path and a blank, directories with a slash. */
static const char *walked(const char *start, unsigned depth, bool hidden, size_t batch,
                          struct walk *walk)
{
	static char out[RECORD_TEXT_SIZE];
	struct walk_entry entry;
	struct error err = { .msg = "" };
	int got;

	out[0] = '\0';
	walk_init(walk, open(start, O_RDONLY | O_DIRECTORY | O_CLOEXEC), depth, hidden);
	walk->batch = batch;
	while ((got = walk_next(walk, &entry, &err)) > 0) {
		assert_int_equal(entry.path.ptr[entry.path.len], '\0');
		assert_string_equal(entry.path.ptr + entry.path.len - strlen(entry.name),
		                    entry.name);
		record_append(out, entry.path.ptr, entry.path.len);
		record_append(out, S_ISDIR(entry.st.st_mode) ? "/ " : " ",
		              S_ISDIR(entry.st.st_mode) ? 2 : 1);
	}
	if (got < 0)
		fail_msg("%s", err.msg);
	walk_done(walk);
	return out;
}

static const char *names_of(const struct names *names)
{
	static char out[RECORD_TEXT_SIZE];

	out[0] = '\0';
	for (size_t i = 0; i < names->count; i++) {
		record_append(out, names->items[i], strlen(names->items[i]));
		record_append(out, " ", 1);
	}
	return out;
}

static void names_are_the_smallest_behind_a_cursor(void **state)
{
	static const struct {
		const char *after;
		size_t limit, bytes;
		bool hidden, more;
		const char *want;
	} rows[] = {
		{ "", 10, 99999, false, false, "A a b c d " },
		{ "", 10, 99999, true, false, ".x A a b c d " },
		{ "", 5, 99999, false, false, "A a b c d " },
		{ "", 2, 99999, false, true, "A a " },
		{ "a", 2, 99999, false, true, "b c " },
		{ "c", 2, 99999, false, false, "d " },
		{ "bb", 9, 99999, false, false, "c d " },
		{ "d", 2, 99999, false, false, "" },
		{ "a", 1, 99999, true, true, "b " },
		{ "", 9, 1, false, true, "A " }, /* one in any case */
		{ "", 9, 100, false, true, "A a " },
	};
	struct job_test t;
	struct names names = { 0 };
	struct error err;
	int dir;

	job_test_start(&t);
	for (const char *name = "dbAca"; *name != '\0'; name++)
		make_files(job_test_path(&t, "workspace"), (char[]){ *name, '\0' }, 1);
	make_files(job_test_path(&t, "workspace"), ".x", 1);
	dir = open(job_test_path(&t, "workspace"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct names_rule rule = { rows[i].after, rows[i].limit, rows[i].bytes,
			                   rows[i].hidden };

		CHECK_OK(names_read(&names, dir, &rule, &err), err);
		assert_string_equal(names_of(&names), rows[i].want);
		assert_int_equal(names.more, rows[i].more);
	}
	names_done(&names);
	(void)close(dir);
	job_test_stop(&t);
}

/* For any order of readdir() and any size of a page: all names, sorted, each once. */
static void pages_of_a_directory_have_no_gaps(void **state)
{
	static const struct {
		size_t limit, bytes;
	} rows[] = { { 1, 99999 }, { 7, 99999 }, { 999, 99999 }, { 99999, 3000 }, { 64, 3000 } };
	struct job_test t;
	struct error err;
	int dir;

	job_test_start(&t);
	make_files(job_test_path(&t, "workspace"), "%03u", 300);
	dir = open(job_test_path(&t, "workspace"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char after[PATH_NAME_MAX + 1] = "", want[16];
		struct names_rule rule = { after, rows[i].limit, rows[i].bytes, false };
		struct names names = { .more = true };
		unsigned next = 0;

		while (names.more) {
			CHECK_OK(names_read(&names, dir, &rule, &err), err);
			assert_in_range(names.count, 1, rows[i].limit);
			assert_in_range(names.bytes, 1, rows[i].bytes);
			for (size_t n = 0; n < names.count; n++) {
				(void)snprintf(want, sizeof want, "%03u", next++);
				assert_string_equal(names.items[n], want);
			}
			memcpy(after, names.items[names.count - 1], 4);
		}
		assert_int_equal(next, 300);
		names_done(&names);
	}
	(void)close(dir);
	job_test_stop(&t);
}

/* A short name that fits must not be kept behind a long one that did not. */
static void names_have_no_gap_where_a_long_name_did_not_fit(void **state)
{
	char after[PATH_NAME_MAX + 1] = "";
	struct names_rule rule = { after, 99999, 2000, false };
	struct names names = { .more = true };
	struct job_test t;
	struct error err;
	size_t seen = 0;
	int dir;

	job_test_start(&t);
	make_files(job_test_path(&t, "workspace"), "%03u", 300);
	make_files(job_test_path(&t, "workspace"),
	           "%03u-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", 300);
	dir = open(job_test_path(&t, "workspace"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	while (names.more) {
		CHECK_OK(names_read(&names, dir, &rule, &err), err);
		for (size_t n = 0; n < names.count; n++, seen++) {
			assert_true(strcmp(names.items[n], after) > 0);
			memcpy(after, names.items[n], strlen(names.items[n]) + 1);
		}
	}
	assert_int_equal(seen, 600);
	names_done(&names);
	(void)close(dir);
	job_test_stop(&t);
}

static void list_refuses_what_is_no_directory(void **state)
{
	struct names_rule rule = { "", 1, 1, false };
	struct names names = { 0 };
	struct error err;
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	CHECK_ERROR(names_read(&names, fd, &rule, &err), err, ERR_SYSTEM,
	            "read the directory: Not a directory");
	assert_false(names_any(fd, true));
	(void)close(fd);
}

static void make_sample(struct job_test *t)
{
	job_test_start(t);
	job_test_directory(t, "workspace/b");
	job_test_directory(t, "workspace/b/empty");
	job_test_directory(t, "workspace/b/sub");
	job_test_file(t, "workspace/b/sub/x", VIEW("1"));
	job_test_file(t, "workspace/b.txt", VIEW("1"));
	job_test_file(t, "workspace/a", VIEW("1"));
	job_test_directory(t, "workspace/.hidden");
	job_test_file(t, "workspace/.hidden/y", VIEW("1"));
	job_test_link(t, ".", "workspace/c"); /* a loop */
	job_test_link(t, "../..", "workspace/b/up");
	assert_int_equal(mkfifo(job_test_path(t, "workspace/b/fifo"), 0644), 0);
}

static void walk_goes_depth_first_and_by_name(void **state)
{
	static const struct {
		unsigned depth;
		bool hidden, deeper;
		const char *want;
	} rows[] = {
		{ 64, false, false, "a b/ b/empty/ b/fifo b/sub/ b/sub/x b/up b.txt c " },
		{ 3, false, false, "a b/ b/empty/ b/fifo b/sub/ b/sub/x b/up b.txt c " },
		{ 2, false, true, "a b/ b/empty/ b/fifo b/sub/ b/up b.txt c " },
		{ 1, false, true, "a b/ b.txt c " },
		{ 2, true, true, ".hidden/ .hidden/y a b/ b/empty/ b/fifo b/sub/ b/up b.txt c " },
	};
	static const size_t batches[] = { SIZE_MAX, 1, 2 };
	struct job_test t;
	struct walk walk;

	make_sample(&t);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		for (size_t b = 0; b < ARRAY_LEN(batches); b++) {
			assert_string_equal(walked(job_test_path(&t, "workspace"), rows[i].depth,
			                           rows[i].hidden, batches[b], &walk),
			                    rows[i].want);
			assert_int_equal(walk.is_deeper, rows[i].deeper);
			assert_false(walk.skipped_long_paths);
		}
	/* Only hidden entries are deeper. */
	assert_string_equal(walked(job_test_path(&t, "workspace/b/empty"), 1, false, 9, &walk), "");
	assert_string_equal(walked(job_test_path(&t, "workspace/b/sub"), 1, false, 9, &walk), "x ");
	assert_false(walk.is_deeper);
	job_test_stop(&t);
}

/* Entries are removed, created and replaced between two calls. */
static void walk_survives_a_changing_tree(void **state)
{
	struct job_test t;
	AUTO_WALK struct walk walk = { 0 };
	struct walk_entry entry;
	struct error err = { .msg = "" };

	make_sample(&t);
	walk_init(&walk, open(job_test_path(&t, "workspace"), O_RDONLY | O_CLOEXEC), 64, false);
	assert_int_equal(walk_next(&walk, &entry, &err), 1);
	CHECK_VIEW(entry.path, "a");
	assert_int_equal(walk_next(&walk, &entry, &err), 1);
	CHECK_VIEW(entry.path, "b");
	/* The directory that is about to be entered becomes a link to the root. */
	assert_int_equal(rename(job_test_path(&t, "workspace/b"), job_test_path(&t, "gone")), 0);
	job_test_link(&t, "/", "workspace/b");
	/* The next one is removed. */
	assert_int_equal(unlink(job_test_path(&t, "workspace/b.txt")), 0);
	assert_int_equal(walk_next(&walk, &entry, &err), 1);
	CHECK_VIEW(entry.path, "c");
	assert_true(S_ISLNK(entry.st.st_mode));
	assert_int_equal(walk_next(&walk, &entry, &err), 0);
	job_test_stop(&t);
}

static void walk_goes_down_to_the_allowed_depth(void **state)
{
	struct job_test t;
	struct walk walk;
	const char *all;

	job_test_start(&t);
	(void)close(make_deep(job_test_path(&t, "workspace"), "d", WIRE_DEPTH_MAX + 1));
	all = walked(job_test_path(&t, "workspace"), WIRE_DEPTH_MAX, false, SIZE_MAX, &walk);
	/* 64 lines: n times "d/" and a blank */
	assert_int_equal(strlen(all), WIRE_DEPTH_MAX * (WIRE_DEPTH_MAX + 1) + WIRE_DEPTH_MAX);
	assert_true(walk.is_deeper);
	assert_false(walk.skipped_long_paths);
	all = walked(job_test_path(&t, "workspace/d"), WIRE_DEPTH_MAX, false, SIZE_MAX, &walk);
	assert_false(walk.is_deeper);
	job_test_stop(&t);
}

static void walk_leaves_out_paths_that_are_too_long(void **state)
{
	char name[203], *all;
	struct job_test t;
	static struct walk walk;
	int dir;

	memset(name, 'n', sizeof name - 1);
	name[sizeof name - 1] = '\0';
	job_test_start(&t);
	/* 20 times 202 and a slash is 4060: 35 bytes are left. */
	dir = make_deep(job_test_path(&t, "workspace"), name, 20);
	name[36] = '\0';
	(void)close(openat(dir, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
	name[35] = '\0';
	/* A path of exactly 4095 bytes, and one that is longer only by what is in it. */
	assert_int_equal(mkdirat(dir, name, 0755), 0);
	name[35] = '/';
	name[36] = 'x';
	name[37] = '\0';
	(void)close(openat(dir, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
	(void)close(openat(dir, "z", O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
	(void)close(dir);
	all = strdup(walked(job_test_path(&t, "workspace"), 64, false, SIZE_MAX, &walk));
	assert_true(walk.skipped_long_paths);
	assert_int_equal(strcmp(all + strlen(all) - 3, "/z "), 0);
	/* The 20 directories, the one of 4095 bytes, and z. */
	assert_int_equal(strlen(all), 203 * 20 * 21 / 2 + 20 + 4097 + 4062);
	free(all);
	job_test_stop(&t);
}

static void walk_enters_procfs_only_if_it_starts_there(void **state)
{
	struct walk_entry entry;
	struct error err;
	struct stat root, proc;
	struct walk walk;
	bool seen = false;
	int got;

	if (stat("/", &root) < 0 || stat("/proc", &proc) < 0 || root.st_dev == proc.st_dev)
		SKIP_TEST("/proc is not mounted");
	walk_init(&walk, open("/", O_RDONLY | O_CLOEXEC), 2, true);
	while ((got = walk_next(&walk, &entry, &err)) > 0) {
		seen = seen || view_is(entry.path, "proc");
		assert_false(view_starts(entry.path, "proc/"));
		assert_false(view_starts(entry.path, "sys/"));
	}
	walk_done(&walk);
	assert_int_equal(got, 0);
	assert_true(seen);
	assert_non_null(strstr(walked("/proc/self", 1, false, SIZE_MAX, &walk), " status "));
}

static int walk_as_nobody(struct job_test *t, struct error *err)
{
	static struct walk walk;
	const char *all = walked(job_test_path(t, "workspace"), 64, false, SIZE_MAX, &walk);
	const char *want = "a/ b/ b/x c/ c/x ";

	return strcmp(all, want) == 0 ? 0 : error_set(err, ERR_INVALID, "%s", all);
}

static void walk_passes_over_unreadable_directories(void **state)
{
	struct job_test t;

	job_test_start(&t);
	job_test_directory(&t, "workspace/a");
	job_test_file(&t, "workspace/a/x", VIEW("1"));
	job_test_directory(&t, "workspace/b");
	job_test_file(&t, "workspace/b/x", VIEW("1"));
	job_test_directory(&t, "workspace/c");
	job_test_file(&t, "workspace/c/x", VIEW("1"));
	assert_int_equal(chmod(job_test_path(&t, "workspace/a"), 0), 0);
	assert_int_equal(chmod(job_test_path(&t, "workspace/b"), 0444), 0); /* names only */
	job_test_as_nobody(&t, walk_as_nobody);
	assert_int_equal(chmod(job_test_path(&t, "workspace/a"), 0755), 0);
	assert_int_equal(chmod(job_test_path(&t, "workspace/b"), 0755), 0);
	job_test_stop(&t);
}

static void walk_fails_when_descriptors_run_out(void **state)
{
	struct rlimit before, few;
	AUTO_WALK struct walk walk = { 0 };
	struct walk_entry entry;
	struct error err;
	struct job_test t;

	job_test_start(&t);
	(void)close(make_deep(job_test_path(&t, "workspace"), "d", 3));
	walk_init(&walk, open(job_test_path(&t, "workspace"), O_RDONLY | O_CLOEXEC), 64, false);
	assert_int_equal(walk_next(&walk, &entry, &err), 1);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	few = (struct rlimit){ 0, before.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	err = (struct error){ .msg = "" };
	assert_int_equal(walk_next(&walk, &entry, &err), -1);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_non_null(strstr(err.msg, "open the directory 'd': Too many open files"));
	job_test_stop(&t);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(names_are_the_smallest_behind_a_cursor),
		TEST(pages_of_a_directory_have_no_gaps),
		TEST(names_have_no_gap_where_a_long_name_did_not_fit),
		TEST(list_refuses_what_is_no_directory),
		TEST(walk_goes_depth_first_and_by_name),
		TEST(walk_survives_a_changing_tree),
		TEST(walk_goes_down_to_the_allowed_depth),
		TEST(walk_leaves_out_paths_that_are_too_long),
		TEST(walk_enters_procfs_only_if_it_starts_there),
		TEST(walk_passes_over_unreadable_directories),
		TEST(walk_fails_when_descriptors_run_out),
	};

	(void)alarm(300); /* nothing here may hang */
	return RUN_TESTS("walk", tests);
}
