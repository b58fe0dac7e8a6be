/* process_output.c - what a process prints, and how it ends (see process_internal.h). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "engine/spec.h"
#include "loop/loop.h"
#include "sandbox/channel/files.h"
#include "sandbox/interpreter/interpreter.h"
#include "sandbox/process/process_internal.h"
#include "sandbox/sandbox.h"

#define OUTPUT_DIR SPEC_WORKSPACE "/.belljar/output"

/* --- output ----------------------------------------------------------------------------------- */

static void give_back(struct process_sink *sink, size_t bytes)
{
	struct process *process = sink->process;

	if (process->run != NULL)
		run_consumed(process->run, sink->is_stderr, bytes);
	else if (process->interpreter != NULL)
		interpreter_consumed(process->interpreter, sink->is_stderr, bytes);
}

/* Of what an earlier source printed nobody waits to get anything back. */
static void on_taken(void *ctx, size_t bytes)
{
	struct process_sink *sink = ctx;
	size_t owed = bytes < sink->owed ? bytes : sink->owed;

	sink->owed -= owed;
	give_back(sink, owed);
}

static void on_file_over(void *ctx);

static const struct spill_events spill_events = { on_taken, on_file_over };

/* Another server counts its processes anew: the time tells its files from ours. */
const char *process_file_path(const struct process *process, bool is_stderr, char *out, size_t size)
{
	(void)snprintf(out, size, OUTPUT_DIR "/%llx-%s-%s.txt",
	               (unsigned long long)process->started_s, process->id,
	               is_stderr ? "stderr" : "stdout");
	return out;
}

static void begin_file(struct process_sink *sink)
{
	struct sandbox *sandbox = sink->process->processes->sandbox;
	uint64_t max = sandbox_process_limits(sandbox)->file_max;
	char path[128];

	if (max == 0)
		return;
	process_file_path(sink->process, sink->is_stderr, path, sizeof path);
	sink->spill = spill_new(sandbox, path, max, capture_head(&sink->capture),
	                        capture_tail(&sink->capture), &spill_events, sink);
}

void process_took(struct process *process, bool is_stderr, struct view bytes)
{
	struct process_sink *sink = &process->sinks[is_stderr];

	if (sink->spill == NULL && capture_would_lose(&sink->capture, bytes.len))
		begin_file(sink);
	capture_add(&sink->capture, bytes);
	journal_add(&process->journal, is_stderr, bytes);
	process->is_last_stderr = is_stderr;
	process_changed(process);
	sink->owed += bytes.len;
	if (sink->spill != NULL)
		spill_add(sink->spill, bytes);
	else
		on_taken(sink, bytes.len);
}

/* --- the end ---------------------------------------------------------------------------------- */

static void become_over(struct process *process, enum process_phase phase)
{
	process->phase = phase;
	process->ended_ms = clock_now_ms();
	arena_done(&process->arena);
	process->wish = (struct process_options){ 0 };
	buf_done(&process->in);
	buf_init(&process->in, 1);
	process_changed(process);
	if (process->processes == NULL)
		return;
	process_note_end(process);
	sandbox_release(process->processes->sandbox);
	if (process->is_detached)
		process_forget_oldest(process->processes, process);
}

void process_let_go(struct process *process)
{
	if (process->op != NULL)
		files_cancel(process->op);
	process->op = NULL;
	list_remove(&process->languages.node);
	list_remove(&process->turn.node);
	limit_check_cancel(&process->judge);
	loop_timer_stop(process->clock);
	if (process->run != NULL)
		run_cancel(process->run);
	process->run = NULL;
	if (process->interpreter != NULL && process->cell.session != NULL)
		(void)session_lose(process->cell.session,
		                   "the cell that ran in it was thrown away");
	else if (process->interpreter != NULL)
		kernels_discard(process->processes->kernels, process->interpreter);
	process->interpreter = NULL;
	session_leave(&process->cell);
	for (int i = 0; i < 2; i++)
		if (process->sinks[i].spill != NULL)
			spill_stop(process->sinks[i].spill);
	process_remove_dir(process);
}

void process_fail(struct process *process, const struct error *why)
{
	process->why = *why;
	process_let_go(process);
	become_over(process, PROCESS_FAILED);
}

static void end_if_closed(struct process *process)
{
	if (process->sinks[0].is_waiting || process->sinks[1].is_waiting)
		return;
	become_over(process, PROCESS_ENDED);
}

static void on_file_over(void *ctx)
{
	struct process_sink *sink = ctx;

	sink->is_waiting = false;
	end_if_closed(sink->process);
}

/* What waits for its file is in memory: the source need not wait for it, and may go. */
static void settle(struct process_sink *sink)
{
	give_back(sink, sink->owed);
	sink->owed = 0;
	if (sink->spill == NULL)
		return;
	sink->is_waiting = true;
	spill_end(sink->spill);
}

void process_finish(struct process *process)
{
	process->is_finishing = true;
	loop_timer_stop(process->clock);
	process_remove_dir(process);
	for (int i = 0; i < 2; i++)
		settle(&process->sinks[i]);
	process->run = NULL;
	process->interpreter = NULL;
	session_leave(&process->cell);
	end_if_closed(process);
}
