/* journal.h - the last bytes of two streams in the order they came, for somebody who asks now and
 * then.
 *
 * Offsets count the bytes of both streams together, from the first one there was; those that came
 * before the journal was opened are counted, not kept.
 *
 *   journal_init -> journal_open -> journal_add ... -> journal_done */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/view.h"

struct buf;

/* From `at` on the bytes are of one stream. */
struct journal_part {
	uint64_t at;
	bool is_stderr;
};

struct journal {
	size_t size; /* of the ring */
	char *ring;  /* NULL until it is open and there is something */
	bool is_open;
	uint64_t start, end; /* what is kept */
	struct journal_part *parts;
	size_t part_first, part_count;
};

void journal_init(struct journal *journal, size_t size);
void journal_done(struct journal *journal);
void journal_open(struct journal *journal);
void journal_add(struct journal *journal, bool is_stderr, struct view bytes);
/* Appends at most `max` bytes from `since` on; see process_read(). */
void journal_read(const struct journal *journal, uint64_t since, size_t max, struct buf *out,
                  struct buf *errors, uint64_t *next, uint64_t *lost);
