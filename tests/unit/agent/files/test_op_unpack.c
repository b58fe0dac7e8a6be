#include "unit/agent/files/job_test.h"
#include "unit/agent/files/tar_test.h"

#include "agent/files/archive/archive.h"

/* The target is /workspace/t; /outside has a file that must never change. */
struct unpack_test {
	struct job_test t;
	struct buf tar;
	struct wire_done done;
	struct error err;
};

static void start(struct unpack_test *u)
{
	job_test_start(&u->t);
	job_test_directory(&u->t, "outside");
	job_test_file(&u->t, "outside/secret", VIEW("secret"));
	assert_int_equal(chmod(job_test_path(&u->t, "outside/secret"), 0600), 0);
	tar_test_start(&u->tar);
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

static void stop(struct unpack_test *u)
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

static void makes_what_the_archive_says(void **state)
{
	struct unpack_test u;
	struct stat st, link;

	(void)state;
	start(&u);
	tar_test_add(&u.tar, '5', "./", "", VIEW(""));
	tar_test_add(&u.tar, '5', "./d/", "", VIEW(""));
	tar_test_file(&u.tar, "./d/a", "text");
	tar_test_file(&u.tar, "//abs//deep/./b", "more");
	tar_test_add(&u.tar, '2', "d/s", "../abs/deep/b", VIEW(""));
	tar_test_add(&u.tar, '1', "h", "./d/a", VIEW(""));
	tar_test_file(&u.tar, "empty", "");
	tar_test_end(&u.tar);
	CHECK_OK(unpack(&u), u.err);
	assert_int_equal(u.done.count, 6);
	assert_int_equal(u.done.bytes, 8);
	assert_int_equal(u.done.skipped, 0);
	assert_int_equal(u.done.cursor.len, 0);
	assert_non_null(u.done.cursor.ptr);
	job_test_holds(&u.t, "workspace/t/d/s", "more");
	job_test_holds(&u.t, "workspace/t/h", "text");
	job_test_holds(&u.t, "workspace/t/empty", "");
	assert_int_equal(lstat(job_test_path(&u.t, "workspace/t/d/a"), &st), 0);
	assert_int_equal(st.st_mode, S_IFREG | 0640);
	assert_int_equal(st.st_mtim.tv_sec, 1610612736);
	assert_int_equal(lstat(job_test_path(&u.t, "workspace/t/h"), &link), 0);
	assert_int_equal(st.st_ino, link.st_ino);
	assert_int_equal(job_test_mode(&u.t, "workspace/t/d"), S_IFDIR | 0740);
	stop(&u);
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
	  .message = "entry 1 ('../outside/d/'): its name has '..' in it" },
	{ .what = "absolute",
	  .entries = { { '0', "/outside/secret", "", "mine" } },
	  .holds = { "outside/secret", "mine" } },
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
	  .message = "entry 2 ('l/d/'): 'l' on the way is a symbolic link" },
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
	{ .what = "hard link out",
	  .entries = { { '1', "h", "../../outside/secret", "" } },
	  .message = "entry 1 ('h'): what it links to: its name has '..' in it" },
	{ .what = "absolute hard link",
	  .entries = { { '1', "h", "/outside/secret", "" }, { '0', "f", "", "F" } },
	  .skipped = { 1, "h" },
	  .holds = { "f", "F" } },
	{ .what = "hard link to a link",
	  .entries = { { '2', "d/l", "../..", "" },
	               { '2', "d/e/l", "../..", "" },
	               { '1', "h", "d/e/l", "" },
	               { '0', "h/x", "", "kept" } },
	  .skipped = { 2, "d/l" },
	  .holds = { "h/x", "kept" } },
	{ .what = "hard link through a link",
	  .entries = { { '0', "d/f", "", "F" },
	               { '2', "l", "d", "" },
	               { '1', "h", "l/f", "" },
	               { '0', "h", "", "kept" } },
	  .skipped = { 1, "h" },
	  .holds = { "h", "kept" } },
	{ .what = "hard link to a directory, to nothing and to the target",
	  .entries = { { '5', "d/", "", "" },
	               { '1', "h", "d", "" },
	               { '1', "i", "no", "" },
	               { '1', "j", "/", "" },
	               { '0', "f", "", "F" } },
	  .skipped = { 3, "h" },
	  .holds = { "f", "F" } },
	{ .what = "hard link to itself",
	  .entries = { { '0', "f", "", "F" }, { '1', "./f", "f", "" } },
	  .holds = { "f", "F" } },
	{ .what = "file over a hard link does not write through it",
	  .entries = { { '0', "f", "", "F" }, { '1', "h", "f", "" }, { '0', "h", "", "H" } },
	  .holds = { "f", "F" } },
	{ .what = "hard link without a name to link to",
	  .entries = { { '1', "h", "", "" } },
	  .message = "entry 1 ('h'): what it links to: its name is empty" },
	{ .what = "devices and FIFOs",
	  .entries = { { '3', "c", "", "" },
	               { '4', "b", "", "" },
	               { '6', "p", "", "" },
	               { '0', "f", "", "F" } },
	  .skipped = { 3, "c" },
	  .holds = { "f", "F" } },
	{ .what = "types nobody knows, with data",
	  .entries = { { 'Z', "z", "", "data" }, { 'S', "s", "", "x" }, { '0', "f", "", "F" } },
	  .skipped = { 2, "z" },
	  .holds = { "f", "F" } },
	{ .what = "the last of a name wins",
	  .entries = { { '0', "f", "", "one" }, { '0', "./f", "", "two" }, { '0', "/f", "", "3" } },
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
	  .message = "entry 1 (''): its name is empty" },
	{ .what = "a directory without a name",
	  .entries = { { '5', "", "", "" } },
	  .message = "entry 1 (''): its name is empty" },
	{ .what = "only a dot",
	  .entries = { { '0', ".", "", "x" } },
	  .message = "entry 1 ('.'): its name names nothing" },
	{ .what = "the target replaced by a link",
	  .entries = { { '2', "./.", "x", "" } },
	  .message = "entry 1 ('./.'): its name names nothing" },
	{ .what = "slashes only",
	  .entries = { { '5', "///", "", "" }, { '0', "f", "", "F" } },
	  .holds = { "f", "F" } },
};

static void check_attack(const struct attack *attack)
{
	struct unpack_test u;

	start(&u);
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
	stop(&u);
}

static void nothing_leads_out_of_the_target(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(attacks); i++) {
		print_message("# %s\n", attacks[i].what);
		check_attack(&attacks[i]);
	}
}

/* Links that were there before are no more a way out than those of the archive. */
static void refuses_links_that_were_there_before(void **state)
{
	struct unpack_test u;

	(void)state;
	start(&u);
	job_test_directory(&u.t, "workspace/t");
	job_test_link(&u.t, "../../outside", "workspace/t/out");
	job_test_link(&u.t, "../../outside/secret", "workspace/t/file");
	job_test_link(&u.t, "../../outside/new", "workspace/t/nowhere");
	tar_test_file(&u.tar, "file", "mine");
	tar_test_file(&u.tar, "nowhere", "mine too");
	tar_test_file(&u.tar, "out/x", "bad");
	CHECK_ERROR(unpack(&u), u.err, ERR_INVALID,
	            "entry 3 ('out/x'): 'out' on the way is a symbolic link");
	job_test_holds(&u.t, "workspace/t/file", "mine");
	job_test_holds(&u.t, "workspace/t/nowhere", "mine too");
	stop(&u);
}

static void drops_setuid_and_its_like(void **state)
{
	struct unpack_test u;

	(void)state;
	start(&u);
	for (int i = 0; i < 2; i++) {
		char block[512];

		tar_test_block(block, i == 0 ? '0' : '5', i == 0 ? "f" : "d", "", "0");
		memcpy(block + 100, i == 0 ? "0007755" : "0007022", 7);
		tar_test_sum(block);
		tar_test_bytes(&u.tar, block, sizeof block);
	}
	CHECK_OK(unpack(&u), u.err);
	assert_int_equal(job_test_mode(&u.t, "workspace/t/f"), S_IFREG | 0755);
	assert_int_equal(job_test_mode(&u.t, "workspace/t/d"), S_IFDIR | 0722);
	stop(&u);
}

static void leaves_directories_that_are_there_as_they_are(void **state)
{
	struct unpack_test u;

	(void)state;
	start(&u);
	job_test_directory(&u.t, "workspace/t");
	job_test_directory(&u.t, "workspace/t/tmp");
	assert_int_equal(chmod(job_test_path(&u.t, "workspace/t/tmp"), 01777), 0);
	tar_test_add(&u.tar, '5', "tmp/", "", VIEW(""));
	CHECK_OK(unpack(&u), u.err);
	assert_int_equal(job_test_mode(&u.t, "workspace/t/tmp"), S_IFDIR | 01777);
	stop(&u);
}

/* --- limits ------------------------------------------------------------------------- */

static void keeps_to_its_limits(void **state)
{
	struct unpack_test u;

	(void)state;
	start(&u);
	tar_test_file(&u.tar, "a", "12345");
	tar_test_file(&u.tar, "b", "12345");
	tar_test_end(&u.tar);
	CHECK_OK(unpack_limited(&u, 10, 2), u.err);
	CHECK_ERROR(unpack_limited(&u, 9, 2), u.err, ERR_LIMIT,
	            "entry 2 ('b'): its 5 bytes are too many: all files together may have 9");
	CHECK_ERROR(unpack_limited(&u, 10, 1), u.err, ERR_LIMIT,
	            "the archive has more than 1 entries");
	buf_clear(&u.tar);
	tar_test_header(&u.tar, '0', "huge", "", 077777777777);
	CHECK_ERROR(unpack(&u), u.err, ERR_LIMIT,
	            "entry 1 ('huge'): its 8589934591 bytes are too many: all files together may "
	            "have 1048576");
	assert_false(job_test_exists(&u.t, "workspace/t/huge"));
	stop(&u);
}

/* Left-out entries count too: the work is what is limited. */
static void counts_what_it_leaves_out(void **state)
{
	struct unpack_test u;

	(void)state;
	start(&u);
	for (int i = 0; i < 11; i++)
		tar_test_add(&u.tar, '6', "p", "", VIEW(""));
	tar_test_end(&u.tar);
	CHECK_ERROR(unpack_limited(&u, 10, 10), u.err, ERR_LIMIT,
	            "the archive has more than 10 entries");
	stop(&u);
}

/* One entry can name two thousand of them. */
static void counts_the_directories_on_the_way(void **state)
{
	static const struct {
		uint32_t max_count;
		const char *message; /* NULL: it is enough */
		const char *last;    /* that is there afterwards, below t */
		const char *missing; /* the first that is not */
	} rows[] = {
		{ 2,
		  "entry 1 ('a/b/c'): more than 2 entries, counting the directories on the way to "
		  "them",
		  "a", "a/b" },
		{ 3,
		  "entry 2 ('a/b/d'): more than 3 entries, counting the directories on the way to "
		  "them",
		  "a/b/c", "a/b/d" },
		{ 5,
		  "entry 3 ('e/f/g/'): more than 5 entries, counting the directories on the way to "
		  "them",
		  "a/b/d", "e" },
		{ 7, NULL, "e/f/g", "none" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct unpack_test u;

		start(&u);
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
		stop(&u);
	}
}

static void refuses_names_that_are_too_long(void **state)
{
	struct unpack_test u;
	char name[300];

	(void)state;
	start(&u);
	memset(name, 'n', 256);
	name[0] = 'd';
	name[1] = '/';
	tar_test_add(&u.tar, 'L', "", "", (struct view){ name, 2 + 254 });
	tar_test_file(&u.tar, "x", "fits");
	tar_test_end(&u.tar);
	CHECK_OK(unpack(&u), u.err);
	assert_int_equal(u.done.count, 1);
	buf_clear(&u.tar);
	name[1] = 'n';
	tar_test_add(&u.tar, 'L', "", "", (struct view){ name, 256 });
	tar_test_file(&u.tar, "x", "does not");
	tar_test_end(&u.tar);
	assert_int_equal(unpack(&u), -1);
	assert_int_equal(u.err.kind, ERR_LIMIT);
	assert_non_null(strstr(u.err.msg, "...'): a part of its name has 256 bytes (at most 255)"));
	stop(&u);
}

/* The longest name there is, and the deepest tree. */
static void unpacks_two_thousand_levels(void **state)
{
	static char name[4096];
	struct unpack_test u;

	(void)state;
	start(&u);
	for (size_t i = 0; i < 4095; i++)
		name[i] = i % 2 == 0 ? 'd' : '/';
	tar_test_add(&u.tar, 'L', "", "", (struct view){ name, 4095 });
	tar_test_file(&u.tar, "x", "deep");
	tar_test_end(&u.tar);
	CHECK_OK(unpack_limited(&u, 10, 2048), u.err);
	assert_int_equal(u.done.count, 1);
	tar_test_run(job_test_path(&u.t, "workspace/t"),
	             "test $(find . -type d | wc -l) = 2048 && test $(find . -type f | wc -l) = 1");
	stop(&u);
}

/* --- broken archives ---------------------------------------------------------------- */

/* Every prefix of an archive is refused or, between entries, taken. */
static void says_where_an_archive_ends_too_early(void **state)
{
	static const struct {
		size_t blocks;
		const char *message;
		uint64_t count;
	} rows[] = {
		{ 0, "the archive is empty: no bytes came", 0 },
		{ 1, "the archive ends within entry 1 ('a')", 0 },
		{ 2, "the archive ends within entry 1 ('a')", 0 },
		{ 3, NULL, 1 },
		{ 4, NULL, 2 },
		{ 5, "the archive ends within entry 3", 0 },
		{ 6, "the archive ends within entry 3", 0 },
		{ 7, "the archive ends within entry 3 ('long')", 0 },
		{ 8, NULL, 3 },
		{ 9, NULL, 3 },
		{ 10, NULL, 3 },
	};
	static const char text[600] = "x";
	struct unpack_test u;

	(void)state;
	start(&u);
	tar_test_add(&u.tar, '0', "a", "", (struct view){ text, sizeof text });
	tar_test_add(&u.tar, '5', "d/", "", VIEW(""));
	tar_test_add(&u.tar, 'x', "x", "", VIEW("13 path=long\n"));
	tar_test_file(&u.tar, "short", "text");
	tar_test_end(&u.tar);
	assert_int_equal(u.tar.len, 10 * 512);
	for (size_t i = ARRAY_LEN(rows); i-- > 0;) {
		buf_truncate(&u.tar, rows[i].blocks * 512);
		if (rows[i].message != NULL) {
			CHECK_ERROR(unpack(&u), u.err, ERR_SYNTAX, rows[i].message);
			assert_false(rows[i].blocks < 3 && job_test_exists(&u.t, "workspace/t/a"));
			continue;
		}
		CHECK_OK(unpack(&u), u.err);
		assert_int_equal(u.done.count, rows[i].count);
	}
	stop(&u);
}

static void refuses_sizes_that_make_no_sense(void **state)
{
	static const char *const sizes[] = {
		"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
		"\x80\x7f\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
		"-0000000512",
	};
	struct unpack_test u;
	char block[512];

	(void)state;
	start(&u);
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		tar_test_block(block, '0', "a", "", "0");
		memcpy(block + 124, sizes[i], strlen(sizes[i]));
		tar_test_sum(block);
		buf_clear(&u.tar);
		tar_test_file(&u.tar, "good", "");
		tar_test_bytes(&u.tar, block, sizeof block);
		tar_test_end(&u.tar);
		CHECK_ERROR(unpack(&u), u.err, ERR_SYNTAX, "entry 2: not a tar header");
	}
	stop(&u);
}

static void drains_what_follows_the_end_but_not_for_ever(void **state)
{
	struct unpack_test u;
	static char more[64 * 1024];

	(void)state;
	start(&u);
	buf_done(&u.tar);
	buf_init(&u.tar, 64 * 1024 * 1024);
	tar_test_file(&u.tar, "a", "A");
	tar_test_end(&u.tar);
	for (int i = 0; i < 16; i++)
		tar_test_bytes(&u.tar, more, sizeof more);
	CHECK_OK(unpack(&u), u.err);
	for (int i = 0; i < 256; i++)
		tar_test_bytes(&u.tar, more, sizeof more);
	CHECK_ERROR(unpack(&u), u.err, ERR_LIMIT,
	            "more than 16777216 bytes behind the archive's end");
	stop(&u);
}

static void leaves_no_half_file_when_the_agent_goes(void **state)
{
	struct wire_unpack request = { .max = 1 << 20, .max_count = 10, .path = VIEW_INIT("t") };
	struct unpack_test u;
	static char half[100 * 1024];

	(void)state;
	start(&u);
	tar_test_file(&u.tar, "whole", "W");
	tar_test_header(&u.tar, '0', "half", "", 2 * sizeof half);
	tar_test_bytes(&u.tar, half, sizeof half);
	job_test_feed_and_leave(&u.t, buf_view(&u.tar));
	CHECK_ERROR(op_unpack(&u.t.job, &request, &u.done, &u.err), u.err, ERR_SYSTEM,
	            "the request was closed");
	assert_int_equal(u.err.errnum, EPIPE);
	job_test_finish(&u.t);
	job_test_holds(&u.t, "workspace/t/whole", "W");
	assert_false(job_test_exists(&u.t, "workspace/t/half"));
	stop(&u);
}

static void names_the_target_it_cannot_open(void **state)
{
	struct wire_unpack request = { .max = 1, .max_count = 1, .path = VIEW_INIT("t/f/x") };
	struct unpack_test u;

	(void)state;
	start(&u);
	job_test_directory(&u.t, "workspace/t");
	job_test_file(&u.t, "workspace/t/f", VIEW(""));
	job_test_feed(&u.t, VIEW(""));
	CHECK_ERROR(op_unpack(&u.t.job, &request, &u.done, &u.err), u.err, ERR_SYSTEM,
	            "t/f/x: Not a directory");
	stop(&u);
}

/* --- archives of the system's tar ------------------------------------------------------ */

static const char make_tree[] =
        "mkdir -p src/d/e src/empty && cd src && printf hello >d/a && : >d/e/none &&"
        " head -c 100000 /dev/urandom >d/e/big && ln d/a hard && ln -s d/a soft &&"
        " ln -s ../a d/e/up && printf x >\"$(printf 'n\\344me \\n')\" && chmod 751 d/a &&"
        " long=$(printf %0100d 1) && ";
static const char set_times[] = " find . -exec touch -h -d @1600000000 {} +";
static const char long_names[] =
        "mkdir -p $long/$long/$long && printf deep >$long/$long/$long/$long$long &&"
        " ln -s $long/$long/$long/$long$long link && ln $long/$long/$long/$long$long hardlong &&";

static void unpacks_what_tar_packs(void **state)
{
	static const struct {
		const char *format;
		const char *names; /* what the format is able to hold */
	} rows[] = {
		{ "gnu", long_names },   { "oldgnu", long_names }, { "pax", long_names },
		{ "posix", long_names }, { "ustar", "" },          { "v7", "" },
	};
	char command[2048];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct unpack_test u;

		start(&u);
		job_test_directory(&u.t, "workspace/t");
		job_test_directory(&u.t, "workspace/w");
		(void)snprintf(command, sizeof command, "%s%s%s", make_tree, rows[i].names,
		               set_times);
		tar_test_run(job_test_path(&u.t, "workspace/w"), command);
		(void)snprintf(command, sizeof command, "tar --format=%s -C src -cf a.tar .",
		               rows[i].format);
		tar_test_run(job_test_path(&u.t, "workspace/w"), command);
		tar_test_read(&u.tar, job_test_path(&u.t, "workspace/w/a.tar"));
		CHECK_OK(unpack(&u), u.err);
		assert_int_equal(u.done.skipped, 0);
		tar_test_run(job_test_path(&u.t, "workspace/w"),
		             "diff -r --no-dereference src ../t &&"
		             " list() { cd $1 && find . ! -type d -printf '%p %y %m %T@ %n %l\\n' |"
		             " LC_ALL=C sort; } &&"
		             " (list src) >one && (list ../t) >two && cmp one two && rm -r ../w");
		stop(&u);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(makes_what_the_archive_says),
		TEST(nothing_leads_out_of_the_target),
		TEST(refuses_links_that_were_there_before),
		TEST(drops_setuid_and_its_like),
		TEST(leaves_directories_that_are_there_as_they_are),
		TEST(keeps_to_its_limits),
		TEST(counts_what_it_leaves_out),
		TEST(counts_the_directories_on_the_way),
		TEST(refuses_names_that_are_too_long),
		TEST(unpacks_two_thousand_levels),
		TEST(says_where_an_archive_ends_too_early),
		TEST(refuses_sizes_that_make_no_sense),
		TEST(drains_what_follows_the_end_but_not_for_ever),
		TEST(leaves_no_half_file_when_the_agent_goes),
		TEST(names_the_target_it_cannot_open),
		TEST(unpacks_what_tar_packs),
	};

	return RUN_TESTS("op_unpack", tests);
}
