/* The order of output and displays in an answer. */
#include <string.h>

#include "base/buf.h"
#include "sandbox/process/journal.h"
#include "tools/run/answer/run_order.h"
#include "tools/run/answer/run_result.h"
#include "unit/test.h"

/* Writes the pieces as "o:text e:text d0 ...". */
static void check_pieces(const struct run_result *result, const char *expected)
{
	char pieces[256] = "";
	struct buf out = buf_fixed(pieces, sizeof pieces);
	struct run_order order;
	struct run_piece piece;
	struct run_fit fit;
	struct error err;

	run_result_fit(result, &fit);
	run_order_init(&order, result, &fit);
	while (run_order_next(&order, &piece))
		if (piece.is_display)
			assert_int_equal(buf_printf(&out, &err, "d%zu ", piece.display), 0);
		else
			assert_int_equal(buf_printf(&out, &err, "%c:%.*s ",
			                            piece.is_stderr ? 'e' : 'o',
			                            (int)piece.text.len, piece.text.ptr),
			                 0);
	run_order_done(&order);
	run_fit_done(&fit);
	assert_string_equal(pieces, expected);
}

static void pieces_follow_the_journal(void **state)
{
	struct process_display displays[] = {
		{ .mime = "text/plain", .text = (char[]){ "x" }, .text_len = 1 },
		{ .mime = "text/plain", .text = (char[]){ "y" }, .text_len = 1 },
	};
	struct journal journal = { 0 };
	struct process_state state_of = { .displays = displays, .display_count = 2 };
	struct run_result result = {
		.state = &state_of,
		.out = { .total = 4, .head = view_of("ab"), .tail = view_of("cd") },
		.errors = { .total = 2, .head = view_of("EF") },
		.max = 24000
	};

	journal_add_bytes(&journal, false, 1);
	displays[0].number = journal_add_display(&journal);
	journal_add_bytes(&journal, true, 1);
	journal_add_bytes(&journal, true, 1);
	journal_add_bytes(&journal, false, 0);
	journal_add_bytes(&journal, false, 3);
	assert_int_equal(journal.count, 4);
	state_of.entries = journal.entries;
	state_of.entry_count = journal.count;
	/* The second display has no entry and comes last. */
	check_pieces(&result, "o:a d0 e:EF o:bcd d1 ");
	/* A display that was removed is passed over. */
	displays[0].number = 7;
	check_pieces(&result, "o:a e:EF o:bcd d0 d1 ");
	/* Entries that do not add up to the bytes of this output are ignored. */
	result.out.tail = view_of("c");
	check_pieces(&result, "o:abc e:EF d0 d1 ");
	result.has_more = true;
	check_pieces(&result, "o:abc e:EF ");
}

static void full_journal_has_no_order(void **state)
{
	struct journal journal = { 0 };

	for (size_t i = 0; i < PROCESS_ENTRIES_MAX; i++)
		journal_add_bytes(&journal, i % 2 != 0, 1);
	assert_false(journal.is_full);
	journal_add_bytes(&journal, true, 1); /* continues the last entry */
	assert_false(journal.is_full);
	assert_int_equal(journal_add_display(&journal), 0);
	assert_true(journal.is_full);
	assert_int_equal(journal.count, PROCESS_ENTRIES_MAX);
}

int main(void)
{
	const struct CMUnitTest all[] = {
		TEST(pieces_follow_the_journal),
		TEST(full_journal_has_no_order),
	};

	return RUN_TESTS("run order", all);
}
