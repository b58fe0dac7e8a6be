#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/text/utf8.h"
#include "cli/support/foreground.h"
#include "cli/support/session.h"
#include "cli/verb.h"
#include "kernels/languages.h"
#include "sandbox/channel/files.h"
#include "sandbox/process/process.h"
#include "sandbox/sandbox.h"
#include "server/options/options.h"

enum { CODE_MAX = 5 * 1024 * 1024, CODE_PERM = 0644, NAME_MAX_LEN = 100, CHUNK = 64 * 1024 };

/* Its own buffers would keep what it prints until there is a lot of it. */
static const char *const environment[] = { "PYTHONUNBUFFERED=1", NULL };

struct code {
	const struct verb_call *call;
	const struct language *language;
	const struct language_runner *runner;
	struct buf text;
	bool from_stdin;
	struct session *session;
	struct foreground program;
	struct arena arena;  /* arguments */
	struct files_op *op; /* the file is being written, or removed */
	char dir[48];        /* of the code, inside */
	char file[48 + NAME_MAX_LEN + 2];
	char out[64];         /* the program made of it */
	char found[128];      /* what runs or compiles it */
	char what[160];       /* for the history */
	uint64_t deadline_at; /* of all steps together; 0: none */
	int status;
	bool is_over;
};

/* --- before there is a sandbox ------------------------------------------------------------- */

static int choose_language(struct code *code, struct error *err)
{
	const char *file = code->call->operands[0], *wanted = code->call->options->language;
	char names[320], shown[80];

	(void)language_names(names, sizeof names);
	if (wanted != NULL) {
		code->language = language_find(wanted);
		if (code->language == NULL)
			return error_set(err, ERR_INVALID, "--language: '%s' is none of %s",
			                 utf8_escape(view_of(wanted), shown, sizeof shown), names);
		return 0;
	}
	if (code->from_stdin)
		return error_set(err, ERR_INVALID,
		                 "code from standard input has no name to tell its language: say "
		                 "--language, one of %s",
		                 names);
	code->language = language_by_file(file);
	if (code->language == NULL)
		return error_set(err, ERR_INVALID,
		                 "'%s': the name does not tell the language: say --language, one "
		                 "of %s",
		                 utf8_escape(view_of(file), shown, sizeof shown), names);
	return 0;
}

static int read_code(struct code *code, struct error *err)
{
	const char *file = code->call->operands[0];
	AUTO_FD int opened = -1;
	char chunk[CHUNK], shown[120];
	ssize_t n;

	(void)utf8_escape(view_of(file), shown, sizeof shown);
	if (!code->from_stdin) {
		opened = open(file, O_RDONLY | O_CLOEXEC);
		if (opened < 0)
			return error_sys(err, "'%s'", shown);
	}
	for (;;) {
		n = read(code->from_stdin ? STDIN_FILENO : opened, chunk, sizeof chunk);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return error_sys(err, "read '%s'", shown);
		if (n == 0)
			return 0;
		if (buf_add(&code->text, (struct view){ chunk, (size_t)n }, err) < 0)
			return error_set(err, ERR_LIMIT,
			                 "'%s': code may have %d MiB; put data into a sandbox with "
			                 "'belljar cp'",
			                 shown, CODE_MAX >> 20);
	}
}

/* --- arguments ------------------------------------------------------------------------------ */

static const char *fill(struct code *code, const char *arg)
{
	const struct language_paths place = { code->found, code->file, code->dir, code->out };
	char text[512] = "";
	struct buf filled = buf_fixed(text, sizeof text);
	struct error full; /* it is large enough for what a table holds */

	(void)!language_argument(arg, &place, &filled, &full);
	return arena_text(&code->arena, text);
}

static const char *const *fill_all(struct code *code, const char *const *args,
                                   const char *const *more)
{
	size_t count = 0, extra = 0;
	const char **argv;

	while (count < LANGUAGE_ARGS_MAX && args[count] != NULL)
		count++;
	while (more != NULL && more[extra] != NULL)
		extra++;
	argv = arena_new(&code->arena, count + extra + 1, sizeof *argv);
	for (size_t i = 0; i < count; i++)
		argv[i] = fill(code, args[i]);
	for (size_t i = 0; i < extra; i++)
		argv[count + i] = more[i];
	return argv;
}

/* The code keeps its name, for messages that tell it and compilers that mind, unless it is one
 * that nobody should meet on a command line. */
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

/* --- the end -------------------------------------------------------------------------------- */

static void tell_id(const struct code *code)
{
	if (code->call->options->keep && code->call->options->sandbox == NULL)
		(void)fprintf(stderr, "belljar: the sandbox is kept: %s\n",
		              sandbox_row(session_sandbox(code->session))->spec.id);
}

static void on_removed(void *ctx, const struct files_reply *answer, const struct error *why)
{
	struct code *code = ctx;

	(void)answer;
	(void)why; /* the program may have done so itself */
	code->op = NULL;
	session_end(code->session, code->status);
}

/* What is kept is kept without the code: it was not put there by anybody. */
static void end(struct code *code, int status)
{
	struct sandbox *sandbox = session_sandbox(code->session);
	struct channel *channel = sandbox_channel(sandbox);
	const struct wire_message request = { .type = WIRE_REMOVE,
		                              .remove = { WIRE_RECURSIVE, view_of(code->dir) } };
	struct error err;

	code->status = status;
	tell_id(code);
	if (sandbox_row(sandbox)->temporary || channel == NULL ||
	    files_start(channel, &request, (struct view){ "", 0 }, 0, on_removed, code, &code->op,
	                &err) < 0)
		session_end(code->session, status);
}

static void fail(struct code *code, const struct error *why)
{
	tell_id(code);
	session_fail(code->session, why);
}

/* --- the steps ------------------------------------------------------------------------------ */

static void on_ended(void *ctx, int status)
{
	end(ctx, status);
}

/* One that is over leaves the next step a moment, which ends it. */
static uint32_t time_left(const struct code *code)
{
	uint64_t now = clock_now_ms();

	if (code->deadline_at == 0)
		return 0;
	return now < code->deadline_at ? (uint32_t)(code->deadline_at - now) : 1;
}

static void run_it(struct code *code)
{
	const struct foreground_wish wish = {
		.run = { .argv = fill_all(code, code->runner->run, code->call->operands + 1),
		         .env = environment,
		         .deadline_ms = time_left(code),
		         .with_stdin = !code->from_stdin },
		.what = code->what,
		.timeout_s = code->call->options->timeout_s,
		.ended = on_ended,
		.ctx = code,
	};
	struct error err;

	if (foreground_start(&code->program, &wish, &err) < 0)
		fail(code, &err);
}

static void on_compiled(void *ctx, int status)
{
	if (status == 0)
		run_it(ctx);
	else
		end(ctx, status);
}

static void compile(struct code *code)
{
	char what[sizeof code->what + 16];
	const struct foreground_wish wish = {
		.run = { .argv = fill_all(code, code->runner->compile, NULL),
		         .deadline_ms = time_left(code) },
		.what = what,
		.timeout_s = code->call->options->timeout_s,
		.all_to_error = true,
		.ended = on_compiled,
		.ctx = code,
	};
	struct error err;

	(void)snprintf(what, sizeof what, "compile: %s", code->what);
	if (foreground_start(&code->program, &wish, &err) < 0)
		fail(code, &err);
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
		fail(code, &err);
		return;
	}
	if (code->call->options->timeout_s != 0)
		code->deadline_at = clock_now_ms() + code->call->options->timeout_s * 1000;
	if (code->runner->compile[0] != NULL)
		compile(code);
	else
		run_it(code);
}

static void save(struct code *code)
{
	struct channel *channel = sandbox_channel(session_sandbox(code->session));
	struct wire_message request = { .type = WIRE_WRITE };
	struct error err;
	uint32_t number;

	if (getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number)
		abort();
	(void)snprintf(code->dir, sizeof code->dir, "/tmp/belljar-%u", number);
	(void)snprintf(code->file, sizeof code->file, "%s/%s", code->dir, name_inside(code));
	(void)snprintf(code->out, sizeof code->out, "%s/program", code->dir);
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
	fail(code, &err);
}

static void on_looked(void *ctx, const struct error *why)
{
	struct code *code = ctx;
	const struct language_found *found;
	struct error err;
	signed char runner;

	if (code->is_over)
		return;
	if (why != NULL) {
		fail(code, why);
		return;
	}
	found = process_languages(session_sandbox(code->session));
	runner = found->of[code->language - languages].runner;
	if (runner < 0 || runner >= LANGUAGE_RUNNERS_MAX) {
		(void)language_not_found(found, code->language, &err);
		fail(code, &err);
		return;
	}
	code->runner = &code->language->runners[runner];
	(void)snprintf(code->found, sizeof code->found, "%s",
	               found->of[code->language - languages].path);
	save(code);
}

/* --- the verb ------------------------------------------------------------------------------- */

static int start(void *ctx, struct session *session, struct error *err)
{
	struct code *code = ctx;

	code->session = session;
	if (foreground_open(&code->program, session, err) < 0)
		return -1;
	process_probe_languages(session_sandbox(session), false, on_looked, code);
	return 0;
}

static bool on_signal(void *ctx, int number)
{
	struct code *code = ctx;

	return foreground_signal(&code->program, number);
}

static void stop(void *ctx)
{
	struct code *code = ctx;

	code->is_over = true;
	if (code->op != NULL)
		files_cancel(code->op);
	foreground_close(&code->program);
}

static const struct session_events session_events = { start, on_signal, stop };

static enum verb_result run(const struct verb_call *call, struct error *err)
{
	static struct code code;
	const struct session_wish wish = { .call = call,
		                           .sandbox = call->options->sandbox,
		                           .keep = call->options->keep };
	enum verb_result result;

	code = (struct code){ .call = call, .from_stdin = strcmp(call->operands[0], "-") == 0 };
	buf_init(&code.text, CODE_MAX);
	(void)snprintf(code.what, sizeof code.what, "run %s", call->operands[0]);
	if (choose_language(&code, err) < 0)
		result = VERB_MISUSED;
	else if (read_code(&code, err) < 0)
		result = VERB_FAILED;
	else
		result = session_run(&wish, &session_events, &code, err);
	buf_done(&code.text);
	arena_done(&code.arena);
	return result;
}

static const struct verb_example examples[] = {
	{ "belljar run plot.py", "Run a file in a new sandbox; its name tells the language." },
	{ "belljar run sort.py --reverse <data.txt", "With arguments and input of its own." },
	{ "echo 'console.log(6 * 7)' | belljar run --language javascript -",
	  "Code from standard input." },
	{ "belljar run --timeout 10 --memory 256M main.c", "Compiled first; with limits." },
	{ "belljar run --keep job.py", "Keep the sandbox to look at what it left." },
	{ NULL, NULL },
};

const struct verb verb_run = {
	.name = "run",
	.operand = "FILE",
	.operand_needed = true,
	.operand_rest = true,
	.summary = "Run a file of code in a sandbox.",
	.help = "Makes a sandbox, runs the code in it, passes input and output through, and "
	        "removes "
	        "the sandbox. The file is read here and at most 5 MiB long; nothing beside it is "
	        "seen inside. With - the code is what standard input has, and --language must tell "
	        "what it is. Code in a language that is compiled is compiled first. What stands "
	        "behind FILE is passed to it.\n\n"
	        "With --keep the sandbox stays, and its id is told on standard error: 'belljar "
	        "exec --sandbox ID' and 'belljar cp' go on with it. With --sandbox it runs in one "
	        "that is kept anyway.\n\n"
	        "The exit status is the code's, or that of the compiler, whose messages go to "
	        "standard error; 124 if its time was up, 128 and the signal's number if a signal "
	        "ended it. 1 may also mean that belljar itself failed, 2 that it was called in a "
	        "wrong way. On a terminal, output is shown as by 'belljar exec'.",
	.examples = examples,
	.options = FOR_RUN,
	.run = run,
};
