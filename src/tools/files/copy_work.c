#include "tools/files/copy_work.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/text/utf8.h"
#include "mcp/ask/ask.h"
#include "mcp/content.h"
#include "sandbox/copy/copy.h"
#include "sandbox/porter/host.h"
#include "sandbox/porter/host_path.h"
#include "tools/catalogue.h"
#include "tools/files/file_work.h"
#include "tools/support/answer_room.h"
#include "tools/support/params.h"
#include "tools/support/work.h"

enum { SHOWN = 160, TEXT_MAX = 4096 + COPY_NOTES_MAX, PROGRESS_MS = 500 };

bool copy_work_is_offered(const void *app)
{
	const struct tools_context *context = app;

	return context->uses_roots ||
	       (context->host != NULL && host_directory_count(context->host) != 0);
}

const struct param copy_work_output[] = {
	FIELD("source", STRING, "The path that was copied."),
	FIELD("target", STRING, "The path of the copy."),
	FIELD("entries", INT, "Files, directories and links that were written."),
	FIELD("bytes", INT, "Bytes in the files."),
	FIELD("skipped", INT,
	      "Entries left out: links that lead out of the directory, devices, sockets, files "
	      "that may not be read."),
	FIELD_OPTIONAL("first_skipped", STRING, "The first entry that was left out."),
	FIELD_OPTIONAL("ignored", INT, "Entries left out because of .gitignore."),
	FIELD_OPTIONAL("left_out", INT,
	               "Entries left out because programs of the host execute or trust them."),
	FIELD_OPTIONAL("left_out_names", STRINGS, "The first of these, with their kinds."),
	FIELD_OPTIONAL("not_executable", INT,
	               "Files that are executable in the sandbox, but not on the host."),
	FIELD_OPTIONAL("changes", STRING,
	               "With preview: what would change, as a list and a unified diff. Nothing was "
	               "written; entries and bytes are those that would change."),
	{ 0 },
};

struct copy_work {
	struct work work;
	struct copy_work_options options;
	struct host_handle *handle; /* the allowed directory of the host, held open */
	struct copy *copy;          /* NULL: not started, or ended */
	char *host, *inside_option; /* what the paths of the options point to */
	char *host_path, *inside;   /* both ends as copy.h takes them */
	uint64_t progress_ms;       /* time of the last progress notification */
};

/* --- the end ----------------------------------------------------------------------------- */

static void stop_copy(struct copy_work *w)
{
	copy_cancel(TAKE_PTR(w->copy));
	host_close(TAKE_PTR(w->handle));
}

static void free_copy(struct work *work)
{
	struct copy_work *w = container_of(work, struct copy_work, work);

	stop_copy(w);
	free(w->host);
	free(w->inside_option);
	free(w->host_path);
	free(w->inside);
}

/* TEXT_MAX is more than the summary and the notes together. */
static void add_summary(struct buf *text, const struct copy_result *result, const char *source,
                        const char *target)
{
	const struct transfer_result *moved = &result->moved;
	char to[SHOWN];

	(void)utf8_escape(view_of(target), to, sizeof to);
	buf_putf(text, "%s '%s' to '%s': %" PRIu64 " %s%s, %" PRIu64 " bytes",
	         result->is_preview ? "nothing was written; a copy of" : "copied",
	         UTF8_ESCAPED(view_of(source), SHOWN), to, moved->entries,
	         moved->entries == 1 ? "entry" : "entries",
	         result->is_preview ? " would change" : "", moved->bytes);
	if (result->ignored != 0)
		buf_putf(text, "; %" PRIu64 " left out by .gitignore", result->ignored);
	if (moved->skipped != 0)
		buf_putf(text, "; " COPY_SKIPPED, moved->skipped, moved->first_skipped);
	copy_add_notes(result, text);
}

/* The report of a preview, as far as it fits into an answer, cut behind a line. The caller
 * frees. */
static char *fit_changes(const struct copy_result *result, size_t max_output)
{
	const char *report = result->moved.report;
	size_t len = strlen(report), room = answer_text_room(max_output);
	const char *end;

	if (len <= room)
		return mem_dup(len != 0 ? report : "nothing would change\n");
	end = memrchr(report, '\n', room);
	return mem_format("%.*s... (%zu bytes more: preview a part of the directory)\n",
	                  end != NULL ? (int)(end - report) + 1 : 0, report,
	                  len - (end != NULL ? (size_t)(end - report) + 1 : 0));
}

static void add_left_out(json_t *structured, const struct copy_result *result)
{
	struct view names[COPY_NAMES_MAX];
	size_t count = copy_left_out_names(result, names);
	json_t *list;

	if (result->moved.not_executable != 0)
		json_set(structured, "not_executable",
		         json_int((json_int_t)result->moved.not_executable));
	if (result->moved.trusted == 0)
		return;
	json_set(structured, "left_out", json_int((json_int_t)result->moved.trusted));
	if (count == 0)
		return;
	list = json_list();
	for (size_t i = 0; i < count; i++)
		json_push(list, json_str_view(names[i]));
	json_set(structured, "left_out_names", list);
}

/* The absolute form of a path in the sandbox. The caller frees. */
static char *absolute_path(const char *path)
{
	if (path[0] == '/')
		return mem_dup(path);
	return strcmp(path, ".") == 0 ? mem_dup(SPEC_WORKSPACE)
	                              : mem_format("%s/%s", SPEC_WORKSPACE, path);
}

static void answer_copy(struct copy_work *w, const struct copy_result *result)
{
	const struct transfer_result *moved = &result->moved;
	bool is_out = w->options.is_out;
	AUTO_FREE char *outside = mem_format("%s%s%s", host_handle_directory(w->handle),
	                                     strcmp(result->target, ".") == 0 ? "" : "/",
	                                     strcmp(result->target, ".") == 0 ? ""
	                                                                      : result->target);
	AUTO_FREE char *inside = absolute_path(result->target);
	const char *source = is_out ? w->inside : host_handle_absolute(w->handle);
	const char *target = is_out ? outside : inside;
	json_t *structured, *content;
	AUTO_BUF struct buf text;

	buf_init(&text, TEXT_MAX);
	add_summary(&text, result, source, target);
	if (w->options.answer != NULL) {
		work_answer(&w->work, NULL,
		            w->options.answer(w->work.call,
		                              &(struct copy_done){ .result = result,
		                                                   .source = source,
		                                                   .target = target,
		                                                   .summary = buf_text(&text) }));
		return;
	}
	structured = json_obj();
	content = json_list();
	json_set(structured, "source", json_str(source));
	json_set(structured, "target", json_str(target));
	json_set(structured, "entries", json_int((json_int_t)moved->entries));
	json_set(structured, "bytes", json_int((json_int_t)moved->bytes));
	json_set(structured, "skipped", json_int((json_int_t)moved->skipped));
	if (moved->skipped != 0)
		json_set(structured, "first_skipped", json_str(moved->first_skipped));
	if (w->options.gitignore)
		json_set(structured, "ignored", json_int((json_int_t)result->ignored));
	add_left_out(structured, result);
	json_push(content, mcp_text("%s", buf_text(&text)));
	if (result->is_preview) {
		AUTO_FREE char *changes = fit_changes(result, w->work.context->max_output);

		json_set(structured, "changes", json_str(changes));
		json_push(content, mcp_text("%s", changes));
	}
	work_answer(&w->work, content, structured);
}

static void on_ended(void *ctx, const struct copy_result *result, const struct error *why)
{
	struct copy_work *w = ctx;

	w->copy = NULL;
	if (why != NULL)
		(w->options.is_out ? work_fail : work_fail_write)(&w->work, why);
	else {
		if (!w->options.is_out)
			file_report_change(&w->work, result->target, result->is_directory);
		answer_copy(w, result);
	}
}

static void on_progress(void *ctx, uint64_t bytes)
{
	struct copy_work *w = ctx;
	uint64_t now = clock_now_ms();

	if (now - w->progress_ms < PROGRESS_MS)
		return;
	w->progress_ms = now;
	mcp_call_progress(w->work.call, (double)bytes, 0, "%.1f MiB copied",
	                  (double)bytes / (1024 * 1024));
}

/* --- the start ------------------------------------------------------------------------------- */

/* The parameter that holds the path of the host, for errors. */
static const char *host_param(const struct copy_work_options *options)
{
	if (options->host_argument != NULL)
		return options->host_argument;
	return options->is_out ? "target" : "source";
}

static int start_copy(struct copy_work *w, struct error *err)
{
	static const struct copy_events events = { on_progress, on_ended };
	AUTO_FREE char *where = mem_format("%s: %s", host_param(&w->options),
	                                   host_handle_label(w->handle));
	AUTO_FREE char *where_inside = mem_format(
	        "%s: in the sandbox",
	        w->options.inside_argument != NULL ? w->options.inside_argument : "path");
	const struct copy_endpoint outside = copy_host_endpoint(w->handle, w->host_path, where);
	const struct copy_endpoint inside = copy_sandbox_endpoint(w->work.sandbox, w->inside,
	                                                          where_inside);
	const struct copy_options options = {
		.from = w->options.is_out ? inside : outside,
		.to = w->options.is_out ? outside : inside,
		.name = w->options.is_out ? copy_last_name(w->inside) : host_handle_name(w->handle),
		.overwrite = w->options.overwrite,
		.gitignore = w->options.gitignore,
		.preview = w->options.preview,
		.only_directory = w->options.only_directory,
		.max_bytes = w->work.context->copy_bytes,
		.max_count = COPY_ENTRIES_MAX,
	};

	w->progress_ms = clock_now_ms();
	return copy_start(&options, &events, w, &w->copy, err);
}

static bool ends_in_slash(const char *path)
{
	return path[0] != '\0' && path[strlen(path) - 1] == '/';
}

/* Roots, and directories that the user has accepted, belong to the client on this machine. */
static enum host_reach find_reach(const struct mcp_call *call)
{
	return mcp_call_has_roots(call) ? HOST_ALL_DIRS : HOST_FIXED_DIRS;
}

static int open_host(struct work *work, struct error *err);

/* Called by host_open() when the host's directory is open, or cannot be opened. */
static void on_host_open(void *ctx, const struct error *why)
{
	struct copy_work *w = ctx;
	struct error err;
	int r;

	if (why == NULL)
		r = start_copy(w, &err);
	else if (host_handle_is_withdrawn(w->handle)) {
		/* The porter has refused the root only after the path was found to be below it.
		 * The path may be below another root, too. */
		host_close(TAKE_PTR(w->handle));
		r = open_host(&w->work, &err);
	} else {
		err = *why;
		r = error_wrap(&err, "%s", host_param(&w->options));
	}
	if (r < 0)
		work_fail(&w->work, &err);
}

static int open_host(struct work *work, struct error *err)
{
	struct copy_work *w = container_of(work, struct copy_work, work);

	if (host_open(work->context->host, find_reach(work->call), w->options.host, on_host_open, w,
	              &w->handle, err) < 0)
		return error_wrap(err, "%s", host_param(&w->options));
	/* A slash at the end of a target says that a directory goes into it, so it is kept there;
	 * at the end of a source it means nothing. */
	free(w->host_path);
	free(w->inside);
	w->host_path = mem_format("%s%s", host_handle_path(w->handle),
	                          w->options.is_out && ends_in_slash(w->options.host) ? "/" : "");
	w->inside = w->options.inside != NULL
	                    ? mem_dup(w->options.inside)
	                    : mem_format("/workspace/%s", host_handle_name(w->handle));
	for (size_t len = strlen(w->inside);
	     w->options.is_out && len > 1 && w->inside[len - 1] == '/';)
		w->inside[--len] = '\0';
	return 0;
}

static const struct work_callbacks callbacks = { open_host, work_cancel, free_copy };

/* The directory that has to be allowed for the path, as text; false if none can be: the path is
 * relative, or belongs to the system. */
static bool find_directory(const char *path, char ret[HOST_PATH_SIZE])
{
	struct error ignored;

	if (path[0] != '/' || host_path_normal(path, ret, &ignored) < 0)
		return false;
	*strrchr(ret, '/') = '\0';
	return ret[0] != '\0' && host_path_check(ret, NULL, &ignored) == 0 &&
	       host_path_check_root(ret, &ignored) == 0;
}

/* Asks the user to allow the directory of a path that is in no allowed one. Returns 0 if the user
 * has, and -1 with the error that *err holds if the user has not, or cannot be asked. *is_asked:
 * the user is asked now. */
static int ask_for_directory(struct mcp_call *call, const struct copy_work_options *options,
                             bool *is_asked, struct error *err)
{
	static const char key[] = "allow_directory";
	const struct tools_context *context = mcp_call_app(call);
	AUTO_FREE char *message = NULL;
	char directory[HOST_PATH_SIZE], shown[SHOWN];

	if (!context->uses_roots || !mcp_call_has_roots(call) || !mcp_can_ask(call, MCP_ASK_FORM) ||
	    !find_directory(options->host, directory))
		return -1;
	message = mem_format("Allow copies between sandboxes and the directory '%s' of this "
	                     "machine, until Belljar exits?",
	                     utf8_escape(view_of(directory), shown, sizeof shown));
	mcp_ask(call, key, MCP_ASK_FORM, mcp_form(message, json_obj()));
	*is_asked = !mcp_await_answers(call);
	if (*is_asked)
		return 0;
	if (mcp_answer(call, key) == NULL)
		return -1;
	if (!mcp_answer_is_accepted(call, key))
		return error_set(err, ERR_INVALID,
		                 "the user did not allow copies between sandboxes and '%s'; "
		                 "nothing was copied",
		                 shown);
	host_add_directory(context->host, directory);
	return 0;
}

/* *is_asked: the call waits for an answer of the client. */
static int check_host_path(struct mcp_call *call, const struct copy_work_options *options,
                           bool *is_asked, struct error *err)
{
	const struct tools_context *context = mcp_call_app(call);

	*is_asked = false;
	if (host_check_path(context->host, HOST_FIXED_DIRS, options->host, err) == 0)
		return 0;
	*is_asked = !mcp_await_roots(call);
	if (*is_asked || host_check_path(context->host, find_reach(call), options->host, err) == 0)
		return 0;
	return ask_for_directory(call, options, is_asked, err);
}

/* The paths are checked first, so that a wrong one does not make or wake a sandbox. */
int copy_work_start(struct mcp_call *call, struct sandbox *sandbox,
                    const struct copy_work_options *options, struct error *err)
{
	const struct tools_context *context = mcp_call_app(call);
	struct copy_work *w;
	struct work *work;
	bool is_asked;

	if (options->inside != NULL && work_check_path(options->inside, err) < 0)
		return -1;
	if (context->host == NULL)
		return error_set(err, ERR_UNSUPPORTED,
		                 "no directory of the host is allowed: start belljar with "
		                 "--allow-path DIR");
	if (check_host_path(call, options, &is_asked, err) < 0)
		return error_wrap(err, "%s", host_param(options));
	if (is_asked)
		return 0;
	if (sandbox != NULL)
		work = work_start_in(call, sizeof *w, &callbacks, sandbox);
	else if (work_start(call, sizeof *w, &callbacks, options->sandbox, &work, err) < 0)
		return -1;
	w = container_of(work, struct copy_work, work);
	w->options = *options;
	w->options.host = w->host = mem_dup(options->host);
	if (options->inside != NULL)
		w->options.inside = w->inside_option = mem_dup(options->inside);
	return 0;
}
