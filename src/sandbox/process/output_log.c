#include "sandbox/process/output_log.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"

/* A program that changes streams with every byte loses the oldest parts sooner. */
enum { PARTS_MAX = 4096 };

void journal_init(struct journal *journal, size_t size)
{
	*journal = (struct journal){ .size = size };
}

void journal_done(struct journal *journal)
{
	free(journal->ring);
	free(journal->parts);
	journal->ring = NULL;
	journal->parts = NULL;
	journal->is_open = false;
}

void journal_open(struct journal *journal)
{
	journal->is_open = true;
	journal->start = journal->end;
}

static struct journal_part *part(const struct journal *journal, size_t n)
{
	return &journal->parts[(journal->part_first + n) % PARTS_MAX];
}

static void drop_oldest_part(struct journal *journal)
{
	journal->part_first = (journal->part_first + 1) % PARTS_MAX;
	journal->part_count--;
	journal->start = part(journal, 0)->at;
}

static void begin_part(struct journal *journal, bool is_stderr)
{
	if (journal->part_count != 0 &&
	    part(journal, journal->part_count - 1)->is_stderr == is_stderr)
		return;
	if (journal->part_count == PARTS_MAX)
		drop_oldest_part(journal);
	*part(journal, journal->part_count++) = (struct journal_part){ journal->end, is_stderr };
}

/* Whole parts that are no longer kept are forgotten. */
static void forget_before(struct journal *journal, uint64_t start)
{
	if (start <= journal->start)
		return;
	while (journal->part_count > 1 && part(journal, 1)->at <= start)
		drop_oldest_part(journal);
	journal->start = start;
}

void journal_add(struct journal *journal, bool is_stderr, struct view bytes)
{
	size_t at, first, skip;

	if (!journal->is_open || journal->size == 0) {
		journal->start = journal->end += bytes.len;
		return;
	}
	if (journal->ring == NULL) {
		journal->ring = mem_new(journal->size);
		journal->parts = mem_array(PARTS_MAX, sizeof *journal->parts);
	}
	begin_part(journal, is_stderr);
	skip = bytes.len > journal->size ? bytes.len - journal->size : 0;
	journal->end += bytes.len;
	bytes.ptr += skip;
	bytes.len -= skip;
	at = (size_t)((journal->end - bytes.len) % journal->size);
	first = bytes.len < journal->size - at ? bytes.len : journal->size - at;
	memcpy(journal->ring + at, bytes.ptr, first);
	memcpy(journal->ring, bytes.ptr + first, bytes.len - first);
	if (journal->end - journal->start > journal->size)
		forget_before(journal, journal->end - journal->size);
}

/* What does not fit into a buffer was more than its owner wanted. */
static void copy(const struct journal *journal, uint64_t from, uint64_t to, struct buf *into)
{
	struct error err;

	while (from < to) {
		size_t at = (size_t)(from % journal->size);
		size_t len = journal->size - at;

		if (len > to - from)
			len = (size_t)(to - from);
		(void)!buf_add(into, (struct view){ journal->ring + at, len }, &err);
		from += len;
	}
}

void journal_read(const struct journal *journal, uint64_t since, size_t max, struct buf *out,
                  struct buf *errors, uint64_t *next, uint64_t *lost)
{
	uint64_t from = since < journal->start ? journal->start : since;
	uint64_t end = journal->end;

	*lost = from - since;
	if (from >= end) {
		*next = end;
		return;
	}
	if (end - from > max)
		end = from + max;
	for (size_t i = 0; i < journal->part_count; i++) {
		uint64_t at = part(journal, i)->at;
		uint64_t to = i + 1 < journal->part_count ? part(journal, i + 1)->at : journal->end;

		at = at < from ? from : at;
		to = to > end ? end : to;
		if (at < to)
			copy(journal, at, to, part(journal, i)->is_stderr ? errors : out);
	}
	*next = end;
}
