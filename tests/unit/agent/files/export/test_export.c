/* UNPACK and WRITE in an agent on the host: what they leave out, and what a preview reports. */
#include "unit/agent/files/job_test.h"
#include "unit/wire/tar_test.h"

#include "agent/files/archive/archive.h"
#include "agent/files/export/export.h"
#include "agent/files/ops.h"
#include "base/trusted/trusted_names.h"

struct export_test {
	struct job_test t;
	struct buf tar;
	struct wire_done done;
	struct error err;
};

static void start_export(struct export_test *e)
{
	job_test_start(&e->t);
	e->t.job.on_host = true;
	tar_test_init(&e->tar);
}

static void stop_export(struct export_test *e)
{
	job_test_stop(&e->t);
	buf_done(&e->tar);
}

static void put_file(struct export_test *e, const char *name, unsigned mode, const char *text)
{
	char block[512];

	tar_test_block(block, '0', name, "", strlen(text));
	(void)snprintf(block + 100, 8, "%07o", mode);
	tar_test_sum(block);
	tar_test_bytes(&e->tar, block, sizeof block);
	tar_test_data(&e->tar, view_of(text));
}

/* Unpacks the archive that was built, and starts a new one. */
static int unpack_to(struct export_test *e, const char *path, uint8_t flags)
{
	struct wire_unpack request = {
		.flags = flags, .max = 1024 * 1024, .max_count = 1000, .path = view_of(path)
	};
	int r;

	tar_test_end(&e->tar);
	job_test_feed(&e->t, buf_view(&e->tar));
	r = op_unpack(&e->t.job, &request, &e->done, &e->err);
	job_test_again(&e->t);
	buf_clear(&e->tar);
	return r;
}

static int write_to(struct export_test *e, const char *path, uint8_t flags, const char *bytes)
{
	struct wire_write request = { .mode = WIRE_WRITE_REPLACE,
		                      .flags = WIRE_PARENTS | flags,
		                      .perm = 0777,
		                      .max = 1024,
		                      .path = view_of(path) };
	int r;

	job_test_feed(&e->t, view_of(bytes));
	r = op_write(&e->t.job, &request, &e->done, &e->err);
	job_test_again(&e->t);
	return r;
}

static void check_report(const struct export_test *e, const char *want)
{
	assert_int_equal(e->done.report.len, strlen(want));
	assert_string_equal(e->done.report.ptr != NULL ? e->done.report.ptr : "", want);
}

static void trusted_entries_are_left_out(void **state)
{
	struct export_test e;

	start_export(&e);
	tar_test_add(&e.tar, '5', ".git/", "", VIEW(""));
	tar_test_add(&e.tar, '5', ".git/hooks/", "", VIEW(""));
	tar_test_file(&e.tar, ".git/hooks/pre-commit", "evil");
	tar_test_file(&e.tar, ".git/HEAD", "ref");
	tar_test_file(&e.tar, "deep/down/.bashrc", "evil");
	tar_test_file(&e.tar, "fine", "fine");
	tar_test_add(&e.tar, '2', ".npmrc", "fine", VIEW(""));
	CHECK_OK(unpack_to(&e, "t", 0), e.err);
	assert_int_equal(e.done.trusted, 4);
	assert_int_equal(e.done.count, 3);
	assert_int_equal(e.done.total, 2);
	check_report(&e,
	             ".git/hooks/ (git-hooks)\ndeep/down/.bashrc (shell-start)\n.npmrc (node)\n");
	job_test_holds(&e.t, "workspace/t/.git/HEAD", "ref");
	job_test_holds(&e.t, "workspace/t/fine", "fine");
	assert_false(job_test_exists(&e.t, "workspace/t/.git/hooks"));
	assert_false(job_test_exists(&e.t, "workspace/t/deep"));
	assert_false(job_test_exists(&e.t, "workspace/t/.npmrc"));
	stop_export(&e);
}

/* The same bytes are no change, whatever the name is. */
static void entries_that_the_host_has_are_not_reported(void **state)
{
	struct export_test e;

	start_export(&e);
	job_test_directory(&e.t, "workspace/t");
	job_test_directory(&e.t, "workspace/t/.vscode");
	job_test_file(&e.t, "workspace/t/.vscode/same", VIEW("same"));
	job_test_file(&e.t, "workspace/t/.vscode/longer", VIEW("longer"));
	job_test_file(&e.t, "workspace/t/.vscode/other", VIEW("before"));
	job_test_link(&e.t, "same", "workspace/t/.vscode/link");
	tar_test_add(&e.tar, '5', ".vscode/", "", VIEW(""));
	tar_test_file(&e.tar, ".vscode/same", "same");
	tar_test_file(&e.tar, ".vscode/longer", "long");
	tar_test_file(&e.tar, ".vscode/other", "behind");
	tar_test_add(&e.tar, '2', ".vscode/link", "same", VIEW(""));
	CHECK_OK(unpack_to(&e, "t", 0), e.err);
	check_report(&e, ".vscode/longer (editor-folders)\n.vscode/other (editor-folders)\n");
	assert_int_equal(e.done.count, 3);
	job_test_holds(&e.t, "workspace/t/.vscode/longer", "longer");
	job_test_holds(&e.t, "workspace/t/.vscode/other", "before");
	stop_export(&e);
}

/* The path on the host decides what is trusted, with its links resolved, also where the path does
 * not exist yet. */
static void path_on_the_host_decides(void **state)
{
	static const char *const targets[] = { ".git/hooks", "way",        "dot/hooks",
		                               "new/.ssh",   "bare/hooks", ".GIT/hooks" };
	struct export_test e;

	start_export(&e);
	job_test_directory(&e.t, "workspace/.git");
	job_test_directory(&e.t, "workspace/.git/hooks");
	job_test_directory(&e.t, "workspace/bare");
	job_test_file(&e.t, "workspace/bare/HEAD", VIEW("ref"));
	job_test_link(&e.t, ".git/hooks", "workspace/way");
	job_test_link(&e.t, ".git", "workspace/dot");
	job_test_link(&e.t, ".git/config", "workspace/conf");
	for (size_t i = 0; i < ARRAY_LEN(targets); i++) {
		char path[64];

		tar_test_file(&e.tar, "update", "evil");
		CHECK_OK(unpack_to(&e, targets[i], 0), e.err);
		assert_int_equal(e.done.trusted, 1);
		assert_int_equal(e.done.count, 0);
		(void)snprintf(path, sizeof path, "%s/update", targets[i]);
		CHECK_OK(write_to(&e, path, 0, "evil"), e.err);
		assert_int_equal(e.done.trusted, 1);
		assert_int_equal(e.done.bytes, 0);
	}
	CHECK_OK(write_to(&e, "conf", 0, "evil"), e.err);
	check_report(&e, "config (git-settings)\n");
	assert_int_equal(job_test_count(&e.t, "workspace/.git"), 1);
	assert_int_equal(job_test_count(&e.t, "workspace/.git/hooks"), 0);
	assert_int_equal(job_test_count(&e.t, "workspace/bare"), 1);
	assert_int_equal(job_test_count(&e.t, "workspace"), 5);
	stop_export(&e);
}

/* A trusted name of the host may be a link to a name that is not trusted. */
static void path_as_written_decides_too(void **state)
{
	struct export_test e;

	start_export(&e);
	job_test_directory(&e.t, "workspace/files");
	job_test_file(&e.t, "workspace/files/rc", VIEW("before"));
	job_test_link(&e.t, "files/rc", "workspace/.bashrc");
	job_test_link(&e.t, "files", "workspace/.vscode");
	CHECK_OK(write_to(&e, ".bashrc", 0, "evil"), e.err);
	assert_int_equal(e.done.trusted, 1);
	CHECK_OK(write_to(&e, ".vscode/rc", 0, "evil"), e.err);
	assert_int_equal(e.done.trusted, 1);
	tar_test_file(&e.tar, "rc", "evil");
	tar_test_file(&e.tar, "more", "evil");
	CHECK_OK(unpack_to(&e, ".vscode", 0), e.err);
	assert_int_equal(e.done.trusted, 2);
	job_test_holds(&e.t, "workspace/files/rc", "before");
	assert_int_equal(job_test_count(&e.t, "workspace/files"), 1);
	stop_export(&e);
}

/* Another copy may put a link where a directory was missing a moment ago. */
static void directory_that_became_a_link_is_refused(void **state)
{
	struct export export;
	struct export_test e;
	int fd;

	start_export(&e);
	job_test_directory(&e.t, "workspace/.git");
	job_test_directory(&e.t, "workspace/.git/hooks");
	CHECK_OK(export_init(&export, &e.t.job, VIEW("d/e"), false, &e.done, &fd, &e.err), e.err);
	assert_int_equal(fd, -1);
	assert_int_equal(export_kind(&export, "pre-commit", false), -1);
	job_test_directory(&e.t, "workspace/.git/hooks/e");
	job_test_link(&e.t, ".git/hooks", "workspace/d");
	fd = open(job_test_path(&e.t, "workspace/d/e"), O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(fd >= 0);
	CHECK_ERROR(export_verify(&export, fd, &e.err), e.err, ERR_INVALID,
	            "the path of the target leads to another directory now: try again");
	(void)close(fd);
	stop_export(&e);
}

/* A trusted directory is created if it is the place of entries that are not trusted. */
static void exceptions_are_written_to_a_new_directory(void **state)
{
	struct export_test e;

	start_export(&e);
	tar_test_file(&e.tar, "settings.json", "evil");
	tar_test_file(&e.tar, "worktrees/w/a.c", "fine");
	tar_test_file(&e.tar, "worktrees/w/.claude/settings.json", "evil");
	CHECK_OK(unpack_to(&e, "p/.claude", 0), e.err);
	check_report(&e, "settings.json (agents)\nworktrees/w/.claude/settings.json (agents)\n");
	job_test_holds(&e.t, "workspace/p/.claude/worktrees/w/a.c", "fine");
	assert_int_equal(job_test_count(&e.t, "workspace/p/.claude"), 1);
	assert_int_equal(job_test_count(&e.t, "workspace/p/.claude/worktrees/w"), 1);
	stop_export(&e);
}

static void allowed_kinds_are_written(void **state)
{
	struct export_test e;

	start_export(&e);
	CHECK_OK(trusted_parse("git-hooks", &e.t.job.allowed, &e.err), e.err);
	e.t.job.allowed |= TRUSTED_EXECUTABLES;
	tar_test_file(&e.tar, ".git/hooks/x", "mine");
	tar_test_file(&e.tar, ".git/config", "evil");
	CHECK_OK(unpack_to(&e, "t", 0), e.err);
	check_report(&e, ".git/config (git-settings)\n");
	job_test_holds(&e.t, "workspace/t/.git/hooks/x", "mine");
	CHECK_OK(write_to(&e, "x/.git/hooks/x", 0, "mine"), e.err);
	assert_int_equal(job_test_mode(&e.t, "workspace/x/.git/hooks/x") & 07777, 0755);
	/* The agent in a sandbox leaves no file out. */
	e.t.job.on_host = false;
	tar_test_file(&e.tar, ".git/config", "mine");
	CHECK_OK(unpack_to(&e, "t", 0), e.err);
	assert_int_equal(e.done.trusted, 0);
	job_test_holds(&e.t, "workspace/t/.git/config", "mine");
	stop_export(&e);
}

static void executable_bits_need_a_file_that_has_them(void **state)
{
	struct export_test e;

	start_export(&e);
	CHECK_OK(write_to(&e, "new", 0, "x"), e.err);
	assert_int_equal(job_test_mode(&e.t, "workspace/new") & 07777, 0644);
	assert_int_equal(e.done.not_executable, 1);
	assert_int_equal(chmod(job_test_path(&e.t, "workspace/new"), 0700), 0);
	CHECK_OK(write_to(&e, "new", 0, "y"), e.err);
	assert_int_equal(job_test_mode(&e.t, "workspace/new") & 07777, 0700);
	assert_int_equal(e.done.not_executable, 0);
	/* A link to an executable file does not make the new file executable. */
	job_test_link(&e.t, "new", "workspace/link");
	put_file(&e, "new", 0777, "z");
	put_file(&e, "link", 0777, "z");
	put_file(&e, "plain", 0666, "z");
	CHECK_OK(unpack_to(&e, ".", 0), e.err);
	assert_int_equal(job_test_mode(&e.t, "workspace/new") & 07777, 0744);
	assert_int_equal(job_test_mode(&e.t, "workspace/link") & 07777, 0644);
	assert_int_equal(job_test_mode(&e.t, "workspace/plain") & 07777, 0644);
	assert_int_equal(e.done.not_executable, 1);
	stop_export(&e);
}

static void preview_reports_and_writes_nothing(void **state)
{
	static char long_text[1100];
	struct export_test e;

	memset(long_text, 'x', sizeof long_text - 1);
	start_export(&e);
	job_test_file(&e.t, "workspace/f", VIEW("a\nb\n"));
	job_test_file(&e.t, "workspace/same", VIEW("same"));
	job_test_link(&e.t, "f", "workspace/l");
	put_file(&e, "f", 0644, "a\nc\n");
	put_file(&e, "same", 0644, "same");
	put_file(&e, "d/n\x1b", 0644, "n\n");
	put_file(&e, "l", 0644, "\xff");
	put_file(&e, ".envrc", 0644, "evil");
	CHECK_OK(unpack_to(&e, ".", WIRE_PREVIEW), e.err);
	check_report(&e, "changed   f (4 bytes, before 4)\n"
	                 "new       d/n\\x1b (2 bytes, mode 644)\n"
	                 "changed   l (1 bytes, mode 644, in place of a link)\n"
	                 "left out  .envrc (environments)\n"
	                 "\n"
	                 "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n"
	                 "--- /dev/null\n+++ b/d/n\\x1b\n@@ -0,0 +1,1 @@\n+n\n");
	assert_int_equal(e.done.count, 3);
	assert_int_equal(e.done.bytes, 7);
	CHECK_OK(write_to(&e, "no/such/dir/f", WIRE_PREVIEW, "x"), e.err);
	check_report(&e, "new       f (1 bytes, mode 644)\n\n--- /dev/null\n+++ b/f\n"
	                 "@@ -0,0 +1,1 @@\n+x\n\\ No newline at end of file\n");
	put_file(&e, "f", 0644, "f");
	CHECK_OK(unpack_to(&e, "no/such/dir", WIRE_PREVIEW), e.err);
	assert_int_equal(e.done.count, 1);
	put_file(&e, "same", 0644, "same");
	CHECK_OK(unpack_to(&e, ".", WIRE_PREVIEW), e.err);
	check_report(&e, "");
	assert_int_equal(job_test_count(&e.t, "workspace"), 3);
	job_test_holds(&e.t, "workspace/f", "a\nb\n");
	CHECK_ERROR(write_to(&e, "f", WIRE_PREVIEW, long_text), e.err, ERR_LIMIT,
	            "f: more than 1024 bytes");
	stop_export(&e);
}

/* The bytes of entries that are left out count too: an archive may not go on for ever. */
static void left_out_bytes_are_limited(void **state)
{
	struct wire_unpack request = { .max = 10, .max_count = 1000, .path = VIEW_INIT("t") };
	struct export_test e;

	start_export(&e);
	tar_test_file(&e.tar, ".npmrc", "123456");
	tar_test_file(&e.tar, ".envrc", "123456");
	tar_test_end(&e.tar);
	job_test_feed(&e.t, buf_view(&e.tar));
	CHECK_ERROR(op_unpack(&e.t.job, &request, &e.done, &e.err), e.err, ERR_LIMIT,
	            "entry 2 ('.envrc'): its 6 bytes are too many: all files together may have 10");
	job_test_again(&e.t);
	stop_export(&e);
}

static void long_lists_are_cut(void **state)
{
	struct export_test e;
	char name[100];

	start_export(&e);
	for (int i = 0; i < 200; i++) {
		(void)snprintf(name, sizeof name, "%090d/.npmrc", i);
		tar_test_file(&e.tar, name, "x");
	}
	CHECK_OK(unpack_to(&e, "t", 0), e.err);
	assert_int_equal(e.done.trusted, 200);
	assert_true(e.done.report.len < 9000);
	assert_true(view_ends(e.done.report, " more\n"));
	stop_export(&e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(trusted_entries_are_left_out),
		TEST(entries_that_the_host_has_are_not_reported),
		TEST(path_on_the_host_decides),
		TEST(path_as_written_decides_too),
		TEST(directory_that_became_a_link_is_refused),
		TEST(exceptions_are_written_to_a_new_directory),
		TEST(allowed_kinds_are_written),
		TEST(executable_bits_need_a_file_that_has_them),
		TEST(preview_reports_and_writes_nothing),
		TEST(left_out_bytes_are_limited),
		TEST(long_lists_are_cut),
	};

	return RUN_TESTS("agent/export", tests);
}
