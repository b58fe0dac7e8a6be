/* answer_room.h - how an answer of at most max_output bytes is divided: the text, then a note that
 * says how much was shown and what to do next. */
#pragma once
#include <stddef.h>

enum { NOTE_ROOM = 600 }; /* bytes for the note */

static inline size_t answer_text_room(size_t max_output)
{
	return max_output > 2 * NOTE_ROOM ? max_output - NOTE_ROOM : NOTE_ROOM;
}
