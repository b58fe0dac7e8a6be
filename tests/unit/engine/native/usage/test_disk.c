#include "unit/engine/native/native_test.h"

#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "engine/native/usage/disk.h"

enum { PROJECT = 4711 };

/* --- without quotas ------------------------------------------------------------------ */

static void without_root_files_are_watched(void **state)
{
	struct place place;
	struct disk disk;
	struct error err;
	struct stat st;

	(void)state;
	place_start(&place);
	for (int i = 0; i < 2; i++) { /* the second finds what is there */
		CHECK_OK(disk_open(&disk, place.fd, false, &err), err);
		assert_int_equal(disk.kind, DISK_WATCHED);
		assert_string_equal(disk.why, "only root can set quotas");
		assert_int_equal(fstat(disk.dir, &st), 0);
		assert_int_equal(st.st_mode, S_IFDIR | 0700);
		disk_release(&disk, PROJECT);
		disk_close(&disk);
		assert_int_equal(disk.dir, -1);
	}
	place_stop(&place);
}

static void what_is_in_the_way_is_an_error(void **state)
{
	struct place place;
	struct disk disk;
	struct error err;

	(void)state;
	place_start(&place);
	assert_int_equal(symlinkat("/tmp", place.fd, "sandboxes"), 0);
	CHECK_ERROR(disk_open(&disk, place.fd, false, &err), err, ERR_SYSTEM,
	            "open the directory sandboxes: Not a directory");
	place_stop(&place);
}

/* It can do nothing but end. */
static int release_project_0(int dir)
{
	const struct disk disk = { .kind = DISK_QUOTA, .dir = dir };

	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0) < 0)
		return 1;
	disk_release(&disk, 0);
	return (int)syscall(SYS_exit, 0);
}

static void project_0_is_the_hosts_own_and_stays_as_it_is(void **state)
{
	struct place place;

	(void)state;
	place_start(&place);
	in_child(release_project_0, place.fd);
	place_stop(&place);
}

/* --- with quotas --------------------------------------------------------------------- */

/* Where BELLJAR_TEST_QUOTA names a directory on a file system with project quotas. */
static bool start_quota(struct place *place, struct disk *disk)
{
	const char *below = getenv("BELLJAR_TEST_QUOTA");
	struct error err;

	if (geteuid() != 0) {
		print_message("# skipped: only root can set quotas\n");
		return false;
	}
	place_start_in(place, below != NULL ? below : "/tmp");
	CHECK_OK(disk_open(disk, place->fd, true, &err), err);
	if (disk->kind == DISK_QUOTA)
		return true;
	print_message("# skipped: %s\n", disk->why);
	disk_close(disk);
	place_stop(place);
	return false;
}

static int make_box(const struct disk *disk, const char *name)
{
	int fd;

	assert_int_equal(mkdirat(disk->dir, name, 0700), 0);
	assert_int_equal(fchmodat(disk->dir, name, 0777, 0), 0);
	fd = openat(disk->dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

/* Not as root, whom quotas do not stop. */
static int fill_bytes(int box)
{
	static const char bytes[4096] = "x";
	size_t written = 0;
	int fd;

	if (setresgid(NOBODY, NOBODY, NOBODY) < 0 || setresuid(NOBODY, NOBODY, NOBODY) < 0 ||
	    mkdirat(box, "below", 0700) < 0)
		return 1;
	fd = openat(box, "below/file", O_WRONLY | O_CREAT, 0600);
	if (fd < 0)
		return 2;
	while (written < 8 * 1024 * 1024 && write(fd, bytes, sizeof bytes) == sizeof bytes)
		written += sizeof bytes;
	if (errno != EDQUOT && errno != ENOSPC)
		return 3;
	return written > 512 * 1024 && written <= 1024 * 1024 ? 0 : 4;
}

static int fill_inodes(int box)
{
	char name[16];
	int i;

	if (setresgid(NOBODY, NOBODY, NOBODY) < 0 || setresuid(NOBODY, NOBODY, NOBODY) < 0)
		return 1;
	for (i = 0; i < 1000; i++) {
		(void)snprintf(name, sizeof name, "%d", i);
		if (mknodat(box, name, S_IFREG | 0600, 0) < 0)
			break;
	}
	/* Of 20, "box" itself is one. */
	return i == 19 && (errno == EDQUOT || errno == ENOSPC) ? 0 : 2;
}

static int leave_project(int box)
{
	if (setresgid(NOBODY, NOBODY, NOBODY) < 0 || setresuid(NOBODY, NOBODY, NOBODY) < 0)
		return 1;
	/* Neither out of it nor around it: nothing outside can be renamed or linked to. */
	if (mknodat(box, "mine", S_IFREG | 0600, 0) < 0)
		return 2;
	return linkat(box, "mine", box, "../other/mine", 0) < 0 ? 0 : 3;
}

static void a_quota_holds(void **state)
{
	struct disk_use used, most = { 1024 * 1024, 20 };
	struct place place;
	struct disk disk;
	struct error err;
	uint64_t count;
	int box, other;

	(void)state;
	if (!start_quota(&place, &disk))
		skip();
	box = make_box(&disk, "box");
	other = make_box(&disk, "other");
	CHECK_OK(disk_limit(&disk, box, PROJECT, &most, &err), err);
	CHECK_OK(disk_limit(&disk, other, PROJECT + 1, &most, &err), err);
	in_child(leave_project, box);
	assert_int_equal(unlinkat(box, "mine", 0), 0);
	in_child(fill_bytes, box);
	assert_int_equal(syncfs(box), 0);
	CHECK_OK(disk_used(&disk, PROJECT, &used, &err), err);
	assert_in_range(used.bytes, 512 * 1024, 1024 * 1024);
	assert_int_equal(used.inodes, 3);
	CHECK_OK(disk_used(&disk, PROJECT + 1, &used, &err), err);
	assert_in_range(used.bytes, 0, 4096);
	assert_int_equal(used.inodes, 1);
	in_child(fill_inodes, other);

	(void)close(box);
	(void)close(other);
	CHECK_OK(remove_tree(disk.dir, "box", VIEW("box"), &count, &err), err);
	assert_int_equal(count, 3);
	CHECK_OK(disk_used(&disk, PROJECT, &used, &err), err);
	assert_int_equal(used.bytes + used.inodes, 0);

	/* What is limited no more takes more. */
	disk_release(&disk, PROJECT + 1);
	other = openat(disk.dir, "other", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	put(other, "large", 2 * 1024 * 1024);
	(void)close(other);
	CHECK_OK(remove_tree(disk.dir, "other", VIEW("other"), &count, &err), err);
	disk_close(&disk);
	place_stop(&place);
}

static void a_quota_of_nothing_is_refused(void **state)
{
	static const struct disk_use wrong[] = { { 1023, 10 }, { 1024, 0 } };
	struct place place;
	struct disk disk;
	struct error err;

	(void)state;
	if (!start_quota(&place, &disk))
		skip();
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
		CHECK_ERROR(disk_limit(&disk, disk.dir, PROJECT, &wrong[i], &err), err, ERR_INVALID,
		            "a quota of less than 1024 bytes or of no files");
	disk_close(&disk);
	place_stop(&place);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(without_root_files_are_watched),
		TEST(what_is_in_the_way_is_an_error),
		TEST(project_0_is_the_hosts_own_and_stays_as_it_is),
		TEST(a_quota_holds),
		TEST(a_quota_of_nothing_is_refused),
	};

	return RUN_TESTS("engine/disk", tests);
}
