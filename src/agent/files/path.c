#include "agent/files/path.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/text/utf8.h"
#include "base/tree/open_child.h"

enum {
	LINKS_MAX = 40, /* as many as the kernel follows */
};

/* A path from the root, at most as long as the kernel accepts. */
struct full_path {
	size_t len;
	char text[PATH_MAX];
};

const char *path_show(struct view path, char out[PATH_SHOW_SIZE])
{
	return utf8_escape(path, out, PATH_SHOW_SIZE);
}

int path_error(struct view path, struct error *err)
{
	int saved = errno;
	char shown[PATH_SHOW_SIZE];

	(void)path_show(path, shown);
	errno = saved;
	return error_sys(err, "%s", shown);
}

int path_not_file(struct view path, mode_t mode, struct error *err)
{
	const char *what = S_ISDIR(mode)    ? "a directory"
	                   : S_ISLNK(mode)  ? "a symbolic link"
	                   : S_ISFIFO(mode) ? "a FIFO"
	                   : S_ISSOCK(mode) ? "a socket"
	                                    : "a device";
	char shown[PATH_SHOW_SIZE];

	return error_set(err, ERR_INVALID, "%s: is %s, not a regular file", path_show(path, shown),
	                 what);
}

/* The root is a directory of the host, and links in it are meant for the whole host: one that leads
 * out of the root leads nowhere, and not to a file of the same name inside. */
static int open_on_host(const struct job *job, const char *text, int flags, mode_t mode)
{
	int fd;

	text += strspn(text, "/");
	fd = open_resolved(job->root, text[0] != '\0' ? text : ".", flags, mode,
	                   RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS);
	if (fd < 0 && errno == EXDEV)
		errno = ENOENT;
	return fd;
}

/* Every path of a client is opened here. RESOLVE_IN_ROOT: "..", absolute links and absolute paths
 * end at the root. RESOLVE_NO_MAGICLINKS: links of /proc such as /proc/PID/root or /proc/PID/fd/3
 * jump to any file without resolving a path, so they would lead out. */
static int open_inside(const struct job *job, const char *text, int flags, mode_t mode)
{
	if (job->on_host)
		return open_on_host(job, text, flags, mode);
	return open_resolved(job->root, text, flags, mode, RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
}

static int fail_too_long(struct view path, struct error *err)
{
	errno = ENAMETOOLONG;
	return path_error(path, err);
}

static int append_part(struct full_path *full, struct view part)
{
	if (part.len >= sizeof full->text - full->len)
		return -1;
	memcpy(full->text + full->len, part.ptr, part.len);
	full->len += part.len;
	full->text[full->len] = '\0';
	return 0;
}

/* Makes a path absolute. A NUL would end the path for the kernel before the text that was
 * checked. */
static int make_full(const struct job *job, struct view path, struct full_path *ret,
                     struct error *err)
{
	ret->len = 0;
	if (path.len == 0)
		return error_set(err, ERR_INVALID, "the path is empty");
	if (memchr(path.ptr, '\0', path.len) != NULL)
		return error_set(err, ERR_INVALID, "the path contains a NUL byte");
	if (path.ptr[0] != '/' &&
	    (append_part(ret, view_of(job->workspace)) < 0 || append_part(ret, view_of("/")) < 0))
		return fail_too_long(path, err);
	return append_part(ret, path) < 0 ? fail_too_long(path, err) : 0;
}

int path_open(const struct job *job, struct view path, int flags, mode_t mode, struct error *err)
{
	struct full_path full;
	int fd;

	if (make_full(job, path, &full, err) < 0)
		return -1;
	fd = open_inside(job, full.text, flags, mode);
	return fd < 0 ? path_error(path, err) : fd;
}

/* Replaces the error of a failed open by what the file is, if it is no regular file. */
static int explain_failed_open(const struct job *job, struct view path, struct error *err)
{
	AUTO_FD int fd = -1;
	struct error ignored;
	struct stat st;

	fd = path_open(job, path, O_PATH, 0, &ignored);
	if (fd < 0 || fstat(fd, &st) < 0 || S_ISREG(st.st_mode))
		return -1;
	return path_not_file(path, st.st_mode, err);
}

int path_open_regular(const struct job *job, struct view path, int flags, mode_t mode,
                      struct stat *ret, struct error *err)
{
	AUTO_FD int fd = path_open(job, path, flags, mode, err);

	/* ENXIO: a FIFO without a reader, or a socket. EISDIR: a directory opened for writing. */
	if (fd < 0 && (err->errnum == ENXIO || err->errnum == EISDIR))
		return explain_failed_open(job, path, err);
	if (fd < 0)
		return -1;
	if (fstat(fd, ret) < 0)
		return path_error(path, err);
	/* O_NONBLOCK made the open return at once; reading a FIFO or a device could still block or
	 * have side effects. */
	if (!S_ISREG(ret->st_mode))
		return path_not_file(path, ret->st_mode, err);
	return TAKE_FD(fd);
}

int path_open_file(const struct job *job, struct view path, struct error *err)
{
	struct stat st;

	return path_open_regular(job, path, O_RDONLY, 0, &st, err);
}

int path_open_directory(const struct job *job, struct view path, struct error *err)
{
	return path_open(job, path, O_RDONLY | O_DIRECTORY, 0, err);
}

/* --- parents ----------------------------------------------------------------------- */

static size_t trim_slashes(const char *text, size_t len)
{
	while (len > 1 && text[len - 1] == '/')
		len--;
	return len;
}

/* Cuts the last name off *full and stores it in ret; the directory remains, with its slash. */
static int cut_last_name(struct full_path *full, struct view path, struct path_parent *ret,
                         struct error *err)
{
	char shown[PATH_SHOW_SIZE];
	const char *name;
	size_t len;

	full->len = trim_slashes(full->text, full->len);
	full->text[full->len] = '\0';
	name = strrchr(full->text, '/');
	name = name == NULL ? full->text : name + 1;
	len = strlen(name);
	if (len == 0 || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return error_set(err, ERR_INVALID,
		                 "%s: must end in a name, not in '/', '.' or '..'",
		                 path_show(path, shown));
	if (len > PATH_NAME_MAX)
		return fail_too_long(path, err);
	memcpy(ret->name, name, len + 1);
	full->len -= len;
	full->text[full->len] = '\0';
	return 0;
}

/* If the name is a symbolic link, *full becomes its target. 1: it is a link; 0: it is not. */
static int follow_link(const struct path_parent *parent, struct view path, struct full_path *full,
                       struct error *err)
{
	char target[PATH_MAX];
	ssize_t n = readlinkat(parent->dir, parent->name, target, sizeof target);

	if (n < 0 && (errno == EINVAL || errno == ENOENT))
		return 0;
	if (n < 0)
		return path_error(path, err);
	if (n > 0 && target[0] == '/')
		full->len = 0;
	/* readlinkat() cuts without an error: a full buffer may be incomplete. */
	if ((size_t)n >= sizeof target || append_part(full, (struct view){ target, (size_t)n }) < 0)
		return fail_too_long(path, err);
	return 1;
}

/* openat2() cannot stop at the parent of a link's target, so links at the end are followed here. A
 * link that is replaced after readlinkat() does no harm: the result is a directory inside the root
 * and a name, which callers use without following links. */
int path_parent(const struct job *job, struct view path, bool follow, struct path_parent *ret,
                struct error *err)
{
	struct path_parent parent;
	struct full_path full;

	if (make_full(job, path, &full, err) < 0)
		return -1;
	for (int links = 0; links <= LINKS_MAX; links++) {
		AUTO_FD int dir = -1;
		int more;

		if (cut_last_name(&full, path, &parent, err) < 0)
			return -1;
		dir = open_inside(job, full.len == 0 ? "/" : full.text, O_PATH | O_DIRECTORY, 0);
		if (dir < 0)
			return path_error(path, err);
		parent.dir = dir;
		more = follow ? follow_link(&parent, path, &full, err) : 0;
		if (more < 0)
			return -1;
		if (more == 0) {
			*ret = parent;
			(void)TAKE_FD(dir);
			return 0;
		}
	}
	errno = ELOOP;
	return path_error(path, err);
}

bool path_ends_in_slash(struct view path)
{
	return path.len != 0 && path.ptr[path.len - 1] == '/';
}

/* --- creating directories ---------------------------------------------------------- */

/* Opens the directory full->text[0..end); creates it in `above` if it is missing. Each step
 * resolves the path from the root again, so that links inside the root are followed; only mkdirat()
 * uses the directory that was opened before. Returns a descriptor, or -1 and errno. */
static int open_or_create(const struct job *job, struct full_path *full, size_t end, int above)
{
	char saved = full->text[end];
	const char *name;
	int fd;

	full->text[end] = '\0';
	name = strrchr(full->text, '/');
	name = name == NULL ? full->text : name + 1;
	fd = open_inside(job, full->text, O_PATH | O_DIRECTORY, 0);
	/* EEXIST: another process created the directory, or the name is a link without a target.
	 * The next open accepts the directory and fails for the link. */
	if (fd < 0 && errno == ENOENT && above >= 0 &&
	    (mkdirat(above, name, 0777) == 0 || errno == EEXIST))
		fd = open_inside(job, full->text, O_PATH | O_DIRECTORY, 0);
	full->text[end] = saved;
	return fd;
}

/* Creates all of *full, one name after the other. */
static int create_all(const struct job *job, struct view path, struct full_path *full,
                      struct error *err)
{
	AUTO_FD int above = open_inside(job, "/", O_PATH | O_DIRECTORY, 0);
	size_t len = trim_slashes(full->text, full->len);

	for (size_t at = 0; at < len;) {
		size_t end = at;
		int next;

		while (end < len && full->text[end] != '/')
			end++;
		if (end > at) {
			next = open_or_create(job, full, end, above);
			if (next < 0)
				return path_error(path, err);
			cleanup_fd(&above);
			above = next;
		}
		at = end + 1;
	}
	return 0;
}

int path_make_parents(const struct job *job, struct view path, struct error *err)
{
	struct path_parent unused;
	struct full_path full;

	if (make_full(job, path, &full, err) < 0 || cut_last_name(&full, path, &unused, err) < 0)
		return -1;
	return create_all(job, path, &full, err);
}

int path_make_directories(const struct job *job, struct view path, struct error *err)
{
	struct full_path full;

	return make_full(job, path, &full, err) < 0 ? -1 : create_all(job, path, &full, err);
}
