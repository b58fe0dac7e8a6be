/* op_unpack.c - a tar stream into a directory (UNPACK).
 *
 * Entries are created as they arrive: if one is refused, those before it stay. Symbolic links that
 * would lead out of the target are left out and counted. The whole archive is refused for a name
 * with '..' in it, for a symbolic link where a directory should be, and for anything that is not
 * the tar dialect of wire/tar.h. Of the mode only the permissions count. An existing directory
 * stays as it is; a new one always gets mode 0700 for its owner, because entries below it follow,
 * and no time of its own, because its time would have to be set after the last of them. Anything
 * else of the same name is replaced, not written through. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/files/archive/archive.h"
#include "agent/files/archive/unpack_place.h"
#include "agent/files/path.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/fd.h"
#include "wire/tar_parser.h"

struct unpack {
	struct job *job;
	const struct wire_unpack *request;
	struct wire_done *done;
	int target;
	int dir;       /* the directory of the file under way, or -1 */
	int file;      /* the file under way, or -1 */
	uint64_t left; /* bytes of it that have not arrived */
	struct unpack_quota quota;
	struct unpack_name name; /* of the entry under way */
	struct tar_parser parser;
};

static const char *last_component(const struct unpack *unpack)
{
	return unpack->name.text + unpack->name.last;
}

/* Unlinks what has the name, unless it is a directory. A link is removed, not followed: writing
 * through it would change a file elsewhere. */
static int remove_old(int dir, const char *name, struct error *err)
{
	if (unlinkat(dir, name, 0) == 0 || errno == ENOENT)
		return 0;
	if (errno == EISDIR)
		return error_set(err, ERR_INVALID,
		                 "a directory of that name is in the way: remove it first");
	return error_sys(err, "replace the old file");
}

/* --- files ------------------------------------------------------------------------- */

static void close_file(struct unpack *unpack)
{
	cleanup_fd(&unpack->file);
	cleanup_fd(&unpack->dir);
	unpack->file = unpack->dir = -1;
}

/* Removes a file that is only partly written. */
static void cancel_file(struct unpack *unpack)
{
	if (unpack->file >= 0)
		(void)unlinkat(unpack->dir, last_component(unpack), 0);
	close_file(unpack);
}

static int finish_file(struct unpack *unpack, struct error *err)
{
	const struct tar_entry *entry = &unpack->parser.entry;
	struct timespec times[] = { { .tv_nsec = UTIME_NOW }, { .tv_sec = entry->mtime } };

	if (fchmod(unpack->file, entry->mode) < 0)
		return error_sys(err, "%s: set its mode", unpack->parser.where);
	(void)!futimens(unpack->file, times); /* not every file system keeps times */
	close_file(unpack);
	unpack->done->count++;
	return 0;
}

/* Takes `dir` over, also on failure. */
static int start_file(struct unpack *unpack, int dir, struct error *err)
{
	const struct tar_entry *entry = &unpack->parser.entry;
	const char *name = last_component(unpack), *where = unpack->parser.where;

	unpack->dir = dir;
	unpack->left = entry->size;
	/* A header may claim any size: it is compared with the limit before anything is created. */
	if (entry->size > unpack->request->max - unpack->done->bytes)
		return error_set(
		        err, ERR_LIMIT,
		        "%s: its %llu bytes are too many: all files together may have %llu", where,
		        (unsigned long long)entry->size, (unsigned long long)unpack->request->max);
	if (remove_old(dir, name, err) < 0)
		return error_wrap(err, "%s", where);
	/* O_EXCL: if a link or a file took the name meanwhile, it is not written to. The mode is
	 * 0600 until the contents are complete. */
	unpack->file = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
	                      0600);
	if (unpack->file < 0)
		return error_sys(err, "%s", where);
	return entry->size == 0 ? finish_file(unpack, err) : 0;
}

static int write_data(struct unpack *unpack, struct view bytes, struct error *err)
{
	if (fd_write_all(unpack->file, bytes, err) < 0)
		return error_wrap(err, "%s", unpack->parser.where);
	unpack->done->bytes += bytes.len;
	unpack->left -= bytes.len;
	return unpack->left == 0 ? finish_file(unpack, err) : 0;
}

/* --- directories and links --------------------------------------------------------- */

/* Uses fchmod(): the name may be a link to another directory by now. */
static int set_directory_mode(const struct unpack *unpack, int dir, struct error *err)
{
	AUTO_FD int fd = openat(dir, last_component(unpack),
	                        O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0 || fchmod(fd, unpack->parser.entry.mode | 0700) < 0)
		return error_sys(err, "%s: set its mode", unpack->parser.where);
	return 0;
}

static int create_directory(struct unpack *unpack, int dir, struct error *err)
{
	const char *name = last_component(unpack);
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
		if (S_ISDIR(st.st_mode)) {
			unpack->done->count++;
			return 0;
		}
		if (remove_old(dir, name, err) < 0)
			return error_wrap(err, "%s", unpack->parser.where);
	}
	if (mkdirat(dir, name, 0700) < 0)
		return error_sys(err, "%s", unpack->parser.where);
	unpack->done->count++;
	return set_directory_mode(unpack, dir, err);
}

static int create_symlink(struct unpack *unpack, int dir, struct error *err)
{
	const struct tar_entry *entry = &unpack->parser.entry;
	const char *name = last_component(unpack);
	struct timespec times[] = { { .tv_nsec = UTIME_NOW }, { .tv_sec = entry->mtime } };

	if (remove_old(dir, name, err) < 0)
		return error_wrap(err, "%s", unpack->parser.where);
	if (symlinkat(entry->link, dir, name) < 0)
		return error_sys(err, "%s", unpack->parser.where);
	(void)!utimensat(dir, name, times, AT_SYMLINK_NOFOLLOW);
	unpack->done->count++;
	return 0;
}

/* --- the archive ------------------------------------------------------------------- */

static int take_entry(struct unpack *unpack, struct error *err)
{
	const struct tar_entry *entry = &unpack->parser.entry;
	AUTO_FD int dir = -1;

	if (unpack_quota_take(&unpack->quota, err) < 0 ||
	    unpack_name(entry->name, &unpack->name, err) < 0)
		return error_wrap(err, "%s", unpack->parser.where);
	if (entry->type == TAR_SYMLINK && !unpack_link_stays(entry->link, unpack->name.depth)) {
		job_skip_entry(unpack->done, view_of(entry->name));
		return 0;
	}
	dir = unpack_open_parent(unpack->target, &unpack->name, &unpack->quota, err);
	if (dir < 0)
		return error_wrap(err, "%s", unpack->parser.where);
	if (entry->type == TAR_DIRECTORY)
		return create_directory(unpack, dir, err);
	if (entry->type == TAR_SYMLINK)
		return create_symlink(unpack, dir, err);
	return start_file(unpack, TAKE_FD(dir), err);
}

static int take_bytes(struct unpack *unpack, struct view bytes, struct error *err)
{
	struct tar_piece piece;
	int r;

	while ((r = tar_parse(&unpack->parser, &bytes, &piece, err)) > 0) {
		if (piece.kind == TAR_PIECE_ENTRY && take_entry(unpack, err) < 0)
			return -1;
		if (piece.kind == TAR_PIECE_DATA && write_data(unpack, piece.bytes, err) < 0)
			return -1;
	}
	return r;
}

static int take_archive(struct unpack *unpack, struct error *err)
{
	struct view bytes;
	int r;

	while ((r = job_receive(unpack->job, &bytes, err)) > 0)
		if (take_bytes(unpack, bytes, err) < 0)
			return -1;
	return r < 0 ? -1 : tar_parser_check_end(&unpack->parser, err);
}

static int open_target(const struct job *job, struct view path, struct error *err)
{
	if (path_make_directories(job, path, err) < 0)
		return -1;
	return path_open_directory(job, path, err);
}

int op_unpack(struct job *job, const struct wire_unpack *request, struct wire_done *done,
              struct error *err)
{
	struct unpack unpack = { .job = job,
		                 .request = request,
		                 .done = done,
		                 .dir = -1,
		                 .file = -1,
		                 .quota = { request->max_count, request->max_count } };
	AUTO_FD int target = open_target(job, request->path, err);
	int r;

	*done = (struct wire_done){ .cursor = { "", 0 } };
	if (target < 0)
		return -1;
	unpack.target = target;
	tar_parser_init(&unpack.parser);
	r = take_archive(&unpack, err);
	cancel_file(&unpack);
	return r;
}
