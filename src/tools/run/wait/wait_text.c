#include "tools/run/wait/wait_text.h"

#include <string.h>

#include "sandbox/process/process.h"
#include "tools/run/answer/run_text.h"

/* SEQUENCES: terminal escapes within the text that is searched. */
enum { CHUNK = 64 * 1024, SEQUENCES = 500, WINDOW = CHUNK + WAIT_TEXT_MAX + SEQUENCES };

void wait_text_init(struct wait_text *wait, struct view text, uint64_t since)
{
	*wait = (struct wait_text){ .text = text, .offset = since };
	for (int i = 0; i < 2; i++)
		buf_init(&wait->windows[i], WINDOW);
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

/* Callers know the text as answers show it: without colours, and lines of a terminal, which end in
 * "\r\n", with "\n". The bytes themselves are searched, too: of a progress bar an answer shows
 * only the last state. */
static bool has_text(const struct buf *window, struct view text)
{
	AUTO_BUF struct buf shown;

	buf_init(&shown, run_text_room(WINDOW));
	run_text_clean(buf_view(window), &shown);
	return (window->len != 0 && memmem(window->ptr, window->len, text.ptr, text.len) != NULL) ||
	       (shown.len != 0 && memmem(shown.ptr, shown.len, text.ptr, text.len) != NULL);
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

			wait->is_found |= has_text(window, wait->text);
			shorten_window(window, wait->text.len - 1 + SEQUENCES);
		}
	}
	return wait->is_found;
}
