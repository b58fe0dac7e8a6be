#include "job_test.h"
#include "tar_test.h"

#include "agent/ops.h"

/* The target is /workspace/t; /outside has a file that must never change. */
static void start(struct job_test *t, struct buf *tar)
{
	job_test_start(t);
	job_test_directory(t, "outside");
	job_test_file(t, "outside/secret", VIEW("secret"));
	assert_int_equal(chmod(job_test_path(t, "outside/secret"), 0600), 0);
	tar_test_start(tar);
}

static int unpack_limited(struct job_test *t, const struct buf *tar, uint64_t max,
                          uint32_t max_count, struct wire_done *done, struct error *err)
{
	struct wire_unpack request = { .max = max, .max_count = max_count, .path = VIEW_INIT("t") };
	int r;

	job_test_feed(t, buf_view(tar));
	r = op_unpack(&t->job, &request, done, err);
	job_test_again(t);
	return r;
}

static int unpack(struct job_test *t, const struct buf *tar, struct wire_done *done,
                  struct error *err)
{
	return unpack_limited(t, tar, 1024 * 1024, 1000, done, err);
}

static void stop(struct job_test *t)
{
	struct stat st;

	job_test_holds(t, "outside/secret", "secret");
	assert_int_equal(lstat(job_test_path(t, "outside/secret"), &st), 0);
	assert_int_equal(st.st_nlink, 1);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(job_test_count(t, "outside"), 1);
	assert_int_equal(job_test_count(t, ""), 2);
	assert_int_equal(job_test_count(t, "workspace"), 1);
	job_test_stop(t);
}

static void makes_what_the_archive_says(void **state)
{
	AUTO_BUF struct buf tar;
	struct job_test t;
	struct wire_done done;
	struct error err;
	struct stat st, link;

	(void)state;
	start(&t, &tar);
	tar_test_add(&tar, '5', "./", "", VIEW(""));
	tar_test_add(&tar, '5', "./d/", "", VIEW(""));
	tar_test_file(&tar, "./d/a", "text");
	tar_test_file(&tar, "//abs//deep/./b", "more");
	tar_test_add(&tar, '2', "d/s", "../abs/deep/b", VIEW(""));
	tar_test_add(&tar, '1', "h", "./d/a", VIEW(""));
	tar_test_file(&tar, "empty", "");
	tar_test_end(&tar);
	CHECK_OK(unpack(&t, &tar, &done, &err), err);
	assert_int_equal(done.count, 6);
	assert_int_equal(done.bytes, 8);
	assert_int_equal(done.skipped, 0);
	assert_int_equal(done.cursor.len, 0);
	assert_non_null(done.cursor.ptr);
	job_test_holds(&t, "workspace/t/d/s", "more");
	job_test_holds(&t, "workspace/t/h", "text");
	job_test_holds(&t, "workspace/t/empty", "");
	assert_int_equal(lstat(job_test_path(&t, "workspace/t/d/a"), &st), 0);
	assert_int_equal(st.st_mode, S_IFREG | 0640);
	assert_int_equal(st.st_mtim.tv_sec, 1610612736);
	assert_int_equal(lstat(job_test_path(&t, "workspace/t/h"), &link), 0);
	assert_int_equal(st.st_ino, link.st_ino);
	assert_int_equal(job_test_mode(&t, "workspace/t/d"), S_IFDIR | 0740);
	stop(&t);
}

/* --- names and links that lead elsewhere -------------------------------------------- */

struct attack {
	const char *what;
	struct {
		char type;
		const char *name, *link, *text;
	} entries[5];
	const char *message;      /* refused with this, or */
	uint64_t skipped;         /* so many left out, */
	const char *first;        /* the first of which is this */
	const char *path, *holds; /* afterwards, below t */
};

static const struct attack attacks[] = {
	{ .what = "zip slip",
	  .entries = { { '0', "../../outside/secret", "", "bad" } },
	  .message = "entry 1 ('../../outside/secret'): its name has '..' in it" },
	{ .what = "zip slip in the middle, after a good one",
	  .entries = { { '0', "a", "", "A" }, { '0', "a/../../../outside/x", "", "bad" } },
	  .message = "entry 2 ('a/../../../outside/x'): its name has '..' in it",
	  .path = "a",
	  .holds = "A" },
	{ .what = "only ..",
	  .entries = { { '5', "..", "", "" } },
	  .message = "entry 1 ('..'): its name has '..' in it" },
	{ .what = ".. in a directory",
	  .entries = { { '5', "../outside/d/", "", "" } },
	  .message = "entry 1 ('../outside/d/'): its name has '..' in it" },
	{ .what = "absolute",
	  .entries = { { '0', "/outside/secret", "", "mine" } },
	  .path = "outside/secret",
	  .holds = "mine" },
	{ .what = "link out, then write through it",
	  .entries = { { '2', "l", "../../outside", "" }, { '0', "l/secret", "", "bad" } },
	  .skipped = 1,
	  .first = "l",
	  .path = "l/secret",
	  .holds = "bad" },
	{ .what = "absolute link, then write through it",
	  .entries = { { '2', "l", "/outside", "" }, { '0', "l/x", "", "bad" } },
	  .skipped = 1,
	  .first = "l",
	  .path = "l/x",
	  .holds = "bad" },
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
	  .skipped = 1,
	  .first = "x",
	  .path = "x/outside/y",
	  .holds = "kept" },
	{ .what = "one level too high",
	  .entries = { { '2', "a/b/l", "../../..", "" }, { '0', "f", "", "F" } },
	  .skipped = 1,
	  .first = "a/b/l",
	  .path = "f",
	  .holds = "F" },
	{ .what = "as high as the target, dots and slashes between",
	  .entries = { { '0', "f", "", "F" }, { '2', "a/b/l", ".././/..//f", "" } },
	  .path = "a/b/l",
	  .holds = "F" },
	{ .what = "link to itself by an empty name",
	  .entries = { { '2', "l", "", "" }, { '0', "f", "", "F" } },
	  .skipped = 1,
	  .first = "l",
	  .path = "f",
	  .holds = "F" },
	{ .what = "file over a link",
	  .entries = { { '0', "f", "", "F" }, { '2', "l", "f", "" }, { '0', "l", "", "L" } },
	  .path = "f",
	  .holds = "F" },
	{ .what = "hard link out",
	  .entries = { { '1', "h", "../../outside/secret", "" } },
	  .message = "entry 1 ('h'): what it links to: its name has '..' in it" },
	{ .what = "absolute hard link",
	  .entries = { { '1', "h", "/outside/secret", "" }, { '0', "f", "", "F" } },
	  .skipped = 1,
	  .first = "h",
	  .path = "f",
	  .holds = "F" },
	{ .what = "hard link to a link",
	  .entries = { { '2', "d/l", "../..", "" },
	               { '2', "d/e/l", "../..", "" },
	               { '1', "h", "d/e/l", "" },
	               { '0', "h/x", "", "kept" } },
	  .skipped = 2,
	  .first = "d/l",
	  .path = "h/x",
	  .holds = "kept" },
	{ .what = "hard link through a link",
	  .entries = { { '0', "d/f", "", "F" },
	               { '2', "l", "d", "" },
	               { '1', "h", "l/f", "" },
	               { '0', "h", "", "kept" } },
	  .skipped = 1,
	  .first = "h",
	  .path = "h",
	  .holds = "kept" },
	{ .what = "hard link to a directory, to nothing and to the target",
	  .entries = { { '5', "d/", "", "" },
	               { '1', "h", "d", "" },
	               { '1', "i", "no", "" },
	               { '1', "j", "/", "" },
	               { '0', "f", "", "F" } },
	  .skipped = 3,
	  .first = "h",
	  .path = "f",
	  .holds = "F" },
	{ .what = "hard link to itself",
	  .entries = { { '0', "f", "", "F" }, { '1', "./f", "f", "" } },
	  .path = "f",
	  .holds = "F" },
	{ .what = "file over a hard link does not write through it",
	  .entries = { { '0', "f", "", "F" }, { '1', "h", "f", "" }, { '0', "h", "", "H" } },
	  .path = "f",
	  .holds = "F" },
	{ .what = "hard link without a name to link to",
	  .entries = { { '1', "h", "", "" } },
	  .message = "entry 1 ('h'): what it links to: its name is empty" },
	{ .what = "devices and FIFOs",
	  .entries = { { '3', "c", "", "" },
	               { '4', "b", "", "" },
	               { '6', "p", "", "" },
	               { '0', "f", "", "F" } },
	  .skipped = 3,
	  .first = "c",
	  .path = "f",
	  .holds = "F" },
	{ .what = "types nobody knows, with data",
	  .entries = { { 'Z', "z", "", "data" }, { 'S', "s", "", "x" }, { '0', "f", "", "F" } },
	  .skipped = 2,
	  .first = "z",
	  .path = "f",
	  .holds = "F" },
	{ .what = "the last of a name wins",
	  .entries = { { '0', "f", "", "one" }, { '0', "./f", "", "two" }, { '0', "/f", "", "3" } },
	  .path = "f",
	  .holds = "3" },
	{ .what = "file, then directory of the same name",
	  .entries = { { '0', "a", "", "A" }, { '5', "a/", "", "" }, { '0', "a/f", "", "F" } },
	  .path = "a/f",
	  .holds = "F" },
	{ .what = "file, then something below it",
	  .entries = { { '0', "a", "", "A" }, { '0', "a/f", "", "F" } },
	  .message = "entry 2 ('a/f'): 'a' on the way is not a directory",
	  .path = "a",
	  .holds = "A" },
	{ .what = "directory, then link of the same name",
	  .entries = { { '0', "a/f", "", "F" }, { '2', "a", ".", "" } },
	  .message = "entry 2 ('a'): a directory of that name is in the way: remove it first",
	  .path = "a/f",
	  .holds = "F" },
	{ .what = "directory, then file of the same name",
	  .entries = { { '5', "a", "", "" }, { '0', "a", "", "A" } },
	  .message = "entry 2 ('a'): a directory of that name is in the way: remove it first" },
	{ .what = "link, then directory of the same name",
	  .entries = { { '2', "a", ".", "" }, { '5', "a/", "", "" }, { '0', "a/f", "", "F" } },
	  .path = "a/f",
	  .holds = "F" },
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
	  .path = "f",
	  .holds = "F" },
};

static void check_attack(const struct attack *attack)
{
	AUTO_BUF struct buf tar;
	struct job_test t;
	struct wire_done done;
	struct error err;
	char path[128];

	start(&t, &tar);
	for (size_t i = 0; i < ARRAY_LEN(attack->entries) && attack->entries[i].name != NULL; i++)
		tar_test_add(&tar, attack->entries[i].type, attack->entries[i].name,
		             attack->entries[i].link, view_of(attack->entries[i].text));
	tar_test_end(&tar);
	if (attack->message != NULL) {
		CHECK_ERROR(unpack(&t, &tar, &done, &err), err, ERR_INVALID, attack->message);
	} else {
		CHECK_OK(unpack(&t, &tar, &done, &err), err);
		assert_int_equal(done.skipped, attack->skipped);
		CHECK_VIEW(done.cursor, attack->first != NULL ? attack->first : "");
	}
	if (attack->path != NULL) {
		(void)snprintf(path, sizeof path, "workspace/t/%s", attack->path);
		job_test_holds(&t, path, attack->holds);
	}
	stop(&t);
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
	AUTO_BUF struct buf tar;
	struct job_test t;
	struct wire_done done;
	struct error err;

	(void)state;
	start(&t, &tar);
	job_test_directory(&t, "workspace/t");
	job_test_link(&t, "../../outside", "workspace/t/out");
	job_test_link(&t, "../../outside/secret", "workspace/t/file");
	job_test_link(&t, "../../outside/new", "workspace/t/nowhere");
	tar_test_file(&tar, "file", "mine");
	tar_test_file(&tar, "nowhere", "mine too");
	tar_test_file(&tar, "out/x", "bad");
	CHECK_ERROR(unpack(&t, &tar, &done, &err), err, ERR_INVALID,
	            "entry 3 ('out/x'): 'out' on the way is a symbolic link");
	job_test_holds(&t, "workspace/t/file", "mine");
	job_test_holds(&t, "workspace/t/nowhere", "mine too");
	stop(&t);
}

static void drops_setuid_and_its_like(void **state)
{
	AUTO_BUF struct buf tar;
	struct job_test t;
	struct wire_done done;
	struct error err;

	(void)state;
	start(&t, &tar);
	for (int i = 0; i < 2; i++) {
		char block[512];

		tar_test_block(block, i == 0 ? '0' : '5', i == 0 ? "f" : "d", "", "0");
		memcpy(block + 100, i == 0 ? "0007755" : "0007022", 7);
		tar_test_sum(block);
		tar_test_bytes(&tar, block, sizeof block);
	}
	CHECK_OK(unpack(&t, &tar, &done, &err), err);
	assert_int_equal(job_test_mode(&t, "workspace/t/f"), S_IFREG | 0755);
	assert_int_equal(job_test_mode(&t, "workspace/t/d"), S_IFDIR | 0722);
	stop(&t);
}

static void leaves_directories_that_are_there_as_they_are(void **state)
{
	AUTO_BUF struct buf tar;
	struct job_test t;
	struct wire_done done;
	struct error err;

	(void)state;
	start(&t, &tar);
	job_test_directory(&t, "workspace/t");
	job_test_directory(&t, "workspace/t/tmp");
	assert_int_equal(chmod(job_test_path(&t, "workspace/t/tmp"), 01777), 0);
	tar_test_add(&tar, '5', "tmp/", "", VIEW(""));
	CHECK_OK(unpack(&t, &tar, &done, &err), err);
	assert_int_equal(job_test_mode(&t, "workspace/t/tmp"), S_IFDIR | 01777);
	stop(&t);
}

/* --- limits ------------------------------------------------------------------------- */

static void keeps_to_its_limits(void **state)
{
	AUTO_BUF struct buf tar;
	struct job_test t;
	struct wire_done done;
	struct error err;

	(void)state;
	start(&t, &tar);
	tar_test_file(&tar, "a", "12345");
	tar_test_file(&tar, "b", "12345");
	tar_test_end(&tar);
	CHECK_OK(unpack_limited(&t, &tar, 10, 2, &done, &err), err);
	CHECK_ERROR(unpack_limited(&t, &tar, 9, 2, &done, &err), err, ERR_LIMIT,
	            "entry 2 ('b'): its 5 bytes are too many: all files together may have 9");
	CHECK_ERROR(unpack_limited(&t, &tar, 10, 1, &done, &err), err, ERR_LIMIT,
	            "the archive has more than 1 entries");
	buf_clear(&tar);
	tar_test_header(&tar, '0', "huge", "", 077777777777);
	CHECK_ERROR(unpack(&t, &tar, &done, &err), err, ERR_LIMIT,
	            "entry 1 ('huge'): its 8589934591 bytes are too many: all files together may "
	            "have 1048576");
	assert_false(job_test_exists(&t, "workspace/t/huge"));
	stop(&t);
}

/* Left-out entries count too: the work is what is limited. */
static void counts_what_it_leaves_out(void **state)
{
	AUTO_BUF struct buf tar;
	struct job_test t;
	struct wire_done done;
	struct error err;

	(void)state;
	start(&t, &tar);
	for (int i = 0; i < 11; i++)
		tar_test_add(&tar, '6', "p", "", VIEW(""));
	tar_test_end(&tar);
	CHECK_ERROR(unpack_limited(&t, &tar, 10, 10, &done, &err), err, ERR_LIMIT,
	            "the archive has more than 10 entries");
	stop(&t);
}

/* One entry can name two thousand of them. */
static void counts_the_directories_on_the_way(void **state)
{
	static const struct {
		uint32_t max_count;
		const char *message; /* NULL: it is enough */
		const char *last;    /* that is there afterwards, below t */
		const char * not ;   /* the first that is not */
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
		AUTO_BUF struct buf tar;
		struct job_test t;
		struct wire_done done;
		struct error err;
		char path[64];

		start(&t, &tar);
		tar_test_file(&tar, "a/b/c", "C"); /* makes two */
		tar_test_file(&tar, "a/b/d", "D");
		tar_test_add(&tar, '5', "e/f/g/", "", VIEW("")); /* makes two, and itself */
		tar_test_end(&tar);
		if (rows[i].message != NULL) {
			CHECK_ERROR(unpack_limited(&t, &tar, 10, rows[i].max_count, &done, &err),
			            err, ERR_LIMIT, rows[i].message);
		} else {
			CHECK_OK(unpack_limited(&t, &tar, 10, rows[i].max_count, &done, &err), err);
			assert_int_equal(done.count, 3);
		}
		(void)snprintf(path, sizeof path, "workspace/t/%s", rows[i].last);
		assert_true(job_test_exists(&t, path));
		(void)snprintf(path, sizeof path, "workspace/t/%s", rows[i].not );
		assert_false(job_test_exists(&t, path));
		stop(&t);
	}
}

static void refuses_names_that_are_too_long(void **state)
{
	AUTO_BUF struct buf tar;
	struct job_test t;
	struct wire_done done;
	struct error err;
	char name[300];

	(void)state;
	start(&t, &tar);
	memset(name, 'n', 256);
	name[0] = 'd';
	name[1] = '/';
	tar_test_add(&tar, 'L', "", "", (struct view){ name, 2 + 254 });
	tar_test_file(&tar, "x", "fits");
	tar_test_end(&tar);
	CHECK_OK(unpack(&t, &tar, &done, &err), err);
	assert_int_equal(done.count, 1);
	buf_clear(&tar);
	name[1] = 'n';
	tar_test_add(&tar, 'L', "", "", (struct view){ name, 256 });
	tar_test_file(&tar, "x", "does not");
	tar_test_end(&tar);
	assert_int_equal(unpack(&t, &tar, &done, &err), -1);
	assert_int_equal(err.kind, ERR_LIMIT);
	assert_non_null(strstr(err.msg, "...'): a part of its name has 256 bytes (at most 255)"));
	stop(&t);
}

/* The longest name there is, and the deepest tree. */
static void unpacks_two_thousand_levels(void **state)
{
	static char name[4096];
	AUTO_BUF struct buf tar;
	struct job_test t;
	struct wire_done done;
	struct error err;

	(void)state;
	start(&t, &tar);
	for (size_t i = 0; i < 4095; i++)
		name[i] = i % 2 == 0 ? 'd' : '/';
	tar_test_add(&tar, 'L', "", "", (struct view){ name, 4095 });
	tar_test_file(&tar, "x", "deep");
	tar_test_end(&tar);
	CHECK_OK(unpack_limited(&t, &tar, 10, 2048, &done, &err), err);
	assert_int_equal(done.count, 1);
	tar_test_run(job_test_path(&t, "workspace/t"),
	             "test $(find . -type d | wc -l) = 2048 && test $(find . -type f | wc -l) = 1");
	stop(&t);
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
	AUTO_BUF struct buf tar;
	struct job_test t;
	struct wire_done done;
	struct error err;

	(void)state;
	start(&t, &tar);
	tar_test_add(&tar, '0', "a", "", (struct view){ text, sizeof text });
	tar_test_add(&tar, '5', "d/", "", VIEW(""));
	tar_test_add(&tar, 'x', "x", "", VIEW("13 path=long\n"));
	tar_test_file(&tar, "short", "text");
	tar_test_end(&tar);
	assert_int_equal(tar.len, 10 * 512);
	for (size_t i = ARRAY_LEN(rows); i-- > 0;) {
		buf_cut(&tar, rows[i].blocks * 512);
		if (rows[i].message != NULL) {
			CHECK_ERROR(unpack(&t, &tar, &done, &err), err, ERR_SYNTAX,
			            rows[i].message);
			assert_false(rows[i].blocks < 3 && job_test_exists(&t, "workspace/t/a"));
			continue;
		}
		CHECK_OK(unpack(&t, &tar, &done, &err), err);
		assert_int_equal(done.count, rows[i].count);
	}
	stop(&t);
}

static void refuses_sizes_that_make_no_sense(void **state)
{
	static const char *const sizes[] = {
		"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
		"\x80\x7f\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
		"-0000000512",
	};
	AUTO_BUF struct buf tar;
	struct job_test t;
	struct wire_done done;
	struct error err;
	char block[512];

	(void)state;
	start(&t, &tar);
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		tar_test_block(block, '0', "a", "", "0");
		memcpy(block + 124, sizes[i], strlen(sizes[i]));
		tar_test_sum(block);
		buf_clear(&tar);
		tar_test_file(&tar, "good", "");
		tar_test_bytes(&tar, block, sizeof block);
		tar_test_end(&tar);
		CHECK_ERROR(unpack(&t, &tar, &done, &err), err, ERR_SYNTAX,
		            "entry 2: not a tar header");
	}
	stop(&t);
}

static void drains_what_follows_the_end_but_not_for_ever(void **state)
{
	AUTO_BUF struct buf tar;
	struct job_test t;
	struct wire_done done;
	struct error err;
	static char more[64 * 1024];

	(void)state;
	start(&t, &tar);
	buf_done(&tar);
	buf_init(&tar, 64 * 1024 * 1024);
	tar_test_file(&tar, "a", "A");
	tar_test_end(&tar);
	for (int i = 0; i < 16; i++)
		tar_test_bytes(&tar, more, sizeof more);
	CHECK_OK(unpack(&t, &tar, &done, &err), err);
	for (int i = 0; i < 256; i++)
		tar_test_bytes(&tar, more, sizeof more);
	CHECK_ERROR(unpack(&t, &tar, &done, &err), err, ERR_LIMIT,
	            "more than 16777216 bytes behind the archive's end");
	stop(&t);
}

static void leaves_no_half_file_when_the_agent_goes(void **state)
{
	AUTO_BUF struct buf tar;
	struct wire_unpack request = { .max = 1 << 20, .max_count = 10, .path = VIEW_INIT("t") };
	struct job_test t;
	struct wire_done done;
	struct error err;
	static char half[100 * 1024];

	(void)state;
	start(&t, &tar);
	tar_test_file(&tar, "whole", "W");
	tar_test_header(&tar, '0', "half", "", 2 * sizeof half);
	tar_test_bytes(&tar, half, sizeof half);
	job_test_feed_and_leave(&t, buf_view(&tar));
	CHECK_ERROR(op_unpack(&t.job, &request, &done, &err), err, ERR_SYSTEM,
	            "the request was closed");
	assert_int_equal(err.errnum, EPIPE);
	job_test_finish(&t);
	job_test_holds(&t, "workspace/t/whole", "W");
	assert_false(job_test_exists(&t, "workspace/t/half"));
	stop(&t);
}

static void names_the_target_it_cannot_open(void **state)
{
	struct wire_unpack request = { .max = 1, .max_count = 1, .path = VIEW_INIT("t/f/x") };
	AUTO_BUF struct buf tar;
	struct job_test t;
	struct wire_done done;
	struct error err;

	(void)state;
	start(&t, &tar);
	job_test_directory(&t, "workspace/t");
	job_test_file(&t, "workspace/t/f", VIEW(""));
	job_test_feed(&t, VIEW(""));
	CHECK_ERROR(op_unpack(&t.job, &request, &done, &err), err, ERR_SYSTEM,
	            "t/f/x: Not a directory");
	stop(&t);
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
		AUTO_BUF struct buf tar;
		struct job_test t;
		struct wire_done done;
		struct error err;

		start(&t, &tar);
		job_test_directory(&t, "workspace/t");
		job_test_directory(&t, "workspace/w");
		(void)snprintf(command, sizeof command, "%s%s%s", make_tree, rows[i].names,
		               set_times);
		tar_test_run(job_test_path(&t, "workspace/w"), command);
		(void)snprintf(command, sizeof command, "tar --format=%s -C src -cf a.tar .",
		               rows[i].format);
		tar_test_run(job_test_path(&t, "workspace/w"), command);
		tar_test_read(&tar, job_test_path(&t, "workspace/w/a.tar"));
		CHECK_OK(unpack(&t, &tar, &done, &err), err);
		assert_int_equal(done.skipped, 0);
		tar_test_run(job_test_path(&t, "workspace/w"),
		             "diff -r --no-dereference src ../t &&"
		             " list() { cd $1 && find . ! -type d -printf '%p %y %m %T@ %n %l\\n' |"
		             " LC_ALL=C sort; } &&"
		             " (list src) >one && (list ../t) >two && cmp one two && rm -r ../w");
		stop(&t);
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
