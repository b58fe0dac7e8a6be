/* fd.h - helpers for file descriptors, and reading and writing of whole files. */
#pragma once
#include <dirent.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "base/attr.h"
#include "base/view.h"

struct buf;
struct error;

/* Opens /dev/null as those of the descriptors 0, 1 and 2 that are closed. Otherwise the next file
 * or socket that belljar opens would become its stdout or stderr, and messages would be written
 * into it. The replacements cannot be used by mistake: reading from 0 and writing to 1 and 2
 * fail. */
MUST_CHECK int fd_ensure_stdio(struct error *err);

MUST_CHECK int fd_set_nonblocking(int fd, struct error *err);

/* Appends what a blocking descriptor has, to its end. ERR_LIMIT: it is more than the buffer's
 * maximum. */
MUST_CHECK int fd_read_all(int fd, struct buf *buf, struct error *err);

/* Appends a whole file to buf; the buffer's maximum limits the file's size. ERR_NOT_FOUND: there
 * is no such file. ERR_INVALID: the path names something other than a regular file. */
MUST_CHECK int fd_read_file(const char *path, struct buf *buf, struct error *err);

/* Writes all bytes to a blocking descriptor. On failure a part of them may have been written. */
MUST_CHECK int fd_write_all(int fd, struct view bytes, struct error *err);

/* Closes every descriptor above 2 but these; a -1 among them is passed over. For a forked process
 * that must not hold the descriptors of its parent open. */
MUST_CHECK int fd_close_others(const int *keep, size_t count, struct error *err);

/* Moves the descriptors to 3, 4, 5 ... in the given order, with close-on-exec set, writes the new
 * numbers back, and closes every other descriptor above 2. For a process whose limit of descriptors
 * is to be small, or that needs certain numbers. */
MUST_CHECK int fd_renumber(int *const keep[], size_t count, struct error *err);

/* Raises the soft limit of open files to the hard one. Returns the limit. The soft limit is low by
 * default (1024) for the sake of programs that use select(2). */
rlim_t fd_raise_limit(void);

/* Reads a file that holds one decimal number, such as those in /proc/sys. `path` is relative to the
 * directory `at`, or absolute. UINT64_MAX if the file is missing or holds no number. */
uint64_t fd_read_number(int at, const char *path);

/* Opens the directory `path` below the directory `at` for readdir(3). closedir(3) closes the
 * descriptor too. Returns NULL and errno on failure. */
DIR *fd_open_dir(int at, const char *path);
