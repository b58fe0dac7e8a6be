#include "tools/support/copy_work.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/text/utf8.h"
#include "mcp/content.h"
#include "sandbox/copy/copy.h"
#include "sandbox/porter/host.h"
#include "sandbox/sandbox.h"
#include "tools/catalogue.h"
#include "tools/support/file_work.h"
#include "tools/support/work.h"

enum { SHOWN = 160, TEXT_MAX = 4096, QUIET_MS = 500 };

const struct param copy_work_output[] = {
	{ .name = "source", .type = PARAM_STRING, .required = true, .help = "What was copied." },
	{ .name = "target", .type = PARAM_STRING, .required = true, .help = "Where it is now." },
	{ .name = "entries",
	  .type = PARAM_INT,
	  .required = true,
	  .help = "Files, directories and links that were written." },
	{ .name = "bytes", .type = PARAM_INT, .required = true, .help = "Bytes in the files." },
	{ .name = "skipped",
	  .type = PARAM_INT,
	  .required = true,
	  .help = "Entries left out: links that lead out of the directory, devices, sockets, what "
	          "may not be read." },
	{ .name = "first_skipped", .type = PARAM_STRING, .help = "The first of these." },
	{ .name = "ignored", .type = PARAM_INT, .help = "Entries left out because of .gitignore." },
	{ 0 },
};

struct copy_work {
	struct work work;
	struct copy_work_options wish;
	struct host_handle *use;
	struct copy *copy;
	char *host_path, *inside;
	uint64_t told_ms; /* when the client heard of it last */
};

/* --- the end ----------------------------------------------------------------------------- */

static void let_go(struct copy_work *w)
{
	copy_cancel(w->copy);
	w->copy = NULL;
	host_close(w->use);
	w->use = NULL;
}

static void done(struct work *work)
{
	struct copy_work *w = container_of(work, struct copy_work, work);

	let_go(w);
	free(w->host_path);
	free(w->inside);
}

static void cancel(struct work *work)
{
	struct copy_work *w = container_of(work, struct copy_work, work);
	struct error err;

	let_go(w);
	(void)error_set(&err, ERR_INVALID, "cancelled");
	work_fail(work, &err);
}

static void add_text(struct buf *text, const struct copy_result *result, const char *source,
                     const char *target)
{
	const struct transfer_result *moved = &result->moved;
	char from[SHOWN], to[SHOWN];
	struct error full; /* it is bounded by what is put in */

	(void)utf8_escape(view_of(source), from, sizeof from);
	(void)utf8_escape(view_of(target), to, sizeof to);
	(void)!buf_printf(text, &full, "copied '%s' to '%s': %" PRIu64 " %s, %" PRIu64 " bytes",
	                  from, to, moved->entries, moved->entries == 1 ? "entry" : "entries",
	                  moved->bytes);
	if (result->ignored != 0)
		(void)!buf_printf(text, &full, "; %" PRIu64 " left out by .gitignore",
		                  result->ignored);
	if (moved->skipped != 0)
		(void)!buf_printf(text, &full,
		                  "; %" PRIu64 " skipped (links that lead out, devices, what may "
		                  "not be read), the first is '%s'",
		                  moved->skipped, moved->first_skipped);
}

static char *absolute(const char *path)
{
	if (path[0] == '/')
		return mem_dup(path);
	return strcmp(path, ".") == 0 ? mem_dup(SPEC_WORKSPACE)
	                              : mem_format("%s/%s", SPEC_WORKSPACE, path);
}

static void answer(struct copy_work *w, const struct copy_result *result)
{
	const struct transfer_result *moved = &result->moved;
	bool is_out = w->wish.is_out;
	AUTO_FREE char *outside = mem_format("%s%s%s", host_handle_directory(w->use),
	                                     strcmp(result->target, ".") == 0 ? "" : "/",
	                                     strcmp(result->target, ".") == 0 ? ""
	                                                                      : result->target);
	AUTO_FREE char *inside = absolute(result->target);
	const char *source = is_out ? w->inside : host_handle_absolute(w->use);
	const char *target = is_out ? outside : inside;
	json_t *structured = json_obj(), *content = json_list();
	AUTO_BUF struct buf text;

	buf_init(&text, TEXT_MAX);
	add_text(&text, result, source, target);
	json_set(structured, "source", json_str(source));
	json_set(structured, "target", json_str(target));
	json_set(structured, "entries", json_int((json_int_t)moved->entries));
	json_set(structured, "bytes", json_int((json_int_t)moved->bytes));
	json_set(structured, "skipped", json_int((json_int_t)moved->skipped));
	if (moved->skipped != 0)
		json_set(structured, "first_skipped", json_str(moved->first_skipped));
	if (w->wish.gitignore)
		json_set(structured, "ignored", json_int((json_int_t)result->ignored));
	json_push(content, mcp_text("%s", buf_text(&text)));
	work_answer(&w->work, content, structured);
}

static void on_ended(void *ctx, const struct copy_result *result, const struct error *why)
{
	struct copy_work *w = ctx;

	w->copy = NULL;
	if (why != NULL)
		work_fail(&w->work, why);
	else {
		if (!w->wish.is_out)
			file_report_change(&w->work, result->target, result->is_directory);
		answer(w, result);
	}
}

static void on_progress(void *ctx, uint64_t bytes)
{
	struct copy_work *w = ctx;

	uint64_t now = clock_now_ms();

	if (now - w->told_ms < QUIET_MS)
		return;
	w->told_ms = now;
	mcp_call_progress(w->work.call, (double)bytes, 0, "%.1f MiB copied",
	                  (double)bytes / (1024 * 1024));
}

/* --- both sides ----------------------------------------------------------------------------- */

/* The parameter. */
static const char *host_name(const struct copy_work_options *wish)
{
	return wish->is_out ? "target" : "source";
}

static void on_host(void *ctx, const struct error *why)
{
	static const struct copy_events events = { on_progress, on_ended };
	struct copy_work *w = ctx;
	AUTO_FREE char *where = mem_format("%s: %s", host_name(&w->wish),
	                                   host_handle_label(w->use));
	const struct copy_endpoint outside = copy_host_endpoint(w->use, w->host_path, where);
	const struct copy_endpoint inside = copy_sandbox_endpoint(w->work.sandbox, w->inside,
	                                                          "path: in the sandbox");
	const struct copy_options wish = {
		.from = w->wish.is_out ? inside : outside,
		.to = w->wish.is_out ? outside : inside,
		.name = w->wish.is_out ? copy_last_name(w->inside) : host_handle_name(w->use),
		.overwrite = w->wish.overwrite,
		.gitignore = w->wish.gitignore,
		.max_bytes = w->work.context->copy_bytes,
		.max_count = COPY_ENTRIES_MAX,
	};
	struct error err;

	w->told_ms = clock_now_ms();
	if (why != NULL) {
		err = *why;
		(void)error_wrap(&err, "%s", host_name(&w->wish));
		work_fail(&w->work, &err);
	} else if (copy_start(&wish, &events, w, &w->copy, &err) < 0)
		work_fail(&w->work, &err);
}

static bool ends_in_slash(const char *path)
{
	return path[0] != '\0' && path[strlen(path) - 1] == '/';
}

static int start(struct work *work, struct error *err)
{
	struct copy_work *w = container_of(work, struct copy_work, work);

	if (host_open(work->context->host, w->wish.host, on_host, w, &w->use, err) < 0)
		return error_wrap(err, "%s", host_name(&w->wish));
	/* A slash at the end of a target means something. */
	w->host_path = mem_format("%s%s", host_handle_path(w->use),
	                          w->wish.is_out && ends_in_slash(w->wish.host) ? "/" : "");
	w->inside = w->wish.inside != NULL ? mem_dup(w->wish.inside)
	                                   : mem_format("/workspace/%s", host_handle_name(w->use));
	for (size_t len = strlen(w->inside);
	     w->wish.is_out && len > 1 && w->inside[len - 1] == '/';)
		w->inside[--len] = '\0';
	return 0;
}

static const struct work_callbacks calls = { start, cancel, done };

/* Whatever is wrong with the paths costs nobody a sandbox. */
int copy_work_begin(struct mcp_call *call, const struct copy_work_options *wish, struct error *err)
{
	const struct tools_context *context = mcp_call_app(call);
	struct copy_work *w;
	struct work *work;

	if (wish->inside != NULL && work_check_path(wish->inside, err) < 0)
		return -1;
	if (context->host == NULL)
		return error_set(err, ERR_UNSUPPORTED,
		                 "no directory of the host is allowed: start belljar with "
		                 "--allow-path DIR");
	if (host_check_path(context->host, wish->host, err) < 0)
		return error_wrap(err, "%s", host_name(wish));
	if (work_start(call, sizeof *w, &calls, wish->sandbox, &work, err) < 0)
		return -1;
	w = container_of(work, struct copy_work, work);
	w->wish = *wish;
	return 0;
}
