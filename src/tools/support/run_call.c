#include "tools/support/run_call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/text/utf8.h"
#include "mcp/content.h"
#include "sandbox/channel/files.h"
#include "sandbox/process/process.h"
#include "sandbox/sandbox.h"
#include "tools/catalogue.h"
#include "tools/support/run_result.h"

/* Long enough to see a program that dies at once. */
enum { BACKGROUND_MS = 200 };

static struct run_call *run_of(struct work *work)
{
	return (struct run_call *)(void *)work;
}

int run_call_begin(struct mcp_call *call, const struct work_callbacks *calls,
                   const struct run_call *like, const char *sandbox, struct error *err)
{
	uint64_t now = clock_now_ms();
	struct work *work, begun;
	struct run_call *run;

	if (work_start(call, sizeof *run, calls, sandbox, &work, err) < 0)
		return -1;
	begun = *work;
	run = run_of(work);
	*run = *like;
	run->work = begun;
	run->began_ms = now;
	run->is_named = sandbox != NULL;
	return 0;
}

static struct run_result result_of(struct run_call *run, struct process_state *state)
{
	struct run_result result = { .state = state,
		                     .session = run->session,
		                     .timeout_ms = run->timeout_ms,
		                     .max = run->work.context->max_output };

	process_state(run->process, state);
	run_result_streams(&result, run->process);
	return result;
}

static void answer(struct run_call *run)
{
	struct process_state state;
	struct run_result result = result_of(run, &state);
	json_t *content = json_list(), *structured, *block;
	AUTO_FREE char *text = NULL;
	size_t i;

	keep_name(&run->keep, &result);
	if (run->is_named)
		result.sandbox = sandbox_row(run->work.sandbox)->spec.id;
	if (run->pictures.blocks != NULL)
		result.unshown = run->pictures.unshown;
	if (!process_is_over(run->process) || run->is_background) {
		result.process = process_id(run->process);
		result.next = result.out_bytes + result.error_bytes;
	}
	run_result_make(&result, &text, &structured);
	json_push(content, mcp_text_view(view_of(text)));
	json_array_foreach (run->pictures.blocks, i, block)
		json_push(content, json_incref(block));
	if (i != 0) { /* many clients show only the one or the other */
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

static void on_kept(void *ctx)
{
	answer(ctx);
}

static void on_pictures(void *ctx)
{
	struct run_call *run = ctx;
	struct process_state state;
	struct run_result result = result_of(run, &state);

	keep_begin(&run->keep, run->work.sandbox, run->process, &result, on_kept, run);
}

static void on_followed(void *ctx, bool is_over)
{
	struct run_call *run = ctx;
	struct process_state state;

	process_state(run->process, &state);
	if (state.phase == PROCESS_FAILED && process_stream(run->process, false).total == 0 &&
	    process_stream(run->process, true).total == 0)
		work_fail(&run->work, state.why);
	else if (is_over && run->takes_pictures && !run->work.is_cancelled &&
	         pictures_are_there(run->process))
		pictures_begin(&run->pictures, run->work.sandbox, run->process,
		               run->work.context->picture_bytes, on_pictures, run);
	else if (is_over && !run->work.is_cancelled && !run->is_background)
		on_pictures(run);
	else
		answer(run);
}

int run_call_start(struct run_call *run, struct process_options *wish, struct error *err)
{
	uint64_t until = run->began_ms + run->work.context->answer_within_ms;

	wish->deadline_ms = run->timeout_ms;
	wish->keep_input = wish->detached = run->is_background;
	if (run->is_background)
		until = clock_now_ms() + BACKGROUND_MS;
	if (sandbox_channel(run->work.sandbox) == NULL)
		return work_sandbox_gone(err);
	if (process_start(run->work.sandbox, wish, &run->process, err) < 0)
		return -1;
	return follow_begin(&run->follow, run->work.call, run->process, run->began_ms, until,
	                    on_followed, run, err);
}

static void on_directory(void *ctx, const struct files_reply *answer, const struct error *why)
{
	struct run_call *run = ctx;
	struct wire_entry entry;
	struct error err;
	struct view rest;
	int result = 0;

	run->op = NULL;
	if (why != NULL) {
		err = *why;
		result = error_wrap(&err, "argument 'cwd'");
	} else {
		rest = answer->bytes;
		if (!files_next_entry(&rest, &entry) || entry.type != WIRE_FILE_DIRECTORY)
			result = error_set(&err, ERR_INVALID, "argument 'cwd': it is no directory");
	}
	if (result == 0)
		result = run->start(run, &err);
	if (result < 0)
		work_fail(&run->work, &err);
}

int run_call_start_in(struct run_call *run, const char *cwd,
                      int (*start)(struct run_call *run, struct error *err), struct error *err)
{
	struct channel *channel = sandbox_channel(run->work.sandbox);

	if (cwd == NULL || channel == NULL)
		return start(run, err);
	run->start = start;
	return files_start(
	        channel,
	        &(struct wire_message){ .type = WIRE_STAT, .stat = { .path = view_of(cwd) } },
	        (struct view){ 0 }, 64 * 1024, on_directory, run, &run->op, err);
}

/* A cell is interrupted, and its session lives on: so it has to be waited for. Anything else ends
 * here with what it started. */
void run_call_cancel(struct work *work)
{
	struct run_call *run = run_of(work);

	if (run->process == NULL && run->op == NULL)
		return; /* what it waits for cannot be dropped, and will see to it */
	if (run->process != NULL && run->session != NULL && !process_is_over(run->process)) {
		process_stop(run->process);
		follow_to_the_end(&run->follow);
		return;
	}
	work_answer(work, json_list(), NULL);
}

void run_call_done(struct work *work)
{
	struct run_call *run = run_of(work);

	if (run->op != NULL)
		files_cancel(run->op);
	follow_end(&run->follow);
	pictures_done(&run->pictures);
	keep_done(&run->keep);
	if (run->process != NULL)
		process_free(run->process);
}

int run_call_timeout(const struct tools_context *context, double wanted_s, uint32_t when_absent_ms,
                     uint32_t *ret_ms, struct error *err)
{
	if (wanted_s > (double)context->timeout_max_s)
		return error_set(err, ERR_LIMIT,
		                 "argument 'timeout_s': expected at most %u seconds, got %g; for "
		                 "more use run_command with background: true and no timeout_s",
		                 context->timeout_max_s, wanted_s);
	*ret_ms = when_absent_ms;
	if (wanted_s > 0)
		*ret_ms = wanted_s < 0.001 ? 1 : (uint32_t)(wanted_s * 1000);
	return 0;
}

int run_call_check_env(const struct param_map *env, struct error *err)
{
	char shown[64];

	for (size_t i = 0; i < env->count; i++) {
		const char *name = env->items[i].name;

		if (name[0] == '\0' || strchr(name, '=') != NULL)
			return error_set(err, ERR_INVALID,
			                 "argument 'env': \"%s\" cannot be a variable's name: it "
			                 "has at least one character, and no '='",
			                 utf8_escape(view_of(name), shown, sizeof shown));
	}
	return 0;
}

char **run_call_env(const struct param_map *env)
{
	char **list = mem_array(env->count + 1, sizeof *list);

	for (size_t i = 0; i < env->count; i++)
		list[i] = mem_format("%s=%s", env->items[i].name, env->items[i].value);
	return list;
}

void run_call_free_list(char ***list)
{
	for (size_t i = 0; *list != NULL && (*list)[i] != NULL; i++)
		free((*list)[i]);
	free(*list);
}

int run_call_check_cwd(const char *cwd, struct error *err)
{
	if (cwd == NULL || work_check_path(cwd, err) == 0)
		return 0;
	return error_wrap(err, "argument 'cwd'");
}
