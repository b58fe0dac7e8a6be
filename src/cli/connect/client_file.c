#include "cli/connect/client_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/tree/make_parents.h"

enum { FILE_MAX = 16 * 1024 * 1024, BACKUPS_MAX = 1000 };
enum { LOCK_WAIT_MS = 5000, LOCK_PAUSE_MS = 10 };

/* Returns 1 if the file exists, 0 if it does not. */
static int resolve_path(const char *path, char **ret, struct stat *ret_st, struct error *err)
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

/* The caller frees the result. */
static char *directory_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (slash == NULL)
		return mem_dup(".");
	return slash == path ? mem_dup("/") : mem_dup_len(path, (size_t)(slash - path));
}

/* Some file systems, such as NFS, have no flock(). A failure to lock is not an error then: the
 * check right before the file is replaced still detects most changes. */
static int wait_for_lock(int fd, const char *directory, struct error *err)
{
	const struct timespec pause = { .tv_nsec = LOCK_PAUSE_MS * 1000000L };
	uint64_t deadline = clock_now_ms() + LOCK_WAIT_MS;

	while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return 0;
		if (clock_now_ms() >= deadline)
			return error_set(err, ERR_LIMIT,
			                 "another program has held the lock on '%s' for %d "
			                 "seconds; try again",
			                 directory, LOCK_WAIT_MS / 1000);
		(void)nanosleep(&pause, NULL);
	}
	return 0;
}

static int lock_directory(const char *path, int *ret, struct error *err)
{
	AUTO_FREE char *directory = directory_of(path);
	AUTO_FD int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return error_sys(err, "open directory '%s'", directory);
	if (wait_for_lock(fd, directory, err) < 0)
		return -1;
	*ret = TAKE_FD(fd);
	return 0;
}

/* The path is resolved here to know which directory to lock. The caller resolves it again under the
 * lock, because another belljar may have replaced the file meanwhile. */
static int lock_file(const char *path, int *ret, struct error *err)
{
	AUTO_FREE char *target = NULL;
	struct stat st;
	int there = resolve_path(path, &target, &st, err);

	if (there < 0 || (there == 0 && make_parents(path, 0700, err) < 0))
		return -1;
	return lock_directory(target != NULL ? target : path, ret, err);
}

/* rename() leaves a file that belongs to this user; only root could give it back to its owner. */
static int check_owner(const struct client_file *file, struct error *err)
{
	if (geteuid() != 0 && file->st.st_uid != geteuid())
		return error_set(err, ERR_INVALID,
		                 "'%s' belongs to another user: run belljar as that user",
		                 file->path);
	return 0;
}

static int read_target(struct client_file *file, struct error *err)
{
	int there = resolve_path(file->path, &file->target, &file->st, err);

	if (there <= 0)
		return there;
	if (check_owner(file, err) < 0)
		return -1;
	return fd_read_file(file->target, &file->text, err);
}

int client_file_open(struct client_file *ret, const char *path, struct error *err)
{
	struct client_file file = { .path = path, .lock = -1 };

	if (lock_file(path, &file.lock, err) < 0)
		return -1;
	buf_init(&file.text, FILE_MAX);
	if (read_target(&file, err) < 0) {
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
	cleanup_fd(&file->lock);
	file->lock = -1;
}

/* Writes the text with the mode and, as root, the owner of the file that was read. */
static int write_like(int fd, const struct client_file *file, struct view text, struct error *err)
{
	bool fresh = file->target == NULL;

	if (fd_write_all(fd, text, err) < 0)
		return -1;
	if (!fresh && geteuid() == 0 && fchown(fd, file->st.st_uid, file->st.st_gid) < 0)
		return error_sys(err, "change the owner");
	if (fchmod(fd, fresh ? 0600 : file->st.st_mode & 0777) < 0 || fsync(fd) < 0)
		return error_sys(err, "sync");
	return 0;
}

static int make_backup(const struct client_file *file, char **ret, struct error *err)
{
	for (int i = 1; i <= BACKUPS_MAX; i++) {
		char *path = i == 1 ? mem_format("%s.belljar-backup", file->path)
		                    : mem_format("%s.belljar-backup-%d", file->path, i);
		/* O_EXCL: neither overwrites an earlier backup nor follows a link. */
		AUTO_FD int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

		if (fd >= 0 && write_like(fd, file, buf_view(&file->text), err) == 0) {
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
	                 BACKUPS_MAX);
}

/* Returns 1 if the file still has the text that was read, 0 if not. */
static int is_unchanged(const struct client_file *file, struct error *err)
{
	AUTO_BUF struct buf now;
	struct error why;

	buf_init(&now, FILE_MAX);
	if (fd_read_file(file->target, &now, &why) < 0) {
		if (why.kind == ERR_NOT_FOUND || why.kind == ERR_LIMIT)
			return 0;
		*err = why;
		return -1;
	}
	return now.len == file->text.len &&
	       (now.len == 0 || memcmp(now.ptr, file->text.ptr, now.len) == 0);
}

/* Returns 1 when the file is in place, 0 if another program created it meanwhile. */
static int rename_new(const char *temporary, const char *path, struct error *err)
{
	if (renameat2(AT_FDCWD, temporary, AT_FDCWD, path, RENAME_NOREPLACE) == 0)
		return 1;
	if (errno == EEXIST)
		return 0;
	/* EINVAL: this file system does not support RENAME_NOREPLACE. */
	if (errno == EINVAL && access(path, F_OK) < 0 && rename(temporary, path) == 0)
		return 1;
	return error_sys(err, "rename to '%s'", path);
}

/* Returns 1 when the file is replaced, 0 if it changed since it was read. */
static int rename_into_place(const struct client_file *file, const char *temporary,
                             struct error *err)
{
	int r;

	if (file->target == NULL)
		return rename_new(temporary, file->path, err);
	r = is_unchanged(file, err);
	if (r > 0 && rename(temporary, file->target) < 0)
		return error_sys(err, "rename to '%s'", file->target);
	return r;
}

/* The new text is on disk, by fsync(), before it replaces the file: a crash leaves the old file or
 * the new one, never a part. */
static int write_and_rename(const struct client_file *file, struct view text, struct error *err)
{
	const char *path = file->target != NULL ? file->target : file->path;
	AUTO_FREE char *temporary = mem_format("%s.XXXXXX", path);
	AUTO_FD int fd = mkostemp(temporary, O_CLOEXEC);
	int r;

	if (fd < 0)
		return error_sys(err, "create '%s'", temporary);
	r = write_like(fd, file, text, err);
	if (r < 0)
		(void)error_wrap(err, "write '%s'", temporary);
	else
		r = rename_into_place(file, temporary, err);
	if (r <= 0)
		(void)unlink(temporary);
	return r;
}

int client_file_replace(const struct client_file *file, struct view text, char **ret_backup,
                        struct error *err)
{
	char *backup = NULL;
	int r;

	if (file->target != NULL && make_backup(file, &backup, err) < 0)
		return -1;
	r = write_and_rename(file, text, err);
	if (r > 0) {
		*ret_backup = backup;
		return r;
	}
	if (backup != NULL)
		(void)unlink(backup);
	free(backup);
	return r;
}
