/* process_prepare.c - from a new process to its run: files, directory, program (see internal.h). */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "kernels/kernels.h"
#include "kernels/languages.h"
#include "loop/loop.h"
#include "sandbox/channel/files.h"
#include "sandbox/process/internal.h"
#include "sandbox/sandbox.h"

enum { FILE_PERM = 0644, STAT_MAX = 64 * 1024 };

/* The kernel for the code, if this runner runs it; NULL: there is none. */
static const struct kernel_program *kernel_of(const struct process_options *options,
                                              const struct language_runner *runner)
{
	return options->session == NULL && runner->kernel != NULL ? runner->kernel
	                                                          : options->language->kernel;
}

/* --- the run ---------------------------------------------------------------------------------- */

static struct run_options run_options_of(const struct process *process)
{
	const struct process_options *options = &process->options;

	return (struct run_options){
		.argv = options->argv,
		.env = options->env,
		.cwd = options->cwd,
		.deadline_ms = options->deadline_ms,
		.with_stdin = options->keep_input || options->in.len != 0,
		.terminal = options->rows != 0,
		.rows = options->rows,
		.columns = options->columns,
	};
}

static void start_program(struct process *process)
{
	const struct run_options options = run_options_of(process);
	struct error err;

	if (run_start(process->processes->sandbox, &options, &process_run_events, process,
	              &process->run, &err) < 0)
		process_fail(process, &err);
	else
		process_started(process);
}

static void start_saved_code(struct process *process, const struct language_runner *runner,
                             const char *program)
{
	const struct process_options *options = &process->options;
	const struct run_options run_options = run_options_of(process);
	const struct saved_code_options code = { .language = options->language,
		                                 .runner = runner,
		                                 .program = program,
		                                 .code = options->code,
		                                 .args = options->args,
		                                 .run = &run_options };

	process->run = saved_code_new(process->processes->sandbox, &code, &process_run_events,
	                              process);
	saved_code_start(process->run);
}

static void start_in_interpreter(struct process *process, const struct kernel_program *kernel,
                                 const char *path)
{
	const struct process_options *options = &process->options;
	const struct process_limits *limits = sandbox_process_limits(process->processes->sandbox);
	const struct code_options code = {
		.program = kernel,
		.path = path,
		.code = options->code,
		.in = options->in,
		.args = options->args,
		.env = options->env,
		.cwd = options->cwd,
		.deadline_ms = options->deadline_ms,
		.picture_pixels = limits->pixels,
		.picture_bytes = limits->bytes,
		.cell = process->cell.session != NULL ? &process->cell : NULL,
		.report = &process->session,
	};

	process->run = code_run_new(process->processes->interpreters, &code, &process_run_events,
	                            process);
	code_run_start(process->run);
}

/* --- which program runs a language ------------------------------------------------------------ */

static void start_code(struct process *process);

static void on_languages(void *ctx, const struct error *why)
{
	if (why != NULL)
		process_fail(ctx, why);
	else
		start_code(ctx);
}

/* Starts an interpreter under the path that Python has nearly everywhere, while the languages of
 * the sandbox are still looked up. If the guess is wrong, the interpreter fails to start, or is
 * killed when the one with the right path is started. */
static void guess_python(struct processes *processes)
{
	if (!language_cache_get(processes->languages)->known)
		interpreter_pool_add_spare(processes->interpreters, &kernel_python,
		                           "/usr/bin/python3");
}

/* The language whose program runs the code; NULL: the process runs no code. A session of TypeScript
 * is run by JavaScript's program. */
static const struct language *host_of(const struct process_options *options)
{
	const struct language *language = options->language;

	if (language == NULL || options->session == NULL || language->kernel == NULL ||
	    language->kernel->host == NULL)
		return language;
	return language_find(language->kernel->host);
}

static void request_languages(struct process *process,
                              void (*fn)(void *ctx, const struct error *why))
{
	const struct process_options *options = &process->options;
	const struct language *host = host_of(options);

	if (options->language != NULL && options->language->kernel == &kernel_python &&
	    options->session == NULL && !options->keep_input)
		guess_python(process->processes);
	process->has_probed = true;
	/* The probe answers as soon as it has found this language, and it finds hosts first. */
	process->language_request.language = host;
	if (host != options->language && options->language->kernel->needs_language)
		process->language_request.language = options->language;
	process->language_request.fn = fn;
	process->language_request.ctx = process;
	language_cache_request(process->processes->languages, &process->language_request);
}

static int language_index(const struct language *language)
{
	for (size_t i = 0; i < language_count; i++)
		if (strcmp(languages[i].name, language->name) == 0)
			return (int)i;
	return -1;
}

/* Whether the code runs in an interpreter with that kernel, which may be NULL. Such an interpreter
 * gets all of stdin at once. */
static bool can_use_interpreter(const struct process_options *options,
                                const struct kernel_program *kernel, const char *program)
{
	char word[64];

	(void)snprintf(word, sizeof word, " %s ", program);
	return kernel != NULL && !options->keep_input &&
	       (options->session != NULL || !kernel->runs_cells_only) &&
	       strstr(kernel->runners, word) != NULL;
}

static void fail_without_interpreter(struct process *process, const struct language *host,
                                     const char *path)
{
	const struct language *language = process->options.language;
	struct error err;

	(void)error_set(&err, ERR_NOT_FOUND,
	                "session: %s keeps state with %s only, which this sandbox does not have; "
	                "without a session it is run by %s",
	                language->title, host->runners[0].program, path);
	process_fail(process, &err);
}

static bool is_found(const struct language_found *found, const struct language *language)
{
	int i = language_index(language);

	return i >= 0 && found->of[i].runner >= 0 && found->of[i].runner < LANGUAGE_RUNNERS_MAX;
}

/* The language that the code lacks: that whose program runs it, or its own; NULL: neither. */
static const struct language *missing_language(const struct process *process,
                                               const struct language_found *found)
{
	const struct language *host = host_of(&process->options), *own = process->options.language;

	if (!is_found(found, host))
		return host;
	return host != own && own->kernel->needs_language && !is_found(found, own) ? own : NULL;
}

static void start_code(struct process *process)
{
	const struct language *language = host_of(&process->options);
	const struct language_found *found = language_cache_get(process->processes->languages);
	const struct language *missing = missing_language(process, found);
	const struct language_runner *runner;
	const struct kernel_program *kernel;
	const char *path;
	struct error err;
	int i;

	if (missing != NULL) {
		/* The language may have been installed since the last look. */
		if (!process->has_probed) {
			request_languages(process, on_languages);
			return;
		}
		(void)language_not_found(found, missing, &err);
		process_fail(process, &err);
		return;
	}
	i = language_index(language);
	runner = &language->runners[found->of[i].runner];
	kernel = kernel_of(&process->options, runner);
	path = arena_text(&process->arena, found->of[i].path);
	if (can_use_interpreter(&process->options, kernel, runner->program))
		start_in_interpreter(process, kernel, path);
	else if (process->options.session != NULL)
		fail_without_interpreter(process, language, path);
	else
		start_saved_code(process, runner, path);
}

/* The first run of a sandbox does not wait for the probe: the agent itself looks for Python along
 * PATH, as the probe would, and the probe and a waiting interpreter follow after the run. */
static bool can_run_by_name(const struct process *process)
{
	const struct process_options *options = &process->options;

	return options->language->kernel == &kernel_python && options->session == NULL &&
	       !options->keep_input && !process->has_probed &&
	       !interpreter_pool_has_spare(process->processes->interpreters, &kernel_python);
}

static void start_by_name(struct process *process)
{
	process->is_by_name = true;
	start_in_interpreter(process, &kernel_python, "python3");
}

/* A sandbox may have Python only as `python`. */
bool process_retry(struct process *process, const struct error *why)
{
	if (!process->is_by_name || why->kind != ERR_NOT_FOUND || process->has_probed)
		return false;
	process->phase = PROCESS_PREPARING;
	process_changed(process);
	request_languages(process, on_languages);
	return true;
}

/* A failure is found again by the run that needs the interpreter. */
static void start_spare(void *ctx, const struct error *why)
{
	const struct processes *processes = ctx;
	const struct language *python = language_find("python");
	const struct language_found *found = language_cache_get(processes->languages);
	int i = language_index(python);

	if (why == NULL && found->of[i].runner == 0)
		interpreter_pool_add_spare(processes->interpreters, python->kernel,
		                           found->of[i].path);
}

static void start_spare_now(struct processes *processes)
{
	struct language_request *request = mem_new(sizeof *request);

	guess_python(processes);
	*request = (struct language_request){ .is_owned = true,
		                              .language = language_find("python"),
		                              .fn = start_spare,
		                              .ctx = processes };
	language_cache_request(processes->languages, request);
}

static bool runs_by_name(struct processes *processes)
{
	LIST_EACH (node, &processes->all) {
		const struct process *process = container_of(node, struct process, node);

		if (process->is_by_name && !process_is_over(process))
			return true;
	}
	return false;
}

/* Does nothing while a run uses the interpreter's name instead of its path: the end of that run
 * starts the timer again. */
void processes_on_spare_timer(void *ctx)
{
	struct processes *processes = ctx;

	if (!runs_by_name(processes) && sandbox_channel(processes->sandbox) != NULL &&
	    !language_cache_get(processes->languages)->known)
		start_spare_now(processes);
}

void processes_start_spare(struct processes *processes, unsigned delay_ms)
{
	if (delay_ms == 0)
		start_spare_now(processes);
	else
		loop_timer_start(processes->spare_timer, delay_ms);
}

/* --- which shell runs a command --------------------------------------------------------------- */

/* The shell was chosen for the label before the files were written; the languages may have become
 * known since then. */
static void start_command(struct process *process)
{
	process_choose_shell(process);
	start_program(process);
}

/* If the languages could not be looked up, there is still /bin/sh. */
static void on_shells(void *ctx, const struct error *why)
{
	(void)why;
	start_command(ctx);
}

/* --- preparation: files, then the directory --------------------------------------------------- */

static void start_run(struct process *process)
{
	const struct process_options *options = &process->options;
	bool is_known = language_cache_get(process->processes->languages)->known;

	process->run_began_ns = clock_file_ns();
	process->given_until_ns = clock_real_ns();
	if (options->language != NULL && is_known)
		start_code(process);
	else if (options->language != NULL && can_run_by_name(process))
		start_by_name(process);
	else if (options->language != NULL)
		request_languages(process, on_languages);
	else if (options->command != NULL && is_known)
		start_command(process);
	else if (options->command != NULL)
		request_languages(process, on_shells);
	else
		start_program(process);
}

static void on_cwd(void *ctx, const struct files_reply *reply, const struct error *why)
{
	struct process *process = ctx;
	struct wire_entry entry;
	struct error err;
	struct view rest;

	process->op = NULL;
	if (why != NULL) {
		err = *why;
		(void)error_wrap(&err, "argument 'cwd'");
		process_fail(process, &err);
		return;
	}
	rest = reply->bytes;
	if (files_next_entry(&rest, &entry) && entry.type == WIRE_FILE_DIRECTORY) {
		start_run(process);
		return;
	}
	(void)error_set(&err, ERR_INVALID, "argument 'cwd': the path is not a directory");
	process_fail(process, &err);
}

/* A waiting interpreter changes its directory only when the code is about to run, and a failure
 * there would look like a failure of the code. So the directory is checked first. */
static void check_cwd(struct process *process)
{
	struct channel *channel = sandbox_channel(process->processes->sandbox);
	struct wire_message request = { .type = WIRE_STAT };
	struct error err;

	request.stat.path = view_of(process->options.cwd);
	if (channel == NULL)
		(void)error_set(&err, ERR_SYSTEM, "the sandbox ended");
	else if (files_start(channel, &request, (struct view){ 0 }, STAT_MAX, on_cwd, process,
	                     &process->op, &err) == 0)
		return;
	process_fail(process, &err);
}

static void write_next_file(struct process *process);

static void on_written(void *ctx, const struct files_reply *reply, const struct error *why)
{
	struct process *process = ctx;

	(void)reply;
	process->op = NULL;
	if (why != NULL) {
		struct error err = *why;

		(void)error_wrap(&err, "files");
		process_fail(process, &err);
		return;
	}
	process->files_written++;
	if (process->files_written < process->options.file_count)
		write_next_file(process);
	else
		start_run(process);
}

static void write_next_file(struct process *process)
{
	const struct process_file *file = &process->options.files[process->files_written];
	struct wire_message request = { .type = WIRE_WRITE };
	struct channel *channel = sandbox_channel(process->processes->sandbox);
	struct error err;

	request.write = (struct wire_write){ .mode = WIRE_WRITE_REPLACE,
		                             .flags = WIRE_PARENTS,
		                             .perm = FILE_PERM,
		                             .max = file->content.len,
		                             .path = view_of(file->path) };
	if (channel == NULL)
		(void)error_set(&err, ERR_SYSTEM, "the sandbox ended");
	else if (files_start(channel, &request, file->content, 0, on_written, process, &process->op,
	                     &err) == 0)
		return;
	(void)error_wrap(&err, "files: %s", file->path);
	process_fail(process, &err);
}

/* With files the directory is not checked: one of them may create it. */
void process_prepare(struct process *process)
{
	if (process->options.file_count != 0)
		write_next_file(process);
	else if (process->options.cwd != NULL)
		check_cwd(process);
	else
		start_run(process);
}
