#include "sandbox/process/output_log.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "sandbox/process/process.h"

/* A program that alternates between stdout and stderr with every byte fills the parts before the
 * ring, and its oldest bytes are lost sooner. */
enum { PARTS_MAX = 4096 };

void output_log_init(struct output_log *log, size_t size)
{
	*log = (struct output_log){ .size = size };
}

void output_log_done(struct output_log *log)
{
	free(log->ring);
	free(log->parts);
	log->ring = NULL;
	log->parts = NULL;
	log->is_open = false;
}

void output_log_open(struct output_log *log)
{
	log->is_open = true;
	log->start = log->end;
}

static struct output_part *nth_part(const struct output_log *log, size_t n)
{
	return &log->parts[(log->part_first + n) % PARTS_MAX];
}

static void remove_oldest_part(struct output_log *log)
{
	log->part_first = (log->part_first + 1) % PARTS_MAX;
	log->part_count--;
	log->start = nth_part(log, 0)->at;
}

static void start_part(struct output_log *log, bool is_stderr)
{
	if (log->part_count != 0 && nth_part(log, log->part_count - 1)->is_stderr == is_stderr)
		return;
	if (log->part_count == PARTS_MAX)
		remove_oldest_part(log);
	*nth_part(log, log->part_count++) = (struct output_part){ log->end, is_stderr };
}

static void remove_before(struct output_log *log, uint64_t start)
{
	if (start <= log->start)
		return;
	while (log->part_count > 1 && nth_part(log, 1)->at <= start)
		remove_oldest_part(log);
	log->start = start;
}

void output_log_add(struct output_log *log, bool is_stderr, struct view bytes)
{
	size_t at, first, skip;

	if (bytes.len == 0)
		return;
	if (!log->is_open || log->size == 0) {
		log->start = log->end += bytes.len;
		return;
	}
	if (log->ring == NULL) {
		log->ring = mem_new(log->size);
		log->parts = mem_array(PARTS_MAX, sizeof *log->parts);
	}
	start_part(log, is_stderr);
	skip = bytes.len > log->size ? bytes.len - log->size : 0;
	log->end += bytes.len;
	bytes.ptr += skip;
	bytes.len -= skip;
	at = (size_t)((log->end - bytes.len) % log->size);
	first = bytes.len < log->size - at ? bytes.len : log->size - at;
	memcpy(log->ring + at, bytes.ptr, first);
	memcpy(log->ring, bytes.ptr + first, bytes.len - first);
	if (log->end - log->start > log->size)
		remove_before(log, log->end - log->size);
}

/* Bytes that exceed the buffer's maximum are left out: the caller has chosen that maximum. */
static void copy_bytes(const struct output_log *log, uint64_t from, uint64_t to, struct buf *into)
{
	while (from < to) {
		size_t at = (size_t)(from % log->size);
		size_t len = log->size - at;

		if (len > to - from)
			len = (size_t)(to - from);
		buf_put(into, (struct view){ log->ring + at, len });
		from += len;
	}
}

size_t output_log_entries(const struct output_log *log, uint64_t from, uint64_t to,
                          struct process_entry *ret, size_t max)
{
	size_t count = 0;

	for (size_t i = 0; i < log->part_count; i++) {
		uint64_t at = nth_part(log, i)->at;
		uint64_t end = i + 1 < log->part_count ? nth_part(log, i + 1)->at : log->end;

		at = at < from ? from : at;
		end = end > to ? to : end;
		if (at >= end)
			continue;
		if (count == max)
			return 0;
		ret[count++] = (struct process_entry){
			.kind = nth_part(log, i)->is_stderr ? PROCESS_ENTRY_STDERR
			                                    : PROCESS_ENTRY_STDOUT,
			.bytes = end - at,
		};
	}
	return count;
}

void output_log_read(const struct output_log *log, uint64_t since, size_t max, struct buf *out,
                     struct buf *errors, uint64_t *next, uint64_t *lost)
{
	uint64_t from = since < log->start ? log->start : since;
	uint64_t end = log->end;

	*lost = from - since;
	if (from >= end) {
		*next = end;
		return;
	}
	if (end - from > max)
		end = from + max;
	for (size_t i = 0; i < log->part_count; i++) {
		uint64_t at = nth_part(log, i)->at;
		uint64_t to = i + 1 < log->part_count ? nth_part(log, i + 1)->at : log->end;

		at = at < from ? from : at;
		to = to > end ? end : to;
		if (at < to)
			copy_bytes(log, at, to, nth_part(log, i)->is_stderr ? errors : out);
	}
	*next = end;
}
