#include "unit/engine/native/rig.h"

#include "base/tree/remove_tree.h"

void test_dir_open_in(struct test_dir *dir, const char *above)
{
	(void)snprintf(dir->path, sizeof dir->path, "%s/belljar-test-native-XXXXXX", above);
	assert_non_null(mkdtemp(dir->path));
	dir->above = open(above, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	dir->fd = open(dir->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(dir->fd >= 0);
}

void test_dir_open(struct test_dir *dir)
{
	test_dir_open_in(dir, "/tmp");
}

void test_dir_remove(struct test_dir *dir)
{
	struct view shown = view_of(dir->path);
	struct error err;
	uint64_t count;

	(void)close(dir->fd);
	CHECK_OK(remove_tree(dir->above, strrchr(dir->path, '/') + 1, shown, &count, &err), err);
	(void)close(dir->above);
}

void write_test_file(int at, const char *name, size_t size)
{
	AUTO_FD int fd = openat(at, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	static const char bytes[4096] = "x";

	assert_true(fd >= 0);
	for (size_t done = 0; done < size; done += sizeof bytes)
		assert_int_equal(write(fd, bytes, sizeof bytes), sizeof bytes);
	/* Many file systems allocate blocks only at write-back. */
	assert_int_equal(fsync(fd), 0);
}

void check_in_child(int (*fn)(int fd), int fd)
{
	int status = -1;
	pid_t child = fork();

	if (child == 0)
		_exit(fn(fd));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

bool become_nobody(void)
{
	return geteuid() != 0 ||
	       (setresgid(NOBODY, NOBODY, NOBODY) == 0 && setresuid(NOBODY, NOBODY, NOBODY) == 0);
}
