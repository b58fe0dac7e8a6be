#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/num.h"

int fd_ensure_stdio(struct error *err)
{
	for (int wanted = STDIN_FILENO; wanted <= STDERR_FILENO; wanted++) {
		int fd;

		if (fcntl(wanted, F_GETFD) >= 0)
			continue;
		/* open() returns the lowest free number, which is `wanted`. Without O_CLOEXEC:
		 * child processes need their standard descriptors open as well. */
		fd = open("/dev/null", wanted == STDIN_FILENO ? O_WRONLY : O_RDONLY);
		if (fd < 0)
			return error_sys(err, "open /dev/null");
	}
	return 0;
}

int fd_set_nonblocking(int fd, struct error *err)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
		return error_sys(err, "make descriptor %d non-blocking", fd);
	return 0;
}

int fd_read_all(int fd, struct buf *buf, struct error *err)
{
	char chunk[16 * 1024];

	for (;;) {
		ssize_t n = read(fd, chunk, sizeof chunk);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return error_sys(err, "read");
		if (n == 0)
			return 0;
		if (buf_add(buf, (struct view){ chunk, (size_t)n }, err) < 0)
			return -1;
	}
}

int fd_read_file(const char *path, struct buf *buf, struct error *err)
{
	/* O_NONBLOCK: opening a FIFO that stands in the file's place must not block. */
	AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	if (fd < 0) {
		int missing = errno == ENOENT || errno == ENOTDIR;

		(void)error_sys(err, "open '%s'", path);
		if (missing)
			err->kind = ERR_NOT_FOUND;
		return -1;
	}
	if (fstat(fd, &st) < 0)
		return error_sys(err, "stat '%s'", path);
	if (!S_ISREG(st.st_mode))
		return error_set(err, ERR_INVALID, "'%s' is not a regular file", path);
	if (fd_read_all(fd, buf, err) < 0)
		return error_wrap(err, "'%s'", path);
	return 0;
}

int fd_write_all(int fd, struct view bytes, struct error *err)
{
	while (bytes.len != 0) {
		ssize_t n = write(fd, bytes.ptr, bytes.len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return error_sys(err, "write");
		bytes.ptr += n;
		bytes.len -= (size_t)n;
	}
	return 0;
}

/* Closes the descriptors from `first` to `last`, both included. The C libraries that belljar is
 * built with may lack a wrapper for close_range(2). */
static int close_from_to(unsigned first, unsigned last, struct error *err)
{
	if (syscall(SYS_close_range, first, last, 0) < 0)
		return error_sys(err, "close the other descriptors");
	return 0;
}

/* The lowest descriptor among `fds` that is not below `least`; -1 if there is none. */
static int lowest_from(const int *fds, size_t count, int least)
{
	int found = -1;

	for (size_t i = 0; i < count; i++)
		if (fds[i] >= least && (found < 0 || fds[i] < found))
			found = fds[i];
	return found;
}

int fd_close_others(const int *keep, size_t count, struct error *err)
{
	int from = STDERR_FILENO + 1, kept;

	while ((kept = lowest_from(keep, count, from)) >= 0) {
		if (kept > from && close_from_to((unsigned)from, (unsigned)kept - 1, err) < 0)
			return -1;
		from = kept + 1;
	}
	return close_from_to((unsigned)from, ~0U, err);
}

int fd_renumber(int *const keep[], size_t count, struct error *err)
{
	const int first = STDERR_FILENO + 1, end = first + (int)count;
	int next = first;

	/* First move the descriptors that have one of the new numbers: dup3() closes the descriptor
	 * that has the target's number, and that could be one that is still to be moved. */
	for (size_t i = 0; i < count; i++) {
		if (*keep[i] < 0 || *keep[i] >= end)
			continue;
		*keep[i] = fcntl(*keep[i], F_DUPFD_CLOEXEC, end);
		if (*keep[i] < 0)
			return error_sys(err, "move a descriptor");
	}
	for (size_t i = 0; i < count; i++) {
		if (*keep[i] < 0)
			continue;
		*keep[i] = dup3(*keep[i], next++, O_CLOEXEC);
		if (*keep[i] < 0)
			return error_sys(err, "move a descriptor");
	}
	return close_from_to((unsigned)next, ~0U, err);
}

uint64_t fd_read_number(int at, const char *path)
{
	AUTO_FD int fd = openat(at, path, O_RDONLY | O_CLOEXEC);
	char text[32];
	ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
	struct error ignored;
	uint64_t value;

	text[n > 0 ? n : 0] = '\0';
	text[strcspn(text, "\n")] = '\0';
	return num_parse_u64(text, 0, UINT64_MAX, &value, &ignored) == 0 ? value : UINT64_MAX;
}

DIR *fd_open_dir(int at, const char *path)
{
	AUTO_FD int fd = openat(at, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;

	if (dir != NULL)
		(void)TAKE_FD(fd);
	return dir;
}

rlim_t fd_raise_limit(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) < 0)
		return RLIM_INFINITY;
	files.rlim_cur = files.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &files);
	return files.rlim_cur;
}
