/* op_read.c - a range of a file: bytes or lines (READ). Bytes are counted as they are read; the
 * size that fstat(2) reports is not used: /proc reports 0, sparse files report terabytes, others
 * grow. */
#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/files/ops.h"
#include "agent/files/path.h"
#include "base/cleanup.h"
#include "base/error.h"

struct reading {
	struct job *job;
	const struct wire_read *request;
	struct wire_done *done;
	int fd;
	bool in_line; /* the last line sent has no line feed yet */
	char chunk[JOB_PACKET_MAX];
};

static uint64_t min_count(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Reads up to `max` bytes; 0 at the end of the file. */
static ssize_t read_chunk(struct reading *reading, size_t max, struct error *err)
{
	ssize_t n;

	assert(max <= sizeof reading->chunk);
	while ((n = read(reading->fd, reading->chunk, max)) < 0)
		if (errno != EINTR)
			return path_error(reading->request->path, err);
	return n;
}

/* Sets WIRE_DONE_MORE if the file goes on behind the bytes that were read. */
static int check_more(struct reading *reading, struct error *err)
{
	ssize_t n = read_chunk(reading, 1, err);

	if (n < 0)
		return -1;
	if (n != 0)
		reading->done->flags |= WIRE_DONE_MORE;
	return 0;
}

static int send_bytes(struct reading *reading, struct view bytes, struct error *err)
{
	if (job_send(reading->job, bytes, err) < 0)
		return -1;
	reading->done->bytes += bytes.len;
	return 0;
}

static int read_bytes(struct reading *reading, struct error *err)
{
	const struct wire_read *request = reading->request;
	uint64_t left = min_count(request->count, request->max);
	ssize_t n;

	/* An offset beyond INT64_MAX cannot be sought; no file has bytes there. */
	if (request->from > INT64_MAX)
		return 0;
	if (lseek(reading->fd, (off_t)request->from, SEEK_SET) < 0)
		return errno == EINVAL ? 0 : path_error(request->path, err);
	for (; left != 0; left -= (uint64_t)n) {
		n = read_chunk(reading, (size_t)min_count(left, JOB_PACKET_MAX), err);
		if (n <= 0)
			return (int)n;
		if (send_bytes(reading, (struct view){ reading->chunk, (size_t)n }, err) < 0)
			return -1;
	}
	return request->max < request->count ? check_more(reading, err) : 0;
}

/* Takes at most *left lines off *rest; the last one may be incomplete. */
static struct view take_lines(struct view *rest, uint64_t *left)
{
	struct view taken = { rest->ptr, 0 };

	while (*left != 0 && rest->len != 0) {
		const char *end = memchr(rest->ptr, '\n', rest->len);
		size_t len = end == NULL ? rest->len : (size_t)(end - rest->ptr) + 1;

		if (end != NULL)
			(*left)--;
		rest->ptr += len;
		rest->len -= len;
		taken.len += len;
	}
	return taken;
}

/* A line counts when its first byte is sent. */
static int send_lines(struct reading *reading, struct view lines, struct error *err)
{
	struct view rest = lines;

	while (rest.len != 0) {
		uint64_t one = 1;

		if (!reading->in_line)
			reading->done->count++;
		(void)take_lines(&rest, &one);
		reading->in_line = one != 0;
	}
	return send_bytes(reading, lines, err);
}

static int read_lines(struct reading *reading, struct error *err)
{
	const struct wire_read *request = reading->request;
	uint64_t skip = request->from - 1, left = request->count;
	struct view rest = { 0 };

	while (skip != 0 || left != 0) {
		struct view lines;
		ssize_t n = read_chunk(reading, JOB_PACKET_MAX, err);
		uint64_t room;

		if (n <= 0)
			return (int)n;
		rest = (struct view){ reading->chunk, (size_t)n };
		(void)take_lines(&rest, &skip);
		lines = take_lines(&rest, &left);
		room = request->max - reading->done->bytes;
		if (lines.len > room) {
			reading->done->flags |= WIRE_DONE_MORE;
			return send_lines(reading, (struct view){ lines.ptr, (size_t)room }, err);
		}
		if (send_lines(reading, lines, err) < 0)
			return -1;
	}
	if (rest.len == 0)
		return check_more(reading, err);
	reading->done->flags |= WIRE_DONE_MORE;
	return 0;
}

int op_read(struct job *job, const struct wire_read *request, struct wire_done *done,
            struct error *err)
{
	AUTO_FD int fd = -1;
	struct reading reading = { .job = job, .request = request, .done = done };
	struct stat st;

	if (request->unit == WIRE_UNIT_LINES && request->from == 0)
		return error_set(err, ERR_INVALID, "line 0: lines are counted from 1");
	fd = path_open_file(job, request->path, err);
	if (fd < 0)
		return -1;
	if (fstat(fd, &st) < 0)
		return path_error(request->path, err);
	*done = (struct wire_done){ .total = (uint64_t)st.st_size };
	reading.fd = fd;
	return request->unit == WIRE_UNIT_LINES ? read_lines(&reading, err)
	                                        : read_bytes(&reading, err);
}
