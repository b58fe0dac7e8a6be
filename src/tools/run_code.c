#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/text/base64.h"
#include "base/text/nearest.h"
#include "base/text/utf8.h"
#include "kernels/languages.h"
#include "sandbox/process/process.h"
#include "tools/catalogue.h"
#include "tools/support/run_call.h"

enum { CODE_MOST = 5 * 1024 * 1024, FILES_MOST = 100 };

static const char *const encodings[] = { "utf-8", "base64", NULL };

struct file_arg {
	const char *path;
	struct view content;
	const char *encoding;
};

struct code_args {
	const char *language, *session, *cwd, *sandbox;
	struct view code, in;
	struct param_strings args;
	struct param_records files;
	struct param_map env;
	double timeout_s;
};

static const struct param file_fields[] = {
	{ .name = "path",
	  .type = PARAM_STRING,
	  .required = true,
	  .min = 1,
	  .max = 4095,
	  .offset = offsetof(struct file_arg, path),
	  .help = "Absolute, or below /workspace." },
	{ .name = "content",
	  .type = PARAM_TEXT,
	  .required = true,
	  .max = CODE_MOST,
	  .offset = offsetof(struct file_arg, content),
	  .help = "What it will have." },
	{ .name = "encoding",
	  .type = PARAM_ENUM,
	  .values = encodings,
	  .fallback.text = "utf-8",
	  .offset = offsetof(struct file_arg, encoding),
	  .help = "\"base64\" if `content` is bytes written so." },
	{ 0 },
};

static void complete_language(void *app, const char *typed, json_t *values)
{
	(void)app;
	(void)typed;
	for (size_t i = 0; i < language_count; i++)
		json_push(values, json_str(languages[i].name));
}

static const struct param params[] = {
	{ .name = "code",
	  .type = PARAM_TEXT,
	  .required = true,
	  .min = 1,
	  .max = CODE_MOST,
	  .offset = offsetof(struct code_args, code),
	  .help = "The source text, whole." },
	{ .name = "language",
	  .type = PARAM_STRING,
	  .max = 32,
	  .complete = complete_language,
	  .fallback.text = "python",
	  .offset = offsetof(struct code_args, language),
	  .help = "python, javascript, typescript, bash, sh, ruby, perl, php, lua, r, go, c, cpp, "
	          "rust, java and others; sandbox_info lists those that are installed." },
	{ .name = "session",
	  .type = PARAM_STRING,
	  .min = 1,
	  .max = SESSION_NAME_MAX,
	  .offset = offsetof(struct code_args, session),
	  .help = "Any name without spaces: variables, imports and functions of "
	          "earlier calls with the same name "
	          "are there, and the last expression's value is answered. Python and JavaScript. "
	          "Without it the code runs in a new process." },
	{ .name = "args",
	  .type = PARAM_STRINGS,
	  .max = 1000,
	  .item_max = 128 * 1024 - 1,
	  .offset = offsetof(struct code_args, args),
	  .help = "Arguments of the program." },
	{ .name = "files",
	  .type = PARAM_RECORDS,
	  .max = FILES_MOST,
	  .fields = file_fields,
	  .record_size = sizeof(struct file_arg),
	  .offset = offsetof(struct code_args, files),
	  .help = "Written before it starts; they stay." },
	RUN_PARAM_STDIN(struct code_args, in),
	RUN_PARAM_ENV(struct code_args, env),
	RUN_PARAM_CWD(struct code_args, cwd),
	{ .name = "timeout_s",
	  .type = PARAM_NUMBER,
	  .max = RUN_TIMEOUT_MOST_S,
	  .offset = offsetof(struct code_args, timeout_s),
	  .help = "Seconds until it is ended; 0: as the server is set up." },
	WORK_PARAM_SANDBOX(struct code_args, sandbox),
	{ 0 },
};

static int unknown_language(const char *typed, struct error *err)
{
	struct nearest best = { 0 };
	char names[300], shown[64];

	for (size_t i = 0; i < language_count; i++)
		nearest_consider(&best, typed, languages[i].name);
	return error_set(
	        err, ERR_INVALID, "argument 'language': \"%s\" is not known%s%s%s; there are: %s",
	        utf8_escape(view_of(typed), shown, sizeof shown),
	        best.name != NULL ? ", did you mean \"" : "", best.name != NULL ? best.name : "",
	        best.name != NULL ? "\"?" : "", language_names(names, sizeof names));
}

static int check_session(const struct language *language, const char *session, struct error *err)
{
	if (session == NULL || language->kernel != NULL)
		return 0;
	return error_set(
	        err, ERR_INVALID,
	        "argument 'session': %s keeps no state between calls; leave it out, or use "
	        "python or javascript",
	        language->title);
}

/* The files as the process takes them. What base64 stood for is in *decoded, by the same index. */
static int list_files(const struct param_records *records, struct process_file *files,
                      char **decoded, struct error *err)
{
	const struct file_arg *args = records->items;

	for (size_t i = 0; i < records->count; i++) {
		struct process_file *file = &files[i];

		file->path = args[i].path;
		file->content = args[i].content;
		if (args[i].encoding != encodings[1])
			continue;
		if (base64_decode(args[i].content, &decoded[i], &file->content.len, err) < 0)
			return error_wrap(err, "argument 'files[%zu].content'", i);
		file->content.ptr = decoded[i];
	}
	return 0;
}

static int start_with(struct run_call *run, const struct process_file *files, struct error *err)
{
	const struct code_args *a = run->args;
	AUTO_LIST char **env = run_call_env(&a->env);
	struct process_options wish = { .language = language_find(a->language),
		                        .code = a->code,
		                        .session = a->session,
		                        .args = a->args.count != 0 ? a->args.items : NULL,
		                        .files = files,
		                        .file_count = a->files.count,
		                        .env = (const char *const *)env,
		                        .cwd = a->cwd,
		                        .in = a->in };

	return run_call_start(run, &wish, err);
}

static int start_now(struct run_call *run, struct error *err)
{
	const struct code_args *a = run->args;
	AUTO_FREE struct process_file *files = mem_array(a->files.count + 1, sizeof *files);
	AUTO_FREE char **decoded = mem_array(a->files.count + 1, sizeof *decoded);
	int result = list_files(&a->files, files, decoded, err);

	if (result == 0)
		result = start_with(run, files, err);
	for (size_t i = 0; i < a->files.count; i++)
		free(decoded[i]);
	return result;
}

/* A directory may be made by one of its files. */
static int start(struct work *work, struct error *err)
{
	struct run_call *run = (struct run_call *)(void *)work;
	const struct code_args *a = run->args;

	return run_call_start_in(run, a->files.count == 0 ? a->cwd : NULL, start_now, err);
}

static const struct work_callbacks calls = {
	.start = start,
	.cancel = run_call_cancel,
	.done = run_call_done,
};

static int run_code(struct mcp_call *call, const void *args, struct error *err)
{
	const struct tools_context *context = mcp_call_app(call);
	const struct code_args *a = args;
	const struct language *language = language_find(a->language);
	struct run_call run = { .args = a, .session = a->session, .takes_pictures = true };

	if (language == NULL)
		return unknown_language(a->language, err);
	if (check_session(language, a->session, err) < 0 || run_call_check_cwd(a->cwd, err) < 0 ||
	    run_call_check_env(&a->env, err) < 0 ||
	    run_call_timeout(context, a->timeout_s, context->timeout_s * 1000, &run.timeout_ms,
	                     err) < 0)
		return -1;
	return run_call_begin(call, &calls, &run, a->sandbox, err);
}

/* No output schema: an answer with pictures has no structured content, because clients then drop
 * the pictures, and where there is a schema the official client refuses an answer without. */
const struct mcp_tool tool_run_code = {
	.name = "run_code",
	.title = "Run code",
	.help = "Use this to run a piece of code, compute something or draw a plot: Python unless "
	        "`language` says otherwise. It runs in a sandbox, apart from the user's machine, "
	        "in "
	        "/workspace, whose files stay from call to call; usually there is no network. With "
	        "`session` variables stay too, the last expression's value is answered, and "
	        "figures "
	        "(matplotlib, PIL) come back as pictures, also without show(). The answer has "
	        "stdout, "
	        "stderr and the exit code; long output is cut in the middle, and kept whole in a "
	        "file "
	        "that is named. What takes longer than a client waits goes on as a process: read "
	        "on "
	        "with process_output. Memory, time, processes and disk are limited, and a sandbox "
	        "nobody uses sleeps, which ends sessions but keeps files: sandbox_info has the "
	        "numbers. For a shell line use run_command.",
	.params = params,
	.args_size = sizeof(struct code_args),
	.call = run_code,
};
