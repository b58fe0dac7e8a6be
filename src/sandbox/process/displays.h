/* displays.h - the values, tables and pictures that code displayed, and the exception it raised.
 *
 * All of them come from untrusted code: every text is cut to a maximum, made valid UTF-8, and
 * counted against a total.
 *
 *   (zeroed) -> displays_add ... -> displays_done    (the struct belongs to the caller) */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/view.h"
#include "sandbox/process/process.h"

struct kernel_message;

struct displays {
	struct process_display items[PROCESS_DISPLAYS_MAX];
	size_t count;
	size_t bytes;    /* of all texts */
	size_t left_out; /* how many were too many or too large */
	/* The place of the display that the last message removed by its id: an update follows, and
	 * takes the place. */
	struct {
		bool is_free;
		size_t index;
		unsigned number;
	} place;
	char *error_name, *error_message, *error_traceback;
};

void displays_add(struct displays *displays,
                  const struct kernel_message *message); /* SHOWN, CLEARED, ERROR */
void displays_done(struct displays *displays);

/* A copy of at most `max` bytes: of a longer text the beginning and the end. Bytes that are not
 * UTF-8 become '?'. The caller frees it. */
char *displays_copy_text(struct view text, size_t max);
