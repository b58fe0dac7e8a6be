#include <fcntl.h>
#include <sys/wait.h>

#include "base/fd.h"
#include "unit/test.h"

enum { TOP = 40 };

/* The descriptors from 3 to TOP that are open, as a mask. */
static uint64_t open_mask(void)
{
	uint64_t mask = 0;

	for (int fd = 3; fd <= TOP; fd++)
		mask |= fcntl(fd, F_GETFD) >= 0 ? UINT64_C(1) << fd : 0;
	return mask;
}

/* In a child, whose descriptors 3 to TOP are open and are different files. */
static bool close_others(const int *keep, size_t count, uint64_t expected)
{
	struct error err;

	return fd_close_others(keep, count, &err) == 0 && open_mask() == expected;
}

static bool is_same_file(int fd, off_t offset)
{
	return lseek(fd, 0, SEEK_CUR) == offset && fcntl(fd, F_GETFD) == FD_CLOEXEC;
}

static bool renumber(int a, int b, int c)
{
	int fds[] = { a, b, c };
	struct error err;

	if (fd_renumber((int *const[]){ &fds[0], &fds[1], &fds[2] }, 3, &err) < 0)
		return false;
	return fds[0] == 3 && fds[1] == (b < 0 ? -1 : 4) && fds[2] == (b < 0 ? 4 : 5) &&
	       open_mask() == (b < 0 ? 0x18 : 0x38) && is_same_file(fds[0], a) &&
	       (b < 0 || is_same_file(fds[1], b)) && is_same_file(fds[2], c);
}

static bool run_case(int which)
{
	/* Each descriptor has an offset of its own number, so that it can be told from the
	 * others. */
	for (int fd = 3; fd <= TOP; fd++) {
		int file = open("/etc/passwd", O_RDONLY);

		if (file < 0 || (file != fd && (dup2(file, fd) < 0 || close(file) < 0)) ||
		    lseek(fd, fd, SEEK_SET) != fd)
			return false;
	}
	switch (which) {
	case 0:
		return close_others(NULL, 0, 0);
	case 1:
		return close_others((const int[]){ 3 }, 1, 1 << 3);
	case 2:
		return close_others((const int[]){ 9, -1, 5, 6, 9 }, 5, 1 << 5 | 1 << 6 | 1 << 9);
	case 3:
		return close_others((const int[]){ 1, TOP }, 2, UINT64_C(1) << TOP);
	case 4:
		return renumber(20, 30, TOP);
	case 5:
		return renumber(5, 4, 3); /* each is in another one's place */
	default:
		return renumber(4, -1, 3);
	}
}

static void only_the_kept_descriptors_stay_open(void **state)
{
	for (int i = 0; i <= 6; i++) {
		pid_t child = fork();
		int status;

		assert_true(child >= 0);
		if (child == 0)
			_exit(run_case(i) ? 0 : 1);
		assert_int_equal(waitpid(child, &status, 0), child);
		if (status != 0)
			fail_msg("case %d", i);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { TEST(only_the_kept_descriptors_stay_open) };

	return RUN_TESTS("base/fd_close", tests);
}
