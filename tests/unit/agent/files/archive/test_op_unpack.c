#include "unit/agent/files/job_test.h"
#include "unit/wire/tar_test.h"

#include "agent/files/archive/archive.h"

/* The target is /workspace/t; /outside has a file that must never change. */
struct unpack_test {
	struct job_test t;
	struct buf tar;
	struct wire_done done;
	struct error err;
};

static void start_unpack(struct unpack_test *u)
{
	job_test_start(&u->t);
	job_test_directory(&u->t, "outside");
	job_test_file(&u->t, "outside/secret", VIEW("secret"));
	assert_int_equal(chmod(job_test_path(&u->t, "outside/secret"), 0600), 0);
	tar_test_init(&u->tar);
}

static int unpack_limited(struct unpack_test *u, uint64_t max, uint32_t max_count)
{
	struct wire_unpack request = { .max = max, .max_count = max_count, .path = VIEW_INIT("t") };
	int r;

	job_test_feed(&u->t, buf_view(&u->tar));
	r = op_unpack(&u->t.job, &request, &u->done, &u->err);
	job_test_again(&u->t);
	return r;
}

static int unpack(struct unpack_test *u)
{
	return unpack_limited(u, 1024 * 1024, 1000);
}

static void stop_unpack(struct unpack_test *u)
{
	struct stat st;

	job_test_holds(&u->t, "outside/secret", "secret");
	assert_int_equal(lstat(job_test_path(&u->t, "outside/secret"), &st), 0);
	assert_int_equal(st.st_nlink, 1);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(job_test_count(&u->t, "outside"), 1);
	assert_int_equal(job_test_count(&u->t, ""), 2);
	assert_int_equal(job_test_count(&u->t, "workspace"), 1);
	job_test_stop(&u->t);
	buf_done(&u->tar);
}

/* Where something below the target is, for job_test; good until the next call. */
static const char *in_target(const char *path)
{
	static char out[128];

	(void)snprintf(out, sizeof out, "workspace/t/%s", path);
	return out;
}

static void unpack_creates_what_the_archive_says(void **state)
{
	struct unpack_test u;
	struct stat st;

	start_unpack(&u);
	tar_test_add(&u.tar, '5', "d/", "", VIEW(""));
	tar_test_file(&u.tar, "d/a", "text");
	tar_test_file(&u.tar, "far/deep/b", "more");
	tar_test_add(&u.tar, '2', "d/s", "../far/deep/b", VIEW(""));
	tar_test_file(&u.tar, "empty", "");
	tar_test_end(&u.tar);
	CHECK_OK(unpack(&u), u.err);
	assert_int_equal(u.done.count, 5);
	assert_int_equal(u.done.bytes, 8);
	assert_int_equal(u.done.skipped, 0);
	assert_int_equal(u.done.cursor.len, 0);
	assert_non_null(u.done.cursor.ptr);
	job_test_holds(&u.t, "workspace/t/d/s", "more");
	job_test_holds(&u.t, "workspace/t/d/a", "text");
	job_test_holds(&u.t, "workspace/t/empty", "");
	assert_int_equal(lstat(job_test_path(&u.t, "workspace/t/d/a"), &st), 0);
	assert_int_equal(st.st_mode, S_IFREG | 0640);
	assert_int_equal(st.st_mtim.tv_sec, 1610612736);
	assert_int_equal(job_test_mode(&u.t, "workspace/t/d"), S_IFDIR | 0740);
	stop_unpack(&u);
}

/* --- names and links that lead elsewhere -------------------------------------------- */

struct attack {
	const char *what;
	struct {
		char type;
		const char *name, *link, *text;
	} entries[5];
	const char *message; /* refused with this, or */
	struct {
		uint64_t count;
		const char *first;
	} skipped; /* so many left out, the first of which is this */
	struct {
		const char *path, *text;
	} holds; /* this file does afterwards, below t */
};

static const struct attack attacks[] = {
	{ .what = "zip slip",
	  .entries = { { '0', "../../outside/secret", "", "bad" } },
	  .message = "entry 1 ('../../outside/secret'): its name has '..' in it" },
	{ .what = "zip slip in the middle, after a good one",
	  .entries = { { '0', "a", "", "A" }, { '0', "a/../../../outside/x", "", "bad" } },
	  .message = "entry 2 ('a/../../../outside/x'): its name has '..' in it",
	  .holds = { "a", "A" } },
	{ .what = "only ..",
	  .entries = { { '5', "..", "", "" } },
	  .message = "entry 1 ('..'): its name has '..' in it" },
	{ .what = ".. in a directory",
	  .entries = { { '5', "../outside/d/", "", "" } },
	  .message = "entry 1 ('../outside/d'): its name has '..' in it" },
	{ .what = "absolute",
	  .entries = { { '0', "/outside/secret", "", "mine" } },
	  .message = "entry 1 ('/outside/secret'): its name is not a plain relative path" },
	{ .what = "link out, then write through it",
	  .entries = { { '2', "l", "../../outside", "" }, { '0', "l/secret", "", "bad" } },
	  .skipped = { 1, "l" },
	  .holds = { "l/secret", "bad" } },
	{ .what = "absolute link, then write through it",
	  .entries = { { '2', "l", "/outside", "" }, { '0', "l/x", "", "bad" } },
	  .skipped = { 1, "l" },
	  .holds = { "l/x", "bad" } },
	{ .what = "link that stays, then write through it",
	  .entries = { { '5', "d/", "", "" }, { '2', "l", "d", "" }, { '0', "l/x", "", "bad" } },
	  .message = "entry 3 ('l/x'): 'l' on the way is a symbolic link" },
	{ .what = "link deep down on the way",
	  .entries = { { '2', "a/b/l", ".", "" }, { '0', "a/b/l/c/x", "", "bad" } },
	  .message = "entry 2 ('a/b/l/c/x'): 'a/b/l' on the way is a symbolic link" },
	{ .what = "directory made through a link",
	  .entries = { { '2', "l", ".", "" }, { '5', "l/d/", "", "" } },
	  .message = "entry 2 ('l/d'): 'l' on the way is a symbolic link" },
	{ .what = "link made through a link",
	  .entries = { { '2', "a/l", ".", "" }, { '2', "a/l/m", "../..", "" } },
	  .message = "entry 2 ('a/l/m'): 'a/l' on the way is a symbolic link" },
	{ .what = "chain of links that each look harmless",
	  .entries = { { '2', "d1/d2", ".", "" },
	               { '2', "x", "d1/d2/../..", "" },
	               { '0', "x/outside/y", "", "kept" } },
	  .skipped = { 1, "x" },
	  .holds = { "x/outside/y", "kept" } },
	{ .what = "one level too high",
	  .entries = { { '2', "a/b/l", "../../..", "" }, { '0', "f", "", "F" } },
	  .skipped = { 1, "a/b/l" },
	  .holds = { "f", "F" } },
	{ .what = "as high as the target, dots and slashes between",
	  .entries = { { '0', "f", "", "F" }, { '2', "a/b/l", ".././/..//f", "" } },
	  .holds = { "a/b/l", "F" } },
	{ .what = "link to itself by an empty name",
	  .entries = { { '2', "l", "", "" }, { '0', "f", "", "F" } },
	  .skipped = { 1, "l" },
	  .holds = { "f", "F" } },
	{ .what = "file over a link",
	  .entries = { { '0', "f", "", "F" }, { '2', "l", "f", "" }, { '0', "l", "", "L" } },
	  .holds = { "f", "F" } },
	{ .what = "the last of a name wins",
	  .entries = { { '0', "f", "", "one" }, { '0', "f", "", "two" }, { '0', "f", "", "3" } },
	  .holds = { "f", "3" } },
	{ .what = "file, then directory of the same name",
	  .entries = { { '0', "a", "", "A" }, { '5', "a/", "", "" }, { '0', "a/f", "", "F" } },
	  .holds = { "a/f", "F" } },
	{ .what = "file, then something below it",
	  .entries = { { '0', "a", "", "A" }, { '0', "a/f", "", "F" } },
	  .message = "entry 2 ('a/f'): 'a' on the way is not a directory",
	  .holds = { "a", "A" } },
	{ .what = "directory, then link of the same name",
	  .entries = { { '0', "a/f", "", "F" }, { '2', "a", ".", "" } },
	  .message = "entry 2 ('a'): a directory of that name is in the way: remove it first",
	  .holds = { "a/f", "F" } },
	{ .what = "directory, then file of the same name",
	  .entries = { { '5', "a", "", "" }, { '0', "a", "", "A" } },
	  .message = "entry 2 ('a'): a directory of that name is in the way: remove it first" },
	{ .what = "link, then directory of the same name",
	  .entries = { { '2', "a", ".", "" }, { '5', "a/", "", "" }, { '0', "a/f", "", "F" } },
	  .holds = { "a/f", "F" } },
	{ .what = "no name",
	  .entries = { { '0', "", "", "x" } },
	  .message = "entry 1 (''): its name is not a plain relative path" },
	{ .what = "a directory without a name",
	  .entries = { { '5', "", "", "" } },
	  .message = "entry 1 (''): its name is not a plain relative path" },
	{ .what = "only a dot",
	  .entries = { { '0', ".", "", "x" } },
	  .message = "entry 1 ('.'): its name is not a plain relative path" },
	{ .what = "the target replaced by a link",
	  .entries = { { '2', "./.", "x", "" } },
	  .message = "entry 1 ('./.'): its name is not a plain relative path" },
	{ .what = "slashes only",
	  .entries = { { '5', "///", "", "" } },
	  .message = "entry 1 ('//'): its name is not a plain relative path" },
	{ .what = "a slash too many",
	  .entries = { { '0', "a//b", "", "x" } },
	  .message = "entry 1 ('a//b'): its name is not a plain relative path" },
};

static void check_attack(const struct attack *attack)
{
	struct unpack_test u;

	start_unpack(&u);
	for (size_t i = 0; i < ARRAY_LEN(attack->entries) && attack->entries[i].name != NULL; i++)
		tar_test_add(&u.tar, attack->entries[i].type, attack->entries[i].name,
		             attack->entries[i].link, view_of(attack->entries[i].text));
	tar_test_end(&u.tar);
	if (attack->message != NULL) {
		CHECK_ERROR(unpack(&u), u.err, ERR_INVALID, attack->message);
	} else {
		CHECK_OK(unpack(&u), u.err);
		assert_int_equal(u.done.skipped, attack->skipped.count);
		CHECK_VIEW(u.done.cursor,
		           attack->skipped.first != NULL ? attack->skipped.first : "");
	}
	if (attack->holds.path != NULL)
		job_test_holds(&u.t, in_target(attack->holds.path), attack->holds.text);
	stop_unpack(&u);
}

static void no_attack_leads_out_of_the_target(void **state)
{
	for (size_t i = 0; i < ARRAY_LEN(attacks); i++) {
		print_message("# %s\n", attacks[i].what);
		check_attack(&attacks[i]);
	}
}

/* Links that were there before are no more a way out than those of the archive. */
static void unpack_refuses_links_that_existed_before(void **state)
{
	struct unpack_test u;

	start_unpack(&u);
	job_test_directory(&u.t, "workspace/t");
	job_test_link(&u.t, "../../outside", "workspace/t/out");
	job_test_link(&u.t, "../../outside/secret", "workspace/t/file");
	job_test_link(&u.t, "../../outside/new", "workspace/t/nowhere");
	tar_test_file(&u.tar, "file", "mine");
	tar_test_file(&u.tar, "nowhere", "mine too");
	tar_test_file(&u.tar, "out/x", "bad");
	tar_test_end(&u.tar);
	CHECK_ERROR(unpack(&u), u.err, ERR_INVALID,
	            "entry 3 ('out/x'): 'out' on the way is a symbolic link");
	job_test_holds(&u.t, "workspace/t/file", "mine");
	job_test_holds(&u.t, "workspace/t/nowhere", "mine too");
	stop_unpack(&u);
}

static void unpack_drops_setuid_bits(void **state)
{
	struct unpack_test u;

	start_unpack(&u);
	for (int i = 0; i < 2; i++) {
		char block[512];

		tar_test_block(block, i == 0 ? '0' : '5', i == 0 ? "f" : "d/", "", 0);
		memcpy(block + 100, i == 0 ? "0007755" : "0007022", 7);
		tar_test_sum(block);
		tar_test_bytes(&u.tar, block, sizeof block);
	}
	tar_test_end(&u.tar);
	CHECK_OK(unpack(&u), u.err);
	assert_int_equal(job_test_mode(&u.t, "workspace/t/f"), S_IFREG | 0755);
	assert_int_equal(job_test_mode(&u.t, "workspace/t/d"), S_IFDIR | 0722);
	stop_unpack(&u);
}

static void unpack_keeps_mode_of_existing_directory(void **state)
{
	struct unpack_test u;

	start_unpack(&u);
	job_test_directory(&u.t, "workspace/t");
	job_test_directory(&u.t, "workspace/t/tmp");
	assert_int_equal(chmod(job_test_path(&u.t, "workspace/t/tmp"), 01777), 0);
	tar_test_add(&u.tar, '5', "tmp/", "", VIEW(""));
	tar_test_end(&u.tar);
	CHECK_OK(unpack(&u), u.err);
	assert_int_equal(job_test_mode(&u.t, "workspace/t/tmp"), S_IFDIR | 01777);
	stop_unpack(&u);
}

/* --- limits ------------------------------------------------------------------------- */

static void unpack_keeps_to_its_limits(void **state)
{
	struct unpack_test u;

	start_unpack(&u);
	tar_test_file(&u.tar, "a", "12345");
	tar_test_file(&u.tar, "b", "12345");
	tar_test_end(&u.tar);
	CHECK_OK(unpack_limited(&u, 10, 2), u.err);
	CHECK_ERROR(unpack_limited(&u, 9, 2), u.err, ERR_LIMIT,
	            "entry 2 ('b'): its 5 bytes are too many: all files together may have 9");
	CHECK_ERROR(
	        unpack_limited(&u, 10, 1), u.err, ERR_LIMIT,
	        "entry 2 ('b'): more than 1 entries, counting the directories on the way to them");
	buf_clear(&u.tar);
	tar_test_header(&u.tar, '0', "huge", "", 077777777777);
	CHECK_ERROR(
	        unpack(&u), u.err, ERR_LIMIT,
	        "entry 1 ('huge'): its 8589934591 bytes are too many: all files together may have 1048576");
	assert_false(job_test_exists(&u.t, "workspace/t/huge"));
	stop_unpack(&u);
}

/* Entries that are left out count too: the limit bounds the work. */
static void unpack_counts_entries_it_leaves_out(void **state)
{
	struct unpack_test u;

	start_unpack(&u);
	for (int i = 0; i < 11; i++)
		tar_test_add(&u.tar, '2', "l", "/", VIEW(""));
	tar_test_end(&u.tar);
	CHECK_ERROR(
	        unpack_limited(&u, 10, 10), u.err, ERR_LIMIT,
	        "entry 11 ('l'): more than 10 entries, counting the directories on the way to them");
	stop_unpack(&u);
}

/* The path of a single entry can have two thousand directories. */
static void unpack_counts_directories_on_the_way(void **state)
{
	static const struct {
		uint32_t max_count;
		const char *message; /* NULL: it is enough */
		const char *last;    /* that is there afterwards, below t */
		const char *missing; /* the first that is not */
	} rows[] = {
		{ 2,
		  "entry 1 ('a/b/c'): more than 2 entries, counting the directories on the way to them",
		  "a", "a/b" },
		{ 3,
		  "entry 2 ('a/b/d'): more than 3 entries, counting the directories on the way to them",
		  "a/b/c", "a/b/d" },
		{ 5,
		  "entry 3 ('e/f/g'): more than 5 entries, counting the directories on the way to them",
		  "a/b/d", "e" },
		{ 7, NULL, "e/f/g", "none" },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct unpack_test u;

		start_unpack(&u);
		tar_test_file(&u.tar, "a/b/c", "C"); /* makes two */
		tar_test_file(&u.tar, "a/b/d", "D");
		tar_test_add(&u.tar, '5', "e/f/g/", "", VIEW("")); /* makes two, and itself */
		tar_test_end(&u.tar);
		if (rows[i].message != NULL) {
			CHECK_ERROR(unpack_limited(&u, 10, rows[i].max_count), u.err, ERR_LIMIT,
			            rows[i].message);
		} else {
			CHECK_OK(unpack_limited(&u, 10, rows[i].max_count), u.err);
			assert_int_equal(u.done.count, 3);
		}
		assert_true(job_test_exists(&u.t, in_target(rows[i].last)));
		assert_false(job_test_exists(&u.t, in_target(rows[i].missing)));
		stop_unpack(&u);
	}
}

static void unpack_refuses_names_that_are_too_long(void **state)
{
	struct unpack_test u;
	char name[300];

	start_unpack(&u);
	memset(name, 'n', 256);
	name[0] = 'd';
	name[1] = '/';
	tar_test_long_name(&u.tar, (struct view){ name, 2 + 254 });
	tar_test_file(&u.tar, "x", "fits");
	tar_test_end(&u.tar);
	CHECK_OK(unpack(&u), u.err);
	assert_int_equal(u.done.count, 1);
	buf_clear(&u.tar);
	name[1] = 'n';
	tar_test_long_name(&u.tar, (struct view){ name, 256 });
	tar_test_file(&u.tar, "x", "does not");
	tar_test_end(&u.tar);
	assert_int_equal(unpack(&u), -1);
	assert_int_equal(u.err.kind, ERR_LIMIT);
	assert_non_null(strstr(u.err.msg, "...'): a part of its name has 256 bytes (at most 255)"));
	stop_unpack(&u);
}

/* The longest name there is, and the deepest tree. */
static void unpack_creates_two_thousand_levels(void **state)
{
	static char name[4096];
	struct unpack_test u;

	start_unpack(&u);
	for (size_t i = 0; i < 4095; i++)
		name[i] = i % 2 == 0 ? 'd' : '/';
	tar_test_long_name(&u.tar, (struct view){ name, 4095 });
	tar_test_file(&u.tar, "x", "deep");
	tar_test_end(&u.tar);
	CHECK_OK(unpack_limited(&u, 10, 2048), u.err);
	assert_int_equal(u.done.count, 1);
	tar_test_run(job_test_path(&u.t, "workspace/t"),
	             "test $(find . -type d | wc -l) = 2048 && test $(find . -type f | wc -l) = 1");
	stop_unpack(&u);
}

/* --- broken archives ---------------------------------------------------------------- */

/* Every prefix of an archive is refused; the entries before the cut stay. */
static void truncated_archive_is_refused_and_says_where(void **state)
{
	static const struct {
		size_t blocks;
		const char *message;
		size_t count; /* entries that are there afterwards */
	} rows[] = {
		{ 0, "the archive is empty: no bytes came", 0 },
		{ 1, "the archive ends within entry 1 ('a')", 0 },
		{ 2, "the archive ends within entry 1 ('a')", 0 },
		{ 3, "the archive ends within entry 1 ('a')", 1 },
		{ 4, "the archive ends within entry 2 ('d')", 2 },
		{ 5, "the archive ends within entry 3", 2 },
		{ 6, "the archive ends within entry 3", 2 },
		{ 7, "the archive ends within entry 3 ('long')", 2 },
		{ 8, "the archive ends within entry 3 ('long')", 3 },
		{ 9, "the archive ends within its trailer", 3 },
	};
	static const char text[600] = "x";

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct unpack_test u;

		start_unpack(&u);
		tar_test_add(&u.tar, '0', "a", "", (struct view){ text, sizeof text });
		tar_test_add(&u.tar, '5', "d/", "", VIEW(""));
		tar_test_long_name(&u.tar, VIEW("long"));
		tar_test_file(&u.tar, "short", "text");
		tar_test_end(&u.tar);
		assert_int_equal(u.tar.len, 10 * 512);
		buf_truncate(&u.tar, rows[i].blocks * 512);
		CHECK_ERROR(unpack(&u), u.err, ERR_SYNTAX, rows[i].message);
		assert_int_equal(job_test_count(&u.t, "workspace/t"), rows[i].count);
		stop_unpack(&u);
	}
}

static void cancelled_unpack_leaves_no_partial_file(void **state)
{
	struct wire_unpack request = { .max = 1 << 20, .max_count = 10, .path = VIEW_INIT("t") };
	struct unpack_test u;
	static char half[100 * 1024];

	start_unpack(&u);
	tar_test_file(&u.tar, "whole", "W");
	tar_test_header(&u.tar, '0', "half", "", 2 * sizeof half);
	tar_test_bytes(&u.tar, half, sizeof half);
	job_test_feed_and_close(&u.t, buf_view(&u.tar));
	CHECK_ERROR(op_unpack(&u.t.job, &request, &u.done, &u.err), u.err, ERR_SYSTEM,
	            "the request was closed");
	assert_int_equal(u.err.errnum, EPIPE);
	job_test_finish(&u.t);
	job_test_holds(&u.t, "workspace/t/whole", "W");
	assert_false(job_test_exists(&u.t, "workspace/t/half"));
	stop_unpack(&u);
}

static void error_names_target_that_cannot_be_opened(void **state)
{
	struct wire_unpack request = { .max = 1, .max_count = 1, .path = VIEW_INIT("t/f/x") };
	struct unpack_test u;

	start_unpack(&u);
	job_test_directory(&u.t, "workspace/t");
	job_test_file(&u.t, "workspace/t/f", VIEW(""));
	job_test_feed(&u.t, VIEW(""));
	CHECK_ERROR(op_unpack(&u.t.job, &request, &u.done, &u.err), u.err, ERR_SYSTEM,
	            "t/f/x: Not a directory");
	stop_unpack(&u);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(unpack_creates_what_the_archive_says),
		TEST(no_attack_leads_out_of_the_target),
		TEST(unpack_refuses_links_that_existed_before),
		TEST(unpack_drops_setuid_bits),
		TEST(unpack_keeps_mode_of_existing_directory),
		TEST(unpack_keeps_to_its_limits),
		TEST(unpack_counts_entries_it_leaves_out),
		TEST(unpack_counts_directories_on_the_way),
		TEST(unpack_refuses_names_that_are_too_long),
		TEST(unpack_creates_two_thousand_levels),
		TEST(truncated_archive_is_refused_and_says_where),
		TEST(cancelled_unpack_leaves_no_partial_file),
		TEST(error_names_target_that_cannot_be_opened),
	};

	return RUN_TESTS("op_unpack", tests);
}
