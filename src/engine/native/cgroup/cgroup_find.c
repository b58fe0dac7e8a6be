#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "engine/native/cgroup/internal.h"

const char *const cgroup_v1_words[V1_COUNT] = {
	[V1_MEMORY] = "memory",   [V1_PIDS] = "pids",       [V1_CPU] = "cpu",
	[V1_CPUACCT] = "cpuacct", [V1_FREEZER] = "freezer",
};

bool cgroup_go_up(char below[CGROUP_PATH_SIZE])
{
	char *slash = strrchr(below, '/');

	if (below[0] == '\0')
		return false;
	*(slash != NULL ? slash : below) = '\0';
	return true;
}

/* --- lines of a file, without allocating ------------------------------------------- */

/* Mount options make lines of some thousand bytes. Longer ones are skipped: no mount of a cgroup
 * looks like that. */
struct lines {
	int fd;
	size_t start, len;
	bool skipping, ended;
	char bytes[16 * 1024];
};

static void refill(struct lines *l)
{
	ssize_t n;

	memmove(l->bytes, l->bytes + l->start, l->len);
	l->start = 0;
	do
		n = read(l->fd, l->bytes + l->len, sizeof l->bytes - l->len);
	while (n < 0 && errno == EINTR);
	if (n > 0)
		l->len += (size_t)n;
	else
		l->ended = true;
}

static bool next_line(struct lines *l, struct view *ret)
{
	for (;;) {
		const char *from = l->bytes + l->start;
		const char *end = memchr(from, '\n', l->len);
		bool whole = !l->skipping;

		if (end != NULL) {
			*ret = (struct view){ from, (size_t)(end - from) };
			l->start += ret->len + 1;
			l->len -= ret->len + 1;
			l->skipping = false;
			if (whole)
				return true;
			continue;
		}
		if (l->ended)
			return false;
		if (l->len == sizeof l->bytes) {
			l->skipping = true;
			l->len = 0;
		}
		refill(l);
	}
}

static struct view cut(struct view *rest, char mark)
{
	const char *end = rest->len != 0 ? memchr(rest->ptr, mark, rest->len) : NULL;
	struct view field = { rest->ptr, end != NULL ? (size_t)(end - rest->ptr) : rest->len };
	size_t used = field.len + (end != NULL);

	rest->ptr += used;
	rest->len -= used;
	return field;
}

bool cgroup_has_word(struct view text, char mark, const char *word)
{
	while (text.len != 0)
		if (view_is(view_trim(cut(&text, mark)), word))
			return true;
	return false;
}

/* --- our own groups ---------------------------------------------------------------- */

struct own {
	char unified[CGROUP_PATH_SIZE], v1[V1_COUNT][CGROUP_PATH_SIZE];
};

static bool keep(struct view text, char out[CGROUP_PATH_SIZE])
{
	if (text.len >= CGROUP_PATH_SIZE)
		return false;
	memcpy(out, text.ptr, text.len);
	out[text.len] = '\0';
	return true;
}

/* "4:cpu,cpuacct:/path", and "0::/path" for version 2. */
static void read_own(const char *path, struct own *ret)
{
	AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct lines lines = { .fd = fd };
	struct view line;

	memset(ret, 0, sizeof *ret);
	while (fd >= 0 && next_line(&lines, &line)) {
		struct view number = cut(&line, ':'), words = cut(&line, ':');

		if (view_is(number, "0") && words.len == 0)
			(void)keep(line, ret->unified);
		for (size_t i = 0; i < V1_COUNT; i++)
			if (cgroup_has_word(words, ',', cgroup_v1_words[i]))
				(void)keep(line, ret->v1[i]);
	}
}

/* --- where they are mounted -------------------------------------------------------- */

/* The kernel writes blanks and backslashes as \ooo. */
static bool unescape(struct view text, char out[CGROUP_PATH_SIZE])
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

static bool has_dots(const char *path)
{
	size_t len = strlen(path);

	return strstr(path, "/../") != NULL || (len >= 3 && strcmp(path + len - 3, "/..") == 0);
}

/* What is mounted may be a part of the tree, and our group may be outside of it or outside of
 * our namespace: then it is not seen from here. */
static bool find_below(const char *own, const char *root, char ret[CGROUP_PATH_SIZE])
{
	size_t len = strcmp(root, "/") == 0 ? 0 : strlen(root);

	ret[0] = '\0';
	if (own[0] != '/' || has_dots(own) || has_dots(root) || strncmp(own, root, len) != 0 ||
	    (own[len] != '/' && own[len] != '\0'))
		return false;
	return keep(view_of(own + len + (own[len] == '/')), ret);
}

struct mount {
	char root[CGROUP_PATH_SIZE], top[CGROUP_PATH_SIZE];
	bool writable;
	struct view type, words;
};

static bool read_mount(struct view line, struct mount *ret)
{
	struct view root, top, options;

	for (int i = 0; i < 3; i++) /* two numbers and a device */
		(void)cut(&line, ' ');
	root = cut(&line, ' ');
	top = cut(&line, ' ');
	options = cut(&line, ' ');
	while (line.len != 0 && !view_is(cut(&line, ' '), "-"))
		continue;
	ret->type = cut(&line, ' ');
	(void)cut(&line, ' ');
	ret->words = cut(&line, ' ');
	ret->writable = !cgroup_has_word(options, ',', "ro") &&
	                !cgroup_has_word(ret->words, ',', "ro");
	return (view_is(ret->type, "cgroup2") || view_is(ret->type, "cgroup")) &&
	       unescape(root, ret->root) && unescape(top, ret->top);
}

/* Of several mounts of a tree: one that can be written, then one that shows our own group, then
 * the first; but what is mounted over it hides it. */
static void offer(struct cgroup_place *place, const struct mount *mount, const char *own)
{
	char below[CGROUP_PATH_SIZE];
	bool seen = find_below(own, mount->root, below);
	int score = 1 + 2 * mount->writable + seen;

	if (score < place->score || (score == place->score && strcmp(place->top, mount->top) != 0))
		return;
	place->score = score;
	(void)keep(view_of(mount->top), place->top);
	(void)keep(view_of(below), place->below);
}

void cgroup_find(const char *mountinfo, const char *own_path, struct cgroup_places *ret)
{
	AUTO_FD int fd = open(mountinfo, O_RDONLY | O_CLOEXEC);
	struct lines lines = { .fd = fd };
	struct own own;
	struct mount mount;
	struct view line;

	memset(ret, 0, sizeof *ret);
	read_own(own_path, &own);
	while (fd >= 0 && next_line(&lines, &line)) {
		if (!read_mount(line, &mount))
			continue;
		if (view_is(mount.type, "cgroup2"))
			offer(&ret->unified, &mount, own.unified);
		else
			for (size_t i = 0; i < V1_COUNT; i++)
				if (cgroup_has_word(mount.words, ',', cgroup_v1_words[i]))
					offer(&ret->v1[i], &mount, own.v1[i]);
	}
}
