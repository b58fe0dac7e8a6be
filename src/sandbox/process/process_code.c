/* process_code.c - code in a language, step by step: saved, compiled, run, removed (see
 * process_internal.h). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "kernels/languages.h"
#include "loop/loop.h"
#include "sandbox/channel/channel.h"
#include "sandbox/channel/files.h"
#include "sandbox/process/process_internal.h"
#include "sandbox/sandbox.h"

enum { CODE_PERM = 0644, FILLED_MAX = 512 };

/* --- one program ------------------------------------------------------------------------------ */

int process_run_program(struct process *process, const char *const *argv, bool has_input,
                        uint32_t deadline_ms, const struct run_events *events, struct error *err)
{
	const struct process_options *wish = &process->wish;
	bool takes_input = has_input && (wish->keep_input || wish->in.len != 0 || wish->terminal);
	const struct run_options run_options = {
		.argv = argv,
		.env = wish->env,
		.cwd = wish->cwd,
		.deadline_ms = deadline_ms,
		.with_stdin = takes_input,
		.terminal = has_input && wish->terminal,
		.rows = wish->rows,
		.columns = wish->columns,
	};

	if (run_start(process->processes->sandbox, &run_options, events, process, &process->run,
	              err) < 0)
		return -1;
	process->phase = PROCESS_RUNNING;
	process_changed(process);
	if (!takes_input)
		return 0;
	process->takes_input = true;
	process->in_ended |= !wish->keep_input; /* it may have been ended ahead */
	if (process_put_first_input(process, err) < 0)
		return -1;
	process_feed(process);
	return 0;
}

static void on_output(void *ctx, bool is_stderr, struct view bytes)
{
	process_took(ctx, is_stderr, bytes);
}

static void on_writable(void *ctx)
{
	process_feed(ctx);
}

static void on_ended(void *ctx, const struct run_end *end)
{
	struct process *process = ctx;

	process->run = NULL;
	process->end = *end;
	process_finish(process);
}

static void on_failed(void *ctx, const struct error *why)
{
	struct process *process = ctx;

	process->run = NULL;
	process_fail(process, why);
}

const struct run_events process_run_events = {
	.output = on_output, .writable = on_writable, .ended = on_ended, .failed = on_failed
};

/* --- arguments -------------------------------------------------------------------------------- */

static const char *const none[] = { NULL };

static const char *fill(struct process *process, const char *arg)
{
	char file[128], out[64], text[FILLED_MAX + 1] = "";
	const struct language_paths place = { process->program, file, process->dir, out };
	struct buf filled = buf_fixed(text, sizeof text);
	struct error err;

	(void)snprintf(file, sizeof file, "%s/%s", process->dir, process->wish.language->file);
	(void)snprintf(out, sizeof out, "%s/program", process->dir);
	/* There is room for what a table holds. */
	(void)!language_argument(arg, &place, &filled, &err);
	return arena_text(&process->arena, text);
}

static const char *const *fill_all(struct process *process, const char *const *args,
                                   const char *const *more)
{
	const char **argv;
	size_t count = 0, extra = 0;

	while (count < LANGUAGE_ARGS_MAX && args[count] != NULL)
		count++;
	while (more[extra] != NULL)
		extra++;
	argv = arena_new(&process->arena, count + extra + 1, sizeof *argv);
	for (size_t i = 0; i < count; i++)
		argv[i] = fill(process, args[i]);
	for (size_t i = 0; i < extra; i++)
		argv[count + i] = more[i];
	return argv;
}

/* --- the steps -------------------------------------------------------------------------------- */

/* All steps share one deadline. One that is over leaves the next a moment, which ends it. */
static uint32_t time_left(const struct process *process)
{
	uint64_t now = clock_now_ms();

	if (process->deadline_at == 0)
		return 0;
	return now < process->deadline_at ? (uint32_t)(process->deadline_at - now) : 1;
}

static void run_it(struct process *process)
{
	const char *const *args = process->wish.args != NULL ? process->wish.args : none;
	const char *const *argv = fill_all(process, process->runner->run, args);
	struct error err;

	process->sinks[0].owed = process->sinks[1].owed = 0; /* those of the compiler */
	if (process_run_program(process, argv, true, time_left(process), &process_run_events,
	                        &err) < 0)
		process_fail(process, &err);
}

static void on_compiled(void *ctx, const struct run_end *end)
{
	struct process *process = ctx;
	bool is_made = end->code == 0 && end->signal == 0 && !end->timed_out;
	struct error err;

	process->run = NULL;
	if (is_made && process->is_stopped) {
		(void)error_set(&err, ERR_SYSTEM, "it was stopped before it began");
		process_fail(process, &err);
		return;
	}
	if (is_made) {
		run_it(process);
		return;
	}
	process->compile_failed = !end->timed_out && !process->is_stopped;
	process->end = *end;
	process_finish(process);
}

static const struct run_events compile_events = { .output = on_output,
	                                          .ended = on_compiled,
	                                          .failed = on_failed };

static void on_saved(void *ctx, const struct files_reply *answer, const struct error *why)
{
	struct process *process = ctx;
	struct error err;

	(void)answer;
	process->op = NULL;
	if (why != NULL) {
		err = *why;
		(void)error_wrap(&err, "the code cannot be saved");
		process_fail(process, &err);
		return;
	}
	if (process->wish.deadline_ms != 0)
		process->deadline_at = clock_now_ms() + process->wish.deadline_ms;
	if (process->runner->compile[0] == NULL) {
		run_it(process);
		return;
	}
	if (process_run_program(process, fill_all(process, process->runner->compile, none), false,
	                        time_left(process), &compile_events, &err) < 0)
		process_fail(process, &err);
	else
		process->phase = PROCESS_COMPILING;
}

void process_name_dir(struct process *process)
{
	uint32_t number;

	if (getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number)
		abort();
	(void)snprintf(process->dir, sizeof process->dir, "/tmp/belljar-%u", number);
}

static void save(struct process *process)
{
	struct channel *channel = sandbox_channel(process->processes->sandbox);
	struct wire_message request = { .type = WIRE_WRITE };
	char path[128];
	struct error err;

	process_name_dir(process);
	(void)snprintf(path, sizeof path, "%s/%s", process->dir, process->wish.language->file);
	request.write = (struct wire_write){ .mode = WIRE_WRITE_REPLACE,
		                             .flags = WIRE_PARENTS,
		                             .perm = CODE_PERM,
		                             .max = process->wish.code.len,
		                             .path = view_of(path) };
	if (channel == NULL)
		(void)error_set(&err, ERR_SYSTEM, "the sandbox ended");
	else if (files_start(channel, &request, process->wish.code, 0, on_saved, process,
	                     &process->op, &err) == 0)
		return;
	process_fail(process, &err);
}

/* Nobody hears how it went. */
void process_remove_dir(struct process *process)
{
	static const struct channel_stream_events nobody;
	struct wire_message request = { .type = WIRE_REMOVE };
	struct channel *channel = process->processes != NULL && process->dir[0] != '\0'
	                                  ? sandbox_channel(process->processes->sandbox)
	                                  : NULL;
	struct channel_stream *stream;
	struct error err;

	if (channel != NULL) {
		request.remove = (struct wire_remove){ WIRE_RECURSIVE, view_of(process->dir) };
		(void)!channel_open(channel, &request, &nobody, NULL, &stream, &err);
	}
	process->dir[0] = '\0';
}

/* --- which program ---------------------------------------------------------------------------- */

static int index_of(const struct language *language)
{
	for (size_t i = 0; i < language_count; i++)
		if (strcmp(languages[i].name, language->name) == 0)
			return (int)i;
	return -1;
}

static void on_looked(void *ctx, const struct error *why)
{
	if (why != NULL)
		process_fail(ctx, why);
	else
		process_run_code(ctx);
}

void process_look(struct process *process)
{
	process->has_looked = true;
	process->languages.fn = on_looked;
	process->languages.ctx = process;
	probe_ask(process->processes->probe, &process->languages);
}

/* Of several programs the kernel is for the first, whether it is called python3 or python. */
static bool is_for_kernel(const struct process *process)
{
	const struct language *language = process->wish.language;
	const char *program = process->runner->program;

	return language->kernel != NULL && !process->wish.terminal && !process->wish.keep_input &&
	       strncmp(language->runners[0].program, program, strlen(program)) == 0;
}

static void fail_without_kernel(struct process *process)
{
	const struct language *language = process->wish.language;
	struct error err;

	(void)error_set(&err, ERR_NOT_FOUND,
	                "session: %s keeps state with %s only, which this sandbox does not have; "
	                "without a session it is run by %s",
	                language->title, language->runners[0].program, process->program);
	process_fail(process, &err);
}

void process_run_code(struct process *process)
{
	const struct language *language = process->wish.language;
	const struct language_found *found = probe_found(process->processes->probe);
	int i = index_of(language);
	struct error err;

	if (i < 0 || found->of[i].runner < 0 || found->of[i].runner >= LANGUAGE_RUNNERS_MAX) {
		if (process->has_looked) {
			(void)language_not_found(found, language, &err);
			process_fail(process, &err);
			return;
		}
		process_look(process); /* it may have been installed since somebody looked */
		return;
	}
	process->runner = &language->runners[found->of[i].runner];
	process->program = arena_text(&process->arena, found->of[i].path);
	if (is_for_kernel(process))
		process_use_kernel(process, process->program);
	else if (process->wish.session != NULL)
		fail_without_kernel(process);
	else
		save(process);
}
