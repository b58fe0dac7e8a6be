#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/text/utf8.h"
#include "cli/support/attachment.h"
#include "cli/support/foreground.h"
#include "cli/support/siblings.h"
#include "cli/verb.h"
#include "kernels/languages.h"
#include "sandbox/channel/files.h"
#include "sandbox/process/process.h"
#include "sandbox/run/code_dir.h"
#include "sandbox/sandbox.h"
#include "server/options/options.h"
#include "server/runtime/runtime.h"

enum { CODE_MAX = 5 * 1024 * 1024, CODE_PERM = 0644, NAME_MAX_LEN = 100 };

/* Python block-buffers standard output on a pipe; unbuffered, its output appears as it is
 * printed. */
static const char *const environment[] = { "PYTHONUNBUFFERED=1", NULL };

struct code {
	const struct verb_call *call;
	const struct language *language;
	const struct language_runner *runner;
	struct buf text;
	bool from_stdin;
	struct attachment *attachment;
	struct foreground program;
	struct siblings siblings;
	struct arena arena;  /* arguments */
	struct files_op *op; /* a file operation under way */
	struct code_dir dir; /* the directory of the code in the sandbox */
	char file[48 + NAME_MAX_LEN + 2];
	char out[80];         /* the compiled program */
	char found[128];      /* the interpreter or compiler */
	char what[160];       /* the description for the history */
	uint64_t deadline_at; /* for compiling and running together; 0: none */
	int status;
	bool is_closed;
};

/* --- before there is a sandbox --- */

static int find_named_language(struct code *code, struct error *err)
{
	const char *wanted = code->call->options->language;
	char names[360];

	if (wanted == NULL)
		return 0;
	code->language = language_find(wanted);
	if (code->language == NULL)
		return error_set(err, ERR_INVALID, "--language: '%s' is none of %s",
		                 UTF8_ESCAPED(view_of(wanted), 80),
		                 language_names(names, sizeof names));
	return 0;
}

static int read_code(struct code *code, struct error *err)
{
	const char *file = code->call->operands[0];
	AUTO_FD int opened = -1;
	char shown[120];

	(void)utf8_escape(view_of(file), shown, sizeof shown);
	if (!code->from_stdin) {
		opened = open(file, O_RDONLY | O_CLOEXEC);
		if (opened < 0)
			return error_sys(err, "'%s'", shown);
	}
	if (fd_read_all(code->from_stdin ? STDIN_FILENO : opened, &code->text, err) == 0)
		return 0;
	if (err->kind != ERR_LIMIT)
		return error_wrap(err, "'%s'", shown);
	return error_set(err, ERR_LIMIT,
	                 "'%s': code may have at most %d MiB; copy data into a sandbox with "
	                 "'belljar cp'",
	                 shown, CODE_MAX >> 20);
}

static int choose_language(struct code *code, struct error *err)
{
	const char *file = code->call->operands[0];
	char names[360];

	if (code->language == NULL && !code->from_stdin)
		code->language = language_by_file(file);
	if (code->language == NULL)
		code->language = language_by_shebang(buf_view(&code->text));
	if (code->language != NULL)
		return 0;
	(void)language_names(names, sizeof names);
	if (code->from_stdin)
		return error_set(
		        err, ERR_INVALID,
		        "code from standard input has no file name that tells its language; "
		        "give --language, one of %s",
		        names);
	return error_set(err, ERR_INVALID,
	                 "'%s': neither the file name nor a first line such as #!/bin/sh tells the "
	                 "language; give --language, one of %s",
	                 UTF8_ESCAPED(view_of(file), 80), names);
}

/* --- arguments --- */

static const char *const *fill_command(struct code *code, const char *const *command,
                                       const char *const *more)
{
	const struct sandbox_row *row = sandbox_row(attachment_sandbox(code->attachment));
	char memory[24];
	const struct language_paths paths = { code->found, code->file, code->dir.path, code->out,
		                              memory };

	(void)snprintf(memory, sizeof memory, "%llu", (unsigned long long)row->spec.limits.memory);
	return language_command(command, &paths, more, &code->arena);
}

/* The file keeps its name inside, because error messages show it and some compilers depend on it. A
 * name that could be taken for an option, or that needs quoting in a shell, is replaced. */
static const char *name_inside(const struct code *code)
{
	const char *file = code->call->operands[0], *slash = strrchr(file, '/');
	const char *name = slash != NULL ? slash + 1 : file;
	size_t len = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	                          "0123456789._+-");

	if (code->from_stdin || name[len] != '\0' || len == 0 || len > NAME_MAX_LEN ||
	    name[0] == '-' || name[0] == '.' || language_by_file(name) != code->language)
		return code->language->file;
	return name;
}

/* --- the end --- */

static void print_id(const struct code *code)
{
	if (code->call->options->keep && code->call->options->sandbox == NULL)
		(void)fprintf(stderr, "belljar: the sandbox is kept: %s\n",
		              sandbox_row(attachment_sandbox(code->attachment))->spec.id);
}

static void on_removed(void *ctx, const struct files_reply *answer, const struct error *why)
{
	struct code *code = ctx;

	(void)answer;
	(void)why; /* the program may have removed the directory itself */
	code->op = NULL;
	attachment_stop(code->attachment, code->status);
}

/* Removes the directory of the code from a sandbox that is kept: the user did not create it. Waits
 * for the reply, because code_dir_remove() does not, and the sandbox is put to sleep next. */
static void finish_run(struct code *code, int status)
{
	struct sandbox *sandbox = attachment_sandbox(code->attachment);
	struct channel *channel = sandbox_channel(sandbox);
	const struct wire_message request = {
		.type = WIRE_REMOVE, .remove = { WIRE_RECURSIVE, view_of(code->dir.path) }
	};
	struct error err;

	code->status = status;
	print_id(code);
	if (sandbox_row(sandbox)->temporary || channel == NULL || code->siblings.count != 0 ||
	    files_start(channel, &request, (struct view){ "", 0 }, 0, on_removed, code, &code->op,
	                &err) < 0)
		attachment_stop(code->attachment, status);
}

static void fail_run(struct code *code, const struct error *why)
{
	print_id(code);
	attachment_fail(code->attachment, why);
}

/* --- the steps --- */

static void on_ended(void *ctx, int status)
{
	finish_run(ctx, status);
}

/* After the deadline 1 ms is left, not 0, which would mean no deadline. */
static uint32_t time_left(const struct code *code)
{
	uint64_t now = clock_now_ms();

	if (code->deadline_at == 0)
		return 0;
	return now < code->deadline_at ? (uint32_t)(code->deadline_at - now) : 1;
}

static void run_program(struct code *code)
{
	const struct foreground_options options = {
		.run = { .argv = fill_command(code, code->runner->run, code->call->operands + 1),
		         .env = environment,
		         .deadline_ms = time_left(code),
		         .with_stdin = !code->from_stdin },
		.what = code->what,
		.timeout_s = code->call->options->timeout_s,
		.ended = on_ended,
		.ctx = code,
	};
	struct error err;

	if (foreground_start(&code->program, &options, &err) < 0)
		fail_run(code, &err);
}

static void on_compiled(void *ctx, int status)
{
	if (status == 0)
		run_program(ctx);
	else
		finish_run(ctx, status);
}

static void compile_program(struct code *code)
{
	char what[sizeof code->what + 16];
	const struct foreground_options options = {
		.run = { .argv = fill_command(code, code->runner->compile, NULL),
		         .deadline_ms = time_left(code) },
		.what = what,
		.timeout_s = code->call->options->timeout_s,
		.all_to_error = true,
		.ended = on_compiled,
		.ctx = code,
	};
	struct error err;

	(void)snprintf(what, sizeof what, "compile: %s", code->what);
	if (foreground_start(&code->program, &options, &err) < 0)
		fail_run(code, &err);
}

static void on_saved(void *ctx, const struct files_reply *answer, const struct error *why)
{
	struct code *code = ctx;
	struct error err;

	(void)answer;
	code->op = NULL;
	if (why != NULL) {
		err = *why;
		(void)error_wrap(&err, "the code cannot be saved in the sandbox");
		fail_run(code, &err);
		return;
	}
	if (code->call->options->timeout_s != 0)
		code->deadline_at = clock_now_ms() + code->call->options->timeout_s * 1000;
	if (code->runner->compile[0] != NULL)
		compile_program(code);
	else
		run_program(code);
}

static void save_code(struct code *code)
{
	struct channel *channel = sandbox_channel(attachment_sandbox(code->attachment));
	struct wire_message request = { .type = WIRE_WRITE };
	struct error err;

	/* With --with the code is one of the user's files, and is kept like the others. */
	if (code->siblings.count != 0)
		(void)snprintf(code->dir.path, sizeof code->dir.path, "%s", SPEC_WORKSPACE);
	else
		code_dir_choose(&code->dir, CODE_DIR_DISK);
	(void)snprintf(code->file, sizeof code->file, "%s/%s", code->dir.path, name_inside(code));
	(void)snprintf(code->out, sizeof code->out, "%s/%s", code->dir.path,
	               code->siblings.count != 0 ? ".belljar-program" : "program");
	request.write = (struct wire_write){ .mode = WIRE_WRITE_REPLACE,
		                             .flags = WIRE_PARENTS,
		                             .perm = CODE_PERM,
		                             .max = code->text.len,
		                             .path = view_of(code->file) };
	if (channel == NULL)
		(void)error_set(&err, ERR_SYSTEM, "the sandbox ended");
	else if (files_start(channel, &request,
	                     (struct view){ buf_text(&code->text), code->text.len }, 0, on_saved,
	                     code, &code->op, &err) == 0)
		return;
	fail_run(code, &err);
}

static void on_siblings_copied(void *ctx, const struct error *why)
{
	if (why != NULL)
		fail_run(ctx, why);
	else
		save_code(ctx);
}

static void copy_siblings(struct code *code)
{
	struct error err;

	if (code->siblings.count == 0)
		save_code(code);
	else if (siblings_copy(&code->siblings, code->attachment, on_siblings_copied, code, &err) <
	         0)
		fail_run(code, &err);
}

static void on_languages(void *ctx, const struct error *why)
{
	struct code *code = ctx;
	const struct language_found *found;
	struct error err;
	signed char runner;

	if (code->is_closed)
		return;
	if (why != NULL) {
		fail_run(code, why);
		return;
	}
	found = process_languages(attachment_sandbox(code->attachment));
	runner = found->of[code->language - languages].runner;
	if (runner < 0 || runner >= LANGUAGE_RUNNERS_MAX) {
		(void)language_not_found(found, code->language, &err);
		fail_run(code, &err);
		return;
	}
	code->runner = &code->language->runners[runner];
	(void)snprintf(code->found, sizeof code->found, "%s",
	               found->of[code->language - languages].path);
	copy_siblings(code);
}

/* --- the verb --- */

static int start_run(void *ctx, struct attachment *attachment, struct error *err)
{
	struct code *code = ctx;

	code->attachment = attachment;
	if (foreground_open(&code->program, attachment, err) < 0)
		return -1;
	process_probe_languages(attachment_sandbox(attachment), false, on_languages, code);
	return 0;
}

static bool pass_signal(void *ctx, int number)
{
	struct code *code = ctx;

	return foreground_signal(&code->program, number);
}

static void close_run(void *ctx)
{
	struct code *code = ctx;

	code->is_closed = true;
	if (code->op != NULL)
		files_cancel(code->op);
	siblings_stop(&code->siblings);
	foreground_close(&code->program);
}

static enum verb_result prepare_code(struct code *code, struct error *err)
{
	const struct options *options = code->call->options;
	char state[PATH_MAX];

	if (find_named_language(code, err) < 0)
		return VERB_MISUSED;
	if (read_code(code, err) < 0)
		return VERB_FAILED;
	if (choose_language(code, err) < 0)
		return VERB_MISUSED;
	if (runtime_find_state_dir(options, state, err) < 0 ||
	    siblings_prepare(&code->siblings, options->with, state, err) < 0)
		return VERB_FAILED;
	return VERB_DONE;
}

static const struct attachment_events attachment_events = { start_run, pass_signal, close_run };

static enum verb_result run_code_file(const struct verb_call *call, struct error *err)
{
	static struct code code;
	const struct attachment_options options = { .call = call,
		                                    .sandbox = call->options->sandbox,
		                                    .keep = call->options->keep };
	enum verb_result result;

	code = (struct code){ .call = call, .from_stdin = strcmp(call->operands[0], "-") == 0 };
	buf_init(&code.text, CODE_MAX);
	(void)snprintf(code.what, sizeof code.what, "run %s", call->operands[0]);
	result = prepare_code(&code, err);
	if (result == VERB_DONE)
		result = attachment_run(&options, &attachment_events, &code, err);
	siblings_close(&code.siblings);
	buf_done(&code.text);
	arena_done(&code.arena);
	return result;
}

static const struct verb_example examples[] = {
	{ "belljar run plot.py",
	  "Run a file in a temporary sandbox; its name tells the language." },
	{ "belljar run sort.py --reverse <data.txt", "Pass arguments and input." },
	{ "echo 'console.log(6 * 7)' | belljar run --language javascript -",
	  "Read the code from standard input." },
	{ "belljar run --timeout 10 --memory 256M main.c", "Compile and run, with limits." },
	{ "belljar run --with . main.py", "Copy the current directory in beside it." },
	{ "belljar run --keep job.py", "Keep the sandbox, to look at its files." },
	{ NULL, NULL },
};

const struct verb verb_run = {
	.name = "run",
	.operand = "FILE",
	.operand_needed = true,
	.operand_rest = "[ARG...]",
	.summary = "Run a file of code in a sandbox.",
	.help = "Creates a sandbox, copies FILE into it, runs it with this command's standard "
	        "input and output, and removes the sandbox. FILE has at most 5 MiB. Files beside "
	        "it are not visible inside unless --with names them or their directory: then all "
	        "are copied into /workspace, and the code runs there. With - the code is read from "
	        "standard input. The language is that of --language, of the file's name, or of a "
	        "first line such as #!/usr/bin/env python3. Compiled languages are compiled first. "
	        "Arguments after FILE are passed to the program.\n\n"
	        "With --keep the sandbox is kept, and its id is printed on standard error: use it "
	        "with 'belljar exec --sandbox ID' and 'belljar cp'. With --sandbox the code runs "
	        "in that sandbox, which is kept anyway.\n\n"
	        "The exit status is the program's, or the compiler's if that failed, whose "
	        "messages go to standard error; 124 if the time-out expired; 128 plus the number "
	        "of the signal that killed the program. 1 can also mean that belljar itself "
	        "failed, 2 that its arguments are wrong. On a terminal, output is shown as by "
	        "'belljar exec'.",
	.examples = examples,
	.options = FOR_RUN,
	.run = run_code_file,
};
