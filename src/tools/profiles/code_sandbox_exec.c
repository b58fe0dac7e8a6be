/* code_sandbox_exec.c - commands of the profile code-sandbox, the packages that they need, and
 * their logs. */
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/text/utf8.h"
#include "kernels/kernels.h"
#include "tools/catalogue.h"
#include "tools/packages/package_module.h"
#include "tools/packages/package_spec.h"
#include "tools/profiles/code_sandbox.h"

enum {
	COMMANDS_MAX = 1000,
	EXIT_TIMEOUT = 124, /* as of timeout(1) */
	LOG_MAX = 64 * 1024,
	LOGS_MAX = 100,
	NEEDS_MS = 30000,
	OTHERS_MAX = 64 * 1024, /* bytes of an answer beside its results */
	OUTPUT_LEAST = 200,     /* bytes of an output that are always sent */
	REFUSED_MAX = 20,       /* lines of requirements.txt that are not installed */
	REFUSED_LINE_MAX = 400,
};

/* --- logs -------------------------------------------------------------------------------- */

/* The output of all commands of a container, in all its workspaces. */
struct container_log {
	struct list node; /* the oldest first */
	char container[SPEC_ID_LEN + 1];
	struct buf text;
};
static struct list logs = { &logs, &logs };
static size_t log_count;

static struct container_log *find_log(const char *container)
{
	LIST_EACH (node, &logs) {
		struct container_log *log = container_of(node, struct container_log, node);

		if (strcmp(log->container, container) == 0)
			return log;
	}
	return NULL;
}

static struct container_log *new_log(const char *container)
{
	struct container_log *log;

	if (log_count == LOGS_MAX) { /* the oldest makes room */
		log = container_of(logs.next, struct container_log, node);
		list_remove(&log->node);
		buf_clear(&log->text);
	} else {
		log = mem_new(sizeof *log);
		buf_init(&log->text, LOG_MAX);
		log_count++;
	}
	(void)snprintf(log->container, sizeof log->container, "%s", container);
	list_add(&logs, &log->node);
	return log;
}

/* Appends the end of `text`; what does not fit any more is removed from the front. */
static void append_log(struct container_log *log, struct view text)
{
	struct view last = text;
	size_t drop;

	if (last.len > LOG_MAX / 2)
		last = (struct view){ text.ptr + (text.len - LOG_MAX / 2), LOG_MAX / 2 };
	if (log->text.len + last.len > LOG_MAX) {
		drop = log->text.len + last.len - LOG_MAX;
		memmove(log->text.ptr, log->text.ptr + drop, log->text.len - drop);
		buf_truncate(&log->text, log->text.len - drop);
	}
	buf_put(&log->text, last);
}

static void log_command(const char *container, const char *command, const struct profile_run *run)
{
	struct container_log *log = find_log(container);

	if (log == NULL)
		log = new_log(container);
	append_log(log, view_of("$ "));
	append_log(log, view_of(command));
	append_log(log, view_of("\n"));
	append_log(log, run->out);
	append_log(log, run->errors);
}

static int get_container_logs(struct mcp_call *call, const void *args, struct error *err)
{
	const struct code_sandbox_args *a = args;
	char base[CODE_SANDBOX_BASE_SIZE];
	struct container_log *log;
	struct sandbox *sandbox;
	json_t *object;

	if (code_sandbox_find(call, a, &sandbox, base, err) < 0)
		return profile_refuse(call, err);
	log = find_log(a->container_id);
	object = json_obj();
	json_set(object, "success", json_true());
	json_set(object, "logs", json_str_view(log != NULL ? buf_view(&log->text) : view_of("")));
	mcp_respond_content(call, NULL, object);
	return 0;
}

/* --- commands ---------------------------------------------------------------------------- */

static void run_next(struct profile_work *w);

/* As in the original, `success` says that the commands could be run. Each result has its own. */
static void answer_commands(struct profile_work *w)
{
	json_t *object = json_obj();

	json_set(object, "success", json_true());
	json_set(object, "results", TAKE_PTR(w->answer));
	if (w->extra != NULL)
		json_set(object, "dependencies", TAKE_PTR(w->extra));
	profile_answer(w, object);
}

static void add_timeout(struct profile_work *w, struct buf *errors)
{
	char seconds[16], text[CODE_SANDBOX_TEXT_SIZE];

	(void)snprintf(seconds, sizeof seconds, "%u", w->file.work.context->timeout_s);
	buf_putf(errors, "%s%s", errors->len != 0 ? "\n" : "",
	         code_sandbox_text(w->file.work.call, TEXT_TIMED_OUT, seconds, NULL, text));
}

/* Adds the beginning and the end of a text that has more than `max` bytes. */
static void add_output(json_t *result, const char *key, struct view text, size_t max)
{
	AUTO_BUF struct buf cut = { 0 };
	size_t head, tail;

	if (text.len <= max) {
		json_set(result, key, json_str_view(text));
		return;
	}
	head = utf8_prefix(text.ptr, text.len, max / 2);
	tail = text.len - max / 2;
	while (tail < text.len && ((unsigned char)text.ptr[tail] & 0xc0) == 0x80)
		tail++; /* to the beginning of a character */
	buf_init(&cut, max + CODE_SANDBOX_TEXT_SIZE);
	buf_put(&cut, (struct view){ text.ptr, head });
	buf_putf(&cut, "\n[belljar: %zu bytes left out]\n", tail - head);
	buf_put(&cut, (struct view){ text.ptr + tail, text.len - tail });
	json_set(result, key, json_str_view(buf_view(&cut)));
}

/* The result of a command, with outputs that are shortened until the answer has room for it: an
 * equal part of the room for each command that is left, or a quarter if that is more. */
static json_t *make_result(struct profile_work *w, const char *command, int exit_code,
                           struct view out, struct view errors)
{
	const struct code_sandbox_args *a = w->args;
	const size_t share = num_max(w->room / (a->commands.count - w->index), w->room / 4);
	size_t max = num_max(out.len, errors.len), len;

	for (;; max /= 2) {
		json_t *result = json_obj();

		json_set(result, "command", json_str(command));
		json_set(result, "exit_code", json_int(exit_code));
		add_output(result, "stdout", out, max);
		add_output(result, "stderr", errors, max);
		json_set(result, "success", json_boolean(exit_code == 0));
		len = profile_answer_len(result);
		if (len <= share || max <= OUTPUT_LEAST) {
			w->room -= len < w->room ? len : w->room;
			return result;
		}
		json_decref(result);
	}
}

static void on_executed(struct profile_work *w, const struct profile_run *run)
{
	const struct code_sandbox_args *a = w->args;
	const char *command = a->commands.items[w->index];
	const int exit_code = run->timed_out ? EXIT_TIMEOUT : run->exit_code;
	AUTO_BUF struct buf errors;

	log_command(a->container_id, command, run);
	buf_init(&errors, run->errors.len + CODE_SANDBOX_TEXT_SIZE);
	buf_put(&errors, run->errors);
	if (run->timed_out)
		add_timeout(w, &errors);
	json_push(w->answer, make_result(w, command, exit_code, run->out, buf_view(&errors)));
	w->index++;
	if (exit_code != 0)
		answer_commands(w);
	else
		run_next(w);
}

static void run_command(struct profile_work *w)
{
	const struct code_sandbox_args *a = w->args;

	profile_run(
	        w,
	        &(struct process_options){ .command = a->commands.items[w->index],
	                                   .cwd = w->base,
	                                   .deadline_ms = w->file.work.context->timeout_s * 1000 },
	        on_executed);
}

/* --- automatic dependencies -------------------------------------------------------------- */

/* Adds what was installed, or why not, to the list of this name in the answer. */
static void add_dependency(struct profile_work *w, const char *list, const char *text)
{
	json_t *all;

	if (w->extra == NULL)
		w->extra = json_obj();
	all = json_object_get(w->extra, list);
	if (all == NULL) {
		all = json_list();
		json_set(w->extra, list, all);
	}
	for (size_t i = 0; i < json_array_size(all); i++) /* an earlier command needed the same */
		if (strcmp(json_string_value(json_array_get(all, i)), text) == 0)
			return;
	json_push(all, json_str(text));
}

/* A command runs also if its packages cannot be installed: it may not need them. */
static void on_installed(void *ctx, const struct package_reply *reply, const struct error *why)
{
	struct profile_work *w = ctx;

	if (why != NULL)
		add_dependency(w, "refused", why->msg);
	for (size_t i = 0; reply != NULL && i < reply->installed.count; i++)
		add_dependency(w, "installed", reply->installed.items[i]);
	package_step_done(&w->packages);
	w->packages = (struct package_step){ 0 };
	run_command(w);
}

struct needs_reply {
	struct param_strings needs, modules, refused;
};

static const struct param needs_table[] = {
	ARG(struct needs_reply, needs, STRINGS, "", .max = PACKAGE_SPECS_MAX,
	    .item_max = PACKAGE_SPEC_MAX),
	ARG(struct needs_reply, modules, STRINGS, "", .max = PACKAGE_SPECS_MAX,
	    .item_max = PACKAGE_MODULE_MAX),
	ARG(struct needs_reply, refused, STRINGS, "", .max = REFUSED_MAX,
	    .item_max = REFUSED_LINE_MAX),
	{ 0 },
};

/* Writes the packages that the program has printed, with spaces between them, and adds the refused
 * lines to the answer. Any program of the sandbox may have written its output. */
static void read_needs(struct profile_work *w, struct view text, struct buf *out)
{
	static const struct json_limits limits = { .depth = 3, .values = 3 * PACKAGE_SPECS_MAX };
	AUTO_JSON json_t *json = NULL;
	struct needs_reply reply = { 0 };
	struct arena arena = { 0 };
	char package[PACKAGE_SPEC_MAX + 1];
	struct error ignored;

	if (json_read(text, &limits, &json, NULL, &ignored) == 0 &&
	    param_decode(needs_table, json, &arena, &reply, &ignored) == 0) {
		for (size_t i = 0; i < reply.needs.count; i++)
			buf_putf(out, "%s ", reply.needs.items[i]);
		for (size_t i = 0; i < reply.modules.count; i++)
			if (package_of_module(view_of(reply.modules.items[i]), package))
				buf_putf(out, "%s ", package);
		for (size_t i = 0; i < reply.refused.count; i++)
			add_dependency(w, "refused", reply.refused.items[i]);
	}
	arena_done(&arena);
}

static void on_needs(struct profile_work *w, const struct profile_run *run)
{
	struct package_request request = { .action = PACKAGE_INSTALL,
		                           .language = package_languages[0],
		                           .argument = "dependencies" };
	AUTO_BUF struct buf needs;
	struct error err;

	buf_init(&needs, 2 * PACKAGE_SPECS_MAX * (PACKAGE_SPEC_MAX + 1));
	read_needs(w, view_trim(run->out), &needs);
	if (needs.len == 0) {
		run_command(w);
		return;
	}
	if (profile_split(w, buf_text(&needs), &request.packages, &err) == 0 &&
	    package_step_prepare(&w->packages, w->file.work.context, &request, &err) == 0 &&
	    package_step_start(&w->packages, &w->file.work, 0, on_installed, w, &err) == 0)
		return;
	on_installed(w, NULL, &err);
}

/* An image without Python needs no packages. */
static const char needs_script[] =
        "if command -v python3 >/dev/null; then exec python3 -c \"$1\" \"$2\"; fi; echo '{}'";

static void run_next(struct profile_work *w)
{
	const struct code_sandbox_args *a = w->args;
	const char *command;

	if (w->index == a->commands.count) {
		answer_commands(w);
		return;
	}
	command = a->commands.items[w->index];
	if (!w->file.work.context->auto_packages || strstr(command, "python") == NULL)
		run_command(w);
	else
		profile_run(
		        w,
		        &(struct process_options){
		                .argv = (const char *const[]){ "sh", "-c", needs_script, "sh",
		                                               python_needs_text, command, NULL },
		                .cwd = w->base,
		                .deadline_ms = NEEDS_MS },
		        on_needs);
}

static void on_directory(struct file_work *file, const struct files_reply *reply)
{
	struct profile_work *w = container_of(file, struct profile_work, file);

	const size_t max = w->file.work.context->max_message;

	(void)reply;
	w->answer = json_list();
	w->room = max > 2 * OTHERS_MAX ? max - OTHERS_MAX : max / 2;
	run_next(w);
}

/* A command may have removed the directory that the next one starts in. */
static void begin_exec(struct profile_work *w)
{
	w->file.path = w->base;
	file_work_make_directory(&w->file, w->base, on_directory);
}

/* --- the records ------------------------------------------------------------------------- */

static const struct param exec_params[] = {
	CODE_SANDBOX_CONTAINER,
	ARG_REQUIRED(struct code_sandbox_args, commands, STRINGS,
	             "Shell commands; the first that fails ends the list.", .max = COMMANDS_MAX,
	             .item_max = PROFILE_TEXT_MAX),
	CODE_SANDBOX_WORKSPACE,
	{ 0 },
};
static const struct param logs_params[] = { CODE_SANDBOX_CONTAINER, { 0 } };

CODE_SANDBOX_TOOL(sandbox_exec, code_sandbox_start, begin_exec, exec_params, MCP_SCOPE_RUN,
                  MCP_DESTRUCTIVE,
                  "Run shell commands one after the other in a workspace, which has no network. "
                  "Python packages that a command needs are installed first.");
CODE_SANDBOX_TOOL(get_container_logs, get_container_logs, NULL, logs_params, MCP_SCOPE_RUN,
                  MCP_READ_ONLY, "What the last commands in a container have printed.");
