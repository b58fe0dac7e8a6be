/* op_write.c - bytes into a file, in place of the old ones or behind them (WRITE). */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/files/export/compare.h"
#include "agent/files/export/export.h"
#include "agent/files/new_file.h"
#include "agent/files/ops.h"
#include "agent/files/path.h"
#include "base/cleanup.h"
#include "base/error.h"

/* Where the file is to be, and what the rules for the host say about it. */
struct write_place {
	struct export export;
	int dir; /* -1: a directory of the path is missing */
	char name[PATH_NAME_MAX + 1];
	int kind; /* of trusted file; -1: none */
};

static bool must_be_new(const struct wire_write *request)
{
	return request->mode == WIRE_WRITE_CREATE;
}

/* Takes the name from the text of the path: its directory does not exist, so no link can be
 * there. */
static int find_missing_place(struct write_place *place, const struct job *job,
                              const struct wire_write *request, struct wire_done *done,
                              struct error *err)
{
	struct view path = request->path;
	const char *slash = memrchr(path.ptr, '/', path.len);
	const char *name = slash != NULL ? slash + 1 : path.ptr;
	size_t len = (size_t)(path.ptr + path.len - name);
	struct view parent = { path.ptr, slash != NULL ? (size_t)(slash - path.ptr) : 0 };

	if (len > PATH_NAME_MAX)
		return error_set(err, ERR_LIMIT, "the name has more than %d bytes", PATH_NAME_MAX);
	memcpy(place->name, name, len);
	place->name[len] = '\0';
	if (parent.len == 0)
		parent = view_of(slash != NULL ? "/" : ".");
	return export_init(&place->export, job, parent, (request->flags & WIRE_PREVIEW) != 0, done,
	                   &place->dir, err);
}

static int find_place(struct write_place *place, const struct job *job,
                      const struct wire_write *request, struct wire_done *done, struct error *err)
{
	struct path_parent parent;
	struct error why;
	int r = path_parent(job, request->path, !must_be_new(request), &parent, &why);

	if (r < 0 && why.errnum != ENOENT) {
		*err = why;
		return -1;
	}
	if (r < 0)
		r = find_missing_place(place, job, request, done, err);
	else {
		place->dir = parent.dir;
		memcpy(place->name, parent.name, sizeof place->name);
		r = export_init_at(&place->export, job, parent.dir,
		                   (request->flags & WIRE_PREVIEW) != 0, done, err);
	}
	if (r < 0 || export_set_requested(&place->export, request->path, place->name, err) < 0)
		return -1;
	place->kind = export_kind(&place->export, place->name, false);
	if (place->kind < 0)
		place->kind = export_requested_kind(&place->export, "", false);
	return 0;
}

/* Compares the bytes with the present file instead of writing them: for a preview, and for a file
 * that programs of the host trust. */
static int compare_file(struct job *job, const struct wire_write *request,
                        struct write_place *place, struct wire_done *done, struct error *err)
{
	struct compare_entry entry = { .dir = place->dir,
		                       .name = place->name,
		                       .path = place->name,
		                       .type = S_IFREG,
		                       .link = "",
		                       .kind = place->kind };
	struct compare compare = { 0 };
	char shown[PATH_SHOW_SIZE];
	uint64_t size = 0;
	struct view bytes;
	struct stat st;
	int more;

	entry.mode = place->kind < 0 ? export_file_mode(&place->export, place->dir, place->name,
	                                                request->perm)
	                             : request->perm;
	/* A file that is replaced keeps its permissions. */
	if (place->dir >= 0 && fstatat(place->dir, place->name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		entry.mode = st.st_mode & 0777;
	if (compare_start(&compare, &place->export, &entry, err) < 0)
		return -1;
	while ((more = job_receive(job, &bytes, err)) == 1 && bytes.len <= request->max - size) {
		compare_bytes(&compare, bytes);
		size += bytes.len;
	}
	if (more == 0)
		compare_end(&compare);
	compare_cancel(&compare);
	done->total = size;
	if (more > 0)
		return error_set(err, ERR_LIMIT, "%s: more than %" PRIu64 " bytes",
		                 path_show(request->path, shown), request->max);
	return more;
}

static int open_new_file(struct new_file *file, const struct job *job,
                         const struct wire_write *request, struct write_place *place,
                         struct error *err)
{
	mode_t perm = export_file_mode(&place->export, place->dir, place->name, request->perm);

	if (new_file_open(file, job, request->path, must_be_new(request), perm, request->max, err) <
	    0)
		return -1;
	/* new_file_open() has resolved the path again: a link in it may be new. */
	if (job->on_host && strcmp(file->place.name, place->name) != 0)
		return error_set(err, ERR_INVALID, "the target has become a link: try again");
	return export_verify(&place->export, file->place.dir, err);
}

static int replace_file(struct job *job, const struct wire_write *request,
                        struct write_place *place, struct wire_done *done, struct error *err)
{
	AUTO_NEW_FILE struct new_file file = NEW_FILE_NONE;
	struct view bytes;
	int more;

	if (open_new_file(&file, job, request, place, err) < 0)
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
	static struct write_place place;
	bool makes_parents = (request->flags & WIRE_PARENTS) != 0;
	int r;

	*done = (struct wire_done){ 0 };
	if (new_file_check_name(request->path, err) < 0)
		return -1;
	if (request->mode == WIRE_WRITE_APPEND) {
		if (makes_parents && path_make_parents(job, request->path, err) < 0)
			return -1;
		return append_file(job, request, done, err);
	}
	if (find_place(&place, job, request, done, err) < 0)
		return -1;
	if (place.kind >= 0 || place.export.is_preview)
		r = compare_file(job, request, &place, done, err);
	else if (makes_parents && path_make_parents(job, request->path, err) < 0)
		r = -1;
	else
		r = replace_file(job, request, &place, done, err);
	cleanup_fd(&place.dir);
	export_finish(&place.export);
	return r;
}
