#include "unit/agent/files/job_test.h"

#include "agent/files/path.h"
#include "base/error.h"

/* "secret" is beside the root, not below it; "inside" is what the same path finds below it. */
static void make_traps(struct job_test *t)
{
	job_test_directory(t, "etc");
	job_test_file(t, "etc/passwd", VIEW("inside"));
	job_test_file(t, "workspace/notes.txt", VIEW("notes"));
	job_test_directory(t, "workspace/sub");
	job_test_link(t, "/etc/passwd", "workspace/absolute");
	job_test_link(t, "../../../../../../../../etc/passwd", "workspace/upwards");
	job_test_link(t, "absolute", "workspace/chain");
	job_test_link(t, "/workspace/chain", "workspace/sub/longer-chain");
	job_test_link(t, "..", "workspace/sub/up");
	job_test_link(t, "/", "workspace/top");
	job_test_link(t, "loop", "workspace/loop");
	job_test_link(t, "nowhere", "workspace/dangling");
	job_test_link(t, "/proc/self/root", "workspace/magic");
}

static void check_content(int fd, const char *want)
{
	char got[64];
	ssize_t n = read(fd, got, sizeof got - 1);

	assert_true(n >= 0);
	got[n] = '\0';
	assert_string_equal(got, want);
	(void)close(fd);
}

static void links_and_dots_stay_inside_the_root(void **state)
{
	static const struct {
		const char *path, *want;
	} cases[] = {
		{ "notes.txt", "notes" },        { "./notes.txt", "notes" },
		{ "sub/../notes.txt", "notes" }, { "/workspace//notes.txt", "notes" },
		{ "sub/up/notes.txt", "notes" }, { "/etc/passwd", "inside" },
		{ "../etc/passwd", "inside" },   { "../../../../../../etc/passwd", "inside" },
		{ "absolute", "inside" },        { "upwards", "inside" },
		{ "chain", "inside" },           { "sub/longer-chain", "inside" },
		{ "top/etc/passwd", "inside" },  { "top/../../top/etc/passwd", NULL },
	};
	static struct job_test t;
	struct error err;

	job_test_start(&t);
	make_traps(&t);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		int fd = path_open_file(&t.job, view_of(cases[i].path), &err);

		if (cases[i].want == NULL) {
			assert_int_equal(fd, -1);
			assert_int_equal(err.errnum, ENOENT);
			continue;
		}
		if (fd < 0)
			fail_msg("%s: %s", cases[i].path, err.msg);
		check_content(fd, cases[i].want);
	}
	job_test_stop(&t);
}

static void open_file_refuses_other_types(void **state)
{
	static const struct {
		const char *path;
		enum error_kind kind;
		int errnum;
		const char *message;
	} cases[] = {
		{ "", ERR_INVALID, 0, "the path is empty" },
		{ "missing", ERR_SYSTEM, ENOENT, "missing: No such file or directory" },
		{ "missing/x", ERR_SYSTEM, ENOENT, "missing/x: No such file or directory" },
		{ "notes.txt/x", ERR_SYSTEM, ENOTDIR, "notes.txt/x: Not a directory" },
		{ "notes.txt/", ERR_SYSTEM, ENOTDIR, "notes.txt/: Not a directory" },
		{ "dangling", ERR_SYSTEM, ENOENT, "dangling: No such file or directory" },
		{ "loop", ERR_SYSTEM, ELOOP, "loop: Too many levels of symbolic links" },
		{ ".", ERR_INVALID, 0, ".: is a directory, not a regular file" },
		{ "/", ERR_INVALID, 0, "/: is a directory, not a regular file" },
		{ "fifo", ERR_INVALID, 0, "fifo: is a FIFO, not a regular file" },
		{ "new\nline", ERR_SYSTEM, ENOENT, "new\\nline: No such file or directory" },
	};
	static struct job_test t;
	struct error err;

	job_test_start(&t);
	make_traps(&t);
	assert_int_equal(mkfifo(job_test_path(&t, "workspace/fifo"), 0666), 0);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		CHECK_ERROR(path_open_file(&t.job, view_of(cases[i].path), &err), err,
		            cases[i].kind, cases[i].message);
		assert_int_equal(err.errnum, cases[i].errnum);
	}
	job_test_stop(&t);
}

/* /proc is reachable only with the machine's own root. */
static void magic_links_are_not_followed(void **state)
{
	static const char *const paths[] = { "/proc/self/root/etc/passwd", "/proc/self/cwd/x",
		                             "/proc/self/exe", "/proc/self/fd/0",
		                             "/proc/thread-self/root" };
	struct job job = { .fd = -1, .workspace = "/tmp" };
	struct error err;

	job.root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(job.root >= 0);
	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		assert_int_equal(path_open(&job, view_of(paths[i]), O_RDONLY, 0, &err), -1);
		assert_int_equal(err.errnum, ELOOP);
	}
	(void)close(job.root);
}

static void text_of_a_magic_link_leads_nowhere_outside(void **state)
{
	static struct job_test t;
	struct error err;

	job_test_start(&t);
	make_traps(&t);
	CHECK_ERROR(path_open(&t.job, view_of("magic/etc/passwd"), O_RDONLY, 0, &err), err,
	            ERR_SYSTEM, "magic/etc/passwd: No such file or directory");
	job_test_stop(&t);
}

static void path_that_does_not_fit_is_refused(void **state)
{
	static char path[WIRE_PATH_MAX + 1], name[PATH_NAME_MAX + 2];
	static struct job_test t;
	struct path_parent place;
	struct error err;
	int fd;

	job_test_start(&t);
	for (size_t i = 0; i < WIRE_PATH_MAX; i++)
		path[i] = i % 2 == 0 ? '.' : '/';
	/* The path fits alone, but not behind the workspace. */
	assert_int_equal(path_open(&t.job, view_of(path), O_RDONLY, 0, &err), -1);
	assert_int_equal(err.errnum, ENAMETOOLONG);
	assert_non_null(strstr(err.msg, "...: File name too long"));
	path[0] = '/';
	fd = path_open_directory(&t.job, view_of(path), &err);
	assert_true(fd >= 0);
	(void)close(fd);
	memset(name, 'n', sizeof name - 1);
	assert_int_equal(path_parent(&t.job, view_of(name), false, &place, &err), -1);
	assert_int_equal(err.errnum, ENAMETOOLONG);
	CHECK_ERROR(path_open(&t.job, VIEW("a\0b"), O_RDONLY, 0, &err), err, ERR_INVALID,
	            "the path contains a NUL byte");
	job_test_stop(&t);
}

static void path_parent_is_a_directory_and_a_name(void **state)
{
	static const struct {
		const char *path;
		bool follow;
		const char *dir, *name; /* dir below the root */
	} cases[] = {
		{ "notes.txt", false, "workspace", "notes.txt" },
		{ "notes.txt", true, "workspace", "notes.txt" },
		{ "new", true, "workspace", "new" },
		{ "sub///", true, "workspace", "sub" },
		{ "sub/../sub/new", true, "workspace/sub", "new" },
		{ "/new", true, "", "new" },
		{ "../../../new", true, "", "new" },
		{ "absolute", false, "workspace", "absolute" },
		{ "absolute", true, "etc", "passwd" },
		{ "upwards", true, "etc", "passwd" },
		{ "sub/longer-chain", true, "etc", "passwd" },
		{ "dangling", false, "workspace", "dangling" },
		{ "dangling", true, "workspace", "nowhere" },
		{ "sub/up/dangling", true, "workspace", "nowhere" },
		{ "loop", false, "workspace", "loop" },
		{ "top/new", true, "", "new" },
	};
	static struct job_test t;
	struct path_parent place;
	struct stat want, got;
	struct error err;

	job_test_start(&t);
	make_traps(&t);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		CHECK_OK(path_parent(&t.job, view_of(cases[i].path), cases[i].follow, &place, &err),
		         err);
		assert_string_equal(place.name, cases[i].name);
		assert_int_equal(stat(job_test_path(&t, cases[i].dir), &want), 0);
		assert_int_equal(fstat(place.dir, &got), 0);
		assert_int_equal(got.st_ino, want.st_ino);
		(void)close(place.dir);
	}
	job_test_stop(&t);
}

static void path_parent_refuses_paths_without_a_name(void **state)
{
	static const struct {
		const char *path;
		enum error_kind kind;
		const char *message;
	} cases[] = {
		{ "", ERR_INVALID, "the path is empty" },
		{ "/", ERR_INVALID, "/: must end in a name, not in '/', '.' or '..'" },
		{ "///", ERR_INVALID, "///: must end in a name, not in '/', '.' or '..'" },
		{ ".", ERR_INVALID, ".: must end in a name, not in '/', '.' or '..'" },
		{ "sub/..", ERR_INVALID, "sub/..: must end in a name, not in '/', '.' or '..'" },
		{ "top", ERR_INVALID, "top: must end in a name, not in '/', '.' or '..'" },
		{ "loop", ERR_SYSTEM, "loop: Too many levels of symbolic links" },
		{ "missing/x", ERR_SYSTEM, "missing/x: No such file or directory" },
		{ "notes.txt/x", ERR_SYSTEM, "notes.txt/x: Not a directory" },
	};
	static struct job_test t;
	struct path_parent place;
	struct error err;

	job_test_start(&t);
	make_traps(&t);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		CHECK_ERROR(path_parent(&t.job, view_of(cases[i].path), true, &place, &err), err,
		            cases[i].kind, cases[i].message);
	job_test_stop(&t);
}

static void path_follows_forty_links_and_no_more(void **state)
{
	static struct job_test t;
	struct path_parent place;
	struct error err;
	char from[32], to[32];

	job_test_start(&t);
	for (int i = 1; i <= 41; i++) {
		(void)snprintf(from, sizeof from, "workspace/l%d", i);
		(void)snprintf(to, sizeof to, "l%d", i - 1);
		job_test_link(&t, to, from);
	}
	CHECK_OK(path_parent(&t.job, view_of("l40"), true, &place, &err), err);
	assert_string_equal(place.name, "l0");
	(void)close(place.dir);
	CHECK_ERROR(path_parent(&t.job, view_of("l41"), true, &place, &err), err, ERR_SYSTEM,
	            "l41: Too many levels of symbolic links");
	job_test_stop(&t);
}

static void missing_parents_are_created(void **state)
{
	static struct job_test t;
	mode_t old = umask(027);
	struct error err;

	job_test_start(&t);
	make_traps(&t);
	CHECK_OK(path_make_parents(&t.job, view_of("a/b//./c/file"), &err), err);
	assert_int_equal(job_test_mode(&t, "workspace/a/b/c"), S_IFDIR | 0750);
	assert_false(job_test_exists(&t, "workspace/a/b/c/file"));
	CHECK_OK(path_make_parents(&t.job, view_of("a/b/c/file"), &err), err);
	CHECK_OK(path_make_parents(&t.job, view_of("top/made/file"), &err), err);
	assert_true(job_test_exists(&t, "made"));
	CHECK_OK(path_make_parents(&t.job, view_of("../../../../up/file"), &err), err);
	assert_true(job_test_exists(&t, "up"));
	CHECK_OK(path_make_parents(&t.job, view_of("/file"), &err), err);
	CHECK_OK(path_make_parents(&t.job, view_of("x/../y/file"), &err), err);
	assert_true(job_test_exists(&t, "workspace/y"));
	CHECK_ERROR(path_make_parents(&t.job, view_of("notes.txt/x/y"), &err), err, ERR_SYSTEM,
	            "notes.txt/x/y: Not a directory");
	CHECK_ERROR(path_make_parents(&t.job, view_of("dangling/x/y"), &err), err, ERR_SYSTEM,
	            "dangling/x/y: No such file or directory");
	assert_false(job_test_exists(&t, "workspace/nowhere"));
	(void)umask(old);
	job_test_stop(&t);
}

static int nobody_is_denied(struct job_test *t, struct error *err)
{
	if (path_open_file(&t->job, view_of("locked"), err) >= 0 || err->errnum != EACCES)
		return -1;
	if (path_make_parents(&t->job, view_of("/etc/x/y"), err) == 0 || err->errnum != EACCES)
		return -1;
	return strcmp(err->msg, "/etc/x/y: Permission denied");
}

static void path_is_opened_with_the_users_rights(void **state)
{
	static struct job_test t;

	job_test_start(&t);
	make_traps(&t);
	job_test_file(&t, "workspace/locked", VIEW(""));
	assert_int_equal(chmod(job_test_path(&t, "workspace/locked"), 0), 0);
	if (geteuid() == 0)
		job_test_as_nobody(&t, nobody_is_denied);
	job_test_stop(&t);
}

static void missing_directories_are_created(void **state)
{
	static const struct {
		const char *path;
		const char *made; /* below the root; NULL: it fails */
		const char *message;
	} cases[] = {
		{ "c/d/e", "workspace/c/d/e", NULL },
		{ "c/d/e", "workspace/c/d/e", NULL },
		{ "c/d/f//g/", "workspace/c/d/f/g", NULL },
		{ "/x/y", "x/y", NULL },
		{ ".", "workspace", NULL },
		{ "/", "", NULL },
		{ "notes.txt", NULL, "notes.txt: Not a directory" },
		{ "notes.txt/x", NULL, "notes.txt/x: Not a directory" },
	};
	static struct job_test t;
	mode_t old = umask(022);
	struct error err;

	job_test_start(&t);
	make_traps(&t);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct view path = view_of(cases[i].path);

		if (cases[i].made == NULL) {
			CHECK_ERROR(path_make_directories(&t.job, path, &err), err, ERR_SYSTEM,
			            cases[i].message);
			continue;
		}
		CHECK_OK(path_make_directories(&t.job, path, &err), err);
		assert_true(S_ISDIR(job_test_mode(&t, cases[i].made)));
	}
	assert_int_equal(job_test_mode(&t, "workspace/c/d"), S_IFDIR | 0755);
	assert_int_equal(job_test_mode(&t, "workspace/c/d/e"), S_IFDIR | 0755);
	(void)umask(old);
	job_test_stop(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(links_and_dots_stay_inside_the_root),
		TEST(open_file_refuses_other_types),
		TEST(magic_links_are_not_followed),
		TEST(text_of_a_magic_link_leads_nowhere_outside),
		TEST(path_that_does_not_fit_is_refused),
		TEST(path_parent_is_a_directory_and_a_name),
		TEST(path_parent_refuses_paths_without_a_name),
		TEST(path_follows_forty_links_and_no_more),
		TEST(missing_parents_are_created),
		TEST(missing_directories_are_created),
		TEST(path_is_opened_with_the_users_rights),
	};

	return RUN_TESTS("path", tests);
}
