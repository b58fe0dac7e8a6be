/* process_events.c - the events of a process's run: output and the end (see internal.h). */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "engine/spec.h"
#include "sandbox/channel/files.h"
#include "sandbox/interpreter/kernel_wire.h"
#include "sandbox/process/internal.h"
#include "sandbox/registry/history.h"
#include "sandbox/sandbox.h"

#define OUTPUT_DIR SPEC_WORKSPACE "/.belljar/output"
/* The agent's message about a program that is to start in the workspace. */
#define NO_WORKSPACE "cwd " SPEC_WORKSPACE ": No such file or directory"

/* --- output ----------------------------------------------------------------------------------- */

/* The file has taken bytes, so the run may print as many more. */
static void on_spilled(void *ctx, size_t bytes)
{
	struct process_sink *sink = ctx;

	if (sink->process->run != NULL)
		run_consumed(sink->process->run, sink->is_stderr, bytes);
}

static void on_file_closed(void *ctx);

static const struct spill_events spill_events = { on_spilled, on_file_closed };

/* Process ids begin anew with every server, so the name of the file includes the start time. */
const char *process_file_path(const struct process *process, bool is_stderr, char *out, size_t size)
{
	(void)snprintf(out, size, OUTPUT_DIR "/%llx-%s-%s.txt",
	               (unsigned long long)process->started_s, process->id,
	               is_stderr ? "stderr" : "stdout");
	return out;
}

static void open_file(struct process_sink *sink)
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

/* Removes all output so far, unless a stream is too long for the memory: the file with all of it
 * could not be changed. The log of a detached process keeps its bytes, which may have been
 * read already. */
static void clear_output(struct process *process)
{
	process->is_clear_due = false;
	if (process->sinks[0].spill != NULL || process->sinks[1].spill != NULL)
		return;
	for (int i = 0; i < 2; i++)
		capture_clear(&process->sinks[i].capture);
	journal_clear(&process->journal);
}

static void clear_if_due(struct process *process)
{
	const struct kernel_message all = { .type = KERNEL_CLEARED };

	if (!process->is_clear_due)
		return;
	displays_add(&process->displays, &all);
	clear_output(process);
}

static void on_output(void *ctx, bool is_stderr, struct view bytes)
{
	struct process *process = ctx;
	struct process_sink *sink = &process->sinks[is_stderr];

	clear_if_due(process);
	/* The file is created with the first byte that the capture cannot keep, while the capture
	 * still has everything in front of it. */
	if (sink->spill == NULL && capture_would_lose(&sink->capture, bytes.len))
		open_file(sink);
	capture_add(&sink->capture, bytes);
	output_log_add(&process->log, is_stderr, bytes);
	journal_add_bytes(&process->journal, is_stderr, bytes.len);
	process->is_last_stderr = is_stderr;
	process_changed(process);
	if (sink->spill != NULL)
		spill_add(sink->spill, bytes);
	else
		run_consumed(process->run, is_stderr, bytes.len);
}

static void on_display(void *ctx, const struct kernel_message *message)
{
	struct process *process = ctx;
	bool is_clear = message->type == KERNEL_CLEARED && message->cleared.id.len == 0;
	size_t count;

	if (is_clear && message->cleared.waits) {
		process->is_clear_due = true;
		return;
	}
	if (message->type == KERNEL_CLEARED)
		process->is_clear_due &= !is_clear;
	else
		clear_if_due(process);
	count = process->displays.count;
	displays_add(&process->displays, message);
	if (is_clear)
		clear_output(process);
	/* An update has the number of the display that it replaces. */
	if (process->displays.count > count && process->displays.items[count].number == 0)
		process->displays.items[count].number = journal_add_display(&process->journal);
	process_changed(process);
}

/* --- the end ---------------------------------------------------------------------------------- */

static void describe_outcome(const struct process *process, char *out, size_t size)
{
	const struct run_end *end = &process->end;

	if (process->phase == PROCESS_FAILED)
		(void)snprintf(out, size, "failed: %.80s", process->why.msg);
	else if (end->compile_failed)
		(void)snprintf(out, size, "does not compile");
	else if (end->timed_out)
		(void)snprintf(out, size, "timed out");
	else if (end->signal != 0)
		(void)snprintf(out, size, "killed by SIG%s", sigabbrev_np(end->signal));
	else
		(void)snprintf(out, size, "exit code %d", end->code);
}

/* The only place where a process becomes ENDED or FAILED while its sandbox exists: frees the
 * options, notifies the watches, and records the end in the history. */
static void report_end(struct process *process, enum process_phase phase)
{
	char outcome[HISTORY_OUTCOME_MAX];

	process->phase = phase;
	process->ended_ms = clock_now_ms();
	arena_done(&process->arena);
	process->options = (struct process_options){ 0 };
	buf_done(&process->in);
	buf_init(&process->in, 1);
	process_changed(process);
	if (process->processes == NULL)
		return;
	if (process->is_by_name)
		processes_start_spare(process->processes, AFTER_RUN_MS);
	describe_outcome(process, outcome, sizeof outcome);
	sandbox_record_run(process->processes->sandbox, process->started_s,
	                   process->ended_ms - process->started_ms, process->label, outcome);
	sandbox_release(process->processes->sandbox);
	if (process->is_detached)
		process_free_oldest(process->processes, process);
}

void process_release(struct process *process)
{
	if (process->op != NULL)
		files_cancel(process->op);
	process->op = NULL;
	list_remove(&process->language_request.node);
	if (process->run != NULL)
		run_cancel(process->run);
	process->run = NULL;
	session_leave(&process->cell);
	for (int i = 0; i < 2; i++)
		if (process->sinks[i].spill != NULL)
			spill_stop(process->sinks[i].spill);
}

/* Without root on the host the root of a sandbox belongs to its programs, and `rm -rf /workspace`
 * removes the directory in which all of them start. */
static void add_workspace_advice(struct process *process)
{
	const bool has_tools = sandbox_reader(process->processes->sandbox) == SANDBOX_FOR_TOOLS;
	const struct error why = process->why;

	if (strncmp(why.msg, NO_WORKSPACE, strlen(NO_WORKSPACE)) == 0)
		(void)error_set(&process->why, why.kind, "%s: a program has removed it%s", why.msg,
		                has_tools ? "; run_command {\"command\":\"mkdir " SPEC_WORKSPACE
		                            "\",\"cwd\":\"/\"} makes it again"
		                          : "");
}

void process_fail(struct process *process, const struct error *why)
{
	process->why = *why;
	add_workspace_advice(process);
	process_release(process);
	report_end(process, PROCESS_FAILED);
}

static void report_end_if_closed(struct process *process)
{
	if (!process->sinks[0].is_closing && !process->sinks[1].is_closing)
		report_end(process, PROCESS_ENDED);
}

static void on_file_closed(void *ctx)
{
	struct process_sink *sink = ctx;

	sink->is_closing = false;
	report_end_if_closed(sink->process);
}

/* --- events of the run ------------------------------------------------------------------------ */

static void on_compiling(void *ctx)
{
	struct process *process = ctx;

	process->phase = PROCESS_COMPILING;
	process_changed(process);
}

void process_started(struct process *process)
{
	const struct process_options *options = &process->options;
	bool has_input = options->keep_input || options->in.len != 0;
	struct error err;

	process->phase = PROCESS_RUNNING;
	if (!process->is_recorded)
		sandbox_record_start(process->processes->sandbox, process->started_s,
		                     process->label);
	process->is_recorded = true;
	process_changed(process);
	if (!has_input)
		return;
	process->takes_input = true;
	process->in_ended |= !options->keep_input; /* process_end_input() may have come before */
	if (process_put_first_input(process, &err) < 0)
		process_fail(process, &err);
	else
		process_feed(process);
}

static void on_started(void *ctx)
{
	process_started(ctx);
}

static void on_writable(void *ctx)
{
	process_feed(ctx);
}

static void on_exited(void *ctx)
{
	struct process *process = ctx;

	process->has_exited = true;
	process_changed(process);
}

/* The process is over when its files are closed, so that a caller who learns of the end finds them
 * complete. The next cell of the session need not wait for that. */
static void on_ended(void *ctx, const struct run_end *end)
{
	struct process *process = ctx;

	process->run = NULL;
	process->end = *end;
	for (int i = 0; i < 2; i++)
		if (process->sinks[i].spill != NULL) {
			process->sinks[i].is_closing = true;
			spill_end(process->sinks[i].spill);
		}
	session_leave(&process->cell);
	report_end_if_closed(process);
}

static void on_failed(void *ctx, const struct error *why)
{
	struct process *process = ctx;

	process->run = NULL;
	if (!process_retry(process, why))
		process_fail(process, why);
}

const struct run_events process_run_events = {
	.compiling = on_compiling,
	.started = on_started,
	.output = on_output,
	.writable = on_writable,
	.display = on_display,
	.exited = on_exited,
	.ended = on_ended,
	.failed = on_failed,
};
