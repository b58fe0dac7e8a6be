#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/tree/remove_tree.h"
#include "unit/test.h"

enum { NOBODY = 65534 };

/* Each test has a directory of its own as working directory, with a descriptor. */
static int make_directory(void **state)
{
	static char path[64];

	(void)snprintf(path, sizeof path, "%s/belljar-test-remove-XXXXXX",
	               access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	*state = path;
	return mkdtemp(path) != NULL && chdir(path) == 0 ? 0 : -1;
}

static int remove_directory(void **state)
{
	return chdir("/") + rmdir(*state); /* tests leave nothing */
}

#define PLACED(name) cmocka_unit_test_setup_teardown(name, make_directory, remove_directory)

static void check_remove(const char *name, uint64_t want)
{
	struct error err;
	uint64_t count = 0;

	CHECK_OK(remove_tree(AT_FDCWD, name, view_of(name), &count, &err), err);
	assert_int_equal(count, want);
	assert_int_equal(faccessat(AT_FDCWD, name, F_OK, AT_SYMLINK_NOFOLLOW), -1);
}

/* Makes nested directories in `at`, with a file beside each. Returns the number of entries. */
static uint64_t dig(int at, const char *name, int depth)
{
	int fd = dup(at);
	uint64_t count = 0;

	for (int i = 0; i < depth; i++) {
		int next;

		assert_int_equal(mkdirat(fd, name, 0700), 0);
		next = openat(fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		assert_true(next >= 0);
		(void)close(fd);
		fd = next;
		assert_int_equal(mknodat(fd, "file", S_IFREG | 0600, 0), 0);
		count += 2;
	}
	(void)close(fd);
	return count;
}

static void empty_directory_is_removed(void **state)
{
	assert_int_equal(mkdir("empty", 0700), 0);
	check_remove("empty", 1);
}

/* The walk has to close levels and reopen them through "..". */
static void deep_branches_are_removed_with_few_descriptors(void **state)
{
	struct rlimit old, few = { 48, 48 };
	uint64_t count = 1;
	char name[32];
	int fd;

	assert_int_equal(mkdir("tree", 0700), 0);
	fd = open("tree", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (int i = 0; i < 300; i++) {
		(void)snprintf(name, sizeof name, "branch-%d", i);
		count += dig(fd, name, 70);
		(void)snprintf(name, sizeof name, "file-%d", i);
		assert_int_equal(mknodat(fd, name, S_IFREG | 0600, 0), 0);
		count++;
	}
	(void)close(fd);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	few.rlim_max = old.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	check_remove("tree", count);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
}

static void tree_deeper_than_path_max_is_removed(void **state)
{
	static char name[256];
	int fd;

	memset(name, 'n', sizeof name - 1);
	assert_int_equal(mkdir("tree", 0700), 0);
	fd = open("tree", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	/* A path of more than 1 MiB. */
	check_remove("tree", dig(fd, name, 4200) + 1);
	(void)close(fd);
}

static void wide_directory_is_removed(void **state)
{
	char name[32];

	assert_int_equal(mkdir("wide", 0700), 0);
	for (int i = 0; i < 20000; i++) {
		(void)snprintf(name, sizeof name, "wide/%d", i);
		assert_int_equal(mknod(name, S_IFREG | 0600, 0), 0);
	}
	check_remove("wide", 20001);
}

static void symbolic_links_are_not_followed(void **state)
{
	struct error err;
	uint64_t count;

	assert_int_equal(mkdir("kept", 0700) + mkdir("kept/dir", 0700) + mkdir("tree", 0700), 0);
	assert_int_equal(symlink("../kept", "tree/link") + symlink("kept", "link"), 0);
	check_remove("tree", 2);
	CHECK_ERROR(remove_tree(AT_FDCWD, "link", VIEW("box"), &count, &err), err, ERR_SYSTEM,
	            "box: Not a directory");
	CHECK_ERROR(remove_tree(AT_FDCWD, "missing", VIEW("box"), &count, &err), err, ERR_SYSTEM,
	            "box: No such file or directory");
	assert_int_equal(access("kept/dir", F_OK), 0);
	assert_int_equal(unlink("link"), 0);
	check_remove("kept", 2);
}

static int remove_locked(void)
{
	static const mode_t modes[] = { 0, 0111, 0222, 0444, 0555 };
	struct error err;
	uint64_t count;
	char name[32];

	if (geteuid() == 0 && (chmod(".", 0777) < 0 || setresuid(NOBODY, NOBODY, NOBODY) < 0))
		return 1;
	if (mkdir("tree", 0700) < 0)
		return 2;
	for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
		(void)snprintf(name, sizeof name, "tree/%zu", i);
		if (mkdir(name, 0700) < 0)
			return 3;
		(void)snprintf(name, sizeof name, "tree/%zu/dir", i);
		if (mkdir(name, 0) < 0)
			return 4;
		(void)snprintf(name, sizeof name, "tree/%zu", i);
		if (chmod(name, modes[i]) < 0)
			return 5;
	}
	if (chmod("tree", 0) < 0 || remove_tree(AT_FDCWD, "tree", VIEW("tree"), &count, &err) < 0)
		return 6;
	return count == 1 + 2 * ARRAY_LEN(modes) ? 0 : 7;
}

static int meet_mount(void)
{
	struct error err;
	uint64_t count;

	if (mkdir("tree", 0700) < 0 || mkdir("tree/a", 0700) < 0 || mkdir("tree/a/m", 0700) < 0)
		return 1;
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("none", "tree/a/m", "tmpfs", 0, NULL) < 0 || mkdir("tree/a/m/kept", 0700) < 0)
		return 77;
	if (remove_tree(AT_FDCWD, "tree", VIEW("tree"), &count, &err) == 0)
		return 2;
	if (strcmp(err.msg, "tree: 'm' is a mount point, which cannot be removed") != 0)
		return 3;
	return access("tree/a/m/kept", F_OK) == 0 ? 0 : 4;
}

static int run_child(int (*fn)(void))
{
	int status = -1;
	pid_t child = fork();

	if (child == 0)
		_exit(fn());
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void unreadable_directories_of_the_user_are_removed(void **state)
{
	assert_int_equal(run_child(remove_locked), 0);
}

static void mount_point_is_an_error(void **state)
{
	int code = run_child(meet_mount);

	check_remove("tree", 3);
	if (code == 77)
		SKIP_TEST("mounting is not permitted here");
	assert_int_equal(code, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		PLACED(empty_directory_is_removed),
		PLACED(deep_branches_are_removed_with_few_descriptors),
		PLACED(tree_deeper_than_path_max_is_removed),
		PLACED(wide_directory_is_removed),
		PLACED(symbolic_links_are_not_followed),
		PLACED(unreadable_directories_of_the_user_are_removed),
		PLACED(mount_point_is_an_error),
	};

	return RUN_TESTS("base/remove_tree", tests);
}
