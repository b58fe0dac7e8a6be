/* op_change.c - REMOVE and RENAME. The root and the workspace can be neither removed nor renamed:
 * every other path is resolved from one of the two. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/files/new_file.h"
#include "agent/files/ops.h"
#include "agent/files/path.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/tree/remove_tree.h"

static bool is_same_inode(const struct stat *a, const struct stat *b)
{
	return a->st_ino == b->st_ino && a->st_dev == b->st_dev;
}

/* Refuses a directory that is the workspace or contains it. Goes from the workspace up to the root
 * and compares inodes: the path's text says nothing, as links and bind mounts may lead to it. */
static int check_workspace(const struct job *job, struct view path, const struct stat *moved,
                           const struct stat *root, const char *what, struct error *err)
{
	AUTO_FD int fd = -1;
	char shown[PATH_SHOW_SIZE];
	struct error ignored;
	struct stat st;

	fd = path_open(job, view_of(job->workspace), O_PATH | O_DIRECTORY, 0, &ignored);
	for (int i = 0; fd >= 0 && i < WIRE_PATH_MAX; i++) {
		int above;

		if (fstat(fd, &st) < 0 || is_same_inode(&st, root))
			return 0;
		if (is_same_inode(&st, moved) && i == 0)
			return error_set(err, ERR_INVALID, "the workspace itself cannot be %s",
			                 what);
		if (is_same_inode(&st, moved))
			return error_set(err, ERR_INVALID,
			                 "%s: the workspace is in it, so it cannot be %s",
			                 path_show(path, shown), what);
		above = openat(fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
		(void)close(fd);
		fd = above;
	}
	return 0;
}

/* Refuses the root and the workspace. A missing file is reported later, by the operation itself. */
static int check_movable(const struct job *job, struct view path, const char *what,
                         struct error *err)
{
	AUTO_FD int fd = -1;
	struct error ignored;
	struct stat moved, root;

	fd = path_open(job, path, O_PATH | O_NOFOLLOW, 0, &ignored);
	if (fd < 0)
		return 0;
	if (fstat(fd, &moved) < 0 || fstat(job->root, &root) < 0)
		return path_error(path, err);
	if (is_same_inode(&moved, &root))
		return error_set(err, ERR_INVALID, "the root itself cannot be %s", what);
	return S_ISDIR(moved.st_mode) ? check_workspace(job, path, &moved, &root, what, err) : 0;
}

int op_remove(struct job *job, const struct wire_remove *request, struct wire_done *done,
              struct error *err)
{
	char shown[PATH_SHOW_SIZE];
	struct path_parent parent;
	AUTO_FD int dir = -1;

	*done = (struct wire_done){ .count = 1 };
	if (check_movable(job, request->path, "removed", err) < 0 ||
	    path_parent(job, request->path, false, &parent, err) < 0)
		return -1;
	dir = parent.dir;
	/* unlinkat(2) itself tells a directory from a file: between an lstat(2) and the removal a
	 * program could put another entry there. */
	if (unlinkat(dir, parent.name, 0) == 0)
		return 0;
	if (errno == EISDIR && unlinkat(dir, parent.name, AT_REMOVEDIR) == 0)
		return 0;
	if (errno == EBUSY)
		return error_set(err, ERR_INVALID, "%s: is a mount point, which cannot be removed",
		                 path_show(request->path, shown));
	if (errno != ENOTEMPTY && errno != EEXIST)
		return path_error(request->path, err);
	if ((request->flags & WIRE_RECURSIVE) != 0)
		return remove_tree(dir, parent.name, request->path, &done->count, err);
	(void)error_set(
	        err, ERR_INVALID,
	        "%s: the directory is not empty: remove it recursively, or what is in it first",
	        path_show(request->path, shown));
	err->errnum = ENOTEMPTY;
	return -1;
}

static int rename_entry(const struct path_parent *from, const struct path_parent *to, bool replace)
{
	if (replace)
		return renameat(from->dir, from->name, to->dir, to->name);
	return rename_to_free(from->dir, from->name, to->dir, to->name);
}

static int fail_rename(const struct wire_rename *request, struct error *err)
{
	int saved = errno;
	char from[PATH_SHOW_SIZE], to[PATH_SHOW_SIZE];

	(void)path_show(request->from, from);
	(void)path_show(request->to, to);
	errno = saved;
	switch (saved) {
	case EINVAL:
		return error_set(err, ERR_INVALID, "%s: cannot be moved into itself (%s)", from,
		                 to);
	case EXDEV:
		(void)error_set(
		        err, ERR_UNSUPPORTED,
		        "%s: cannot be moved to %s, which is on another file system: copy it", from,
		        to);
		err->errnum = EXDEV;
		return -1;
	case EBUSY:
		return error_set(err, ERR_INVALID,
		                 "%s: cannot be moved to %s: a mount point is there", from, to);
	case EEXIST:
	case ENOTEMPTY:
	case EISDIR:
	case ENOTDIR:
		return error_sys(err, "%s", to);
	default:
		return error_sys(err, "%s", from);
	}
}

/* "a.txt" to "b/" suggests a move into b, but `to` is always the new name itself. */
static int check_slashes(const struct wire_rename *request, const struct path_parent *from,
                         struct error *err)
{
	char shown[PATH_SHOW_SIZE];
	struct stat st;

	if (!path_ends_in_slash(request->from) && !path_ends_in_slash(request->to))
		return 0;
	if (fstatat(from->dir, from->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return path_error(request->from, err);
	if (S_ISDIR(st.st_mode))
		return 0;
	return error_set(err, ERR_INVALID,
	                 "%s: is not a directory, so neither its old nor its new name can end in a "
	                 "slash: give the whole new name",
	                 path_show(request->from, shown));
}

int op_rename(struct job *job, const struct wire_rename *request, struct wire_done *done,
              struct error *err)
{
	struct path_parent from = { .dir = -1 }, to = { .dir = -1 };
	int r = -1;

	*done = (struct wire_done){ 0 };
	if (check_movable(job, request->from, "moved", err) < 0 ||
	    check_movable(job, request->to, "replaced", err) < 0 ||
	    path_parent(job, request->from, false, &from, err) < 0)
		return -1;
	if (path_parent(job, request->to, false, &to, err) == 0 &&
	    check_slashes(request, &from, err) == 0) {
		r = rename_entry(&from, &to, (request->flags & WIRE_RENAME_REPLACE) != 0);
		if (r < 0)
			(void)fail_rename(request, err);
	}
	if (to.dir >= 0)
		(void)close(to.dir);
	(void)close(from.dir);
	return r;
}
