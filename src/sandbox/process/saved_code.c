/* saved_code.c - the run of code that is saved, compiled, executed and removed (see internal.h). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "kernels/languages.h"
#include "sandbox/channel/channel.h"
#include "sandbox/channel/files.h"
#include "sandbox/interpreter/kernel_wire.h"
#include "sandbox/process/internal.h"
#include "sandbox/run/code_dir.h"
#include "sandbox/sandbox.h"

enum { CODE_PERM = 0644 };

struct saved_code {
	struct run run;
	struct sandbox *sandbox;
	struct saved_code_options options;
	struct run_options run_options;
	struct arena arena; /* of the arguments */
	struct code_dir dir;
	struct files_op *op;  /* the file is being written */
	struct run *step;     /* the compiler, then the program; NULL: neither */
	bool is_compiling;    /* the step is the compiler */
	bool is_stopped;      /* run_stop() was called */
	uint64_t deadline_at; /* of all steps together; 0: none */
	size_t unconsumed[2]; /* output of the current step that was not returned */
	size_t discarded[2];  /* credit that comes back for the compiler, which has ended */
	struct buf displays;  /* the front of a message that has not arrived completely */
	bool has_bad_display; /* a message was malformed: later ones are ignored */
};

static const struct run_ops saved_code_ops;

static struct saved_code *saved_code_of(struct run *run)
{
	return container_of(run, struct saved_code, run);
}

static void free_saved_code(struct run *run)
{
	struct saved_code *code = saved_code_of(run);

	code_dir_remove(&code->dir, code->sandbox);
	arena_done(&code->arena);
	buf_done(&code->displays);
	free(code);
}

/* --- command lines ---------------------------------------------------------------------------- */

/* A command line of the table of languages, with the arguments `more` (or NULL) behind it. */
static const char *const *fill_command(struct saved_code *code, const char *const *command,
                                       const char *const *more)
{
	char file[128], out[64], memory[24];
	const struct language_paths paths = { code->options.program, file, code->dir.path, out,
		                              memory };

	(void)snprintf(file, sizeof file, "%s/%s", code->dir.path, code->options.language->file);
	(void)snprintf(out, sizeof out, "%s/program", code->dir.path);
	(void)snprintf(memory, sizeof memory, "%llu",
	               (unsigned long long)sandbox_row(code->sandbox)->spec.limits.memory);
	return language_command(command, &paths, more, &code->arena);
}

/* --- steps ------------------------------------------------------------------------------------ */

/* If the deadline has passed between two steps, the next step gets one millisecond, so that its end
 * is reported as a time-out. */
static uint32_t time_left(const struct saved_code *code)
{
	uint64_t now = clock_now_ms();

	if (code->deadline_at == 0)
		return 0;
	return now < code->deadline_at ? (uint32_t)(code->deadline_at - now) : 1;
}

static void on_output(void *ctx, bool is_stderr, struct view bytes)
{
	struct saved_code *code = ctx;

	code->unconsumed[is_stderr] += bytes.len;
	code->run.events->output(code->run.ctx, is_stderr, bytes);
}

static void on_writable(void *ctx)
{
	struct saved_code *code = ctx;

	run_report_writable(&code->run);
}

static void on_failed(void *ctx, const struct error *why)
{
	struct saved_code *code = ctx;

	code->step = NULL;
	run_report_failure(&code->run, why);
}

static void on_ended(void *ctx, const struct run_end *end)
{
	struct saved_code *code = ctx;

	code->step = NULL;
	run_report_end(&code->run, end);
}

/* Passes on what the program displays. Any other message is ignored: how the program ends is known
 * from its exit status. */
static int receive_displays(struct saved_code *code, struct view bytes, struct error *err)
{
	struct kernel_message message;
	int r;

	if (buf_add(&code->displays, bytes, err) < 0)
		return -1;
	bytes = buf_view(&code->displays);
	while ((r = kernel_decode(&bytes, &message, err)) == 1)
		if (message.type == KERNEL_SHOWN || message.type == KERNEL_CLEARED)
			code->run.events->display(code->run.ctx, &message);
	memmove(code->displays.ptr, bytes.ptr, bytes.len);
	buf_truncate(&code->displays, bytes.len);
	return r;
}

static void on_control(void *ctx, struct view bytes)
{
	struct saved_code *code = ctx;
	struct error err;

	if (!code->has_bad_display && receive_displays(code, bytes, &err) < 0)
		code->has_bad_display = true;
}

static const struct run_events program_events = { .output = on_output,
	                                          .writable = on_writable,
	                                          .control = on_control,
	                                          .ended = on_ended,
	                                          .failed = on_failed };

static void start_program(struct saved_code *code)
{
	struct run_options options = *code->options.run;
	struct error err;

	options.argv = fill_command(code, code->options.runner->run, code->options.args);
	options.deadline_ms = time_left(code);
	options.limits_data = code->options.runner->limits_data;
	options.with_control = code->options.runner->has_displays &&
	                       code->run.events->display != NULL;
	if (run_start(code->sandbox, &options, &program_events, code, &code->step, &err) < 0) {
		run_report_failure(&code->run, &err);
		return;
	}
	code->run.events->started(code->run.ctx);
}

static void on_compiled(void *ctx, const struct run_end *compiler_end)
{
	struct saved_code *code = ctx;
	struct run_end end = *compiler_end;
	bool is_compiled = end.code == 0 && end.signal == 0 && !end.timed_out;
	struct error err;

	code->step = NULL;
	code->is_compiling = false;
	for (int i = 0; i < 2; i++) {
		code->discarded[i] = code->unconsumed[i];
		code->unconsumed[i] = 0;
	}
	if (is_compiled && code->is_stopped) {
		(void)error_set(&err, ERR_SYSTEM, "the process was stopped before it started");
		run_report_failure(&code->run, &err);
		return;
	}
	if (is_compiled) {
		start_program(code);
		return;
	}
	end.compile_failed = !end.timed_out && !code->is_stopped;
	run_report_end(&code->run, &end);
}

static const struct run_events compiler_events = { .output = on_output,
	                                           .ended = on_compiled,
	                                           .failed = on_failed };

static void start_compiler(struct saved_code *code)
{
	const struct run_options options = {
		.argv = fill_command(code, code->options.runner->compile, NULL),
		.env = code->options.run->env,
		.cwd = code->options.run->cwd,
		.deadline_ms = time_left(code),
	};
	struct error err;

	if (run_start(code->sandbox, &options, &compiler_events, code, &code->step, &err) < 0) {
		run_report_failure(&code->run, &err);
		return;
	}
	code->is_compiling = true;
	code->run.events->compiling(code->run.ctx);
}

static void on_saved(void *ctx, const struct files_reply *reply, const struct error *why)
{
	struct saved_code *code = ctx;
	struct error err;

	(void)reply;
	code->op = NULL;
	if (why != NULL) {
		err = *why;
		(void)error_wrap(&err, "the code cannot be saved");
		run_report_failure(&code->run, &err);
		return;
	}
	if (code->options.run->deadline_ms != 0)
		code->deadline_at = clock_now_ms() + code->options.run->deadline_ms;
	if (code->options.runner->compile[0] != NULL)
		start_compiler(code);
	else
		start_program(code);
}

void saved_code_start(struct run *run)
{
	struct saved_code *code = saved_code_of(run);
	struct channel *channel = sandbox_channel(code->sandbox);
	struct wire_message request = { .type = WIRE_WRITE };
	char path[128];
	struct error err;

	code_dir_choose(&code->dir, CODE_DIR_DISK);
	(void)snprintf(path, sizeof path, "%s/%s", code->dir.path, code->options.language->file);
	request.write = (struct wire_write){ .mode = WIRE_WRITE_REPLACE,
		                             .flags = WIRE_PARENTS,
		                             .perm = CODE_PERM,
		                             .max = code->options.code.len,
		                             .path = view_of(path) };
	if (channel == NULL)
		(void)error_set(&err, ERR_SYSTEM, "the sandbox ended");
	else if (files_start(channel, &request, code->options.code, 0, on_saved, code, &code->op,
	                     &err) == 0)
		return;
	run_report_failure(&code->run, &err);
}

struct run *saved_code_new(struct sandbox *sandbox, const struct saved_code_options *options,
                           const struct run_events *events, void *ctx)
{
	struct saved_code *code = mem_new(sizeof *code);

	code->run = (struct run){ &saved_code_ops, events, ctx };
	code->sandbox = sandbox;
	code->options = *options;
	code->run_options = *options->run;
	code->options.run = &code->run_options;
	buf_init(&code->displays, KERNEL_HEADER + KERNEL_MESSAGE_MAX + WIRE_FRAME_MAX);
	return &code->run;
}

/* --- operations ------------------------------------------------------------------------------- */

/* The run of the program; NULL while the compiler runs, which gets no input. */
static struct run *program_of(struct run *run)
{
	struct saved_code *code = saved_code_of(run);

	return code->is_compiling ? NULL : code->step;
}

static size_t saved_code_write(struct run *run, struct view bytes)
{
	return program_of(run) != NULL ? run_write(program_of(run), bytes) : 0;
}

static void saved_code_end_input(struct run *run)
{
	if (program_of(run) != NULL)
		run_end_input(program_of(run));
}

/* Credit for the compiler's output may come back while the program runs, because that output had to
 * reach its file first. The compiler's credit comes back first, and must not go to the program. */
static void saved_code_consumed(struct run *run, bool is_stderr, size_t bytes)
{
	struct saved_code *code = saved_code_of(run);
	size_t late = bytes < code->discarded[is_stderr] ? bytes : code->discarded[is_stderr];

	code->discarded[is_stderr] -= late;
	code->unconsumed[is_stderr] -= bytes - late;
	if (code->step != NULL)
		run_consumed(code->step, is_stderr, bytes - late);
}

static void saved_code_signal(struct run *run, int number)
{
	struct saved_code *code = saved_code_of(run);

	if (code->step != NULL)
		run_signal(code->step, number);
}

static void saved_code_stop(struct run *run)
{
	struct saved_code *code = saved_code_of(run);

	code->is_stopped = true;
	if (code->step != NULL)
		run_stop(code->step);
}

static void saved_code_cancel(struct run *run)
{
	struct saved_code *code = saved_code_of(run);

	if (code->op != NULL)
		files_cancel(code->op);
	if (code->step != NULL)
		run_cancel(code->step);
	free_saved_code(run);
}

static const struct run_ops saved_code_ops = {
	.write = saved_code_write,
	.end_input = saved_code_end_input,
	.consumed = saved_code_consumed,
	.signal = saved_code_signal,
	.stop = saved_code_stop,
	.cancel = saved_code_cancel,
	.free = free_saved_code,
};
