#include "server/access/token_store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/text/utf8.h"
#include "base/tree/make_parents.h"
#include "server/access/token_file.h"

enum { LOCK_WAIT_S = 10 };

static const char first_line[] =
        "# Tokens of belljar, made by 'belljar token add': id, SHA-256, user, scopes, created, "
        "expires, note.\n";

/* --- reading --- */

/* Other users may read the file: it has hashes of 160 random bits, from which no token follows. */
static int check_mode(const struct stat *st, struct error *err)
{
	if (!S_ISREG(st->st_mode))
		return error_set(err, ERR_INVALID, "not a regular file");
	if ((st->st_mode & (S_IWGRP | S_IWOTH)) != 0)
		return error_set(err, ERR_INVALID,
		                 "other users may write this file, and so make tokens; run chmod "
		                 "600 on it");
	return 0;
}

int token_store_read(int fd, struct token_list *ret, struct error *err)
{
	AUTO_BUF struct buf text;
	struct stat st;

	buf_init(&text, TOKEN_FILE_MAX);
	if (fstat(fd, &st) < 0)
		return error_sys(err, "fstat");
	if (check_mode(&st, err) < 0 || fd_read_all(fd, &text, err) < 0)
		return -1;
	return token_list_parse(buf_view(&text), ret, err);
}

int token_store_path(const char *named, char **ret, struct error *err)
{
	const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");

	if (named != NULL)
		*ret = mem_dup(named);
	else if (geteuid() == 0)
		*ret = mem_dup("/etc/belljar/tokens");
	else if (config != NULL && config[0] == '/')
		*ret = mem_format("%s/belljar/tokens", config);
	else if (home != NULL && home[0] == '/')
		*ret = mem_format("%s/.config/belljar/tokens", home);
	else
		return error_set(err, ERR_NOT_FOUND,
		                 "HOME is not set; name the file with --token-file");
	return 0;
}

/* --- changing --- */

/* The file while its directory is locked. */
struct edit {
	char *path; /* without symbolic links */
	int lock;   /* of the directory; closing it unlocks */
	bool exists;
	struct stat st;
	struct buf text;
	struct token_list list;
};

/* The lock is on the directory: rename(2) replaces the file, so a lock on the file would be one on
 * an inode that the next writer does not open. alarm(2) would end the process, so the wait is a
 * series of attempts. */
static int lock_directory(const char *path, int *ret, struct error *err)
{
	const char *slash = strrchr(path, '/');
	AUTO_FREE char *directory = slash == NULL ? mem_dup(".")
	                                          : mem_dup_len(path, (size_t)(slash - path) + 1);
	AUTO_FD int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return error_sys(err, "open directory '%s'", directory);
	for (int tries = 0; flock(fd, LOCK_EX | LOCK_NB) < 0; tries++) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return error_sys(err, "lock '%s'", directory);
		if (tries == LOCK_WAIT_S * 100)
			return error_set(err, ERR_LIMIT,
			                 "another program has held the lock on '%s' for %d "
			                 "seconds; try again",
			                 directory, LOCK_WAIT_S);
		(void)usleep(10000);
	}
	*ret = TAKE_FD(fd);
	return 0;
}

static void edit_close(struct edit *edit)
{
	free(edit->path);
	cleanup_fd(&edit->lock);
	buf_done(&edit->text);
	token_list_done(&edit->list);
}

static int read_locked(struct edit *edit, struct error *err)
{
	/* O_NONBLOCK: open(2) of a FIFO under this name would wait for a writer. */
	AUTO_FD int fd = open(edit->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return errno == ENOENT ? 0 : error_sys(err, "open");
	if (fstat(fd, &edit->st) < 0)
		return error_sys(err, "fstat");
	edit->exists = true;
	if (check_mode(&edit->st, err) < 0 || fd_read_all(fd, &edit->text, err) < 0)
		return -1;
	return token_list_parse(buf_view(&edit->text), &edit->list, err);
}

/* Links are followed to the file that they name, which is then replaced. */
static int edit_open(const char *path, struct edit *ret, struct error *err)
{
	struct edit edit = { .path = realpath(path, NULL), .lock = -1 };

	buf_init(&edit.text, TOKEN_FILE_MAX);
	if (edit.path == NULL)
		edit.path = mem_dup(path);
	if (make_parents(edit.path, 0755, err) < 0 ||
	    lock_directory(edit.path, &edit.lock, err) < 0 || read_locked(&edit, err) < 0) {
		edit_close(&edit);
		(void)error_wrap(err, "token file '%s'", path);
		return -1;
	}
	*ret = edit;
	return 0;
}

/* The file keeps its owner: root may edit the file of a user whose server must still read it. */
static int write_new(const struct edit *edit, int fd, struct view text, struct error *err)
{
	if (fd_write_all(fd, text, err) < 0)
		return -1;
	if (edit->exists && geteuid() == 0 && fchown(fd, edit->st.st_uid, edit->st.st_gid) < 0)
		return error_sys(err, "change the owner");
	return fchmod(fd, 0600) < 0 || fsync(fd) < 0 ? error_sys(err, "sync") : 0;
}

/* The new text is on disk, by fsync(), before it replaces the file. */
static int replace_file(const struct edit *edit, struct view text, struct error *err)
{
	AUTO_FREE char *temporary = mem_format("%s.XXXXXX", edit->path);
	AUTO_FD int fd = mkostemp(temporary, O_CLOEXEC);
	int r;

	if (fd < 0)
		return error_sys(err, "create '%s'", temporary);
	r = write_new(edit, fd, text, err);
	if (r == 0 && rename(temporary, edit->path) < 0)
		r = error_sys(err, "rename to '%s'", edit->path);
	if (r < 0)
		(void)unlink(temporary);
	else
		(void)!fsync(edit->lock);
	return r;
}

int token_store_load(const char *path, struct token_list *ret, struct error *err)
{
	AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0 && errno == ENOENT) {
		*ret = (struct token_list){ 0 };
		return 0;
	}
	if (fd < 0)
		return error_sys(err, "token file '%s'", path);
	return token_store_read(fd, ret, err) < 0 ? error_wrap(err, "token file '%s'", path) : 0;
}

int token_store_add(const char *path, const struct token *token, struct error *err)
{
	struct edit edit;
	int r;

	if (edit_open(path, &edit, err) < 0)
		return -1;
	r = edit.list.count < TOKENS_MAX
	            ? 0
	            : error_set(err, ERR_LIMIT, "the file has %d tokens already; revoke some first",
	                        TOKENS_MAX);
	if (r == 0 && !edit.exists)
		r = buf_add(&edit.text, view_of(first_line), err);
	if (r == 0)
		r = token_write(token, &edit.text, err);
	if (r == 0)
		r = replace_file(&edit, buf_view(&edit.text), err);
	edit_close(&edit);
	return r < 0 ? error_wrap(err, "token file '%s'", path) : 0;
}

static bool has_id(const struct token_list *list, const char *id)
{
	for (size_t i = 0; i < list->count; i++)
		if (strcmp(list->at[i].id, id) == 0)
			return true;
	return false;
}

/* All ids have the same length, so a line that begins with the id is that token's. */
static int remove_line(const struct edit *edit, const char *id, struct buf *ret, struct error *err)
{
	struct view rest = buf_view(&edit->text), line;

	if (!has_id(&edit->list, id))
		return error_set(err, ERR_NOT_FOUND,
		                 "there is no token '%s'; 'belljar token list' has all",
		                 UTF8_ESCAPED(view_of(id), 80));
	while (view_next_line(&rest, &line))
		if (!view_starts(line, id) &&
		    (buf_add(ret, line, err) < 0 || buf_add(ret, view_of("\n"), err) < 0))
			return -1;
	return 0;
}

int token_store_remove(const char *path, const char *id, struct error *err)
{
	AUTO_BUF struct buf text;
	struct edit edit;
	int r;

	buf_init(&text, TOKEN_FILE_MAX);
	if (edit_open(path, &edit, err) < 0)
		return -1;
	r = remove_line(&edit, id, &text, err);
	if (r == 0)
		r = replace_file(&edit, buf_view(&text), err);
	edit_close(&edit);
	return r < 0 ? error_wrap(err, "token file '%s'", path) : 0;
}
