/* run_text.h - what a program printed, as text for an answer.
 *
 * Bytes that are not UTF-8 become U+FFFD and a zero becomes U+2400, so that they can be seen.
 * Commands to a terminal (colours with them) and other controls vanish; tabs and line ends stay, a
 * carriage return before a line end goes. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/view.h"

struct buf;
struct process_stream;

/* As much room as `len` bytes may need. */
static inline size_t run_text_room(size_t len)
{
	return len * 3 + 8;
}

/* Appends it as text; the buffer has the room. */
void run_text_clean(struct view bytes, struct buf *out);

/* Appends at most `max` bytes of text (and a short line that says how much is missing): the
 * beginning and the end, cut between characters. Returns how many of the stream's bytes were left
 * out, those counted that are not kept any more. */
uint64_t run_text_fit(const struct process_stream *stream, size_t max, struct buf *out);

/* How many bytes at the end are the beginning of a character whose rest is missing. */
size_t run_text_unfinished(struct view bytes);

/* "12,345,678". Returns out, which has 32 bytes. */
const char *run_text_count(uint64_t number, char out[32]);
