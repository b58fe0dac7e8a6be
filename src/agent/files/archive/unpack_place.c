#include "agent/files/archive/unpack_place.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/files/path.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/tree/open_child.h"
#include "wire/tar.h"

static int check_component(struct view part, struct error *err)
{
	/* "a/../../etc" is the classic way out of the target ("zip slip"). */
	if (view_is(part, ".."))
		return error_set(err, ERR_INVALID, "its name has '..' in it");
	if (part.len == 0 || view_is(part, "."))
		return error_set(err, ERR_INVALID, "its name is not a plain relative path");
	if (part.len > PATH_NAME_MAX)
		return error_set(err, ERR_LIMIT, "a part of its name has %zu bytes (at most %d)",
		                 part.len, PATH_NAME_MAX);
	return 0;
}

int unpack_name(const char *text, struct unpack_name *ret, struct error *err)
{
	*ret = (struct unpack_name){ .text = text };
	for (const char *at = text;; at++) {
		struct view part = { at, strcspn(at, "/") };

		if (check_component(part, err) < 0)
			return -1;
		ret->last = (size_t)(at - text);
		at += part.len;
		if (*at == '\0')
			return 0;
		ret->depth++;
	}
}

bool unpack_link_stays(const char *to, size_t depth)
{
	bool down = false;
	size_t up = 0;

	if (to[0] == '\0' || to[0] == '/')
		return false;
	for (const char *at = to; *at != '\0'; at += strspn(at, "/")) {
		struct view part = { at, strcspn(at, "/") };

		at += part.len;
		if (view_is(part, "."))
			continue;
		/* Behind a component that is itself a link, '..' is the parent of the link's
		 * target, which cannot be known from the text: refuse '..' after any name. */
		if (!view_is(part, ".."))
			down = true;
		else if (down || ++up > depth)
			return false;
	}
	return true;
}

int unpack_quota_take(struct unpack_quota *quota, struct error *err)
{
	if (quota->left == 0)
		return error_set(err, ERR_LIMIT,
		                 "more than %" PRIu32
		                 " entries, counting the directories on the way to them",
		                 quota->max);
	quota->left--;
	return 0;
}

/* --- directories ------------------------------------------------------------------- */

/* The kernel itself refuses every symbolic link and every way above `dir` while it resolves, so
 * there is no moment between a check and its use in which the tree could be changed. */
enum { NO_LINKS = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS };

static int open_directory(int dir, const char *path)
{
	return open_resolved(dir, path, O_PATH | O_DIRECTORY, 0, NO_LINKS);
}

/* Explains why `part` of `dir` could not be entered; errno is of that attempt. */
static int fail_to_enter(int dir, const char *part, struct view path, struct error *err)
{
	bool is_blocked = errno == ELOOP || errno == ENOTDIR;
	char shown[PATH_SHOW_SIZE];
	struct stat st;

	if (!is_blocked)
		return path_error(path, err);
	if (fstatat(dir, part, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return path_error(path, err);
	return error_set(err, ERR_INVALID, "'%s' on the way is %s", path_show(path, shown),
	                 S_ISLNK(st.st_mode) ? "a symbolic link" : "not a directory");
}

/* Opens the directory `part` of `dir`, creating it if it is missing. `path` names it in errors. */
static int enter_or_create(int dir, const char *part, struct view path, struct unpack_quota *quota,
                           struct error *err)
{
	int fd = open_directory(dir, part);
	char shown[PATH_SHOW_SIZE];

	if (fd < 0 && errno == ENOENT) {
		if (unpack_quota_take(quota, err) < 0)
			return -1;
		/* EEXIST: a directory or a link appeared meanwhile. The next open accepts the
		 * directory and refuses the link. */
		if (mkdirat(dir, part, 0777) < 0 && errno != EEXIST)
			return error_sys(err, "create '%s'", path_show(path, shown));
		fd = open_directory(dir, part);
	}
	return fd >= 0 ? fd : fail_to_enter(dir, part, path, err);
}

/* Goes down component by component: to create what is missing, or to name what is wrong. */
static int walk_down(int target, const struct unpack_name *name, struct unpack_quota *quota,
                     struct error *err)
{
	AUTO_FD int dir = open_directory(target, ".");
	const char *at = name->text;

	if (dir < 0)
		return error_sys(err, "open the target");
	for (size_t i = 0; i < name->depth; i++) {
		size_t len = strcspn(at, "/");
		struct view path = { name->text, (size_t)(at - name->text) + len };
		char part[PATH_NAME_MAX + 1];
		int below;

		memcpy(part, at, len);
		part[len] = '\0';
		below = enter_or_create(dir, part, path, quota, err);
		if (below < 0)
			return -1;
		(void)close(dir);
		dir = below;
		at += len + 1;
	}
	return TAKE_FD(dir);
}

int unpack_find_parent(int target, const struct unpack_name *name)
{
	char above[TAR_NAME_MAX + 1] = ".";

	if (name->depth != 0) {
		memcpy(above, name->text, name->last - 1);
		above[name->last - 1] = '\0';
	}
	return open_directory(target, above);
}

int unpack_open_parent(int target, const struct unpack_name *name, struct unpack_quota *quota,
                       struct error *err)
{
	int fd = unpack_find_parent(target, name); /* mostly the directory exists */

	return fd >= 0 ? fd : walk_down(target, name, quota, err);
}
