#include "tools/run/process_work.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "sandbox/sandbox.h"
#include "tools/catalogue.h"
#include "tools/files/changed_files.h"
#include "tools/files/file_work.h"
#include "tools/packages/auto_install.h"
#include "tools/packages/project_files.h"
#include "tools/packages/project_install.h"
#include "tools/run/answer/pictures.h"
#include "tools/run/answer/run_result.h"
#include "tools/run/save_output.h"
#include "tools/run/wait/wait_process.h"
#include "tools/support/work.h"

/* A call with `background` waits for this long before it answers, to report a program that fails at
 * once. */
enum { BACKGROUND_MS = 200 };

struct process_work {
	struct work work;
	struct process_work_options options;
	uint64_t began_ms;
	struct process *process; /* NULL: not started, or detached */
	struct wait_process wait;
	struct pictures pictures;
	struct run_fit fit; /* of the output, made once for the answer */
	bool is_fitted;
	struct save_output saved;
	struct changed_files changed;
	enum { CHANGES_UNASKED, CHANGES_ASKED, CHANGES_KNOWN } changes; /* of `changed` */
	bool waits_for_changes;
	struct project_install project;                                /* before the start */
	struct auto_install packages;                                  /* after the end */
	char remark[PROJECT_REMARK_MAX + AUTO_INSTALL_REMARK_MAX + 4]; /* of project and packages */
	uint64_t mark; /* of changed_files_mark(), before the start */
};

static struct process_work *process_work_of(struct work *work)
{
	return container_of(work, struct process_work, work);
}

/* When the client has to have an answer. A task has it whenever the process ends. */
static uint64_t find_due_time(const struct process_work *run)
{
	return mcp_call_is_task(run->work.call)
	               ? UINT64_MAX
	               : run->began_ms + run->work.context->answer_within_ms;
}

/* Until when the call waits for its process. */
static uint64_t find_wait_end(const struct process_work *run)
{
	return run->options.is_background ? clock_now_ms() + BACKGROUND_MS : find_due_time(run);
}

/* --- the answer ------------------------------------------------------------------------------- */

/* Describes the installations before and after the run in one line. The remark about a project
 * whose packages could not be installed covers the failure of a single one of them. */
static const char *describe_packages(struct process_work *run)
{
	const char *before = run->project.remark, *after = run->packages.remark;

	if (run->project.has_failed && !run->packages.is_installed)
		after = "";
	(void)snprintf(run->remark, sizeof run->remark, "%s%s%s", before,
	               before[0] != '\0' && after[0] != '\0' ? "; " : "", after);
	return run->remark[0] != '\0' ? run->remark : NULL;
}

static struct run_result make_result(struct process_work *run, struct process_state *state)
{
	struct run_result result = { .state = state,
		                     .session = run->options.process.session,
		                     .timeout_ms = run->options.process.deadline_ms,
		                     .programs_place = run->work.context->programs_place,
		                     .limits_of = run->work.sandbox,
		                     .max = run->work.context->max_output };

	process_state(run->process, state);
	result.remark = describe_packages(run);
	result.knows_packages = result.remark != NULL;
	run_result_streams(&result, run->process);
	if (!run->is_fitted)
		run_result_fit(&result, &run->fit);
	run->is_fitted = true;
	return result;
}

static void answer_call(struct process_work *run)
{
	struct process_state state;
	struct run_result result = make_result(run, &state);
	json_t *content, *structured;

	save_output_set_files(&run->saved, &result);
	result.changed = &run->changed;
	if (result.remark == NULL && sandbox_take_replacement(run->work.sandbox))
		result.remark = "the sandbox that earlier calls used was deleted or has expired, "
		                "with its files and sessions: this is a new one";
	if (run->options.sandbox != NULL)
		result.sandbox = sandbox_row(run->work.sandbox)->spec.id;
	if (run->pictures.blocks != NULL)
		result.unshown = run->pictures.unshown;
	if (!process_is_over(run->process) || run->options.is_background) {
		project_files_expire(sandbox_row(run->work.sandbox)->spec.id);
		result.process = process_id(run->process);
		result.next = result.out_bytes + result.error_bytes;
		if (wait_process_has_ended_all() && !process_is_over(run->process))
			result.remark =
			        "the server is being stopped and ends this process: what it "
			        "would print from now on is lost, files that it has written "
			        "stay; run it again when the server is back";
	}
	run_result_make(&result, &run->fit, run->pictures.blocks, &content, &structured);
	/* Many clients show only the structured content of an answer that has both, so an answer
	 * with pictures has none. */
	if (json_array_size(run->pictures.blocks) != 0) {
		json_decref(structured);
		structured = NULL;
	}
	if (result.process != NULL && !run->work.is_cancelled) {
		process_detach(run->process);
		process_set_read_offset(run->process, result.next);
		run->process = NULL;
	}
	work_answer(&run->work, content, structured);
}

static void on_saved(void *ctx)
{
	answer_call(ctx);
}

static void save_long_output(void *ctx)
{
	struct process_work *run = ctx;
	struct process_state state;
	struct run_result result = make_result(run, &state);

	save_output_start(&run->saved, run->work.sandbox, run->process, &result, &run->fit,
	                  on_saved, run);
}

static void on_changed(void *ctx)
{
	struct process_work *run = ctx;

	for (size_t i = 0; i < run->options.process.file_count; i++)
		file_report_change(&run->work, run->options.process.files[i].path, false);
	file_report_changed_files(run->work.context, sandbox_row(run->work.sandbox), &run->changed);
	if (run->changed.has_more)
		project_files_expire(sandbox_row(run->work.sandbox)->spec.id);
	if (run->options.takes_pictures && pictures_has_any(run->process))
		pictures_start(&run->pictures, run->work.sandbox, run->process,
		               run->work.context->picture_bytes, save_long_output, run);
	else if (!run->options.is_background)
		save_long_output(run);
	else
		answer_call(run);
}

static void on_changes(void *ctx)
{
	struct process_work *run = ctx;

	run->changes = CHANGES_KNOWN;
	if (run->waits_for_changes)
		on_changed(run);
}

/* Asks the agent which files the process has changed, while its end is still being reported. */
static void ask_for_changes(void *ctx)
{
	struct process_work *run = ctx;
	struct process_state state;

	if (run->changes != CHANGES_UNASKED)
		return;
	run->changes = CHANGES_ASKED;
	process_state(run->process, &state);
	changed_files_start(
	        &run->changed, run->work.sandbox,
	        &(struct changed_files_options){ .since_ns = state.run_began_ns,
	                                         .mark = run->mark,
	                                         .given = run->options.process.files,
	                                         .given_count = run->options.process.file_count,
	                                         .given_until_ns = state.given_until_ns },
	        on_changes, run);
}

static void wait_for_changes(struct process_work *run)
{
	ask_for_changes(run);
	run->waits_for_changes = true;
	if (run->changes == CHANGES_KNOWN)
		on_changed(run);
}

static void on_waited(void *ctx);

static void start_wait(struct process_work *run, uint64_t until_ms)
{
	const struct wait_options wait = { .call = run->work.call,
		                           .began_ms = run->began_ms,
		                           .until_ms = until_ms,
		                           .exited = ask_for_changes,
		                           .fn = on_waited,
		                           .ctx = run };

	wait_process_start(&run->wait, run->process, &wait);
}

/* The answer is due and the process still runs: a client that knows tasks gets a task instead of
 * the id of the process, and the result when the process has ended. */
static bool wait_as_task(struct process_work *run)
{
	if (run->options.is_background || run->work.is_cancelled ||
	    !mcp_call_start_task(run->work.call))
		return false;
	start_wait(run, UINT64_MAX);
	return true;
}

static void finish_run(struct process_work *run)
{
	bool is_over = process_is_over(run->process);
	struct process_state state;

	process_state(run->process, &state);
	if (state.phase == PROCESS_FAILED && process_stream(run->process, false).total == 0 &&
	    process_stream(run->process, true).total == 0)
		work_fail(&run->work, state.why);
	else if (is_over && !run->work.is_cancelled)
		wait_for_changes(run);
	else
		answer_call(run);
}

/* --- packages that the run lacks -------------------------------------------------------------- */

/* Runs the same once more. */
static int repeat_run(struct process_work *run, struct error *err)
{
	struct process *again;

	if (sandbox_channel(run->work.sandbox) == NULL)
		return work_sandbox_gone(err);
	if (process_start(run->work.sandbox, &run->options.process, &again, err) < 0)
		return -1;
	process_free(run->process);
	run->process = again;
	changed_files_done(&run->changed);
	run->changes = CHANGES_UNASKED;
	start_wait(run, find_wait_end(run));
	return 0;
}

static void on_installed(void *ctx, bool is_installed)
{
	struct process_work *run = ctx;
	struct error ignored;

	auto_install_done(&run->packages);
	if (!is_installed || run->work.is_cancelled || repeat_run(run, &ignored) < 0)
		finish_run(run);
}

static bool install_missing(struct process_work *run)
{
	uint64_t now = clock_now_ms(), end = find_wait_end(run);

	if (run->options.is_background || run->work.is_cancelled || now >= end)
		return false;
	return auto_install_start(&run->packages, &run->work, run->process, &run->options.process,
	                          end - now < UINT32_MAX ? (uint32_t)(end - now) : 0, on_installed,
	                          run);
}

static void on_waited(void *ctx)
{
	struct process_work *run = ctx;
	bool is_over = process_is_over(run->process);

	if ((!is_over && wait_as_task(run)) || (is_over && install_missing(run)))
		return;
	finish_run(run);
}

/* --- the process ------------------------------------------------------------------------------ */

static int start_process(struct process_work *run, struct error *err)
{
	struct process_options *options = &run->options.process;

	options->detached = run->options.is_background;
	/* The interpreter of a session reads the whole stdin of a cell from the RUN message. */
	options->keep_input = options->detached && options->session == NULL;
	if (sandbox_channel(run->work.sandbox) == NULL)
		return work_sandbox_gone(err);
	run->mark = changed_files_mark();
	if (process_start(run->work.sandbox, options, &run->process, err) < 0)
		return -1;
	start_wait(run, find_wait_end(run));
	return 0;
}

static void on_project(void *ctx, const struct error *why)
{
	struct process_work *run = ctx;
	struct error err;

	if (why != NULL)
		work_fail(&run->work, why);
	else if (start_process(run, &err) < 0)
		work_fail(&run->work, &err);
}

static int begin_run(struct work *work, struct error *err)
{
	struct process_work *run = process_work_of(work);

	if (project_install_start(&run->project, work, &run->options.process, find_due_time(run),
	                          on_project, run))
		return 0;
	return start_process(run, err);
}

/* A cell is interrupted and waited for, because its session continues. Any other process is killed
 * when the work is freed. */
static void cancel_process(struct work *work)
{
	struct process_work *run = process_work_of(work);

	project_files_expire(sandbox_row(work->sandbox)->spec.id);
	if (run->options.process.session != NULL && run->process != NULL &&
	    !process_is_over(run->process)) {
		process_stop(run->process);
		wait_process_set_endless(&run->wait);
		return;
	}
	work_answer(work, json_list(), NULL);
}

static void free_process_work(struct work *work)
{
	struct process_work *run = process_work_of(work);

	wait_process_stop(&run->wait);
	project_install_done(&run->project);
	auto_install_done(&run->packages);
	pictures_done(&run->pictures);
	save_output_done(&run->saved);
	changed_files_done(&run->changed);
	run_fit_done(&run->fit);
	process_free(run->process);
	arena_done(&run->options.arena);
}

static const struct work_callbacks process_work_callbacks = {
	.start = begin_run,
	.cancel = cancel_process,
	.done = free_process_work,
};

int process_work_start(struct mcp_call *call, struct process_work_options *options,
                       struct error *err)
{
	uint64_t now = clock_now_ms();
	struct process_work *run;
	struct work *work;

	if (work_start(call, sizeof *run, &process_work_callbacks, options->sandbox, &work, err) <
	    0) {
		arena_done(&options->arena);
		return -1;
	}
	run = process_work_of(work);
	run->options = *options;
	run->began_ms = now;
	return 0;
}
