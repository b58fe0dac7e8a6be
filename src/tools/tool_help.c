/* tool_help.c - the tool tool_help: which Python modules are in the directory of tools, and how
 * their functions are called (tools/run/module_help.h). */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "mcp/content.h"
#include "tools/catalogue.h"
#include "tools/run/module_help.h"
#include "tools/support/answer_room.h"
#include "tools/support/params.h"
#include "tools/support/work.h"

enum { NAME_MAX_BYTES = 200 };

struct tool_help_args {
	const char *module, *function;
};

static const struct param params[] = {
	ARG(struct tool_help_args, module, STRING, "As Python imports it: \"geo.shapes\".",
	    .min = 1, .max = NAME_MAX_BYTES),
	ARG(struct tool_help_args, function, STRING, "Such as \"area\" or \"Shape.area\".",
	    .min = 1, .max = NAME_MAX_BYTES),
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
	struct module_help help;
};

/* --- answers ----------------------------------------------------------------------------- */

/* The first `count` records of a list as the program printed them: the tables above allow only
 * members that an answer has too. */
static json_t *first_records(const struct module_reply *reply, const char *list, size_t count)
{
	const json_t *records = json_object_get(reply->json, list);
	json_t *first = json_list();

	for (size_t i = 0; i < count; i++)
		json_push(first, json_incref(json_array_get(records, i)));
	return first;
}

static void answer_text(struct tool_help *h, struct view text, const char *note, json_t *structured)
{
	json_t *content = json_list();

	if (text.len != 0)
		json_push(content, mcp_text_view(text));
	json_push(content, mcp_text("[%s]", note));
	json_set(structured, "note", json_str(note));
	work_answer(&h->work, content, structured);
}

static void answer_list(struct tool_help *h, const struct module_reply *reply)
{
	const struct module_record *records = reply->modules.items;
	const char *directory = h->work.context->tools_dir;
	json_t *structured = json_obj();
	AUTO_BUF struct buf text;
	size_t shown = 0;
	char note[NOTE_ROOM];

	buf_init(&text, answer_text_room(h->work.context->max_output));
	while (shown < reply->modules.count &&
	       buf_putf(&text, "%s%s%s\n", records[shown].name,
	                records[shown].summary[0] != '\0' ? ": " : "", records[shown].summary))
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
static bool add_item(const struct module_item *item, struct buf *text)
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

static void answer_module(struct tool_help *h, const struct module_reply *reply)
{
	const struct module_item *items = reply->functions.items;
	const char *module = h->args->module, *doc = reply->doc != NULL ? reply->doc : "";
	bool is_one = h->args->function != NULL;
	json_t *structured = json_obj();
	AUTO_BUF struct buf text;
	char note[NOTE_ROOM];
	size_t shown = 0;

	buf_init(&text, answer_text_room(h->work.context->max_output));
	if (!is_one && doc[0] != '\0')
		buf_putf(&text, "%s\n\n", doc);
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
static int set_missing(const struct tool_help *h, const struct module_reply *reply,
                       struct error *err)
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

static int answer_reply(struct tool_help *h, const struct module_reply *reply, struct error *err)
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

static void on_reply(void *ctx, const struct module_reply *reply, const struct error *why)
{
	struct tool_help *h = ctx;
	struct error err;

	if (why != NULL)
		work_fail(&h->work, why);
	else if (answer_reply(h, reply, &err) < 0)
		work_fail(&h->work, &err);
}

static int start_program(struct work *work, struct error *err)
{
	struct tool_help *h = container_of(work, struct tool_help, work);
	const struct module_query query = { .directory = work->context->tools_dir,
		                            .module = h->args->module,
		                            .function = h->args->function };

	return module_help_start(&h->help, work, &query, on_reply, h, err);
}

static void free_program(struct work *work)
{
	module_help_done(&container_of(work, struct tool_help, work)->help);
}

static const struct work_callbacks callbacks = { start_program, work_cancel, free_program };

/* --- the call ---------------------------------------------------------------------------- */

static int check_names(const struct tool_help_args *a, struct error *err)
{
	if (a->module == NULL && a->function != NULL)
		return error_set(
		        err, ERR_INVALID,
		        "argument 'function' needs argument 'module': name the function's module "
		        "too");
	if (a->module != NULL && !module_is_dotted_name(a->module))
		return error_set(err, ERR_INVALID,
		                 "argument 'module': expected names with dots between, as in an "
		                 "import, for example \"geo.shapes\"");
	if (a->function != NULL && !module_is_dotted_name(a->function))
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
	.help = "Show the user's own Python modules in /tools, the functions of a `module`, or the "
	        "documentation of a `function`.",
	.more = "The source is only parsed: nothing in the modules is run.",
	.is_offered = has_tools_dir,
	.hints = MCP_READ_ONLY | MCP_IDEMPOTENT,
	.scope = MCP_SCOPE_RUN,
	.params = params,
	.args_size = sizeof(struct tool_help_args),
	.output = output,
	.call = tool_help,
};
