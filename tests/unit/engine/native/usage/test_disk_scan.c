#include "unit/engine/native/native_test.h"

#include <sched.h>
#include <sys/mount.h>

#include "engine/native/usage/disk.h"

static const struct disk_use everything = { UINT64_MAX, UINT64_MAX };

static void counts_bytes_and_files(void **state)
{
	struct disk_use use;
	struct place place;
	struct error err;
	struct stat st;

	(void)state;
	place_start(&place);
	assert_int_equal(mkdirat(place.fd, "box", 0700), 0);
	assert_int_equal(mkdirat(place.fd, "box/a", 0700), 0);
	assert_int_equal(mkdirat(place.fd, "box/a/b", 0700), 0);
	assert_int_equal(fstatat(place.fd, "box/a", &st, 0), 0);
	put(place.fd, "outside", 1024 * 1024);
	put(place.fd, "box/a/file", 64 * 1024);
	put(place.fd, "box/a/b/file", 8 * 1024);
	/* Many names, one file; links lead nowhere. */
	assert_int_equal(linkat(place.fd, "box/a/file", place.fd, "box/again", 0), 0);
	assert_int_equal(linkat(place.fd, "box/a/file", place.fd, "box/a/b/again", 0), 0);
	assert_int_equal(symlinkat("../outside", place.fd, "box/link"), 0);
	assert_int_equal(symlinkat("/", place.fd, "box/root"), 0);
	assert_int_equal(mkfifoat(place.fd, "box/fifo", 0600), 0);
	CHECK_OK(disk_scan(place.fd, "box", &everything, &use, &err), err);
	assert_int_equal(use.inodes, 3 + 2 + 3);
	assert_in_range(use.bytes, 72 * 1024 + 3 * (uint64_t)st.st_blocks * 512,
	                80 * 1024 + 3 * (uint64_t)st.st_blocks * 512);
	place_stop(&place);
}

static void stops_when_it_is_enough(void **state)
{
	static const struct disk_use enough[] = { { UINT64_MAX, 10 }, { 16 * 1024, UINT64_MAX } };
	struct disk_use use;
	struct place place;
	struct error err;
	char name[32];

	(void)state;
	place_start(&place);
	assert_int_equal(mkdirat(place.fd, "box", 0700), 0);
	for (int i = 0; i < 100; i++) {
		(void)snprintf(name, sizeof name, "box/%d", i);
		put(place.fd, name, 4096);
	}
	CHECK_OK(disk_scan(place.fd, "box", &enough[0], &use, &err), err);
	assert_int_equal(use.inodes, 11);
	CHECK_OK(disk_scan(place.fd, "box", &enough[1], &use, &err), err);
	assert_in_range(use.bytes, 16 * 1024 + 1, 24 * 1024);
	CHECK_ERROR(disk_scan(place.fd, "missing", &everything, &use, &err), err, ERR_SYSTEM,
	            "open a directory: No such file or directory");
	assert_int_equal(symlinkat("box", place.fd, "link"), 0);
	CHECK_ERROR(disk_scan(place.fd, "link", &everything, &use, &err), err, ERR_SYSTEM,
	            "open a directory: Not a directory");
	place_stop(&place);
}

/* One below the other, with something beside the way before and behind it. */
static uint64_t dig(int at, int depth)
{
	int fd = openat(at, "box", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
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

static void counts_deep_trees_with_few_descriptors(void **state)
{
	const char *const below = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
	struct rlimit old, few = { 48, 48 };
	struct disk_use use;
	struct place place;
	struct error err;
	uint64_t count;

	(void)state;
	place_start_in(&place, below);
	assert_int_equal(mkdirat(place.fd, "box", 0700), 0);
	count = dig(place.fd, strcmp(below, "/tmp") == 0 ? 1000 : 20000);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	few.rlim_max = old.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	CHECK_OK(disk_scan(place.fd, "box", &everything, &use, &err), err);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	assert_int_equal(use.inodes, count);
	place_stop(&place);
}

static int scan_hidden(int fd)
{
	static const mode_t modes[] = { 0, 0111, 0444, 0300, 0555 };
	struct disk_use use;
	struct error err;
	char name[32];

	if (geteuid() == 0 && (fchmod(fd, 0777) < 0 || setresgid(NOBODY, NOBODY, NOBODY) < 0 ||
	                       setresuid(NOBODY, NOBODY, NOBODY) < 0))
		return 1;
	if (mkdirat(fd, "box", 0700) < 0)
		return 2;
	for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
		(void)snprintf(name, sizeof name, "box/%zu", i);
		if (mkdirat(fd, name, 0700) < 0)
			return 3;
		(void)snprintf(name, sizeof name, "box/%zu/file", i);
		if (mknodat(fd, name, S_IFREG, 0) < 0)
			return 4;
		(void)snprintf(name, sizeof name, "box/%zu", i);
		if (fchmodat(fd, name, modes[i], 0) < 0)
			return 5;
	}
	if (disk_scan(fd, "box", &everything, &use, &err) < 0)
		return 6;
	return use.inodes == 1 + 2 * ARRAY_LEN(modes) ? 0 : 7;
}

static void nothing_is_hidden_in_locked_directories(void **state)
{
	struct place place;

	(void)state;
	place_start(&place);
	in_child(scan_hidden, place.fd);
	place_stop(&place);
}

static int scan_below_mount(int fd)
{
	struct disk_use use;
	struct error err;

	char path[64], now[64];
	ssize_t n;

	/* By its path: what is open is of the old namespace, where nothing is mounted. */
	(void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	n = readlink(path, now, sizeof now - 1);
	now[n < 0 ? 0 : n] = '\0';
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    chdir(now) < 0 || mount("none", "box/mounted", "tmpfs", 0, NULL) < 0)
		return 1;
	fd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (mkdirat(fd, "box/mounted/a", 0700) < 0 || mkdirat(fd, "box/mounted/b", 0700) < 0)
		return 2;
	if (disk_scan(fd, "box", &everything, &use, &err) < 0)
		return 3;
	return use.inodes == 1 ? 0 : 4;
}

static void mounts_do_not_count(void **state)
{
	struct place place;

	(void)state;
	if (geteuid() != 0)
		SKIP_TEST("only root can mount");
	place_start(&place);
	assert_int_equal(mkdirat(place.fd, "box", 0700), 0);
	assert_int_equal(mkdirat(place.fd, "box/mounted", 0700), 0);
	in_child(scan_below_mount, place.fd);
	place_stop(&place);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(counts_bytes_and_files),
		TEST(stops_when_it_is_enough),
		TEST(counts_deep_trees_with_few_descriptors),
		TEST(nothing_is_hidden_in_locked_directories),
		TEST(mounts_do_not_count),
	};

	return RUN_TESTS("engine/disk_scan", tests);
}
