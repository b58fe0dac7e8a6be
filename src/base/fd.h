/* fd.h - small things around file descriptors and whole files. */
#pragma once
#include <sys/types.h>

#include "base/attr.h"
#include "base/view.h"

struct buf;
struct error;

/* Makes sure 0, 1 and 2 are open, so that nothing we open later takes a number that
 * somebody writes to by habit. What was closed fails when it is used: 0 cannot be read
 * from, 1 and 2 not be written to. */
MUST_CHECK int fd_ensure_stdio(struct error *err);

MUST_CHECK int fd_set_nonblocking(int fd, struct error *err);

/* Reads a whole file into buf, whose maximum bounds it. A missing file is ERR_NOT_FOUND,
 * anything but a regular file ERR_INVALID. */
MUST_CHECK int fd_read_file(const char *path, struct buf *buf, struct error *err);

/* Writes until nothing is left; on failure part of it may be written. For descriptors that
 * block. */
MUST_CHECK int fd_write_all(int fd, struct view bytes, struct error *err);

/* Closes every descriptor above 2 but these; a -1 among them is passed over. For a forked process
 * that must not hold the descriptors of its parent open. */
MUST_CHECK int fd_close_others(const int *keep, size_t count, struct error *err);

/* The same, but moves the descriptors to 3, 4, 5 ... in the given order first, with close-on-exec
 * set, and writes the new numbers back. For a process whose limit of descriptors is to be small, or
 * that needs certain numbers. */
MUST_CHECK int fd_renumber(int *const keep[], size_t count, struct error *err);
