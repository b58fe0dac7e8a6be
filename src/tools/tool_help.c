#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/text/nearest.h"
#include "mcp/content.h"
#include "tools/catalogue.h"
#include "tools/python_doc.h"
#include "tools/python_show.h"
#include "tools/support/file_work.h"

enum {
	SOURCE_MAX = 1024 * 1024,
	HEAD_MAX = 8 * 1024, /* of a module, for the first line of its docstring */
	HEADS_MAX = 64,      /* modules whose docstring is looked at for the list */
	MODULES_MAX = 500,
	ENTRIES_MAX = 5000,
	DEPTH = 6,
	ANSWER_MAX = 8 * 1024 * 1024,
	NOTE_ROOM = 600,
	NAME_MAX_BYTES = 200,
};

struct tool_help_args {
	const char *module, *function;
};

static const struct param params[] = {
	{ .name = "module",
	  .type = PARAM_STRING,
	  .min = 1,
	  .max = NAME_MAX_BYTES,
	  .offset = offsetof(struct tool_help_args, module),
	  .help = "A module, as one imports it: \"shapes\" or \"geo.shapes\". Leave it out for the "
	          "list of all." },
	{ .name = "function",
	  .type = PARAM_STRING,
	  .min = 1,
	  .max = NAME_MAX_BYTES,
	  .offset = offsetof(struct tool_help_args, function),
	  .help = "A function, class or method of the module (\"area\", \"Shape.area\"), for its "
	          "whole documentation." },
	{ 0 },
};

static const struct param module_fields[] = {
	{ .name = "name", .type = PARAM_STRING, .required = true, .help = "For import." },
	{ .name = "summary", .type = PARAM_STRING, .required = true, .help = "In one line." },
	{ 0 },
};

static const struct param item_fields[] = {
	{ .name = "name",
	  .type = PARAM_STRING,
	  .required = true,
	  .help = "Class.name of methods." },
	{ .name = "kind", .type = PARAM_STRING, .required = true, .help = "function or class." },
	{ .name = "signature", .type = PARAM_STRING, .required = true, .help = "How to call it." },
	{ .name = "decorators", .type = PARAM_STRING, .help = "If it has some." },
	{ .name = "doc",
	  .type = PARAM_STRING,
	  .required = true,
	  .help = "Docstring: its first line, or all of it if the function was named." },
	{ 0 },
};

static const struct param output[] = {
	{ .name = "modules",
	  .type = PARAM_RECORDS,
	  .fields = module_fields,
	  .help = "What there is (no module was named)." },
	{ .name = "module", .type = PARAM_STRING, .help = "The one that was named." },
	{ .name = "doc", .type = PARAM_STRING, .help = "The module's docstring." },
	{ .name = "functions", .type = PARAM_RECORDS, .fields = item_fields, .help = "In it." },
	{ .name = "note", .type = PARAM_STRING, .required = true, .help = "What to do next." },
	{ 0 },
};

struct module {
	char *name, *path; /* the path is relative to the directory of tools */
	char *summary;
};

struct helping {
	struct file_work file;
	const struct tool_help_args *args;
	char path[512];     /* of the file under way */
	bool tried_package; /* __init__.py was tried */
	struct module *modules;
	size_t count, next;
	bool more;
};

static void fail_missing(struct helping *h)
{
	file_work_fail(&h->file, ERR_NOT_FOUND,
	               "there is no module '%s' below %s; tool_help without arguments lists those "
	               "there are",
	               h->args->module, h->file.work.context->tools_dir);
}

static size_t room_for(const struct helping *h)
{
	const size_t room = h->file.work.context->max_output;

	return room > 2 * NOTE_ROOM ? room - NOTE_ROOM : NOTE_ROOM;
}

static void answer(struct helping *h, struct view text, const char *note, json_t *structured)
{
	json_t *content = json_list();

	if (text.len != 0)
		json_push(content, mcp_text_view(text));
	json_push(content, mcp_text("[%s]", note));
	json_set(structured, "note", json_str(note));
	work_answer(&h->file.work, content, structured);
}

/* --- one module ------------------------------------------------------------------------- */

static void fail_function(struct helping *h, const struct python_doc *doc)
{
	struct nearest best = { 0 };

	for (size_t i = 0; i < doc->count; i++)
		nearest_consider(&best, h->args->function, doc->items[i].name);
	if (best.name != NULL)
		file_work_fail(&h->file, ERR_NOT_FOUND,
		               "the module '%s' has no '%s'; did you mean '%s'?", h->args->module,
		               h->args->function, best.name);
	else
		file_work_fail(
		        &h->file, ERR_NOT_FOUND,
		        "the module '%s' has no '%s'; tool_help with module alone lists what "
		        "it has",
		        h->args->module, h->args->function);
}

static void answer_module(struct helping *h, const struct python_doc *doc)
{
	const char *only = h->args->function;
	json_t *structured, *functions = json_list();
	size_t count, left_out;
	AUTO_BUF struct buf text;
	struct error full;
	char note[NOTE_ROOM];

	buf_init(&text, room_for(h));
	if (only == NULL && doc->doc[0] != '\0')
		(void)!buf_printf(&text, &full, "%s\n\n", doc->doc);
	left_out = python_show(doc, only, &text, functions, &count);
	if (only != NULL && count == 0) {
		json_decref(functions);
		fail_function(h, doc);
		return;
	}
	structured = json_obj();
	json_set(structured, "module", json_str(h->args->module));
	if (only == NULL)
		json_set(structured, "doc", json_str(doc->doc));
	json_set(structured, "functions", functions);
	(void)snprintf(note, sizeof note, "%s: %zu of %zu shown%s%s", h->args->module,
	               count - left_out, count,
	               left_out != 0 ? "; name a function for one of the rest" : "",
	               only == NULL ? "; with function: its whole documentation" : "");
	answer(h, buf_view(&text), note, structured);
}

static void ask_source(struct helping *h);

static void on_source(struct file_work *file, const struct files_reply *said,
                      const struct error *why)
{
	struct helping *h = container_of(file, struct helping, file);

	if (why != NULL && why->kind == ERR_NOT_FOUND) {
		if (h->tried_package) {
			fail_missing(h);
			return;
		}
		h->tried_package = true;
		ask_source(h);
		return;
	}
	if (why != NULL) {
		file_work_fail_path(file, why);
		return;
	}
	AUTO(python_doc)
	struct python_doc *doc = python_doc_read(said->bytes.len != 0 ? said->bytes : view_of(""));

	answer_module(h, doc);
}

/* a.b is a/b.py or a/b/__init__.py. The name was checked: it leads nowhere else. */
static void ask_source(struct helping *h)
{
	struct wire_message request = { .type = WIRE_READ };
	size_t start;

	(void)snprintf(h->path, sizeof h->path, "%s/", h->file.work.context->tools_dir);
	start = strlen(h->path);
	(void)snprintf(h->path + start, sizeof h->path - start, "%s", h->args->module);
	for (char *c = h->path + start; *c != '\0'; c++)
		if (*c == '.')
			*c = '/';
	start = strlen(h->path);
	(void)snprintf(h->path + start, sizeof h->path - start, "%s",
	               h->tried_package ? "/__init__.py" : ".py");
	h->file.path = h->path;
	request.read = (struct wire_read){ .unit = WIRE_UNIT_BYTES,
		                           .count = SOURCE_MAX,
		                           .max = SOURCE_MAX,
		                           .path = view_of(h->path) };
	file_work_request(&h->file, &request, (struct view){ 0 }, SOURCE_MAX, on_source);
}

/* --- all modules ------------------------------------------------------------------------ */

static void answer_list(struct helping *h)
{
	json_t *structured = json_obj(), *modules = json_list();
	AUTO_BUF struct buf text;
	size_t shown = 0;
	struct error full;
	char note[NOTE_ROOM];

	buf_init(&text, room_for(h));
	for (; shown < h->count; shown++) {
		const struct module *module = &h->modules[shown];
		const char *summary = module->summary != NULL ? module->summary : "";
		json_t *object;

		if (buf_printf(&text, &full, "%s%s%s\n", module->name,
		               summary[0] != '\0' ? ": " : "", summary) < 0)
			break;
		object = json_obj();
		json_set(object, "name", json_str(module->name));
		json_set(object, "summary", json_str(summary));
		json_push(modules, object);
	}
	json_set(structured, "modules", modules);
	if (h->count == 0)
		(void)snprintf(note, sizeof note, "there are no Python modules below %s",
		               h->file.work.context->tools_dir);
	else
		(void)snprintf(note, sizeof note,
		               "%zu module%s below %s%s; with module: what is in it", shown,
		               shown == 1 ? "" : "s", h->file.work.context->tools_dir,
		               shown < h->count || h->more ? ", and more that are not shown" : "");
	answer(h, buf_view(&text), note, structured);
}

static void ask_head(struct helping *h);

static void on_head(struct file_work *file, const struct files_reply *said, const struct error *why)
{
	struct helping *h = container_of(file, struct helping, file);
	struct module *module = &h->modules[h->next++];

	/* One that cannot be read is still there. */
	if (why == NULL) {
		AUTO(python_doc)
		struct python_doc *doc = python_doc_read(said->bytes.len != 0 ? said->bytes
		                                                              : view_of(""));
		struct view summary = python_summary(doc->doc);

		module->summary = mem_dup_len(summary.ptr, summary.len);
	}
	ask_head(h);
}

static void ask_head(struct helping *h)
{
	struct wire_message request = { .type = WIRE_READ };

	if (h->next == h->count || h->next == HEADS_MAX) {
		answer_list(h);
		return;
	}
	(void)snprintf(h->path, sizeof h->path, "%s/%s", h->file.work.context->tools_dir,
	               h->modules[h->next].path);
	request.read = (struct wire_read){ .unit = WIRE_UNIT_BYTES,
		                           .count = HEAD_MAX,
		                           .max = HEAD_MAX,
		                           .path = view_of(h->path) };
	file_work_request(&h->file, &request, (struct view){ 0 }, HEAD_MAX, on_head);
}

/* geo/shapes.py is geo.shapes, geo/__init__.py is geo; NULL: it is no module for others. */
static char *module_name(struct view path)
{
	AUTO_FREE char *name = NULL;

	if (path.len < 4 || path.len > NAME_MAX_BYTES ||
	    memcmp(path.ptr + path.len - 3, ".py", 3) != 0)
		return NULL;
	path.len -= 3;
	if (path.len > 9 && memcmp(path.ptr + path.len - 9, "/__init__", 9) == 0)
		path.len -= 9;
	name = mem_dup_len(path.ptr, path.len);
	/* A dot in a name would pass for a directory. */
	if (strchr(name, '.') != NULL)
		return NULL;
	for (char *c = name; *c != '\0'; c++)
		if (*c == '/')
			*c = '.';
	if (!python_is_name(name, true) || name[0] == '_' || strstr(name, "._") != NULL)
		return NULL;
	return TAKE_PTR(name);
}

static void on_tree(struct file_work *file, const struct files_reply *said, const struct error *why)
{
	struct helping *h = container_of(file, struct helping, file);
	struct wire_entry entry;
	struct view rest;

	if (why != NULL) {
		file_work_fail_path(file, why);
		return;
	}
	rest = said->bytes;
	h->modules = mem_array(MODULES_MAX, sizeof *h->modules);
	while (files_next_entry(&rest, &entry)) {
		char *name = entry.type == WIRE_FILE_REGULAR ? module_name(entry.path) : NULL;

		if (name == NULL)
			continue;
		if (h->count == MODULES_MAX) {
			h->more = true;
			free(name);
			break;
		}
		h->modules[h->count].name = name;
		h->modules[h->count++].path = mem_dup_len(entry.path.ptr, entry.path.len);
	}
	ask_head(h);
}

static int start(struct work *work, struct error *err)
{
	struct helping *h = container_of(work, struct helping, file.work);
	struct wire_message request = { .type = WIRE_TREE };

	(void)err;
	h->file.path = work->context->tools_dir;
	if (h->args->module != NULL) {
		ask_source(h);
		return 0;
	}
	request.tree = (struct wire_tree){ .depth = DEPTH,
		                           .limit = ENTRIES_MAX,
		                           .path = view_of(work->context->tools_dir) };
	file_work_request(&h->file, &request, (struct view){ 0 }, ANSWER_MAX, on_tree);
	return 0;
}

static void done(struct work *work)
{
	struct helping *h = container_of(work, struct helping, file.work);

	file_work_done(work);
	for (size_t i = 0; i < h->count; i++) {
		free(h->modules[i].name);
		free(h->modules[i].path);
		free(h->modules[i].summary);
	}
	free(h->modules);
}

static const struct work_callbacks calls = { start, file_work_cancel, done };

static int check_names(const struct tool_help_args *a, struct error *err)
{
	if (a->module == NULL && a->function != NULL)
		return error_set(err, ERR_INVALID,
		                 "argument 'function': name the module it is in too");
	if (a->module != NULL && !python_is_name(a->module, true))
		return error_set(err, ERR_INVALID,
		                 "argument 'module': expected names with dots between, as in an "
		                 "import, for example \"geo.shapes\"");
	if (a->function != NULL && !python_is_name(a->function, true))
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
	if (work_start(call, sizeof(struct helping), &calls, NULL, &work, err) < 0)
		return -1;
	container_of(work, struct helping, file.work)->args = args;
	return 0;
}

const struct mcp_tool tool_tool_help = {
	.name = "tool_help",
	.title = "Help on the user's own tools",
	.help = "See which Python modules the user has put into /tools for code in the sandbox to "
	        "import, before you write such code yourself. Without arguments: all modules; with "
	        "module: its functions and classes with signatures; with function: the whole "
	        "documentation. Read from the source, nothing is run.",
	.hints = MCP_READ_ONLY | MCP_IDEMPOTENT,
	.params = params,
	.args_size = sizeof(struct tool_help_args),
	.output = output,
	.call = tool_help,
};
