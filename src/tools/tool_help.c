/* tool_help.c - the tool tool_help: which Python modules are in the directory of tools, and how
 * their functions are called.
 *
 * A Python program (kernels/python_modules.py) runs in the sandbox, parses the modules with `ast`
 * and prints what it found as one JSON object. The sandbox is hostile: any program in it may have
 * written that output. The output is therefore bounded by the capture of the process, read with
 * limits, decoded by the tables below, and only then made into an answer. */
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/text/utf8.h"
#include "kernels/kernels.h"
#include "kernels/languages.h"
#include "mcp/content.h"
#include "sandbox/process/process.h"
#include "tools/catalogue.h"
#include "tools/run/wait_process.h"
#include "tools/support/answer_room.h"
#include "tools/support/params.h"
#include "tools/support/work.h"

enum {
	NAME_MAX_BYTES = 200,
	TEXT_MAX = 64 * 1024, /* one string of the reply */
	RECORDS_MAX = 1000,
	DEADLINE_MS = 30000,
};

struct tool_help_args {
	const char *module, *function;
};

static const struct param params[] = {
	ARG(struct tool_help_args, module, STRING, "As Python imports it: \"geo.shapes\".",
	    .min = 1, .max = NAME_MAX_BYTES),
	ARG(struct tool_help_args, function, STRING,
	    "A function, class or method of the module: \"area\", \"Shape.area\".", .min = 1,
	    .max = NAME_MAX_BYTES),
	{ 0 },
};

static const struct param module_fields[] = {
	FIELD("name", STRING, "The name to import."),
	FIELD("summary", STRING, "The first line of its docstring."),
	{ 0 },
};

static const struct param item_fields[] = {
	FIELD("name", STRING, "\"area\"; for a method \"Class.name\"."),
	FIELD("kind", STRING, "function or class."),
	FIELD("signature", STRING, "How to call it."),
	FIELD_OPTIONAL("decorators", STRING, "Its decorators."),
	FIELD("doc", STRING, "Its docstring: the first line, or all of it with 'function'."),
	{ 0 },
};

static const struct param output[] = {
	FIELD_OPTIONAL("modules", RECORDS, "All modules (without 'module').",
	               .fields = module_fields),
	FIELD_OPTIONAL("module", STRING, "The module that was asked for."),
	FIELD_OPTIONAL("doc", STRING, "The module's docstring."),
	FIELD_OPTIONAL("functions", RECORDS, "Its functions, classes and methods.",
	               .fields = item_fields),
	FIELD("note", STRING, "How much was shown, and what to do next."),
	{ 0 },
};

struct tool_help {
	struct work work;
	const struct tool_help_args *args;
	struct process *process;
	struct wait_process wait;
};

/* --- the program's reply ----------------------------------------------------------------- */

struct module_record {
	const char *name, *summary;
};

struct item_record {
	const char *name, *kind, *signature, *decorators, *doc;
};

struct reply {
	json_t *json; /* the decoded text, in which the strings below are */
	const char *missing, *nearest, *problem, *doc;
	struct param_records modules, functions;
	int64_t total;
};

#define TEXT(struct_, member_, ...) ARG(struct_, member_, STRING, "", .max = TEXT_MAX, __VA_ARGS__)
static const struct param module_table[] = {
	TEXT(struct module_record, name, .required = true),
	TEXT(struct module_record, summary, .required = true),
	{ 0 },
};

static const struct param item_table[] = {
	TEXT(struct item_record, name, .required = true),
	TEXT(struct item_record, kind, .required = true),
	TEXT(struct item_record, signature, .required = true),
	TEXT(struct item_record, decorators),
	TEXT(struct item_record, doc, .required = true),
	{ 0 },
};

static const struct param reply_table[] = {
	TEXT(struct reply, missing),
	TEXT(struct reply, nearest),
	TEXT(struct reply, problem),
	TEXT(struct reply, doc),
	ARG(struct reply, modules, RECORDS, "", .max = RECORDS_MAX, .fields = module_table,
	    .record_size = sizeof(struct module_record)),
	ARG(struct reply, functions, RECORDS, "", .max = RECORDS_MAX, .fields = item_table,
	    .record_size = sizeof(struct item_record)),
	ARG(struct reply, total, INT, "", .max = 1000000),
	{ 0 },
};
#undef TEXT

/* The first `count` records of a list as the program printed them: the tables above allow only
 * members that an answer has too. */
static json_t *first_records(const struct reply *reply, const char *list, size_t count)
{
	const json_t *records = json_object_get(reply->json, list);
	json_t *first = json_list();

	for (size_t i = 0; i < count; i++)
		json_push(first, json_incref(json_array_get(records, i)));
	return first;
}

/* --- answers ----------------------------------------------------------------------------- */

static void answer_text(struct tool_help *h, struct view text, const char *note, json_t *structured)
{
	json_t *content = json_list();

	if (text.len != 0)
		json_push(content, mcp_text_view(text));
	json_push(content, mcp_text("[%s]", note));
	json_set(structured, "note", json_str(note));
	work_answer(&h->work, content, structured);
}

static void answer_list(struct tool_help *h, const struct reply *reply)
{
	const struct module_record *records = reply->modules.items;
	const char *directory = h->work.context->tools_dir;
	json_t *structured = json_obj();
	AUTO_BUF struct buf text;
	size_t shown = 0;
	struct error full;
	char note[NOTE_ROOM];

	buf_init(&text, answer_text_room(h->work.context->max_output));
	while (shown < reply->modules.count &&
	       buf_printf(&text, &full, "%s%s%s\n", records[shown].name,
	                  records[shown].summary[0] != '\0' ? ": " : "",
	                  records[shown].summary) == 0)
		shown++;
	json_set(structured, "modules", first_records(reply, "modules", shown));
	if (reply->total == 0)
		(void)snprintf(note, sizeof note, "there are no Python modules below %s",
		               directory);
	else
		(void)snprintf(note, sizeof note,
		               "%zu module%s below %s%s; the argument module shows one of them",
		               shown, shown == 1 ? "" : "s", directory,
		               (json_int_t)shown < reply->total ? ", and more that are not shown"
		                                                : "");
	answer_text(h, buf_view(&text), note, structured);
}

/* Adds each line behind `indent` spaces. */
static int add_indented(struct buf *text, struct view lines, int indent, struct error *full)
{
	struct view line;

	while (view_next_line(&lines, &line))
		if (buf_printf(text, full, "%*s%.*s\n", line.len != 0 ? indent : 0, "",
		               (int)line.len, line.ptr) < 0)
			return -1;
	return 0;
}

/* Adds an item as text, a method indented below its class. False: no room for all of it. */
static bool add_item(const struct item_record *item, struct buf *text)
{
	int indent = strchr(item->name, '.') != NULL ? 4 : 0;
	size_t before = text->len;
	struct error full;

	if ((item->decorators == NULL ||
	     buf_printf(text, &full, "%*s%s\n", indent, "", item->decorators) == 0) &&
	    buf_printf(text, &full, "%*s%s%s\n", indent, "",
	               strcmp(item->kind, "class") == 0 ? "class " : "", item->signature) == 0 &&
	    add_indented(text, view_of(item->doc), indent + 4, &full) == 0)
		return true;
	buf_truncate(text, before);
	return false;
}

static void answer_module(struct tool_help *h, const struct reply *reply)
{
	const struct item_record *items = reply->functions.items;
	const char *module = h->args->module, *doc = reply->doc != NULL ? reply->doc : "";
	bool is_one = h->args->function != NULL;
	json_t *structured = json_obj();
	AUTO_BUF struct buf text;
	struct error full;
	char note[NOTE_ROOM];
	size_t shown = 0;

	buf_init(&text, answer_text_room(h->work.context->max_output));
	if (!is_one && doc[0] != '\0')
		(void)!buf_printf(&text, &full, "%s\n\n", doc);
	while (shown < reply->functions.count && add_item(&items[shown], &text))
		shown++;
	json_set(structured, "module", json_str(module));
	if (!is_one)
		json_set(structured, "doc", json_str(doc));
	json_set(structured, "functions", first_records(reply, "functions", shown));
	if (reply->problem != NULL)
		(void)snprintf(note, sizeof note, "%s is not valid Python: %.200s", module,
		               reply->problem);
	else
		(void)snprintf(note, sizeof note, "%s: %zu of %lld shown%s%s", module, shown,
		               (long long)reply->total,
		               (json_int_t)shown < reply->total
		                       ? "; the argument function shows one of the others"
		                       : "",
		               is_one ? "" : "; with function: its whole documentation");
	answer_text(h, buf_view(&text), note, structured);
}

/* Sets the error for a module or a function that does not exist. Returns -1. */
static int set_missing(const struct tool_help *h, const struct reply *reply, struct error *err)
{
	const char *module = h->args->module, *function = h->args->function;

	if (function == NULL || strcmp(reply->missing, "module") == 0)
		return error_set(err, ERR_NOT_FOUND,
		                 "there is no module '%s' below %s; tool_help without arguments "
		                 "lists all modules",
		                 module, h->work.context->tools_dir);
	if (reply->nearest != NULL)
		return error_set(err, ERR_NOT_FOUND,
		                 "the module '%s' has no '%s'; did you mean '%.100s'?", module,
		                 function, reply->nearest);
	return error_set(err, ERR_NOT_FOUND,
	                 "the module '%s' has no '%s'; tool_help with module alone lists its "
	                 "functions",
	                 module, function);
}

static int answer_reply(struct tool_help *h, const struct reply *reply, struct error *err)
{
	if (h->args->module == NULL)
		answer_list(h, reply);
	else if (reply->missing != NULL)
		return set_missing(h, reply, err);
	else if (reply->problem != NULL && h->args->function != NULL)
		return error_set(err, ERR_INVALID,
		                 "the module '%s' is not valid Python: %.200s; read_file shows "
		                 "its source",
		                 h->args->module, reply->problem);
	else
		answer_module(h, reply);
	return 0;
}

/* --- the program ------------------------------------------------------------------------- */

static int check_end(struct tool_help *h, struct error *err)
{
	struct process_state state;
	char line[160];

	process_state(h->process, &state);
	if (state.phase == PROCESS_FAILED && state.why->kind == ERR_NOT_FOUND)
		return error_set(err, ERR_UNSUPPORTED,
		                 "there is no Python in the sandbox, which tool_help reads modules "
		                 "with: install python3 on this machine, or look at the files in "
		                 "%s with read_file",
		                 h->work.context->tools_dir);
	if (state.phase == PROCESS_FAILED) {
		*err = *state.why;
		return -1;
	}
	if (state.end.timed_out)
		return error_set(err, ERR_LIMIT,
		                 "reading the modules took more than %d s; name a module",
		                 DEADLINE_MS / 1000);
	if (state.end.code != 0 || state.end.signal != 0)
		return error_set(err, ERR_SYSTEM, "the program that reads the modules failed: %s%s",
		                 process_last_line(h->process, line, sizeof line), state.end.note);
	return 0;
}

/* python_modules.py prints at most the number of bytes in its last argument, and the capture keeps
 * that many. If the capture has a gap in its middle, another program of the sandbox wrote the
 * output. */
static int read_reply(struct tool_help *h, struct arena *arena, struct reply *ret,
                      struct error *err)
{
	static const struct json_limits limits = { .depth = 4, .values = 8 * RECORDS_MAX };
	const struct process_stream stream = process_stream(h->process, false);
	AUTO_BUF struct buf text;

	buf_init(&text, stream.head.len + stream.tail.len + 1);
	if (stream.left_out != 0 || buf_add(&text, stream.head, err) < 0 ||
	    buf_add(&text, stream.tail, err) < 0 ||
	    json_read(buf_view(&text), &limits, &ret->json, NULL, err) < 0 ||
	    param_decode(reply_table, ret->json, arena, ret, err) < 0)
		return error_set(err, ERR_SYSTEM,
		                 "the program that reads the modules printed something else than "
		                 "its reply; call again, or read the modules with read_file");
	return 0;
}

static void on_end(void *ctx)
{
	struct tool_help *h = ctx;
	struct arena arena = { 0 };
	struct reply reply = { 0 };
	struct error err;

	if (check_end(h, &err) < 0 || read_reply(h, &arena, &reply, &err) < 0 ||
	    answer_reply(h, &reply, &err) < 0)
		work_fail(&h->work, &err);
	json_decref(reply.json);
	arena_done(&arena);
}

static int start_program(struct work *work, struct error *err)
{
	struct tool_help *h = container_of(work, struct tool_help, work);
	const struct wait_options wait = { .call = work->call,
		                           .began_ms = clock_now_ms(),
		                           .until_ms = UINT64_MAX,
		                           .fn = on_end,
		                           .ctx = h };
	char room[24];
	const char *const args[] = { work->context->tools_dir,
		                     h->args->module != NULL ? h->args->module : "",
		                     h->args->function != NULL ? h->args->function : "", room,
		                     NULL };
	const struct process_options options = { .language = language_find("python"),
		                                 .code = python_modules_source(),
		                                 .args = args,
		                                 .deadline_ms = DEADLINE_MS };

	/* The capture keeps max_output / 2 bytes of the beginning and as many of the end (see
	 * process_limits() in server/runtime.c). The program must print less than both together. */
	(void)snprintf(room, sizeof room, "%zu", work->context->max_output / 2 * 2 - 1);
	if (process_start(work->sandbox, &options, &h->process, err) < 0)
		return -1;
	wait_process_start(&h->wait, h->process, &wait);
	return 0;
}

static void cancel_program(struct work *work)
{
	struct error err;

	(void)error_set(&err, ERR_SYSTEM, "cancelled");
	work_fail(work, &err);
}

static void free_program(struct work *work)
{
	struct tool_help *h = container_of(work, struct tool_help, work);

	wait_process_stop(&h->wait);
	process_free(h->process);
}

static const struct work_callbacks callbacks = { start_program, cancel_program, free_program };

/* --- the call ---------------------------------------------------------------------------- */

/* Names in ASCII with dots between them, as in an import. */
static bool is_dotted_name(const char *text)
{
	bool is_start = true; /* of a part */

	for (; *text != '\0'; text++) {
		bool is_letter = (*text >= 'a' && *text <= 'z') || (*text >= 'A' && *text <= 'Z') ||
		                 *text == '_';

		if (*text == '.' && !is_start) {
			is_start = true;
			continue;
		}
		if (!is_letter && (is_start || *text < '0' || *text > '9'))
			return false;
		is_start = false;
	}
	return !is_start;
}

static int check_names(const struct tool_help_args *a, struct error *err)
{
	if (a->module == NULL && a->function != NULL)
		return error_set(
		        err, ERR_INVALID,
		        "argument 'function' needs argument 'module': name the function's module "
		        "too");
	if (a->module != NULL && !is_dotted_name(a->module))
		return error_set(err, ERR_INVALID,
		                 "argument 'module': expected names with dots between, as in an "
		                 "import, for example \"geo.shapes\"");
	if (a->function != NULL && !is_dotted_name(a->function))
		return error_set(err, ERR_INVALID,
		                 "argument 'function': expected a name, for example \"area\" or "
		                 "\"Shape.area\"");
	return 0;
}

static int tool_help(struct mcp_call *call, const void *args, struct error *err)
{
	const struct tools_context *context = mcp_call_app(call);
	struct work *work;

	if (check_names(args, err) < 0)
		return -1;
	if (context->tools_dir == NULL)
		return error_set(err, ERR_UNSUPPORTED,
		                 "there are no tools of the user's own here: start the server with "
		                 "--tools-dir DIR, a directory of Python modules");
	if (work_start(call, sizeof(struct tool_help), &callbacks, NULL, &work, err) < 0)
		return -1;
	container_of(work, struct tool_help, work)->args = args;
	return 0;
}

static bool has_tools_dir(const void *app)
{
	return ((const struct tools_context *)app)->tools_dir != NULL;
}

const struct mcp_tool tool_tool_help = {
	.name = "tool_help",
	.title = "Help on the user's own tools",
	.help = "See which Python modules the user has put into /tools: all of them, the functions "
	        "of a `module`, or the documentation of a `function`.",
	.more = "The source is only parsed: nothing in the modules is run.",
	.is_offered = has_tools_dir,
	.hints = MCP_READ_ONLY | MCP_IDEMPOTENT,
	.params = params,
	.args_size = sizeof(struct tool_help_args),
	.output = output,
	.call = tool_help,
};
