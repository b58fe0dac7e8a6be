/* Measuring a tree of files that belongs to a sandbox. */
#include "unit/engine/native/rig.h"

#include <sched.h>
#include <sys/mount.h>

#include "engine/native/usage/internal.h"

static const struct disk_usage no_limit = { UINT64_MAX, UINT64_MAX };

static void scan_counts_bytes_and_inodes(void **state)
{
	struct disk_usage use;
	struct test_dir dir;
	struct error err;
	struct stat st;

	test_dir_open(&dir);
	assert_int_equal(mkdirat(dir.fd, "tree", 0700), 0);
	assert_int_equal(mkdirat(dir.fd, "tree/a", 0700), 0);
	assert_int_equal(mkdirat(dir.fd, "tree/a/b", 0700), 0);
	assert_int_equal(fstatat(dir.fd, "tree/a", &st, 0), 0);
	write_test_file(dir.fd, "outside", 1024 * 1024);
	write_test_file(dir.fd, "tree/a/file", 64 * 1024);
	write_test_file(dir.fd, "tree/a/b/file", 8 * 1024);
	/* Three hard links of one file; symbolic links are not followed. */
	assert_int_equal(linkat(dir.fd, "tree/a/file", dir.fd, "tree/again", 0), 0);
	assert_int_equal(linkat(dir.fd, "tree/a/file", dir.fd, "tree/a/b/again", 0), 0);
	assert_int_equal(symlinkat("../outside", dir.fd, "tree/link"), 0);
	assert_int_equal(symlinkat("/", dir.fd, "tree/root"), 0);
	assert_int_equal(mkfifoat(dir.fd, "tree/fifo", 0600), 0);
	CHECK_OK(disk_scan(dir.fd, "tree", &no_limit, &use, &err), err);
	assert_int_equal(use.inodes, 3 + 2 + 3);
	assert_in_range(use.bytes, 72 * 1024 + 3 * (uint64_t)st.st_blocks * 512,
	                80 * 1024 + 3 * (uint64_t)st.st_blocks * 512);
	test_dir_remove(&dir);
}

static void scan_stops_above_the_limit(void **state)
{
	static const struct disk_usage limits[] = { { UINT64_MAX, 10 }, { 16 * 1024, UINT64_MAX } };
	struct disk_usage use;
	struct test_dir dir;
	struct error err;
	char name[32];

	test_dir_open(&dir);
	assert_int_equal(mkdirat(dir.fd, "tree", 0700), 0);
	for (int i = 0; i < 100; i++) {
		(void)snprintf(name, sizeof name, "tree/%d", i);
		write_test_file(dir.fd, name, 4096);
	}
	CHECK_OK(disk_scan(dir.fd, "tree", &limits[0], &use, &err), err);
	assert_int_equal(use.inodes, 11);
	CHECK_OK(disk_scan(dir.fd, "tree", &limits[1], &use, &err), err);
	assert_in_range(use.bytes, 16 * 1024 + 1, 24 * 1024);
	CHECK_ERROR(disk_scan(dir.fd, "missing", &no_limit, &use, &err), err, ERR_SYSTEM,
	            "open a directory: No such file or directory");
	assert_int_equal(symlinkat("tree", dir.fd, "link"), 0);
	CHECK_ERROR(disk_scan(dir.fd, "link", &no_limit, &use, &err), err, ERR_SYSTEM,
	            "open a directory: Not a directory");
	test_dir_remove(&dir);
}

/* Directories one below the other, each with a file before and a directory behind the next one. */
static uint64_t make_deep_tree(int at, int depth)
{
	int fd = openat(at, "tree", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	uint64_t count = 1;

	for (int i = 0; i < depth; i++) {
		int next;

		assert_int_equal(mknodat(fd, "a", S_IFREG | 0600, 0), 0);
		assert_int_equal(mkdirat(fd, "d", 0700), 0);
		assert_int_equal(mkdirat(fd, "z", 0700), 0);
		next = openat(fd, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		assert_true(next >= 0);
		(void)close(fd);
		fd = next;
		count += 3;
	}
	(void)close(fd);
	return count;
}

static void scan_of_a_deep_tree_needs_few_descriptors(void **state)
{
	const char *const below = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
	struct rlimit old, few = { 48, 48 };
	struct disk_usage use;
	struct test_dir dir;
	struct error err;
	uint64_t count;

	test_dir_open_in(&dir, below);
	assert_int_equal(mkdirat(dir.fd, "tree", 0700), 0);
	count = make_deep_tree(dir.fd, strcmp(below, "/tmp") == 0 ? 1000 : 20000);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	few.rlim_max = old.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	CHECK_OK(disk_scan(dir.fd, "tree", &no_limit, &use, &err), err);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	assert_int_equal(use.inodes, count);
	test_dir_remove(&dir);
}

static int check_unreadable_dirs(int fd)
{
	static const mode_t modes[] = { 0, 0111, 0444, 0300, 0555 };
	struct disk_usage use;
	struct error err;
	char name[32];

	if ((geteuid() == 0 && fchmod(fd, 0777) < 0) || !become_nobody())
		return 1;
	if (mkdirat(fd, "tree", 0700) < 0)
		return 2;
	for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
		(void)snprintf(name, sizeof name, "tree/%zu", i);
		if (mkdirat(fd, name, 0700) < 0)
			return 3;
		(void)snprintf(name, sizeof name, "tree/%zu/file", i);
		if (mknodat(fd, name, S_IFREG, 0) < 0)
			return 4;
		(void)snprintf(name, sizeof name, "tree/%zu", i);
		if (fchmodat(fd, name, modes[i], 0) < 0)
			return 5;
	}
	if (disk_scan(fd, "tree", &no_limit, &use, &err) < 0)
		return 6;
	return use.inodes == 1 + 2 * ARRAY_LEN(modes) ? 0 : 7;
}

static void files_in_unreadable_directories_are_counted(void **state)
{
	struct test_dir dir;

	test_dir_open(&dir);
	check_in_child(check_unreadable_dirs, dir.fd);
	test_dir_remove(&dir);
}

static int check_mount_below(int fd)
{
	char path[64], now[64];
	struct disk_usage use;
	struct error err;
	ssize_t n;

	/* By path: `fd` belongs to the old mount namespace, in which nothing is mounted there. */
	(void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	n = readlink(path, now, sizeof now - 1);
	now[n < 0 ? 0 : n] = '\0';
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    chdir(now) < 0 || mount("none", "tree/mounted", "tmpfs", 0, NULL) < 0)
		return 1;
	fd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (mkdirat(fd, "tree/mounted/a", 0700) < 0 || mkdirat(fd, "tree/mounted/b", 0700) < 0)
		return 2;
	if (disk_scan(fd, "tree", &no_limit, &use, &err) < 0)
		return 3;
	return use.inodes == 1 ? 0 : 4;
}

static void other_file_systems_are_not_counted(void **state)
{
	struct test_dir dir;

	if (geteuid() != 0)
		SKIP_TEST("only root can mount");
	test_dir_open(&dir);
	assert_int_equal(mkdirat(dir.fd, "tree", 0700), 0);
	assert_int_equal(mkdirat(dir.fd, "tree/mounted", 0700), 0);
	check_in_child(check_mount_below, dir.fd);
	test_dir_remove(&dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(scan_counts_bytes_and_inodes),
		TEST(scan_stops_above_the_limit),
		TEST(scan_of_a_deep_tree_needs_few_descriptors),
		TEST(files_in_unreadable_directories_are_counted),
		TEST(other_file_systems_are_not_counted),
	};

	return RUN_TESTS("engine/disk_scan", tests);
}
