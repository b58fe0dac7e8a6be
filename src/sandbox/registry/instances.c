/* instances.c - one file servers/NAME.lock per server, locked with flock() while the server lives.
 *
 * The file is created as NAME.new, locked, and only then renamed to NAME.lock. So a NAME.lock
 * without a lock always means a dead server, never one that is just starting. Checks take the lock
 * shared: they do not disturb each other, and a starting server whose NAME.new is being checked
 * fails to get the exclusive lock and tries another name. */
#include "sandbox/registry/instances.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/random.h"

enum { TRIES = 256, BACKLOG = 16, FILE_NAME_MAX = INSTANCE_LEN + sizeof ".lock" };

static bool is_instance(const char *name, size_t len)
{
	return len == INSTANCE_LEN && strspn(name, "0123456789abcdef") >= len;
}

static void file_name(const char *name, const char *ending, char file[FILE_NAME_MAX])
{
	(void)snprintf(file, FILE_NAME_MAX, "%.*s%s", INSTANCE_LEN, name, ending);
}

/* Returns -1 with errno EEXIST or EWOULDBLOCK if another name should be tried. */
static int lock_name(int dir, const char *name)
{
	AUTO_FD int fd = -1;
	char made[FILE_NAME_MAX], final[FILE_NAME_MAX];
	int saved;

	file_name(name, ".new", made);
	file_name(name, ".lock", final);
	/* Root creates the file before it gives up its rights; servers that already run under the
	 * unprivileged id must be able to open it for reading. */
	fd = openat(dir, made, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0)
		return -1;
	if (fchmod(fd, 0644) == 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 &&
	    renameat2(dir, made, dir, final, RENAME_NOREPLACE) == 0)
		return TAKE_FD(fd);
	saved = errno == ENOENT ? EWOULDBLOCK
	                        : errno; /* instance_remove_dead() of another server removed it */
	(void)unlinkat(dir, made, 0);
	errno = saved;
	return -1;
}

int instance_add(int dir, char name[INSTANCE_LEN + 1], struct error *err)
{
	for (int i = 0; i < TRIES; i++) {
		char picked[INSTANCE_LEN + 1];
		int fd;

		random_hex(picked, INSTANCE_LEN * RANDOM_HEX_BITS);
		fd = lock_name(dir, picked);
		if (fd >= 0) {
			memcpy(name, picked, sizeof picked);
			return fd;
		}
		if (errno != EEXIST && errno != EWOULDBLOCK)
			break;
	}
	return error_sys(err, "cannot create a lock file in servers/");
}

void instance_remove(int dir, const char *name)
{
	char file[FILE_NAME_MAX];

	if (!is_instance(name, strlen(name)))
		return;
	file_name(name, ".sock", file);
	(void)unlinkat(dir, file, 0);
	file_name(name, ".lock", file);
	(void)unlinkat(dir, file, 0);
}

/* --- sockets --- */

typedef int address_call(int fd, const struct sockaddr *address, socklen_t len);

/* Calls bind() or connect() with the name of the socket relative to `dir`. */
static int call_in_dir(int dir, const char *name, address_call *call, int fd)
{
	AUTO_FD int here = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int r, saved;

	if (here < 0 || fchdir(dir) < 0)
		return -1;
	file_name(name, ".sock", address.sun_path);
	r = call(fd, (const struct sockaddr *)&address, sizeof address);
	saved = errno;
	if (fchdir(here) < 0)
		return -1;
	errno = saved;
	return r;
}

/* fchmod() before bind() decides the mode of the file, so that no other user can connect even for a
 * moment. */
int instance_listen(int dir, const char *name, struct error *err)
{
	AUTO_FD int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0 || fchmod(fd, 0600) < 0 || call_in_dir(dir, name, bind, fd) < 0 ||
	    listen(fd, BACKLOG) < 0)
		return error_sys(err, "make the socket of this server");
	return TAKE_FD(fd);
}

int instance_connect(int dir, const char *name, struct error *err)
{
	AUTO_FD int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (!is_instance(name, strlen(name)))
		return error_set(err, ERR_INVALID, "not the name of a server");
	if (fd < 0 || call_in_dir(dir, name, connect, fd) < 0)
		return error_sys(err, "connect to the server that has the sandbox awake");
	return TAKE_FD(fd);
}

/* --- dead servers --- */

enum lock_state { LOCK_HELD, LOCK_FREE, LOCK_MISSING };

/* LOCK_FREE: no server holds the lock, and *ret_fd keeps it so until it is closed. flock() locks
 * belong to open file descriptions, so even a lock of this process conflicts with the one tried
 * here. */
static enum lock_state check_lock(int dir, const char *file, int *ret_fd)
{
	AUTO_FD int fd = openat(dir, file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return errno == ENOENT ? LOCK_MISSING : LOCK_HELD;
	if (flock(fd, LOCK_SH | LOCK_NB) < 0)
		return LOCK_HELD;
	*ret_fd = TAKE_FD(fd);
	return LOCK_FREE;
}

bool instance_is_alive(int dir, const char *name)
{
	AUTO_FD int fd = -1;
	char file[FILE_NAME_MAX];

	if (!is_instance(name, strlen(name)))
		return false; /* no server can have this name */
	file_name(name, ".lock", file);
	return check_lock(dir, file, &fd) == LOCK_HELD;
}

/* The shared lock is held while the files are removed: a server cannot be starting under this
 * name. The socket goes first, because it is found by the name of the lock file. */
static void remove_if_free(int dir, const char *file)
{
	AUTO_FD int fd = -1;
	char socket[FILE_NAME_MAX];

	if (check_lock(dir, file, &fd) != LOCK_FREE)
		return;
	file_name(file, ".sock", socket);
	(void)unlinkat(dir, socket, 0);
	(void)unlinkat(dir, file, 0);
}

void instance_remove_dead(int dir)
{
	AUTO_DIR DIR *list = fd_open_dir(dir, ".");
	const struct dirent *entry;

	if (list == NULL)
		return;
	while ((entry = readdir(list)) != NULL) {
		const char *dot = strchr(entry->d_name, '.');

		if (dot != NULL && is_instance(entry->d_name, (size_t)(dot - entry->d_name)) &&
		    (strcmp(dot, ".lock") == 0 || strcmp(dot, ".new") == 0))
			remove_if_free(dir, entry->d_name);
	}
}
