/* output_log.h - the most recent bytes of stdout and stderr in the order of their arrival, for
 * calls that read the output of a detached process.
 *
 * Offsets count the bytes of both streams together, from the first byte of the process on. Bytes
 * that arrive before output_log_open() are counted and not kept.
 *
 *   output_log_init -> output_log_open -> output_log_add ... -> output_log_done
 *
 * The struct belongs to the caller. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/view.h"

struct buf;
struct process_entry;

/* A stretch of bytes of one stream, from offset `at` to the next part. */
struct output_part {
	uint64_t at;
	bool is_stderr;
};

struct output_log {
	size_t size; /* bytes of the ring */
	char *ring;  /* NULL until the first byte that is kept */
	bool is_open;
	uint64_t start, end; /* offsets of the bytes that are kept */
	struct output_part *parts;
	size_t part_first, part_count;
};

void output_log_init(struct output_log *log, size_t size);
void output_log_done(struct output_log *log);
void output_log_open(struct output_log *log);
void output_log_add(struct output_log *log, bool is_stderr, struct view bytes);
/* Appends at most `max` bytes from `since` on; see process_read(). */
void output_log_read(const struct output_log *log, uint64_t since, size_t max, struct buf *out,
                     struct buf *errors, uint64_t *next, uint64_t *lost);
/* The stretches of the bytes between two offsets that are kept. Returns how many; 0: none, or more
 * than `max`. */
size_t output_log_entries(const struct output_log *log, uint64_t from, uint64_t to,
                          struct process_entry *ret, size_t max);
