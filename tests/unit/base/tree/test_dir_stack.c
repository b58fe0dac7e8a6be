#include "base/tree/dir_stack.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "unit/scratch.h"

enum { LEVELS = 3 * DIR_STACK_OPEN_MAX };

/* Makes "d/d/d ..." with the files "a" and "z" in each directory. */
static void make_levels(void)
{
	int dir = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	for (int i = 0; i < LEVELS; i++) {
		int below;

		assert_int_equal(mkdirat(dir, "d", 0755), 0);
		below = openat(dir, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		assert_true(below >= 0);
		(void)close(openat(below, "a", O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
		(void)close(openat(below, "z", O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
		(void)close(dir);
		dir = below;
	}
	(void)close(dir);
}

static void push(struct dir_stack *stack, int at, const char *name)
{
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(dir_stack_push(stack, fd, &st), 0);
}

static size_t count_open(const struct dir_stack *stack)
{
	size_t count = 0;

	for (size_t i = 0; i < stack->depth; i++)
		count += stack->levels[i].stream != NULL;
	return count;
}

/* Reads the top directory up to its end or to "d", which is pushed. False at the end. */
static bool descend(struct dir_stack *stack, size_t *files)
{
	const struct dirent *entry;

	while ((entry = dir_stack_read(stack)) != NULL) {
		if (strcmp(entry->d_name, "d") == 0) {
			push(stack, dir_stack_fd(stack), "d");
			return true;
		}
		(*files)++;
	}
	assert_int_equal(errno, 0);
	return false;
}

static void every_entry_is_read_once_with_few_descriptors(void **state)
{
	struct dir_stack stack = { 0 };
	size_t files = 0, deepest = 0;

	make_levels();
	push(&stack, AT_FDCWD, "d");
	while (stack.depth != 0) {
		deepest = stack.depth > deepest ? stack.depth : deepest;
		assert_true(count_open(&stack) <= DIR_STACK_OPEN_MAX);
		if (!descend(&stack, &files))
			assert_int_equal(dir_stack_pop(&stack), 0);
	}
	assert_int_equal(deepest, LEVELS);
	assert_int_equal(files, 2 * LEVELS);
	dir_stack_done(&stack);
}

/* A directory in the middle is moved: ".." of it leads to another one than the walk came from. */
static void pop_into_a_moved_directory_fails(void **state)
{
	struct dir_stack stack = { 0 };
	size_t files = 0;
	int failed = 0;

	make_levels();
	assert_int_equal(mkdir("elsewhere", 0755), 0);
	push(&stack, AT_FDCWD, "d");
	while (descend(&stack, &files))
		;
	assert_int_equal(rename("d/d/d/d", "elsewhere/d"), 0);
	while (stack.depth > 1 && failed == 0) {
		failed = dir_stack_pop(&stack);
		assert_true(failed == 0 || errno == ESTALE);
	}
	assert_int_equal(failed, -1);
	assert_int_equal(stack.depth, 3); /* the directory that "d/d/d" was */
	dir_stack_done(&stack);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_SCRATCH(every_entry_is_read_once_with_few_descriptors),
		IN_SCRATCH(pop_into_a_moved_directory_fails),
	};

	return RUN_TESTS("dir_stack", tests);
}
