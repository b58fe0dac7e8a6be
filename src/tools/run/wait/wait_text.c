#include "tools/run/wait/wait_text.h"

#include <string.h>

#include "sandbox/process/process.h"

enum { CHUNK = 64 * 1024 };

void wait_text_init(struct wait_text *wait, struct view text, uint64_t since)
{
	*wait = (struct wait_text){ .text = text, .offset = since };
	for (int i = 0; i < 2; i++)
		buf_init(&wait->windows[i], CHUNK + WAIT_TEXT_MAX);
}

void wait_text_done(struct wait_text *wait)
{
	for (int i = 0; i < 2; i++)
		buf_done(&wait->windows[i]);
}

/* Keeps the end of a window, where a text may begin whose rest is still to come. */
static void shorten_window(struct buf *window, size_t keep)
{
	if (window->len <= keep)
		return;
	memmove(window->ptr, window->ptr + window->len - keep, keep);
	buf_truncate(window, keep);
}

bool wait_text_search(struct wait_text *wait, struct process *process)
{
	while (!wait->is_found) {
		uint64_t next, lost;

		process_read(process, wait->offset, CHUNK, &wait->windows[0], &wait->windows[1],
		             &next, &lost);
		if (next == wait->offset)
			break;
		wait->offset = next;
		for (int i = 0; i < 2; i++) {
			struct buf *window = &wait->windows[i];

			wait->is_found |= window->len != 0 &&
			                  memmem(window->ptr, window->len, wait->text.ptr,
			                         wait->text.len) != NULL;
			shorten_window(window, wait->text.len - 1);
		}
	}
	return wait->is_found;
}
