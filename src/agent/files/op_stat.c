/* op_stat.c - looking at one file (STAT) and at one directory (LIST). */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "agent/files/entry.h"
#include "agent/files/names.h"
#include "agent/files/ops.h"
#include "agent/files/path.h"
#include "base/cleanup.h"
#include "base/error.h"

/* In one answer; what does not fit is for the next. */
enum { NAMES_BYTES = 16 * 1024 * 1024 };

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
	if (entry_send(job, request->path, &st, fd, "", err) < 0)
		return -1;
	*done = (struct wire_done){ .count = 1 };
	return job_flush(job, err);
}

/* 1: given; 0: gone meanwhile. What may be named but not looked at is given without a type. */
static int send_name(struct job *job, int dir, const char *name, struct error *err)
{
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
		if (errno == ENOENT)
			return 0;
		st = (struct stat){ 0 };
	}
	return entry_send(job, view_of(name), &st, dir, name, err) < 0 ? -1 : 1;
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

/* The answer outlives the names; a worker answers once. */
static struct view keep_cursor(const char *name)
{
	static char kept[PATH_NAME_MAX + 1];
	size_t len = strlen(name);

	memcpy(kept, name, len + 1);
	return (struct view){ kept, len };
}

/* The cursor is the last name looked at, given or not, so that asking on always gets on. */
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
		answer.cursor = keep_cursor(names.items[names.count - 1]);
	}
	names_done(&names);
	if (failed == 0)
		*done = answer;
	return failed;
}
