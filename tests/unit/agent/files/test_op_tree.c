/* TREE and FIND; where a walk goes is tested in test_walk.c. */
#include "agent/files/ops.h"
#include "unit/agent/files/record_test.h"

static void make_sample(struct job_test *t)
{
	job_test_start(t);
	job_test_directory(t, "workspace/src");
	job_test_directory(t, "workspace/src/deep");
	job_test_file(t, "workspace/src/a.c", VIEW("1"));
	job_test_file(t, "workspace/src/a.h", VIEW("1"));
	job_test_file(t, "workspace/src/deep/B.C", VIEW("1"));
	job_test_file(t, "workspace/src/deep/b.c", VIEW("1"));
	job_test_file(t, "workspace/main.c", VIEW("1"));
	job_test_directory(t, "workspace/.git");
	job_test_file(t, "workspace/.git/x.c", VIEW("1"));
	job_test_link(t, "..", "workspace/src/loop");
}

static void tree_sends_entries_within_its_limits(void **state)
{
	static const struct {
		const char *path;
		uint8_t flags;
		uint16_t depth;
		uint32_t limit;
		bool more;
		const char *want;
	} rows[] = {
		{ ".", 0, 64, 100, false,
		  "main.c src/ src/a.c src/a.h src/deep/ src/deep/B.C src/deep/b.c src/loop>.. " },
		{ ".", WIRE_WALK_HIDDEN, 64, 3, true, ".git/ .git/x.c main.c " },
		{ ".", 0, 1, 100, true, "main.c src/ " },
		{ ".", 0, 2, 100, true, "main.c src/ src/a.c src/a.h src/deep/ src/loop>.. " },
		{ ".", 0, 3, 8, false,
		  "main.c src/ src/a.c src/a.h src/deep/ src/deep/B.C src/deep/b.c src/loop>.. " },
		{ ".", 0, 3, 7, true,
		  "main.c src/ src/a.c src/a.h src/deep/ src/deep/B.C src/deep/b.c " },
		{ ".", 0, 3, 1, true, "main.c " },
		{ "src/deep", 0, 1, 2, false, "B.C b.c " },
		{ "src/loop/src/deep", 0, 1, 1, true,
		  "B.C " }, /* links on the way to the start are followed */
		{ "/workspace/.git", 0, 1, 2, false, "x.c " },
	};
	struct wire_done done;
	struct job_test t;
	struct error err;

	make_sample(&t);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct wire_tree request = { .flags = rows[i].flags,
			                     .depth = rows[i].depth,
			                     .limit = rows[i].limit,
			                     .path = view_of(rows[i].path) };

		job_test_again(&t);
		CHECK_OK(op_tree(&t.job, &request, &done, &err), err);
		assert_string_equal(record_entries(&t), rows[i].want);
		assert_int_equal(done.count, record_count(&t));
		assert_int_equal(done.flags, rows[i].more ? WIRE_DONE_MORE : 0);
	}
	job_test_stop(&t);
}

static void find_matches_names_and_paths(void **state)
{
	static const struct {
		const char *path, *pattern;
		uint8_t flags;
		uint16_t depth;
		uint32_t limit;
		bool more;
		const char *want;
	} rows[] = {
		{ ".", "*.c", 0, 64, 100, false, "main.c src/a.c src/deep/b.c " },
		{ ".", "*.c", WIRE_WALK_IGNORE_CASE, 64, 100, false,
		  "main.c src/a.c src/deep/B.C src/deep/b.c " },
		{ ".", "*.c", WIRE_WALK_HIDDEN, 64, 100, false,
		  ".git/x.c main.c src/a.c src/deep/b.c " },
		{ ".", "*.c", 0, 64, 3, false, "main.c src/a.c src/deep/b.c " },
		{ ".", "*.c", 0, 64, 2, true, "main.c src/a.c " },
		{ ".", "*.c", 0, 2, 2, false, "main.c src/a.c " }, /* the allowed depth */
		{ ".", "src/*", 0, 64, 100, false, "src/a.c src/a.h src/deep/ src/loop>.. " },
		{ ".", "**/deep/*", 0, 64, 100, false, "src/deep/B.C src/deep/b.c " },
		{ ".", "d??p", 0, 64, 100, false, "src/deep/ " },
		{ "src", "a.[ch]", 0, 64, 100, false, "a.c a.h " },
		{ ".", "nothing", 0, 64, 100, false, "" },
		{ "src/deep", "/*.C", 0, 64, 100, false, "B.C " },
	};
	struct wire_done done;
	struct job_test t;
	struct error err;

	make_sample(&t);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct wire_find request = { .flags = rows[i].flags,
			                     .depth = rows[i].depth,
			                     .limit = rows[i].limit,
			                     .path = view_of(rows[i].path),
			                     .pattern = view_of(rows[i].pattern) };

		job_test_again(&t);
		CHECK_OK(op_find(&t.job, &request, &done, &err), err);
		assert_string_equal(record_entries(&t), rows[i].want);
		assert_int_equal(done.count, record_count(&t));
		assert_int_equal(done.flags, rows[i].more ? WIRE_DONE_MORE : 0);
	}
	job_test_stop(&t);
}

static void tree_sets_more_when_paths_are_too_long(void **state)
{
	struct wire_tree tree = { .depth = 64, .limit = 100, .path = VIEW(".") };
	struct wire_find find = {
		.depth = 64, .limit = 100, .path = VIEW("."), .pattern = VIEW("x")
	};
	struct wire_done done;
	struct job_test t;
	struct error err;
	char name[202];

	memset(name, 'n', sizeof name - 1);
	name[sizeof name - 1] = '\0';
	job_test_start(&t);
	(void)close(make_deep(job_test_path(&t, "workspace"), name, 25));
	CHECK_OK(op_tree(&t.job, &tree, &done, &err), err);
	assert_int_equal(record_count(&t), 20);
	assert_int_equal(done.flags, WIRE_DONE_MORE);
	job_test_again(&t);
	CHECK_OK(op_find(&t.job, &find, &done, &err), err);
	assert_int_equal(record_count(&t), 0);
	assert_int_equal(done.flags, WIRE_DONE_MORE);
	job_test_stop(&t);
}

/* Many names at every level of a deep tree: what a walk holds at once stays bounded, and
 * nothing is lost in the pages it reads. */
static void walk_handles_wide_and_deep_trees(void **state)
{
	struct wire_tree tree = { .depth = 64, .limit = WIRE_ENTRIES_MAX, .path = VIEW(".") };
	struct wire_find find = {
		.depth = 64, .limit = 3, .path = VIEW("."), .pattern = VIEW("?9999")
	};
	struct wire_done done;
	struct job_test t;
	struct error err;
	char path[200] = "workspace";

	job_test_start(&t);
	for (int i = 0; i < 60; i++) {
		size_t len = strlen(path);

		make_files(job_test_path(&t, path), "n%03u", 100);
		(void)snprintf(path + len, sizeof path - len, "/m");
		job_test_directory(&t, path);
	}
	make_files(job_test_path(&t, path), "n%05u", 10000);
	CHECK_OK(op_tree(&t.job, &tree, &done, &err), err);
	assert_int_equal(done.count, 60 * 101 + 10000);
	assert_int_equal(done.flags, 0);
	assert_int_equal(record_count(&t), 60 * 101 + 10000);
	job_test_again(&t);
	CHECK_OK(op_find(&t.job, &find, &done, &err), err);
	assert_int_equal(done.count, 0);
	job_test_again(&t);
	find.pattern = VIEW("n?9999");
	CHECK_OK(op_find(&t.job, &find, &done, &err), err);
	assert_int_equal(done.count, 1);
	assert_int_equal(done.flags, 0);
	job_test_stop(&t);
}

static void error_names_path_that_cannot_be_walked(void **state)
{
	static const struct {
		const char *path, *want;
	} rows[] = {
		{ "nothing", "nothing: No such file or directory" },
		{ "main.c", "main.c: Not a directory" },
	};
	struct wire_done done;
	struct job_test t;
	struct error err;

	make_sample(&t);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct wire_tree tree = { .depth = 1, .limit = 1, .path = view_of(rows[i].path) };
		struct wire_find find = {
			.depth = 1, .limit = 1, .path = view_of(rows[i].path), .pattern = VIEW("x")
		};

		CHECK_ERROR(op_tree(&t.job, &tree, &done, &err), err, ERR_SYSTEM, rows[i].want);
		CHECK_ERROR(op_find(&t.job, &find, &done, &err), err, ERR_SYSTEM, rows[i].want);
	}
	job_test_stop(&t);
}

static void closed_request_ends_the_walk(void **state)
{
	struct wire_tree tree = { .depth = 64, .limit = 100, .path = VIEW(".") };
	struct wire_done done;
	struct job_test t;
	struct error err;

	make_sample(&t);
	make_files(job_test_path(&t, "workspace"), "%u", 2000);
	(void)shutdown(t.peer, SHUT_RDWR);
	CHECK_ERROR(op_tree(&t.job, &tree, &done, &err), err, ERR_SYSTEM, "the request was closed");
	tree.limit = 2000; /* now in the middle of the walk */
	CHECK_ERROR(op_tree(&t.job, &tree, &done, &err), err, ERR_SYSTEM, "the request was closed");
	assert_int_equal(err.errnum, EPIPE);
	job_test_stop(&t);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(tree_sends_entries_within_its_limits),
		TEST(find_matches_names_and_paths),
		TEST(tree_sets_more_when_paths_are_too_long),
		TEST(walk_handles_wide_and_deep_trees),
		TEST(error_names_path_that_cannot_be_walked),
		TEST(closed_request_ends_the_walk),
	};

	(void)alarm(300); /* nothing here may hang */
	return RUN_TESTS("op_walk", tests);
}
