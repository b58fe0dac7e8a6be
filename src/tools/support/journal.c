#include "tools/support/journal.h"

#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/text/utf8.h"
#include "mcp/content.h"
#include "sandbox/sandbox.h"
#include "tools/catalogue.h"
#include "tools/support/attend.h"
#include "tools/support/run_text.h"

/* Kept for what is said besides the output. */
enum { WORDS = 2000, LEAST = 256 };

uint64_t journal_total(struct process *process)
{
	return process_stream(process, false).total + process_stream(process, true).total;
}

/* Whether it becomes much longer as text. */
static bool swells(const struct buf *buf)
{
	struct view v = buf_view(buf);

	return v.len != 0 && (!utf8_is_valid(v) || memchr(v.ptr, '\0', v.len) != NULL);
}

struct part {
	struct buf out, errors;
	uint64_t next, lost;
};

static void read_part(struct part *part, struct process *process, uint64_t since, size_t limit)
{
	struct buf *only;
	size_t rest = 0;

	process_read(process, since, limit, &part->out, &part->errors, &part->next, &part->lost);
	if ((swells(&part->out) || swells(&part->errors)) && limit / 3 >= LEAST) {
		buf_clear(&part->out);
		buf_clear(&part->errors);
		process_read(process, since, limit / 3, &part->out, &part->errors, &part->next,
		             &part->lost);
	}
	/* A character of which the rest is still to come waits for it. Only where nothing else came
	 * behind it: the two streams are counted as one. */
	only = part->out.len != 0 ? &part->out : &part->errors;
	if (part->out.len == 0 || part->errors.len == 0)
		rest = run_text_unfinished(buf_view(only));
	if (rest < only->len &&
	    (!process_is_over(process) || part->next < journal_total(process))) {
		buf_truncate(only, only->len - rest);
		part->next -= rest;
	}
}

static void answer(struct attend *attend, const struct run_result *result)
{
	json_t *content = json_list(), *structured;
	AUTO_FREE char *text = NULL;

	run_result_make(result, &text, &structured);
	json_push(content, mcp_text_view(view_of(text)));
	mcp_respond_content(attend->call, content, structured);
}

void journal_tell(struct attend *attend, struct sandbox *sandbox, struct process *process,
                  int64_t since, size_t limit, const char *remark)
{
	size_t most = attend->context->max_output > WORDS + LEAST
	                      ? attend->context->max_output - WORDS
	                      : LEAST;
	struct process_state state;
	struct run_result result = { .state = &state,
		                     .process = process_id(process),
		                     .remark = remark,
		                     .max = attend->context->max_output };
	struct part part = { .lost = 0 };

	if (limit == 0 || limit > most)
		limit = most;
	process_state(process, &state);
	run_result_streams(&result, process);
	result.next = result.out_bytes + result.error_bytes;
	if (attend->sandbox != NULL)
		result.sandbox = sandbox_row(sandbox)->spec.id;
	if (!process_is_detached(process)) { /* a call still waits for it: all there is is shown */
		answer(attend, &result);
		return;
	}
	buf_init(&part.out, limit);
	buf_init(&part.errors, limit);
	read_part(&part, process, since >= 0 ? (uint64_t)since : process_read_offset(process),
	          limit);
	process_set_read_offset(process, part.next);
	result.has_more = part.next < result.next;
	result.next = part.next;
	result.lost = part.lost;
	result.out.head = buf_view(&part.out);
	result.errors.head = buf_view(&part.errors);
	result.out.tail = result.errors.tail = (struct view){ NULL, 0 };
	result.out.left_out = result.errors.left_out = 0;
	/* What was read counts as told: none of it may be left out now. */
	result.max = (run_text_room(limit) + WORDS) * 3;
	answer(attend, &result);
	buf_done(&part.out);
	buf_done(&part.errors);
}
