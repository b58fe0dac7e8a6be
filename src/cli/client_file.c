#include "cli/client_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/mem.h"

enum { LARGEST_FILE = 16 * 1024 * 1024, MOST_BACKUPS = 1000 };

/* 1: there is a file, 0: there is none yet. */
static int resolve(const char *path, char **ret, struct stat *ret_st, struct error *err)
{
	struct stat st;
	char *target;

	if (lstat(path, &st) < 0) {
		if (errno == ENOENT)
			return 0;
		return error_sys(err, "'%s'", path);
	}
	target = realpath(path, NULL);
	if (target == NULL && errno == ENOENT)
		return error_set(err, ERR_NOT_FOUND,
		                 "'%s' is a link to nothing; remove it or create its target", path);
	if (target == NULL || stat(target, &st) < 0) {
		(void)error_sys(err, "'%s'", path);
		free(target);
		return -1;
	}
	*ret = target;
	*ret_st = st;
	return 1;
}

/* Replacing gives the file to whoever replaces it; only root can give it back. */
static int check_owner(const struct client_file *file, struct error *err)
{
	if (geteuid() != 0 && file->st.st_uid != geteuid())
		return error_set(err, ERR_INVALID, "'%s' belongs to another user", file->path);
	return 0;
}

int client_file_open(struct client_file *ret, const char *path, struct error *err)
{
	struct client_file file = { .path = path };
	int there = resolve(path, &file.target, &file.st, err);

	if (there < 0)
		return -1;
	buf_init(&file.text, LARGEST_FILE);
	if (there > 0 &&
	    (check_owner(&file, err) < 0 || fd_read_file(file.target, &file.text, err) < 0)) {
		client_file_close(&file);
		return -1;
	}
	*ret = file;
	return 0;
}

void client_file_close(struct client_file *file)
{
	free(file->target);
	file->target = NULL;
	buf_done(&file->text);
}

/* --- backup --- */

static int write_copy(int fd, const struct client_file *file, struct error *err)
{
	struct view rest = buf_view(&file->text);

	while (rest.len != 0) {
		ssize_t n = write(fd, rest.ptr, rest.len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return error_sys(err, "write");
		rest.ptr += n;
		rest.len -= (size_t)n;
	}
	if (fchmod(fd, file->st.st_mode & 0777) < 0 || fsync(fd) < 0)
		return error_sys(err, "finish");
	/* Best effort: a backup that is root's is still a backup. */
	if (geteuid() == 0 && fchown(fd, file->st.st_uid, file->st.st_gid) < 0)
		return 0;
	return 0;
}

static int make_backup(const struct client_file *file, char **ret, struct error *err)
{
	for (int i = 1; i <= MOST_BACKUPS; i++) {
		char *path = i == 1 ? mem_format("%s.belljar-backup", file->path)
		                    : mem_format("%s.belljar-backup-%d", file->path, i);
		/* O_EXCL: never over an earlier backup, never through a link. */
		AUTO_FD int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

		if (fd >= 0 && write_copy(fd, file, err) == 0) {
			*ret = path;
			return 0;
		}
		if (fd < 0 && errno == EEXIST) {
			free(path);
			continue;
		}
		if (fd < 0)
			(void)error_sys(err, "create");
		else
			(void)unlink(path);
		(void)error_wrap(err, "backup '%s'", path);
		free(path);
		return -1;
	}
	return error_set(err, ERR_LIMIT, "'%s' has %d backups already; remove some", file->path,
	                 MOST_BACKUPS);
}

/* --- replacing --- */

static int make_directories(const char *path, struct error *err)
{
	AUTO_FREE char *partial = mem_dup(path);

	for (char *slash = strchr(partial + 1, '/'); slash != NULL;
	     slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(partial, 0700) < 0 && errno != EEXIST)
			return error_sys(err, "create directory '%s'", partial);
		*slash = '/';
	}
	return 0;
}

static int replace_target(const struct client_file *file, struct view text, struct error *err)
{
	if (fd_write_file(file->target, text, file->st.st_mode & 0777, err) < 0)
		return -1;
	if (geteuid() == 0 && chown(file->target, file->st.st_uid, file->st.st_gid) < 0)
		return error_sys(err, "give '%s' back to its owner", file->target);
	return 0;
}

int client_file_replace(const struct client_file *file, struct view text, char **ret_backup,
                        struct error *err)
{
	char *backup = NULL;

	if (file->target == NULL) {
		if (make_directories(file->path, err) < 0 ||
		    fd_write_file(file->path, text, 0600, err) < 0)
			return -1;
		*ret_backup = NULL;
		return 0;
	}
	if (make_backup(file, &backup, err) < 0)
		return -1;
	if (replace_target(file, text, err) < 0) {
		(void)unlink(backup);
		free(backup);
		return -1;
	}
	*ret_backup = backup;
	return 0;
}
