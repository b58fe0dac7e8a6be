#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/text/base64.h"
#include "base/text/nearest.h"
#include "base/text/utf8.h"
#include "base/view.h"
#include "kernels/languages.h"
#include "sandbox/interpreter/interpreter_pool.h"
#include "sandbox/process/process.h"
#include "tools/catalogue.h"
#include "tools/run/process_work.h"
#include "tools/run/run_params.h"
#include "tools/support/params.h"
#include "tools/support/work.h"

enum { CODE_MAX = 5 * 1024 * 1024, FILES_MAX = 100 };

struct file_arg {
	const char *path;
	struct view content;
	const char *encoding;
};

struct code_args {
	const char *language, *session, *sandbox;
	struct view code;
	struct param_strings args;
	struct param_records files;
	struct run_params run;
	bool background;
};

static const struct param file_fields[] = {
	ARG_REQUIRED(struct file_arg, path, STRING, "", .min = 1, .max = 4095,
	             .also = PARAM_ALSO("file_path"),
	             .more = "Absolute, or relative to /workspace."),
	ARG_REQUIRED(struct file_arg, content, TEXT, "", .max = CODE_MAX,
	             .more = "The file's content."),
	ARG(struct file_arg, encoding, ENUM, "", .values = content_encoding_names,
	    .fallback.text = "utf-8", .more = "How `content` is encoded."),
	{ 0 },
};

static void complete_language(void *app, const char *owner, const char *typed, json_t *values)
{
	(void)app;
	(void)owner;
	(void)typed;
	for (size_t i = 0; i < language_count; i++)
		json_push(values, json_str(languages[i].name));
}

static const struct param params[] = {
	ARG_REQUIRED(struct code_args, code, TEXT, "", .max = CODE_MAX,
	             .also = PARAM_ALSO("source", "script", "python_code"),
	             .more = "The source text."),
	ARG(struct code_args, language, STRING,
	    "python, javascript, typescript, bash, ruby, perl, php, r, go, c, cpp, rust, "
	    "java ...; sandbox_info lists those installed.",
	    .max = 32, .complete = complete_language, .fallback.text = "python",
	    .also = PARAM_ALSO("lang")),
	ARG(struct code_args, session, STRING,
	    "Any name, such as \"main\": code with the same name shares variables and "
	    "imports, as cells of a notebook do. For Python, JavaScript, TypeScript, Bash, "
	    "Ruby, R and Java.",
	    .min = 1, .max = SESSION_NAME_MAX, .also = PARAM_ALSO("session_id"),
	    .more = "Without it the code runs in a new process. The name has no spaces."),
	ARG(struct code_args, args, STRINGS, "", .max = 1000, .item_max = 128 * 1024 - 1,
	    .more = "Command-line arguments."),
	ARG(struct code_args, files, RECORDS, "Files to write first. They stay.", .max = FILES_MAX,
	    .fields = file_fields, .record_size = sizeof(struct file_arg)),
	RUN_PARAM_BACKGROUND(struct code_args, background, ""),
	RUN_PARAM_STDIN(struct code_args, run),
	RUN_PARAM_ENV(struct code_args, run),
	RUN_PARAM_CWD(struct code_args, run),
	RUN_PARAM_TIMEOUT(struct code_args, run),
	WORK_PARAM_SANDBOX(struct code_args),
	{ 0 },
};

static int set_unknown_language(const char *typed, struct error *err)
{
	struct nearest best = { 0 };
	char names[360];

	for (size_t i = 0; i < language_count; i++)
		nearest_consider(&best, typed, languages[i].name);
	return error_set(
	        err, ERR_INVALID, "argument 'language': \"%s\" is not known%s%s%s; there are: %s",
	        UTF8_ESCAPED(view_of(typed), 64), best.name != NULL ? ", did you mean \"" : "",
	        best.name != NULL ? best.name : "", best.name != NULL ? "\"?" : "",
	        language_names(names, sizeof names));
}

static int check_session(const struct language *language, const char *session, struct error *err)
{
	char names[128];

	if (session == NULL || language->kernel != NULL)
		return 0;
	return error_set(err, ERR_INVALID,
	                 "argument 'session': %s keeps no state between calls; leave it out, "
	                 "or use one of %s",
	                 language->title, language_session_names(names, sizeof names));
}

/* Puts the files into the options. Decoded content is allocated in the options' arena. */
static int set_files(const struct param_records *records, struct process_work_options *ret,
                     struct error *err)
{
	const struct file_arg *args = records->items;
	struct process_file *files = arena_new(&ret->arena, records->count + 1, sizeof *files);

	for (size_t i = 0; i < records->count; i++) {
		AUTO_FREE char *decoded = NULL;
		char *content;
		size_t len;

		if (work_check_path(args[i].path, err) < 0)
			return error_wrap(err, "argument 'files[%zu].path'", i);
		files[i] = (struct process_file){ args[i].path, args[i].content };
		if (args[i].encoding != encoding_names[ENCODING_BASE64])
			continue;
		if (base64_decode(args[i].content, &decoded, &len, err) < 0)
			return error_wrap(err, "argument 'files[%zu].content'", i);
		content = arena_new(&ret->arena, len + 1, 1);
		memcpy(content, decoded, len);
		files[i].content = (struct view){ content, len };
	}
	ret->process.files = files;
	ret->process.file_count = records->count;
	return 0;
}

/* Removes the lines with three backquotes between which Markdown has code: models sometimes pass
 * them along. No program begins and ends like that. */
static struct view remove_fence(struct view code)
{
	struct view rest = view_trim(code), line;

	if (!view_starts(rest, "```") || !view_ends(rest, "\n```") || !view_next_line(&rest, &line))
		return code;
	for (size_t i = 3; i < line.len; i++)
		if (strchr("`\"'$;()", line.ptr[i]) != NULL)
			return code;
	rest.len -= 3;
	return rest;
}

/* Makes the line ends of Windows, which Bash and R refuse, those of Unix. */
static struct view convert_line_ends(struct view code, struct arena *arena)
{
	size_t len = 0;
	char *text;

	if (code.len == 0 || memchr(code.ptr, '\r', code.len) == NULL)
		return code;
	text = arena_new(arena, code.len + 1, 1);
	for (size_t i = 0; i < code.len; i++)
		if (code.ptr[i] != '\r' || i + 1 == code.len || code.ptr[i + 1] != '\n')
			text[len++] = code.ptr[i];
	return (struct view){ text, len };
}

static int run_code(struct mcp_call *call, const void *args, struct error *err)
{
	const struct tools_context *context = mcp_call_app(call);
	const struct code_args *a = args;
	const struct language *language = language_find(a->language);
	uint32_t default_ms = a->background ? 0 : context->timeout_s * 1000;
	struct process_work_options options = {
		.process = { .language = language,
		             .session = a->session,
		             .args = a->args.count != 0 ? a->args.items : NULL },
		.sandbox = a->sandbox,
		.takes_pictures = true,
		.is_background = a->background,
	};

	if (language == NULL)
		return set_unknown_language(a->language, err);
	options.process.code = convert_line_ends(remove_fence(a->code), &options.arena);
	if (check_session(language, a->session, err) < 0 ||
	    run_params_apply(&a->run, context, default_ms, &options.arena, &options.process, err) <
	            0 ||
	    set_files(&a->files, &options, err) < 0) {
		arena_done(&options.arena);
		return -1;
	}
	return process_work_start(call, &options, err);
}

/* There is no output schema, because an answer with pictures has no structured content (clients
 * drop the pictures if there is any), and the official client rejects an answer without structured
 * content if the tool has a schema. */
const struct mcp_tool tool_run_code = {
	.name = "run_code",
	.title = "Run code",
	.help = "Run code in a sandbox, isolated from the user's machine and usually without "
	        "network. It starts in /workspace, whose files stay from call to call; with "
	        "`session` variables stay too. Answers the last expression's value; figures come "
	        "back as pictures. Code that takes long goes on as a process: see process_output. "
	        "Lines that begin with \"[belljar: \" are Belljar's. For shell commands use "
	        "run_command.",
	.more = "Python unless `language` says otherwise. Python knows what notebooks do: "
	        "!commands, magics such as %time and %%bash, await, display() and "
	        "IPython.display. A `;` at the end hides the value. Figures of matplotlib and PIL "
	        "are returned also without show(). Where packages can be installed, those that "
	        "requirements.txt, pyproject.toml or package.json list are installed before the "
	        "run, and if a module of Python or Node is missing, its package is installed and "
	        "the code run again, once; the answer says so. The answer has stdout, stderr and, "
	        "in a last block, lines that begin with \"[belljar: \", which no program can "
	        "print. Long output is cut in the middle, and the answer names a file with all of "
	        "it. Memory, time, processes and disk are limited. An unused sandbox is put to "
	        "sleep, which ends sessions and keeps files; sandbox_info has the numbers.",
	.scope = MCP_SCOPE_RUN,
	.params = params,
	.args_size = sizeof(struct code_args),
	.complete_schema = run_params_complete_schema,
	.task = MCP_TASK_OPTIONAL,
	.call = run_code,
};
