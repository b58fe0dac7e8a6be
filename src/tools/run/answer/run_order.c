#include "tools/run/answer/run_order.h"

#include <stdlib.h>

#include "base/attr.h"
#include "tools/run/answer/run_result.h"
#include "tools/run/answer/run_text.h"

/* Bytes of "[belljar: stdout]" and of two line ends. */
enum { HEADING_MAX = 20 };

_Static_assert(ARRAY_LEN(((struct run_order *)0)->is_shown) >= PROCESS_DISPLAYS_MAX,
               "every display has a place in is_shown");

/* Whether the entries describe exactly the output of the result, and their headings fit. */
static bool is_order_known(const struct run_result *r, const struct run_fit *fit)
{
	const struct process_state *state = r->state;
	uint64_t bytes[2] = { 0, 0 };
	size_t len = fit->out.len + fit->errors.len + fit->display_room;

	for (size_t i = 0; i < state->entry_count; i++)
		if (state->entries[i].kind != PROCESS_ENTRY_DISPLAY)
			bytes[state->entries[i].kind == PROCESS_ENTRY_STDERR] +=
			        state->entries[i].bytes;
	return state->entry_count > 1 && fit->out_missing == 0 && fit->errors_missing == 0 &&
	       bytes[0] == process_stream_kept(&r->out) &&
	       bytes[1] == process_stream_kept(&r->errors) &&
	       len + state->entry_count * HEADING_MAX <= r->max;
}

void run_order_init(struct run_order *order, const struct run_result *result,
                    const struct run_fit *fit)
{
	*order = (struct run_order){ .result = result, .fit = fit };
	buf_init(&order->text, run_text_room(process_stream_kept(&result->out) +
	                                     process_stream_kept(&result->errors)));
	order->is_known = is_order_known(result, fit);
	if (!order->is_known)
		return;
	order->streams[0] = process_stream_copy(&result->out);
	order->streams[1] = process_stream_copy(&result->errors);
}

void run_order_done(struct run_order *order)
{
	free(order->streams[0]);
	free(order->streams[1]);
	buf_done(&order->text);
}

static struct run_piece make_piece(struct run_order *order, bool is_stderr, size_t bytes)
{
	struct view part = { order->streams[is_stderr] + order->taken[is_stderr], bytes };

	order->taken[is_stderr] += bytes;
	buf_clear(&order->text);
	run_text_clean(part, &order->text);
	return (struct run_piece){ .is_stderr = is_stderr, .text = buf_view(&order->text) };
}

/* The index of the display with this number. Code may have removed it since: then the number of
 * displays. */
static size_t find_display(const struct process_state *state, unsigned number)
{
	size_t i = 0;

	while (i < state->display_count && state->displays[i].number != number)
		i++;
	return i;
}

static bool next_entry(struct run_order *order, struct run_piece *ret)
{
	const struct process_state *state = order->result->state;

	while (order->at < state->entry_count) {
		const struct process_entry *entry = &state->entries[order->at++];
		size_t display;

		if (entry->kind != PROCESS_ENTRY_DISPLAY) {
			*ret = make_piece(order, entry->kind == PROCESS_ENTRY_STDERR,
			                  (size_t)entry->bytes);
			return true;
		}
		display = find_display(state, entry->display);
		if (display == state->display_count)
			continue;
		order->is_shown[display] = true;
		*ret = (struct run_piece){ .is_display = true, .display = display };
		return true;
	}
	return false;
}

static bool next_group(struct run_order *order, struct run_piece *ret)
{
	const struct buf *groups[] = { &order->fit->out, &order->fit->errors };

	while (order->at < ARRAY_LEN(groups)) {
		size_t at = order->at++;

		if (groups[at]->len == 0)
			continue;
		*ret = (struct run_piece){ .is_stderr = at != 0, .text = buf_view(groups[at]) };
		return true;
	}
	return false;
}

bool run_order_next(struct run_order *order, struct run_piece *ret)
{
	const struct process_state *state = order->result->state;

	if (order->is_known ? next_entry(order, ret) : next_group(order, ret))
		return true;
	/* An answer that does not reach the last byte of output has no displays yet. */
	while (!order->result->has_more && order->rest < state->display_count) {
		size_t at = order->rest++;

		if (order->is_shown[at])
			continue;
		*ret = (struct run_piece){ .is_display = true, .display = at };
		return true;
	}
	return false;
}
