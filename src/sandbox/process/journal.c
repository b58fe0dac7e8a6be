#include "sandbox/process/journal.h"

static void add_entry(struct journal *journal, const struct process_entry *entry)
{
	if (journal->count == PROCESS_ENTRIES_MAX)
		journal->is_full = true;
	else
		journal->entries[journal->count++] = *entry;
}

void journal_add_bytes(struct journal *journal, bool is_stderr, size_t bytes)
{
	const struct process_entry entry = { .kind = is_stderr ? PROCESS_ENTRY_STDERR
		                                               : PROCESS_ENTRY_STDOUT,
		                             .bytes = bytes };
	struct process_entry *last = journal->count != 0 ? &journal->entries[journal->count - 1]
	                                                 : NULL;

	if (bytes == 0)
		return;
	if (last != NULL && last->kind == entry.kind)
		last->bytes += bytes;
	else
		add_entry(journal, &entry);
}

void journal_clear(struct journal *journal)
{
	journal->count = 0;
	journal->is_full = false;
}

unsigned journal_add_display(struct journal *journal)
{
	const struct process_entry entry = { .kind = PROCESS_ENTRY_DISPLAY,
		                             .display = ++journal->displays };

	add_entry(journal, &entry);
	return journal->is_full ? 0 : journal->displays;
}
