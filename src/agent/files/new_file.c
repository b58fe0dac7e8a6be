#include "agent/files/new_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/text/utf8.h"

enum { SUFFIX_SIZE = sizeof ".belljar-0123456789abcdef" };

/* Checks that an old file may be replaced; *ret_perm becomes its permissions. */
static int check_old_file(const struct new_file *file, mode_t *ret_perm, bool *ret_exists,
                          struct error *err)
{
	const struct path_parent *place = &file->place;
	struct stat st;

	*ret_exists = fstatat(place->dir, place->name, &st, AT_SYMLINK_NOFOLLOW) == 0;
	if (!*ret_exists) {
		if (errno != ENOENT)
			return path_error(file->path, err);
		return 0;
	}
	if (file->must_be_new) {
		errno = EEXIST;
		return path_error(file->path, err);
	}
	if (!S_ISREG(st.st_mode))
		return path_not_file(file->path, st.st_mode, err);
	if (faccessat(place->dir, place->name, W_OK, 0) < 0)
		return path_error(file->path, err);
	*ret_perm = st.st_mode & 0777;
	return 0;
}

/* Makes a temporary name of valid length, with the file's own name cut between characters. */
static int make_temp_name(struct new_file *file, struct error *err)
{
	const char *name = file->place.name;
	size_t len = utf8_prefix(name, strlen(name), PATH_NAME_MAX - SUFFIX_SIZE);
	uint64_t number;

	if (getrandom(&number, sizeof number, 0) != sizeof number)
		return error_sys(err, "get random bytes");
	(void)snprintf(file->temp, sizeof file->temp, ".%.*s.belljar-%016" PRIx64, (int)len, name,
	               number);
	return 0;
}

/* A file without a name is invisible and vanishes if the sandbox is killed. If O_TMPFILE fails for
 * any reason, a named file works or its error tells why. O_EXCL and O_NOFOLLOW: the name has 64
 * random bits, so if it exists or is a link, another process tries to redirect the write. */
static int open_temp(struct new_file *file, mode_t perm, struct error *err)
{
	int dir = file->place.dir;

	if (make_temp_name(file, err) < 0)
		return -1;
	file->fd = openat(dir, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, perm);
	if (file->fd >= 0)
		return 0;
	file->fd = openat(dir, file->temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
	                  perm);
	file->named = file->fd >= 0;
	return file->named ? 0 : path_error(file->path, err);
}

int new_file_check_name(struct view path, struct error *err)
{
	char shown[PATH_SHOW_SIZE];

	if (path_ends_in_slash(path))
		return error_set(err, ERR_INVALID, "%s: the name of a file does not end in a slash",
		                 path_show(path, shown));
	return 0;
}

int new_file_open(struct new_file *file, const struct job *job, struct view path, bool must_be_new,
                  mode_t perm, uint64_t max, struct error *err)
{
	bool exists;

	file->path = path;
	file->must_be_new = must_be_new;
	file->max = max;
	if (new_file_check_name(path, err) < 0 ||
	    path_parent(job, path, !must_be_new, &file->place, err) < 0)
		return -1;
	perm &= 0777;
	if (check_old_file(file, &perm, &exists, err) < 0)
		return -1;
	if (!exists)
		return open_temp(file, perm, err);
	/* 0600 until fchmod() sets the old file's permissions: no other user may read the contents
	 * earlier. */
	if (open_temp(file, 0600, err) < 0)
		return -1;
	return fchmod(file->fd, perm) < 0 ? path_error(path, err) : 0;
}

int new_file_write(struct new_file *file, struct view bytes, struct error *err)
{
	char shown[PATH_SHOW_SIZE];

	if (bytes.len > file->max - file->size)
		return error_set(err, ERR_LIMIT,
		                 "%s: would be larger than %" PRIu64 " bytes: nothing was changed",
		                 path_show(file->path, shown), file->max);
	if (fd_write_all(file->fd, bytes, err) < 0)
		return error_wrap(err, "%s", path_show(file->path, shown));
	file->size += bytes.len;
	return 0;
}

int new_file_sync(int fd, struct view path, struct error *err)
{
	if (fsync(fd) < 0 && errno != EINVAL && errno != ENOSYS)
		return path_error(path, err);
	return 0;
}

/* Links the file without a name; like link(2) it replaces nothing. */
static int link_unnamed(const struct new_file *file, const char *name)
{
	char by_number[32];

	(void)snprintf(by_number, sizeof by_number, "/proc/self/fd/%d", file->fd);
	return linkat(AT_FDCWD, by_number, file->place.dir, name, AT_SYMLINK_FOLLOW);
}

enum { NOREPLACE = 1 }; /* RENAME_NOREPLACE, which not every C library defines */

/* The last resort, with a race between the check and the rename. */
static int check_and_rename(int from_dir, const char *from, int to_dir, const char *to)
{
	struct stat st;

	if (fstatat(to_dir, to, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return renameat(from_dir, from, to_dir, to);
	errno = EEXIST;
	return -1;
}

int rename_to_free(int from_dir, const char *from, int to_dir, const char *to)
{
	int saved;

	if (syscall(SYS_renameat2, from_dir, from, to_dir, to, NOREPLACE) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -1;
	if (linkat(from_dir, from, to_dir, to, 0) < 0)
		return errno == EEXIST ? -1 : check_and_rename(from_dir, from, to_dir, to);
	/* ENOENT: another process removed the first name; the second may be the only link now. */
	if (unlinkat(from_dir, from, 0) == 0 || errno == ENOENT)
		return 0;
	saved = errno;
	(void)unlinkat(to_dir, to, 0);
	errno = saved;
	return -1;
}

/* Gives the file its final name. */
static int link_final(struct new_file *file)
{
	bool replaces = !file->must_be_new;
	int dir = file->place.dir, moved;

	if (!file->named) {
		if (link_unnamed(file, file->place.name) == 0)
			return 0;
		/* linkat() cannot replace a file; rename() can, but needs a name to rename from. */
		if (errno != EEXIST || !replaces || link_unnamed(file, file->temp) < 0)
			return -1;
		file->named = true;
	}
	moved = replaces ? renameat(dir, file->temp, dir, file->place.name)
	                 : rename_to_free(dir, file->temp, dir, file->place.name);
	file->named = moved < 0;
	return moved;
}

int new_file_commit(struct new_file *file, struct error *err)
{
	AUTO_FD int readable = -1;

	if (new_file_sync(file->fd, file->path, err) < 0)
		return -1;
	if (link_final(file) < 0)
		return path_error(file->path, err);
	/* The directory must be synced for the name to survive a crash. A directory that may not be
	 * opened cannot be synced; the kernel writes it later. */
	readable = openat(file->place.dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return readable < 0 ? 0 : new_file_sync(readable, file->path, err);
}

void new_file_done(struct new_file *file)
{
	if (file->named)
		(void)unlinkat(file->place.dir, file->temp, 0);
	file->named = false;
	if (file->fd >= 0)
		(void)close(file->fd);
	if (file->place.dir >= 0)
		(void)close(file->place.dir);
	file->fd = file->place.dir = -1;
}
