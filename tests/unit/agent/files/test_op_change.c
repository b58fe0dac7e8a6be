#include "unit/agent/files/job_test.h"

#include <sched.h>
#include <sys/mount.h>

#include "agent/files/ops.h"
#include "base/error.h"

/* --- remove -------------------------------------------------------------------------- */

static void check_remove(struct job_test *t, const char *path, uint8_t flags, uint64_t count)
{
	struct wire_remove request = { .flags = flags, .path = view_of(path) };
	struct wire_done done;
	struct error err;

	CHECK_OK(op_remove(&t->job, &request, &done, &err), err);
	assert_int_equal(done.count, count);
}

static void remove_deletes_one_entry(void **state)
{
	static const char *const names[] = {
		"file", "dir/", "to-file", "to-dir", "dangling", "fifo"
	};
	static struct job_test t;

	job_test_start(&t);
	for (uint8_t flags = 0; flags <= WIRE_RECURSIVE; flags++) {
		job_test_file(&t, "workspace/kept", VIEW("kept"));
		job_test_file(&t, "workspace/file", VIEW(""));
		job_test_directory(&t, "workspace/dir");
		job_test_link(&t, "kept", "workspace/to-file");
		job_test_link(&t, "/", "workspace/to-dir");
		job_test_link(&t, "nowhere", "workspace/dangling");
		assert_int_equal(mkfifo(job_test_path(&t, "workspace/fifo"), 0666), 0);
		for (size_t i = 0; i < ARRAY_LEN(names); i++)
			check_remove(&t, names[i], flags, 1);
		job_test_holds(&t, "workspace/kept", "kept");
		assert_int_equal(job_test_count(&t, "workspace"), 1);
	}
	job_test_stop(&t);
}

static void remove_refuses(void **state)
{
	static const char full[] =
	        "full: the directory is not empty: remove it recursively, or what "
	        "is in it first";
	static const struct {
		const char *path;
		uint8_t flags;
		enum error_kind kind;
		const char *message;
	} cases[] = {
		{ "full", 0, ERR_INVALID, full },
		{ "missing", 0, ERR_SYSTEM, "missing: No such file or directory" },
		{ "missing", WIRE_RECURSIVE, ERR_SYSTEM, "missing: No such file or directory" },
		{ "full/x/y", WIRE_RECURSIVE, ERR_SYSTEM, "full/x/y: Not a directory" },
		{ "/", WIRE_RECURSIVE, ERR_INVALID, "the root itself cannot be removed" },
		{ "../..", WIRE_RECURSIVE, ERR_INVALID, "the root itself cannot be removed" },
		{ ".", WIRE_RECURSIVE, ERR_INVALID, "the workspace itself cannot be removed" },
		{ "/home/user/", WIRE_RECURSIVE, ERR_INVALID,
		  "the workspace itself cannot be removed" },
		{ "full/..", 0, ERR_INVALID, "the workspace itself cannot be removed" },
		{ "/home", WIRE_RECURSIVE, ERR_INVALID,
		  "/home: the workspace is in it, so it cannot be removed" },
		{ "full/.", WIRE_RECURSIVE, ERR_INVALID,
		  "full/.: must end in a name, not in '/', '.' or '..'" },
	};
	static struct job_test t;
	struct wire_done done;
	struct error err;

	job_test_start(&t);
	t.job.workspace = "/home/user";
	job_test_directory(&t, "home");
	job_test_directory(&t, "home/user");
	job_test_directory(&t, "home/user/full");
	job_test_file(&t, "home/user/full/x", VIEW("kept"));
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct wire_remove request = { .flags = cases[i].flags,
			                       .path = view_of(cases[i].path) };

		CHECK_ERROR(op_remove(&t.job, &request, &done, &err), err, cases[i].kind,
		            cases[i].message);
	}
	job_test_holds(&t, "home/user/full/x", "kept");
	job_test_stop(&t);
}

/* Makes a tree with some wide directories and with links out of it. */
static uint64_t make_tree(struct job_test *t, const char *path, int depth)
{
	uint64_t count = 1;
	char below[256];

	job_test_directory(t, path);
	for (int i = 0; i < 4; i++) {
		(void)snprintf(below, sizeof below, "%s/f%d", path, i);
		job_test_file(t, below, VIEW("x"));
	}
	(void)snprintf(below, sizeof below, "%s/out", path);
	job_test_link(t, "/workspace/kept", below);
	(void)snprintf(below, sizeof below, "%s/up", path);
	job_test_link(t, "..", below);
	count += 6;
	for (int i = 0; i < 3 && depth > 0; i++) {
		(void)snprintf(below, sizeof below, "%s/d%d", path, i);
		count += make_tree(t, below, depth - 1);
	}
	return count;
}

static void remove_deletes_a_tree_and_nothing_else(void **state)
{
	static struct job_test t;

	job_test_start(&t);
	job_test_directory(&t, "workspace/kept");
	job_test_file(&t, "workspace/kept/file", VIEW("kept"));
	check_remove(&t, "tree", WIRE_RECURSIVE, make_tree(&t, "workspace/tree", 5));
	job_test_holds(&t, "workspace/kept/file", "kept");
	assert_int_equal(job_test_count(&t, "workspace"), 1);
	job_test_stop(&t);
}

/* Makes directories within one another, with files in some of them. */
static uint64_t make_levels(struct job_test *t, const char *path, int depth)
{
	int fd = open(job_test_path(t, path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	uint64_t count = 0;

	for (int i = 0; i < depth; i++) {
		int next;

		assert_int_equal(mkdirat(fd, "d", 0755), 0);
		count++;
		if (i % 50 == 0) {
			assert_int_equal(mkdirat(fd, "e", 0755), 0);
			assert_int_equal(mkdirat(fd, "e/f", 0755), 0);
			assert_int_equal(symlinkat("/", fd, "l"), 0);
			count += 3;
		}
		next = openat(fd, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		assert_true(next >= 0);
		(void)close(fd);
		fd = next;
	}
	(void)close(fd);
	return count;
}

static void remove_deletes_a_hundred_thousand_levels_with_few_descriptors(void **state)
{
	static struct job_test t;
	struct rlimit old, few = { 64, 64 };
	uint64_t count;
	int depth = 2000;

	/* A disk takes minutes to make so many directories: stop after a while, with fewer. */
	if (access("/dev/shm", W_OK) == 0) {
		job_test_start_in(&t, "/dev/shm");
		depth = 100000;
	} else {
		job_test_start(&t);
	}
	job_test_directory(&t, "workspace/deep");
	count = make_levels(&t, "workspace/deep", depth) + 1;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	few.rlim_max = old.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	check_remove(&t, "deep", WIRE_RECURSIVE, count);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	assert_int_equal(job_test_count(&t, "workspace"), 0);
	job_test_stop(&t);
}

static int nobody_removes_locked_directories(struct job_test *t, struct error *err)
{
	static const mode_t modes[] = { 0, 0111, 0444, 0555, 0300, 0700 };
	struct wire_remove request = { .flags = WIRE_RECURSIVE, .path = VIEW_INIT("locked") };
	struct wire_done done;
	char path[64];

	if (mkdir(job_test_path(t, "workspace/locked"), 0700) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
		(void)snprintf(path, sizeof path, "workspace/locked/%zu", i);
		if (mkdir(job_test_path(t, path), 0700) < 0)
			return -1;
		(void)snprintf(path, sizeof path, "workspace/locked/%zu/file", i);
		if (mkdir(job_test_path(t, path), 0) < 0)
			return -1;
		(void)snprintf(path, sizeof path, "workspace/locked/%zu", i);
		if (chmod(job_test_path(t, path), modes[i]) < 0)
			return -1;
	}
	if (chmod(job_test_path(t, "workspace/locked"), 0) < 0 ||
	    op_remove(&t->job, &request, &done, err) < 0)
		return -1;
	return done.count != 1 + 2 * ARRAY_LEN(modes);
}

static int nobody_is_stopped_by_what_is_not_theirs(struct job_test *t, struct error *err)
{
	struct wire_remove request = { .flags = WIRE_RECURSIVE, .path = VIEW_INIT("mixed") };
	struct wire_done done;

	if (op_remove(&t->job, &request, &done, err) == 0 || err->errnum != EACCES)
		return -1;
	return strcmp(err->msg, "mixed: 'file' in it: Permission denied");
}

static void remove_opens_locked_directories_of_the_user(void **state)
{
	static struct job_test t;

	if (geteuid() != 0)
		SKIP_TEST("only root can act for two users");
	job_test_start(&t);
	job_test_as_nobody(&t, nobody_removes_locked_directories);
	assert_int_equal(job_test_count(&t, "workspace"), 0);
	job_test_directory(&t, "workspace/mixed");
	assert_int_equal(chmod(job_test_path(&t, "workspace/mixed"), 0777), 0);
	job_test_directory(&t, "workspace/mixed/theirs");
	job_test_file(&t, "workspace/mixed/theirs/file", VIEW("kept"));
	job_test_as_nobody(&t, nobody_is_stopped_by_what_is_not_theirs);
	job_test_holds(&t, "workspace/mixed/theirs/file", "kept");
	job_test_stop(&t);
}

/* A bind mount has the same st_dev: only the kernel's own answer tells. Exits with 77 if no
 * mount namespace is to be had. */
static int try_mounts(struct job_test *t)
{
	struct wire_remove tree = { .flags = WIRE_RECURSIVE, .path = VIEW_INIT("tree") };
	struct wire_remove mount_point = { .flags = WIRE_RECURSIVE, .path = VIEW_INIT("tree/m") };
	struct wire_rename away = { .from = VIEW_INIT("file"), .to = VIEW_INIT("tree/m/new") };
	struct wire_done done;
	struct error err;

	if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount(job_test_path(t, "workspace/kept"), job_test_path(t, "workspace/tree/m"), NULL,
	          MS_BIND, NULL) < 0)
		return 77;
	/* The old descriptor is of the old namespace, where nothing is mounted. */
	t->job.root = open(t->root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (op_remove(&t->job, &tree, &done, &err) == 0 ||
	    strcmp(err.msg, "tree: 'm' is a mount point, which cannot be removed") != 0)
		return 1;
	if (op_remove(&t->job, &mount_point, &done, &err) == 0 ||
	    strcmp(err.msg, "tree/m: is a mount point, which cannot be removed") != 0)
		return 2;
	if (op_rename(&t->job, &away, &done, &err) == 0 || err.errnum != EXDEV ||
	    strcmp(err.msg, "file: cannot be moved to tree/m/new, which is on another file "
	                    "system: copy it") != 0)
		return 3;
	return 0;
}

static void remove_keeps_mounts(void **state)
{
	static struct job_test t;
	int status = -1;
	pid_t child;

	job_test_start(&t);
	job_test_directory(&t, "workspace/kept");
	job_test_file(&t, "workspace/kept/file", VIEW("kept"));
	job_test_file(&t, "workspace/file", VIEW("x"));
	job_test_directory(&t, "workspace/tree");
	job_test_directory(&t, "workspace/tree/m");
	child = fork();
	if (child == 0)
		_exit(try_mounts(&t));
	assert_int_equal(waitpid(child, &status, 0), child);
	job_test_holds(&t, "workspace/kept/file", "kept");
	job_test_stop(&t);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		SKIP_TEST("nothing may be mounted here");
	assert_int_equal(status, 0);
}

/* --- rename -------------------------------------------------------------------------- */

static void rename_moves_files_and_directories(void **state)
{
	static const struct {
		const char *from, *to;
		uint8_t flags;
		const char *gone, *there; /* below the root */
	} cases[] = {
		{ "file", "moved", 0, "workspace/file", "workspace/moved" },
		{ "moved", "dir/file", 0, "workspace/moved", "workspace/dir/file" },
		{ "dir/", "other/", 0, "workspace/dir", "workspace/other" },
		{ "other/file", "/file", 0, "workspace/other/file", "file" },
		{ "../file", "victim", WIRE_RENAME_REPLACE, "file", "workspace/victim" },
		{ "to-etc", "link", 0, "workspace/to-etc", "workspace/link" },
		{ "victim", "link/v", 0, "workspace/victim", "etc/v" },
		{ "/etc/v", "link", WIRE_RENAME_REPLACE, "etc/v", "workspace/link" },
		{ "other", "empty", WIRE_RENAME_REPLACE, "workspace/other", "workspace/empty" },
	};
	static struct job_test t;
	struct wire_done done;
	struct error err;

	job_test_start(&t);
	job_test_file(&t, "workspace/file", VIEW("file"));
	job_test_file(&t, "workspace/victim", VIEW("victim"));
	job_test_directory(&t, "workspace/dir");
	job_test_directory(&t, "workspace/empty");
	job_test_directory(&t, "etc");
	job_test_link(&t, "../../../../etc", "workspace/to-etc");
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct wire_rename request = { .flags = cases[i].flags,
			                       .from = view_of(cases[i].from),
			                       .to = view_of(cases[i].to) };

		CHECK_OK(op_rename(&t.job, &request, &done, &err), err);
		assert_false(job_test_exists(&t, cases[i].gone));
		assert_true(job_test_exists(&t, cases[i].there));
	}
	job_test_holds(&t, "workspace/link", "file");
	job_test_stop(&t);
}

static void rename_refuses(void **state)
{
	static const struct {
		const char *from, *to;
		uint8_t flags;
		enum error_kind kind;
		const char *message;
	} cases[] = {
		{ "missing", "x", 0, ERR_SYSTEM, "missing: No such file or directory" },
		{ "file", "x/y", 0, ERR_SYSTEM, "x/y: No such file or directory" },
		{ "file", "other", 0, ERR_SYSTEM, "other: File exists" },
		{ "file", "dir", 0, ERR_SYSTEM, "dir: File exists" },
		{ "file", "dangling", 0, ERR_SYSTEM, "dangling: File exists" },
		{ "file", "dir", WIRE_RENAME_REPLACE, ERR_SYSTEM, "dir: Is a directory" },
		{ "dir", "file", WIRE_RENAME_REPLACE, ERR_SYSTEM, "file: Not a directory" },
		{ "dir", "full", WIRE_RENAME_REPLACE, ERR_SYSTEM, "full: Directory not empty" },
		{ "full", "full/sub", 0, ERR_INVALID,
		  "full: cannot be moved into itself (full/sub)" },
		{ "full", "full/in/sub", WIRE_RENAME_REPLACE, ERR_INVALID,
		  "full: cannot be moved into itself (full/in/sub)" },
		{ ".", "x", 0, ERR_INVALID, "the workspace itself cannot be moved" },
		{ "/workspace", "/x", 0, ERR_INVALID, "the workspace itself cannot be moved" },
		{ "/", "/x", 0, ERR_INVALID, "the root itself cannot be moved" },
		{ "dir", "/workspace", WIRE_RENAME_REPLACE, ERR_INVALID,
		  "the workspace itself cannot be replaced" },
		{ "file", "/", WIRE_RENAME_REPLACE, ERR_INVALID,
		  "the root itself cannot be replaced" },
		{ "file", "new/", 0, ERR_INVALID,
		  "file: is not a directory, so neither its old nor its new name can end in a "
		  "slash: "
		  "give the whole new name" },
	};
	static struct job_test t;
	struct wire_done done;
	struct error err;

	job_test_start(&t);
	job_test_file(&t, "workspace/file", VIEW("file"));
	job_test_file(&t, "workspace/other", VIEW("other"));
	job_test_directory(&t, "workspace/dir");
	job_test_directory(&t, "workspace/full");
	job_test_directory(&t, "workspace/full/in");
	job_test_link(&t, "nowhere", "workspace/dangling");
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct wire_rename request = { .flags = cases[i].flags,
			                       .from = view_of(cases[i].from),
			                       .to = view_of(cases[i].to) };

		CHECK_ERROR(op_rename(&t.job, &request, &done, &err), err, cases[i].kind,
		            cases[i].message);
	}
	job_test_holds(&t, "workspace/file", "file");
	job_test_holds(&t, "workspace/other", "other");
	assert_int_equal(job_test_count(&t, "workspace"), 5);
	job_test_stop(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(remove_deletes_one_entry),
		TEST(remove_refuses),
		TEST(remove_deletes_a_tree_and_nothing_else),
		TEST(remove_deletes_a_hundred_thousand_levels_with_few_descriptors),
		TEST(remove_opens_locked_directories_of_the_user),
		TEST(remove_keeps_mounts),
		TEST(rename_moves_files_and_directories),
		TEST(rename_refuses),
	};

	return RUN_TESTS("op_change", tests);
}
