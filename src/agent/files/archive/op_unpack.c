/* op_unpack.c - a tar stream into a directory.
 *
 * Entry by entry as it comes: when one is refused, those before it are there. What is left
 * out and counted: links that lead out of the target or nowhere, devices, FIFOs, sparse files
 * and types unknown here. What refuses the archive: names with '..' in them, a link where a
 * directory should be, whatever is not tar. Owners are ignored; of the mode only the permissions
 * count. A directory that is there stays as it is; a new one can always be written to by
 * its owner (mode | 0700), and gets no time of its own, because that would have to be
 * remembered until the end. Anything else of the same name is replaced, not written
 * through. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/files/archive/archive.h"
#include "agent/files/archive/unpack_place.h"
#include "agent/files/path.h"
#include "agent/files/tar_read.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/fd.h"

struct unpack {
	struct job *job;
	const struct wire_unpack *request;
	struct wire_done *done;
	int target;
	struct tar_reader tar;
	struct tar_entry entry;
	struct unpack_room room;
	struct unpack_name name, link;
};

static int receive(void *ctx, struct view *ret, struct error *err)
{
	return job_receive(ctx, ret, err);
}

static int skip(struct unpack *unpack)
{
	job_skip_entry(unpack->done, view_of(unpack->entry.name));
	return 0;
}

static const char *last_part(const struct unpack_name *name)
{
	return name->text + name->last;
}

/* Whatever has the name goes, but a directory. */
static int clear(int dir, const char *name, struct error *err)
{
	if (unlinkat(dir, name, 0) == 0 || errno == ENOENT)
		return 0;
	if (errno == EISDIR)
		return error_set(err, ERR_INVALID,
		                 "a directory of that name is in the way: remove it first");
	return error_sys(err, "replace what is there");
}

/* --- each type --------------------------------------------------------------------- */

/* Checked before anything is made: a header may claim any size. */
static int reserve(const struct unpack *unpack, struct error *err)
{
	if (unpack->entry.size <= unpack->request->max - unpack->done->bytes)
		return 0;
	return error_set(
	        err, ERR_LIMIT, "its %llu bytes are too many: all files together may have %llu",
	        (unsigned long long)unpack->entry.size, (unsigned long long)unpack->request->max);
}

static int fill(struct unpack *unpack, int fd, struct error *err)
{
	const struct tar_entry *entry = &unpack->entry;
	struct timespec times[] = { { .tv_nsec = UTIME_NOW }, { .tv_sec = entry->mtime } };
	struct view bytes;
	int r;

	while ((r = tar_data(&unpack->tar, &bytes, err)) > 0) {
		if (fd_write_all(fd, bytes, err) < 0)
			return error_wrap(err, "%s", unpack->tar.where);
		unpack->done->bytes += bytes.len;
	}
	if (r < 0)
		return -1;
	if (fchmod(fd, entry->mode & 0777) < 0)
		return error_sys(err, "%s: set its mode", unpack->tar.where);
	(void)!futimens(fd, times); /* not every file system keeps times */
	return 0;
}

/* A half-written file does not stay. */
static int put_file(struct unpack *unpack, int dir, struct error *err)
{
	const char *name = last_part(&unpack->name);
	AUTO_FD int fd = -1;

	if (reserve(unpack, err) < 0 || clear(dir, name, err) < 0)
		return error_wrap(err, "%s", unpack->tar.where);
	fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return error_sys(err, "%s", unpack->tar.where);
	if (fill(unpack, fd, err) < 0) {
		(void)unlinkat(dir, name, 0);
		return -1;
	}
	unpack->done->count++;
	return 0;
}

static int set_directory_mode(const struct unpack *unpack, int dir, struct error *err)
{
	AUTO_FD int fd = openat(dir, last_part(&unpack->name),
	                        O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0 || fchmod(fd, (unpack->entry.mode & 0777) | 0700) < 0)
		return error_sys(err, "%s: set its mode", unpack->tar.where);
	return 0;
}

static int put_directory(struct unpack *unpack, int dir, struct error *err)
{
	const char *name = last_part(&unpack->name);
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
		if (S_ISDIR(st.st_mode)) {
			unpack->done->count++;
			return 0;
		}
		if (clear(dir, name, err) < 0)
			return error_wrap(err, "%s", unpack->tar.where);
	}
	if (mkdirat(dir, name, 0700) < 0)
		return error_sys(err, "%s", unpack->tar.where);
	unpack->done->count++;
	return set_directory_mode(unpack, dir, err);
}

static int put_symlink(struct unpack *unpack, int dir, struct error *err)
{
	const struct tar_entry *entry = &unpack->entry;
	const char *name = last_part(&unpack->name);
	struct timespec times[] = { { .tv_nsec = UTIME_NOW }, { .tv_sec = entry->mtime } };

	if (clear(dir, name, err) < 0)
		return error_wrap(err, "%s", unpack->tar.where);
	if (symlinkat(entry->link, dir, name) < 0)
		return error_sys(err, "%s", unpack->tar.where);
	(void)!utimensat(dir, name, times, AT_SYMLINK_NOFOLLOW);
	unpack->done->count++;
	return 0;
}

static int put_hardlink(struct unpack *unpack, int dir, struct error *err)
{
	const char *name = last_part(&unpack->name), *from = last_part(&unpack->link);
	struct error unused;
	AUTO_FD int from_dir = unpack_parent(unpack->target, &unpack->link, NULL, &unused);
	struct stat file, old;

	if (from_dir < 0 || unpack->link.len == 0 ||
	    fstatat(from_dir, from, &file, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(file.st_mode))
		return skip(unpack);
	if (fstatat(dir, name, &old, AT_SYMLINK_NOFOLLOW) == 0 && old.st_dev == file.st_dev &&
	    old.st_ino == file.st_ino) {
		unpack->done->count++; /* removing it first would remove the file */
		return 0;
	}
	if (clear(dir, name, err) < 0)
		return error_wrap(err, "%s", unpack->tar.where);
	if (linkat(from_dir, from, dir, name, 0) < 0)
		return error_sys(err, "%s: link it", unpack->tar.where);
	unpack->done->count++;
	return 0;
}

/* --- entries ----------------------------------------------------------------------- */

static int (*const put[])(struct unpack *unpack, int dir, struct error *err) = {
	[TAR_FILE] = put_file,
	[TAR_DIRECTORY] = put_directory,
	[TAR_SYMLINK] = put_symlink,
	[TAR_HARDLINK] = put_hardlink,
};

/* What is checked of an entry before the file system is touched. */
static int check(struct unpack *unpack, struct error *err)
{
	const struct tar_entry *entry = &unpack->entry;

	if (unpack->tar.number > unpack->request->max_count)
		return error_set(err, ERR_LIMIT, "the archive has more than %u entries",
		                 unpack->request->max_count);
	if (unpack_take(&unpack->room, err) < 0 || unpack_name(entry->name, &unpack->name, err) < 0)
		return error_wrap(err, "%s", unpack->tar.where);
	if (unpack->name.len == 0 && entry->type != TAR_DIRECTORY)
		return error_set(err, ERR_INVALID, "%s: its name names nothing", unpack->tar.where);
	if (entry->type == TAR_HARDLINK && unpack_name(entry->link, &unpack->link, err) < 0)
		return error_wrap(err, "%s: what it links to", unpack->tar.where);
	return 0;
}

static int put_entry(struct unpack *unpack, struct error *err)
{
	const struct tar_entry *entry = &unpack->entry;
	AUTO_FD int dir = -1;

	if (check(unpack, err) < 0)
		return -1;
	if (unpack->name.len == 0)
		return 0; /* "./", the target itself */
	if (entry->type == TAR_OTHER)
		return skip(unpack);
	if (entry->type == TAR_SYMLINK && !unpack_link_stays(entry->link, unpack->name.depth))
		return skip(unpack);
	dir = unpack_parent(unpack->target, &unpack->name, &unpack->room, err);
	if (dir < 0)
		return error_wrap(err, "%s", unpack->tar.where);
	return put[entry->type](unpack, dir, err);
}

static int open_target(const struct job *job, struct view path, struct error *err)
{
	uint64_t made;

	if (path_make_directories(job, path, 0777, &made, err) < 0)
		return -1;
	return path_open_directory(job, path, err);
}

int op_unpack(struct job *job, const struct wire_unpack *request, struct wire_done *done,
              struct error *err)
{
	struct unpack unpack = { .job = job,
		                 .request = request,
		                 .done = done,
		                 .room = { request->max_count, request->max_count } };
	AUTO_FD int target = open_target(job, request->path, err);
	int r;

	*done = (struct wire_done){ .cursor = { "", 0 } };
	if (target < 0)
		return -1;
	unpack.target = target;
	tar_reader_init(&unpack.tar, receive, job);
	while ((r = tar_next(&unpack.tar, &unpack.entry, err)) > 0)
		if ((r = put_entry(&unpack, err)) < 0)
			break;
	tar_reader_done(&unpack.tar);
	return r;
}
