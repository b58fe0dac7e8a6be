/* cgroup_find.c - where the hierarchies are mounted, and the cgroups of this process in them. */
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/view.h"
#include "engine/native/cgroup/internal.h"

enum {
	TEXT_MAX = 16 << 20,
	/* An overlay with many layers has a line of some thousand bytes in mountinfo. No mount of
	 * a cgroup file system has one that is longer than this. */
	LINE_LEN_MAX = 16 * 1024,
};

const char *const cgroup_v1_names[V1_COUNT] = {
	[V1_MEMORY] = "memory",   [V1_PIDS] = "pids",       [V1_CPU] = "cpu",
	[V1_CPUACCT] = "cpuacct", [V1_FREEZER] = "freezer",
};

bool cgroup_path_up(char path[CGROUP_PATH_SIZE])
{
	char *slash = strrchr(path, '/');

	if (path[0] == '\0')
		return false;
	*(slash != NULL ? slash : path) = '\0';
	return true;
}

/* The whole lines of a file in /proc; none if it cannot be read. */
static struct view read_lines(const char *path, struct buf *text)
{
	const char *end = NULL;
	struct error ignored;

	buf_init(text, TEXT_MAX);
	if (fd_read_file(path, text, &ignored) == 0 && text->len != 0)
		end = memrchr(text->ptr, '\n', text->len);
	return (struct view){ buf_text(text), end != NULL ? (size_t)(end + 1 - text->ptr) : 0 };
}

/* --- the cgroups of this process --- */

struct own {
	char unified[CGROUP_PATH_SIZE], v1[V1_COUNT][CGROUP_PATH_SIZE];
};

static bool copy_path(struct view text, char out[CGROUP_PATH_SIZE])
{
	if (text.len >= CGROUP_PATH_SIZE)
		return false;
	memcpy(out, text.ptr, text.len);
	out[text.len] = '\0';
	return true;
}

/* Reads /proc/self/cgroup: "4:cpu,cpuacct:/path" for each hierarchy of version 1, "0::/path" for
 * the unified one. */
static void read_own_cgroups(const char *path, struct own *ret)
{
	AUTO_BUF struct buf text;
	struct view rest = read_lines(path, &text), line;

	memset(ret, 0, sizeof *ret);
	while (view_next_line(&rest, &line)) {
		struct view number = view_cut(&line, ':'), words = view_cut(&line, ':');

		if (view_is(number, "0") && words.len == 0)
			(void)copy_path(line, ret->unified);
		for (size_t i = 0; i < V1_COUNT; i++)
			if (view_list_has(words, ',', cgroup_v1_names[i]))
				(void)copy_path(line, ret->v1[i]);
	}
}

/* --- where the hierarchies are mounted --- */

/* The kernel writes blanks, line breaks and backslashes in mountinfo as \ooo. */
static bool unescape_path(struct view text, char out[CGROUP_PATH_SIZE])
{
	size_t used = 0;

	for (size_t i = 0; i < text.len; i++) {
		const char *p = text.ptr + i;
		unsigned char byte = (unsigned char)*p;

		if (*p == '\\' && text.len - i >= 4 && p[1] >= '0' && p[1] <= '3' && p[2] >= '0' &&
		    p[2] <= '7' && p[3] >= '0' && p[3] <= '7') {
			byte = (unsigned char)((p[1] - '0') << 6 | (p[2] - '0') << 3 |
			                       (p[3] - '0'));
			i += 3;
		}
		if (byte == '\0' || used == CGROUP_PATH_SIZE - 1)
			return false;
		out[used++] = (char)byte;
	}
	out[used] = '\0';
	return used != 0 && out[0] == '/';
}

/* True if the path leads above the root of our cgroup namespace, which the kernel shows as
 * "/..". */
static bool has_dots(const char *path)
{
	size_t len = strlen(path);

	return strstr(path, "/../") != NULL || (len >= 3 && strcmp(path + len - 3, "/..") == 0);
}

/* The path of our cgroup from the mount point. In a container only a part of the hierarchy may be
 * mounted, with `root` as its root. False: our cgroup is outside of that part, or outside of our
 * cgroup namespace. */
static bool find_own_path(const char *own, const char *root, char ret[CGROUP_PATH_SIZE])
{
	size_t len = strcmp(root, "/") == 0 ? 0 : strlen(root);

	ret[0] = '\0';
	if (own[0] != '/' || has_dots(own) || has_dots(root) || strncmp(own, root, len) != 0 ||
	    (own[len] != '/' && own[len] != '\0'))
		return false;
	return copy_path(view_of(own + len + (own[len] == '/')), ret);
}

struct mount {
	char root[CGROUP_PATH_SIZE], mount_point[CGROUP_PATH_SIZE];
	bool is_writable;
	struct view type, words;
};

static bool read_mount(struct view line, struct mount *ret)
{
	struct view root, mount_point, options;

	for (int i = 0; i < 3; i++) /* mount id, parent id, device */
		(void)view_cut(&line, ' ');
	root = view_cut(&line, ' ');
	mount_point = view_cut(&line, ' ');
	options = view_cut(&line, ' ');
	while (line.len != 0 && !view_is(view_cut(&line, ' '), "-"))
		continue;
	ret->type = view_cut(&line, ' ');
	(void)view_cut(&line, ' ');
	ret->words = view_cut(&line, ' ');
	ret->is_writable = !view_list_has(options, ',', "ro") &&
	                   !view_list_has(ret->words, ',', "ro");
	return (view_is(ret->type, "cgroup2") || view_is(ret->type, "cgroup")) &&
	       unescape_path(root, ret->root) && unescape_path(mount_point, ret->mount_point);
}

/* Takes the mount if it is better than the one found before: writable counts most, then showing our
 * own cgroup. Of equals the first is kept, unless the later one is mounted on the same directory
 * and so hides the first. */
static void consider_mount(struct cgroup_hierarchy *tree, const struct mount *mount,
                           const char *own)
{
	char own_path[CGROUP_PATH_SIZE];
	bool is_seen = find_own_path(own, mount->root, own_path);
	int score = 1 + 2 * mount->is_writable + is_seen;

	if (score < tree->score ||
	    (score == tree->score && strcmp(tree->mount_point, mount->mount_point) != 0))
		return;
	tree->score = score;
	(void)copy_path(view_of(mount->mount_point), tree->mount_point);
	(void)copy_path(view_of(own_path), tree->own_path);
}

void cgroup_find_hierarchies(const char *mountinfo, const char *own_path,
                             struct cgroup_hierarchies *ret)
{
	AUTO_BUF struct buf text;
	struct view rest = read_lines(mountinfo, &text), line;
	struct own own;
	struct mount mount;

	memset(ret, 0, sizeof *ret);
	read_own_cgroups(own_path, &own);
	while (view_next_line(&rest, &line)) {
		if (line.len > LINE_LEN_MAX || !read_mount(line, &mount))
			continue;
		if (view_is(mount.type, "cgroup2"))
			consider_mount(&ret->unified, &mount, own.unified);
		else
			for (size_t i = 0; i < V1_COUNT; i++)
				if (view_list_has(mount.words, ',', cgroup_v1_names[i]))
					consider_mount(&ret->v1[i], &mount, own.v1[i]);
	}
}
