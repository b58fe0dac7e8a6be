/* op_unpack.c - a tar stream into a directory (UNPACK).
 *
 * Entries are created as they arrive: if one is refused, those before it stay. Symbolic links that
 * would lead out of the target are left out and counted. The whole archive is refused for a name
 * with '..' in it, for a symbolic link where a directory should be, and for anything that is not
 * the tar dialect of wire/tar.h. Of the mode only the permissions count. An existing directory
 * stays as it is; a new one always gets mode 0700 for its owner, because entries below it follow,
 * and no time of its own, because its time would have to be set after the last of them. Anything
 * else of the same name is replaced, not written through.
 *
 * On the host, entries that programs there trust are compared with the present ones instead and
 * left out (export/export.h). So is every entry of a preview. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/files/archive/archive.h"
#include "agent/files/archive/unpack_place.h"
#include "agent/files/export/compare.h"
#include "agent/files/export/export.h"
#include "agent/files/path.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/fd.h"
#include "wire/tar_parser.h"

struct unpack {
	struct job *job;
	const struct wire_unpack *request;
	struct wire_done *done;
	int target;        /* -1: it does not exist, and is not created so far */
	int dir;           /* the directory of the file under way, or -1 */
	int file;          /* the file under way, or -1 */
	uint64_t left;     /* bytes of it that have not arrived */
	mode_t mode;       /* that it gets */
	uint64_t left_out; /* bytes of files that were left out */
	struct export export;
	struct compare compare; /* of the file under way, if it is not written */
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
	compare_cancel(&unpack->compare);
	close_file(unpack);
}

static int finish_file(struct unpack *unpack, struct error *err)
{
	const struct tar_entry *entry = &unpack->parser.entry;
	struct timespec times[] = { { .tv_nsec = UTIME_NOW }, { .tv_sec = entry->mtime } };

	if (fchmod(unpack->file, unpack->mode) < 0)
		return error_sys(err, "%s: set its mode", unpack->parser.where);
	(void)!futimens(unpack->file, times); /* not every file system keeps times */
	close_file(unpack);
	unpack->done->count++;
	unpack->done->total++;
	return 0;
}

/* A header may claim any size: it is compared with the limit before anything is created. */
static int check_size(const struct unpack *unpack, struct error *err)
{
	uint64_t size = unpack->parser.entry.size, max = unpack->request->max;

	if (size <= max - unpack->done->bytes - unpack->left_out)
		return 0;
	return error_set(err, ERR_LIMIT,
	                 "%s: its %llu bytes are too many: all files together may have %llu",
	                 unpack->parser.where, (unsigned long long)size, (unsigned long long)max);
}

/* Takes `dir` over, also on failure. */
static int start_file(struct unpack *unpack, int dir, struct error *err)
{
	const struct tar_entry *entry = &unpack->parser.entry;
	const char *name = last_component(unpack), *where = unpack->parser.where;

	unpack->dir = dir;
	unpack->left = entry->size;
	if (check_size(unpack, err) < 0)
		return -1;
	unpack->mode = export_file_mode(&unpack->export, dir, name, entry->mode);
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

/* Ends the comparison of an entry. Bytes that do not count as copied count as left out. */
static void finish_compare(struct unpack *unpack)
{
	uint64_t before = unpack->done->bytes;

	compare_end(&unpack->compare);
	unpack->left_out += unpack->parser.entry.size - (unpack->done->bytes - before);
	close_file(unpack);
}

static int write_data(struct unpack *unpack, struct view bytes, struct error *err)
{
	if (unpack->compare.export != NULL) {
		compare_bytes(&unpack->compare, bytes);
		unpack->left -= bytes.len;
		if (unpack->left == 0)
			finish_compare(unpack);
		return 0;
	}
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

	if (fd < 0 || fchmod(fd, export_directory_mode(&unpack->export, unpack->parser.entry.mode) |
	                                 0700) < 0)
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
	unpack->done->total++;
	return 0;
}

/* --- entries that are not written -------------------------------------------------- */

/* Starts to compare the entry with the present one. `kind` is its kind of trusted file, or -1. */
static int compare_entry(struct unpack *unpack, int kind, struct error *err)
{
	static const mode_t types[] = {
		[TAR_FILE] = S_IFREG, [TAR_DIRECTORY] = S_IFDIR, [TAR_SYMLINK] = S_IFLNK
	};
	const struct tar_entry *entry = &unpack->parser.entry;
	struct compare_entry compare = { .name = last_component(unpack),
		                         .path = entry->name,
		                         .type = types[entry->type],
		                         .mode = entry->mode,
		                         .link = entry->link,
		                         .kind = kind };

	if (check_size(unpack, err) < 0)
		return -1;
	if (unpack->target >= 0)
		unpack->dir = unpack_find_parent(unpack->target, &unpack->name);
	if (unpack->target >= 0 && unpack->dir < 0 && errno != ENOENT)
		return error_sys(err, "%s", unpack->parser.where);
	compare.dir = unpack->dir;
	if (entry->type == TAR_FILE && kind < 0)
		compare.mode = export_file_mode(&unpack->export, compare.dir, compare.name,
		                                entry->mode);
	if (compare_start(&unpack->compare, &unpack->export, &compare, err) < 0)
		return error_wrap(err, "%s", unpack->parser.where);
	unpack->left = entry->size;
	if (entry->size == 0)
		finish_compare(unpack);
	return 0;
}

/* --- the archive ------------------------------------------------------------------- */

/* Opens the target directory, which is created if it is missing. */
static int create_target(struct unpack *unpack, struct error *err)
{
	struct view path = unpack->request->path;

	if (path_make_directories(unpack->job, path, err) < 0)
		return -1;
	unpack->target = path_open_directory(unpack->job, path, err);
	return unpack->target < 0 ? -1 : 0;
}

/* A target that programs of the host trust is created only if an entry in it is allowed. */
static int open_target(struct unpack *unpack, struct error *err)
{
	bool is_preview = (unpack->request->flags & WIRE_PREVIEW) != 0;

	if (!unpack->job->on_host && !is_preview)
		return create_target(unpack, err) < 0
		               ? -1
		               : export_init_at(&unpack->export, unpack->job, unpack->target, false,
		                                unpack->done, err);
	if (export_init(&unpack->export, unpack->job, unpack->request->path, is_preview,
	                unpack->done, &unpack->target, err) < 0)
		return -1;
	if (unpack->target >= 0 || is_preview || export_base_kind(&unpack->export) >= 0)
		return 0;
	return create_target(unpack, err) < 0 ? -1
	                                      : export_verify(&unpack->export, unpack->target, err);
}

static int take_entry(struct unpack *unpack, struct error *err)
{
	const struct tar_entry *entry = &unpack->parser.entry;
	AUTO_FD int dir = -1;
	int kind;

	if (unpack_quota_take(&unpack->quota, err) < 0 ||
	    unpack_name(entry->name, &unpack->name, err) < 0)
		return error_wrap(err, "%s", unpack->parser.where);
	if (entry->type == TAR_SYMLINK && !unpack_link_stays(entry->link, unpack->name.depth)) {
		job_skip_entry(unpack->done, view_of(entry->name));
		return 0;
	}
	kind = export_kind(&unpack->export, entry->name, entry->type == TAR_DIRECTORY);
	if (kind < 0)
		kind = export_requested_kind(&unpack->export, entry->name,
		                             entry->type == TAR_DIRECTORY);
	if (kind >= 0 || unpack->export.is_preview)
		return compare_entry(unpack, kind, err);
	if (unpack->target < 0 && (create_target(unpack, err) < 0 ||
	                           export_verify(&unpack->export, unpack->target, err) < 0))
		return -1;
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

int op_unpack(struct job *job, const struct wire_unpack *request, struct wire_done *done,
              struct error *err)
{
	struct unpack unpack = { .job = job,
		                 .request = request,
		                 .done = done,
		                 .target = -1,
		                 .dir = -1,
		                 .file = -1,
		                 .quota = { request->max_count, request->max_count } };
	int r;

	*done = (struct wire_done){ .cursor = { "", 0 } };
	tar_parser_init(&unpack.parser);
	r = open_target(&unpack, err);
	if (r == 0)
		r = export_set_requested(&unpack.export, request->path, "", err);
	if (r == 0)
		r = take_archive(&unpack, err);
	cancel_file(&unpack);
	cleanup_fd(&unpack.target);
	if (r == 0)
		export_finish(&unpack.export);
	return r;
}
