/* run_text.h - output of a program as text for an answer.
 *
 * Bytes that are not UTF-8 become U+FFFD, and NUL becomes U+2400, so that they are visible.
 * Terminal escapes (colours among them) and other control characters are removed. Tabs and line
 * ends stay. Of a line that was overwritten by carriage returns or backspaces, as progress bars do,
 * the last state stays. Messages of Bash about a cell begin with "bash: line 2: ".
 *
 * A program could print what belljar says about a run ("exit code 0"), and a client may show all
 * blocks of an answer as one text. So everything that belljar says begins with RUN_TEXT_MARK, and
 * the same characters in output, in any case, get a backslash in front. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/view.h"

struct buf;
struct process_stream;

#define RUN_TEXT_MARK "[belljar: "

/* The most bytes of text that `len` bytes of output can become. */
static inline size_t run_text_room(size_t len)
{
	return len * 3 + 8;
}

/* Appends output as text to a buffer that has room for it. */
void run_text_clean(struct view bytes, struct buf *out);

/* Appends the beginning and the end of a stream, cut between characters, as at most `max` bytes of
 * text, with a line between them that says how much is missing. Returns how many bytes of the
 * stream were left out, including those that are not kept any more. */
uint64_t run_text_fit(const struct process_stream *stream, size_t max, struct buf *out);

/* How many bytes at the end are the beginning of an incomplete UTF-8 character. */
size_t run_text_unfinished(struct view bytes);

/* Formats a number as "12,345,678". Returns out. */
const char *run_text_count(uint64_t number, char out[32]);
/* Writes "SIGTERM", or "signal 70" for one without a name. Returns out. */
const char *run_text_signal(int number, char out[24]);
