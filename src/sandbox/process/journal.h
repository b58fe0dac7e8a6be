/* journal.h - the order in which a process printed to its two streams and displayed values.
 *
 * Bytes of one stream in a row are one entry. A process that changes between its streams more often
 * than the journal has entries gets no order: its streams are answered one after the other. The
 * order is that in which the agent sends the bytes, which is that of the writes
 * (agent/program/write_order.h). A display is in its place too: Python waits until the agent has
 * read it.
 *
 *   (zeroed) -> journal_add_bytes, journal_add_display    (the struct belongs to the caller) */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "sandbox/process/process.h"

struct journal {
	struct process_entry entries[PROCESS_ENTRIES_MAX];
	size_t count;
	unsigned displays; /* number of the last display */
	bool is_full;      /* an entry did not fit: the order is not known */
};

void journal_add_bytes(struct journal *journal, bool is_stderr, size_t bytes);
/* Removes all entries. Displays are numbered on. */
void journal_clear(struct journal *journal);
/* Returns the number of the display, from 1 on; 0: there is no room for its entry. */
unsigned journal_add_display(struct journal *journal);
