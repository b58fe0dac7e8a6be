/* shown.h - what an interpreter wanted to be seen, and the exception it told of, bounded.
 *
 * It comes from whoever wrote the code: every text is cut, made whole UTF-8, and counted. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/view.h"
#include "sandbox/process/process.h"

struct kernel_said;

struct shown {
	struct process_display items[PROCESS_DISPLAYS_MAX];
	size_t count;
	size_t bytes;    /* of all texts */
	size_t left_out; /* how many were too much */
	char *error_name, *error_message, *error_traceback;
};

void shown_add(struct shown *shown, const struct kernel_said *said); /* SHOWN or ERROR */
void shown_done(struct shown *shown);

/* At most `max` bytes: of a longer text the beginning and the end. What is not UTF-8 becomes '?'.
 * The caller frees it. */
char *shown_text(struct view text, size_t max);
