#include "agent/files/archive/unpack_place.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>

#include "agent/files/path.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/tree/open_child.h"

/* Cuts the next part off *rest; slashes do not count. False when there is none. */
static bool next_part(const char **rest, struct view *ret)
{
	const char *start = *rest + strspn(*rest, "/");

	*ret = (struct view){ start, strcspn(start, "/") };
	*rest = start + ret->len;
	return ret->len != 0;
}

static int add_part(struct unpack_name *name, struct view part, struct error *err)
{
	if (part.len > PATH_NAME_MAX)
		return error_set(err, ERR_LIMIT, "a part of its name has %zu bytes (at most %d)",
		                 part.len, PATH_NAME_MAX);
	if (part.len + 1 > sizeof name->text - name->len - 1)
		return error_set(err, ERR_LIMIT, "its name is longer than %d bytes", TAR_NAME_MAX);
	if (name->len != 0) {
		name->text[name->len++] = '/';
		name->depth++;
	}
	name->last = name->len;
	memcpy(name->text + name->len, part.ptr, part.len);
	name->len += part.len;
	return 0;
}

int unpack_name(const char *given, struct unpack_name *ret, struct error *err)
{
	struct view part;

	ret->depth = ret->last = ret->len = 0;
	if (given[0] == '\0')
		return error_set(err, ERR_INVALID, "its name is empty");
	while (next_part(&given, &part)) {
		if (view_is(part, "."))
			continue;
		if (view_is(part, ".."))
			return error_set(err, ERR_INVALID, "its name has '..' in it");
		if (add_part(ret, part, err) < 0)
			return -1;
	}
	ret->text[ret->len] = '\0';
	return 0;
}

bool unpack_link_stays(const char *to, size_t depth)
{
	bool down = false;
	struct view part;
	size_t up = 0;

	if (to[0] == '\0' || to[0] == '/')
		return false;
	while (next_part(&to, &part)) {
		if (view_is(part, "."))
			continue;
		if (!view_is(part, ".."))
			down = true;
		else if (down || ++up > depth)
			return false;
	}
	return true;
}

/* --- directories ------------------------------------------------------------------- */

enum { NO_LINKS = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS };

static int blocked(int dir, const char *part, struct view path, struct error *err)
{
	char shown[PATH_SHOW_SIZE];
	struct stat st;

	(void)path_show(path, shown);
	if (fstatat(dir, part, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return error_sys(err, "%s", shown);
	if (S_ISLNK(st.st_mode))
		return error_set(err, ERR_INVALID, "'%s' on the way is a symbolic link", shown);
	return error_set(err, ERR_INVALID, "'%s' on the way is not a directory", shown);
}

int unpack_take(struct unpack_room *room, struct error *err)
{
	if (room->left == 0)
		return error_set(err, ERR_LIMIT,
		                 "more than %" PRIu32
		                 " entries, counting the directories on the way to them",
		                 room->max);
	room->left--;
	return 0;
}

/* `path` is what was walked so far, `part` its last name, which is in `dir`. */
static int enter(int dir, const char *part, struct view path, struct unpack_room *room,
                 struct error *err)
{
	int fd = open_resolved(dir, part, O_PATH | O_DIRECTORY, 0, NO_LINKS);
	char shown[PATH_SHOW_SIZE];

	if (fd < 0 && errno == ENOENT && room != NULL) {
		if (unpack_take(room, err) < 0)
			return -1;
		if (mkdirat(dir, part, 0777) < 0 && errno != EEXIST)
			return error_sys(err, "make '%s'", path_show(path, shown));
		fd = open_resolved(dir, part, O_PATH | O_DIRECTORY, 0, NO_LINKS);
	}
	if (fd >= 0)
		return fd;
	if (errno == ELOOP || errno == ENOTDIR)
		return blocked(dir, part, path, err);
	return error_sys(err, "%s", path_show(path, shown));
}

/* One name after the other: to make what is missing, or to say which one is wrong. */
static int walk_down(int target, const struct unpack_name *name, struct unpack_room *room,
                     struct error *err)
{
	AUTO_FD int dir = open_resolved(target, ".", O_PATH | O_DIRECTORY, 0, NO_LINKS);
	const char *rest = name->text;
	struct view part;

	if (dir < 0)
		return error_sys(err, "open the target");
	for (size_t i = 0; i < name->depth && next_part(&rest, &part); i++) {
		char text[PATH_NAME_MAX + 1];
		struct view path = { name->text, (size_t)(rest - name->text) };
		int below;

		memcpy(text, part.ptr, part.len);
		text[part.len] = '\0';
		below = enter(dir, text, path, room, err);
		if (below < 0)
			return -1;
		(void)close(dir);
		dir = below;
	}
	return TAKE_FD(dir);
}

int unpack_parent(int target, const struct unpack_name *name, struct unpack_room *room,
                  struct error *err)
{
	char above[TAR_NAME_MAX + 1] = ".";
	int fd;

	if (name->depth != 0) {
		memcpy(above, name->text, name->last - 1);
		above[name->last - 1] = '\0';
	}
	fd = open_resolved(target, above, O_PATH | O_DIRECTORY, 0, NO_LINKS);
	return fd >= 0 ? fd : walk_down(target, name, room, err);
}
