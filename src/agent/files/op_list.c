/* op_list.c - operations that report files as records: one file (STAT), one directory (LIST), all
 * entries below a directory (TREE), those whose names match a pattern (FIND).
 *
 * walk.h says which directories TREE and FIND enter. MORE means that at least one more entry was
 * there when the limit was reached, or that a path was too long; of TREE also that the allowed
 * depth cut something off. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/files/names.h"
#include "agent/files/ops.h"
#include "agent/files/path.h"
#include "agent/files/walk.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/text/glob.h"

static uint8_t type_of(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG:
		return WIRE_FILE_REGULAR;
	case S_IFDIR:
		return WIRE_FILE_DIRECTORY;
	case S_IFLNK:
		return WIRE_FILE_LINK;
	default:
		return WIRE_FILE_OTHER;
	}
}

/* utimensat(2) sets any second of 64 bits on some file systems. */
static uint64_t milliseconds_of(const struct timespec *time)
{
	if (time->tv_sec < 0)
		return 0;
	if (time->tv_sec >= INT64_MAX / 1000)
		return INT64_MAX;
	return (uint64_t)time->tv_sec * 1000 + (uint64_t)time->tv_nsec / 1000000;
}

struct wire_entry entry_of(const struct stat *st)
{
	return (struct wire_entry){
		.type = type_of(st->st_mode),
		.perm = (uint16_t)(st->st_mode & 07777),
		.uid = st->st_uid,
		.gid = st->st_gid,
		.size = st->st_size > 0 ? (uint64_t)st->st_size : 0,
		.modified_ms = milliseconds_of(&st->st_mtim),
		.path = { "", 0 },
		.target = { "", 0 },
	};
}

static int send_entry(struct job *job, struct view path, const struct stat *st, int dir,
                      const char *name, struct error *err)
{
	struct wire_entry entry = entry_of(st);
	char target[WIRE_PATH_MAX];

	entry.path = path;
	if (entry.type == WIRE_FILE_LINK) {
		ssize_t len = readlinkat(dir, name, target, sizeof target);

		if (len > 0)
			entry.target = (struct view){ target, (size_t)len };
	}
	return job_record(job, WIRE_ENTRIES, &wire_entry_record, &entry, err);
}

enum { NAMES_BYTES = 16 * 1024 * 1024 }; /* of one LIST; the rest is left for the next one */

int op_stat(struct job *job, const struct wire_stat *request, struct wire_done *done,
            struct error *err)
{
	int follow = (request->flags & WIRE_NOFOLLOW) != 0 ? O_NOFOLLOW : 0;
	AUTO_FD int fd = path_open(job, request->path, O_PATH | follow, 0, err);
	struct stat st;

	if (fd < 0)
		return -1;
	if (fstat(fd, &st) < 0)
		return path_error(request->path, err);
	if (send_entry(job, request->path, &st, fd, "", err) < 0)
		return -1;
	*done = (struct wire_done){ .count = 1 };
	return job_flush(job, err);
}

/* 1: sent; 0: removed meanwhile. A name that lstat(2) may not examine is sent without a type. */
static int send_name(struct job *job, int dir, const char *name, struct error *err)
{
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
		if (errno == ENOENT)
			return 0;
		st = (struct stat){ 0 };
	}
	return send_entry(job, view_of(name), &st, dir, name, err) < 0 ? -1 : 1;
}

static int send_names(struct job *job, int dir, const struct names *names, struct wire_done *done,
                      struct error *err)
{
	for (size_t i = 0; i < names->count; i++) {
		int sent = send_name(job, dir, names->items[i], err);

		if (sent < 0)
			return -1;
		done->count += (uint64_t)sent;
	}
	return job_flush(job, err);
}

/* Copies the name to static memory, because the reply outlives the names; a worker process replies
 * once. */
static struct view store_cursor(const char *name)
{
	static char kept[PATH_NAME_MAX + 1];
	size_t len = strlen(name);

	memcpy(kept, name, len + 1);
	return (struct view){ kept, len };
}

/* The cursor is the last name that was read, sent or not, so that every further LIST makes
 * progress. */
int op_list(struct job *job, const struct wire_list *request, struct wire_done *done,
            struct error *err)
{
	AUTO_FD int dir = path_open_directory(job, request->path, err);
	struct names_rule rule = { .after = request->cursor.len != 0 ? request->cursor.ptr : "",
		                   .limit = request->limit,
		                   .bytes = NAMES_BYTES,
		                   .hidden = true };
	struct wire_done answer = { 0 };
	struct names names = { 0 };
	char shown[PATH_SHOW_SIZE];
	int failed;

	if (dir < 0)
		return -1;
	if (names_read(&names, dir, &rule, err) < 0)
		return error_wrap(err, "%s", path_show(request->path, shown));
	failed = send_names(job, dir, &names, &answer, err);
	if (failed == 0 && names.more) {
		answer.flags = WIRE_DONE_MORE;
		answer.cursor = store_cursor(names.items[names.count - 1]);
	}
	names_done(&names);
	if (failed == 0)
		*done = answer;
	return failed;
}

static int start_walk(const struct job *job, struct view path, unsigned depth, bool hidden,
                      struct walk *walk, struct error *err)
{
	int dir = path_open_directory(job, path, err);

	if (dir < 0)
		return -1;
	walk_init(walk, dir, depth, hidden);
	return 0;
}

/* Sends the entries whose path matches one of the patterns, or all if there are none, up to the
 * limit. */
static int send_entries(struct job *job, struct walk *walk, struct view patterns, unsigned flags,
                        uint32_t limit, struct wire_done *done, struct error *err)
{
	struct glob glob = { 0 };
	struct walk_entry entry;
	int got;

	while ((got = walk_next(walk, &entry, err)) > 0) {
		if (patterns.len != 0 && !glob_match_lines(&glob, patterns, flags, entry.path))
			continue;
		if (done->count == limit) {
			done->flags |= WIRE_DONE_MORE;
			return 0;
		}
		if (send_entry(job, entry.path, &entry.st, entry.dir, entry.name, err) < 0)
			return -1;
		done->count++;
	}
	return got;
}

static int finish_reply(struct job *job, bool cut, struct wire_done *answer, struct wire_done *done,
                        struct error *err)
{
	if (job_flush(job, err) < 0)
		return -1;
	if (cut)
		answer->flags |= WIRE_DONE_MORE;
	*done = *answer;
	return 0;
}

/* EPIPE means that the request was closed: the path has no part in that and is not named. */
static int fail_walk(struct view path, struct error *err)
{
	char shown[PATH_SHOW_SIZE];

	return err->errnum == EPIPE ? -1 : error_wrap(err, "%s", path_show(path, shown));
}

int op_tree(struct job *job, const struct wire_tree *request, struct wire_done *done,
            struct error *err)
{
	AUTO_WALK struct walk walk = { 0 };
	struct wire_done answer = { 0 };

	if (start_walk(job, request->path, request->depth, (request->flags & WIRE_WALK_HIDDEN) != 0,
	               &walk, err) < 0)
		return -1;
	walk.batch = (size_t)request->limit + 1;
	if (send_entries(job, &walk, (struct view){ 0 }, 0, request->limit, &answer, err) < 0)
		return fail_walk(request->path, err);
	return finish_reply(job, walk.is_deeper || walk.skipped_long_paths, &answer, done, err);
}

int op_find(struct job *job, const struct wire_find *request, struct wire_done *done,
            struct error *err)
{
	AUTO_WALK struct walk walk = { 0 };
	const unsigned flags = (request->flags & WIRE_WALK_IGNORE_CASE) != 0 ? GLOB_IGNORE_CASE : 0;
	struct wire_done answer = { 0 };

	if (start_walk(job, request->path, request->depth, (request->flags & WIRE_WALK_HIDDEN) != 0,
	               &walk, err) < 0)
		return -1;
	if (send_entries(job, &walk, request->pattern, flags, request->limit, &answer, err) < 0)
		return fail_walk(request->path, err);
	return finish_reply(job, walk.skipped_long_paths, &answer, done, err);
}
