/* process.c - a process as its callers see it (see internal.h). */
#include "sandbox/process/process.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "loop/loop.h"
#include "sandbox/process/internal.h"
#include "sandbox/sandbox.h"

/* --- watches ---------------------------------------------------------------------------------- */

void process_changed(struct process *process)
{
	if (!list_is_empty(&process->watches))
		loop_timer_start(process->notify_timer, 0);
}

void process_watch(struct process *process, struct process_watch *watch)
{
	watch->process = process;
	list_add(&process->watches, &watch->node);
	if (process_is_over(process))
		process_changed(process); /* no other change will come */
}

void process_unwatch(struct process_watch *watch)
{
	list_remove(&watch->node);
	watch->process = NULL;
}

static void end_watches(struct process *process)
{
	while (!list_is_empty(&process->watches)) {
		struct process_watch *watch = container_of(process->watches.next,
		                                           struct process_watch, node);

		process_unwatch(watch);
		watch->fn(watch->ctx);
	}
}

/* --- state and output ------------------------------------------------------------------------- */

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

bool process_has_exited(const struct process *process)
{
	return process->has_exited || process->phase == PROCESS_ENDED;
}

void process_state(struct process *process, struct process_state *ret)
{
	const struct displays *displays = &process->displays;
	const struct session_report *session = &process->session;
	uint64_t until = process_is_over(process) ? process->ended_ms : clock_now_ms();

	*ret = (struct process_state){
		.phase = process->phase,
		.end = process->end,
		.why = process->phase == PROCESS_FAILED ? &process->why : NULL,
		.label = process->label,
		.state_was_lost = session->was_lost,
		.state_is_lost = session->is_lost,
		.why_lost = session->was_lost ? session->why_lost : NULL,
		.displays = displays->items,
		.display_count = displays->count,
		.entries = process->journal.entries,
		.entry_count = process->journal.is_full ? 0 : process->journal.count,
		.error_name = displays->error_name,
		.error_message = displays->error_message,
		.error_traceback = displays->error_traceback,
		.lacks_input = process->lacks_input,
		.lacks_value = process->lacks_value,
		.elapsed_ms = until - process->started_ms,
		.queued_ms = process->queued_ms,
		.started_s = process->started_s,
		.run_began_ns = process->run_began_ns,
		.given_until_ns = process->given_until_ns,
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

size_t process_stream_kept(const struct process_stream *stream)
{
	return stream->head.len + stream->tail.len;
}

char *process_stream_copy(const struct process_stream *stream)
{
	char *bytes = mem_new(process_stream_kept(stream) + 1);

	if (stream->head.len != 0)
		memcpy(bytes, stream->head.ptr, stream->head.len);
	if (stream->tail.len != 0)
		memcpy(bytes + stream->head.len, stream->tail.ptr, stream->tail.len);
	return bytes;
}

/* capture_last_line() may rotate the ring of a capture, which callers cannot see: the process is
 * const for them. sinks[0].process is the same process without const. */
const char *process_last_line(const struct process *process, char *out, size_t size)
{
	struct process *self = process->sinks[0].process;
	bool is_stderr = process->is_last_stderr;

	(void)capture_last_line(&self->sinks[is_stderr].capture, out, size);
	if (out[0] == '\0')
		(void)capture_last_line(&self->sinks[!is_stderr].capture, out, size);
	return out;
}

/* --- detached processes ----------------------------------------------------------------------- */

/* Adds the output so far in its order, or, if that is not known, stdout in front of stderr. */
static void log_output_so_far(struct process *process)
{
	const struct journal *journal = &process->journal;
	struct process_stream out = process_stream(process, false);
	struct process_stream errors = process_stream(process, true);
	char *copies[] = { process_stream_copy(&out), process_stream_copy(&errors) };
	struct view rest[2] = { { copies[0], process_stream_kept(&out) },
		                { copies[1], process_stream_kept(&errors) } };

	for (size_t i = 0; !journal->is_full && i < journal->count; i++) {
		bool is_stderr = journal->entries[i].kind == PROCESS_ENTRY_STDERR;
		struct view part = { rest[is_stderr].ptr, (size_t)journal->entries[i].bytes };

		if (journal->entries[i].kind == PROCESS_ENTRY_DISPLAY)
			continue;
		output_log_add(&process->log, is_stderr, part);
		rest[is_stderr].ptr += part.len;
		rest[is_stderr].len -= part.len;
	}
	output_log_add(&process->log, false, rest[0]);
	output_log_add(&process->log, true, rest[1]);
	free(copies[0]);
	free(copies[1]);
}

/* The log begins with the output so far, if the captures still have all of it. */
static void open_log(struct process *process)
{
	bool is_complete = capture_left_out(&process->sinks[0].capture) == 0 &&
	                   capture_left_out(&process->sinks[1].capture) == 0;

	if (is_complete)
		process->log.end = 0;
	output_log_open(&process->log);
	if (is_complete)
		log_output_so_far(process);
}

void process_detach(struct process *process)
{
	if (process->is_detached)
		return;
	process->is_detached = true;
	open_log(process);
	if (process_is_over(process) && process->processes != NULL)
		process_free_oldest(process->processes, process);
}

bool process_is_detached(const struct process *process)
{
	return process->is_detached;
}

void process_read(struct process *process, uint64_t since, size_t max, struct buf *out,
                  struct buf *errors, uint64_t *next, uint64_t *lost)
{
	output_log_read(&process->log, since, max, out, errors, next, lost);
	if (process_is_over(process) && *next == process->log.end)
		process->is_read = true;
}

size_t process_read_entries(const struct process *process, uint64_t from, uint64_t to,
                            struct process_entry *ret)
{
	return output_log_entries(&process->log, from, to, ret, PROCESS_ENTRIES_MAX);
}

void process_set_read_offset(struct process *process, uint64_t offset)
{
	process->read_offset = offset;
}

uint64_t process_read_offset(const struct process *process)
{
	return process->read_offset;
}

/* --- the end of the struct -------------------------------------------------------------------- */

void process_free(struct process *process)
{
	if (process == NULL)
		return;
	process_release(process);
	if (process->phase == PROCESS_RUNNING && process->processes != NULL)
		sandbox_record_run(process->processes->sandbox, process->started_s,
		                   clock_now_ms() - process->started_ms, process->label,
		                   "cancelled");
	if (!process_is_over(process) && process->processes != NULL)
		sandbox_release(process->processes->sandbox);
	list_remove(&process->node);
	end_watches(process);
	for (int i = 0; i < 2; i++) {
		capture_done(&process->sinks[i].capture);
		spill_free(process->sinks[i].spill);
	}
	output_log_done(&process->log);
	displays_done(&process->displays);
	(void)loop_timer_free(process->notify_timer);
	arena_done(&process->arena);
	buf_done(&process->in);
	free(process);
}
