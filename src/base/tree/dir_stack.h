/* dir_stack.h - the directories between the start of a walk and the one that is being read.
 *
 * A walk pushes each directory that it enters, reads the top one, and pops it at its end. However
 * deep the walk is, only the innermost directories hold a descriptor; of those above, device,
 * inode and reading position are remembered. Popping back into a closed directory opens it again
 * through ".." and compares device and inode, so a process that moves directories meanwhile cannot
 * lead the walk out of the tree.
 *
 *   zeroed -> dir_stack_push, dir_stack_read, dir_stack_pop ... -> dir_stack_done
 *
 * The struct is the caller's; it owns the descriptors. */
#pragma once
#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "base/attr.h"

enum { DIR_STACK_OPEN_MAX = 16 }; /* directories that hold a descriptor */

struct dir_level {
	DIR *stream; /* NULL: closed to save descriptors */
	dev_t device;
	ino_t inode;
	long next; /* where reading continues after the directory was closed */
};

struct dir_stack {
	struct dir_level *levels;
	size_t depth, room;
	/* Set by the caller: in a directory that was closed and opened again, reading continues
	 * with the entry that was pushed, and not behind it. */
	bool rereads;
	long entry; /* position of the entry that was read last */
};

/* Takes over `fd`, a directory open for reading, also on failure; st is its fstat(). Returns 0, or
 * -1 and errno. */
MUST_CHECK int dir_stack_push(struct dir_stack *stack, int fd, const struct stat *st);

/* The next entry of the top directory, without "." and "..". NULL: errno is 0 at the end. */
const struct dirent *dir_stack_read(struct dir_stack *stack);

/* Closes the top directory. Returns -1 and errno if its parent cannot be opened again; ESTALE: the
 * parent is another directory, because the top one was moved. */
MUST_CHECK int dir_stack_pop(struct dir_stack *stack);

const struct dir_level *dir_stack_top(const struct dir_stack *stack);
int dir_stack_fd(const struct dir_stack *stack); /* of the top directory */
void dir_stack_done(struct dir_stack *stack);
