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
