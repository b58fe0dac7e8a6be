/* wait_text.h - searches the output of a detached process for a text, as it arrives.
 *
 *   wait_text_init -> wait_text_search ... -> wait_text_done    (the struct belongs to the caller)
 *
 * Each byte is read once. The text must be whole in one stream, as it was printed or as an answer
 * shows it. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/view.h"

struct process;

enum { WAIT_TEXT_MAX = 1000 };

struct wait_text {
	struct view text; /* at most WAIT_TEXT_MAX bytes */
	uint64_t offset;  /* next byte to read */
	struct buf
	        windows[2]; /* of stdout and stderr: bytes that were read and may begin the text */
	bool is_found;
};

void wait_text_init(struct wait_text *wait, struct view text, uint64_t since);
void wait_text_done(struct wait_text *wait); /* zeroed is allowed */
/* Reads the output so far. Returns whether it has the text. */
bool wait_text_search(struct wait_text *wait, struct process *process);
