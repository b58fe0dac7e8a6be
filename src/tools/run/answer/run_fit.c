/* run_fit.c - how much of the output, and of displayed values, an answer has room for (see
 * run_result.h). */
#include "base/buf.h"
#include "base/num.h"
#include "tools/run/answer/run_result.h"
#include "tools/run/answer/run_text.h"

/* Bytes of the text that are kept for status lines; and the least room for everything else. */
enum { STATUS_ROOM = 1500, ROOM_MIN = 512, GAP_ROOM = 128 };

static size_t subtract_room(size_t a, size_t b)
{
	return a > b ? a - b : 0;
}

/* The length of a text after run_text_clean(), which inserts a backslash in front of each mark. */
static size_t cleaned_len(struct view text)
{
	AUTO_BUF struct buf buf;

	buf_init(&buf, run_text_room(text.len));
	run_text_clean(text, &buf);
	return buf.len;
}

static size_t display_len(const struct process_state *state)
{
	size_t len = 0;

	if (state->error_traceback != NULL)
		len = cleaned_len(view_of(state->error_traceback));
	for (size_t i = 0; i < state->display_count; i++) {
		const struct process_display *display = &state->displays[i];

		if (display->text != NULL)
			len += cleaned_len((struct view){ display->text, display->text_len });
		len += 100;
	}
	return len;
}

size_t run_fit_len(const struct run_result *r)
{
	return process_stream_kept(&r->out) + process_stream_kept(&r->errors) +
	       display_len(r->state);
}

/* stdout, stderr and the displays get a third of the room each. Room that one of them does not need
 * goes to the others, stdout last. */
void run_result_fit(const struct run_result *r, struct run_fit *ret)
{
	size_t room = num_max(subtract_room(r->max, STATUS_ROOM), ROOM_MIN), third = room / 3;
	size_t out = process_stream_kept(&r->out), displays = display_len(r->state);
	size_t errors = num_min(
	        process_stream_kept(&r->errors),
	        num_max(third, subtract_room(room, out + num_min(displays, third))));

	*ret = (struct run_fit){ 0 };
	buf_init(&ret->out, run_text_room(out) + GAP_ROOM);
	buf_init(&ret->errors, run_text_room(process_stream_kept(&r->errors)) + GAP_ROOM);
	/* As text, output may be shorter or longer than its bytes. Text that is longer is cut to
	 * its share; room that shorter text leaves stays unused. */
	ret->display_room = num_min(displays, num_max(third, subtract_room(room, out + errors)));
	errors = num_max(errors, third);
	ret->errors_missing = run_text_fit(&r->errors, errors, &ret->errors);
	/* The line "... bytes left out ..." is counted to the room for status lines. */
	ret->out_missing = run_text_fit(
	        &r->out, subtract_room(room, num_min(ret->errors.len, errors) + ret->display_room),
	        &ret->out);
}

void run_fit_done(struct run_fit *fit)
{
	buf_done(&fit->out);
	buf_done(&fit->errors);
}
