/* skeleton_name.c - the name of the skeleton for the host's files as they are now.
 *
 * The name is a hash of the entries of a walk over the host's files. A walk opens and reads some
 * eighty directories, so the file "list" beside the skeletons has the paths on which the last walk
 * depended and the name that it led to: while stat(2) of these paths is the same, the name is. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/hash.h"
#include "engine/native/root/internal.h"

enum {
	FORMAT = 8, /* part of the name: increase it when the content of a skeleton changes */
	LIST_MAX = 1 << 20,
	HEAD_MAX = 80,
};

#define LIST "list"

/* --- hashes -------------------------------------------------------------------------- */

/* The sum of the hashes does not depend on the order in which readdir(3) returns entries. A
 * collision only makes a sandbox use an older copy of the host's /etc, so the hash need not be
 * cryptographic. */
static void add_hash(uint64_t *sum, uint64_t hash)
{
	*sum += hash ^ hash >> 29;
}

static void add_text_hash(uint64_t *sum, const char *name, const char *text)
{
	add_hash(sum, hash_text(hash_text(HASH_START, name), text));
}

/* The change time differs after every change, also after one that restored the modification
 * time. */
static void add_stat_hash(uint64_t *sum, const char *path, const struct stat *st)
{
	const uint64_t numbers[] = {
		st->st_mode, (uint64_t)st->st_size,        st->st_ino,
		st->st_dev,  (uint64_t)st->st_ctim.tv_sec, (uint64_t)st->st_ctim.tv_nsec
	};
	uint64_t hash = hash_text(HASH_START, path);

	for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
		for (uint64_t number = numbers[i]; number != 0; number >>= 8)
			hash = (hash ^ (number & 0xff)) * HASH_PRIME;
		hash *= HASH_PRIME;
	}
	add_hash(sum, hash);
}

/* Facts besides the entries of the walk on which a skeleton depends. The boot id is one: after a
 * power cut the files of an older skeleton may be empty, and an fsync(2) per file would take longer
 * than making a new skeleton after each boot. */
static uint64_t hash_surroundings(int host, uid_t owner, gid_t group)
{
	char text[SKELETON_SYSFS_SIZE];
	uint64_t sum = 0;
	struct stat st;

	(void)snprintf(text, sizeof text, "%d %u:%u", FORMAT, owner, group);
	add_text_hash(&sum, "for", text);
	for (size_t i = 0; skeleton_program_dirs[i] != NULL; i++)
		if (fstatat(host, skeleton_program_dirs[i], &st, AT_SYMLINK_NOFOLLOW) == 0)
			add_stat_hash(&sum, skeleton_program_dirs[i], &st);
	for (size_t i = 0; skeleton_sysfs_files[i] != NULL; i++) {
		skeleton_read_host(host, skeleton_sysfs_files[i], text);
		add_text_hash(&sum, skeleton_sysfs_files[i], text);
	}
	skeleton_read_host(host, "proc/sys/kernel/random/boot_id", text);
	add_text_hash(&sum, "boot", text);
	add_text_hash(&sum, "bash", faccessat(host, "bin/bash", X_OK, 0) == 0 ? "yes" : "no");
	return sum;
}

/* --- the list ------------------------------------------------------------------------ */

/* The first line has the hash of stat(2) of all paths, and the name. */
static void make_head(char out[HEAD_MAX], uint64_t seen, const char *name)
{
	(void)snprintf(out, HEAD_MAX, "%016llx %s\n", (unsigned long long)seen, name);
}

static int read_list(int parent, struct buf *list)
{
	AUTO_FD int fd = openat(parent, LIST, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	static char chunk[32 * 1024];
	ssize_t n;

	if (fd < 0)
		return -1;
	while ((n = read(fd, chunk, sizeof chunk)) > 0)
		if (!buf_put(list, (struct view){ chunk, (size_t)n }))
			return -1;
	return n < 0 || list->len == 0 ? -1 : 0;
}

/* False: there is no list, or one of its paths has changed. Links are followed because the list has
 * links only where the walk followed them: directories above a row. */
static bool find_in_list(int host, int parent, uint64_t surroundings, char name[SKELETON_NAME_SIZE])
{
	AUTO_BUF struct buf list;
	uint64_t seen = surroundings;
	char head[HEAD_MAX];
	struct stat st;
	char *line, *end;

	buf_init(&list, LIST_MAX);
	if (read_list(parent, &list) < 0 || (line = strchr(list.ptr, '\n')) == NULL)
		return false;
	*line = '\0';
	for (line++; (end = strchr(line, '\n')) != NULL; line = end + 1) {
		*end = '\0';
		if (fstatat(host, line, &st, 0) < 0)
			return false;
		add_stat_hash(&seen, line, &st);
	}
	end = strchr(list.ptr, ' ');
	if (end == NULL || strlen(end + 1) >= SKELETON_NAME_SIZE || !skeleton_is_name(end + 1))
		return false;
	make_head(head, seen, end + 1);
	if (strncmp(head, list.ptr, strlen(head) - 1) != 0)
		return false;
	(void)snprintf(name, SKELETON_NAME_SIZE, "%s", end + 1);
	return true;
}

/* A failure is ignored: the next start walks again. Another server may read the file meanwhile: the
 * hash in its first line does not fit to a part of the paths. */
static void write_list(int parent, struct view list)
{
	AUTO_FD int fd = openat(parent, LIST,
	                        O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
	                        0600);
	struct error ignored;

	if (fd >= 0)
		(void)!fd_write_all(fd, list, &ignored);
}

/* --- the walk ------------------------------------------------------------------------ */

struct walked {
	uint64_t entries, seen;
	struct buf list; /* of paths; each begins and ends with a line feed */
	bool is_incomplete;
};

static int add_entry(void *ctx, const char *path, int at, const char *name, const struct stat *st,
                     struct error *err)
{
	struct walked *walked = ctx;

	(void)at;
	(void)name;
	(void)err;
	add_stat_hash(&walked->entries, path, st);
	return 0;
}

/* Directories above several rows are seen several times. */
static void add_seen(void *ctx, const char *path, const struct stat *st)
{
	struct walked *walked = ctx;
	size_t before = walked->list.len;
	char *added;

	if (strchr(path, '\n') != NULL || !buf_putf(&walked->list, "\n%s\n", path)) {
		walked->is_incomplete = true;
		return;
	}
	added = walked->list.ptr + before;
	if (strstr(walked->list.ptr, added) != added)
		buf_truncate(&walked->list, before);
	else
		add_stat_hash(&walked->seen, path, st);
}

/* Puts the first line before the paths, and removes the empty lines between them. */
static int complete_list(struct buf *list, const char *head, struct error *err)
{
	size_t len = strlen(head), from;

	if (buf_add(list, view_of(head), err) < 0)
		return -1;
	memmove(list->ptr + len, list->ptr, list->len - len);
	memcpy(list->ptr, head, len);
	for (from = len; from < list->len; from++)
		if (list->ptr[from] != '\n' || list->ptr[len - 1] != '\n')
			list->ptr[len++] = list->ptr[from];
	buf_truncate(list, len);
	return 0;
}

static void save_walked(int parent, struct walked *walked, const char *name)
{
	char head[HEAD_MAX];
	struct error ignored;

	make_head(head, walked->seen, name);
	if (!walked->is_incomplete && complete_list(&walked->list, head, &ignored) == 0)
		write_list(parent, buf_view(&walked->list));
}

int skeleton_find_name(int host, int parent, uid_t owner, gid_t group,
                       char name[SKELETON_NAME_SIZE], struct error *err)
{
	uint64_t surroundings = hash_surroundings(host, owner, group);
	struct walked walked = { .entries = surroundings, .seen = surroundings };
	const struct skeleton_visitor visitor = { add_entry, add_seen, &walked };
	int failed;

	if (find_in_list(host, parent, surroundings, name))
		return 0;
	buf_init(&walked.list, LIST_MAX);
	failed = skeleton_walk(host, &visitor, err);
	if (failed == 0) {
		(void)snprintf(name, SKELETON_NAME_SIZE, SKELETON_PREFIX "%016llx",
		               (unsigned long long)walked.entries);
		save_walked(parent, &walked, name);
	}
	buf_done(&walked.list);
	return failed;
}
