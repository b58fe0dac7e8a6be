/* The directory of sandboxes, and project quotas where the file system has them. */
#include "unit/engine/native/rig.h"

#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/quota.h>
#include <sys/syscall.h>

#include "base/tree/remove_tree.h"
#include "engine/native/usage/usage.h"

enum { PROJECT = 4711 };

/* --- without quotas ------------------------------------------------------------------ */

static void disk_is_watched_without_root(void **state)
{
	struct test_dir temporary;
	struct disk disk;
	struct error err;
	struct stat st;

	test_dir_open(&temporary);
	for (int i = 0; i < 2; i++) { /* the second call finds the directory */
		CHECK_OK(disk_open(&disk, temporary.fd, false, &err), err);
		assert_int_equal(disk.kind, DISK_WATCHED);
		assert_string_equal(disk.why, "only root can set quotas");
		assert_int_equal(fstat(disk.dir, &st), 0);
		assert_int_equal(st.st_mode, S_IFDIR | 0700);
		disk_clear_quota(&disk, PROJECT);
		disk_close(&disk);
		assert_int_equal(disk.dir, -1);
	}
	test_dir_remove(&temporary);
}

static void link_in_place_of_the_directory_is_an_error(void **state)
{
	struct test_dir temporary;
	struct disk disk;
	struct error err;

	test_dir_open(&temporary);
	assert_int_equal(symlinkat("/tmp", temporary.fd, "sandboxes"), 0);
	CHECK_ERROR(disk_open(&disk, temporary.fd, false, &err), err, ERR_SYSTEM,
	            "open the directory sandboxes: Not a directory");
	test_dir_remove(&temporary);
}

/* In strict seccomp mode a quotactl_fd(2) would kill the process. */
static int release_project_0(int dir)
{
	const struct disk disk = { .kind = DISK_QUOTA, .dir = dir };

	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0) < 0)
		return 1;
	disk_clear_quota(&disk, 0);
	return (int)syscall(SYS_exit, 0);
}

static void quota_of_project_0_is_never_cleared(void **state)
{
	struct test_dir temporary;

	test_dir_open(&temporary);
	check_in_child(release_project_0, temporary.fd);
	test_dir_remove(&temporary);
}

/* --- with quotas --------------------------------------------------------------------- */

/* Needs a file system with project quotas at /tmp, or at the directory BELLJAR_TEST_QUOTA names. */
static bool open_quota_dir(struct test_dir *temporary, struct disk *disk)
{
	const char *below = getenv("BELLJAR_TEST_QUOTA");
	struct error err;

	*disk = (struct disk){ .dir = -1 };
	if (geteuid() != 0) {
		print_message("# skipped: only root can set quotas\n");
		return false;
	}
	test_dir_open_in(temporary, below != NULL ? below : "/tmp");
	CHECK_OK(disk_open(disk, temporary->fd, true, &err), err);
	if (disk->kind == DISK_QUOTA)
		return true;
	print_message("# skipped: %s\n", disk->why);
	disk_close(disk);
	test_dir_remove(temporary);
	return false;
}

static int make_sandbox_dir(const struct disk *disk, const char *name)
{
	int fd;

	assert_int_equal(mkdirat(disk->dir, name, 0700), 0);
	assert_int_equal(fchmodat(disk->dir, name, 0777, 0), 0);
	fd = openat(disk->dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

static struct disk_usage read_quota(const struct disk *disk, uint32_t project)
{
	struct if_dqblk use = { 0 };
	long r = syscall(SYS_quotactl_fd, disk->dir, QCMD((unsigned)Q_GETQUOTA, 2 /* PRJQUOTA */),
	                 project, &use);

	/* ENOENT: xfs has no record of a project without files. */
	assert_true(r == 0 || errno == ENOENT);
	return (struct disk_usage){ .bytes = use.dqb_curspace, .inodes = use.dqb_curinodes };
}

/* Quotas do not stop root. */
static int fill_bytes(int dir)
{
	static const char bytes[4096] = "x";
	size_t written = 0;
	int fd;

	if (!become_nobody() || mkdirat(dir, "below", 0700) < 0)
		return 1;
	fd = openat(dir, "below/file", O_WRONLY | O_CREAT, 0600);
	if (fd < 0)
		return 2;
	while (written < 8 * 1024 * 1024 && write(fd, bytes, sizeof bytes) == sizeof bytes)
		written += sizeof bytes;
	if (errno != EDQUOT && errno != ENOSPC)
		return 3;
	return written > 512 * 1024 && written <= 1024 * 1024 ? 0 : 4;
}

static int fill_inodes(int dir)
{
	char name[16];
	int i;

	if (!become_nobody())
		return 1;
	for (i = 0; i < 1000; i++) {
		(void)snprintf(name, sizeof name, "%d", i);
		if (mknodat(dir, name, S_IFREG | 0600, 0) < 0)
			break;
	}
	/* One of the 20 inodes is the directory itself. */
	return i == 19 && (errno == EDQUOT || errno == ENOSPC) ? 0 : 2;
}

static int leave_project(int dir)
{
	if (!become_nobody())
		return 1;
	/* link(2) into a directory of another project fails, so no file leaves its quota. */
	if (mknodat(dir, "mine", S_IFREG | 0600, 0) < 0)
		return 2;
	return linkat(dir, "mine", dir, "../second/mine", 0) < 0 ? 0 : 3;
}

static void quota_limits_bytes_and_inodes(void **state)
{
	struct disk_usage used, limit = { 1024 * 1024, 20 };
	struct test_dir temporary;
	struct disk disk;
	struct error err;
	uint64_t count;
	int first, second;

	if (!open_quota_dir(&temporary, &disk))
		skip();
	first = make_sandbox_dir(&disk, "first");
	second = make_sandbox_dir(&disk, "second");
	CHECK_OK(disk_set_quota(&disk, first, PROJECT, &limit, &err), err);
	CHECK_OK(disk_set_quota(&disk, second, PROJECT + 1, &limit, &err), err);
	check_in_child(leave_project, first);
	assert_int_equal(unlinkat(first, "mine", 0), 0);
	check_in_child(fill_bytes, first);
	assert_int_equal(syncfs(first), 0);
	used = read_quota(&disk, PROJECT);
	assert_in_range(used.bytes, 512 * 1024, 1024 * 1024);
	assert_int_equal(used.inodes, 3);
	used = read_quota(&disk, PROJECT + 1);
	assert_in_range(used.bytes, 0, 4096);
	assert_int_equal(used.inodes, 1);
	check_in_child(fill_inodes, second);

	(void)close(first);
	(void)close(second);
	CHECK_OK(remove_tree(disk.dir, "first", VIEW("first"), &count, &err), err);
	assert_int_equal(count, 3);
	/* XFS frees the inodes of removed files in the background. */
	for (int i = 0; i < 1000; i++) {
		used = read_quota(&disk, PROJECT);
		if (used.bytes + used.inodes == 0)
			break;
		(void)usleep(10000);
	}
	assert_int_equal(used.bytes + used.inodes, 0);

	/* Without a limit more can be written. */
	disk_clear_quota(&disk, PROJECT + 1);
	second = openat(disk.dir, "second", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	write_test_file(second, "large", 2 * 1024 * 1024);
	(void)close(second);
	CHECK_OK(remove_tree(disk.dir, "second", VIEW("second"), &count, &err), err);
	disk_close(&disk);
	test_dir_remove(&temporary);
}

static void quota_of_zero_is_refused(void **state)
{
	static const struct disk_usage wrong[] = { { 1023, 10 }, { 1024, 0 } };
	struct test_dir temporary;
	struct disk disk;
	struct error err;

	if (!open_quota_dir(&temporary, &disk))
		skip();
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
		CHECK_ERROR(disk_set_quota(&disk, disk.dir, PROJECT, &wrong[i], &err), err,
		            ERR_INVALID, "a quota of less than 1024 bytes or of no files");
	disk_close(&disk);
	test_dir_remove(&temporary);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(disk_is_watched_without_root),
		TEST(link_in_place_of_the_directory_is_an_error),
		TEST(quota_of_project_0_is_never_cleared),
		TEST(quota_limits_bytes_and_inodes),
		TEST(quota_of_zero_is_refused),
	};

	return RUN_TESTS("engine/disk", tests);
}
