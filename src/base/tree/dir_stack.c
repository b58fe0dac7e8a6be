#include "base/tree/dir_stack.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/tree/open_child.h"

enum { FIRST_ROOM = 64 };

static struct dir_level *top_level(const struct dir_stack *stack)
{
	return &stack->levels[stack->depth - 1];
}

static void close_level(struct dir_level *level)
{
	if (level->stream != NULL)
		(void)closedir(level->stream);
	level->stream = NULL;
}

static DIR *open_stream(int fd)
{
	DIR *stream = fdopendir(fd);
	int saved = errno;

	if (stream == NULL) {
		(void)close(fd);
		errno = saved;
	}
	return stream;
}

int dir_stack_push(struct dir_stack *stack, int fd, const struct stat *st)
{
	struct dir_level level = { open_stream(fd), st->st_dev, st->st_ino, 0 };

	if (level.stream == NULL)
		return -1;
	if (stack->depth != 0)
		top_level(stack)->next = stack->rereads ? stack->entry
		                                        : telldir(top_level(stack)->stream);
	if (stack->depth == stack->room) {
		stack->room = stack->room == 0 ? FIRST_ROOM : stack->room * 2;
		stack->levels = mem_resize(stack->levels, stack->room * sizeof *stack->levels);
	}
	stack->levels[stack->depth++] = level;
	if (stack->depth > DIR_STACK_OPEN_MAX)
		close_level(&stack->levels[stack->depth - 1 - DIR_STACK_OPEN_MAX]);
	return 0;
}

const struct dirent *dir_stack_read(struct dir_stack *stack)
{
	const struct dirent *entry;

	do {
		if (stack->rereads)
			stack->entry = telldir(top_level(stack)->stream);
		errno = 0;
		entry = readdir(top_level(stack)->stream);
	} while (entry != NULL &&
	         (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0));
	return entry;
}

/* Opens the parent of `below`, which was closed to save descriptors. If another process has moved
 * `below`, ".." leads to another directory; device and inode show that. */
static int reopen_level(struct dir_level *level, int below)
{
	AUTO_FD int fd = open_resolved(below, "..", O_RDONLY | O_DIRECTORY, 0, 0);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -1;
	if (st.st_dev != level->device || st.st_ino != level->inode) {
		errno = ESTALE;
		return -1;
	}
	level->stream = open_stream(TAKE_FD(fd));
	if (level->stream == NULL)
		return -1;
	seekdir(level->stream, level->next);
	return 0;
}

int dir_stack_pop(struct dir_stack *stack)
{
	struct dir_level *below = top_level(stack);
	int r = 0;

	stack->depth--;
	if (stack->depth != 0 && top_level(stack)->stream == NULL)
		r = reopen_level(top_level(stack), dirfd(below->stream));
	close_level(below);
	return r;
}

const struct dir_level *dir_stack_top(const struct dir_stack *stack)
{
	return top_level(stack);
}

int dir_stack_fd(const struct dir_stack *stack)
{
	return dirfd(top_level(stack)->stream);
}

void dir_stack_done(struct dir_stack *stack)
{
	for (; stack->depth != 0; stack->depth--)
		close_level(top_level(stack));
	free(stack->levels);
	*stack = (struct dir_stack){ 0 };
}
