/* op_edit.c - one text for another in a file, if it is there as often as the client thinks.
 *
 * The file streams through a window into its successor, so its size does not matter to
 * our memory. Whether that becomes the file is decided when the count is known. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/files/new_file.h"
#include "agent/files/ops.h"
#include "agent/files/path.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/tree/open_child.h"

struct editing {
	const struct wire_replace *request;
	struct new_file *file;
	int fd;         /* the old file */
	uint64_t size;  /* read of it */
	uint64_t found; /* so far */
	size_t len;     /* bytes in the window */
	char window[WIRE_EDIT_MAX + JOB_PACKET_MAX];
};

/* More than asked for: only the number is of interest then. */
static bool is_lost(const struct editing *editing)
{
	return editing->request->count != 0 && editing->found > editing->request->count;
}

static int put(struct editing *editing, struct view bytes, struct error *err)
{
	return is_lost(editing) ? 0 : new_file_write(editing->file, bytes, err);
}

/* Passes on everything in the window that is decided: what is left is shorter than the text
 * and may be its beginning; nothing is left at the end of the file. */
static int pass_on(struct editing *editing, bool at_end, struct error *err)
{
	struct view old = editing->request->old;
	struct view rest = { editing->window, editing->len };
	size_t kept = 0;
	const char *hit;

	while (rest.len >= old.len &&
	       (hit = memmem(rest.ptr, rest.len, old.ptr, old.len)) != NULL) {
		size_t before = (size_t)(hit - rest.ptr);

		editing->found++;
		if (put(editing, (struct view){ rest.ptr, before }, err) < 0 ||
		    put(editing, editing->request->new, err) < 0)
			return -1;
		rest.ptr += before + old.len;
		rest.len -= before + old.len;
	}
	if (!at_end)
		kept = rest.len < old.len ? rest.len : old.len - 1;
	if (put(editing, (struct view){ rest.ptr, rest.len - kept }, err) < 0)
		return -1;
	memmove(editing->window, rest.ptr + rest.len - kept, kept);
	editing->len = kept;
	return 0;
}

static int stream_through(struct editing *editing, struct error *err)
{
	const struct wire_replace *request = editing->request;
	char shown[PATH_SHOW_SIZE];

	for (;;) {
		ssize_t n = read(editing->fd, editing->window + editing->len,
		                 sizeof editing->window - editing->len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return path_error(request->path, err);
		if ((uint64_t)n > request->max - editing->size)
			return error_set(err, ERR_LIMIT, "%s: is larger than %" PRIu64 " bytes",
			                 path_show(request->path, shown), request->max);
		editing->size += (uint64_t)n;
		editing->len += (size_t)n;
		if (pass_on(editing, n == 0, err) < 0)
			return -1;
		if (n == 0)
			return 0;
	}
}

static int check_count(const struct editing *editing, struct error *err)
{
	const struct wire_replace *request = editing->request;
	char shown[PATH_SHOW_SIZE];

	if (editing->found == 0)
		return error_set(err, ERR_INVALID,
		                 "%s: the text does not occur: nothing was changed",
		                 path_show(request->path, shown));
	if (request->count != 0 && editing->found != request->count)
		return error_set(err, ERR_INVALID,
		                 "%s: the text occurs %" PRIu64 " time%s, not %" PRIu32
		                 ": nothing was changed",
		                 path_show(request->path, shown), editing->found,
		                 editing->found == 1 ? "" : "s", request->count);
	return 0;
}

int op_replace(struct job *job, const struct wire_replace *request, struct wire_done *done,
               struct error *err)
{
	AUTO_NEW_FILE struct new_file file = NEW_FILE_NONE;
	AUTO_FD int fd = -1;
	struct editing editing = { .request = request, .file = &file };
	struct stat st;

	if (request->old.len == 0 || request->old.len > WIRE_EDIT_MAX)
		return error_set(err, ERR_INVALID, "the text to replace is of %zu bytes: 1 to %d",
		                 request->old.len, WIRE_EDIT_MAX);
	if (new_file_open(&file, job, request->path, NEW_FILE_EDIT, 0, request->max, err) < 0)
		return -1;
	fd = open_resolved(file.place.dir, file.place.name, O_RDONLY | O_NOFOLLOW, 0, 0);
	if (fd < 0 || fstat(fd, &st) < 0)
		return path_error(request->path, err);
	if (!S_ISREG(st.st_mode))
		return path_not_file(request->path, st.st_mode, err);
	editing.fd = fd;
	if (stream_through(&editing, err) < 0 || check_count(&editing, err) < 0 ||
	    new_file_commit(&file, err) < 0)
		return -1;
	*done = (struct wire_done){ .count = editing.found, .total = file.size };
	return 0;
}
