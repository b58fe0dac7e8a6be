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

enum { TAIL_SIZE = sizeof ".belljar-0123456789abcdef" };

/* Is there something, and may it be replaced? *ret_perm becomes the old file's. */
static int check_old(const struct new_file *file, mode_t *ret_perm, bool *ret_exists,
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
	if (file->rule == NEW_FILE_CREATE) {
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

/* A name that fits however long the file's own name is, not cut within a character. */
static int name_temp(struct new_file *file, struct error *err)
{
	const char *name = file->place.name;
	size_t len = utf8_prefix(name, strlen(name), PATH_NAME_MAX - TAIL_SIZE);
	uint64_t number;

	if (getrandom(&number, sizeof number, 0) != sizeof number)
		return error_sys(err, "get a random number");
	(void)snprintf(file->temp, sizeof file->temp, ".%.*s.belljar-%016" PRIx64, (int)len, name,
	               number);
	return 0;
}

/* Without a name nobody sees it, and nothing stays when the sandbox is killed. Whatever is
 * against that, a file with a name works or says what is wrong. With 64 random bits the name is
 * free, or somebody is up to something. */
static int open_temp(struct new_file *file, mode_t perm, struct error *err)
{
	int dir = file->place.dir;

	if (name_temp(file, err) < 0)
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

int new_file_open(struct new_file *file, const struct job *job, struct view path,
                  enum new_file_rule rule, mode_t perm, uint64_t max, struct error *err)
{
	bool exists;

	file->path = path;
	file->rule = rule;
	file->max = max;
	if (new_file_check_name(path, err) < 0 ||
	    path_parent(job, path, rule != NEW_FILE_CREATE, &file->place, err) < 0)
		return -1;
	perm &= 0777;
	if (check_old(file, &perm, &exists, err) < 0)
		return -1;
	if (!exists)
		return open_temp(file, perm, err);
	/* Nobody else may read it while it is not known to be as open as the old one. */
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

/* A name for what has none; it replaces nothing. */
static int link_as(const struct new_file *file, const char *name)
{
	char by_number[32];

	(void)snprintf(by_number, sizeof by_number, "/proc/self/fd/%d", file->fd);
	return linkat(AT_FDCWD, by_number, file->place.dir, name, AT_SYMLINK_FOLLOW);
}

enum { NOREPLACE = 1 }; /* RENAME_NOREPLACE of linux/fs.h, which not every libc has */

/* The best that is left. */
static int look_and_rename(int from_dir, const char *from, int to_dir, const char *to)
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
		return errno == EEXIST ? -1 : look_and_rename(from_dir, from, to_dir, to);
	/* If somebody else took the first name away, the second may be the last. */
	if (unlinkat(from_dir, from, 0) == 0 || errno == ENOENT)
		return 0;
	saved = errno;
	(void)unlinkat(to_dir, to, 0);
	errno = saved;
	return -1;
}

static int appear(struct new_file *file)
{
	bool replaces = file->rule != NEW_FILE_CREATE;
	int dir = file->place.dir, moved;

	if (!file->named) {
		if (link_as(file, file->place.name) == 0)
			return 0;
		/* Only a rename replaces, and only what has a name can be renamed. */
		if (errno != EEXIST || !replaces || link_as(file, file->temp) < 0)
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
	if (appear(file) < 0)
		return path_error(file->path, err);
	/* A directory that may not be read cannot be synced; its names get there all the same. */
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
