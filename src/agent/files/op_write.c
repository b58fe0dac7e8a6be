/* op_write.c - bytes into a file, in place of the old ones or behind them (WRITE). */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/files/new_file.h"
#include "agent/files/ops.h"
#include "agent/files/path.h"
#include "base/cleanup.h"
#include "base/error.h"

static int replace_file(struct job *job, const struct wire_write *request, struct wire_done *done,
                        struct error *err)
{
	AUTO_NEW_FILE struct new_file file = NEW_FILE_NONE;
	bool must_be_new = request->mode == WIRE_WRITE_CREATE;
	struct view bytes;
	int more;

	if (new_file_open(&file, job, request->path, must_be_new, request->perm, request->max,
	                  err) < 0)
		return -1;
	while ((more = job_receive(job, &bytes, err)) == 1)
		if (new_file_write(&file, bytes, err) < 0)
			return -1;
	if (more < 0 || new_file_commit(&file, err) < 0)
		return -1;
	done->bytes = done->total = file.size;
	return 0;
}

/* O_CREAT only if the file is missing: in a sticky directory such as /tmp the kernel denies O_CREAT
 * for an existing file of another user (fs.protected_regular). */
static int open_for_append(const struct job *job, const struct wire_write *request, struct stat *st,
                           struct error *err)
{
	const int flags = O_WRONLY | O_APPEND;
	struct error first;
	int fd = path_open_regular(job, request->path, flags, 0, st, &first);

	if (fd < 0 && first.errnum == ENOENT)
		return path_open_regular(job, request->path, flags | O_CREAT, request->perm, st,
		                         err);
	if (fd < 0)
		*err = first;
	return fd;
}

/* Like fd_write_all(), but counts the bytes written: on failure exactly those are removed again. */
static int append_bytes(int fd, struct view bytes, uint64_t *written)
{
	while (bytes.len != 0) {
		ssize_t n = write(fd, bytes.ptr, bytes.len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		*written += (uint64_t)n;
		bytes.ptr += n;
		bytes.len -= (size_t)n;
	}
	return 0;
}

static int append_all(struct job *job, const struct wire_write *request, int fd, uint64_t *written,
                      struct error *err)
{
	char shown[PATH_SHOW_SIZE];
	struct view bytes;
	int more;

	while ((more = job_receive(job, &bytes, err)) == 1) {
		if (bytes.len > request->max - *written)
			return error_set(err, ERR_LIMIT,
			                 "%s: more than %" PRIu64 " bytes to append",
			                 path_show(request->path, shown), request->max);
		if (append_bytes(fd, bytes, written) < 0)
			return error_sys(err, "%s: write", path_show(request->path, shown));
	}
	return more < 0 ? -1 : new_file_sync(fd, request->path, err);
}

/* Truncates the file to its old size, unless another process has written to it meanwhile: its bytes
 * must not be cut off. */
static bool undo_append(int fd, const struct stat *before, uint64_t written)
{
	struct stat now;

	if (written == 0)
		return true;
	return fstat(fd, &now) == 0 && now.st_size > before->st_size &&
	       (uint64_t)(now.st_size - before->st_size) == written &&
	       ftruncate(fd, before->st_size) == 0;
}

/* Adds to the error what became of the file. Returns -1. */
static int fail_append(bool undone, uint64_t written, struct error *err)
{
	struct error why = *err;

	if (!undone)
		(void)error_set(err, why.kind, "%s: %" PRIu64 " bytes were appended", why.msg,
		                written);
	else if (why.kind == ERR_LIMIT)
		(void)error_set(err, why.kind, "%s: nothing was changed", why.msg);
	err->errnum = why.errnum;
	return -1;
}

static int append_file(struct job *job, const struct wire_write *request, struct wire_done *done,
                       struct error *err)
{
	struct stat st;
	AUTO_FD int fd = open_for_append(job, request, &st, err);

	if (fd < 0)
		return -1;
	if (append_all(job, request, fd, &done->bytes, err) < 0)
		return fail_append(undo_append(fd, &st, done->bytes), done->bytes, err);
	if (fstat(fd, &st) < 0)
		return path_error(request->path, err);
	done->total = (uint64_t)st.st_size;
	return 0;
}

int op_write(struct job *job, const struct wire_write *request, struct wire_done *done,
             struct error *err)
{
	*done = (struct wire_done){ 0 };
	if (new_file_check_name(request->path, err) < 0)
		return -1;
	if ((request->flags & WIRE_PARENTS) != 0 && path_make_parents(job, request->path, err) < 0)
		return -1;
	return request->mode == WIRE_WRITE_APPEND ? append_file(job, request, done, err)
	                                          : replace_file(job, request, done, err);
}
