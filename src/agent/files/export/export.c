#include "agent/files/export/export.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/files/path.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/text/utf8.h"
#include "base/trusted/trusted_names.h"

enum {
	NOTE_MAX = 160, /* bytes of the notes at the end of a report */
	LIST_MAX = 8 * 1024,
	DIFFS_MAX = WIRE_REPORT_MAX - LIST_MAX - NOTE_MAX,
	SHOWN_MAX = 400, /* bytes of a name */
};

/* --- where an entry would be ------------------------------------------------------------- */

/* The agent in a sandbox is linked with a build of this file that has no rules (Makefile), so that
 * the table of trusted names is not part of its program. */
#ifdef EXPORT_WITHOUT_RULES
bool export_has_rules(void)
{
	return false;
}

static bool is_on_host(const struct job *job)
{
	(void)job;
	return false;
}

static const char *kind_name(int kind)
{
	(void)kind;
	return "";
}
#else
bool export_has_rules(void)
{
	return true;
}

static bool is_on_host(const struct job *job)
{
	return job->on_host;
}

static const char *kind_name(int kind)
{
	return trusted_kinds[kind].name;
}
#endif

/* Asks the kernel for the path of an open directory, in which links are resolved: a link with a
 * harmless name may lead to a trusted directory. */
static int read_real_path(int directory, char out[PATH_MAX + 1], struct error *err)
{
	char link[32];
	ssize_t n;

	(void)snprintf(link, sizeof link, "/proc/self/fd/%d", directory);
	n = readlinkat(AT_FDCWD, link, out, PATH_MAX);
	if (n < 0)
		return error_sys(err, "find out the path of the target on the host");
	if (n == PATH_MAX || out[0] != '/')
		return error_set(err, ERR_LIMIT,
		                 "the path of the target on the host is too long, or not known");
	out[n] = '\0';
	return 0;
}

static int read_base(struct export *export, int directory, struct error *err)
{
	if (read_real_path(directory, export->base, err) < 0)
		return -1;
	export->base_len = strlen(export->base);
	return 0;
}

int export_verify(const struct export *export, int directory, struct error *err)
{
	char path[PATH_MAX + 1];

	if (!is_on_host(export->job))
		return 0;
	if (read_real_path(directory, path, err) < 0)
		return -1;
	if (strcmp(path, export->base) == 0)
		return 0;
	return error_set(err, ERR_INVALID,
	                 "the path of the target leads to another directory now: try again");
}

static void init_export(struct export *export, const struct job *job, bool is_preview,
                        struct wire_done *done)
{
	static char list[LIST_MAX + 1], diffs[DIFFS_MAX + 1];

	*export = (struct export){ .job = job, .done = done, .is_preview = is_preview };
	export->list = buf_fixed(list, sizeof list);
	export->diffs = buf_fixed(diffs, sizeof diffs);
}

int export_init_at(struct export *export, const struct job *job, int directory, bool is_preview,
                   struct wire_done *done, struct error *err)
{
	init_export(export, job, is_preview, done);
	return is_on_host(job) ? read_base(export, directory, err) : 0;
}

/* Opens the directory, or else the nearest one above it that exists; *missing becomes the rest of
 * the path. */
static int open_existing(const struct job *job, struct view path, struct view *missing,
                         struct error *err)
{
	struct view whole = path;

	for (;;) {
		const char *slash;
		struct error why;
		int fd = path_open_directory(job, path, &why);

		*missing = (struct view){ path.ptr + path.len, whole.len - path.len };
		if (fd >= 0)
			return fd;
		if (why.errnum != ENOENT || view_is(path, "/") || view_is(path, ".")) {
			*err = why;
			return -1;
		}
		slash = memrchr(path.ptr, '/', path.len);
		path.len = slash != NULL ? (size_t)(slash - path.ptr) : 0;
		if (path.len == 0) {
			*missing = whole;
			return path_open_directory(job, view_of(slash != NULL ? "/" : "."), err);
		}
	}
}

int export_init(struct export *export, const struct job *job, struct view directory,
                bool is_preview, struct wire_done *done, int *ret, struct error *err)
{
	struct view missing;
	AUTO_FD int fd = open_existing(job, directory, &missing, err);

	if (fd < 0 || export_init_at(export, job, fd, is_preview, done, err) < 0)
		return -1;
	while (missing.len != 0 && missing.ptr[0] == '/') {
		missing.ptr++;
		missing.len--;
	}
	while (missing.len != 0 && missing.ptr[missing.len - 1] == '/')
		missing.len--;
	if (missing.len >= sizeof export->base - export->base_len - 1)
		return error_set(err, ERR_LIMIT, "the path of the target is too long");
	if (missing.len != 0) {
		export->base[export->base_len++] = '/';
		memcpy(export->base + export->base_len, missing.ptr, missing.len);
		export->base_len += missing.len;
		export->base[export->base_len] = '\0';
	}
	*ret = missing.len == 0 ? TAKE_FD(fd) : -1;
	return 0;
}

/* git takes a directory with a file HEAD for a repository, whatever its name is. */
static bool is_repository(const char *path)
{
	char head[EXPORT_PATH_SIZE + 8];
	struct stat st;

	(void)snprintf(head, sizeof head, "%s/HEAD", path);
	return lstat(head, &st) == 0 && !S_ISDIR(st.st_mode);
}

/* Copies the path of a directory, but with the name of each repository in it as ".git", so that the
 * patterns for ".git" match there too. */
static void mark_repositories(const char *path, char out[EXPORT_PATH_SIZE])
{
	char above[EXPORT_PATH_SIZE];
	size_t used = 0;

	for (const char *at = path; *at != '\0';) {
		const char *name = at + strspn(at, "/");
		size_t len = strcspn(name, "/"), end = (size_t)(name + len - path);
		bool is_marked;

		at = name + len;
		if (len == 0 || end >= sizeof above || used + len + 6 >= EXPORT_PATH_SIZE)
			break;
		memcpy(above, path, end);
		above[end] = '\0';
		is_marked = is_repository(above);
		used += (size_t)snprintf(out + used, EXPORT_PATH_SIZE - used, "/%.*s",
		                         is_marked ? 4 : (int)len, is_marked ? ".git" : name);
	}
	out[used] = '\0';
}

/* Makes export->marked the path of the entry's directory. Most entries are in the directory of the
 * one before, whose path is kept. */
static void mark_parent(struct export *export, const char *name, size_t len)
{
	char path[EXPORT_PATH_SIZE];

	if (export->marked[0] != '\0' && strlen(export->parent) == len &&
	    memcmp(export->parent, name, len) == 0)
		return;
	if (len >= sizeof export->parent)
		len = sizeof export->parent - 1;
	memcpy(export->parent, name, len);
	export->parent[len] = '\0';
	(void)snprintf(path, sizeof path, "%s/%s", export->base, export->parent);
	mark_repositories(path, export->marked);
}

int export_base_kind(const struct export *export)
{
	char marked[EXPORT_PATH_SIZE];

	if (!is_on_host(export->job))
		return -1;
	mark_repositories(export->base, marked);
	return trusted_kind_of(marked, true, export->job->allowed);
}

int export_kind(struct export *export, const char *name, bool is_directory)
{
	char path[EXPORT_PATH_SIZE + PATH_MAX];
	const char *slash = strrchr(name, '/');
	size_t parent = slash != NULL ? (size_t)(slash - name) : 0;

	if (!is_on_host(export->job))
		return -1;
	mark_parent(export, name, parent);
	(void)snprintf(path, sizeof path, "%s/%s", export->marked,
	               slash != NULL ? slash + 1 : name);
	return trusted_kind_of(path, is_directory, export->job->allowed);
}

/* Leaves one slash where there are more, and none at the end. */
static void normalize_slashes(char *path)
{
	char *to = path;

	for (const char *from = path; *from != '\0'; from++)
		if (from[0] != '/' || (from[1] != '/' && from[1] != '\0'))
			*to++ = *from;
	*to = '\0';
}

/* The root's path is real, and the rest is from the request, so it has the names of links that the
 * real path lacks. If the two paths are equal, export_kind() is enough. */
int export_set_requested(struct export *export, struct view path, const char *name,
                         struct error *err)
{
	char real[EXPORT_BASE_SIZE + PATH_MAX];
	const struct job *job = export->job;
	size_t len;

	if (!is_on_host(job))
		return 0;
	if (read_real_path(job->root, export->requested, err) < 0)
		return -1;
	len = strlen(export->requested);
	if (path.len + strlen(job->workspace) + 2 >= sizeof export->requested - len)
		return error_set(err, ERR_LIMIT, "the path of the target is too long");
	(void)snprintf(export->requested + len, sizeof export->requested - len, "/%s/%.*s",
	               path.len != 0 && path.ptr[0] == '/' ? "" : job->workspace, (int)path.len,
	               path.ptr);
	(void)snprintf(real, sizeof real, "%s/%s", export->base, name);
	normalize_slashes(real);
	normalize_slashes(export->requested);
	if (strcmp(real, export->requested) == 0)
		export->requested[0] = '\0';
	return 0;
}

int export_requested_kind(const struct export *export, const char *name, bool is_directory)
{
	char path[EXPORT_PATH_SIZE + PATH_MAX];

	if (!is_on_host(export->job) || export->requested[0] == '\0')
		return -1;
	(void)snprintf(path, sizeof path, "%s/%s", export->requested, name);
	return trusted_kind_of(path, is_directory, export->job->allowed);
}

/* --- permissions ------------------------------------------------------------------------- */

/* Write permission for group and others is dropped on the host as well: code in a sandbox must not
 * decide who else may change the files it hands out. */
mode_t export_file_mode(struct export *export, int dir, const char *name, mode_t mode)
{
	const mode_t any = 0111;
	mode_t kept = 0;
	struct stat st;

	if (!is_on_host(export->job))
		return mode;
	if ((export->job->allowed & TRUSTED_EXECUTABLES) != 0 || (mode & any) == 0)
		return mode & 0755;
	if (dir >= 0 && fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode))
		kept = st.st_mode & any;
	if (kept == 0)
		export->done->not_executable++;
	return (mode & 0644) | kept;
}

mode_t export_directory_mode(const struct export *export, mode_t mode)
{
	return is_on_host(export->job) ? mode & 0755 : mode;
}

/* --- the report -------------------------------------------------------------------------- */

void export_list(struct export *export, const char *what, const char *name, const char *more)
{
	char shown[SHOWN_MAX];
	struct error full;

	(void)utf8_escape(view_of(name), shown, sizeof shown);
	if (buf_printf(&export->list, &full, "%s%s%s\n", what, shown, more) < 0)
		export->unlisted++;
}

/* Entries below a directory that was listed are counted, but not listed. */
void export_leave_out(struct export *export, const char *name, bool is_directory, int kind)
{
	size_t len = strlen(export->listed);
	char more[64];

	export->done->trusted++;
	export->done->kinds |= UINT64_C(1) << kind;
	if (len != 0 && strncmp(name, export->listed, len) == 0 && name[len] == '/')
		return;
	if (is_directory && strlen(name) < sizeof export->listed)
		memcpy(export->listed, name, strlen(name) + 1);
	(void)snprintf(more, sizeof more, "%s (%s)", is_directory ? "/" : "", kind_name(kind));
	export_list(export, export->is_preview ? "left out  " : "", name, more);
}

void export_finish(struct export *export)
{
	static char text[WIRE_REPORT_MAX + 1];
	struct buf report = buf_fixed(text, sizeof text);
	struct error full; /* NOTE_MAX is more than both notes */

	text[0] = '\0';
	(void)!buf_add(&report, buf_view(&export->list), &full);
	if (export->unlisted != 0)
		(void)!buf_printf(&report, &full, "... and %zu more\n", export->unlisted);
	if (export->diffs.len != 0 && buf_printf(&report, &full, "\n") == 0)
		(void)!buf_add(&report, buf_view(&export->diffs), &full);
	if (export->unshown != 0)
		(void)!buf_printf(&report, &full,
		                  "... (the changes of %zu more files are not shown)\n",
		                  export->unshown);
	export->done->report = buf_view(&report);
}
