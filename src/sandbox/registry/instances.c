/* instances.c - a file servers/NAME.lock that is locked for as long as its server lives.
 *
 * A file gets its real name when it is locked already (NAME.new before), so whoever finds a
 * NAME.lock without a lock knows that its server is dead. Those who look take the lock shared: they
 * are not in each other's way, and a server that finds a looker on its NAME.new takes another
 * name. */
#include "sandbox/registry/instances.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"

enum { TRIES = 16, FILE_NAME_MAX = INSTANCE_LEN + sizeof ".lock" };

static bool is_instance(const char *name, size_t len)
{
	return len == INSTANCE_LEN && strspn(name, "0123456789abcdef") >= len;
}

static void file_name(const char *name, const char *ending, char file[FILE_NAME_MAX])
{
	(void)snprintf(file, FILE_NAME_MAX, "%.*s%s", INSTANCE_LEN, name, ending);
}

/* -1 with errno EEXIST or EWOULDBLOCK: try another name. */
static int try_name(int dir, const char *name)
{
	AUTO_FD int fd = -1;
	char made[FILE_NAME_MAX], final[FILE_NAME_MAX];
	int saved;

	file_name(name, ".new", made);
	file_name(name, ".lock", final);
	/* Root makes it, and servers that are nobody look at it. */
	fd = openat(dir, made, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0)
		return -1;
	if (fchmod(fd, 0644) == 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 &&
	    renameat2(dir, made, dir, final, RENAME_NOREPLACE) == 0)
		return TAKE_FD(fd);
	saved = errno == ENOENT ? EWOULDBLOCK : errno; /* a looker has removed it */
	(void)unlinkat(dir, made, 0);
	errno = saved;
	return -1;
}

int instance_add(int dir, char name[INSTANCE_LEN + 1], struct error *err)
{
	for (int i = 0; i < TRIES; i++) {
		char picked[INSTANCE_LEN + 1];
		uint64_t number;
		int fd;

		if (getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number)
			return error_sys(err, "cannot get random numbers");
		(void)snprintf(picked, sizeof picked, "%016" PRIx64, number);
		fd = try_name(dir, picked);
		if (fd >= 0) {
			memcpy(name, picked, sizeof picked);
			return fd;
		}
		if (errno != EEXIST && errno != EWOULDBLOCK)
			break;
	}
	return error_sys(err, "cannot make a lock file among the servers'");
}

void instance_remove(int dir, const char *name)
{
	char file[FILE_NAME_MAX];

	if (!is_instance(name, strlen(name)))
		return;
	file_name(name, ".lock", file);
	(void)unlinkat(dir, file, 0);
}

enum found { HELD, LEFT, MISSING };

/* An open file of its own: the lock of another one, even of this process, stands against it.
 * LEFT: nobody holds it, and ret_fd keeps it so until it is closed. */
static enum found look(int dir, const char *file, int *ret_fd)
{
	AUTO_FD int fd = openat(dir, file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return errno == ENOENT ? MISSING : HELD;
	if (flock(fd, LOCK_SH | LOCK_NB) < 0)
		return HELD;
	*ret_fd = TAKE_FD(fd);
	return LEFT;
}

bool instance_is_alive(int dir, const char *name)
{
	AUTO_FD int fd = -1;
	char file[FILE_NAME_MAX];

	if (!is_instance(name, strlen(name)))
		return false; /* nobody can have this name */
	file_name(name, ".lock", file);
	return look(dir, file, &fd) == HELD;
}

static void forget(int dir, const char *file)
{
	AUTO_FD int fd = -1;

	if (look(dir, file, &fd) == LEFT)
		(void)unlinkat(dir, file, 0);
}

void instance_remove_dead(int dir)
{
	AUTO_FD int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *entry;

	if (list == NULL)
		return;
	(void)TAKE_FD(fd);
	while ((entry = readdir(list)) != NULL) {
		const char *dot = strchr(entry->d_name, '.');

		if (dot != NULL && is_instance(entry->d_name, (size_t)(dot - entry->d_name)) &&
		    (strcmp(dot, ".lock") == 0 || strcmp(dot, ".new") == 0))
			forget(dir, entry->d_name);
	}
	(void)closedir(list);
}
