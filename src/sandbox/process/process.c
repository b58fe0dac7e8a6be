/* process.c - what is asked of a process (see process_internal.h). */
#include "sandbox/process/process.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/text/utf8.h"
#include "loop/loop.h"
#include "sandbox/process/process_internal.h"
#include "sandbox/sandbox.h"

/* --- who watches ------------------------------------------------------------------------------ */

void process_changed(struct process *process)
{
	if (process->fn != NULL)
		loop_timer_start(process->tell, 0);
}

int process_watch(struct process *process, void (*fn)(void *ctx), void *ctx, struct error *err)
{
	if (fn != NULL && process->fn != NULL)
		return error_set(err, ERR_INVALID,
		                 "another call waits for %s already: let it end first",
		                 process->id);
	process->fn = fn;
	process->ctx = ctx;
	if (fn != NULL && process_is_over(process))
		process_changed(process); /* it will not change any more */
	return 0;
}

void process_unwatch(struct process *process)
{
	process->fn = NULL;
	loop_timer_stop(process->tell);
}

/* --- what there is to tell -------------------------------------------------------------------- */

const char *process_id(const struct process *process)
{
	return process->id;
}

const char *process_label(const struct process *process)
{
	return process->label;
}

bool process_is_over(const struct process *process)
{
	return process->phase == PROCESS_ENDED || process->phase == PROCESS_FAILED;
}

void process_state(struct process *process, struct process_state *ret)
{
	const struct shown *shown = &process->shown;
	uint64_t until = process_is_over(process) ? process->ended_ms : clock_now_ms();

	*ret = (struct process_state){
		.phase = process->phase,
		.end = process->end,
		.why = process->phase == PROCESS_FAILED ? &process->why : NULL,
		.compile_failed = process->compile_failed,
		.is_new_session = process->is_new_session,
		.state_was_lost = process->state_was_lost,
		.state_is_lost = process->state_is_lost,
		.why_lost = process->why_lost,
		.shown = shown->items,
		.display_count = shown->count,
		.error_name = shown->error_name,
		.error_message = shown->error_message,
		.error_traceback = shown->error_traceback,
		.elapsed_ms = until - process->started_ms,
		.started_s = process->started_s,
	};
}

struct process_stream process_stream(struct process *process, bool is_stderr)
{
	struct process_sink *sink = &process->sinks[is_stderr];

	return (struct process_stream){
		.total = sink->capture.total,
		.head = capture_head(&sink->capture),
		.tail = capture_tail(&sink->capture),
		.left_out = capture_left_out(&sink->capture),
		.file = sink->spill != NULL ? spill_path(sink->spill) : NULL,
		.file_note = sink->spill != NULL ? spill_note(sink->spill) : NULL,
	};
}

/* The contract's const is about what others see: a ring is put in order on the way. */
const char *process_last_line(const struct process *process, char *out, size_t size)
{
	struct process *self = process->sinks[0].process;
	bool is_stderr = process->is_last_stderr;

	(void)capture_last_line(&self->sinks[is_stderr].capture, out, size);
	if (out[0] == '\0')
		(void)capture_last_line(&self->sinks[!is_stderr].capture, out, size);
	return out;
}

/* --- detached --------------------------------------------------------------------------------- */

/* With all there was, as long as that is still whole: one stream behind the other, as the order
 * between them is forgotten. */
static void open_journal(struct process *process)
{
	struct capture *out = &process->sinks[0].capture, *errors = &process->sinks[1].capture;

	if (capture_left_out(out) != 0 || capture_left_out(errors) != 0) {
		journal_open(&process->journal);
		return;
	}
	process->journal.end = 0;
	journal_open(&process->journal);
	journal_add(&process->journal, false, capture_head(out));
	journal_add(&process->journal, false, capture_tail(out));
	journal_add(&process->journal, true, capture_head(errors));
	journal_add(&process->journal, true, capture_tail(errors));
}

void process_detach(struct process *process)
{
	if (process->is_detached)
		return;
	process->is_detached = true;
	open_journal(process);
	if (process_is_over(process) && process->processes != NULL)
		process_forget_oldest(process->processes, process);
}

bool process_is_detached(const struct process *process)
{
	return process->is_detached;
}

void process_read(struct process *process, uint64_t since, size_t max, struct buf *out,
                  struct buf *errors, uint64_t *next, uint64_t *lost)
{
	journal_read(&process->journal, since, max, out, errors, next, lost);
	if (process_is_over(process) && *next == process->journal.end)
		process->is_looked_at = true;
}

void process_set_read_offset(struct process *process, uint64_t offset)
{
	process->mark = offset;
}

uint64_t process_read_offset(const struct process *process)
{
	return process->mark;
}

/* --- its end in memory ------------------------------------------------------------------------ */

void process_free(struct process *process)
{
	if (process == NULL)
		return;
	process_let_go(process);
	if (!process_is_over(process) && process->processes != NULL)
		sandbox_release(process->processes->sandbox);
	list_remove(&process->node);
	for (int i = 0; i < 2; i++) {
		capture_done(&process->sinks[i].capture);
		spill_free(process->sinks[i].spill);
	}
	journal_done(&process->journal);
	shown_done(&process->shown);
	(void)loop_timer_free(process->tell);
	(void)loop_timer_free(process->clock);
	arena_done(&process->arena);
	buf_done(&process->in);
	free(process->why_lost);
	free(process);
}
